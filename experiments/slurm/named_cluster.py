"""Cluster of numbered nodes that records which nodes each account holds."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.simulator.machine.cluster import Account, Cluster, Kind
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["NamedCluster"]


class NamedCluster(Cluster):
    """Nodes 1 to N, each in one account.

    Parameters
    ----------
    nodes
        How many.

    Attributes
    ----------
    choice
        Nodes to move next, if the source holds them. Otherwise a running job gives up its last nodes, which keeps the
        node of its script, and any other account its first nodes.
    """

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self._owners: dict[int, Account] = dict.fromkeys(range(1, nodes + 1), self.pool)
        self.choice: set[int] = set()

    def move(self, source: Account, target: Account, count: int, now: int) -> None:
        """Hand nodes from one account to another; see :meth:`Cluster.move`."""
        super().move(source, target, count, now)
        held = sorted(self.numbers(source), key=lambda number: (number not in self.choice, number))
        if source.kind == Kind.BUSY and not self.choice:
            held.reverse()
        if len(held) < count:
            raise InvariantError(f"an account of {len(held)} nodes gave up {count}")
        for number in held[:count]:
            self._owners[number] = target

    def owner(self, number: int) -> Account:
        """The account that holds a node."""
        return self._owners[number]

    def numbers(self, account: Account) -> set[int]:
        """The nodes of an account."""
        return {number for number, owner in self._owners.items() if owner is account}

    def swap(self, account: Account, wanted: set[int], given: set[int] | None = None) -> None:
        """Exchange nodes of an account, those ``given`` or any others, for these nodes, as many as it can give."""
        has = self.numbers(account)
        away = has - wanted if given is None else has & given
        for number, other in zip(sorted(wanted - has), sorted(away), strict=False):
            self._owners[number], self._owners[other] = account, self._owners[number]

    def count_by_account(self, numbers: Iterable[int]) -> dict[Account, int]:
        """Number of nodes held by each account."""
        counts: dict[Account, int] = {}
        for number in numbers:
            counts[self._owners[number]] = counts.get(self._owners[number], 0) + 1
        return counts

    def accounts(self) -> set[Account]:
        """Accounts that hold a node."""
        return set(self._owners.values())

    def held_nodes(self) -> set[int]:
        """Nodes held by reservations and by arrived jobs that wait for more."""
        return {number for number, owner in self._owners.items() if owner.kind == Kind.HELD}
