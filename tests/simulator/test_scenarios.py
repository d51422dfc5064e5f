"""Each rule of docs/model.md, "The six mechanisms", on a machine small enough to be worked out by hand.

The expected numbers come from the page, with pencil and paper; each scenario runs against the reference and
against the simulator. In the drawings time runs to the right, ``x`` is lost time, ``w`` a warning, ``.``
waiting. An expectation reads {job: (first start, end, preemptions, shrinks)}.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from holdfast.workloads.table.job import Job
from tests.support.jobs import ENGINES, Seen, losses, malleable, on_demand, outcomes, rigid

Play = Callable[..., dict[int, Seen]]
Lose = Callable[..., dict[int, float]]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Who is asked."""
    return str(request.param)


@pytest.fixture
def play(engine: str) -> Play:
    """``play(jobs, nodes, mechanism, **options)``: what happens to each job."""
    return partial(outcomes, engine=engine)


@pytest.fixture
def lose(engine: str) -> Lose:
    """``lose(jobs, nodes, mechanism, **options)``: node-seconds that each job loses."""
    return partial(losses, engine=engine)


# --- Section 1: job types ---------------------------------------------------------------------------------------------


def dumper(runtime: float = 1000, walltime: float | None = None) -> Job:
    """Job 1: ten nodes, setup 100 s, checkpoints of 50 s after each 200 s of compute.

    ::

        0     100      300  350      550  600      800  850    1000
        setup |compute |dump|compute |dump|compute |dump|compute|

    ceil(900 / 250) - 1 = 3 dumps, 750 s of compute.
    """
    return rigid(1, 0, 10, runtime, walltime, setup=100, interval=200, cost=50)


def test_undisturbed_rigid_run_takes_its_runtime(play: Play, lose: Lose) -> None:
    """Overheads are inside the runtime: 100 + 750 + 3 x 50 = 1000."""
    assert play([dumper()], 10, "N-PAA") == {1: (0, 1000, 0, 0)}
    assert lose([dumper()], 10, "N-PAA") == {1: 0}


@pytest.mark.parametrize(
    ("at", "end", "lost"),
    [
        pytest.param(60, 1160, 600, id="before the setup ends"),
        pytest.param(100, 1200, 1000, id="when the setup ends"),
        pytest.param(200, 1300, 2000, id="in the first compute"),
        pytest.param(330, 1430, 3300, id="in the first dump"),
        pytest.param(350, 1200, 1000, id="right after the first dump"),
        pytest.param(400, 1250, 1500, id="in the second compute"),
        pytest.param(599, 1449, 3490, id="at the end of the second dump"),
        pytest.param(600, 1200, 1000, id="right after the second dump"),
        pytest.param(950, 1300, 2000, id="in the last slice"),
    ],
)
def test_preempted_rigid_run_secures_complete_cycles(play: Play, lose: Lose, at: int, end: int, lost: int) -> None:
    """An on-demand job of the whole machine preempts job 1 for 100 s.

    ::

        1 |setup|compute|dump|xxxx|      |setup|what is left|
        2                         |at 100|
                                  at     at + 100           end

    With c complete cycles, 200 c of compute is secured and c dumps are done; the next run takes
    100 + (750 - 200 c) + (3 - c) 50 = 1000 - 250 c, and (at - 250 c) x 10 node-seconds are lost.
    """
    jobs = [dumper(), on_demand(2, at, 10, 100)]
    assert play(jobs, 10, "N-PAA") == {1: (0, end, 1, 0), 2: (at, at + 100, 0, 0)}
    assert lose(jobs, 10, "N-PAA") == {1: lost, 2: 0}


def test_rigid_run_preempted_twice(play: Play, lose: Lose) -> None:
    """The second run starts from 550 s of compute and two dumps.

    ::

        1 0..400 (c = 1)      500..900: setup 600, compute 800, dump 850 (c = 1)      1000..1500
        2                400..500
        3                                                                     900..1000

    Third run: 100 + 350 + 50. Lost: (400 - 250) x 10 twice.
    """
    jobs = [dumper(), on_demand(2, 400, 10, 100), on_demand(3, 900, 10, 100)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 1500, 2, 0), 2: (400, 500, 0, 0), 3: (900, 1000, 0, 0)}
    assert lose(jobs, 10, "N-PAA")[1] == 3000


@pytest.mark.parametrize(
    ("walltime", "runtime", "head", "candidate"),
    [
        pytest.param(1000, 900, (1400, 1500, 0, 0), (500, 1400, 0, 0), id="fits"),
        pytest.param(1001, 300, (1250, 1350, 0, 0), (1350, 1650, 0, 0), id="too long"),
    ],
)
def test_walltime_falls_by_the_compute_secured(
    play: Play, walltime: int, runtime: int, head: Seen, candidate: Seen
) -> None:
    """Job 1 (walltime 1200) is resumed at 500 with walltime 1200 - 200 = 1000: expected end 1500.

    ::

        twelve nodes; 3 needs all of them, its shadow time is 1500, extra 0
        1 0..400, 500..1250
        2      400..500
        3 submitted 450 ..........
        4 two nodes, submitted 500: backfills if it ends by 1500
    """
    jobs = [dumper(1000, 1200), on_demand(2, 400, 10, 100), rigid(3, 450, 12, 100), rigid(4, 500, 2, runtime, walltime)]
    seen = play(jobs, 12, "N-PAA")
    assert [seen[1], seen[3], seen[4]] == [(0, 1250, 1, 0), head, candidate]


def test_malleable_job_starts_small_and_stays_small(play: Play) -> None:
    """Ten nodes wanted, four free: 20 + (200 - 20) x 10 / 4 = 470 s; nodes freed at 100 are no use to it."""
    jobs = [rigid(1, 0, 6, 100), malleable(2, 0, 10, 200, min_nodes=2, setup=20)]
    assert play(jobs, 10, "CUA-SPAA") == {1: (0, 100, 0, 0), 2: (0, 470, 0, 0)}


def test_malleable_end_is_rounded_to_a_microsecond(play: Play) -> None:
    """100 node-seconds on three nodes: 33.333333 s."""
    jobs = [rigid(1, 0, 1, 50), malleable(2, 0, 4, 25, min_nodes=1)]
    assert play(jobs, 4, "N-PAA")[2] == (0, 33.333333, 0, 0)


def test_malleable_job_shrinks_and_expands(play: Play, lose: Lose) -> None:
    """Six nodes are lent from 50 to 150.

    ::

        1 10 nodes: setup 0..20, 300 node-s | 4 nodes: 400 | 10 nodes: 1100 left, 110 s
        0                                  50            150                          260
    """
    jobs = [malleable(1, 0, 10, 200, min_nodes=2, setup=20), on_demand(2, 50, 6, 100)]
    assert play(jobs, 10, "N-SPAA") == {1: (0, 260, 0, 1), 2: (50, 150, 0, 0)}
    assert lose(jobs, 10, "N-SPAA")[1] == 0


def test_setup_is_as_long_at_any_size(play: Play) -> None:
    """Shrunk in the setup: 20..110 on four nodes: 360; 1440 left on ten from 110: 144 s."""
    jobs = [malleable(1, 0, 10, 200, min_nodes=2, setup=20), on_demand(2, 10, 6, 100)]
    assert play(jobs, 10, "N-SPAA") == {1: (0, 254, 0, 1), 2: (10, 110, 0, 0)}


def test_warned_malleable_job_keeps_its_work(play: Play, lose: Lose) -> None:
    """The warning is 120 s without progress; the setup is repeated.

    ::

        1 10 nodes: setup, 300 node-s |wwwwwwww| 4 nodes: setup ..190, 1500 / 4 = 375 s
        2                             |........| 6 nodes |
        0                            50      170       270                            565

    Lost: setup 20 x 10 and the warning 120 x 10. Job 2 returns nothing: job 1 has run since.
    """
    jobs = [malleable(1, 0, 10, 200, min_nodes=2, setup=20), on_demand(2, 50, 6, 100)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 565, 1, 0), 2: (170, 270, 0, 0)}
    assert lose(jobs, 10, "N-PAA") == {1: 1400, 2: 0}


def test_warned_in_the_setup(play: Play, lose: Lose) -> None:
    """Ten seconds of setup were spent: 100 + 1200 lost; 130 + 20 + 1800 / 4 = 600."""
    jobs = [malleable(1, 0, 10, 200, min_nodes=2, setup=20), on_demand(2, 10, 6, 100)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 600, 1, 0), 2: (130, 230, 0, 0)}
    assert lose(jobs, 10, "N-PAA")[1] == 1300


@pytest.mark.parametrize(
    ("warning", "expected"),
    [
        pytest.param(600, {1: (0, 11100, 1, 0), 2: (2000, 2500, 0, 0)}, id="ten minutes"),
        pytest.param(0, {1: (0, 10500, 1, 0), 2: (2000, 2500, 0, 0)}, id="none"),
    ],
)
def test_plans_know_the_warning(play: Play, lose: Lose, warning: int, expected: dict[int, Seen]) -> None:
    """Warned at 2000 - warning, vacated at 2000, in time; after 2500 ten nodes do what is left of 100,000 node-s.

    ::

        1 10 nodes 0..1400 |w 600 s w| 2500..11100           0..2000 |w 0 s| 2500..10500
        2 10 nodes notice 1000         2000..2500
    """
    jobs = [malleable(1, 0, 10, 10000, min_nodes=2), on_demand(2, 2000, 10, 500, notice=1000)]
    assert play(jobs, 10, "CUP-PAA", warning=warning) == expected
    assert lose(jobs, 10, "CUP-PAA", warning=warning)[1] == 10 * warning


