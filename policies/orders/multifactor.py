"""Slurm's multifactor priority: a weighted sum of age, fair share, job size and QOS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import floor

import numpy as np
from numpy.typing import NDArray

from policies.kernels.queue_keys import PRIORITY, Formula
from policies.orders.fairshare import account_name
from policies.port import Ranking, SystemView, WaitingJob
from workloads.ground.errors import ParameterError
from workloads.ground.numbers import decimal
from workloads.ground.ranges import DURATION, Range, legal
from workloads.ground.units import SECOND

__all__ = ["Multifactor"]

Numbers = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
@legal(
    **dict.fromkeys(("age", "fairshare", "size", "qos"), Range(0, 1e15)),
    max_age=DURATION,
    half_life=DURATION,
    accounts=Range(1, 1_000_000_000, whole=True),
    small=Range(0, 1, whole=True),
)
class Multifactor:
    """Slurm's priority/multifactor: the largest weighted sum of its factors goes first, by submit among equals.

    Attributes
    ----------
    age, fairshare, size, qos
        Weights (``PriorityWeightAge``, ``...Fairshare``, ``...JobSize``, ``...QOS``).
    max_age
        Wait at which the age factor reaches 1 [s] (``PriorityMaxAge``); the wait counts from eligibility.
    half_life
        Half-life of usage [s] (``PriorityDecayHalfLife``).
    accounts
        Number of accounts with equal shares: an account with a fraction u of the usage has the factor
        2^(-u x accounts).
    small
        1: small jobs have the larger size factor (``PriorityFavorSmall``).
    factors
        QOS factors of accounts from 0 to 1, as ``physics:1+chem:0.5``; others have 0.

    Notes
    -----
    Sources: slurm.schedmd.com, priority_multifactor and classic_fair_share. The age factor is min(wait / max_age, 1),
    the size factor n / M, or 1 - n / M; the sum is truncated to an integer, like Slurm's priority. Slurm computes
    priorities every ``PriorityCalcPeriod``; here they are exact at each instant. Its Fair Tree, the default since
    19.05, ranks accounts instead of using 2^(-u x accounts); with equal shares both give the same order.
    """

    age: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    qos: float = 0.0
    max_age: float = 7 * 24 * 3600.0
    half_life: float = 7 * 24 * 3600.0
    accounts: int = 1
    small: int = 0
    factors: str = ""
    _qos: dict[str, float] = field(init=False, repr=False, compare=False, metadata={"parameter": False})

    def __post_init__(self) -> None:
        object.__setattr__(self, "_qos", _factors(str(self.factors)))

    @property
    def needs_usage(self) -> bool:
        """Whether past usage changes the order."""
        return self.fairshare > 0

    def at(self, view: SystemView) -> Callable[[WaitingJob], tuple[float, int]]:
        """Return the key: minus the current priority of a job, and its submit."""
        now, machine = view.now, view.nodes
        oldest = self.max_age * SECOND
        known: dict[str, float] = {}

        def key(job: WaitingJob) -> tuple[float, int]:
            group = account_name(job)
            weight = known.get(group)
            if weight is None:
                weight = known[group] = self._of_account(view, group)
            part = job.nodes / machine
            aged = min((now - job.eligible) / oldest, 1.0)
            return -float(
                floor(weight + self.age * aged + self.size * (1.0 - part if self.small else part))
            ), job.submit

        return key

    def ranking(self) -> Ranking:
        """Vectorised form of this order."""
        return _MultifactorRanking(self)

    def formula(self, nodes: Ints, walltimes: Ints, machine: int) -> Formula | None:
        """Form of this order for a compiled replay; None if accounts change it."""
        if self.fairshare or (self.qos and self._qos):
            return None
        part = nodes / machine
        size = self.size * (1.0 - part if self.small else part)
        given = (self.age, self.max_age * SECOND, 0.0)
        return Formula(PRIORITY, np.zeros(len(nodes)), size, given, by_submit=True)

    def _of_account(self, view: SystemView, group: str) -> float:
        """Contribution of the account of a job to its priority: fair share and QOS."""
        weight = self.qos * self._qos.get(group, 0.0)
        if self.fairshare:
            used = view.group_usage(group) / (view.group_usage(None) or 1.0)
            # Rounding makes equal usages compare equal even if they were summed in another order.
            weight += self.fairshare * 2.0 ** (-round(used, 12) * self.accounts)
        return weight


class _MultifactorRanking:
    """:class:`Multifactor` for many jobs; arrays round its sums and quotients like single numbers."""

    width = 4
    slack = 0.0

    def __init__(self, order: Multifactor) -> None:
        self._order = order
        self._numbers: dict[str, int] = {}
        self._groups: list[str] = []

    def traits(self, job: WaitingJob) -> tuple[float, ...]:
        """Submit time, eligible time, nodes, and the index of the account."""
        group = account_name(job)
        number = self._numbers.get(group)
        if number is None:
            number = self._numbers[group] = len(self._groups)
            self._groups.append(group)
        return job.submit, job.eligible, job.nodes, number

    def keys(self, view: SystemView, traits: Numbers) -> tuple[Numbers, ...]:
        """Negative priorities, and submits."""
        order = self._order
        submit, eligible, nodes, group = traits
        number = group.astype(np.intp)
        weights = np.zeros(len(self._groups))
        for here in np.flatnonzero(np.bincount(number)).tolist():
            weights[here] = order._of_account(view, self._groups[here])
        part = nodes / view.nodes
        aged = np.minimum((view.now - eligible) / (order.max_age * SECOND), 1.0)
        return -np.floor(
            weights[number] + order.age * aged + order.size * (1.0 - part if order.small else part)
        ), submit


def _factors(text: str) -> dict[str, float]:
    """Factors by account."""
    found = {}
    for word in text.split("+") if text else ():
        account, between, value = word.rpartition(":")
        try:
            factor = decimal(value)
        except ValueError:
            factor = -1.0
        if not account or not between or not 0 <= factor <= 1:
            raise ParameterError("factors", "accounts with numbers from 0 to 1, as physics:1+chem:0.5", text)
        found[account] = factor
    return found
