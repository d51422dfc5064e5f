"""Limits that keep eligible jobs from starting: throttles of job arrays, and QOS limits of jobs and nodes.

A job that would exceed one is passed over in a scheduling pass, and holds no reservation. Sources: sbatch(1),
``--array=0-9%2``; slurm.schedmd.com, resource_limits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from workloads.ground.errors import TraceError
from workloads.ground.files import read_text
from workloads.ground.numbers import integer

__all__ = ["NO_LIMITS", "QosLimit", "QueueLimits", "read_qos_limits", "read_throttles"]

#: Columns of ``sacctmgr show qos``, by what they limit.
_COLUMNS = {"jobs": "GrpJobs", "nodes": "GrpTRES", "user_jobs": "MaxJobsPU", "user_nodes": "MaxTRESPU"}
_THROTTLE = re.compile(r"(?:\s--array[= ]|\s-a ?)[^\s%]*%(\d{1,9})(?=\s|$)")


class LimitedJob(Protocol):
    """A job that limits apply to."""

    @property
    def job_id(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def user(self) -> str: ...
    @property
    def qos(self) -> str: ...
    @property
    def array(self) -> int: ...


class QosLimit(NamedTuple):
    """Limits of a QOS on running jobs and their nodes, of all and of each user; None: no limit."""

    jobs: int | None = None
    nodes: int | None = None
    user_jobs: int | None = None
    user_nodes: int | None = None


@dataclass(frozen=True)
class QueueLimits:
    """Limits of a site.

    Attributes
    ----------
    throttles
        Most tasks of an array that run at once, by the array's job id.
    qos
        Limits by name of the QOS.
    """

    throttles: Mapping[int, int] = field(default_factory=dict)
    qos: Mapping[str, QosLimit] = field(default_factory=dict)

    def excess(self, queue: Iterable[LimitedJob], running: Iterable[LimitedJob]) -> frozenset[int]:
        """Ids of the jobs that cannot start beside the running ones if those before them do.

        Parameters
        ----------
        queue
            Jobs that would start, in order.
        running
            Jobs that run.
        """
        if not (self.throttles or self.qos):
            return frozenset()
        used: Counter[tuple[str, object]] = Counter()
        for job in running:
            used.update(self._claims(job))
        over = set()
        for job in queue:
            claims = self._claims(job)
            if any(used[key] + claim > self._most(key) for key, claim in claims.items()):
                over.add(job.job_id)
            else:
                used.update(claims)
        return frozenset(over)

    def _claims(self, job: LimitedJob) -> dict[tuple[str, object], int]:
        """What a job takes of each limit that applies to it."""
        claims: dict[tuple[str, object], int] = {}
        if job.array in self.throttles:
            claims["array", job.array] = 1
        limit = self.qos.get(job.qos)
        if limit is not None:
            for name, value in limit._asdict().items():
                if value is not None:
                    owner = (job.qos, job.user) if name.startswith("user") else job.qos
                    claims[name, owner] = job.nodes if name.endswith("nodes") else 1
        return claims

    def _most(self, key: tuple[str, object]) -> int:
        name, owner = key
        if name == "array":
            return self.throttles[owner]  # type: ignore[index]
        limit = self.qos[owner[0] if isinstance(owner, tuple) else str(owner)]
        return int(getattr(limit, name))


NO_LIMITS = QueueLimits()


def read_throttles(path: str | Path) -> dict[int, int]:
    """Throttles of job arrays by job id, from the columns JobID and SubmitLine of ``sacct -P``.

    Raises
    ------
    TraceError
        If a column is missing.
    """
    found = {}
    for row in _rows(path, ("JobID", "SubmitLine")):
        match = _THROTTLE.search(row["SubmitLine"])
        number = row["JobID"].partition("_")[0]
        if match and number.isdecimal():
            found[integer(number)] = int(match[1])
    return found


def read_qos_limits(path: str | Path) -> dict[str, QosLimit]:
    """Limits of QOS from ``sacctmgr -P show qos``; those of other resources than nodes are left out.

    Raises
    ------
    TraceError
        If the column Name is missing, or a limit is no number.
    """
    found = {}
    for row in _rows(path, ("Name",)):
        values = {name: _count(path, row.get(column, "")) for name, column in _COLUMNS.items()}
        if any(value is not None for value in values.values()):
            found[row["Name"].strip()] = QosLimit(**values)
    return found


def _count(path: str | Path, cell: str) -> int | None:
    """A number of jobs, or of nodes as in ``cpu=16,node=4``; None: no limit."""
    if "=" in cell:
        cell = dict(part.partition("=")[::2] for part in cell.split(",")).get("node", "")
    cell = cell.strip()
    if not cell:
        return None
    if not re.fullmatch(r"\d{1,12}", cell):
        raise TraceError(path, None, f"limits of QOS must be whole numbers, not {cell[:40]}")
    return int(cell)


def _rows(path: str | Path, needed: Sequence[str]) -> list[dict[str, str]]:
    lines = read_text(path).splitlines()
    head = [name.strip() for name in lines[0].split("|")] if lines else []
    missing = [name for name in needed if name not in head]
    if missing:
        raise TraceError(path, 1, f"has no column {missing[0]}")
    # A text such as SubmitLine, which may contain the separator, is the last column.
    return [dict(zip(head, line.split("|", len(head) - 1), strict=False)) for line in lines[1:] if line.strip()]