@pytest.mark.parametrize(
    ("warning", "expected"),
    [
        pytest.param(120, {1: (0, 1000, 0, 0), 2: (0, 1280, 1, 0), 3: (420, 520, 0, 0)}, id="two minutes"),
        pytest.param(600, {1: (0, 1400, 1, 0), 2: (0, 1000, 0, 0), 3: (300, 400, 0, 0)}, id="ten minutes"),
    ],
)
def test_least_loss_knows_the_warning(play: Play, warning: int, expected: dict[int, Seen]) -> None:
    """At 300 job 1 would lose 5 x 300 node-seconds, job 2 its setup of 5 x 60 and the warning, 5 x 120 or 5 x 600.

    ::

        1 5 nodes 0......................1000     or  0..300x  400.......1400
        2 5 nodes 0..300 |w 420  520.....1280         0..............1000
        3 5 nodes            420..520                    300..400

    Job 2 has done 5 x 240 of 5 x 940 node-seconds: 60 + 700 from 520 on.
    """
    jobs = [rigid(1, 0, 5, 1000), malleable(2, 0, 5, 1000, min_nodes=1, setup=60), on_demand(3, 300, 5, 100)]
    assert play(jobs, 10, "N-KNAPSACK", warning=warning) == expected


# --- Section 3: scheduler ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["baseline", "N-PAA", "CUP-SPAA"])
def test_easy_shadow_and_extra(play: Play, mechanism: str) -> None:
    """Head 2 has shadow time 100 and extra 10 - 8 = 2.

    ::

        1 6 nodes 0..100
        2 8 nodes ......100..150
        3 2 nodes 0..................500   in the extra nodes
        4 2 nodes ......150..........650   no extra node left, and too long
        5 2 nodes 0..100                   ends at the shadow time
    """
    jobs = [rigid(1, 0, 6, 100), rigid(2, 0, 8, 50), rigid(3, 0, 2, 500), rigid(4, 0, 2, 500), rigid(5, 0, 2, 100)]
    assert play(jobs, 10, mechanism) == {
        1: (0, 100, 0, 0),
        2: (100, 150, 0, 0),
        3: (0, 500, 0, 0),
        4: (150, 650, 0, 0),
        5: (0, 100, 0, 0),
    }


def test_early_end_pulls_the_head_in(play: Play) -> None:
    """Job 1 has asked for 100 s and takes 60."""
    jobs = [rigid(1, 0, 6, 60, 100), rigid(2, 0, 8, 50)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 60, 0, 0), 2: (60, 110, 0, 0)}


def test_submit_time_orders_the_queue_and_rows_break_ties(play: Play) -> None:
    """Rows are not sorted by submit time; 5 stands before 4 in the table, both are submitted at 10."""
    jobs = [rigid(1, 20, 10, 10), rigid(2, 0, 10, 100), rigid(5, 10, 10, 10), rigid(4, 10, 10, 10)]
    assert play(jobs, 10, "N-PAA") == {
        2: (0, 100, 0, 0),
        5: (100, 110, 0, 0),
        4: (110, 120, 0, 0),
        1: (120, 130, 0, 0),
    }


def test_malleable_head_needs_its_minimum(play: Play) -> None:
    """Head 2 (4 to 10 nodes) has shadow time 100, extra 10 - 4 = 6, and starts on the eight nodes free at 100.

    ::

        1 8 nodes 0..100
        2         ......100..162.5  500 node-s on 8 nodes
        3 2 nodes 0...............200  in the extra nodes
    """
    jobs = [rigid(1, 0, 8, 100), malleable(2, 0, 10, 50, min_nodes=4), rigid(3, 0, 2, 200)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 100, 0, 0), 2: (100, 162.5, 0, 0), 3: (0, 200, 0, 0)}


@pytest.mark.parametrize(
    ("runtime", "min_nodes", "expected"),
    [
        pytest.param(60, 1, (0, 90, 0, 0), id="all free nodes: ends by the shadow time"),
        pytest.param(100, 1, (0, 300, 0, 0), id="the extra nodes: would end after it"),
        pytest.param(100, 3, (150, 250, 0, 0), id="not at all: the extra nodes are fewer than its minimum"),
    ],
)
def test_malleable_candidate(play: Play, runtime: int, min_nodes: int, expected: Seen) -> None:
    """Head 2 has shadow time 100 and extra 2; four nodes are free; job 3 wants six.

    ::

        1 6 nodes 0..100
        2 8 nodes ......100..150
        3 6 x 60 / 4 = 90, or 6 x 100 / 4 = 150: too long, so 6 x 100 / 2 = 300
    """
    jobs = [rigid(1, 0, 6, 100), rigid(2, 0, 8, 50), malleable(3, 0, 6, runtime, min_nodes=min_nodes)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 100, 0, 0), 2: (100, 150, 0, 0), 3: expected}


def test_completion_wins_over_preemption(play: Play) -> None:
    """At 100 job 1 ends and job 2 arrives: nothing is preempted."""
    jobs = [rigid(1, 0, 10, 100, 200), on_demand(2, 100, 10, 50)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 100, 0, 0), 2: (100, 150, 0, 0)}


def test_baseline_knows_rigid_jobs_only(play: Play) -> None:
    """Job 2 waits for its ten nodes, job 3 arrives on demand and stands behind it; trace times are used."""
    jobs = [
        rigid(1, 0, 6, 150, trace_runtime=100, trace_walltime=120),
        malleable(2, 0, 10, 200, min_nodes=2, setup=20),
        on_demand(3, 50, 5, 100, notice=10),
    ]
    assert play(jobs, 10, "baseline") == {1: (0, 100, 0, 0), 2: (100, 300, 0, 0), 3: (300, 400, 0, 0)}


@pytest.mark.parametrize(("backfill_length", "expected"), [("walltime", (150, 230, 0, 0)), ("runtime", (0, 80, 0, 0))])
def test_backfill_length(play: Play, backfill_length: str, expected: Seen) -> None:
    """Candidate 3 asks for 200 s and takes 80; the shadow time of 2 is 100, extra 2."""
    jobs = [rigid(1, 0, 6, 100), rigid(2, 0, 8, 50), rigid(3, 0, 4, 80, 200)]
    assert play(jobs, 10, "N-PAA", backfill_length=backfill_length)[3] == expected


@pytest.mark.parametrize(
    ("passes", "head", "candidate"),
    [("instant", (100, 150, 0, 0), (150, 200, 0, 0)), ("event", (150, 200, 0, 0), (100, 150, 0, 0))],
)
def test_passes(play: Play, passes: str, head: Seen, candidate: Seen) -> None:
    """Jobs 1 and 2 end at 100, 2 long before its walltime.

    A pass between the two ends sees five free nodes and the shadow time 200, and lets 4 backfill; one pass after both
    starts the head.
    """
    jobs = [rigid(1, 0, 5, 100), rigid(2, 0, 5, 100, 200), rigid(3, 0, 10, 50), rigid(4, 0, 5, 50)]
    seen = play(jobs, 10, "N-PAA", passes=passes)
    assert (seen[3], seen[4]) == (head, candidate)


def test_victim_is_queued_before_the_pass_of_its_event(play: Play) -> None:
    """With a pass after each event, too, job 1 is the head when job 2 has come; else job 3 would start at 100.

    ::

        1 10 nodes 0..100x    150 (four lent, six free)......1150
        2 4 nodes     100..150
        3 6 nodes 50 ........................................1150..1650
    """
    jobs = [rigid(1, 0, 10, 1000), on_demand(2, 100, 4, 50), rigid(3, 50, 6, 500)]
    assert play(jobs, 10, "N-PAA", passes="event") == {
        1: (0, 1150, 1, 0),
        2: (100, 150, 0, 0),
        3: (1150, 1650, 0, 0),
    }


# --- Section 4: advance notice ----------------------------------------------------------------------------------------


def collection_jobs() -> list[Job]:
    """Six nodes end at 100, four at 300; job 3 gives notice at 50 for 200; job 4 wants the six."""
    return [rigid(1, 0, 6, 100), rigid(2, 0, 4, 300), on_demand(3, 200, 6, 100, notice=50), rigid(4, 60, 6, 200)]


def test_n_ignores_the_notice(play: Play) -> None:
    """Job 4 takes the six nodes at 100; job 3 then preempts it, not job 2 (6 x 100 < 4 x 200 lost).

    ::

        1 0..100
        2 0..................300
        4      100..200x       300..500
        3             200..300
    """
    assert play(collection_jobs(), 10, "N-PAA") == {
        1: (0, 100, 0, 0),
        2: (0, 300, 0, 0),
        3: (200, 300, 0, 0),
        4: (100, 500, 1, 0),
    }


def test_cua_collects_released_nodes(play: Play) -> None:
    """Without tenants, the six nodes of job 1 stand by from 100 to 200.

    ::

        1 0..100
        2 0..................300
        3      100 held 200..300
        4 .................... 300..500
    """
    assert play(collection_jobs(), 10, "CUA-PAA", tenants="none") == {
        1: (0, 100, 0, 0),
        2: (0, 300, 0, 0),
        3: (200, 300, 0, 0),
        4: (300, 500, 0, 0),
    }


def test_tenant_is_preempted_on_arrival(play: Play, lose: Lose) -> None:
    """Job 4 runs as a tenant from 100 to 200, in vain: 600 node-s lost; it starts anew at 300, by the pass."""
    assert play(collection_jobs(), 10, "CUA-PAA", tenants="any")[4] == (100, 500, 1, 0)
    assert play(collection_jobs(), 10, "CUA-PAA", tenants="any")[3] == (200, 300, 0, 0)
    assert lose(collection_jobs(), 10, "CUA-PAA", tenants="any")[4] == 600


