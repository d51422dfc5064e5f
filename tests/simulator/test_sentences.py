"""The further sentences of the hybrid paper that an option decides: by hand, and against the independent reading.

Each scenario runs against the simulator and the reference, under the default and under the other reading. An
expectation reads {job: (first start, end, preemptions, shrinks)}; in the drawings ``w`` is a warning of 120 s.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.experiments.placement.spans import HELD, place_nodes
from holdfast.experiments.stories.reader.timeline import Timeline
from holdfast.experiments.stories.story import Stories
from holdfast.policies.arrival import PreemptAtArrival, ShrinkPreemptAtArrival
from holdfast.policies.backfilling import Easy
from holdfast.simulator import simulate
from holdfast.simulator.conformance import check_policy
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job
from tests.reference.hybrid import MECHANISMS
from tests.simulator.test_differential import assert_equals_reference
from tests.strategies.tables import Table, crowded_job_table, job_tables, random_job_table
from tests.support.jobs import ENGINES, Seen, malleable, on_demand, outcomes, rigid

Play = Callable[..., dict[int, Seen]]

VALUES: Mapping[str, tuple[str, str]] = {
    "malleable_start": ("free", "requested"),
    "malleable_resume": ("start", "former"),
    "malleable_head": ("minimum", "requested"),
    "arrival_takes": ("own", "reserved"),
    "shrunk_lenders": ("expand", "stay"),
    "preempted_lenders": ("resume", "hold"),
}
VICTIMS = tuple(f"victims={order}" for order in ("malleable-first", "youngest", "oldest", "lowest-priority"))
WORDS = (*VICTIMS, "overhead=seconds", "shrink=minimum")


@pytest.fixture(params=ENGINES)
def play(request: pytest.FixtureRequest) -> Play:
    """``play(jobs, nodes, mechanism, **options)``: what happens to each job."""
    return partial(outcomes, engine=request.param)


# --- Sizes of malleable jobs ------------------------------------------------------------------------------------------


def test_malleable_job_starts_at_what_is_free_or_at_its_requested_size(play: Play) -> None:
    """Job 2 asks for 10 nodes for 100 s; until 50 only four are free.

    ::

        free       2 on 4 nodes from 0 to 1000 / 4 = 250
        requested  1 until 50, then 2 on 10 nodes to 150
    """
    jobs = [rigid(1, 0, 6, 50), malleable(2, 0, 10, 100, min_nodes=2)]
    assert play(jobs, 10, "N-PAA")[2] == (0, 250, 0, 0)
    assert play(jobs, 10, "N-PAA", malleable_start="requested")[2] == (50, 150, 0, 0)


def test_job_of_requested_size_is_smaller_while_it_lends(play: Play) -> None:
    """Job 1, 10 nodes for 100 s, lends 5 nodes from 20 to 40: 200 + 100 of 1000 node-seconds by 40, then 70 s more."""
    jobs = [malleable(1, 0, 10, 100, min_nodes=2), on_demand(2, 20, 5, 20)]
    assert play(jobs, 10, "N-SPAA", malleable_start="requested")[1] == (0, 110, 0, 1)


def test_preempted_job_resumes_at_its_former_size(play: Play) -> None:
    """Job 1 starts on the four nodes that job 3 leaves; at 60 job 2 preempts it for them.

    ::

        1 on 4 nodes    0..60 w 180: 240 of 1000 node-seconds
        2 on 4 nodes            180..280
        3 on 6 nodes    0..100

    At 180 six nodes are free: 760 / 6 = 126.666667 s on all of them, or 190 s on four.
    """
    jobs = [rigid(3, 0, 6, 100), malleable(1, 0, 10, 100, min_nodes=2), on_demand(2, 60, 4, 100)]
    assert play(jobs, 10, "N-PAA")[1] == (0, 306.666667, 1, 0)
    assert play(jobs, 10, "N-PAA", malleable_resume="former")[1] == (0, 370, 1, 0)


def test_job_that_has_shrunk_resumes_as_small(play: Play) -> None:
    """Job 1 lends 5 of 10 nodes at 20 and is preempted at 30; 750 node-seconds are left, all nodes free from 300 on.

    ::

        1 on 10 nodes 0..20, on 5 20..30 w 150
        2 on 5 nodes        20..320
        3 on 5 nodes               150..300
    """
    jobs = [malleable(1, 0, 10, 100, min_nodes=5), on_demand(2, 20, 5, 300), on_demand(3, 30, 5, 150)]
    own = {"malleable_start": "requested"}
    assert play(jobs, 10, "N-SPAA", **own)[1] == (0, 395, 1, 1)
    assert play(jobs, 10, "N-SPAA", **own, malleable_resume="former")[1] == (0, 450, 1, 1)


def test_head_waits_for_its_requested_size_while_others_start_smaller(play: Play) -> None:
    """Job 1 leaves four nodes until 100. Job 2 stands first, job 3 behind it; both ask for 8 nodes, from 2 on.

    By its walltime job 2 can have its 8 nodes at 100, with 2 to spare. Job 3 has 160 node-seconds, 40 s on four.
    """
    jobs = [rigid(1, 0, 6, 100), malleable(2, 1, 8, 50, min_nodes=2), malleable(3, 1, 8, 20, min_nodes=2)]
    assert play(jobs, 10, "N-PAA") == {1: (0, 100, 0, 0), 2: (1, 101, 0, 0), 3: (100, 126.666667, 0, 0)}
    seen = play(jobs, 10, "N-PAA", malleable_head="requested")
    assert seen == {1: (0, 100, 0, 0), 2: (100, 150, 0, 0), 3: (1, 41, 0, 0)}


# --- Reserved nodes at an arrival -------------------------------------------------------------------------------------


def test_arriving_job_may_use_nodes_reserved_for_another(play: Play) -> None:
    """Six nodes are reserved for job 9 from 10 on; job 8 comes at 20 and needs four, job 1 runs on the other four.

    With its own nodes alone it preempts job 1. Otherwise it takes four of the six; at 110 its own four nodes go back to
    the reservation, which then has six again, so that job 9 starts at 200.
    """
    jobs = [rigid(1, 0, 4, 500), on_demand(8, 20, 4, 90), on_demand(9, 200, 6, 50, notice=10)]
    play = partial(play, tenants="none")
    assert play(jobs, 10, "CUA-PAA") == {1: (0, 610, 1, 0), 8: (20, 110, 0, 0), 9: (200, 250, 0, 0)}
    seen = play(jobs, 10, "CUA-PAA", arrival_takes="reserved")
    assert seen == {1: (0, 500, 0, 0), 8: (20, 110, 0, 0), 9: (200, 250, 0, 0)}


def test_latest_notice_gives_first(play: Play) -> None:
    """Jobs 7 and 9 have three nodes each reserved, 9 later. Job 8 takes those of 9, which then preempts job 1."""
    jobs = [
        *(rigid(1, 0, 4, 500), on_demand(7, 100, 3, 50, notice=10), on_demand(9, 100, 3, 50, notice=11)),
        on_demand(8, 20, 3, 200),
    ]
    seen = play(jobs, 10, "CUA-PAA", arrival_takes="reserved")
    assert seen == {1: (0, 650, 1, 0), 7: (100, 150, 0, 0), 9: (100, 150, 0, 0), 8: (20, 220, 0, 0)}


def test_reserved_nodes_count_in_the_sum_before_an_arrival(play: Play) -> None:
    """Nothing else can give way: job 8 waits for the six nodes reserved for job 9, or has them."""
    jobs = [on_demand(6, 0, 4, 1000), on_demand(9, 300, 6, 50, notice=10), on_demand(8, 20, 5, 30)]
    assert play(jobs, 10, "CUA-PAA")[8] == (350, 380, 0, 0)
    assert play(jobs, 10, "CUA-PAA", arrival_takes="reserved")[8] == (20, 50, 0, 0)


# --- Victims ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "victims"),
    [
        pytest.param("", {2}, id="2 x 100 node-seconds"),
        pytest.param(" overhead=seconds", {1}, id="40 seconds"),
        pytest.param(" victims=malleable-first", {3}, id="the malleable one"),
        pytest.param(" overhead=seconds victims=malleable-first", {3}, id="the malleable one, whatever the unit"),
    ],
)
def test_overheads_are_compared_in_node_seconds_or_seconds(play: Play, words: str, victims: set[int]) -> None:
    """At 100 an on-demand job misses two nodes. Job 1 began at 60 on 8 nodes (320 node-seconds), job 2 at 0 on 2 (200),
    and malleable job 3 has a setup of 60 s on 4 (240)."""
    jobs = [rigid(2, 0, 2, 1000), malleable(3, 0, 4, 1000, min_nodes=4, setup=60), rigid(1, 60, 8, 1000),
            on_demand(9, 100, 2, 10)]  # fmt: skip
    seen = play(jobs, 14, f"N-PAA{words}")
    assert {job for job, (_, _, preemptions, _) in seen.items() if preemptions} == victims


@pytest.mark.parametrize(
    ("order", "victim", "reason"),
    [
        pytest.param("youngest", 2, "its run is the youngest", id="job 2 started at 100"),
        pytest.param("oldest", 3, "its run is the oldest", id="job 3 started at 0"),
        pytest.param(
            "lowest-priority", 4, "it has the lowest priority: its submit is the latest", id="job 4 was submitted at 50"
        ),
    ],
)
def test_victims_by_age_or_priority(play: Play, order: str, victim: int, reason: str) -> None:
    """At 200 an on-demand job misses two of ten nodes.

    ::

        1 on 8 nodes    0..100
        3 on 2 nodes    0..        the oldest; by overheads job 4 would go, with 2 x 150 node-seconds
        4 on 2 nodes   50..        submitted last
        2 on 8 nodes  100..        submitted at 10, started when job 1 had ended
    """
    jobs = [rigid(1, 0, 8, 100), rigid(3, 0, 2, 5000), rigid(2, 10, 8, 5000), rigid(4, 50, 2, 5000),
            on_demand(9, 200, 2, 10)]  # fmt: skip
    assert {job for job, seen in play(jobs, 12, "N-PAA").items() if seen[2]} == {4}
    seen = play(jobs, 12, f"N-PAA victims={order}")
    assert {job for job, (_, _, preemptions, _) in seen.items() if preemptions} == {victim}
    story = str(Stories(simulate(jobs, 12, f"N-PAA victims={order}", decisions=True)).story(victim))
    assert f"The policy says: {reason}." in " ".join(story.split())


def test_spaa_shrinks_evenly_or_to_the_minimum(play: Play) -> None:
    """Jobs 1 and 2 have 10 nodes and 1000 node-seconds each. Job 3 comes at 20 for 20 s, and misses 8 nodes.

    ::

        even     4 each: 6 nodes from 20 to 40, then 10
        minimum  8 each; four each are lent and come back: 2 nodes from 20 to 40, then 6
                 (200 + 40 by 40, 760 / 6 = 126.666667 s)

    Job 4 waits for eight nodes. It has those that job 3 does not take, from 20 on.
    """
    jobs = [malleable(1, 0, 10, 100, min_nodes=2), malleable(2, 0, 10, 100, min_nodes=2), on_demand(3, 20, 8, 20),
            rigid(4, 5, 8, 200)]  # fmt: skip
    assert play(jobs, 20, "N-SPAA")[1] == (0, 108, 0, 1)
    seen = play(jobs, 20, "N-SPAA shrink=minimum")
    assert seen == {1: (0, 166.666667, 0, 1), 2: (0, 166.666667, 0, 1), 3: (20, 40, 0, 0), 4: (20, 220, 0, 0)}


# --- Lenders ----------------------------------------------------------------------------------------------------------


def test_shrunk_lender_expands_or_stays(play: Play) -> None:
    """Job 1 lends 5 nodes from 20 to 40. 700 node-seconds are left then: 70 s on 10 nodes, 140 s on 5."""
    jobs = [malleable(1, 0, 10, 100, min_nodes=2), on_demand(2, 20, 5, 20)]
    assert play(jobs, 10, "N-SPAA")[1] == (0, 110, 0, 1)
    assert play(jobs, 10, "N-SPAA", shrunk_lenders="stay")[1] == (0, 180, 0, 1)


def lenders() -> list[Job]:
    """Ten nodes. Job 1 has eight; job 2 needs four of them from 10 to 60, and job 3 takes the other four until 110.

    Job 1 cannot resume at 60: two nodes are free, four come back, and it needs eight. Job 4 waits behind it for four
    nodes; its walltime of 300 s is too long for backfilling but on nodes to spare.
    """
    return [
        rigid(1, 0, 8, 100),
        rigid(5, 0, 2, 400),
        on_demand(2, 10, 4, 50),
        on_demand(3, 20, 4, 90),
        rigid(4, 30, 4, 40, 300),
    ]


def test_returned_nodes_are_released_or_held(play: Play) -> None:
    """At 60 four nodes come back. Job 1 resumes at 110, when job 3 ends, in either case: it stands first."""
    for value in VALUES["preempted_lenders"]:
        assert play(lenders(), 10, "N-PAA", preempted_lenders=value)[1] == (0, 210, 1, 0)


def test_held_nodes_cannot_be_backfilled(play: Play) -> None:
    """With a walltime of 40 s job 4 would run on them from 60 to 100; they are held, and it follows job 1."""
    jobs = [*lenders()[:-1], rigid(4, 30, 4, 40)]
    assert play(jobs, 10, "N-PAA")[4] == (60, 100, 0, 0)
    assert play(jobs, 10, "N-PAA", preempted_lenders="hold")[4] == (210, 250, 0, 0)


def test_lender_takes_what_is_held_for_a_later_one(play: Play) -> None:
    """Job 1 needs seven of ten nodes and job 2 six; what is held for both is not enough for either.

    ::

        7 on 3 nodes    0..15    on-demand
        1 on 7 nodes    0..10    lends 4 to job 8, which ends at 60
        2 on 6 nodes   15..20    backfilled; lends 5 to job 9, which ends at 80
        4 on 1 node    21..1021

    At 60 four nodes are held for job 1, at 80 five for job 2. Job 1 takes three of these and runs until 180; then job 2
    has two and takes four free ones. Without held nodes job 2 resumes at 80 on five and a free one, and job 1 at 125.
    """
    jobs = [
        *(on_demand(7, 0, 3, 15), rigid(1, 0, 7, 100), rigid(2, 12, 6, 45), rigid(4, 21, 1, 1000)),
        *(on_demand(8, 10, 4, 50), on_demand(9, 20, 5, 60)),
    ]
    released = play(jobs, 10, "N-PAA")
    assert (released[1], released[2]) == ((0, 225, 1, 0), (15, 125, 1, 0))
    held = play(jobs, 10, "N-PAA", preempted_lenders="hold")
    assert (held[1], held[2]) == ((0, 180, 1, 0), (15, 225, 1, 0))
    assert held[4] == (21, 1021, 0, 0)


def test_no_job_passes_one_that_waits_for_held_nodes(play: Play) -> None:
    """Job 3 stands first and needs all ten nodes. From 60 on four of them are held for job 1.

    ::

        7 on 3 nodes    0..15    on-demand, walltime 200
        1 on 7 nodes    0..10    backfilled; lends 4 to job 8, which ends at 60
        2 on 6 nodes   15..20    backfilled; lends 5 to job 9, which ends at 80

    At 61 one node is free, and job 5 could use it for 10 s. It waits. At 80 job 2 resumes on that node and the five
    that come back, at 125 job 1 on the four that are held and three of these; job 5 then starts, before job 3 can.
    """
    jobs = [
        *(on_demand(7, 0, 3, 15, 200), rigid(3, 0, 10, 10), rigid(1, 0, 7, 100), rigid(2, 12, 6, 45)),
        *(on_demand(8, 10, 4, 50), on_demand(9, 20, 5, 60), rigid(5, 61, 1, 10)),
    ]
    held = play(jobs, 10, "N-PAA", preempted_lenders="hold")
    assert (held[1], held[2]) == ((0, 225, 1, 0), (15, 125, 1, 0))
    assert (held[3], held[5]) == ((225, 235, 0, 0), (125, 135, 0, 0))
    assert play(jobs, 10, "N-PAA")[5] == (61, 71, 0, 0)


def test_an_outage_ends_the_holding() -> None:
    """One node fails at 70: the four nodes held for job 1 are released, and job 4 is backfilled on three of them."""
    failure = Outage(OutageKind.FAILURE, 70, 90, 1, place=0.0)
    jobs = [*lenders()[:-1], rigid(4, 30, 3, 30)]
    held = simulate(jobs, 10, "N-PAA", preempted_lenders="hold")
    struck = simulate(jobs, 10, "N-PAA", preempted_lenders="hold", outages=[failure])
    starts = [{record.job_id: record.start for record in result.records}[4] for result in (held, struck)]
    assert starts == [210_000_000, 70_000_000]


def test_cancelled_lender_gives_up_what_is_held_for_it() -> None:
    jobs = [rigid(1, 0, 8, 100, cancelled_at=80), *lenders()[1:-1], rigid(4, 30, 4, 20)]
    result = simulate(jobs, 10, "N-PAA", preempted_lenders="hold")
    records = {record.job_id: record for record in result.records}
    assert records[4].start == 80_000_000


# --- The options ------------------------------------------------------------------------------------------------------


def test_illegal_values_are_refused() -> None:
    for name in VALUES:
        with pytest.raises(ParameterError, match=f"{name} must be"):
            Options.of(**{name: "other"})
    for rule in ("conservative", "none", "slurm"):
        with pytest.raises(ParameterError, match="malleable_head must be minimum with the backfilling rule"):
            Options(malleable_head="requested", backfilling=rule)
    for wrong in ({"overhead": "hours"}, {"victims": "all"}):
        with pytest.raises(ParameterError):
            PreemptAtArrival(**wrong)
    with pytest.raises(ParameterError, match="shrink must be even or minimum"):
        ShrinkPreemptAtArrival(shrink="more")
    with pytest.raises(ParameterError, match="head must be minimum or requested"):
        Easy(head="none")  # type: ignore[arg-type]


@pytest.mark.system
@pytest.mark.parametrize(
    "policy",
    [
        *("PAA overhead=seconds", "SPAA shrink=minimum", "SPAA shrink=minimum overhead=seconds"),
        *("PAA victims=youngest", "PAA victims=oldest", "SPAA victims=lowest-priority"),
    ],
)
def test_strategies_keep_the_contract(policy: str) -> None:
    assert check_policy(policy, "arrival", scenarios=100).ok


@pytest.mark.system
@pytest.mark.parametrize("policy", ["easy head=requested", "easy head=requested depth=3"])
def test_rules_keep_the_contract(policy: str) -> None:
    report = check_policy(policy, "backfilling", scenarios=200)
    assert report.ok, str(report)


# --- Random tables ----------------------------------------------------------------------------------------------------

chosen_options = st.fixed_dictionaries(
    {
        "tenants": st.sampled_from(["any", "fits", "none"]),
        "backfill_length": st.sampled_from(["walltime", "runtime"]),
        "passes": st.sampled_from(["instant", "instant", "event"]),
        "warning": st.sampled_from([120.0, 0.0, 600.0]),
        "timeout": st.sampled_from([600.0, 0.0, 3600.0]),
        **{name: st.sampled_from(values) for name, values in VALUES.items()},
    }
)
chosen_words = st.lists(st.sampled_from(WORDS), unique_by=lambda word: word.partition("=")[0])


def with_words(mechanism: str, words: list[str]) -> str:
    own = [word for word in words if not word.startswith("shrink") or mechanism.endswith("SPAA")]
    return " ".join((mechanism, *own))


@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
@settings(max_examples=60)
@given(table=job_tables(), chosen=chosen_options, words=chosen_words)
def test_equals_the_independent_reading(mechanism: str, table: Table, chosen: dict[str, Any], words: list[str]) -> None:
    assert_equals_reference(table, mechanism if mechanism == "baseline" else with_words(mechanism, words), **chosen)


def random_case(seed: int) -> tuple[Table, str, dict[str, Any]]:
    draw = random.Random(seed)
    table = crowded_job_table(seed) if seed % 8 == 0 else random_job_table(seed, max_jobs=40)
    options = {name: draw.choice(values) for name, values in VALUES.items()}
    options |= {"tenants": draw.choice(("any", "fits", "none")), "passes": draw.choice(("instant", "event"))}
    options |= {"backfill_length": draw.choice(("walltime", "runtime")), "warning": draw.choice((120.0, 0.0, 600.0))}
    words = [word for word in WORDS[len(VICTIMS) :] if draw.random() < 0.5]
    words += draw.choice(((), *((order,) for order in VICTIMS)))
    return table, with_words(draw.choice(MECHANISMS), words), options


@pytest.mark.system
def test_equals_the_independent_reading_on_larger_tables() -> None:
    for seed in range(250):
        table, mechanism, options = random_case(seed)
        assert_equals_reference(table, mechanism, **options)


@pytest.mark.system
def test_random_tables_use_every_option() -> None:
    """Each value changes what happens in several of the tables, beside whatever else is chosen."""
    changed: Counter[str] = Counter()
    for seed in range(200):
        table, mechanism, options = random_case(seed)
        result = simulate(table.jobs, table.nodes, mechanism, **options)
        for name, (low, high) in VALUES.items():
            other = {**options, name: low if options[name] == high else high}
            changed[name] += simulate(table.jobs, table.nodes, mechanism, **other).records != result.records
        for word in WORDS:
            if word in mechanism:
                plain = mechanism.replace(f" {word}", "")
                changed[word] += simulate(table.jobs, table.nodes, plain, **options).records != result.records
    assert not {name: changed[name] for name in (*VALUES, *WORDS) if changed[name] < 3}


@pytest.mark.system
def test_stories_and_placements_know_held_nodes() -> None:
    """Each held node has a holder, no entry of the log is left untold, and losses agree."""
    held = 0
    for seed in range(80):
        table, mechanism, options = random_case(seed)
        result = simulate(
            table.jobs, table.nodes, mechanism, decisions=True, **{**options, "preempted_lenders": "hold"}
        )
        holders = [instant for instant in Timeline(result, result.decisions).instants if instant.held]
        assert all(instant.holders for instant in holders)
        stories = Stories(result)
        for record in result.records:
            facts = stories.story(record.job_id).facts
            assert not facts.others
            stops = [run.stop for run in facts.runs if run.stop is not None]
            assert sum(stop.lost + stop.lost_to_warning for stop in stops) == record.lost
            held += sum(run.cause.kind == "resumes" for run in facts.runs)
        times = [sample[0] for sample in result.samples]
        spans = [span for span in place_nodes(result) if span.kind == HELD]
        for time, _, count, *_ in result.samples[:-1]:
            nodes = sum(high - low for span in spans if span.start <= time < span.end for low, high in span.nodes)
            assert nodes == count, (seed, time, times[-1])
    assert held > 5
