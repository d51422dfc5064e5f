"""``holdfast slurm serve-on-demand``: run a mechanism for on-demand jobs on a lab, for comparison with the
simulator.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.experiments.commands.options.arguments import TrustOption, new_directory
from holdfast.experiments.terminal import note
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.parameters import Parameter, Seconds
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.simulator.machine.event_log import Entry
    from holdfast.workloads.table.job import Job

__all__ = ["Arguments", "main"]

#: Jobs that one lab takes in some minutes.
_MOST = 2_000


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    jobs: Annotated[
        str,
        Parameter(
            "job table with on-demand jobs; a program plays each job of it, checkpoints included",
            metavar="JOBS",
            positional=True,
        ),
    ]
    output: Annotated[
        str,
        Parameter(
            "directory for what happened; one with a journal of the same replay goes on", metavar="DIR", short="-o"
        ),
    ]
    lab: Annotated[str, Parameter("lab to use", metavar="DIR")] = "slurm-lab"
    mechanism: Annotated[str, Parameter("mechanism")] = "CUA-SPAA"
    grace: Annotated[Seconds, Parameter("time that a rigid victim has to save before it is requeued")] = 60.0
    no_save: Annotated[
        bool,
        Parameter(
            "let rigid jobs ignore the signal to save, as in the model, and have their periodic checkpoints alone"
        ),
    ] = False
    warning: Annotated[Seconds, Parameter("time that a malleable victim has")] = 120.0
    timeout: Annotated[Seconds, Parameter("time after the estimated arrival until a reservation is given up")] = 600.0
    tenants: Annotated[str, Parameter("which jobs may use idle reserved nodes")] = "any"
    tolerance: Annotated[Seconds, Parameter("difference of the times of two events that counts as none")] = 60.0
    trust: TrustOption = False


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.slurm.actuator import Actuator
    from holdfast.experiments.slurm.control_loop import serve
    from holdfast.experiments.slurm.lab import open_lab
    from holdfast.experiments.slurm.live_replay import LabSlurm
    from holdfast.experiments.slurm.outcome_comparison import (
        EVENT_COLUMNS,
        concurrence,
        concurrence_summary,
        concurrence_table,
    )
    from holdfast.experiments.tables import write_csv
    from holdfast.policies.mechanism import parse_mechanism
    from holdfast.simulator.options import Options
    from holdfast.simulator.simulation import checked_table, simulate
    from holdfast.workloads.table.job_table import read_job_table

    mechanism = parse_mechanism(arguments.mechanism)
    if mechanism is None:
        raise InputError("the baseline serves no on-demand jobs; --mechanism must name a mechanism, such as CUA-SPAA")
    options = Options(
        tenants=arguments.tenants, backfilling="slurm", warning=arguments.warning, timeout=arguments.timeout
    )
    out = _directory(arguments.output)
    lab = open_lab(Path(arguments.lab).absolute())
    table = [_in_minutes(job) for job in checked_table(read_job_table(arguments.jobs).jobs, lab.nodes)]
    if len(table) > _MOST:
        raise InputError(f"{arguments.jobs}: has {len(table):,} jobs; a lab takes at most {_MOST:,}")
    if any(job.type is JobType.STOCHASTIC for job in table):
        raise InputError(f"{arguments.jobs}: has stochastic jobs; 'holdfast submit' carries out their plans")
    if not lab.accounting and any(job.type is JobType.MALLEABLE for job in table):
        raise InputError("malleable jobs grow only where Slurm has a database; start the lab with --accounting")
    out.mkdir(exist_ok=True)
    slurm = LabSlurm(lab)
    simulated = simulate(table, lab.nodes, mechanism.name, **dataclasses.asdict(options)).entries
    with (out / "log").open("a") as log:

        def write_line(line: str) -> None:
            print(line, file=log, flush=True)
            if not line.startswith(" " * 2):
                note(line)

        def record(entries: Sequence[Entry]) -> None:
            write_csv(out / "events.csv", concurrence(entries, simulated, arguments.tolerance), EVENT_COLUMNS)

        actuator = Actuator(slurm, out, saves=not arguments.no_save, log=write_line)
        entries = serve(
            slurm, actuator, table, lab.nodes, mechanism, options, grace=arguments.grace, log=write_line, record=record
        )
    rows = concurrence(entries, simulated, arguments.tolerance)
    print(concurrence_table(rows))
    print(concurrence_summary(rows, arguments.tolerance))
    for line in actuator.refused:
        print(f"refused by Slurm: {line}")
    print(f"written to {arguments.output}/events.csv; {arguments.output}/log has each command")


def _directory(path: str) -> Path:
    """A new directory, or that of a replay which goes on."""
    old = Path(path).absolute()
    return old if (old / "journal").is_file() else new_directory(path)


def _in_minutes(job: Job) -> Job:
    """The job with its walltime as Slurm takes it, in whole minutes."""
    return dataclasses.replace(job, walltime=60.0 * math.ceil(job.walltime / 60 - 1e-9))
