"""The accounts of the cluster, against a plain count of the nodes of each holder."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from holdfast.simulator.machine.cluster import Account, Cluster, Kind
from holdfast.workloads.ground.errors import InvariantError

NODES = 12


class ClusterMachine(RuleBasedStateMachine):
    """Moves nodes at random between accounts of all kinds, and counts them itself."""

    accounts = Bundle("accounts")

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(NODES)
        self.now = 0
        self.counted = {self.cluster.pool: NODES}
        self.spent = [0, 0, 0, 0]

    @rule(target=accounts)
    def the_pool(self) -> Account:
        return self.cluster.pool

    @rule(target=accounts, kind=st.sampled_from([Kind.HELD, Kind.BUSY, Kind.DOWN]))
    def open_account(self, kind: int) -> Account:
        account = Account(kind)
        self.counted[account] = 0
        return account

    @rule(ticks=st.integers(0, 5))
    def time_passes(self, ticks: int) -> None:
        for account, nodes in self.counted.items():
            self.spent[account.kind] += nodes * ticks
        self.now += ticks

    @rule(source=accounts, receiver=accounts, count=st.integers(-1, NODES + 1))
    def move(self, source: Account, receiver: Account, count: int) -> None:
        if 0 <= count <= self.counted[source]:
            self.cluster.move(source, receiver, count, self.now)
            self.counted[source] -= count
            self.counted[receiver] += count
        else:
            with pytest.raises(InvariantError, match="cannot move"):
                self.cluster.move(source, receiver, count, self.now)

    @invariant()
    def everybody_holds_what_was_counted(self) -> None:
        assert all(account.nodes == nodes for account, nodes in self.counted.items())
        assert sum(account.nodes for account in self.counted) == NODES
        assert sum(self.cluster.totals) == NODES

    @invariant()
    def time_is_booked_by_kind(self) -> None:
        assert list(self.cluster.node_ticks(self.now)) == self.spent


TestCluster = ClusterMachine.TestCase
TestCluster.settings = settings(max_examples=20, stateful_step_count=30)


def test_time_does_not_run_backwards() -> None:
    cluster = Cluster(4)
    busy = Account(Kind.BUSY)
    cluster.move(cluster.pool, busy, 2, 10)
    with pytest.raises(InvariantError):
        cluster.move(busy, cluster.pool, 1, 9)


def test_accounting_can_begin_later() -> None:
    cluster = Cluster(4)
    cluster.restart_accounting(100)
    assert cluster.node_ticks(110) == (40, 0, 0, 0)
