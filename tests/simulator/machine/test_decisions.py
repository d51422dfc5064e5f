"""Decisions: which of the spared runs is named."""

from __future__ import annotations

from holdfast.simulator import simulate
from holdfast.simulator.machine.decisions import Decision
from holdfast.workloads.ground.units import SECOND
from tests.support.jobs import on_demand, rigid


def test_the_spared_run_is_the_one_that_would_have_lost_least() -> None:
    """At 100 job 3 (4 nodes, 60 s) is preempted; of the others job 2 would lose 3 x 90 node-seconds, job 1 3 x 100."""
    jobs = [rigid(1, 0, 3, 500), rigid(2, 10, 3, 500), rigid(3, 40, 4, 500), on_demand(4, 100, 2, 50)]
    chosen = [item for item in simulate(jobs, 10, "N-PAA", decisions=True).decisions or () if item.other == 4]
    assert chosen[:2] == [
        Decision(100 * SECOND, "victim", 3, 4, nodes=4, loss=240 * SECOND),
        Decision(100 * SECOND, "spared", 2, 4, nodes=3, loss=270 * SECOND),
    ]
