"""Limits that keep eligible jobs from starting: throttles of job arrays, and limits of QOS, accounts and users.

A job that would exceed one is passed over in a scheduling pass, and holds no reservation. Sources: sbatch(1),
``--array=0-9%2``; slurm.schedmd.com, resource_limits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from holdfast.simulator.resources.limit_columns import LimitColumns, Owner
from holdfast.workloads.machines.machine import Limit

__all__ = ["NO_LIMITS", "QueueLimits"]


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
    def account(self) -> str: ...
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
    limits
        Limits of QOS, accounts and users.
    """

    throttles: Mapping[int, int] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return bool(self.throttles or self.limits)

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
        used: Counter[Hashable] = Counter()
        for job in running:
            used.update({key: claim for key, (claim, _) in self._claims(job).items()})
        over = set()
        for job in queue:
            claims = self._claims(job)
            if any(0 <= most < used[key] + claim for key, (claim, most) in claims.items()):
                over.add(job.job_id)
            else:
                used.update({key: claim for key, (claim, _) in claims.items()})
        return frozenset(over)

    def _claims(self, job: LimitedJob) -> dict[Hashable, tuple[int, int]]:
        """What a job takes of each limit that counts it, and the most that this allows; -1: it stops no such job."""
        claims: dict[Hashable, tuple[int, int]] = {}
        if job.array in self.throttles:
            claims["array", job.array] = 1, self.throttles[job.array]
        held = 1, job.nodes, job.cpus, job.memory, job.gpus
        for limit, user, most in self._columns.quotas(Owner(job.qos, job.account, job.user, "")):
            for place, pair in enumerate(zip(held, most, strict=True)):
                claims[limit.scope, limit.name, user, place] = pair
        return claims

    @cached_property
    def _columns(self) -> LimitColumns:
        return LimitColumns(self.limits, (), as_slurm=True)


NO_LIMITS = QueueLimits()
