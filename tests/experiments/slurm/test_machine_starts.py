"""Simulated starts of a replay on a machine, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.experiments.slurm.decision_pace import Pace
from holdfast.experiments.slurm.machine_starts import simulate_machine_starts
from holdfast.experiments.slurm.pass_times import PassDelays, measure_delays
from holdfast.experiments.slurm.placed_replay import PlacedJob, PlacedReplay
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Limit, Quota
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest

TWO = make_machine(
    nodes=[{"names": "n[1-2]", "cores": 4}],
    partitions=[{"name": "work", "nodes": "ALL", "default": True}, {"name": "urgent", "nodes": "n2", "priority": 9}],
)


def job(
    number: int, submit: float, runtime: float, cores: int, *, nodes: int = 1, limit: float = 600, **more: float | str
) -> PlacedJob:
    """A job as if Slurm had run it at 1,000, which the simulation does not look at."""
    partition = str(more.get("partition", "work"))
    request = ResourceRequest(nodes=nodes, cores=cores, partitions=(partition,))
    where = ("n2",) if partition == "urgent" else ("n1", "n2")[:nodes]
    return PlacedJob(number, submit, 1000, 1000 + runtime, limit, request, where, float(more.get("completing", 0.0)))


def starts(*jobs: PlacedJob, pace: Pace = Pace(), origin: float = 0.0) -> dict[int, tuple[float, str]]:  # noqa: B008
    found = simulate_machine_starts(TWO, PlacedReplay("by hand", jobs, origin), SlurmBackfill(), pace)
    return {number: (start.start, ",".join(start.nodes)) for number, start in found.items()}


def test_a_job_starts_when_others_have_left_room_for_it() -> None:
    # Job 1 leaves one core on each node; job 3 has room beside it, and job 2 when it ends, not when it was limited to.
    found = starts(job(1, 0, 100, 3, nodes=2), job(2, 10, 50, 4), job(3, 20, 50, 1, limit=60))
    assert found == {1: (0, "n1,n2"), 2: (100, "n1"), 3: (20, "n1")}


@pytest.mark.parametrize(
    "limit",
    [
        Limit("qos", "few", Quota(running=1)),
        Limit("qos", "few", Quota(cores=3)),
        Limit("account", "chem", together=Quota(cores=2)),
        Limit("account", "chem", Quota(cores=3)),
        Limit("user", "ada", together=Quota(running=1)),
        Limit("partition", "work", together=Quota(running=2, cores=3)),
    ],
)
def test_a_limited_job_waits_for_the_end_of_another_and_holds_nothing(limit: Limit) -> None:
    # Job 2 has room, but only one of the jobs of ada may run; job 3, of another owner, passes it. Slurm makes no pass
    # while the node of job 1 completes, until 108.
    own = ResourceRequest(cores=2, partitions=("work",), qos="few", account="chem")
    first, second = (job(number, number, 99, 2)._replace(request=own, user="ada") for number in (1, 2))
    third = job(3, 3, 200, 1, limit=1200)._replace(user="ben")
    jobs = first._replace(completing=8.0), second, third
    limited = replace(TWO, limits=(limit,))
    found = simulate_machine_starts(limited, PlacedReplay("by hand", jobs), SlurmBackfill())
    assert {number: start.start for number, start in found.items()} == {1: 1, 2: 108, 3: 3}
    free = simulate_machine_starts(TWO, PlacedReplay("by hand", jobs), SlurmBackfill())
    assert {number: start.start for number, start in free.items()} == {1: 1, 2: 2, 3: 3}


def test_a_job_that_held_more_than_a_limit_is_refused() -> None:
    limited = replace(TWO, limits=(Limit("partition", "work", together=Quota(cores=3)),))
    with pytest.raises(InputError, match="job 1 held more than a limit ever allows"):
        simulate_machine_starts(limited, PlacedReplay("by hand", (job(1, 0, 10, 4),)), SlurmBackfill())


def test_a_higher_tier_comes_first() -> None:
    found = starts(job(1, 0, 100, 4, nodes=2), job(2, 10, 50, 4, nodes=2), job(3, 20, 50, 4, partition="urgent"))
    assert found == {1: (0, "n1,n2"), 2: (150, "n1,n2"), 3: (100, "n2")}


def test_nodes_are_used_when_they_have_completed_and_no_pass_is_made_before() -> None:
    # Job 1 ends at 50 and its node completes at 58; job 3 comes at 52, and although n2 is idle it waits for the pass.
    jobs = job(1, 0, 50, 4, completing=8), job(2, 10, 10, 4, completing=1), job(3, 52, 10, 1)
    assert starts(*jobs) == {1: (0, "n1"), 2: (10, "n2"), 3: (58, "n1")}


def test_the_pace_delays_what_has_no_time_of_its_own() -> None:
    found = starts(job(1, 0, 50, 4, nodes=2), job(2, 10, 10, 4), pace=Pace(release=2, submit=1))
    assert found == {1: (1, "n1,n2"), 2: (53, "n1")}


def test_plans_follow_the_clock_of_slurm() -> None:
    # Job 3 wants a whole node; they come free at 65 and 110. Its first window lasts until the next half minute of
    # Slurm's clock after 65, and half a minute more: to 120, so that the plan is for 110, and job 4 has 90 s beside
    # job 1. With a clock that is 20 s ahead it lasts to 100 only, and the plan is for 65.
    jobs = job(1, 0, 65, 3, limit=65), job(2, 0, 110, 4, limit=110), job(3, 1, 10, 4), job(4, 2, 5, 1, limit=90)
    assert {origin: starts(*jobs, origin=origin)[4] for origin in (0, 20)} == {0: (2, "n1"), 20: (75, "n1")}


def test_the_backfill_thread_follows_starts_of_the_main_scheduler_a_second_later() -> None:
    # At 0, job 1 starts in order and job 2 must wait; job 3, behind it, is backfilled in the next pass.
    assert starts(job(1, 0, 100, 3, nodes=2), job(2, 0, 50, 4), job(3, 0, 50, 1, limit=60))[3] == (1, "n1")


def test_passes_are_made_while_nodes_complete_if_their_times_are_known() -> None:
    # n1 completes from 50 to 58: job 2 starts on n2 meanwhile, and job 3 waits for n1.
    jobs = job(1, 0, 50, 4), job(2, 52, 100, 4), job(3, 53, 10, 4)
    delays = {1: PassDelays(0, 8), 2: PassDelays(0, 1), 3: PassDelays(0, 1)}
    found = simulate_machine_starts(TWO, PlacedReplay("by hand", jobs), SlurmBackfill(), delays=delays)
    assert {number: tuple(start) for number, start in found.items()} == {
        1: (0, ("n1",)),
        2: (52, ("n2",)),
        3: (58, ("n1",)),
    }


def test_nodes_that_complete_are_kept_for_the_job_that_is_planned_there() -> None:
    # Job 3 wants both nodes. While n1 completes it is planned for the second after the pass at 51, so that job 4, which
    # would run longer, does not start on n2; at 55 job 3 starts.
    jobs = job(1, 0, 50, 4, limit=50), job(3, 1, 30, 4, nodes=2), job(4, 2, 5, 4, limit=90)
    delays = {1: PassDelays(0, 5, 1), 3: PassDelays(0, 1), 4: PassDelays(0, 1)}
    found = simulate_machine_starts(TWO, PlacedReplay("by hand", jobs), SlurmBackfill(), delays=delays)
    assert [found[number].start for number in (1, 3, 4)] == [0, 55, 86]


def test_delays_are_read_from_starts() -> None:
    def ran(number: int, submit: float, start: float, end: float, *nodes: str) -> PlacedJob:
        return PlacedJob(number, submit, start, end, 600, ResourceRequest(nodes=len(nodes)), nodes)

    jobs = (
        ran(1, 0, 0.5, 50, "n1"),  # a start on n2 while n1 completes, then one on n1
        ran(2, 0, 0.5, 70, "n2", "n3"),  # a start on its node
        ran(3, 10, 50.25, 100, "n2"),  # no start within three seconds
        ran(4, 10, 51, 90, "n1"),  # a start elsewhere alone
        ran(5, 20, 70.75, 200, "n3"),
        ran(6, 30, 90.5, 300, "n2"),
        ran(7, 90.25, 90.5, 400, "n3"),  # was submitted later: shows nothing about the end at 90
    )
    assert measure_delays(PlacedReplay("by hand", jobs), Pace(release=0.75, submit=0.625)) == {
        1: PassDelays(0.5, 1, 0.25),
        2: PassDelays(0.5, 0.75),
        3: PassDelays(0.625, 0.75),
        4: PassDelays(0.625, 0.9, 0.5),
        5: PassDelays(0.625, 0.75),
        6: PassDelays(0.625, 0.75),
        7: PassDelays(0.25, 0.75),
    }


def test_a_job_is_not_seen_before_one_that_was_submitted_earlier() -> None:
    # Job 1 is seen at 2 only; so is job 2, which has no nodes beside it.
    jobs = job(1, 0, 50, 4, nodes=2), job(2, 1, 10, 4)
    threads = {1: PassDelays(2, 1), 2: PassDelays(0.5, 1)}
    placed = simulate_machine_starts(TWO, PlacedReplay("by hand", jobs), SlurmBackfill(), Pace(1), threads=threads)
    assert {number: start.start for number, start in placed.items()} == {1: 2, 2: 53}


def test_a_pass_takes_the_time_that_its_starts_show() -> None:
    def ran(number: int, submit: float, start: float, end: float, node: str) -> PlacedJob:
        return PlacedJob(number, submit, start, end, 600, ResourceRequest(cores=4), (node,))

    # After the end at 50 starts follow one another within a second, up to 52.2; the one at 53.3 is of another pass.
    after = (ran(number, 1, start, 99, "n1") for number, start in enumerate((51, 51.4, 52.2, 53.3), 2))
    found = measure_delays(PlacedReplay("by hand", (ran(1, 0, 0, 50, "n1"), *after)), Pace())
    assert found[1].starts == pytest.approx((0.4, 1.2))
    # Jobs 2 and 3 start 0.8 s after each other, job 4 when the first one has ended.
    jobs = job(1, 0, 50, 4, nodes=2), job(2, 10, 20, 4), job(3, 20, 90, 4), job(4, 30, 5, 4)
    threads = {1: PassDelays(0, 1, release_by="backfill", starts=(0.8,))}
    placed = simulate_machine_starts(TWO, PlacedReplay("by hand", jobs), SlurmBackfill(), Pace(1), threads=threads)
    assert {number: start.start for number, start in placed.items()} == {1: 0, 2: 51, 3: 51.8, 4: 72}
    # The pass has time for one start; the second one is of a later pass, at its time.
    jobs = job(1, 0, 50, 4, nodes=2), job(2, 10, 20, 4), job(3, 51.5, 90, 4)
    placed = simulate_machine_starts(TWO, PlacedReplay("by hand", jobs), SlurmBackfill(), Pace(1), threads=threads)
    assert {number: start.start for number, start in placed.items()} == {1: 0, 2: 51, 3: 51.5}


def test_the_thread_that_comes_first_decides_about_nodes() -> None:
    # Job 2 waits for n2, the only node of urgent, planned there at 100. Job 3 asks for both partitions. The main
    # scheduler keeps n2 for job 2 and starts job 3 on n1; the backfill thread starts it on n2, where it ends in time.
    both = job(3, 2, 5, 1, limit=60, partition="urgent")
    both = both._replace(request=ResourceRequest(cores=1, partitions=("urgent", "work")))
    jobs = job(1, 0, 100, 3, limit=100, partition="urgent"), job(2, 1, 10, 4, partition="urgent"), both
    threads = {3: PassDelays(0, 0, submit_by="backfill")}
    replay = PlacedReplay("by hand", jobs)
    found = [simulate_machine_starts(TWO, replay, SlurmBackfill(), threads=each)[3] for each in ({}, threads)]
    assert found == [(2, ("n1",)), (2, ("n2",))]


def cancellation(time: float, each: PlacedJob) -> PlacedJob:
    """A job that left the queue instead of starting."""
    return each._replace(start=time, end=time, nodes=())


def test_a_cancelled_job_leaves_the_queue_and_its_nodes_when_slurm_cancelled_it() -> None:
    def starts_beside(left: PlacedJob, *jobs: PlacedJob) -> dict[int, float]:
        replay = PlacedReplay("by hand", jobs, cancelled=(left,))
        found = simulate_machine_starts(TWO, replay, SlurmBackfill(), Pace(submit=1))
        return {number: start.start for number, start in found.items()}

    # Job 2 wants both nodes, and job 3, on the idle one, would run longer than job 1, until job 2 is cancelled at 50.
    waiting = job(1, 0, 100, 4, limit=120), job(3, 20, 90, 4)
    assert starts_beside(cancellation(50, job(2, 10, 0, 4, nodes=2)), *waiting) == {1: 1, 3: 50}
    # One that is cancelled before a pass sees it never counts.
    assert starts_beside(cancellation(10.5, job(2, 10, 0, 4, nodes=2)), *waiting) == {1: 1, 3: 21}
    # In the simulation job 2 starts; its cancellation at 50, or else its limit, ends it. Job 3 waits for both nodes.
    after = job(1, 0, 20, 4, limit=20), job(3, 20, 90, 4, nodes=2)
    for limit, end in ((600, 50), (30, 41)):
        assert starts_beside(cancellation(50, job(2, 10, 0, 4, limit=limit)), *after) == {1: 1, 2: 11, 3: end}


def test_a_job_is_in_the_queue_when_it_is_eligible() -> None:
    held = job(2, 10, 50, 4, nodes=2)._replace(eligible=60.0)
    assert starts(job(1, 0, 20, 4), held, job(3, 30, 10, 4)) == {1: (0, "n1"), 2: (60, "n1,n2"), 3: (30, "n1")}


def test_the_longest_walltime_of_a_partition_is_in_whole_minutes_as_in_slurm() -> None:
    short = make_machine(
        nodes=[{"names": "n1", "cores": 4}], partitions=[{"name": "work", "nodes": "ALL", "max_time": 90}]
    )
    replay = PlacedReplay("by hand", (job(1, 0, 100, 4, limit=120),))
    assert simulate_machine_starts(short, replay, SlurmBackfill())[1].start == 0
    with pytest.raises(InputError, match="a job asks for a walltime above the max_time of its partition"):
        simulate_machine_starts(short, PlacedReplay("by hand", (job(1, 0, 100, 4, limit=180),)), SlurmBackfill())


def test_jobs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="a job asks for more cores than a node of its partition has"):
        starts(job(1, 0, 10, 5))
