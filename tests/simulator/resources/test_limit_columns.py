"""Which limits count for a job, and with Slurm's precedence, worked out by hand."""

from __future__ import annotations

from holdfast.simulator.resources.limit_columns import LimitColumns, Owner
from holdfast.simulator.resources.slurm_limits import RunningAmounts
from holdfast.simulator.resources.slurm_nodes import PlannedRun
from holdfast.workloads.machines.machine import Limit, Quota

LIMITS = (
    Limit("qos", "big", together=Quota(running=3, cores=30)),
    Limit("account", "chem", Quota(running=2), Quota(running=1, nodes=1)),
    Limit("user", "ada", together=Quota(running=1, cores=8)),
    Limit("partition", "work", Quota(nodes=5), Quota(cores=40)),
)


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
    columns = LimitColumns(LIMITS, [Owner("big", "chem", "ada", "work")], precedence=True)
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
    columns = LimitColumns(limits, owners, precedence=True)
    used = RunningAmounts(columns, [False])
    runs = [PlannedRun(9, (0,), ((1, 0, 0),), job, option=job) for job in (0, 1)]
    used.count(runs[1], 1)
    assert not used.would_stop(0, None, runs[0])  # type: ignore[arg-type]
    used.count(runs[1], -1)
    used.count(runs[0], 1)
    assert used.would_stop(1, None, runs[1])  # type: ignore[arg-type]
