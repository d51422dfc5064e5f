"""Recording of a replay on a Slurm: submissions, starts and ends of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from holdfast.experiments.slurm.backfill_passes import read_passes
from holdfast.experiments.slurm.numbered_nodes import node_numbers
from holdfast.experiments.slurm.queue_limits import NO_LIMITS, QueueLimits
from holdfast.experiments.slurm.submit_lines import JobRequest
from holdfast.experiments.slurm.table_numbers import read_number
from holdfast.experiments.tables import read_csv, write_csv
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.units import LARGEST_SIZE, LARGEST_TIME
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.node_names import NamedNodes, NodeNumbers
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import TraceJob
from holdfast.workloads.table.job import Job, JobType

__all__ = ["ACTUAL", "Replay", "ReplayedJob", "has_left_queue", "read_replay", "write_actual"]

#: The table of a replay, in its directory.
ACTUAL = "actual.csv"
_OWNERS = ("user", "account", "qos", "partition")
#: What a job holds, and the time that its nodes needed to complete; columns that may be missing.
_AMOUNTS = ("cpus", "memory", "completing")
_TASKS = 1 << 32
#: Size of a machine for the numbers of its nodes, where nothing says it.
_LARGEST = 1_000_000
_NUMBERS = ("id", "submit", "start", "end", "nodes", "walltime")
#: States of jobs that left the queue, unless they had started.
_LEFT = ("CANCELLED", "DEADLINE")


@dataclass(frozen=True, slots=True)
class ReplayedJob:
    """A job that ran.

    Attributes
    ----------
    job_id
        Unique.
    submit, start, end
        On the replay's clock [s].
    nodes
        Size.
    walltime
        Limit that it asked for [s].
    by
        What started it, ``main`` scheduler or ``backfill`` thread; empty: unknown.
    place
        Its nodes as bits of a number; 0: unknown.
    eligible
        Eligible time, if later than its submit; else None.
    user, account, qos
        Of the job; empty: unknown.
    array
        Slurm's id of the array that it is a task of; 0: of none.
    cpus, memory, gpus
        CPUs, memory [MiB] and GPUs that it holds; 0: unknown.
    after
        Numbers of the jobs that had to end before it was eligible.
    completing
        Time from its end until its nodes could be used [s]; 0: unknown.
    """

    job_id: int
    submit: float
    start: float
    end: float
    nodes: int
    walltime: float
    by: str = ""
    place: int = 0
    eligible: float | None = None
    user: str = field(default="", compare=False)
    account: str = field(default="", compare=False)
    qos: str = field(default="", compare=False)
    array: int = field(default=0, compare=False)
    cpus: int = field(default=0, compare=False)
    memory: int = field(default=0, compare=False)
    after: tuple[int, ...] = field(default=(), compare=False)
    completing: float = field(default=0.0, compare=False)
    gpus: int = field(default=0, compare=False)

    @property
    def queued(self) -> float:
        """When it entered the queue [s]: its eligible time, or its submit."""
        return self.submit if self.eligible is None else self.eligible

    @property
    def wait(self) -> float:
        """Wait from then to the start [s]."""
        return self.start - self.queued

    @property
    def nodes_free_at(self) -> float:
        """When its nodes could be used again [s]."""
        return self.end + self.completing


@dataclass(frozen=True)
class Replay:
    """Jobs that a Slurm ran.

    Attributes
    ----------
    name
        Of the directory or file.
    jobs
        By submit.
    nodes
        Size of the machine.
    cancelled
        Jobs that were cancelled in the queue, then their start and end.
    limits
        Limits that kept eligible jobs from starting.
    origin
        Slurm's clock at time 0 [s since 1970], with which its plans round; None: unknown.
    passes
        Times of the passes of the backfill thread [s]; empty: unknown, or too many to matter.
    """

    name: str
    jobs: tuple[ReplayedJob, ...]
    nodes: int
    cancelled: tuple[ReplayedJob, ...] = ()
    limits: QueueLimits = NO_LIMITS
    origin: float | None = None
    passes: tuple[float, ...] = field(default=(), repr=False)

    def table(self) -> list[Job]:
        """Job table for the simulator, with the recorded runtimes; cancelled jobs leave the queue when they did."""
        left = [
            Job(
                job_id=job.job_id,
                type=JobType.RIGID,
                submit=job.submit,
                nodes=job.nodes,
                runtime=job.walltime,
                walltime=job.walltime,
                eligible=job.eligible,
                cancelled_at=job.end,
                user=job.user,
                project=job.account,
            )
            for job in self.cancelled
        ]
        return left + [
            Job(
                job_id=job.job_id,
                type=JobType.RIGID,
                submit=job.submit,
                nodes=job.nodes,
                runtime=min(job.end - job.start, job.walltime),
                walltime=job.walltime,
                eligible=job.eligible,
                user=job.user,
                project=job.account,
            )
            for job in self.jobs
        ]


def read_replay(
    path: str | Path,
    nodes: int | None,
    limits: QueueLimits = NO_LIMITS,
    requests: Mapping[int, JobRequest] = MappingProxyType({}),
) -> Replay:
    """A replay from its directory, or from a log that records waits.

    Parameters
    ----------
    path
        A directory of ``holdfast slurm replay``, its table ``actual.csv``, or a log (sacct, SWF).
    nodes
        Size of the machine; None: as many as the jobs held at once, or as the log says.
    limits
        Limits of the site.
    requests
        What the jobs of a log asked for, by their number in the log.

    Raises
    ------
    InputError
        If it cannot be read, a job is no job, or no job has a wait.
    """
    place = Path(path)
    table = place / ACTUAL if place.is_dir() else place
    origin: float | None = None
    passes: tuple[float, ...] = ()
    jobs: list[ReplayedJob] = []
    cancelled: list[ReplayedJob] = []
    if table.name == ACTUAL:
        rows, size = read_csv(table), None
        for line, row in enumerate(rows, 2):
            (cancelled if has_left_queue(row) else jobs).append(_job(table, line, row))
        origin = _amount(table, 2, rows[0], "origin") or None if rows else None
        passes = read_passes(table.parent)
    else:
        trace = keep_cancelled_jobs(read_trace(place))
        numbers = NodeNumbers(_node_names(trace.jobs), nodes or trace.nodes or _LARGEST)
        for number, job in enumerate(trace.jobs, 1):
            if job.cancelled_at is not None:
                cancelled.append(_as_replayed_job(number, job, job.cancelled_at, job.cancelled_at, 0))
            elif (start := job.start) is not None:
                bits = numbers.bits(job.node_list, job.nodes)
                jobs.append(_as_replayed_job(number, job, start, start + job.runtime, bits))
        size = trace.nodes
        ids = [job.job_id for job in trace.jobs]
        jobs, cancelled = (_with_requests(some, ids, requests) for some in (jobs, cancelled))
    if not jobs:
        raise TraceError(table, None, "holds no job with a recorded start")
    if len({job.job_id for job in (*jobs, *cancelled)}) < len(jobs) + len(cancelled):
        raise TraceError(table, None, "holds a job twice")
    jobs.sort(key=lambda job: (job.submit, job.job_id))
    machine = nodes or size or _busiest(jobs)
    largest = max(job.nodes for job in jobs)
    if largest > machine:
        raise InputError(f"{table}: a job has {largest:,} nodes, and the machine {machine:,}; give it with --nodes")
    name = place.name if place.name != ACTUAL else place.parent.name
    left = tuple(job for job in cancelled if job.nodes <= machine)
    return Replay(name, tuple(jobs), machine, left, limits, origin, passes)


def _as_replayed_job(number: int, job: TraceJob, start: float, end: float, bits: int) -> ReplayedJob:
    """A job of a log."""
    # Readers of sacct number task 4 of array 123 as 123 x 2^32 + 4, and components of a job from 2^31 on.
    array, task = divmod(job.job_id, _TASKS)
    return ReplayedJob(
        *(number, job.submit, start, end, job.nodes, job.walltime),
        place=bits,
        eligible=job.eligible,
        user=job.user,
        account=job.project,
        qos=job.qos,
        array=array if task < _TASKS // 2 else 0,
    )


def _with_requests(
    jobs: list[ReplayedJob], numbers: Sequence[int], requests: Mapping[int, JobRequest]
) -> list[ReplayedJob]:
    """The jobs with what they asked for; a dependency on an array waits for all its tasks."""
    if not requests:
        return jobs
    tasks: dict[int, list[int]] = {}
    for place, number in enumerate(numbers, 1):
        tasks.setdefault(number, []).append(place)
        if number >= _TASKS:
            tasks.setdefault(number // _TASKS, []).append(place)
    found = []
    for job in jobs:
        asked = requests.get(numbers[job.job_id - 1], JobRequest())
        after = tuple(place for number in asked.after for place in tasks.get(number, ()))
        found.append(replace(job, cpus=asked.cpus, memory=asked.memory, gpus=asked.gpus, after=after))
    return found


def has_left_queue(row: Mapping[str, Any]) -> bool:
    """Whether a row is a job that was cancelled while it waited: without a start, or with the end as its start.

    >>> has_left_queue({"state": "CANCELLED", "start": "", "end": 9}), has_left_queue({"state": "FAILED", "end": 9})
    (True, False)
    """
    start = row.get("start")
    return str(row.get("state") or "").startswith(_LEFT) and (start is None or start in ("", row.get("end")))


def write_actual(directory: Path, rows: list[dict[str, Any]]) -> None:
    """Write the table of a replay."""
    held = ("eligible",) if any(row.get("eligible") is not None for row in rows) else ()
    owners = tuple(name for name in (*_AMOUNTS, "origin", *_OWNERS) if any(row.get(name) for row in rows))
    columns = (*_NUMBERS, *held, "state", "by", "slurm_id", "node_list", *owners)
    write_csv(directory / ACTUAL, [{**dict.fromkeys(("start", *held)), **row} for row in rows], columns)


def _job(path: Path, line: int, row: dict[str, Any]) -> ReplayedJob:
    """A row of the table, checked; the start of a job that was cancelled in the queue is its end."""
    left = has_left_queue(row)
    row = {**row, "start": row.get("end")} if left else row
    number, submit, start, end, nodes, walltime = (read_number(path, line, row, name) for name in _NUMBERS)
    if not (nodes == int(nodes) and 1 <= nodes <= LARGEST_SIZE and number == int(number)):
        raise TraceError(path, line, "id and nodes must be whole numbers, and nodes at least 1")
    if not (submit <= start and (start < end or left) and walltime > 0):
        raise TraceError(path, line, "submit, start and end must follow one another, and the walltime must be positive")
    eligible = read_number(path, line, row, "eligible", submit)
    if eligible > start:
        raise TraceError(path, line, f"eligible must be at most the start, {start:g}, not {eligible:g}")
    held = eligible if eligible > submit else None
    place = _place(str(row.get("node_list") or ""), int(nodes))
    by, user, account, qos = (str(row.get(name) or "") for name in ("by", "user", "account", "qos"))
    cpus, memory, completing = (_amount(path, line, row, name) for name in _AMOUNTS)
    return ReplayedJob(
        *(int(number), submit, start, end, int(nodes), walltime, by, place, held, user, account, qos),
        cpus=int(cpus),
        memory=int(memory),
        completing=0.0 if left else completing,
    )


def _amount(path: Path, line: int, row: dict[str, Any], name: str) -> float:
    """A number of a column that may be missing or empty; then 0."""
    value = row.get(name) or 0
    if not isinstance(value, int | float) or not 0 <= value <= LARGEST_TIME:
        raise TraceError(path, line, f"{name} must be a number from 0 to {LARGEST_TIME:g}")
    return float(value)


def _place(text: str, nodes: int) -> int:
    """Nodes of a list such as ``n[1-4,7]`` as bits; 0 if their number or prefix differs."""
    place = sum(1 << (number - 1) for number in node_numbers(text))
    return place if place.bit_count() == nodes else 0


def _node_names(jobs: Iterable[TraceJob]) -> frozenset[str]:
    """Names of the nodes that jobs of a log ran on; empty if it names none."""
    nodes = NamedNodes()
    for job in jobs:
        nodes.add(job.node_list)
    return nodes.names


def _busiest(jobs: list[ReplayedJob]) -> int:
    """Largest number of nodes in use at once."""
    changes = sorted([(job.start, job.nodes) for job in jobs] + [(job.end, -job.nodes) for job in jobs])
    busy = most = 0
    for _, nodes in changes:
        busy += nodes
        most = max(most, busy)
    return most
