"""Slurm's multifactor priority: a weighted sum of age, fair share, job size and QOS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import floor

import numpy as np
from numpy.typing import NDArray

from holdfast.policies.kernels.queue_keys import PRIORITY, Formula
from holdfast.policies.orders.fairshare import account_name
from holdfast.policies.orders.slurm_priority import Association, fair_tree
from holdfast.policies.port import Ranking, SystemView, WaitingJob
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.ground.ranges import DURATION, Range, legal
from holdfast.workloads.ground.units import SECOND

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
    period=Range(0, 1e9),
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
    period
        Time between calculations of all priorities [s] (``PriorityCalcPeriod``), counted from the beginning of the
        simulation; ages grow only then, and a job that came later has age 0. 0: at each instant.
    shares
        Shares of the accounts, as ``physics:3+chem:1``: their fair share is by Fair Tree; others have 0. Empty: by
        ``accounts``.

    Notes
    -----
    Sources: slurm.schedmd.com, priority_multifactor and classic_fair_share. The age factor is min(wait / max_age, 1),
    the size factor n / M, or 1 - n / M; the sum is truncated to an integer, like Slurm's priority. Slurm's Fair
    Tree, the default since 19.05, ranks accounts instead of using 2^(-u x accounts); with equal shares both give the
    same order of accounts, but not the same weight beside the other factors. Usage is exact at each instant.
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
    period: float = 0.0
    shares: str = ""
    _qos: dict[str, float] = field(init=False, repr=False, compare=False, metadata={"parameter": False})
    _shares: dict[str, float] = field(init=False, repr=False, compare=False, metadata={"parameter": False})

    def __post_init__(self) -> None:
        object.__setattr__(self, "_qos", _numbers("factors", str(self.factors), 1.0))
        object.__setattr__(self, "_shares", _numbers("shares", str(self.shares), 1e9))

    @property
    def needs_usage(self) -> bool:
        """Whether past usage changes the order."""
        return self.fairshare > 0

    def at(self, view: SystemView) -> Callable[[WaitingJob], tuple[float, int]]:
        """Key: minus the current priority of a job, then its submit."""
        now, machine = self._calculation_time(view.now), view.nodes
        oldest = self.max_age * SECOND
        known: dict[str, float] = {}
        ranks = self._ranks(view)

        def key(job: WaitingJob) -> tuple[float, int]:
            group = account_name(job)
            weight = known.get(group)
            if weight is None:
                weight = known[group] = self._of_account(view, group, ranks)
            part = job.nodes / machine
            aged = min(max(now - job.eligible, 0) / oldest, 1.0)
            return -float(
                floor(weight + self.age * aged + self.size * (1.0 - part if self.small else part))
            ), job.submit

        return key

    def ranking(self) -> Ranking:
        """Vectorised form of this order."""
        return _MultifactorRanking(self)

    def formula(self, nodes: Ints, walltimes: Ints, machine: int) -> Formula | None:
        """Form of this order for a compiled replay; None if accounts change it, or if it is calculated now and then."""
        if self.fairshare or self.period or (self.qos and self._qos):
            return None
        part = nodes / machine
        size = self.size * (1.0 - part if self.small else part)
        given = (self.age, self.max_age * SECOND, 0.0)
        return Formula(PRIORITY, np.zeros(len(nodes)), size, given, by_submit=True)

    def _calculation_time(self, now: int) -> int:
        """Time of the last calculation [ticks]."""
        period = round(self.period * SECOND)
        return now - now % period if period else now

    def _ranks(self, view: SystemView) -> dict[str, float]:
        """Fair-share factors by Fair Tree; empty without shares."""
        if not (self.fairshare and self._shares):
            return {}
        return fair_tree(
            Association(name, "", True, shares, view.group_usage(name)) for name, shares in self._shares.items()
        )

    def _of_account(self, view: SystemView, group: str, ranks: dict[str, float]) -> float:
        """Contribution of the account of a job to its priority: fair share and QOS."""
        weight = self.qos * self._qos.get(group, 0.0)
        if self._shares:
            weight += self.fairshare * ranks.get(group, 0.0)
        elif self.fairshare:
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
        weights, ranks = np.zeros(len(self._groups)), order._ranks(view)
        for here in np.flatnonzero(np.bincount(number)).tolist():
            weights[here] = order._of_account(view, self._groups[here], ranks)
        part = nodes / view.nodes
        aged = np.minimum(np.maximum(order._calculation_time(view.now) - eligible, 0.0) / (order.max_age * SECOND), 1.0)
        return -np.floor(
            weights[number] + order.age * aged + order.size * (1.0 - part if order.small else part)
        ), submit


def _numbers(parameter: str, text: str, most: float) -> dict[str, float]:
    """Numbers by account."""
    found = {}
    for word in text.split("+") if text else ():
        account, between, value = word.rpartition(":")
        try:
            factor = decimal(value)
        except ValueError:
            factor = -1.0
        if not account or not between or not 0 <= factor <= most:
            raise ParameterError(parameter, f"accounts with numbers from 0 to {most:g}, as physics:1+chem:0.5", text)
        found[account] = factor
    return found
