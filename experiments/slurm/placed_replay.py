"""Recording of a replay on a Slurm whose nodes have resources: what each job asked for, and the nodes that it had."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.experiments.slurm.recorded_replay import ACTUAL, has_left_queue
from holdfast.experiments.slurm.request_options import REQUEST_COLUMNS, request_columns, request_of_columns
from holdfast.experiments.slurm.table_numbers import read_number
from holdfast.experiments.tables import read_csv, write_csv
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.machines.host_list import expand
from holdfast.workloads.machines.request import ResourceRequest

__all__ = ["PlacedJob", "PlacedReplay", "is_placed", "read_placed_replay", "write_placed_replay"]

#: Numbers that each row has.
_NUMBERS = ("id", "submit", "start", "end", "walltime")
#: Columns of what limits and priorities depend on, which may be missing.
_OWNERS = ("user", "account", "qos")
#: Columns that each table has.
_NEEDED = (*_NUMBERS, "tasks", "tasks_per_node", "nodes")


class PlacedJob(NamedTuple):
    """A job that ran, or was cancelled while it waited.

    Attributes
    ----------
    job_id
        Unique; jobs that are submitted later have larger ones.
    submit, start, end
        On the replay's clock [s]; start and end of a job that did not run are when it left the queue.
    walltime
        Limit that it asked for [s].
    request
        What it asked for, with the QOS and account that it had.
    nodes
        Names of its nodes; none: it did not run.
    completing
        Time from its end until its nodes could be used [s]; 0: unknown.
    by
        What started it, ``main`` scheduler or ``backfill`` thread; empty: unknown.
    cores
        Cores that it had on each of its nodes; empty: unknown, then the rule divides them.
    user
        Empty: unknown.
    eligible
        Eligible time, if later than its submit [s]; else None.
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
    cores: tuple[int, ...] = ()
    user: str = ""
    eligible: float | None = None

    @property
    def queued(self) -> float:
        """When it entered the queue [s]: its eligible time, or its submit."""
        return self.submit if self.eligible is None else self.eligible

    @property
    def wait(self) -> float:
        """Wait from then to the start [s]."""
        return self.start - self.queued


class PlacedReplay(NamedTuple):
    """Jobs that a Slurm ran, by submit.

    ``origin`` is Slurm's clock at time 0 [s since 1970], with which its plans round; 0: unknown. ``cancelled`` are
    jobs that left the queue without a start.
    """

    name: str
    jobs: tuple[PlacedJob, ...]
    origin: float = 0.0
    cancelled: tuple[PlacedJob, ...] = ()

    @property
    def all_jobs(self) -> tuple[PlacedJob, ...]:
        """The jobs that ran and those that were cancelled, by submit."""
        return tuple(sorted((*self.jobs, *self.cancelled), key=_by_submit))


def is_placed(path: str | Path) -> bool:
    """Whether :func:`read_placed_replay` reads a path: its table has columns of requests and nodes."""
    place = _table(path)
    if not place.is_file() or not place.name.endswith((".csv", ".csv.gz")):
        return False
    rows = read_csv(place)
    return bool(rows) and set(_NEEDED) <= set(rows[0])