@pytest.mark.parametrize(
    ("walltime", "expected"),
    [
        pytest.param(100, (100, 200, 0, 0), id="ends by the estimated arrival"),
        pytest.param(101, (300, 400, 0, 0), id="passes it"),
    ],
)
def test_tenants_that_fit(play: Play, walltime: int, expected: Seen) -> None:
    """A tenant under `fits` must be gone by 200, by its walltime."""
    first, second, third, _ = collection_jobs()
    jobs = [first, second, third, rigid(4, 60, 6, 100, walltime)]
    seen = play(jobs, 10, "CUA-PAA", tenants="fits")
    assert [seen[3], seen[4]] == [(200, 300, 0, 0), expected]


def test_reservation_reserves_free_nodes_at_the_notice(play: Play) -> None:
    """Job 1 is submitted after the notice and finds four of ten nodes free, not enough for five."""
    jobs = [on_demand(1, 100, 6, 50, notice=0), rigid(2, 10, 5, 50)]
    expected = {1: (100, 150, 0, 0), 2: (150, 200, 0, 0)}
    assert play(jobs, 10, "CUA-PAA", tenants="none") == expected
    assert play(jobs, 10, "N-PAA") == {1: (100, 150, 0, 0), 2: (10, 60, 0, 0)}


def test_earliest_notice_collects_first(play: Play) -> None:
    """Job 4 gave notice before job 3, and gets the nodes of job 1; its own go on to job 3.

    ::

        1 4 nodes 0..100
        2 6 nodes 0................................400
        4 4 nodes notice 40, 100 held 200..250
        3 4 nodes notice 50               250 held 300..350
    """
    jobs = [
        rigid(1, 0, 4, 100),
        rigid(2, 0, 6, 400),
        on_demand(3, 300, 4, 50, notice=50),
        on_demand(4, 200, 4, 50, notice=40),
    ]
    assert play(jobs, 10, "CUA-PAA") == {
        1: (0, 100, 0, 0),
        2: (0, 400, 0, 0),
        3: (300, 350, 0, 0),
        4: (200, 250, 0, 0),
    }


def test_no_show_times_out(play: Play) -> None:
    """Job 1 does not come by 100 + 600; until then six nodes are held, too few for job 2, which starts at 700."""
    jobs = [on_demand(1, None, 6, 50, notice=60, estimated=100), rigid(2, 70, 10, 100)]
    assert play(jobs, 10, "CUA-PAA") == {1: (None, None, 0, 0), 2: (700, 800, 0, 0)}
    assert play(jobs, 10, "N-PAA") == {1: (None, None, 0, 0), 2: (70, 170, 0, 0)}


def test_arrival_after_the_time_out_is_one_without_notice(play: Play) -> None:
    """Job 2 starts at the time-out and is preempted at 800; with six lent and four free nodes it resumes at 900."""
    jobs = [on_demand(1, 800, 6, 100, notice=60, estimated=100), rigid(2, 70, 10, 200)]
    assert play(jobs, 10, "CUA-PAA") == {1: (800, 900, 0, 0), 2: (700, 1100, 1, 0)}


def test_time_out_comes_before_an_arrival_of_the_same_instant(play: Play) -> None:
    """At 700 the reservation goes, then job 1 arrives and finds ten free nodes."""
    jobs = [on_demand(1, 700, 6, 100, notice=60, estimated=100), rigid(2, 70, 10, 200)]
    assert play(jobs, 10, "CUA-PAA") == {1: (700, 800, 0, 0), 2: (800, 1000, 0, 0)}


def test_tenant_becomes_ordinary_at_the_time_out(play: Play) -> None:
    """Job 2 is a tenant of job 1, which never comes; from 700 on it can be preempted for job 3, and lends.

    ::

        2 6 nodes 10...................800x        850......1850
        3 10 nodes                     800......850
    """
    jobs = [on_demand(1, None, 6, 50, notice=0, estimated=100), rigid(2, 10, 6, 1000), on_demand(3, 800, 10, 50)]
    assert play(jobs, 10, "CUA-PAA") == {1: (None, None, 0, 0), 2: (10, 1850, 1, 0), 3: (800, 850, 0, 0)}


def test_tenant_of_another_cannot_be_taken(play: Play) -> None:
    """The same at 650: job 2's nodes are the reservation's, the four free ones too few, so job 3 waits for its end."""
    jobs = [on_demand(1, None, 6, 50, notice=0, estimated=100), rigid(2, 10, 6, 1000), on_demand(3, 650, 10, 50)]
    assert play(jobs, 10, "CUA-PAA") == {1: (None, None, 0, 0), 2: (10, 1010, 0, 0), 3: (1010, 1060, 0, 0)}


def test_waiting_on_demand_job_stops_collecting(play: Play) -> None:
    """Job 3 waits for eight nodes; the five of job 2 do not go to the reservation of job 4 but to backfilled job 5.

    ::

        1 5 nodes on demand 0..................................400
        2 5 nodes 0..100
        3 8 nodes 10 ..........................................400..450
        4 5 nodes notice 20                  300..350   finds five free nodes
        5 5 nodes       100..150
    """
    jobs = [
        on_demand(1, 0, 5, 400),
        rigid(2, 0, 5, 100),
        on_demand(3, 10, 8, 50),
        on_demand(4, 300, 5, 50, notice=20),
        rigid(5, 30, 5, 50),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {
        1: (0, 400, 0, 0),
        2: (0, 100, 0, 0),
        3: (400, 450, 0, 0),
        4: (300, 350, 0, 0),
        5: (100, 150, 0, 0),
    }


def test_notice_reserves_nothing_while_an_on_demand_job_waits(play: Play) -> None:
    """The notice of job 4 finds five free nodes and job 3 waiting: job 5 still gets the five at 160."""
    jobs = [
        on_demand(1, 0, 5, 400),
        rigid(2, 0, 5, 100),
        on_demand(3, 10, 8, 50),
        on_demand(4, 300, 5, 50, notice=150),
        rigid(5, 160, 5, 50),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none")[5] == (160, 210, 0, 0)


# --- Section 4: plans (CUP) -------------------------------------------------------------------------------------------


def test_expected_releases_cover_the_gap(play: Play) -> None:
    """Job 1 ends by its walltime 200 <= 300: nothing is planned for job 2, though it would be cheap.

    ::

        1 6 nodes 0......150
        2 4 nodes 0.................................1000
        3 6 nodes notice 50  150 held  300..400
    """
    jobs = [rigid(1, 0, 6, 150, 200), rigid(2, 0, 4, 1000, setup=10), on_demand(3, 300, 6, 100, notice=50)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 150, 0, 0), 2: (0, 1000, 0, 0), 3: (300, 400, 0, 0)}


def test_plans_know_walltimes_only(play: Play) -> None:
    """Job 1 will end at 150, but by its walltime at 400 > 300: both jobs are planned for 300.

    Planned overheads: 6 x 300 and 4 x 300, so job 2 first, then job 1. At 300 the reservation has six nodes: dropped.
    """
    jobs = [rigid(1, 0, 6, 150, 400), rigid(2, 0, 4, 1000), on_demand(3, 300, 6, 100, notice=50)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 150, 0, 0), 2: (0, 1000, 0, 0), 3: (300, 400, 0, 0)}


def test_planned_right_after_the_last_checkpoint(play: Play, lose: Lose) -> None:
    """Checkpoints of job 1 end at 350, 600, 850; the last by 700 is that at 600.

    ::

        1 0...................600      800 (6 lent + 4 free)...1300
        2 notice 50           600 held 700..800

    c = 2: the next run takes 100 + 350 + 50; only the setup is lost.
    """
    jobs = [dumper(), on_demand(2, 700, 6, 100, notice=50)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 1300, 1, 0), 2: (700, 800, 0, 0)}
    assert lose(jobs, 10, "CUP-PAA")[1] == 1000


@pytest.mark.parametrize(
    ("estimated", "end", "lost"),
    [
        pytest.param(350, 400 + 750, 1000, id="a checkpoint completes at the estimated arrival"),
        pytest.param(349, 399 + 1000, 3490, id="none completes by it: at the estimated arrival"),
    ],
)
def test_checkpoint_at_the_estimated_arrival(play: Play, lose: Lose, estimated: int, end: int, lost: int) -> None:
    """[now, estimated arrival] includes its end; job 1 is preempted then in both cases, but loses more in one."""
    jobs = [dumper(), on_demand(2, estimated, 6, 50, notice=50)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, end, 1, 0), 2: (estimated, estimated + 50, 0, 0)}
    assert lose(jobs, 10, "CUP-PAA")[1] == lost


@pytest.mark.parametrize(
    ("notice", "at", "lost"),
    [
        pytest.param(350, 350, 1000, id="a checkpoint completes at the notice"),
        pytest.param(351, 400, 1500, id="it completed before the notice: at the estimated arrival"),
    ],
)
def test_checkpoint_at_the_notice(play: Play, lose: Lose, notice: int, at: int, lost: int) -> None:
    """[now, estimated arrival] includes its beginning: job 1 is preempted at once, after its checkpoint.

    Without tenants job 2 stands by until 400, and job 1 goes on at 450: 100 + 3 x 200 + 2 x 50 are left either way.
    """
    jobs = [dumper(), on_demand(2, 400, 6, 50, notice=notice, estimated=400)]
    assert play(jobs, 10, "CUP-PAA", tenants="none") == {1: (0, 450 + 750, 1, 0), 2: (400, 450, 0, 0)}
    assert lose(jobs, 10, "CUP-PAA", tenants="none")[1] == lost


