"""Limits that keep eligible jobs from starting: throttles of job arrays, and QOS limits of jobs and resources.

A job that would exceed one is passed over in a scheduling pass, and holds no reservation. Sources: sbatch(1),
``--array=0-9%2``; slurm.schedmd.com, resource_limits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from holdfast.workloads.ground.files import read_text
from holdfast.workloads.machines.machine import Limit
from holdfast.workloads.machines.slurm_limits import limits_from_tables

__all__ = ["NO_LIMITS", "QueueLimits", "read_qos_limits", "remark_on_owners"]


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
    def gpus(self) -> int: ...
    @property
    def user(self) -> str: ...
    @property
    def qos(self) -> str: ...
    @property
    def array(self) -> int: ...


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
    qos: Mapping[str, Limit] = field(default_factory=dict)

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
            held = {"running": 1, "nodes": job.nodes, "cores": job.cpus, "memory": job.memory, "gpus": job.gpus}
            for quota, owner in ((limit.together, job.qos), (limit.per_user, (job.qos, job.user))):
                claims |= {(name, owner): held[name] for name in quota.amounts() if name in held}
        return claims

    def _most(self, key: tuple[str, object]) -> int:
        name, owner = key
        if name == "array":
            return self.throttles[owner]  # type: ignore[index]
        if isinstance(owner, tuple):
            return int(getattr(self.qos[owner[0]].per_user, name))
        return int(getattr(self.qos[str(owner)].together, name))


NO_LIMITS = QueueLimits()
#: Most owners that a sentence names.
_SHOWN = 3


def read_qos_limits(path: str | Path) -> dict[str, Limit]:
    """Limits by name of the QOS from ``sacctmgr -P show qos``.

    Raises
    ------
    TraceError
        If the column Name is missing, or a limit is no number.
    """
    return {limit.name: limit for limit in limits_from_tables({path: read_text(path)}).limits if limit.scope == "qos"}


def remark_on_owners(path: str | Path) -> str:
    """A sentence on limits of accounts and users, from ``sacctmgr -P show assoc``; empty if there are none."""
    limits = limits_from_tables({path: read_text(path)}).limits
    named = [f"{limit.scope} {limit.name}" for limit in limits]
    if not named:
        return ""
    shown = ", ".join(named[:_SHOWN]) + (", ..." if len(named) > _SHOWN else "")
    return f"{Path(path).name}: limits of {shown} do not count on one pool of nodes, only with --machine"
