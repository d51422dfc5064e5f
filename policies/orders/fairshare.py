"""Fair share: jobs of projects that have used less of the machine go first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.policies.port import Ranking, SystemView, WaitingJob
from holdfast.workloads.ground.ranges import DURATION, PATIENCE, legal
from holdfast.workloads.ground.units import SECOND

__all__ = ["FairShare", "account_name"]

Numbers = NDArray[np.float64]


class _Owned(Protocol):
    """A job with a user and a project."""

    @property
    def user(self) -> str: ...
    @property
    def project(self) -> str: ...


def account_name(job: _Owned) -> str:
    """The account of a job: its project, otherwise its user; empty if it has neither."""
    return job.project or job.user


def _shares(view: SystemView) -> Callable[[str], float]:
    """Return a function that computes the share of a group in the total usage."""
    total = view.group_usage(None) or 1.0
    # Rounding makes equal usages compare equal even if they were summed in another order.
    return lambda group: round(view.group_usage(group) / total, 12)


@dataclass(frozen=True)
@legal(half_life=DURATION, patience=PATIENCE)
class FairShare:
    """Fair share: jobs of the project with the least decayed usage first; ties by submit.

    Attributes
    ----------
    half_life
        Half-life of usage [s].
    patience
        Wait that compensates for a share of 100 % of the usage [s]; 0: waits do not count.

    Notes
    -----
    Usage as in Slurm's fair share (``PriorityDecayHalfLife``, by default seven days; slurm.schedmd.com,
    priority_multifactor and classic_fair_share), normalised by the total usage. Here it decays continuously; Slurm
    updates it every ``PriorityCalcPeriod``. All accounts have the same target, so the smallest usage has the largest
    factor 2^(-usage / share). With ``patience`` it is Maui's sum of a fair-share and a queue-time component
    (Jackson, Snell, Clement: "Core algorithms of the Maui scheduler", JSSPP 2001).
    """

    half_life: float = 7 * 24 * 3600.0
    patience: float = 0.0

    def at(self, view: SystemView) -> Callable[[WaitingJob], tuple[float, int]]:
        """Return the key: the share of a job's group in the usage, minus the compensation for its wait; and submit."""
        share_of = _shares(view)
        now = view.now
        patience = self.patience * SECOND
        known: dict[str, float] = {}

        def key(job: WaitingJob) -> tuple[float, int]:
            group = job.project or job.user
            share = known.get(group)
            if share is None:
                share = known[group] = share_of(group)
            if patience:
                share -= (now - job.eligible) / patience
            return share, job.submit

        return key

    def ranking(self) -> Ranking:
        """Vectorised form of this order."""
        return _FairShareRanking(self.patience)


class _FairShareRanking:
    """:class:`FairShare` for many jobs; arrays round its sums and quotients like single numbers."""

    width = 3
    slack = 0.0

    def __init__(self, patience: float) -> None:
        self._patience = patience * SECOND
        self._numbers: dict[str, int] = {}
        self._groups: list[str] = []

    def traits(self, job: WaitingJob) -> tuple[float, ...]:
        """Submit time, eligible time, and the index of the group."""
        group = account_name(job)
        number = self._numbers.get(group)
        if number is None:
            number = self._numbers[group] = len(self._groups)
            self._groups.append(group)
        return job.submit, job.eligible, number

    def keys(self, view: SystemView, traits: Numbers) -> tuple[Numbers, ...]:
        """Shares minus the compensation for waits, and submits."""
        submit, eligible, group = traits
        number = group.astype(np.intp)
        share_of = _shares(view)
        share = np.zeros(len(self._groups))
        for here in np.flatnonzero(np.bincount(number)).tolist():
            share[here] = share_of(self._groups[here])
        # The result is one number per job, not per group.
        primary = share[number]
        if self._patience:
            primary -= (view.now - eligible) / self._patience
        return primary, submit