def test_planned_at_the_estimated_arrival(play: Play) -> None:
    """Job 1 takes no checkpoints and stops at 300; job 2 is late; without tenants the nodes stand by until 400.

    ::

        1 0............300x            450.......1450
        2 notice 50    300 held 400..450
    """
    jobs = [rigid(1, 0, 10, 1000), on_demand(2, 400, 10, 50, notice=50, estimated=300)]
    assert play(jobs, 10, "CUP-PAA", tenants="none") == {1: (0, 1450, 1, 0), 2: (400, 450, 0, 0)}


def test_planned_victim_may_come_back_as_tenant(play: Play) -> None:
    """The same with tenants: job 1 runs on the nodes it left, and is preempted again at 400."""
    jobs = [rigid(1, 0, 10, 1000), on_demand(2, 400, 10, 50, notice=50, estimated=300)]
    assert play(jobs, 10, "CUP-PAA", tenants="any") == {1: (0, 1450, 2, 0), 2: (400, 450, 0, 0)}


def test_planned_overhead_orders_the_victims(play: Play) -> None:
    """Job 1's checkpoint ends at 110 (cost 5 x 10), job 2 has none (cost 5 x 200): job 1 is taken, at 110.

    ::

        1 5 nodes: setup 10, compute 90, dump 10 (0..110)       250: 10 + the rest
        2 5 nodes 0.....................................1000
        3 5 nodes notice 50, 110 held            200..250

    Job 1: 990 s after the setup: ceil(990 / 100) - 1 = 9 dumps, 900 s of compute. After c = 1: 10 + 810 + 8 x 10 = 900.
    """
    jobs = [
        rigid(1, 0, 5, 1000, setup=10, interval=90, cost=10),
        rigid(2, 0, 5, 1000),
        on_demand(3, 200, 5, 50, notice=50),
    ]
    assert play(jobs, 10, "CUP-PAA", tenants="none") == {1: (0, 1150, 1, 0), 2: (0, 1000, 0, 0), 3: (200, 250, 0, 0)}


def test_planned_malleable_job_is_warned_in_time(play: Play, lose: Lose) -> None:
    """Warned at 300 - 120, vacated at 300, when job 2 arrives and takes six of its ten nodes.

    ::

        1 10 nodes 0..180 |wwww| 4 nodes 300......(10000 - 1800) / 4 = 2050 s......2350
        2 6 nodes notice 50    300..400
    """
    jobs = [malleable(1, 0, 10, 1000, min_nodes=2), on_demand(2, 300, 6, 100, notice=50)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 2350, 1, 0), 2: (300, 400, 0, 0)}
    assert lose(jobs, 10, "CUP-PAA")[1] == 1200


def test_planned_malleable_job_is_warned_at_the_notice(play: Play) -> None:
    """There are no 120 s left: warned at 50, vacated at 170; job 2, come at 100, takes the nodes under warning.

    Job 1 has 9500 node-s left on four nodes: 170 + 2375.
    """
    jobs = [malleable(1, 0, 10, 1000, min_nodes=2), on_demand(2, 100, 6, 100, notice=50)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 2545, 1, 0), 2: (170, 270, 0, 0)}


def test_victim_that_has_ended_is_void_and_the_other_lends_what_is_missing(play: Play) -> None:
    """Planned overheads: 5 x 0 for job 1, to be warned at 180, 5 x 300 for job 2, at 300; six nodes need both.

    ::

        1 5 nodes 0..170         by itself, ten seconds before its warning
        2 5 nodes 0......300x    400 (one lent + four free)......1400
        3 6 nodes notice 50, 170: five, 300: one; 300..400

    Of job 2's five nodes one is missing, the other four become free.
    """
    jobs = [malleable(1, 0, 5, 170, 1000, min_nodes=5), rigid(2, 0, 5, 1000), on_demand(3, 300, 6, 100, notice=50)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 170, 0, 0), 2: (0, 1400, 1, 0), 3: (300, 400, 0, 0)}


def test_victim_whose_nodes_are_not_taken_lends_nothing(play: Play) -> None:
    """Job 2 ends before its walltime, and its two nodes are what job 4 needs: job 1, under warning, leaves in vain.

    ::

        1 8 nodes  5............1880 wwww 2000 ..............3500......7625
        2 2 nodes 0................1950
        3 9 nodes  1 ..............................3000..3500
        4 2 nodes    notice 1000           2000....3000

    Job 1 backfills at 5 before job 3, which would have to wait for job 2's walltime, 20000. At 3000 it would resume on
    two nodes that it had lent and eight that are free; but it has lent none, and job 3 is the head. It has run for
    1875 of 6000 s.
    """
    jobs = [
        malleable(1, 5, 8, 6000, 10000, min_nodes=8),
        rigid(2, 0, 2, 1950, 20000),
        rigid(3, 1, 9, 500),
        on_demand(4, 2000, 2, 1000, notice=1000),
    ]
    assert play(jobs, 10, "CUP-PAA") == {
        1: (5, 7625, 1, 0),
        2: (0, 1950, 0, 0),
        3: (3000, 3500, 0, 0),
        4: (2000, 3000, 0, 0),
    }


def test_drop_counts_nodes_under_warning(play: Play) -> None:
    """At 260 the reservation has one node, and five under warning for it: job 2 is spared.

    ::

        1 5 nodes 0.....180 wwwwwwww 300      400 (five lent)......1220
        2 4 nodes 0.........260, dropped........................1000
        3 1 node  0..100
        4 6 nodes notice 50, 100: one, 300: five; 300..400

    Planned overheads: 5 x 0 for job 1, at 180; 4 x 10 for job 2, right after its checkpoint at 260; 1 x 300 for job 3,
    of which no end is expected before 1000. The first two cover the gap. Job 1: 5000 - 900 = 4100 node-s left, 820 s.
    """
    jobs = [
        malleable(1, 0, 5, 1000, min_nodes=5),
        rigid(2, 0, 4, 1000, setup=10, interval=240, cost=10),
        rigid(3, 0, 1, 100, 1000, setup=100),
        on_demand(4, 300, 6, 100, notice=50),
    ]
    assert play(jobs, 10, "CUP-PAA") == {
        1: (0, 1220, 1, 0),
        2: (0, 1000, 0, 0),
        3: (0, 100, 0, 0),
        4: (300, 400, 0, 0),
    }


def test_early_arrival_ends_the_plan(play: Play) -> None:
    """Planned for 600, but job 2 comes at 300 and preempts job 1 in its first compute; nothing happens at 600.

    ::

        1 0........300x      400................1400
        2          300..400
    """
    jobs = [dumper(), on_demand(2, 300, 6, 100, notice=50, estimated=700)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 1400, 1, 0), 2: (300, 400, 0, 0)}


def test_plan_entry_names_a_run(play: Play) -> None:
    """Job 3 preempts job 1 at 200; the plan of job 2 for 600 does not mean the run that starts at 300.

    ::

        1 0....200x      300.................700      800.....1550
        3      200..300
        2                                    700..800

    At 700 that run has one complete cycle (100 + 250): left are 100 + 550 + 2 x 50.
    """
    jobs = [dumper(), on_demand(2, 700, 6, 100, notice=50), on_demand(3, 200, 10, 100)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 1550, 2, 0), 2: (700, 800, 0, 0), 3: (200, 300, 0, 0)}


def test_planned_victim_serves_its_own_reservation_first(play: Play) -> None:
    """Job 3 was noticed first and has planned job 1 at 1000; job 4 plans job 2 at 300 and gets its nodes.

    ::

        1 5 nodes 0..................................1000x         1050.....3050
        2 5 nodes 0......300x     350..........................2350
        4 5 nodes        300..350
        3 5 nodes                                    1000..1050
    """
    jobs = [
        rigid(1, 0, 5, 2000),
        rigid(2, 0, 5, 2000),
        on_demand(3, 1000, 5, 50, notice=10),
        on_demand(4, 300, 5, 50, notice=20),
    ]
    assert play(jobs, 10, "CUP-PAA", tenants="none") == {
        1: (0, 3050, 1, 0),
        2: (0, 2350, 1, 0),
        3: (1000, 1050, 0, 0),
        4: (300, 350, 0, 0),
    }


def test_time_out_makes_the_plan_vain(play: Play) -> None:
    """Job 1 was preempted at 300 for a job that comes at 1000, 100 s after the time-out; its loan is void.

    ::

        1 0..300x          900..1000x          1050......2050
        2        300 held..900       1000..1050

    At 1050 it resumes as the lender of the second preemption.
    """
    jobs = [rigid(1, 0, 10, 1000), on_demand(2, 1000, 10, 50, notice=50, estimated=300)]
    assert play(jobs, 10, "CUP-PAA", tenants="none") == {1: (0, 2050, 2, 0), 2: (1000, 1050, 0, 0)}


def test_checkpoints_are_counted_by_their_period(play: Play) -> None:
    """By its period job 1 completes one at 1100, so nothing happens at 850, its last in truth: it ends at 1000.

    ::

        1 0...........................1000        (walltime 2000)
        2 notice 50                   held 1100..1200
    """
    jobs = [dumper(1000, 2000), on_demand(2, 1100, 6, 100, notice=50)]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 1000, 0, 0), 2: (1100, 1200, 0, 0)}


