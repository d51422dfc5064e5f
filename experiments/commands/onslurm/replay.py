"""``holdfast slurm replay``: replay a workload on a real Slurm, for comparison with the simulator."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from holdfast.experiments.commands.asking.arguments import TrustOption, new_directory
from holdfast.experiments.terminal import note
from holdfast.workloads.ground.errors import InputError, UnknownNameError
from holdfast.workloads.ground.parameters import Nodes, Parameter

__all__ = ["Arguments", "main"]

#: More jobs than that on a site's cluster are no test.
_MOST = 10_000


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    workload: Annotated[
        str, Parameter("trace or job table; each job sleeps for its runtime", metavar="WORKLOAD", positional=True)
    ]
    output: Annotated[str, Parameter("directory for what happened", metavar="DIR", short="-o")]
    lab: Annotated[str | None, Parameter("lab to submit to", default="the Slurm of this machine", metavar="DIR")] = None
    nodes: Annotated[
        Nodes | None, Parameter("size of the machine", default="that of the lab, else of the workload")
    ] = None
    sbatch: Annotated[
        tuple[str, ...],
        Parameter(
            "further option of sbatch in one word, as --sbatch=--partition=test; may be repeated",
            default="none",
            metavar="NAME=VALUE",
            repeated=True,
        ),
    ] = ()
    owner: Annotated[
        str,
        Parameter(
            "what each job is submitted with as the workload has it: account, qos, partition, user (needs root); a lab "
            "gets the accounts and QOS that it lacks",
            default="none",
            metavar="NAME,...",
        ),
    ] = ""
    yes: Annotated[bool, Parameter("do not ask before submitting to the Slurm of this machine")] = False
    trust: TrustOption = False


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.slurm.agreement import RULES, agreement, agreement_table, replay_summary
    from holdfast.experiments.slurm.backfill_passes import write_passes
    from holdfast.experiments.slurm.lab import add_owners, open_lab
    from holdfast.experiments.slurm.live_replay import LabSlurm, SiteSlurm, ask_limits, replay_on
    from holdfast.experiments.slurm.queue_limits import NO_LIMITS, QueueLimits, read_qos_limits
    from holdfast.experiments.slurm.recorded_replay import ACTUAL, LIMITS, read_replay, write_actual
    from holdfast.experiments.slurm.reservation_sequence import check_options
    from holdfast.experiments.slurm.submitted_jobs import OWNERS, make_submits
    from holdfast.workloads.logs.readers import read_workload
    from holdfast.workloads.logs.trace import Trace

    options = list(arguments.sbatch)
    check_options(options)
    out = new_directory(arguments.output)
    lab = None if arguments.lab is None else open_lab(Path(arguments.lab).absolute())
    workload = read_workload(arguments.workload)
    recorded = workload.nodes if isinstance(workload, Trace) else None
    size = arguments.nodes or (lab.nodes if lab else recorded)
    if size is None:
        raise InputError(f"{arguments.workload}: does not say how large the machine is; give it with --nodes")
    owners = [name.strip() for name in arguments.owner.split(",") if name.strip()]
    unknown = [name for name in owners if name not in OWNERS]
    if unknown:
        raise UnknownNameError("property of a job", unknown[0], tuple(OWNERS))
    submits = make_submits(workload.jobs, size, owners)
    if len(submits) > _MOST:
        raise InputError(f"{arguments.workload}: has {len(submits):,} jobs; a replay takes at most {_MOST:,}")
    if lab is None and not arguments.yes:
        _ask(len(submits), sum(one.nodes * one.runtime for one in submits) / 3600)
    if lab is not None and lab.accounting:
        add_owners(lab, *({one.owner[name] for one in submits if name in one.owner} for name in ("account", "qos")))
    slurm = LabSlurm(lab) if lab else SiteSlurm()
    rows = replay_on(slurm, submits, options, note)
    limits = ask_limits(slurm) if "qos" in owners else ""
    out.mkdir(exist_ok=True)
    write_actual(out, rows)
    if lab is not None and rows:
        begin = rows[0]["origin"]
        passes = LabSlurm(lab).rare_passes(begin, begin + max(row["end"] for row in rows))
        if passes:
            write_passes(out, [time - begin for time in passes])
    if limits:
        (out / LIMITS).write_text(limits)
    replay = read_replay(out, size, QueueLimits(qos=read_qos_limits(out / LIMITS)) if limits else NO_LIMITS)
    some, _, _ = agreement(replay, RULES, tolerance=60.0, lag=5.0)
    print(f"{replay_summary(replay)}\n{agreement_table(some)}")
    left = len(submits) - len(rows)
    if left:
        print(f"{left:,} jobs did not run")
    directory = Path(arguments.output)
    print(f"written to {directory / ACTUAL}; 'holdfast slurm compare {directory} --nodes {size} -o NAME' draws it")


def _ask(jobs: int, hours: float) -> None:
    """Ask before jobs go to a cluster of others."""
    print(
        f"Submit {jobs:,} sleeping jobs of {hours:,.1f} node-hours to the Slurm of this machine? [y/N] ",
        end="",
        flush=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was submitted")
