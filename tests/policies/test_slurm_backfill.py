"""Slurm's plan on named nodes: blocks of neighbours, plans that prefer nodes in use, and what counting misses."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.slurm_backfill import SlurmBackfill, Wish, best_fit, named_plan, named_starts
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import Job, JobType
from tests.shared_data import shared_file


def place(*nodes: int) -> int:
    return sum(1 << (node - 1) for node in nodes)


def starts(rule: SlurmBackfill, nodes: int, queue: list[Wish], running: dict[int, int]) -> dict[int, int]:
    """Nodes of the jobs that start at 0; running jobs by nodes, with their ends [s]."""
    wishes = [wish._replace(walltime=wish.walltime * SECOND) for wish in queue]
    ends = [(end * SECOND, held) for held, end in running.items()]
    return dict(named_starts(rule, 0, nodes, wishes, ends))


@given(st.integers(1, (1 << 20) - 1), st.data())
def test_best_fit_takes_free_nodes_and_as_many_as_wanted(free: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, free.bit_count()))
    chosen = best_fit(free, count)
    assert chosen & ~free == 0
    assert chosen.bit_count() == count


def test_a_job_that_fits_by_count_waits_for_nodes_with_names() -> None:
    # Nodes 1 and 2 are busy for 100 s, node 4 for 50 s; job 1 needs all four. Job 2 ends before, and may run.
    rule, running = SlurmBackfill(), {place(1, 2): 100, place(4): 50}
    assert starts(rule, 4, [Wish(1, 4, 60), Wish(2, 1, 90)], running) == {2: place(3)}
    # Job 1 needs three: by count it could have 1, 2 and 4 at 100, so that job 2 might keep node 3 for 200 s. The plan
    # takes the busy nodes and one idle node more, which is node 3.
    assert starts(rule, 4, [Wish(1, 3, 60), Wish(2, 1, 200)], running) == {}
    # Without a preference for busy nodes it takes the block 1 to 3, too.
    assert starts(SlurmBackfill(busy=0), 4, [Wish(1, 3, 60), Wish(2, 1, 200)], running) == {}
    assert starts(SlurmBackfill(busy=0), 4, [Wish(1, 2, 60), Wish(2, 1, 200)], {place(1, 2): 100, place(3): 100}) == {
        2: place(4)
    }


def test_a_plan_with_more_nodes_than_a_limit_allows_is_not_made() -> None:
    # The plan of job 1 has nodes 1 and 2 at 100, and the idle node 4; without it job 2 may stay there for 200 s. If no
    # node is idle, the plan has two nodes, and is made.
    running = {place(1, 2): 100, place(3): 900}
    assert starts(SlurmBackfill(), 4, [Wish(1, 2, 60), Wish(2, 1, 200)], running) == {}
    assert starts(SlurmBackfill(), 4, [Wish(1, 2, 60, most=2), Wish(2, 1, 200)], running) == {2: place(4)}
    assert starts(SlurmBackfill(), 4, [Wish(1, 2, 60, most=3), Wish(2, 1, 200)], running) == {}
    _, plans = named_plan(SlurmBackfill(), 0, 3, [Wish(1, 2, SECOND, most=2)], [(100, place(1, 2)), (900, place(3))])
    assert plans[1].nodes == place(1, 2)


def test_nodes_of_a_run_that_ends_now_are_not_there_yet() -> None:
    assert starts(SlurmBackfill(), 4, [Wish(1, 3, 60)], {place(1, 2): 0}) == {}


def test_jobs_that_end_when_a_plan_begins_start_only_with_the_first() -> None:
    # Both end at 100, when job 1 gets all nodes. Job 2 starts; a second later job 3 would end too late.
    queue = [Wish(1, 4, 60), Wish(2, 1, 100), Wish(3, 1, 100), Wish(4, 1, 98)]
    assert list(starts(SlurmBackfill(), 4, queue, {place(1): 100})) == [2, 4]
    assert list(starts(SlurmBackfill(lag=3), 4, queue, {place(1): 100})) == [2]


def test_depth_and_most() -> None:
    running = {place(1, 2, 3): 100}
    # Job 2 is planned for 160 on; a job of 300 s passes it only where it has no reservation.
    queue = [Wish(1, 4, 60), Wish(2, 4, 60), Wish(3, 1, 100), Wish(4, 1, 50)]
    assert list(starts(SlurmBackfill(), 4, queue, running)) == [3]
    assert list(starts(SlurmBackfill(most=2), 4, queue[:2], running)) == []
    two = [Wish(1, 2, 60), Wish(2, 4, 60), Wish(3, 1, 150)]
    assert list(starts(SlurmBackfill(busy=0), 4, two, running)) == [3]
    assert list(starts(SlurmBackfill(busy=0), 4, [two[0], two[1], Wish(3, 1, 170)], running)) == []
    assert list(starts(SlurmBackfill(busy=0, depth=1), 4, [two[0], two[1], Wish(3, 1, 170)], running)) == [3]


def test_window_and_resolution() -> None:
    running, rule = {place(1, 2, 3): 100}, SlurmBackfill(busy=0)
    # Job 1 is planned for 100 on all nodes, and would be delayed by job 2; beyond the window nothing is kept for it.
    queue = [Wish(1, 4, 60), Wish(2, 1, 300)]
    assert list(starts(rule, 4, queue, running)) == []
    assert list(starts(SlurmBackfill(busy=0, window=99), 4, queue, running)) == [2]
    assert list(starts(SlurmBackfill(busy=0, window=100), 4, queue, running)) == []
    # Reservations begin at full minutes: a job of 80 s would reach into that of job 1, which begins at 60.
    assert list(starts(rule, 4, [queue[0], Wish(2, 1, 80)], running)) == [2]
    assert list(starts(SlurmBackfill(busy=0, resolution=60), 4, [queue[0], Wish(2, 1, 80)], running)) == []
    assert list(starts(SlurmBackfill(busy=0, resolution=60), 4, [queue[0], Wish(2, 1, 50)], running)) == [2]


def test_of_each_user_the_first_jobs_are_looked_at() -> None:
    # Job 1 has three of four nodes. The others of ann could start, but only one of hers is looked at, and that waits.
    jobs = [
        Job(1, JobType.RIGID, submit=0, nodes=3, runtime=600, walltime=600, user="ann"),
        Job(2, JobType.RIGID, submit=1, nodes=4, runtime=60, walltime=60, user="ann"),
        Job(3, JobType.RIGID, submit=2, nodes=1, runtime=60, walltime=60, user="ann"),
        Job(4, JobType.RIGID, submit=3, nodes=1, runtime=60, walltime=60, user="ben"),
    ]

    def start_times(rule: str) -> dict[int, float]:
        records = simulate(jobs, 4, backfilling=rule).records
        return {record.job_id: (record.start or 0) / SECOND for record in records}

    assert start_times("slurm") == {1: 0, 2: 600, 3: 2, 4: 62}
    assert start_times("slurm user=1") == {1: 0, 2: 600, 3: 660, 4: 3}


def test_running_jobs_that_end_at_about_the_same_time_are_taken_together() -> None:
    # With job 2 gone at 100 there are two free nodes for job 1; 25 s later there are three, of which it takes two.
    running = {place(1): 100, place(2): 125, place(3): 500}
    queue = [Wish(1, 2, 400), Wish(2, 1, 120)]
    # Exact to the second, job 1 starts at 100 on node 1 and the idle node 4, and job 2 would be in its way.
    assert list(starts(SlurmBackfill(precision=0), 4, queue, running)) == []
    # Together, it starts at 125 on nodes 1 and 2; and node 4, the idle one more, is free for 125 s.
    assert list(starts(SlurmBackfill(), 4, queue, running)) == [2]


def planned_start(nodes: int, wish: Wish, running: dict[int, int]) -> int:
    """When a job that must wait would start [s]; running jobs by nodes, with their ends [s]."""
    ends = [(end * SECOND, held) for held, end in running.items()]
    _, kept = named_plan(SlurmBackfill(), 0, nodes, [wish._replace(walltime=wish.walltime * SECOND)], ends)
    return kept[wish.job_id].start // SECOND


def test_ends_far_from_the_first_one_are_seen_coarsely() -> None:
    # Plans that slurmctld 22.05 logged. The window of the first end is up to 480; the next one doubles until it holds
    # 5,042, and then holds 7,075, too.
    running = {place(13, 14, 15, 16): 422, place(1, 2, 3, 4): 5042, place(5, 6, 7, 8, 9): 7075}
    assert planned_start(16, Wish(19, 8, 600), running) == 7075
    assert planned_start(16, Wish(19, 7, 600), running) == 422
    # Of other ends the second is alone in its window.
    running = {place(5, 6): 478, place(9, 10, 11, 12, 13, 14, 15, 16): 3058, place(1, 2, 3, 4): 5936}
    assert planned_start(16, Wish(12, 8, 1800), running) == 3058
    # 1,136, 4,323 and 4,697: the second and the third are together, although 4 nodes are free after the second.
    running = {place(6, 7): 1136, place(9, 10, 11, 12, 13, 14, 15, 16): 4323, place(1, 2, 3, 4, 5): 4697}
    assert planned_start(16, Wish(11, 4, 7200), running) == 4697


def test_what_has_started_is_preferred_by_the_next_plan() -> None:
    # As slurmctld 22.05 did: on an idle machine jobs 20 and 25 start, and 24 is planned on nodes 1 to 12. Then
    # its plan is on the nodes in use, 1 to 8 and 13 to 16, and one more; so 28 and 36 start on nodes 10 to 12.
    sizes = {20: (8, 3600), 24: (12, 7200), 25: (4, 3600), 27: (12, 1200), 28: (2, 3600), 36: (1, 7200)}
    queue = [Wish(job, nodes, walltime) for job, (nodes, walltime) in sizes.items()]
    in_ticks = [wish._replace(walltime=wish.walltime * SECOND) for wish in queue]
    first, kept = named_plan(SlurmBackfill(), 0, 16, in_ticks, [])
    assert [start.job_id for start in first] == [20, 25]
    assert kept[24].nodes == place(*range(1, 13))
    found = starts(SlurmBackfill(), 16, queue, {})
    assert {job: sorted(node + 1 for node in range(16) if held >> node & 1) for job, held in found.items()} == {
        **{20: list(range(1, 9)), 25: [13, 14, 15, 16], 28: [10, 11], 36: [12]}
    }


@st.composite
def machines(draw: st.DrawFn) -> tuple[int, list[Wish], list[tuple[int, int]]]:
    """A machine of up to 10 nodes, waiting jobs, and ends and nodes of running ones."""
    nodes = draw(st.integers(2, 10))
    owners = draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes))
    ends = [
        (draw(st.integers(1, 300)) * SECOND, sum(1 << node for node, owner in enumerate(owners) if owner == one))
        for one in sorted(set(owners) - {0})
    ]
    sizes = draw(st.lists(st.tuples(st.integers(1, nodes), st.integers(1, 300)), min_size=1, max_size=12))
    return nodes, [Wish(number, size, wall * SECOND) for number, (size, wall) in enumerate(sizes)], ends


@given(machines(), st.integers(0, 2), st.integers(0, 1), st.sampled_from([0.0, 30.0]))
def test_plans_share_no_node_and_ending_early_changes_no_start(
    machine: tuple[int, list[Wish], list[tuple[int, int]]], depth: int, busy: int, precision: float
) -> None:
    nodes, queue, running = machine
    rule = SlurmBackfill(depth=depth, busy=busy, precision=precision)
    found, kept = named_plan(rule, 0, nodes, queue, running)
    # All of a pass, and then more of the next one.
    assert named_starts(rule, 0, nodes, queue, running)[: len(found)] == found
    size = {wish.job_id: wish for wish in queue}
    held = [(0, end, place) for end, place in running]
    held += [(0, size[start.job_id].walltime, start.nodes) for start in found]
    for one, other in combinations(held, 2):
        assert not one[2] & other[2]
    plans = [(taken.start, taken.end, taken.nodes) for taken in kept.values()]
    for one, other in combinations(held + plans, 2):
        assert not one[2] & other[2] or one[1] <= other[0] or other[1] <= one[0]
    for job, taken in kept.items():
        assert taken.nodes.bit_count() >= size[job].nodes
        assert taken.end - taken.start == size[job].walltime


@pytest.mark.parametrize(
    "parameters", ["depth=-1", "most=0", "lag=-1", "precision=nan", "busy=2", "window=-1", "user=-1"]
)
def test_parameters_are_checked(parameters: str) -> None:
    with pytest.raises(ParameterError):
        _ = BACKFILLING[f"slurm {parameters}"]


def test_a_simulation_remembers_which_nodes_jobs_have() -> None:
    # Jobs 1 to 4 take one node each of four; 2 and 4 end first. Job 5 needs two neighbours of nobody: any two do.
    jobs = [
        Job(n, JobType.RIGID, submit=0, nodes=1, runtime=60 if n in (2, 4) else 600, walltime=900) for n in (1, 2, 3, 4)
    ]
    jobs.append(Job(5, JobType.RIGID, submit=30, nodes=2, runtime=60, walltime=60))
    records = {record.job_id: record for record in simulate(jobs, 4, backfilling="slurm").records}
    assert records[5].start == 60 * SECOND
    # On a machine with reservations for on-demand jobs it counts nodes, as conservative backfilling does.
    urgent = Job(6, JobType.ON_DEMAND, submit=300, nodes=2, runtime=60, walltime=60, notice=100, estimated_arrival=300)
    tables = [simulate([*jobs, urgent], 4, "CUA-PAA", backfilling=name).records for name in ("slurm", "conservative")]
    assert [record.start for record in tables[0]] == [record.start for record in tables[1]]


@pytest.mark.parametrize(
    ("name", "rule", "starts", "decisions"),
    [
        ("cons-s5", "slurm", 80, 1.0),
        ("cons-s6", "slurm", 100, 0.98),
        ("cons-s7", "slurm", 100, 0.99),
        ("sacct-s8", "slurm", 80, 1.0),
        ("easyidle-s5", "slurm depth=1 busy=0", 80, 1.0),
        ("easyidle-s6", "slurm depth=1 busy=0", 100, 1.0),
    ],
)
def test_it_decides_as_a_recorded_slurm_did(name: str, rule: str, starts: int, decisions: float) -> None:
    from holdfast.experiments.slurm.agreement import agreement
    from holdfast.experiments.slurm.recorded_replay import read_replay

    replay = read_replay(shared_file("slurm", f"replays/{name}/actual.csv").parent, 16)
    (row,), _, _ = agreement(replay, [rule], tolerance=60, lag=5)
    assert row["same_start"] >= starts
    assert row["equal"] >= decisions * row["decisions"]