def test_expected_release_is_in_a_plan(play: Play) -> None:
    """Job 3 counts on job 1, so job 4, noticed later, cannot: it plans job 2, at 300.

    ::

        1 5 nodes 0...........250
        2 5 nodes 0................300x  350.....670      (would have ended at 320)
        3 5 nodes notice 10   250  300...350
        4 5 nodes notice 20        300   350..400         late
    """
    jobs = [
        rigid(1, 0, 5, 250),
        rigid(2, 0, 5, 320, 1000),
        on_demand(3, 300, 5, 50, notice=10),
        on_demand(4, 350, 5, 50, notice=20, estimated=300),
    ]
    assert play(jobs, 10, "CUP-PAA", tenants="none") == {
        1: (0, 250, 0, 0),
        2: (0, 670, 1, 0),
        3: (300, 350, 0, 0),
        4: (350, 400, 0, 0),
    }


def test_running_on_demand_jobs_are_expected_releases(play: Play) -> None:
    """Job 1 will be gone by 290, so job 2 is not stopped after its checkpoint at 210."""
    jobs = [
        on_demand(1, 0, 6, 250, 290),
        rigid(2, 0, 4, 1000, setup=10, interval=90, cost=10),
        on_demand(3, 300, 6, 100, notice=50),
    ]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 250, 0, 0), 2: (0, 1000, 0, 0), 3: (300, 400, 0, 0)}


def test_planned_overhead_at_the_estimated_arrival_leaves_cycles_out(play: Play, lose: Lose) -> None:
    """Job 1's checkpoints end at 110 and 210, none of them in [150, 200].

    Stopped at 200 it loses 5 x (200 - 100), job 2, begun at 90, 5 x 110: job 1. Then 10 + 810 + 80 s from 250 on.
    """
    jobs = [
        rigid(1, 0, 5, 1000, setup=10, interval=90, cost=10),
        rigid(2, 90, 5, 1000),
        on_demand(3, 200, 5, 50, notice=150),
    ]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 1150, 1, 0), 2: (90, 1090, 0, 0), 3: (200, 250, 0, 0)}
    assert lose(jobs, 10, "CUP-PAA")[1] == 500


# --- Section 4: tenants -----------------------------------------------------------------------------------------------


def test_no_tenants(play: Play) -> None:
    """With `none`, job 2 waits although six nodes stand by."""
    jobs = [on_demand(1, 500, 6, 50, notice=0), rigid(2, 10, 5, 100)]
    assert play(jobs, 10, "CUA-PAA", tenants="none")[2] == (550, 650, 0, 0)
    assert play(jobs, 10, "CUA-PAA", tenants="any")[2] == (10, 110, 0, 0)


def test_tenant_must_fit_on_reserved_nodes_entirely(play: Play) -> None:
    """Six reserved and four free nodes do not make seven; job 3 behind it fits on the six, so the misfit is skipped."""
    jobs = [on_demand(1, 500, 6, 50, notice=0), rigid(2, 10, 7, 100), rigid(3, 20, 6, 100)]
    assert play(jobs, 10, "CUA-PAA") == {1: (500, 550, 0, 0), 2: (550, 650, 0, 0), 3: (20, 120, 0, 0)}


def test_malleable_tenant_takes_the_idle_reserved_nodes(play: Play) -> None:
    """Job 3 holds the four free nodes; job 2 wants eight and becomes a tenant on six: 800 / 6 s."""
    jobs = [on_demand(1, 500, 6, 50, notice=0), malleable(2, 10, 8, 100, min_nodes=5), rigid(3, 5, 4, 300)]
    assert play(jobs, 10, "CUA-PAA")[2] == (10, 143.333333, 0, 0)


