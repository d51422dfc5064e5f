"""The cluster: all accounts of nodes, and the only functions that move nodes between them.

Every holder of nodes is an :class:`Account`: the free pool, the idle nodes of a reservation, an arrived job that still
gathers its nodes, a running job, an outage. Nodes only move from one account to another, as in double-entry
bookkeeping, so that their sum cannot change; every move is checked. The cluster integrates the numbers of free, held,
busy and down nodes over time.
"""

from __future__ import annotations

from holdfast.workloads.ground.errors import InvariantError

__all__ = ["Account", "Cluster", "Kind"]


class Kind:
    """State that the nodes of an account count as. Plain integers, because they index the totals at every move."""

    FREE = 0
    HELD = 1
    BUSY = 2
    DOWN = 3


class Account:
    """A holder of nodes."""

    __slots__ = ("kind", "nodes")

    def __init__(self, kind: int, nodes: int = 0) -> None:
        self.kind = kind
        self.nodes = nodes


class Cluster:
    """N identical nodes and their accounts.

    Parameters
    ----------
    nodes
        Size of the machine.

    Attributes
    ----------
    pool
        The free nodes.
    totals
        Numbers of nodes that are free, held (reserved, or gathered while others are under warning), busy, and down.
    """

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.pool = Account(Kind.FREE, nodes)
        self.totals = [nodes, 0, 0, 0]
        # For each kind an offset such that node_ticks(t) = nodes * t + offset. Updating it at each move costs less than
        # integrating between moves.
        self._corrections = [0, 0, 0, 0]
        self._since = 0

    def move(self, source: Account, target: Account, count: int, now: int) -> None:
        """Move ``count`` nodes from one account to another.

        Raises
        ------
        InvariantError
            If the source does not have them, or time runs backwards.
        """
        before = source.nodes
        if count < 0 or count > before or now < self._since:
            raise InvariantError(
                f"cannot move {count} nodes at {now} from an account that holds {before} since {self._since}"
            )
        source.nodes = before - count
        target.nodes += count
        given, taken = source.kind, target.kind
        if given != taken:
            self._since = now
            totals, corrections, moved = self.totals, self._corrections, count * now
            totals[given] -= count
            totals[taken] += count
            corrections[given] += moved
            corrections[taken] -= moved

    def restart_accounting(self, now: int) -> None:
        """Restart the integrals at ``now``."""
        self._corrections = [-nodes * now for nodes in self.totals]
        self._since = now

    def node_ticks(self, now: int) -> tuple[int, int, int, int]:
        """Free, held, busy and down node-ticks up to ``now``."""
        pairs = zip(self.totals, self._corrections, strict=True)
        free, held, busy, down = (nodes * now + correction for nodes, correction in pairs)
        return free, held, busy, down
