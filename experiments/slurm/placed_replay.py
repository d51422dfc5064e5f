"""Recording of a replay on a Slurm whose nodes have resources: what each job asked for, and the nodes that it had."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.experiments.tables import read_csv
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.units import LARGEST_TIME
from holdfast.workloads.machines.host_list import expand
from holdfast.workloads.machines.request import ResourceRequest

__all__ = ["PlacedJob", "PlacedReplay", "is_placed", "read_placed"]

#: Numbers that each row has.
_NUMBERS = ("id", "submit", "start", "end", "walltime", "tasks", "tasks_per_node")
#: Numbers that may be missing or empty.
_AMOUNTS = ("memory_mb", "gpus", "completing", "origin")


class PlacedJob(NamedTuple):
    """A job that ran.

    Attributes
    ----------
    job_id
        Unique; jobs that are submitted later have larger ones.
    submit, start, end
        On the replay's clock [s].
    walltime
        Limit that it asked for [s].
    request
        What it asked for.
    nodes
        Names of its nodes.
    completing
        Time from its end until its nodes could be used [s]; 0: unknown.
    by
        What started it, ``main`` scheduler or ``backfill`` thread; empty: unknown.
    """

    job_id: int
    submit: float
    start: float
    end: float
    walltime: float
    request: ResourceRequest
    nodes: tuple[str, ...]
    completing: float = 0.0
    by: str = ""

    @property
    def queued(self) -> float:
        """When it entered the queue [s]."""
        return self.submit

    @property
    def wait(self) -> float:
        """Wait from the submit to the start [s]."""
        return self.start - self.submit


class PlacedReplay(NamedTuple):
    """Jobs that a Slurm ran, by submit.

    ``origin`` is Slurm's clock at time 0 [s since 1970], with which its plans round; 0: unknown.
    """

    name: str
    jobs: tuple[PlacedJob, ...]
    origin: float = 0.0


def is_placed(path: str | Path) -> bool:
    """Whether a file is a table that :func:`read_placed` reads: CSV with the columns of requests and nodes."""
    place = Path(path)
    if not place.is_file() or not place.name.endswith((".csv", ".csv.gz")):
        return False
    rows = read_csv(place)
    return bool(rows) and {*_NUMBERS, "nodes"} <= set(rows[0])


def read_placed(path: str | Path) -> PlacedReplay:
    """A replay from a table.

    Parameters
    ----------
    path
        CSV with the columns ``id``, ``submit``, ``start``, ``end`` and ``walltime`` [s], ``tasks``, ``tasks_per_node``
        and ``nodes`` (names, as Slurm writes them), and as far as known ``memory_mb`` and ``gpus`` of a node,
        ``features``, ``partition``, ``completing`` and ``origin``.

    Raises
    ------
    InputError
        If it cannot be read, or a row is no job.
    """
    place = Path(path)
    rows = read_csv(place)
    if not rows or not {*_NUMBERS, "nodes"} <= set(rows[0]):
        raise TraceError(place, None, f"must have the columns {', '.join(_NUMBERS)} and nodes, and a job")
    jobs = [_job(place, line, row) for line, row in enumerate(rows, 2)]
    if len({job.job_id for job in jobs}) < len(jobs):
        raise TraceError(place, None, "holds a job twice")
    name = place.name.removesuffix(".gz").removesuffix(".csv")
    origin = _number(place, 2, rows[0], "origin", 0.0)
    return PlacedReplay(name, tuple(sorted(jobs, key=lambda job: (job.submit, job.job_id))), origin)


def _job(path: Path, line: int, row: Mapping[str, Any]) -> PlacedJob:
    number, submit, start, end, walltime, tasks, each = (_number(path, line, row, name) for name in _NUMBERS)
    memory, gpus, completing, _ = (_number(path, line, row, name, 0.0) for name in _AMOUNTS)
    if any(value != int(value) for value in (number, tasks, each, memory, gpus)) or min(tasks, each) < 1:
        raise TraceError(path, line, "id, tasks, memory and GPUs must be whole numbers, and tasks at least 1")
    if not (submit <= start < end and walltime > 0 and min(memory, gpus, completing) >= 0):
        raise TraceError(path, line, "submit, start and end must follow one another, and amounts must not be negative")
    try:
        nodes = expand(str(row["nodes"]))
    except ValueError:
        nodes = ()
    if not nodes:
        raise TraceError(path, line, f"nodes must be names such as n[1-4], not {row['nodes']}")
    partition = str(row.get("partition") or "")
    request = ResourceRequest(
        tasks=int(tasks),
        tasks_per_node=int(each),
        memory=int(memory) or None,
        gpus={"gpu": int(gpus)} if gpus else {},
        features=str(row.get("features") or ""),
        partitions=(partition,) if partition else (),
    )
    return PlacedJob(int(number), submit, start, end, walltime, request, nodes, completing, str(row.get("by") or ""))


def _number(path: Path, line: int, row: Mapping[str, Any], name: str, default: float | None = None) -> float:
    """A number of a row; the default if it is missing or empty."""
    value = row.get(name)
    if default is not None and (value is None or value == ""):
        return default
    if not isinstance(value, int | float) or not abs(value) <= LARGEST_TIME:
        raise TraceError(path, line, f"{name} must be a number of at most {LARGEST_TIME:g}")
    return float(value)