def test_tenant_of_two_reservations(play: Play) -> None:
    """Job 3 takes all of 2's and two of 1's nodes; both reservations are whole again when their jobs arrive."""
    jobs = [
        on_demand(1, 500, 4, 50, notice=10),
        on_demand(2, 600, 4, 50, notice=20),
        rigid(3, 30, 6, 100),
        rigid(4, 140, 8, 900),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none")[3] == (550, 650, 0, 0)
    # Job 4 becomes a tenant of both at 140 and is preempted at 500; it starts anew when both have gone.
    assert play(jobs, 10, "CUA-PAA") == {
        1: (500, 550, 0, 0),
        2: (600, 650, 0, 0),
        3: (30, 130, 0, 0),
        4: (140, 1550, 1, 0),
    }


def test_tenant_draws_from_the_latest_notice(play: Play) -> None:
    """Job 3 sits on the nodes of job 2, noticed last: the arrival of job 1 leaves it alone, that of job 2 does not.

    ::

        1 4 nodes 100..150
        2 4 nodes               600..650
        3 4 nodes 30............600x 600 on free nodes ....1600
    """
    jobs = [
        on_demand(1, 100, 4, 50, notice=10, estimated=500),
        on_demand(2, 600, 4, 50, notice=20),
        rigid(3, 30, 4, 1000),
    ]
    assert play(jobs, 10, "CUA-PAA") == {1: (100, 150, 0, 0), 2: (600, 650, 0, 0), 3: (30, 1600, 1, 0)}


def test_tenant_gives_back_even_while_an_on_demand_job_waits(play: Play) -> None:
    """Job 3 ends at 120; its five nodes are job 2's again, so job 5 (six nodes, would backfill) does not start.

    ::

        1 4 nodes on demand 0...............................1000
        2 5 nodes notice 10           500..550
        3 5 nodes 20..120   tenant
        4 8 nodes 50 .......................................1000..1050
        5 6 nodes 60 ..............................................1050..1650

    At 550 six nodes are free, but job 5 would pass the shadow time 1000 of job 4, whose extra nodes are two.
    """
    jobs = [
        on_demand(1, 0, 4, 1000),
        on_demand(2, 500, 5, 50, notice=10),
        rigid(3, 20, 5, 100),
        on_demand(4, 50, 8, 50),
        rigid(5, 60, 6, 600),
    ]
    assert play(jobs, 10, "CUA-PAA") == {
        1: (0, 1000, 0, 0),
        2: (500, 550, 0, 0),
        3: (20, 120, 0, 0),
        4: (1000, 1050, 0, 0),
        5: (1050, 1650, 0, 0),
    }


def test_malleable_tenant_is_warned_on_arrival(play: Play) -> None:
    """Job 2 waits for its tenant to vacate, and spares job 1.

    ::

        1 4 nodes 0.......................................5000
        2 6 nodes          300 wwww 420..520
        3 6 nodes 20.......300 wwww          520......1240

    Job 3: 6000 - 280 x 6 = 4320 left on six nodes: 720 s. It is no lender, but finds the six free nodes in the pass.
    """
    jobs = [rigid(1, 0, 4, 5000), on_demand(2, 300, 6, 100, notice=10), malleable(3, 20, 6, 1000, min_nodes=2)]
    assert play(jobs, 10, "CUA-PAA") == {1: (0, 5000, 0, 0), 2: (420, 520, 0, 0), 3: (20, 1240, 1, 0)}


def test_tenants_start_while_an_on_demand_job_waits(play: Play) -> None:
    """Job 3 waits for eight nodes; job 4 becomes a tenant of job 2 all the same."""
    jobs = [
        on_demand(1, 0, 4, 1000),
        on_demand(2, 500, 5, 50, notice=10),
        on_demand(3, 50, 8, 50),
        rigid(4, 60, 5, 100),
    ]
    assert play(jobs, 10, "CUA-PAA")[4] == (60, 160, 0, 0)


def test_nodes_under_warning_are_taken_before_free_ones(play: Play) -> None:
    """Job 1 needs six: four free ones do not suffice, so it takes its warned tenant's, job 3 the free ones.

    ::

        1 6 nodes notice 10    300 wwww 420..520
        2 6 nodes 20...........300 wwww      520......1240    at least five; tenant
        3 4 nodes              300..350
    """
    jobs = [on_demand(1, 300, 6, 100, notice=10), malleable(2, 20, 6, 1000, min_nodes=5), rigid(3, 300, 4, 50)]
    assert play(jobs, 10, "CUA-PAA") == {1: (420, 520, 0, 0), 2: (20, 1240, 1, 0), 3: (300, 350, 0, 0)}


def half_tenant(third: Job) -> list[Job]:
    """Job 4 is a tenant of 1 and 2; from 700 on (time-out of 1) three of its nodes belong to no reservation."""
    return [
        on_demand(1, None, 3, 50, notice=0, estimated=100),
        on_demand(2, 1000, 3, 50, notice=10),
        third,
        rigid(4, 20, 6, 5000),
    ]


def test_tenant_counts_in_paa_with_its_ordinary_nodes(play: Play) -> None:
    """Job 3 takes three nodes of job 4; the other three are job 2's again. Job 4, no lender, waits until 1050.

    ::

        3 3 nodes     800..850
        2 3 nodes                1000..1050
        4 6 nodes 20..800x                 1050......6050
    """
    assert play(half_tenant(on_demand(3, 800, 3, 50)), 6, "CUA-PAA") == {
        1: (None, None, 0, 0),
        2: (1000, 1050, 0, 0),
        3: (800, 850, 0, 0),
        4: (20, 6050, 1, 0),
    }


def test_tenant_counts_in_paa_with_no_more(play: Play) -> None:
    """Four nodes are too many: job 3 waits. Job 2 preempts its tenant at 1000; three nodes become free, six at 1050."""
    assert play(half_tenant(on_demand(3, 800, 4, 50)), 6, "CUA-PAA") == {
        1: (None, None, 0, 0),
        2: (1000, 1050, 0, 0),
        3: (1050, 1100, 0, 0),
        4: (20, 6100, 1, 0),
    }


def test_tenant_does_not_shrink(play: Play) -> None:
    """Job 4 could shrink by five, but is a tenant of job 2: job 3 preempts job 1 instead.

    ::

        1 4 nodes 0...100x     150..................5150
        3 4 nodes     100..150
        2 6 nodes                600 wwww 720..820
        4 6 nodes 20.............600 wwww     820....1240

    Job 4: 6000 - 580 x 6 = 2520 left: 420 s.
    """
    jobs = [
        rigid(1, 0, 4, 5000),
        on_demand(2, 600, 6, 100, notice=10),
        on_demand(3, 100, 4, 50),
        malleable(4, 20, 6, 1000, min_nodes=1),
    ]
    assert play(jobs, 10, "CUA-SPAA") == {
        1: (0, 5150, 1, 0),
        2: (720, 820, 0, 0),
        3: (100, 150, 0, 0),
        4: (20, 1240, 1, 0),
    }


# --- Section 4: shadow time with open reservations --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("walltime", "runtime", "expected"),
    [
        pytest.param(400, 400, (100, 500, 0, 0), id="ends at the shadow time"),
        pytest.param(401, 50, (600, 650, 0, 0), id="ends after it"),
    ],
)
def test_reservation_releases_in_the_shadow_time(play: Play, walltime: int, runtime: int, expected: Seen) -> None:
    """Head 3 needs the whole machine; job 2 will release eight nodes at 300 + 200.

    ::

        1 6 nodes 0..100    four of them go to the reservation, two are free
        2 8 nodes           300.....500
        3 10 nodes 20 ..............500..600
        4 2 nodes 30 .100?          500
    """
    jobs = [
        rigid(1, 0, 6, 100),
        on_demand(2, 300, 8, 200, notice=10),
        rigid(3, 20, 10, 100),
        rigid(4, 30, 2, runtime, walltime),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {
        1: (0, 100, 0, 0),
        2: (300, 500, 0, 0),
        3: (500, 600, 0, 0),
        4: expected,
    }


@pytest.mark.parametrize(
    ("walltime", "runtime", "expected"),
    [
        pytest.param(200, 200, (350, 550, 0, 0), id="ends at the shadow time"),
        pytest.param(201, 50, (1000, 1050, 0, 0), id="ends after it"),
    ],
)
def test_late_reservation_in_the_shadow_time(play: Play, walltime: int, runtime: int, expected: Seen) -> None:
    """Job 1 is late at 350: it is thought to come now, and to leave at 350 + 200; it comes at 700.

    ::

        1 8 nodes (estimated 300)   700...900
        2 10 nodes 20 ....................900..1000
        3 2 nodes          350?
    """
    jobs = [
        on_demand(1, 700, 8, 200, notice=10, estimated=300),
        rigid(2, 20, 10, 100),
        rigid(3, 350, 2, runtime, walltime),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {1: (700, 900, 0, 0), 2: (900, 1000, 0, 0), 3: expected}


def test_missing_nodes_are_taken_from_earlier_releases(play: Play) -> None:
    """Job 1's six nodes at 100 go to the reservation but for two: head 3 (four nodes) has its shadow time at 150.

    ::

        1 6 nodes 0..100
        2 2 nodes 0.......150
        3 4 nodes 20......150....650     2 + 2 nodes
        4 6 nodes notice 10 (two free)  300..400
        5 2 nodes 30 .100..150           ends at the shadow time, none is extra
    """
    jobs = [
        rigid(1, 0, 6, 100),
        rigid(2, 0, 2, 150),
        rigid(3, 20, 4, 500),
        on_demand(4, 300, 6, 100, notice=10),
        rigid(5, 30, 2, 50),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {
        1: (0, 100, 0, 0),
        2: (0, 150, 0, 0),
        3: (150, 650, 0, 0),
        4: (300, 400, 0, 0),
        5: (100, 150, 0, 0),
    }


@pytest.mark.parametrize(
    ("walltime", "runtime", "expected"),
    [
        pytest.param(490, 490, (60, 550, 0, 0), id="ends at the shadow time"),
        pytest.param(491, 10, (600, 610, 0, 0), id="ends after it"),
    ],
)
def test_shadow_time_of_a_waiting_on_demand_job(play: Play, walltime: int, runtime: int, expected: Seen) -> None:
    """Reservations count with the nodes that they have: job 2's five at 500 + 50 make six with the free one.

    ::

        1 4 nodes on demand 0.......................1000
        2 5 nodes notice 10         500..550
        3 6 nodes on demand, 50 .........550..600
        4 1 node  60?
    """
    jobs = [
        on_demand(1, 0, 4, 1000),
        on_demand(2, 500, 5, 50, notice=10),
        on_demand(3, 50, 6, 50),
        rigid(4, 60, 1, runtime, walltime),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {
        1: (0, 1000, 0, 0),
        2: (500, 550, 0, 0),
        3: (550, 600, 0, 0),
        4: expected,
    }


def test_reservations_count_with_what_they_have(play: Play) -> None:
    """Job 2 has five of its six nodes, job 4's sixth is free since 55: six at 550 are too few for job 3, so 1000.

    ::

        1 4 nodes on demand 0............................1000
        2 6 nodes notice 10              500..550
        3 7 nodes on demand, 50 .........................1000..1050
        4 1 node  0..55                                          walltime 2000
        5 1 node    60..160              walltime 600: ends before 1000, though not before 550
    """
    jobs = [
        on_demand(1, 0, 4, 1000),
        on_demand(2, 500, 6, 50, notice=10),
        on_demand(3, 50, 7, 50),
        rigid(4, 0, 1, 55, 2000),
        rigid(5, 60, 1, 100, 600),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {
        1: (0, 1000, 0, 0),
        2: (500, 550, 0, 0),
        3: (1000, 1050, 0, 0),
        4: (0, 55, 0, 0),
        5: (60, 160, 0, 0),
    }


#: On ten nodes; the reservation of job 4 gets nothing before 200.
NOTHING_TO_RELEASE = [
    on_demand(1, 0, 6, 100),
    rigid(2, 0, 2, 5000),
    on_demand(3, 10, 7, 1900),
    on_demand(4, None, 6, 50, notice=20, estimated=150),
    rigid(5, 30, 8, 100),
    rigid(6, 110, 1, 2500, 3000),
]


def test_reservation_releases_no_more_than_it_has_by_then(play: Play) -> None:
    """Job 4's reservation gets nothing before 200, so that it has nothing to release then: job 5 starts at 2000.

    ::

        1 6 nodes on demand 0..100
        2 2 nodes 0................................................5000
        3 7 nodes on demand 10 100...............2000
        4 6 nodes notice 20, for 150, walltime 50, times out at 750
        5 8 nodes 30 ............................2000..2100
        6 1 node  110 .................................2100............4600

    One node is free from 100 on. With six more at 200 there would be six extra nodes at 2000, and job 6, whose walltime
    is 3000, would start at 110.
    """
    assert play(NOTHING_TO_RELEASE, 10, "CUA-PAA") == {
        1: (0, 100, 0, 0),
        2: (0, 5000, 0, 0),
        3: (100, 2000, 0, 0),
        4: (None, None, 0, 0),
        5: (2000, 2100, 0, 0),
        6: (2100, 4600, 0, 0),
    }


# --- Section 5: arrival -----------------------------------------------------------------------------------------------


def test_waits_at_the_front_when_the_sum_is_too_small(play: Play) -> None:
    """Free 0, preemptible 4 < 8: nothing is preempted; job 4 is the head, job 3 backfills before its shadow time 300.

    ::

        1 6 nodes on demand 0..100
        2 4 nodes 0....................300
        3 6 nodes 5 ..........100..200
        4 8 nodes 10 ..................300..350
    """
    jobs = [on_demand(1, 0, 6, 100), rigid(2, 0, 4, 300), rigid(3, 5, 6, 100), on_demand(4, 10, 8, 50)]
    assert play(jobs, 10, "N-PAA") == {
        1: (0, 100, 0, 0),
        2: (0, 300, 0, 0),
        3: (100, 200, 0, 0),
        4: (300, 350, 0, 0),
    }


def test_waiting_job_is_overtaken_by_one_that_gets_its_nodes(play: Play) -> None:
    """Job 3 waits for eight nodes; job 4 needs four, preempts job 2 and starts.

    ::

        1 6 nodes on demand 0......100
        2 4 nodes 0...20x     70.............370
        3 8 nodes 10 ........................370..420
        4 4 nodes    20..70
    """
    jobs = [on_demand(1, 0, 6, 100), rigid(2, 0, 4, 300), on_demand(3, 10, 8, 50), on_demand(4, 20, 4, 50)]
    assert play(jobs, 10, "N-PAA") == {
        1: (0, 100, 0, 0),
        2: (0, 370, 1, 0),
        3: (370, 420, 0, 0),
        4: (20, 70, 0, 0),
    }


def test_reservation_closes_when_the_sum_is_too_small(play: Play) -> None:
    """Job 2 has two nodes reserved and needs ten, eight of which another on-demand job keeps: the two become free.

    ::

        1 8 nodes on demand 0...............300
        2 10 nodes notice 10     100 .......300..350
        3 2 nodes 20 ............100..200
    """
    jobs = [on_demand(1, 0, 8, 300), on_demand(2, 100, 10, 50, notice=10), rigid(3, 20, 2, 100)]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {
        1: (0, 300, 0, 0),
        2: (300, 350, 0, 0),
        3: (100, 200, 0, 0),
    }


def test_nodes_of_a_closed_reservation_are_not_collected(play: Play) -> None:
    """Job 2's two nodes become free at 100, not job 3's, which misses two: job 4 starts.

    ::

        1 8 nodes on demand 0..........................300
        2 10 nodes notice 10     100 ..................300..350
        3 2 nodes notice 20                  200..220
        4 2 nodes 30 ............100..150
    """
    jobs = [
        on_demand(1, 0, 8, 300),
        on_demand(2, 100, 10, 50, notice=10),
        on_demand(3, 200, 2, 20, notice=20),
        rigid(4, 30, 2, 50),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {
        1: (0, 300, 0, 0),
        2: (300, 350, 0, 0),
        3: (200, 220, 0, 0),
        4: (100, 150, 0, 0),
    }


def test_job_that_waits_for_a_warning_does_not_wait_in_the_queue(play: Play) -> None:
    """From 100 to 220 job 3 waits for job 1's nodes; job 2's, free at 150, are collected by job 4 all the same.

    ::

        1 5 nodes 0...100 wwwwwwwwww 220 240....4500 / 5......1140
        2 5 nodes 0...........150
        3 5 nodes     100            220..240
        4 5 nodes notice 120, 150 held          300..350
        5 5 nodes        130 .......................350..390
    """
    jobs = [
        malleable(1, 0, 5, 1000, min_nodes=5),
        rigid(2, 0, 5, 150),
        on_demand(3, 100, 5, 20),
        on_demand(4, 300, 5, 50, notice=120),
        rigid(5, 130, 5, 40),
    ]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {
        1: (0, 1140, 1, 0),
        2: (0, 150, 0, 0),
        3: (220, 240, 0, 0),
        4: (300, 350, 0, 0),
        5: (350, 390, 0, 0),
    }


def test_own_reserved_and_free_nodes_are_enough(play: Play) -> None:
    """Job 4 has two nodes reserved at 10; the four of job 2 stay free while job 3 waits, so 2 + 4 make its six.

    ::

        1 4 nodes on demand 0.....................400
        2 4 nodes on demand 0....100
        3 10 nodes on demand 20 ..................400..450
        4 6 nodes notice 10          200..250
    """
    jobs = [
        on_demand(1, 0, 4, 400),
        on_demand(2, 0, 4, 100),
        on_demand(3, 20, 10, 50),
        on_demand(4, 200, 6, 50, notice=10),
    ]
    assert play(jobs, 10, "CUA-PAA") == {
        1: (0, 400, 0, 0),
        2: (0, 100, 0, 0),
        3: (400, 450, 0, 0),
        4: (200, 250, 0, 0),
    }


def test_nodes_under_warning_are_taken_before_others_are_preempted(play: Play) -> None:
    """Job 3, early at 150, has the four nodes of job 1 and six under warning since 80: it waits for four of these.

    ::

        1 4 nodes 0....100
        2 6 nodes 0..80 wwwwwwwwwwwww 200 on 2 nodes: (6000 - 480) / 2 ......2960
        3 8 nodes notice 50  150 held 200..250
    """
    jobs = [
        rigid(1, 0, 4, 100),
        malleable(2, 0, 6, 1000, min_nodes=2),
        on_demand(3, 150, 8, 50, notice=50, estimated=200),
    ]
    assert play(jobs, 10, "CUP-PAA") == {1: (0, 100, 0, 0), 2: (0, 2960, 1, 0), 3: (200, 250, 0, 0)}


@pytest.mark.parametrize("other", [rigid, on_demand])
@pytest.mark.parametrize(
    ("tenant", "expected"),
    [
        pytest.param(rigid(2, 15, 5, 3000), {2: (15, 4100, 1, 0), 12: (1000, 1100, 0, 0)}, id="rigid"),
        pytest.param(
            malleable(2, 15, 5, 3000, min_nodes=5), {2: (15, 3235, 1, 0), 12: (1120, 1220, 0, 0)}, id="malleable"
        ),
    ],
)
def test_what_tenants_give_up_is_the_jobs_own_first(
    play: Play, other: Callable[..., Job], tenant: Job, expected: dict[int, Seen]
) -> None:
    """Job 2 has three nodes of job 11, which has timed out, and two of job 12, which comes and misses two.

    ::

        1  2 nodes 0.........................................5000
        2  5 nodes  15...........1000x     1100......4100      or  ..1000 wwww 1120  1220..3235
        11 3 nodes notice 10, for 20, times out at 620
        12 7 nodes notice 10 (five) 1000..1100                     (three held)     1120..1220
        13 2 nodes notice 700 (none), for 1500, times out at 2100

    Job 12 has five nodes, three of them idle, and takes two of the three that job 2 gives up and that belong to no
    reservation any more; only the third is for job 13. So nothing is asked of job 1, and where it cannot be preempted,
    the sum suffices all the same. When it ends, job 13 gets its second node, and job 2 starts on five of six.
    """
    jobs = [
        other(1, 0, 2, 5000),
        tenant,
        on_demand(11, None, 3, 50, notice=10, estimated=20),
        on_demand(12, 1000, 7, 100, notice=10),
        on_demand(13, None, 2, 50, notice=700, estimated=1500),
    ]
    nobody = (None, None, 0, 0)
    assert play(jobs, 10, "CUA-PAA") == {1: (0, 5000, 0, 0), 11: nobody, 13: nobody, **expected}


def test_reserved_nodes_of_others_are_not_available(play: Play) -> None:
    """Six nodes are idle in the reservation of job 1; job 2 needs five, finds four free and waits."""
    jobs = [on_demand(1, 500, 6, 50, notice=0), on_demand(2, 10, 5, 50)]
    assert play(jobs, 10, "CUA-PAA") == {1: (500, 550, 0, 0), 2: (550, 600, 0, 0)}


def test_paa_takes_the_least_overhead(play: Play) -> None:
    """At 100 job 1 would lose 5 x 100, job 2, begun at 50, only 5 x 50.

    ::

        1 5 nodes 0..........................1000
        2 5 nodes   50..100x      150....650
        3 5 nodes       100..150
    """
    jobs = [rigid(1, 0, 5, 1000), rigid(2, 50, 5, 500), on_demand(3, 100, 5, 50)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 1000, 0, 0), 2: (50, 650, 1, 0), 3: (100, 150, 0, 0)}


def test_paa_overhead_leaves_complete_cycles_out_and_ties_go_by_id(play: Play, lose: Lose) -> None:
    """Job 1 has one cycle of 50 s secured: 5 x 50 for both, so job 1 goes.

    Job 1: ceil(990 / 50) - 1 = 19 dumps, 800 s of compute; at 150: 10 + 760 + 18 x 10 = 950.
    """
    jobs = [rigid(1, 0, 5, 1000, setup=10, interval=40, cost=10), rigid(2, 50, 5, 500), on_demand(3, 100, 5, 50)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 1100, 1, 0), 2: (50, 550, 0, 0), 3: (100, 150, 0, 0)}
    assert lose(jobs, 10, "N-PAA") == {1: 250, 2: 0, 3: 0}


def test_paa_overhead_of_malleable_jobs_is_their_setup(play: Play) -> None:
    """Job 1 has no setup and costs nothing, though job 3 then waits 120 s; it resumes with the five nodes it lent.

    ::

        1 5 nodes 0...100 wwww 220     270...4500 / 5...1170
        2 5 nodes 0......................................1000
        3 5 nodes     100      220..270
    """
    jobs = [malleable(1, 0, 5, 1000, min_nodes=5), rigid(2, 0, 5, 1000), on_demand(3, 100, 5, 50)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 1170, 1, 0), 2: (0, 1000, 0, 0), 3: (220, 270, 0, 0)}


def test_paa_overhead_of_a_malleable_job_in_its_setup(play: Play) -> None:
    """Job 2 has spent 10 s of its setup, but costs 5 x 100; job 1, begun at 40, costs 5 x 60 and goes."""
    jobs = [rigid(1, 40, 5, 500), malleable(2, 90, 5, 500, min_nodes=5, setup=100), on_demand(3, 100, 5, 50)]
    assert play(jobs, 10, "N-PAA") == {1: (40, 650, 1, 0), 2: (90, 590, 0, 0), 3: (100, 150, 0, 0)}


def test_paa_does_not_touch_on_demand_jobs(play: Play) -> None:
    """Job 1 is on demand: job 2 waits for it."""
    jobs = [on_demand(1, 0, 6, 100), on_demand(2, 50, 6, 100)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 100, 0, 0), 2: (100, 200, 0, 0)}


def test_surplus_of_the_last_victim_goes_to_open_reservations(play: Play) -> None:
    """Job 3 needs four of job 1's ten nodes; the other six fill the reservation of job 2.

    ::

        1 10 nodes 0..100x                        350......1350
        2 6 nodes notice 50         300..350
        3 4 nodes     100..200

    At 200 four nodes were lent and none is free, too few for job 1; at 350 all ten are free.
    """
    jobs = [rigid(1, 0, 10, 1000), on_demand(2, 300, 6, 50, notice=50), on_demand(3, 100, 4, 100)]
    assert play(jobs, 10, "CUA-PAA") == {1: (0, 1350, 1, 0), 2: (300, 350, 0, 0), 3: (100, 200, 0, 0)}


def three_malleable(nodes: int) -> list[Job]:
    """On twelve nodes; they can give 1, 3 and 3; 1600 node-s each, 400 of them done at 100."""
    return [
        malleable(1, 0, 4, 400, min_nodes=3),
        malleable(2, 0, 4, 400, min_nodes=1),
        malleable(3, 0, 4, 400, min_nodes=1),
        on_demand(4, 100, nodes, 100),
    ]


def test_spaa_shrinks_evenly(play: Play) -> None:
    """Six nodes: 1 + 2 + 2 and the remainder from the first that still can: 1 + 3 + 2.

    ::

        1 4 nodes | 3: 300 | 4: 900 / 4 = 225
        2 4 nodes | 1: 100 | 4: 1100 / 4 = 275
        3 4 nodes | 2: 200 | 4: 1000 / 4 = 250
        0        100      200
    """
    assert play(three_malleable(6), 12, "N-SPAA") == {
        1: (0, 425, 0, 1),
        2: (0, 475, 0, 1),
        3: (0, 450, 0, 1),
        4: (100, 200, 0, 0),
    }


def test_spaa_leaves_alone_who_gives_nothing(play: Play) -> None:
    """Two nodes: one each from jobs 1 and 2, by id; job 3 is not shrunk."""
    assert play(three_malleable(2), 12, "N-SPAA") == {
        1: (0, 425, 0, 1),
        2: (0, 425, 0, 1),
        3: (0, 400, 0, 0),
        4: (100, 200, 0, 0),
    }


def test_spaa_falls_back_to_paa(play: Play) -> None:
    """Eight nodes are more than 1 + 3 + 3: jobs 1 and 2 are warned (no setup: all cost 0), none shrinks.

    At 320 both resume with the four nodes that each lent: 1200 / 4 = 300 s.
    """
    assert play(three_malleable(8), 12, "N-SPAA") == {
        1: (0, 620, 1, 0),
        2: (0, 620, 1, 0),
        3: (0, 400, 0, 0),
        4: (220, 320, 0, 0),
    }


def test_spaa_uses_free_nodes_first(play: Play) -> None:
    """Two free nodes leave four missing: 1 + 2 + 1."""
    seen = play(three_malleable(6), 14, "N-SPAA")
    # Job 1 as before; job 2 on 2 nodes: 200, 1000 / 4 = 250; job 3 on 3 nodes: 300, 900 / 4 = 225.
    assert seen == {1: (0, 425, 0, 1), 2: (0, 450, 0, 1), 3: (0, 425, 0, 1), 4: (100, 200, 0, 0)}


# --- Section 6: completion of an on-demand job ------------------------------------------------------------------------


def test_lender_that_cannot_resume_gets_nothing_and_keeps_its_place(play: Play) -> None:
    """Job 1 lends six of its ten nodes; the other four run job 2 until 350, so at 150 it cannot resume.

    ::

        1 10 nodes 0..50x                              350.....650
        2 4 nodes  20 50...............................350
        3 10 nodes 30 ........................................ 650..700
        4 6 nodes  60 .........150..250                  backfills on the six nodes returned
        5 6 nodes     50.......150                       walltime 300

    Job 1 was submitted first, so it is the head before job 3.
    """
    jobs = [
        rigid(1, 0, 10, 300),
        rigid(2, 20, 4, 300),
        rigid(3, 30, 10, 50),
        rigid(4, 60, 6, 100),
        on_demand(5, 50, 6, 100, 300),
    ]
    assert play(jobs, 10, "N-PAA") == {
        1: (0, 650, 1, 0),
        2: (50, 350, 0, 0),
        3: (650, 700, 0, 0),
        4: (150, 250, 0, 0),
        5: (50, 150, 0, 0),
    }


def test_preempted_lender_resumes_before_the_queue(play: Play) -> None:
    """Job 2 was submitted before job 1 and waits for nine nodes; job 1 resumes at 150 all the same.

    ::

        3 2 nodes on demand 0..............................1000
        2 9 nodes 5 .......................................1000..1050
        1 8 nodes 10...50x       150........350
        4 8 nodes      50...150
    """
    jobs = [on_demand(3, 0, 2, 1000), rigid(2, 5, 9, 50), rigid(1, 10, 8, 200), on_demand(4, 50, 8, 100)]
    assert play(jobs, 10, "N-PAA") == {
        3: (0, 1000, 0, 0),
        2: (1000, 1050, 0, 0),
        1: (10, 350, 1, 0),
        4: (50, 150, 0, 0),
    }


def test_malleable_lender_resumes_with_lent_and_free_nodes(play: Play) -> None:
    """Six lent, four free: all ten at 320; with four of its minimum five free at 220 it has to wait until then.

    ::

        1 10 nodes 0..100 wwww 220 ....320......9000 / 10 = 900......1220
        2 6 nodes      100     220..320
    """
    jobs = [malleable(1, 0, 10, 1000, min_nodes=5), on_demand(2, 100, 6, 100)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 1220, 1, 0), 2: (220, 320, 0, 0)}


def test_malleable_lender_resumes_smaller(play: Play) -> None:
    """Job 3 holds two of the four free nodes from 220 on: six lent and two free make eight, 9000 / 8 = 1125 s."""
    jobs = [malleable(1, 0, 10, 1000, min_nodes=5), on_demand(2, 100, 6, 100), rigid(3, 150, 2, 500)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 1445, 1, 0), 2: (220, 320, 0, 0), 3: (220, 720, 0, 0)}


