"""``holdfast slurm follow``: keep the simulator's state beside a running Slurm, report drift, and forecast."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from holdfast.experiments.commands.options.arguments import new_directory, read_options
from holdfast.experiments.commands.options.cluster_state_options import PresentOptions, RuleOptions
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.parameters import Parameter, Seconds, SecondsAbove0, Seed, wholes

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    log: Annotated[
        str,
        Parameter("past of this Slurm: 'slurm snapshot', or an sacct log", metavar="LOG", positional=True),
    ]
    output: Annotated[str, Parameter("directory for readings, forecasts and scores", metavar="DIR", short="-o")]
    lab: Annotated[str | None, Parameter("lab to follow", default="the Slurm of this machine", metavar="DIR")] = None
    every: Annotated[SecondsAbove0, Parameter("time between readings of the queue")] = 60.0
    forecast_every: Annotated[SecondsAbove0, Parameter("time between forecasts of all waiting jobs")] = 3600.0
    duration: Annotated[Seconds | None, Parameter("time to follow", default="until Ctrl-C", names=("--for",))] = None
    rules: RuleOptions
    draws: Annotated[int, wholes(1, 100_000), Parameter("number of simulations of a forecast")] = 100
    seed: Seed = 0
    workers: Annotated[int | None, wholes(1), Parameter("most processes", default="one for each core")] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.commands.options.site_snapshots import site_question
    from holdfast.experiments.forecast.sources import read_log
    from holdfast.experiments.slurm.lab import open_lab
    from holdfast.experiments.slurm.live_replay import LabSlurm, SiteSlurm
    from holdfast.experiments.slurm.live_twin import LiveTwin
    from holdfast.experiments.slurm.queue_forecast import TwinOptions
    from holdfast.experiments.sweeps.background import BackgroundProcess
    from holdfast.workloads.logs.node_list import read_node_count, read_node_names

    question = site_question("slurm follow", PresentOptions(log=arguments.log), arguments.rules)
    rules = question.rules
    out = new_directory(arguments.output)
    lab = None if arguments.lab is None else open_lab(Path(arguments.lab).absolute())
    machine = rules.machine if rules.machine is not None or lab is None else lab.nodes
    if machine is None:
        raise InputError("the size of the machine is not known: give --machine, or follow with a snapshot as LOG")
    past = read_log(question.present.log, **read_options(rules.reading))
    options = TwinOptions(
        nodes=read_node_count(machine) if isinstance(machine, Path) else machine,
        order=rules.order or "fcfs",
        backfilling=rules.backfilling or "easy",
        every=arguments.every,
        forecast_every=arguments.forecast_every,
        draws=arguments.draws,
        seed=arguments.seed,
        workers=arguments.workers,
        names=tuple(read_node_names(machine)) if isinstance(machine, Path) else (),
    )
    out.mkdir(exist_ok=True)
    for sentence in question.notes:
        _tell(sentence)
    twin = LiveTwin(LabSlurm(lab) if lab else SiteSlurm(), past, options, out, _tell, BackgroundProcess())
    with suppress(KeyboardInterrupt):
        twin.run(arguments.duration)
    print(f"written to {arguments.output}{twin.scores.summary()}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
