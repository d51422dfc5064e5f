"""Limits that keep eligible jobs from starting: throttles of job arrays, and QOS limits of jobs and resources.

A job that would exceed one is passed over in a scheduling pass, and holds no reservation. Sources: sbatch(1),
``--array=0-9%2``; slurm.schedmd.com, resource_limits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from holdfast.experiments.slurm.submit_lines import parse_amounts, read_rows
from holdfast.workloads.ground.errors import TraceError

__all__ = ["NO_LIMITS", "QOS_FIELDS", "QosLimit", "QueueLimits", "enforces_limits", "read_qos_limits"]

#: Fields of QOS to ask sacctmgr for.
QOS_FIELDS = "Name,Priority,GrpJobs,GrpTRES,MaxJobsPU,MaxTRESPU"
#: Columns of ``sacctmgr show qos``: one with a number of jobs, and one with amounts of resources, of all and of a user.
_COLUMNS = {"": ("GrpJobs", "GrpTRES"), "user_": ("MaxJobsPU", "MaxTRESPU")}
_RESOURCES = {"nodes": "node", "cpus": "cpu", "memory": "mem"}


class LimitedJob(Protocol):
    """A job that limits apply to."""

    @property
    def job_id(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def cpus(self) -> int: ...
    @property
    def memory(self) -> int: ...
    @property
    def user(self) -> str: ...
    @property
    def qos(self) -> str: ...
    @property
    def array(self) -> int: ...


class QosLimit(NamedTuple):
    """Limits of a QOS on running jobs, their nodes, CPUs and memory [MiB], of all and of each user; None: no limit."""

    jobs: int | None = None
    nodes: int | None = None
    cpus: int | None = None
    memory: int | None = None
    user_jobs: int | None = None
    user_nodes: int | None = None
    user_cpus: int | None = None
    user_memory: int | None = None


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

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return bool(self.throttles or self.qos)

    def excess(self, queue: Iterable[LimitedJob], running: Iterable[LimitedJob]) -> frozenset[int]:
        """Ids of the jobs that cannot start beside the running ones if those before them do.

        Parameters
        ----------
        queue
            Jobs that would start, in order.
        running
            Jobs that run.
        """
        if not self.any:
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
                    amount = name.removeprefix("user_")
                    claims[name, owner] = 1 if amount == "jobs" else int(getattr(job, amount))
        return claims

    def _most(self, key: tuple[str, object]) -> int:
        name, owner = key
        if name == "array":
            return self.throttles[owner]  # type: ignore[index]
        limit = self.qos[owner[0] if isinstance(owner, tuple) else str(owner)]
        return int(getattr(limit, name))


NO_LIMITS = QueueLimits()


def enforces_limits(configuration: str) -> bool:
    """Whether Slurm enforces limits of QOS, by its ``AccountingStorageEnforce``; by default it does not.

    Examples
    --------
    >>> enforces_limits("AccountingStorageEnforce = associations,limits,qos"), enforces_limits("ClusterName=lab")
    (True, False)
    """
    match = re.search(r"(?im)^\s*AccountingStorageEnforce\s*=\s*(\S*)", configuration)
    # "safe" and "all" include limits.
    return bool(match) and bool({"limits", "safe", "all"} & set(match[1].lower().split(",")))  # type: ignore[index]


def read_qos_limits(path: str | Path) -> dict[str, QosLimit]:
    """Limits of QOS from ``sacctmgr -P show qos``; those of other resources than nodes, CPUs and memory are left out.

    Raises
    ------
    TraceError
        If the column Name is missing, or a limit is no number.
    """
    found = {}
    for row in read_rows(path, ("Name",)):
        values = {}
        for owner, (jobs, resources) in _COLUMNS.items():
            values[f"{owner}jobs"] = _count(path, row.get(jobs, ""))
            amounts = parse_amounts(path, row.get(resources, ""))
            values |= {f"{owner}{name}": amounts.get(kind) for name, kind in _RESOURCES.items()}
        if any(value is not None for value in values.values()):
            found[row["Name"].strip()] = QosLimit(**values)
    return found


def _count(path: str | Path, cell: str) -> int | None:
    """A number of jobs; None: no limit."""
    cell = cell.strip()
    if not cell:
        return None
    if not re.fullmatch(r"\d{1,12}", cell):
        raise TraceError(path, None, f"limits of QOS must be whole numbers, not {cell[:40]}")
    return int(cell)