def test_lender_that_has_run_since_gets_nothing(play: Play) -> None:
    """Job 1 runs on four nodes from 220 on and does not grow when job 2 ends at 320: 9000 / 4 = 2250 s."""
    jobs = [malleable(1, 0, 10, 1000, min_nodes=4), on_demand(2, 100, 6, 100)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 2470, 1, 0), 2: (220, 320, 0, 0)}


def test_shrunk_lender_whose_run_has_ended_gets_nothing(play: Play) -> None:
    """Job 1 lends four nodes to job 2, then is preempted for job 3.

    ::

        1 10 nodes 0..100 | 6 nodes ..200 wwww 320 ....400 on 4 nodes: (10000 - 1600) / 4......2500
        2 4 nodes     100.................................400
        3 6 nodes                     200      320.........420
    """
    jobs = [malleable(1, 0, 10, 1000, min_nodes=2), on_demand(2, 100, 4, 300), on_demand(3, 200, 6, 100)]
    assert play(jobs, 10, "N-SPAA") == {1: (0, 2500, 1, 1), 2: (100, 400, 0, 0), 3: (320, 420, 0, 0)}


def test_shrunk_by_two_expands_twice(play: Play) -> None:
    """Job 1 lends three nodes to each; it grows by three at 200 and by three at 300.

    ::

        1 10: 500 | 7: 50 x 7 = 350 | 4: 100 x 4 = 400 | 7: 100 x 7 = 700 | 10: 8050 left, 805 s
        0        50                100                200                300                    1105
    """
    jobs = [malleable(1, 0, 10, 1000, min_nodes=4), on_demand(2, 50, 3, 250), on_demand(3, 100, 3, 100)]
    assert play(jobs, 10, "N-SPAA") == {1: (0, 1105, 0, 2), 2: (50, 300, 0, 0), 3: (100, 200, 0, 0)}


