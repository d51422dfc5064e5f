"""Priority of a job as Slurm computes it: a whole number from weighted factors, and fair share by Fair Tree.

Sources: slurm.schedmd.com, priority_multifactor and fair_tree, for release 22.05; checked against ``sprio -l`` of a
running Slurm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import floor, inf
from typing import NamedTuple

__all__ = ["Association", "Factors", "Weights", "age_factor", "fair_tree", "last_calculation", "size_factor"]


class Factors(NamedTuple):
    """Factors of a job, each from 0 to 1, and its nice value."""

    age: float = 0.0
    association: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    nice: int = 0


@dataclass(frozen=True)
class Weights:
    """Weights of the factors (``PriorityWeightAge`` and so on)."""

    age: float = 0.0
    association: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0

    def parts(self, factors: Factors) -> dict[str, float]:
        """Weighted factors by name."""
        return {name: getattr(self, name) * getattr(factors, name) for name in factors._fields if name != "nice"}

    def priority(self, factors: Factors) -> int:
        """Priority: the sum of the weighted factors less the nice value, truncated; at least 1."""
        return max(1, floor(sum(self.parts(factors).values()) - factors.nice))


class Association(NamedTuple):
    """An account, or a user in an account.

    Attributes
    ----------
    name
        Unique name.
    parent
        Name of the account above; empty: the root.
    is_user
        Whether it is a user.
    shares
        Its shares among the associations of the same account; None: those of its parent (``parent``).
    usage
        Its decayed usage, in any unit.
    """

    name: str
    parent: str
    is_user: bool
    shares: float | None
    usage: float


def last_calculation(now: float, began: float, period: float) -> float:
    """Time of the last calculation of all priorities [s].

    Parameters
    ----------
    now
        The time [s].
    began
        When Slurm began, which is its first calculation [s].
    period
        ``PriorityCalcPeriod`` [s]; 0: at each instant.
    """
    return began + floor((now - began) / period) * period if period and now > began else now


def age_factor(calculated: float, since: float, longest: float) -> float:
    """Age factor at the time of a calculation.

    Parameters
    ----------
    calculated, since
        Times of the calculation and of the eligibility [s]; what became eligible later has 0.
    longest
        ``PriorityMaxAge`` [s].
    """
    age = max(0, int(calculated) - int(since))
    return age / longest if age < longest else 1.0


def size_factor(nodes: int, cpus: int, all_nodes: int, all_cpus: int, *, small: bool) -> float:
    """Size factor of a pending job: the mean of its share of the nodes and of the CPUs of its last plan.

    Parameters
    ----------
    nodes
        Least number of nodes that it asks for.
    cpus
        CPUs that its last plan gave it, otherwise those that it asks for; 0: unknown, and only nodes count.
    all_nodes, all_cpus
        Those of the machine.
    small
        Whether small jobs have the larger factor (``PriorityFavorSmall``).
    """
    shares = [nodes / all_nodes, *([cpus / all_cpus] if cpus else [])]
    factor = sum(1.0 - share if small else share for share in shares) / len(shares)
    return min(1.0, max(0.0, factor))


def fair_tree(associations: Iterable[Association]) -> dict[str, float]:
    """Fair-share factors of the users by Fair Tree.

    At each level, accounts and users are ranked by shares / usage, both relative to their siblings; users of a better
    account are before all users of a worse one. The factor of a user is its rank, counted from the end, over the
    number of users. Equal siblings share a rank, and the children of equal accounts are ranked together.

    Returns
    -------
    dict
        Factor by the name of the user's association.

    Examples
    --------
    >>> fair_tree([Association("a", "", False, 1, 3), Association("b", "", False, 1, 1),
    ...            Association("ann", "a", True, 1, 3), Association("ben", "b", True, 1, 1)])
    {'ben': 1.0, 'ann': 0.5}
    """
    by_parent: dict[str, list[Association]] = {}
    for association in associations:
        by_parent.setdefault(association.parent, []).append(association)
    users = sum(child.is_user for children in by_parent.values() for child in children)
    level = {child.name: _level(child, children) for children in by_parent.values() for child in children}
    factors: dict[str, float] = {}
    rank = 0

    def visit(siblings: Sequence[Association], tied: bool) -> None:
        nonlocal rank
        ordered = sorted(siblings, key=lambda item: (-level[item.name], not item.is_user))
        for place, (_, group) in enumerate(groupby(ordered, key=lambda item: level[item.name])):
            equal = list(group)
            for number, user in enumerate(item for item in equal if item.is_user):
                # An account that equals a user begins with the rank of that user.
                if not (tied and place == 0) and number == 0:
                    rank = users - len(factors)
                factors[user.name] = rank / users
            accounts = [item for item in equal if not item.is_user]
            below = [child for account in accounts for child in by_parent.get(account.name, ())]
            if below:
                visit(below, len(accounts) < len(equal) or (tied and place == 0))

    visit(by_parent.get("", []), False)
    return factors


def _level(child: Association, siblings: Sequence[Association]) -> float:
    """Shares over usage, both relative to those of the siblings."""
    if child.shares is None:
        return inf
    if not child.shares:
        return 0.0
    used = sum(item.usage for item in siblings)
    if not child.usage or not used:
        return inf
    share = child.shares / sum(item.shares or 0.0 for item in siblings)
    return share / (child.usage / used)
