"""Each rule of a machine with partitions and shared nodes, on a timeline worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest


def job(
    number: int, submit: float, walltime: float, runtime: float | None = None, user: str = "", **asked: Any
) -> MachineJob:
    return MachineJob(
        number, submit, walltime, walltime if runtime is None else runtime, ResourceRequest(**asked), user
    )


def replay(machine: dict[str, Any], *jobs: MachineJob, **options: Any) -> MachineReplay:
    return replay_on_machine(make_machine(**machine), jobs, **options)


def starts(found: MachineReplay) -> list[float | None]:
    return [None if place is None else place.start / SECOND for place in found.starts]


def names(found: MachineReplay, place: int) -> list[str]:
    start = found.starts[place]
    assert start is not None
    return [found.table.machine.names[node] for node in start.nodes]


TWO = {"nodes": [{"names": "n[1-2]", "cores": 4, "memory": "8M"}]}


# Rule 1: vectors.


def test_jobs_share_a_node_until_one_resource_is_used_up() -> None:
    one = {"nodes": [{"names": "n1", "cores": 4, "memory": "8M", "gpus": 2}]}
    found = replay(
        one,
        job(1, 0, 10, cores=1, memory=4),
        job(2, 0, 10, cores=1, memory=4),
        job(3, 0, 10, cores=1, memory=1),  # no memory is left
        job(4, 0, 10, cores=1, gpus={"gpu": 2}),  # two cores and the GPUs are free
        job(5, 0, 10, cores=1, gpus={"gpu": 1}),  # no GPU is left
    )
    assert starts(found) == [0, 0, 10, 0, 10]


def test_an_exclusive_job_needs_an_idle_node_and_takes_all_of_it() -> None:
    found = replay(TWO, job(1, 0, 10, cores=1), job(2, 1, 10, cores=1, exclusive=True), job(3, 2, 10, cores=4))
    assert starts(found) == [0, 1, 10]
    assert found.starts[1].taken == ((4, 8, 0),)  # type: ignore[union-attr]
    partition = {**TWO, "partitions": [{"name": "a", "nodes": "n[1-2]", "exclusive": True}]}
    assert starts(replay(partition, job(1, 0, 10), job(2, 0, 10), job(3, 0, 10))) == [0, 0, 10]


def test_gpus_of_a_kind_are_counted_beside_all_of_them() -> None:
    mixed = {"nodes": [{"names": "n1", "cores": 8, "gpus": {"a": 1, "b": 1}}]}
    found = replay(
        mixed,
        job(1, 0, 10, gpus={"a": 1}),
        job(2, 1, 10, gpus={"a": 1}),  # the other is of another kind
        job(3, 2, 8, gpus={"gpu": 1}),  # any: that of kind b, and it is back when job 2 can start
        job(4, 3, 5, gpus={"b": 1}),
    )
    assert starts(found) == [0, 10, 2, 10]


# Requests.


def test_tasks_with_tasks_per_node_and_a_smaller_last_node() -> None:
    found = replay(TWO, job(1, 0, 10, tasks=5, tasks_per_node=4), job(2, 0, 10, cores=3))
    assert starts(found) == [0, 0]
    assert found.starts[0].taken == ((4, 0, 0), (1, 0, 0))  # type: ignore[union-attr]


def test_tasks_alone_fill_nodes_in_the_order_of_placement() -> None:
    found = replay(TWO, job(1, 0, 10, cores=3), job(2, 0, 10, tasks=4, memory=1, memory_per_core=True))
    assert starts(found) == [0, 0]
    # n1 has the fewest free cores: one task there, three on n2.
    assert names(found, 1) == ["n1", "n2"]
    assert found.starts[1].taken == ((1, 1, 0), (3, 3, 0))  # type: ignore[union-attr]


def test_memory_per_core_of_a_partition_is_what_jobs_get_that_ask_for_none() -> None:
    machine = {**TWO, "partitions": [{"name": "a", "nodes": "n1", "memory_per_core": 4}]}
    found = replay(machine, job(1, 0, 10, cores=2), job(2, 0, 10, cores=1), job(3, 0, 10, cores=1, memory=0))
    assert starts(found) == [0, 10, 0]


def test_a_job_waits_for_its_begin() -> None:
    assert starts(replay(TWO, job(1, 0, 10, begin=7.0), job(2, 3, 10, begin=1.0))) == [7, 3]


@pytest.mark.parametrize(
    ("asked", "walltime", "reason"),
    [
        ({"cores": 5}, 10, "more cores than a node of its partition has"),
        ({"memory": 9}, 10, "more memory than a node of its partition has"),
        ({"gpus": {"gpu": 1}}, 10, "more gpus than a node of its partition has"),
        ({"gpus": {"v100": 1}}, 10, "GPUs of a kind that the machine does not have"),
        ({"nodes": 3}, 10, "more nodes than its partition has (with its features)"),
        ({"nodes": 2, "partitions": ("b",)}, 10, "more nodes than its partition has (with its features)"),
        ({"tasks": 9}, 10, "more tasks than fit"),
        ({"features": "opa"}, 10, "features that no node of its partition has"),
        ({"features": "a&"}, 10, "features that cannot be read"),
        ({"partitions": ("c",)}, 10, "a partition that the machine does not have (it has a, b)"),
        ({"partitions": ("b",)}, 61, "a walltime above the max_time of its partition"),
        ({"nodes": 0}, 10, "no nodes, tasks or cores"),
    ],
)  # fmt: skip
def test_jobs_that_fit_nowhere_are_left_out_and_counted(asked: dict[str, Any], walltime: float, reason: str) -> None:
    machine = {
        **TWO,
        "partitions": [
            {"name": "a", "nodes": "n[1-2]", "default": True},
            {"name": "b", "nodes": "n1", "max_time": "60s"},
        ],
    }
    found = replay(machine, job(1, 0, walltime, **asked), job(2, 0, 10))
    assert starts(found) == [None, 0]
    assert found.left_out == {reason: 1}
    with pytest.raises(InputError, match="no job fits the machine: 1 ask for"):
        replay(machine, job(1, 0, walltime, **asked))


# Rule 2: placement.


def test_pack_takes_the_lowest_weight_then_the_fullest_node() -> None:
    nodes = [{"names": "a[1-2]", "cores": 4, "weight": 5}, {"names": "b[1-2]", "cores": 8}]
    jobs = [
        job(1, 0, 99, cores=2),
        job(2, 0, 99, cores=2),
        job(3, 0, 99, cores=8),
        job(4, 0, 99, cores=4),
        job(5, 0, 99, cores=1),
    ]
    found = replay({"nodes": nodes}, *jobs)
    assert [names(found, place) for place in range(5)] == [["b1"], ["b1"], ["b2"], ["b1"], ["a1"]]


def test_spread_takes_the_lowest_weight_then_the_emptiest_node() -> None:
    nodes = [{"names": "a[1-2]", "cores": 4, "weight": 5}, {"names": "b[1-2]", "cores": 8}]
    jobs = [job(1, 0, 99, cores=2), job(2, 0, 99, cores=1), job(3, 0, 99, cores=1), job(4, 0, 99, cores=6)]
    found = replay({"nodes": nodes}, *jobs, placement="spread")
    # b1 6 free, b2 8: b2; then b2 7: b2; then b1 and b2 6 each: b1.
    assert [names(found, place) for place in range(4)] == [["b1"], ["b2"], ["b2"], ["b1"]]


def test_slurm_takes_the_run_of_consecutive_nodes_that_suffices_with_the_fewest_free_cores() -> None:
    nodes = [{"names": "n[1-6]", "cores": 4}]
    jobs = [
        job(1, 0, 99, exclusive=True),  # n1
        job(2, 0, 99, cores=3),  # n2: by then one run n2-n6, in it all are equal
        job(3, 0, 99, cores=4, nodes=1),  # n3: n2 has only one core left
        job(4, 0, 99, nodes=2, cores=1),  # runs n2 (1 free) and n4-n6 (12): only the second suffices
        job(5, 0, 99, cores=1),  # runs n2 (1 free) and n4-n6 (10): both suffice
    ]
    found = replay({"nodes": nodes}, *jobs, placement="slurm")
    assert [names(found, place) for place in range(5)] == [["n1"], ["n2"], ["n3"], ["n4", "n5"], ["n2"]]


def test_features_choose_nodes() -> None:
    nodes = [{"names": "a1", "cores": 4, "features": ["x"]}, {"names": "b1", "cores": 4, "features": ["x", "y"]}]
    jobs = [
        job(1, 0, 9, features="x&y"),
        job(2, 0, 9, features="x"),
        job(3, 0, 9, features="y|z"),
        job(4, 0, 9, cores=4),
    ]
    found = replay({"nodes": nodes}, *jobs)
    assert [names(found, place) for place in range(4)] == [["b1"], ["b1"], ["b1"], ["a1"]]


# Rules 3 and 4: order and heads.

PARTS = {
    "nodes": [{"names": "n[1-2]", "cores": 1}],
    "partitions": [
        {"name": "a", "nodes": "n1"},
        {"name": "b", "nodes": "n2"},
        {"name": "high", "nodes": "n[1-2]", "priority": 9},
    ],
}


def test_keys_that_change_with_time_are_looked_at_in_each_pass() -> None:
    # Waits over walltimes: at 10 they are 10 / 20, 10 / 100 and 1 / 20, at 30 they are 30 / 100 and 21 / 20.
    one = {"nodes": [{"names": "n1", "cores": 1}]}
    jobs = (job(1, 0, 10), job(2, 0, 20), job(3, 0, 100), job(4, 9, 20))
    assert starts(replay(one, *jobs, order="wfp3")) == [0, 10, 50, 30]
    assert starts(replay(one, *jobs)) == [0, 10, 30, 130]


def test_fair_share_on_a_machine_counts_what_accounts_have_used() -> None:
    one = {"nodes": [{"names": "n1", "cores": 1}]}
    jobs = (job(1, 0, 10, account="a"), job(2, 1, 10, account="a"), job(3, 2, 5, account="b"))
    assert starts(replay(one, *jobs, order="fairshare")) == [0, 15, 10]


def test_jobs_of_a_higher_tier_come_first() -> None:
    jobs = [
        job(1, 0, 10, partitions=("a",)),
        job(2, 1, 10, partitions=("a",)),
        job(3, 2, 10, partitions=("high",), nodes=2),
    ]
    assert starts(replay(PARTS, *jobs)) == [0, 20, 10]


def test_a_head_of_one_partition_does_not_stop_another_partition() -> None:
    jobs = [job(1, 0, 10, partitions=("a",)), job(2, 1, 10, partitions=("a",)), job(3, 2, 99, partitions=("b",))]
    for rule in ("easy", "none", "conservative"):
        assert starts(replay(PARTS, *jobs, backfilling=rule)) == [0, 10, 2]


def test_a_job_takes_the_first_of_its_partitions_in_which_it_can_start() -> None:
    jobs = [
        job(1, 0, 10, partitions=("a",)),
        job(2, 1, 10, partitions=("a", "b")),
        job(3, 2, 10, partitions=("a", "b")),
    ]
    found = replay(PARTS, *jobs)
    assert starts(found) == [0, 1, 10]
    assert [place.partition for place in found.starts if place is not None] == ["a", "b", "a"]


def test_an_overlapping_partition_respects_the_head_of_another() -> None:
    machine = {
        "nodes": [{"names": "n[1-2]", "cores": 1}],
        "partitions": [{"name": "all", "nodes": "n[1-2]"}, {"name": "one", "nodes": "n2"}],
    }
    jobs = [
        job(1, 0, 10, nodes=1),
        job(2, 1, 10, nodes=2),  # head of all: at 10 on both nodes
        job(3, 2, 20, partitions=("one",)),  # would delay it
        job(4, 3, 7, partitions=("one",)),  # ends just when the head starts
    ]
    assert starts(replay(machine, *jobs)) == [0, 10, 20, 3]


# Rule 5: EASY.


def test_backfilling_beside_a_head_on_shared_nodes() -> None:
    jobs = [
        job(1, 0, 10, cores=3),  # n1
        job(2, 0, 20, cores=3),  # n2
        job(3, 1, 10, cores=4),  # head: n1 at 10
        job(4, 2, 9, cores=1),  # on n1, which pack offers, it would delay the head; at 4 n2 is offered
        job(5, 3, 7, cores=1),  # n1 until 10
        job(6, 4, 50, cores=1),  # both nodes are full until job 4 ends
    ]
    found = replay({"nodes": [{"names": "n[1-2]", "cores": 4}]}, *jobs)
    assert starts(found) == [0, 0, 10, 4, 3, 13]


def test_a_head_may_be_placed_on_other_nodes_than_first_planned() -> None:
    jobs = [
        job(1, 0, 10, cores=3),  # n1
        job(2, 0, 10, cores=3),  # n2
        job(3, 1, 10, cores=4),  # head at 10, planned on n1
        job(4, 2, 99, cores=1),  # takes n1: the head can have n2
        job(5, 3, 99, cores=1),  # n2 is the only one left for the head
        job(6, 4, 6, cores=1),  # until the head starts
    ]
    assert starts(replay({"nodes": [{"names": "n[1-2]", "cores": 4}]}, *jobs)) == [0, 0, 10, 2, 10, 4]


# Rule 6: conservative, depth.


def test_reservations_of_all_or_of_some_waiting_jobs() -> None:
    one = {"nodes": [{"names": "n1", "cores": 4}]}
    jobs = [
        job(1, 0, 10, cores=3),
        job(2, 1, 10, cores=4),  # 10 to 20
        job(3, 2, 10, cores=2),  # 20 to 30
        job(4, 3, 10, cores=4),  # 30 to 40
        job(5, 4, 6, cores=1),  # beside the first
    ]
    assert starts(replay(one, *jobs, backfilling="conservative")) == [0, 10, 20, 30, 4]
    # With one reservation for job 2, job 4 may delay job 3; with a second one it may not.
    late = [job(1, 0, 10, cores=2), job(2, 1, 10, cores=3), job(3, 2, 30, cores=4), job(4, 3, 28, cores=1)]
    assert starts(replay(one, *late)) == [0, 10, 31, 3]
    assert starts(replay(one, *late, depth=2)) == [0, 10, 20, 50]


# Rule 8: limits.


def limited_machine(**quota: Any) -> dict[str, Any]:
    return {"nodes": [{"names": "n[1-2]", "cores": 4, "gpus": 2}], "limits": [{"user": "eve", **quota}]}


@pytest.mark.parametrize(
    ("quota", "asked"),
    [
        ({"running": 1}, {}),
        ({"nodes": 1}, {}),
        ({"cores": 3}, {"cores": 2}),
        ({"gpus": 1}, {"gpus": {"gpu": 1}}),
    ],
)
def test_a_job_stopped_by_a_limit_neither_starts_nor_blocks(quota: dict[str, int], asked: dict[str, Any]) -> None:
    jobs = [job(1, 0, 10, user="eve", **asked), job(2, 1, 10, user="eve", **asked), job(3, 2, 10, user="bob", **asked)]
    for kind in ("per_user", "together"):
        found = replay(limited_machine(**{kind: quota}), *jobs)
        assert starts(found) == [0, 10, 2]
        stopped = [None if place is None else place.limit for place in found.starts]
        assert [limit and limit.name for limit in stopped] == [None, "eve", None]


def test_limits_are_for_qos_accounts_users_and_partitions_each_user_or_together() -> None:
    for scope, asked in (("qos", {"qos": "x"}), ("account", {"account": "x"}), ("partition", {})):
        name = "all" if scope == "partition" else "x"
        machine = {"nodes": [{"names": "n1", "cores": 9}], "limits": [{scope: name, "per_user": {"running": 1}}]}
        jobs = [
            job(1, 0, 10, user="eve", **asked),
            job(2, 1, 10, user="bob", **asked),
            job(3, 2, 10, user="bob", **asked),
        ]
        assert starts(replay(machine, *jobs)) == [0, 1, 11]
        machine["limits"] = [{scope: name, "together": {"running": 1}}]
        assert starts(replay(machine, *jobs)) == [0, 10, 20]


def test_a_job_that_a_limit_never_allows_is_left_out() -> None:
    found = replay(
        limited_machine(together={"cores": 3}), job(1, 0, 10, user="eve", cores=4), job(2, 0, 10, user="eve")
    )
    assert starts(found) == [None, 0]
    assert found.left_out == {"more than a limit ever allows": 1}


# Rule 9: accounting.


def test_use_and_stranded_capacity() -> None:
    found = replay(TWO, job(1, 0, 10, cores=3), job(2, 0, 20, cores=3), job(3, 0, 10, cores=2))
    assert starts(found) == [0, 0, 10]
    second = SECOND
    assert found.span == 20 * second
    assert found.used == {
        "nodes": 40 * second,
        "cores": (30 + 60 + 20) * second,
        "memory": 0,
        "gpus": 0,
    }
    assert found.capacity["cores"] == 8 * 20 * second
    # From 0 to 10 one core is free on each node, and the third job needs two on one.
    assert found.stranded_time["cores"] == 2 * 10 * second


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"backfilling": "slrm"}, "unknown backfilling rule on a machine 'slrm': known are none, easy, conservative"),
        (
            {"placement": "packed"},
            "unknown placement 'packed': did you mean pack or spread? known are pack, spread, slurm",
        ),
        ({"order": "wfp"}, "unknown order 'wfp'"),
        ({"depth": 0}, "depth must be a whole number of at least 1, not 0"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        replay(TWO, job(1, 0, 10), **options)
    assert str(refused.value).startswith(sentence)


# What jobs wait for.


def waits(found: MachineReplay) -> list[tuple[float, float, float]]:
    return [
        (place.wait.limit / SECOND, place.wait.nodes / SECOND, place.wait.reservation / SECOND)
        for place in found.starts
        if place is not None
    ]


def test_a_wait_is_divided_into_limit_nodes_and_reservations() -> None:
    machine = {"nodes": [{"names": "n1", "cores": 4}], "limits": [{"user": "eve", "per_user": {"running": 1}}]}
    found = replay(
        machine,
        job(1, 0, 10, user="eve", cores=1),
        job(2, 1, 10, user="eve", cores=4),  # a limit until 10, by then job 3 has two cores until 30
        job(3, 2, 28, cores=2),
        job(4, 3, 40, cores=2),  # one core is free until 10; then it would delay job 2, which may start at 30
    )
    assert starts(found) == [0, 30, 2, 40]
    assert waits(found) == [(0, 0, 0), (9, 20, 0), (0, 0, 0), (0, 17, 20)]
    second, fourth = found.starts[1], found.starts[3]
    assert second is not None
    assert fourth is not None
    assert second.wait.limited_until == 10 * SECOND
    assert (second.wait.promised, second.wait.promised_at) == (30 * SECOND, 10 * SECOND)
    assert fourth.wait.other == 2
    assert [place and place.place for place in found.starts] == [0, 2, 1, 3]


def test_without_backfilling_jobs_wait_behind_the_first_that_cannot_start() -> None:
    one = {"nodes": [{"names": "n1", "cores": 4}]}
    found = replay(one, job(1, 0, 10, cores=3), job(2, 1, 10, cores=2), job(3, 2, 10, cores=1), backfilling="none")
    assert starts(found) == [0, 10, 10]
    assert waits(found) == [(0, 0, 0), (0, 9, 0), (0, 0, 8)]
    third = found.starts[2]
    assert third is not None
    assert (third.wait.other, third.wait.promised) == (2, None)
