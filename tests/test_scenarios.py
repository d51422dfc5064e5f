"""Each rule of hybrid-workloads.md on a machine small enough to be worked out by hand.

The expected numbers come from the page, with pencil and paper; each scenario runs against the reference and, where
there is one, against the simulator. In the drawings time runs to the right, ``x`` is lost time, ``w`` a warning, ``.``
waiting. An expectation reads {job: (first start, end, preemptions, shrinks)}.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.support import ENGINES, Seen, losses, malleable, on_demand, outcomes, rigid
from workloads.job import Job

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
    assert play([dumper()], 10, "N&PAA") == {1: (0, 1000, 0, 0)}
    assert lose([dumper()], 10, "N&PAA") == {1: 0}


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
    assert play(jobs, 10, "N&PAA") == {1: (0, end, 1, 0), 2: (at, at + 100, 0, 0)}
    assert lose(jobs, 10, "N&PAA") == {1: lost, 2: 0}


def test_rigid_run_preempted_twice(play: Play, lose: Lose) -> None:
    """The second run starts from 550 s of compute and two dumps.

    ::

        1 0..400 (c = 1)      500..900: setup 600, compute 800, dump 850 (c = 1)      1000..1500
        2                400..500
        3                                                                     900..1000

    Third run: 100 + 350 + 50. Lost: (400 - 250) x 10 twice.
    """
    jobs = [dumper(), on_demand(2, 400, 10, 100), on_demand(3, 900, 10, 100)]
    assert play(jobs, 10, "N&PAA") == {1: (0, 1500, 2, 0), 2: (400, 500, 0, 0), 3: (900, 1000, 0, 0)}
    assert lose(jobs, 10, "N&PAA")[1] == 3000


@pytest.mark.parametrize(
    ("walltime", "runtime", "candidate"),
    [
        pytest.param(1000, 900, (500, 1400, 0, 0), id="fits"),
        pytest.param(1001, 300, (1350, 1650, 0, 0), id="too long"),
    ],
)
def test_walltime_falls_by_the_compute_secured(play: Play, walltime: int, runtime: int, candidate: Seen) -> None:
    """Job 1 (walltime 1200) is resumed at 500 with walltime 1200 - 200 = 1000: expected end 1500.

    ::

        twelve nodes; 3 needs all of them, its shadow time is 1500, extra 0
        1 0..400, 500..1250
        2      400..500
        3 submitted 450 ..........
        4 two nodes, submitted 500: backfills if it ends by 1500
    """
    jobs = [dumper(1000, 1200), on_demand(2, 400, 10, 100), rigid(3, 450, 12, 100), rigid(4, 500, 2, runtime, walltime)]
    head_start = max(1250, candidate[1] if candidate[0] == 500 else 0)
    seen = play(jobs, 12, "N&PAA")
    assert seen[1] == (0, 1250, 1, 0)
    assert seen[3] == (head_start, head_start + 100, 0, 0)
    assert seen[4] == candidate


def test_malleable_job_starts_small_and_stays_small(play: Play) -> None:
    """Ten nodes wanted, four free: 20 + (200 - 20) x 10 / 4 = 470 s; nodes freed at 100 are no use to it."""
    jobs = [rigid(1, 0, 6, 100), malleable(2, 0, 10, 200, min_nodes=2, setup=20)]
    assert play(jobs, 10, "CUA&SPAA") == {1: (0, 100, 0, 0), 2: (0, 470, 0, 0)}


def test_malleable_end_is_rounded_to_a_microsecond(play: Play) -> None:
    """100 node-seconds on three nodes: 33.333333 s."""
    jobs = [rigid(1, 0, 1, 50), malleable(2, 0, 4, 25, min_nodes=1)]
    assert play(jobs, 4, "N&PAA")[2] == (0, 33.333333, 0, 0)


def test_malleable_job_shrinks_and_expands(play: Play, lose: Lose) -> None:
    """Six nodes are lent from 50 to 150.

    ::

        1 10 nodes: setup 0..20, 300 node-s | 4 nodes: 400 | 10 nodes: 1100 left, 110 s
        0                                  50            150                          260
    """
    jobs = [malleable(1, 0, 10, 200, min_nodes=2, setup=20), on_demand(2, 50, 6, 100)]
    assert play(jobs, 10, "N&SPAA") == {1: (0, 260, 0, 1), 2: (50, 150, 0, 0)}
    assert lose(jobs, 10, "N&SPAA")[1] == 0


def test_setup_is_as_long_at_any_size(play: Play) -> None:
    """Shrunk in the setup: 20..110 on four nodes: 360; 1440 left on ten from 110: 144 s."""
    jobs = [malleable(1, 0, 10, 200, min_nodes=2, setup=20), on_demand(2, 10, 6, 100)]
    assert play(jobs, 10, "N&SPAA") == {1: (0, 254, 0, 1), 2: (10, 110, 0, 0)}


def test_warned_malleable_job_keeps_its_work(play: Play, lose: Lose) -> None:
    """The warning is 120 s without progress; the setup is repeated.

    ::

        1 10 nodes: setup, 300 node-s |wwwwwwww| 4 nodes: setup ..190, 1500 / 4 = 375 s
        2                             |........| 6 nodes |
        0                            50      170       270                            565

    Lost: setup 20 x 10 and the warning 120 x 10. Job 2 returns nothing: job 1 has run since.
    """
    jobs = [malleable(1, 0, 10, 200, min_nodes=2, setup=20), on_demand(2, 50, 6, 100)]
    assert play(jobs, 10, "N&PAA") == {1: (0, 565, 1, 0), 2: (170, 270, 0, 0)}
    assert lose(jobs, 10, "N&PAA") == {1: 1400, 2: 0}


def test_warned_in_the_setup(play: Play, lose: Lose) -> None:
    """Ten seconds of setup were spent: 100 + 1200 lost; 130 + 20 + 1800 / 4 = 600."""
    jobs = [malleable(1, 0, 10, 200, min_nodes=2, setup=20), on_demand(2, 10, 6, 100)]
    assert play(jobs, 10, "N&PAA") == {1: (0, 600, 1, 0), 2: (130, 230, 0, 0)}
    assert lose(jobs, 10, "N&PAA")[1] == 1300


# --- Section 3: scheduler ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["baseline", "N&PAA", "CUP&SPAA"])
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
    assert play(jobs, 10, "N&PAA") == {1: (0, 60, 0, 0), 2: (60, 110, 0, 0)}


def test_submit_time_orders_the_queue_and_rows_break_ties(play: Play) -> None:
    """Rows are not sorted by submit time; 5 stands before 4 in the table, both are submitted at 10."""
    jobs = [rigid(1, 20, 10, 10), rigid(2, 0, 10, 100), rigid(5, 10, 10, 10), rigid(4, 10, 10, 10)]
    assert play(jobs, 10, "N&PAA") == {
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
    assert play(jobs, 10, "N&PAA") == {1: (0, 100, 0, 0), 2: (100, 162.5, 0, 0), 3: (0, 200, 0, 0)}


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
    assert play(jobs, 10, "N&PAA") == {1: (0, 100, 0, 0), 2: (100, 150, 0, 0), 3: expected}


def test_completion_wins_over_preemption(play: Play) -> None:
    """At 100 job 1 ends and job 2 arrives: nothing is preempted."""
    jobs = [rigid(1, 0, 10, 100, 200), on_demand(2, 100, 10, 50)]
    assert play(jobs, 10, "N&PAA") == {1: (0, 100, 0, 0), 2: (100, 150, 0, 0)}


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
    assert play(jobs, 10, "N&PAA", backfill_length=backfill_length)[3] == expected


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
    seen = play(jobs, 10, "N&PAA", passes=passes)
    assert (seen[3], seen[4]) == (head, candidate)


# --- Section 4: advance notice ----------------------------------------------------------------------------------------


def collecting(**on_demand_job: float) -> list[Job]:
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
    assert play(collecting(), 10, "N&PAA") == {
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
    assert play(collecting(), 10, "CUA&PAA", tenants="none") == {
        1: (0, 100, 0, 0),
        2: (0, 300, 0, 0),
        3: (200, 300, 0, 0),
        4: (300, 500, 0, 0),
    }


def test_tenant_is_preempted_on_arrival(play: Play, lose: Lose) -> None:
    """Job 4 runs as a tenant from 100 to 200, in vain: 600 node-s lost; no lender, it starts anew at 300 by the pass."""
    assert play(collecting(), 10, "CUA&PAA", tenants="any")[4] == (100, 500, 1, 0)
    assert play(collecting(), 10, "CUA&PAA", tenants="any")[3] == (200, 300, 0, 0)
    assert lose(collecting(), 10, "CUA&PAA", tenants="any")[4] == 600


@pytest.mark.parametrize(
    ("walltime", "expected"),
    [
        pytest.param(100, (100, 200, 0, 0), id="ends by the estimated arrival"),
        pytest.param(101, (300, 400, 0, 0), id="passes it"),
    ],
)
def test_tenants_that_fit(play: Play, walltime: int, expected: Seen) -> None:
    """A tenant under `fits` must be gone by 200, by its walltime."""
    jobs = [*collecting()[:3], rigid(4, 60, 6, 100, walltime)]
    seen = play(jobs, 10, "CUA&PAA", tenants="fits")
    assert seen[3] == (200, 300, 0, 0)
    assert seen[4] == expected


def test_reservation_reserves_free_nodes_at_the_notice(play: Play) -> None:
    """Job 1 is submitted after the notice and finds four of ten nodes free, not enough for five."""
    jobs = [on_demand(1, 100, 6, 50, notice=0), rigid(2, 10, 5, 50)]
    expected = {1: (100, 150, 0, 0), 2: (150, 200, 0, 0)}
    assert play(jobs, 10, "CUA&PAA", tenants="none") == expected
    assert play(jobs, 10, "N&PAA") == {1: (100, 150, 0, 0), 2: (10, 60, 0, 0)}


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
    assert play(jobs, 10, "CUA&PAA") == {
        1: (0, 100, 0, 0),
        2: (0, 400, 0, 0),
        3: (300, 350, 0, 0),
        4: (200, 250, 0, 0),
    }


def test_no_show_times_out(play: Play) -> None:
    """Job 1 does not come by 100 + 600; until then six nodes are held, too few for job 2, which starts at 700."""
    jobs = [on_demand(1, None, 6, 50, notice=60, estimated=100), rigid(2, 70, 10, 100)]
    assert play(jobs, 10, "CUA&PAA") == {1: (None, None, 0, 0), 2: (700, 800, 0, 0)}
    assert play(jobs, 10, "N&PAA") == {1: (None, None, 0, 0), 2: (70, 170, 0, 0)}


def test_arrival_after_the_time_out_is_one_without_notice(play: Play) -> None:
    """Job 2 starts at the time-out and is preempted at 800; with six lent and four free nodes it resumes at 900."""
    jobs = [on_demand(1, 800, 6, 100, notice=60, estimated=100), rigid(2, 70, 10, 200)]
    assert play(jobs, 10, "CUA&PAA") == {1: (800, 900, 0, 0), 2: (700, 1100, 1, 0)}


def test_time_out_comes_before_an_arrival_of_the_same_instant(play: Play) -> None:
    """At 700 the reservation goes, then job 1 arrives and finds ten free nodes."""
    jobs = [on_demand(1, 700, 6, 100, notice=60, estimated=100), rigid(2, 70, 10, 200)]
    assert play(jobs, 10, "CUA&PAA") == {1: (700, 800, 0, 0), 2: (800, 1000, 0, 0)}


def test_tenant_becomes_ordinary_at_the_time_out(play: Play) -> None:
    """Job 2 is a tenant of job 1, which never comes; from 700 on it can be preempted for job 3, and lends.

    ::

        2 6 nodes 10...................800x        850......1850
        3 10 nodes                     800......850
    """
    jobs = [on_demand(1, None, 6, 50, notice=0, estimated=100), rigid(2, 10, 6, 1000), on_demand(3, 800, 10, 50)]
    assert play(jobs, 10, "CUA&PAA") == {1: (None, None, 0, 0), 2: (10, 1850, 1, 0), 3: (800, 850, 0, 0)}


def test_tenant_of_another_cannot_be_taken(play: Play) -> None:
    """The same at 650: job 2's nodes belong to the reservation, four free ones are too few, so job 3 waits for its end."""
    jobs = [on_demand(1, None, 6, 50, notice=0, estimated=100), rigid(2, 10, 6, 1000), on_demand(3, 650, 10, 50)]
    assert play(jobs, 10, "CUA&PAA") == {1: (None, None, 0, 0), 2: (10, 1010, 0, 0), 3: (1010, 1060, 0, 0)}


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
    assert play(jobs, 10, "CUA&PAA", tenants="none") == {
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
    assert play(jobs, 10, "CUA&PAA", tenants="none")[5] == (160, 210, 0, 0)