def read_placed_replay(path: str | Path) -> PlacedReplay:
    """A replay from a table.

    Parameters
    ----------
    path
        Directory of ``holdfast slurm replay --machine``, or CSV with the columns ``id``, ``submit``, ``start``, ``end``
        and ``walltime`` [s], ``tasks``, ``tasks_per_node`` and ``nodes`` (names, as Slurm writes them), and as far as
        known ``eligible``, ``state``, ``node_cores``, ``completing``, ``origin``, ``user``, ``account``, ``qos`` and
        the other columns of a request (:data:`holdfast.experiments.slurm.request_options.REQUEST_COLUMNS`). A job with
        the state CANCELLED and no start left the queue at its end.

    Raises
    ------
    InputError
        If it cannot be read, or a row is no job.
    """
    place = _table(path)
    rows = read_csv(place)
    if not rows or not set(_NEEDED) <= set(rows[0]):
        raise TraceError(place, None, f"must have the columns {', '.join(_NEEDED[:-1])} and nodes, and a job")
    jobs = [_job(place, line, row) for line, row in enumerate(rows, 2)]
    if len({job.job_id for job in jobs}) < len(jobs):
        raise TraceError(place, None, "holds a job twice")
    name = place.parent.name if place.name == ACTUAL else place.name.removesuffix(".gz").removesuffix(".csv")
    origin = read_number(place, 2, rows[0], "origin", 0.0)
    jobs.sort(key=_by_submit)
    ran, left = tuple(job for job in jobs if job.nodes), tuple(job for job in jobs if not job.nodes)
    if not ran:
        raise TraceError(place, None, "holds no job with a recorded start")
    return PlacedReplay(name, ran, origin, left)


def write_placed_replay(
    directory: Path, rows: Sequence[Mapping[str, Any]], requests: Mapping[int, ResourceRequest]
) -> None:
    """Write the table of a replay, with the request of each job by its id."""
    owners = tuple(name for name in _OWNERS if any(row.get(name) for row in rows))
    owners += ("eligible",) if any(row.get("eligible") is not None for row in rows) else ()
    held = ("state", "by", "slurm_id", "nodes", "node_cores", "completing", "origin")
    columns = (*_NUMBERS, *REQUEST_COLUMNS, *held, *owners)
    known = []
    for row in rows:
        allocated = row.get("node_cores", {})
        cores = [str(allocated[node]) for node in expand(row["node_list"])] if allocated else []
        nodes = {"nodes": row["node_list"], "node_cores": "+".join(cores)}
        known.append({"start": None, "eligible": None, **row, **request_columns(requests[row["id"]]), **nodes})
    write_csv(directory / ACTUAL, known, columns)


def _table(path: str | Path) -> Path:
    """The file of a replay."""
    place = Path(path)
    return place / ACTUAL if place.is_dir() else place


def _by_submit(job: PlacedJob) -> tuple[float, int]:
    return job.submit, job.job_id


def _job(path: Path, line: int, row: Mapping[str, Any]) -> PlacedJob:
    left = has_left_queue(row)
    row = {**row, "start": row.get("end")} if left else row
    number, submit, start, end, walltime = (read_number(path, line, row, name) for name in _NUMBERS)
    completing = 0.0 if left else read_number(path, line, row, "completing", 0.0)
    eligible = read_number(path, line, row, "eligible", submit)
    if number != int(number):
        raise TraceError(path, line, "id must be a whole number")
    if not (submit <= start and (start < end or left) and walltime > 0 and completing >= 0):
        raise TraceError(path, line, "submit, start and end must follow one another, and times must not be negative")
    try:
        request = request_of_columns(row)
    except ValueError as error:
        raise TraceError(path, line, str(error)) from None
    if eligible > start:
        raise TraceError(path, line, f"eligible must be at most the start, {start:g}, not {eligible:g}")
    try:
        nodes = () if left else expand(str(row["nodes"] or ""))
    except ValueError:
        nodes = ()
    if not nodes and not left:
        raise TraceError(path, line, f"nodes must be names such as n[1-4], not {row['nodes'] or 'empty'}")
    cores = tuple(int(word) for word in re.findall(r"\d+", str(row.get("node_cores") or "")))
    if cores and not left and len(cores) != len(nodes):
        raise TraceError(path, line, f"node_cores must have {len(nodes)} numbers, such as 8+4, not {row['node_cores']}")
    by, user, account, qos = (str(row.get(name) or "") for name in ("by", *_OWNERS))
    request = request._replace(account=account, qos=qos)
    return PlacedJob(
        *(int(number), submit, start, end, walltime, request, nodes, completing, by, cores, user),
        eligible=eligible if eligible > submit else None,
    )
