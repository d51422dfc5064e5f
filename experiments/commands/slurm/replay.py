"""``holdfast slurm replay``: replay a workload on a real Slurm, for comparison with the simulator."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.experiments.commands.options.arguments import TrustOption, new_directory
from holdfast.experiments.terminal import note
from holdfast.workloads.ground.errors import InputError, UnknownNameError
from holdfast.workloads.ground.parameters import Nodes, Parameter
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from holdfast.experiments.slurm.lab import Lab
    from holdfast.experiments.slurm.live_replay import SomeSlurm
    from holdfast.experiments.slurm.submitted_jobs import Submit
    from holdfast.workloads.logs.trace import TraceJob
    from holdfast.workloads.machines.machine import Machine
    from holdfast.workloads.machines.request import ResourceRequest
    from holdfast.workloads.table.job import Job

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
    machine: Annotated[
        str | None,
        Parameter(
            "machine (TOML) of the lab, for a log with requests: partitions, tasks, cores, memory, GPUs, features",
            default="equal nodes",
            metavar="FILE",
        ),
    ] = None
    columns: Annotated[
        str | None,
        Parameter("columns of a CSV or Parquet log with requests", default="recognised", metavar="ROLE=COLUMN"),
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
    from holdfast.experiments.slurm.lab import open_lab
    from holdfast.experiments.slurm.live_replay import LabSlurm, SiteSlurm, replay_on
    from holdfast.experiments.slurm.reservation_sequence import check_options
    from holdfast.experiments.slurm.submitted_jobs import OWNERS, make_submits

    options = list(arguments.sbatch)
    check_options(options)
    new_directory(arguments.output)
    lab = None if arguments.lab is None else open_lab(Path(arguments.lab).absolute())
    jobs, requests, size = _workload(arguments, lab)
    owners = [name.strip() for name in arguments.owner.split(",") if name.strip()]
    unknown = [name for name in owners if name not in OWNERS]
    if unknown:
        raise UnknownNameError("property of a job", unknown[0], tuple(OWNERS))
    submits = make_submits(jobs, size, owners, requests)
    if len(submits) > _MOST:
        raise InputError(f"{arguments.workload}: has {len(submits):,} jobs; a replay takes at most {_MOST:,}")
    if lab is None and not arguments.yes:
        _ask(len(submits), sum(one.nodes * one.runtime for one in submits) / 3600)
    if lab is not None:
        _set_owners(lab, submits, arguments.machine, owners)
    slurm = LabSlurm(lab) if lab else SiteSlurm()
    rows = replay_on(slurm, submits, options, note)
    if arguments.machine is None:
        _compare_pool(arguments, slurm, rows, size, len(submits))
    else:
        asked = {one.number: one.request for one in submits if one.request is not None}
        _compare_machine(arguments, slurm, rows, asked, arguments.machine)


def _set_owners(lab: Lab, submits: Sequence[Submit], machine: str | None, owners: Collection[str]) -> None:
    """Add accounts, QOS and users of the jobs to the database of a lab, with the limits of a machine."""
    from holdfast.experiments.slurm.lab import add_owners
    from holdfast.experiments.slurm.lab_limits import set_limits
    from holdfast.experiments.slurm.submitted_jobs import OWNERS
    from holdfast.workloads.machines.machine_file import read_machine

    accounts, qos = ({one.owner[name] for one in submits if name in one.owner} for name in ("account", "qos"))
    users: dict[str, set[str]] = {}
    for one in submits:
        if "user" in one.owner:
            users.setdefault(one.owner["user"], set()).update(filter(None, [one.owner.get("account")]))
    unknown = [user for user in sorted(users) if not _is_user(user)]
    if unknown:
        raise InputError(
            f"user {unknown[0]} of the workload is unknown on this machine: 'useradd {unknown[0]}' adds it"
        )
    limits = () if machine is None else read_machine(machine).limits
    missing = sorted({limit.scope for limit in limits} & {*OWNERS} - {*owners, "partition"})
    if missing:
        raise InputError(
            f"the machine limits jobs by {', '.join(missing)}: add --owner {','.join([*owners, *missing])}"
        )
    if lab.accounting:
        add_owners(lab, accounts, qos, users)
    if limits:
        set_limits(lab, limits, [(one.owner.get("account", ""), one.owner.get("user", "")) for one in submits])
        if "user" not in owners and any(limit.per_user.amounts() for limit in limits):
            note("limits of each user count for all jobs together, without user in --owner")


def _is_user(name: str) -> bool:
    import pwd  # only on Unix

    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


def _workload(arguments: Arguments, lab: Lab | None) -> tuple[Iterable[TraceJob | Job], Sequence[ResourceRequest], int]:
    """Jobs, their requests on the machine (none without one), and its size."""
    if arguments.machine is not None:
        return _workload_on_machine(arguments, arguments.machine, lab)
    from holdfast.workloads.logs.readers import read_workload
    from holdfast.workloads.logs.trace import Trace

    if arguments.columns is not None:
        raise InputError("--columns are those of a log with requests: give the machine with --machine, too")
    workload = read_workload(arguments.workload)
    recorded = workload.nodes if isinstance(workload, Trace) else None
    size = arguments.nodes or (lab.nodes if lab else recorded)
    if size is None:
        raise InputError(f"{arguments.workload}: does not say how large the machine is; give it with --nodes")
    return workload.jobs, (), size


def _workload_on_machine(
    arguments: Arguments, machine: str, lab: Lab | None
) -> tuple[Iterable[TraceJob | Job], Sequence[ResourceRequest], int]:
    from holdfast.experiments.commands.options.arguments import LogReading
    from holdfast.experiments.commands.options.machine_options import fit_log

    if lab is None:
        raise InputError("--machine is for a lab, with nodes and milliseconds in its log: give it with --lab")
    if arguments.nodes is not None:
        raise InputError("--nodes must be left out with --machine: the file has them")
    trace, fitted = fit_log(arguments.workload, machine, LogReading(columns=arguments.columns))
    names = lab.call(["sinfo", "-h", "-N", "-o", "%N"]).split()
    if set(names) != set(fitted.machine.names):
        raise InputError(f"{machine}: its nodes are not those of the lab; start it with --machine {machine}")
    for reason, count in trace.excluded.items():
        note(f"{count_text(count, 'jobs')} left out: {reason}")
    without = _count_without_memory(fitted.machine, fitted.requests)
    if without:
        note(
            f"{count_text(without, 'jobs', 'ask')} for no memory: Slurm gives them all of their nodes, for limits, "
            "too, and the rule none; partitions with memory_per_core give both the same"
        )
    return trace.jobs, fitted.requests, trace.nodes or fitted.machine.size


def _count_without_memory(machine: Machine, requests: Iterable[ResourceRequest]) -> int:
    """Jobs without an amount of memory, on a machine that counts it."""
    if all(kind.memory is None for kind in machine.kinds):
        return 0
    unset = {partition.name for partition in machine.partitions if partition.memory_per_core is None}
    return sum(
        request.memory is None and not unset.isdisjoint(request.partitions or (machine.default.name,))
        for request in requests
    )


def _compare_pool(arguments: Arguments, slurm: SomeSlurm, rows: list[dict[str, Any]], size: int, jobs: int) -> None:
    """Write what happened on equal nodes, and compare it with all rules."""
    from holdfast.experiments.slurm.agreement import RULES, agreement, agreement_table, replay_summary
    from holdfast.experiments.slurm.backfill_passes import write_passes
    from holdfast.experiments.slurm.live_replay import LabSlurm, ask_limits
    from holdfast.experiments.slurm.queue_limits import NO_LIMITS, QueueLimits
    from holdfast.experiments.slurm.recorded_limits import read_limits, write_limits
    from holdfast.experiments.slurm.recorded_replay import ACTUAL, read_replay, write_actual

    tables = ask_limits(slurm) if arguments.owner else {}
    directory = Path(arguments.output)
    directory.mkdir(exist_ok=True)
    write_actual(directory, rows)
    if isinstance(slurm, LabSlurm) and rows:
        begin = rows[0]["origin"]
        passes = slurm.rare_passes(begin, begin + max(row["end"] for row in rows))
        if passes:
            write_passes(directory, [time - begin for time in passes])
    write_limits(directory, tables)
    found = read_limits(directory)
    for remark in () if found is None else found.remarks:
        note(f"note: {remark}")
    replay = read_replay(directory, size, NO_LIMITS if found is None else QueueLimits(limits=found.limits))
    some, _, _ = agreement(replay, RULES, tolerance=60.0, lag=5.0)
    print(f"{replay_summary(replay)}\n{agreement_table(some)}")
    if jobs > len(rows):
        print(f"{count_text(jobs - len(rows), 'jobs')} did not run")
    print(f"written to {directory / ACTUAL}; 'holdfast slurm compare {directory} --nodes {size} -o NAME' draws it")


def _compare_machine(
    arguments: Arguments,
    slurm: SomeSlurm,
    rows: list[dict[str, Any]],
    requests: Mapping[int, ResourceRequest],
    machine: str,
) -> None:
    """Write what happened on nodes with resources, and compare it with Slurm's rule."""
    from holdfast.experiments.slurm.agreement import agreement_table
    from holdfast.experiments.slurm.live_replay import ask_limits
    from holdfast.experiments.slurm.machine_agreement import machine_agreement, paced_note, placed_summary
    from holdfast.experiments.slurm.placed_replay import read_placed_replay, write_placed_replay
    from holdfast.experiments.slurm.recorded_limits import with_recorded_limits, write_limits
    from holdfast.experiments.slurm.recorded_replay import ACTUAL
    from holdfast.policies.slurm_backfill import SlurmBackfill
    from holdfast.workloads.machines.machine_file import read_machine

    directory = Path(arguments.output)
    directory.mkdir(exist_ok=True)
    write_placed_replay(directory, rows, requests)
    write_limits(directory, ask_limits(slurm))
    replay = read_placed_replay(directory)
    described, remarks = with_recorded_limits(read_machine(machine), directory)
    for remark in remarks:
        note(f"note: {remark}")
    row, _, _ = machine_agreement(replay, described, "slurm", SlurmBackfill(), tolerance=60.0, lag=5.0)
    print(f"{placed_summary(replay, described)}\n{agreement_table([row])}")
    print(f"on the nodes that Slurm chose: {count_text(row['same_nodes'], 'jobs')}\n{paced_note(row)}")
    if len(requests) > len(rows):
        print(f"{count_text(len(requests) - len(rows), 'jobs')} did not run")
    print(
        f"written to {directory / ACTUAL}; 'holdfast slurm compare {directory} --machine {machine} -o NAME' writes the "
        "decisions that differ"
    )


def _ask(jobs: int, hours: float) -> None:
    """Ask before jobs go to a cluster of others."""
    print(
        f"Submit {count_text(jobs, 'sleeping jobs')} of {hours:,.1f} node-hours to the Slurm of this machine? [y/N] ",
        end="",
        flush=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was submitted")
