"""Decayed usage of each project, in which older node-ticks count less.

It is computed only for queue orders that need it (``half_life``). The decay is continuous: a node held during the last
second counts more than one held during the first. Between two changes a group holds n nodes, so that its usage is
exactly

U(t) = U(s) 2^(-(t - s) / h) + n (h / ln 2) (1 - 2^(-(t - s) / h))

however often it is evaluated in between.
"""

from __future__ import annotations

from math import expm1, log

from holdfast.policies.orders.fairshare import account_name
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.prior_state import PastUsage
from holdfast.workloads.ground.units import SECOND, to_seconds

__all__ = ["UsageLedger"]


class _Usage:
    """Usage of a group: node-ticks at a time, and the nodes held since then."""

    __slots__ = ("nodes", "since", "used")

    def __init__(self, now: int) -> None:
        self.used = 0.0
        self.nodes = 0
        self.since = now


class UsageLedger:
    """Usage by group.

    Parameters
    ----------
    half_life
        Time after which a node-second counts half [s].
    """

    def __init__(self, half_life: float) -> None:
        self._half_life = half_life
        self._rate = log(2) / (half_life * SECOND)
        # None: total over all groups.
        self._groups: dict[str | None, _Usage] = {None: _Usage(0)}
        self._held: dict[int, int] = {}

    def inherit(self, past: PastUsage, now: int, origin: int) -> None:
        """Add the usage of runs before a simulation.

        Parameters
        ----------
        past
            Past usage of the accounts.
        now
            The time at which it is added [ticks], at or after its last change.
        origin
            Ticks of the job table's clock at which the simulated clock stands at 0.
        """
        used = past.at(to_seconds(now + origin), self._half_life)
        for group, node_seconds in (*used.items(), (None, sum(used.values()))):
            usage = self._groups.setdefault(group, _Usage(now))
            usage.used, usage.since = self._at(usage, now) + node_seconds * SECOND, now

    def hold(self, job: JobState, nodes: int, now: int) -> None:
        """Set the number of nodes that a job holds from now on."""
        before = self._held.get(job.job_id, 0)
        if nodes:
            self._held[job.job_id] = nodes
        elif before:
            del self._held[job.job_id]
        for group in (account_name(job), None):
            usage = self._groups.get(group)
            if usage is None:
                usage = self._groups[group] = _Usage(now)
            usage.used = self._at(usage, now)
            usage.since = now
            usage.nodes += nodes - before

    def decayed_usage(self, group: str | None, now: int) -> float:
        """Decayed node-ticks of a group, 0 if it has never run; None: of all groups."""
        usage = self._groups.get(group)
        return self._at(usage, now) if usage is not None else 0.0

    def _at(self, usage: _Usage, now: int) -> float:
        elapsed = now - usage.since
        if not elapsed:
            return usage.used
        # 1 - 2^(-x), computed without cancellation for short times.
        gone = -expm1(-self._rate * elapsed)
        return usage.used * (1.0 - gone) + usage.nodes * gone / self._rate
