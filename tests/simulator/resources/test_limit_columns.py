"""Which limits count for a job, and with Slurm's precedence, worked out by hand."""

from __future__ import annotations

from holdfast.simulator.resources.limit_columns import LimitColumns, Owner
from holdfast.simulator.resources.slurm_limits import RunningAmounts
from holdfast.simulator.resources.slurm_nodes import PlannedRun
from holdfast.simulator.resources.slurm_plan import Request
from holdfast.workloads.machines.fitted_requests import Need
from holdfast.workloads.machines.machine import Limit, Quota

LIMITS = (
    Limit("qos", "big", together=Quota(running=3, cores=30)),
    Limit("account", "chem", Quota(running=2), Quota(running=1, nodes=1)),
    Limit("user", "ada", together=Quota(running=1, cores=8)),
    Limit("partition", "work", Quota(nodes=5), Quota(cores=40)),
)
NEEDS = [Need(0, (0, 1, 2), 2, (4, 300, 0), (4, 300, 0), (0, 0, 0), 0, True, 2)] * 2


def amounts(columns: LimitColumns, option: int) -> list[tuple[str, tuple[int, ...]]]:
    """Scope of each account of an option, and its limits of jobs, nodes, cores, memory and GPUs."""
    return [
        (columns.limits[account].scope, tuple(columns.most[5 * account : 5 * account + 5]))
        for account in columns.of(option)
    ]


def test_all_limits_of_an_owner_count_in_order() -> None:
    columns = LimitColumns(LIMITS, [Owner("big", "chem", "ada", "work"), Owner("", "phys", "ben", "other")])
    assert amounts(columns, 0) == [
        ("qos", (3, -1, 30, -1, -1)),
        ("account", (2, -1, -1, -1, -1)),
        ("account", (1, 1, -1, -1, -1)),
        ("user", (1, -1, 8, -1, -1)),
        ("partition", (-1, 5, -1, -1, -1)),
        ("partition", (-1, -1, 40, -1, -1)),
    ]
    assert amounts(columns, 1) == []


def test_in_slurm_a_limit_of_a_qos_replaces_one_of_the_same_kind() -> None:
    # The partition limits all cores, so that the QOS does not, and both limit what accounts and users do not any more:
    # GrpJobs of the account, and the cores of the user (GrpTRES). MaxJobs and GrpTRES=node of the account stay.
    columns = LimitColumns(LIMITS, [Owner("big", "chem", "ada", "work")], as_slurm=True)
    assert amounts(columns, 0) == [
        ("qos", (3, -1, -1, -1, -1)),
        ("account", (2, -1, -1, -1, -1)),
        ("account", (-1, 1, -1, -1, -1)),
        ("user", (1, -1, -1, -1, -1)),
        ("partition", (-1, 5, -1, -1, -1)),
        ("partition", (-1, -1, 40, -1, -1)),
    ]


def test_what_a_replaced_limit_counts_counts_for_others() -> None:
    # Of two jobs in chem, the one of QOS big is not stopped by GrpJobs=1 of chem, but counts there for the other.
    owners = [Owner("big", "chem", "ben", "w"), Owner("", "chem", "joe", "w")]
    limits = LIMITS[0], Limit("account", "chem", together=Quota(running=1))
    columns = LimitColumns(limits, owners, as_slurm=True)
    used = RunningAmounts(columns, NEEDS, [False])
    runs = [PlannedRun(9, (0,), ((1, 0, 0),), job, option=job) for job in (0, 1)]
    used.count(runs[1], 1)
    assert not used.would_stop(0, NEEDS[0], runs[0])
    used.count(runs[1], -1)
    used.count(runs[0], 1)
    assert used.would_stop(1, NEEDS[1], runs[1])


def test_in_slurm_a_shared_node_counts_once_and_an_exclusive_job_has_the_memory_that_it_asks_for() -> None:
    # Job 0 runs on nodes 0 and 1, job 1 wants node 1 and another; some limits allow job 1 beside it. Both have whole
    # nodes of 800 MiB, and ask for 300 MiB on each, 600 in all.
    owners = [Owner("q", "", "", "w")] * 2
    whole = [PlannedRun(9, nodes, ((4, 800, 0),) * 2, job, True, job) for job, nodes in enumerate(((0, 1), (1, 2)))]
    for quota, stopped in ((Quota(nodes=3), False), (Quota(nodes=2), True), (Quota(memory=1200), False)):
        columns = LimitColumns([Limit("qos", "q", together=quota)], owners, as_slurm=True)
        used = RunningAmounts(columns, NEEDS, [True] * 3)
        used.count(whole[0], 1)
        request = Request(1, 1, NEEDS[1], 9)
        assert not used.stops(request)
        assert used.stops(request, whole[1]) == stopped, quota
        # A plan has no nodes yet that could be shared: Slurm counts all.
        assert used.would_stop(1, NEEDS[1], whole[1]) == (quota.nodes is not None)
    plain = RunningAmounts(LimitColumns([Limit("qos", "q", together=Quota(memory=1200))], owners), NEEDS, [True] * 3)
    plain.count(whole[0], 1)
    assert plain.stops(Request(1, 1, NEEDS[1], 9), whole[1])