def test_what_remains_goes_to_open_reservations_then_free(play: Play) -> None:
    """Job 1's six nodes: two complete the reservation of job 2, four are free - too few for job 3.

    ::

        1 6 nodes on demand 0..100
        2 6 nodes notice 50 (four free)  300..350
        3 6 nodes 60 ........................350..650
    """
    jobs = [on_demand(1, 0, 6, 100), on_demand(2, 300, 6, 50, notice=50), rigid(3, 60, 6, 300)]
    assert play(jobs, 10, "CUA-PAA", tenants="none") == {
        1: (0, 100, 0, 0),
        2: (300, 350, 0, 0),
        3: (350, 650, 0, 0),
    }


def test_lenders_come_before_open_reservations(play: Play) -> None:
    """At 150 job 1 gets its five nodes back although job 3's reservation, noticed at 120, misses five.

    ::

        1 5 nodes 0..100x      150......400x      450......950
        2 5 nodes    100..150
        3 5 nodes notice 120            400..450
        4 5 nodes on demand 0....................1000

    So job 3 has to preempt job 1 at 400; without a checkpoint that one starts anew at 450.
    """
    jobs = [
        rigid(1, 0, 5, 500),
        on_demand(2, 100, 5, 50),
        on_demand(3, 400, 5, 50, notice=120),
        on_demand(4, 0, 5, 1000),
    ]
    assert play(jobs, 10, "CUA-PAA") == {
        1: (0, 950, 2, 0),
        2: (100, 150, 0, 0),
        3: (400, 450, 0, 0),
        4: (0, 1000, 0, 0),
    }


def test_a_job_that_still_collects_nodes_releases_them_a_walltime_after_the_last_one_comes(play: Play) -> None:
    """At 100 job 3 arrives, and job 1 gets a warning of 120 s: job 3 starts at 220 and releases its nodes at 1220.

    At 160 job 2 leaves two nodes. Job 4 is at the head and needs the whole machine, from 1220 on. Job 5 ends at 1215 if
    it is backfilled now, later than job 3 would if it had started upon its arrival.

    ::

        nodes  0     100   160  220                     1215  1220
        3-12   1     wwwwwwwwwwww3                            |
        1-2    2           |5                           |
    """
    jobs = [
        malleable(1, 0, 10, 5000, min_nodes=10),
        on_demand(2, 0, 2, 160),
        on_demand(3, 100, 10, 1000),
        rigid(4, 101, 12, 100),
        rigid(5, 102, 2, 1055),
    ]
    seen = play(jobs, 12, "N-PAA", warning=120.0)
    assert seen[3] == (220, 1220, 0, 0)
    assert seen[5] == (160, 1215, 0, 0)
