"""Backfilling rules: against plain references, against each other, and by what they promise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.availability_profile import Profile
from holdfast.policies.backfilling import BACKFILLING, Conservative, Easy, Strict, backfilling
from holdfast.policies.mechanism import BASELINE
from holdfast.policies.port import Promise, Start, SystemView, Window
from holdfast.policies.reservation_depth import Outlook, plan_queue
from holdfast.policies.shadow_time import NEVER
from holdfast.simulator import simulate
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.policies.test_policies import Reserved, View, Waiting, starts
from tests.reference.backfilling import Replayed, replay_strict, replay_with_reservations
from tests.reference.hybrid import MECHANISMS
from tests.shared_data import trace_file
from tests.simulator.test_scenarios import NOTHING_TO_RELEASE
from tests.strategies.tables import Table, job_tables
from tests.support.jobs import malleable, on_demand, rigid

RIGID = (JobType.RIGID,)
FLEXIBLE = (JobType.RIGID, JobType.MALLEABLE)


@contextmanager
def rule(name: str, plugin: Callable[[SystemView], list[Start]]) -> Iterator[str]:
    """A backfilling rule that is known for a while."""
    BACKFILLING.add(name, plugin)
    try:
        yield name
    finally:
        BACKFILLING.forget(name)


def simulation_outcome(
    table: Table, mechanism: str = BASELINE, **options: Any
) -> list[tuple[int | None, int | None, int]]:
    """Start, end and preemptions of each job."""
    result = simulate(table.jobs, table.nodes, mechanism, events=False, engine="simpy", **options)
    return [(record.start, record.end, record.preemptions) for record in result.records]


def honest(jobs: Sequence[Job]) -> list[Job]:
    """The jobs with exact walltimes."""
    return [replace(job, walltime=job.runtime, trace_walltime=job.trace_runtime) for job in jobs]


def columns(table: Table) -> tuple[list[int], list[int], list[int], list[int], int]:
    """Submit, nodes, walltime, runtime in ticks, and the machine, as the baseline sees the table."""
    jobs = table.jobs
    runtime = [job.runtime if job.trace_runtime is None else job.trace_runtime for job in jobs]
    walltime = [job.walltime if job.trace_walltime is None else job.trace_walltime for job in jobs]
    submit = [job.submit or 0.0 for job in jobs]
    ticks = [[round(time * SECOND) for time in column] for column in (submit, walltime, runtime)]
    return ticks[0], [job.nodes for job in jobs], ticks[1], ticks[2], table.nodes


#: Tables on a grid of whole seconds, so that nothing is nearly at the same time.
tables = job_tables(types=RIGID, max_jobs=25, max_nodes=12).map(
    lambda table: Table([_on_grid(job) for job in table.jobs], table.nodes)
)


def _on_grid(job: Job) -> Job:
    times = {
        name: float(round(value))
        for name in ("submit", "runtime", "walltime", "trace_runtime", "trace_walltime")
        if (value := getattr(job, name)) is not None
    }
    return replace(job, **times, setup=0.0, checkpoint_interval=None, checkpoint_cost=0.0)


#: Most nodes of a machine whose malleable jobs divide their work without a rest.
_MACHINE = 18


def _divisible_table(table: Table) -> Table:
    """The table with exact walltimes, all a multiple of so many ticks that any number of nodes shares them evenly.

    Otherwise times that should meet differ by a tick. A job that starts a tick later may find more nodes than planned
    and end early, and an early end can break a promise.
    """
    even = math.lcm(*range(1, _MACHINE + 1)) / SECOND

    def job(job: Job) -> Job:
        times = {
            name: max(1, round(value / 12)) * even
            for name in ("runtime", "trace_runtime")
            if (value := getattr(job, name)) is not None
        }
        return replace(_on_grid(job), **times)

    return Table(honest([job(each) for each in table.jobs]), table.nodes)


class TestReferences:
    @settings(max_examples=150)
    @given(table=tables, depth=st.sampled_from([None, 1, 2, 3]))
    def test_reservations(self, table: Table, depth: int | None) -> None:
        name = "conservative" if depth is None else f"easy depth={depth}"
        expected = replay_with_reservations(*columns(table), depth)
        assert [start for start, _, _ in simulation_outcome(table, backfilling=name)] == expected.start

    @settings(max_examples=100)
    @given(table=tables)
    def test_strict_order(self, table: Table) -> None:
        submit, nodes, _, runtime, machine = columns(table)
        expected = replay_strict(submit, nodes, runtime, machine)
        assert [start for start, _, _ in simulation_outcome(table, backfilling="none")] == expected


class Witness:
    """A rule that remembers the first promise of each job."""

    def __init__(self, asked: Any) -> None:
        self.asked = asked
        self.first: dict[int, int] = {}

    def __call__(self, view: SystemView) -> list[Start]:
        answer: list[Start] = self.asked(view)
        promises: list[Promise] = self.asked.promises(view)
        assert not {start.job_id for start in answer} & {promise.job_id for promise in promises}
        for promise in promises:
            assert promise.at >= view.now
            self.first.setdefault(promise.job_id, promise.at)
        return answer


def promises_and_starts(table: Table, asked: Any, mechanism: str = BASELINE) -> list[tuple[int, int]]:
    """First promise and start of each job that was ever promised anything."""
    witness = Witness(asked)
    with rule("witness", witness):
        result = simulate(table.jobs, table.nodes, mechanism, events=False, backfilling="witness")
    return [
        (witness.first[record.job_id] + result.origin, record.start)
        for record in result.records
        if record.job_id in witness.first and record.start is not None
    ]


class TestPromises:
    @settings(max_examples=150)
    @given(table=tables, depth=st.integers(1, 4))
    def test_exact_walltimes_keep_every_first_promise(self, table: Table, depth: int) -> None:
        table = Table(honest(table.jobs), table.nodes)
        for asked in (Conservative(), Easy(depth=depth)):
            assert all(start == promise for promise, start in promises_and_starts(table, asked))
        # The same in the reference, where a job is promised something at its very submit.
        replayed: Replayed = replay_with_reservations(*columns(table))
        assert replayed.start == replayed.promise

    @settings(max_examples=100)
    @given(table=job_tables(types=FLEXIBLE, max_jobs=20, max_nodes=_MACHINE).map(lambda table: _divisible_table(table)))
    def test_malleable_jobs_too(self, table: Table) -> None:
        for promise, start in promises_and_starts(table, Conservative(), "N-PAA"):
            assert start == promise

    def test_a_generated_week(self) -> None:
        trace = generate(replace(ThetaYear(), jobs=720), seed=3)
        table = Table(honest(as_rigid(trace)), trace.nodes or 0)
        kept = promises_and_starts(table, Conservative())
        assert len(kept) > 100
        assert all(start == promise for promise, start in kept)

    @settings(max_examples=60)
    @given(table=tables, depth=st.integers(1, 4))
    def test_the_head_starts_by_its_promise_whatever_the_walltimes(self, table: Table, depth: int) -> None:
        """Only the first in the queue: no job before it can get its nodes earlier than planned."""
        heads: dict[int, int] = {}
        easy = Easy(depth=depth)

        def watch(view: SystemView) -> list[Start]:
            for promise in easy.promises(view)[:1]:
                assert promise.at <= heads.setdefault(promise.job_id, promise.at)
            return easy(view)

        with rule("watch", watch):
            result = simulate(table.jobs, table.nodes, events=False, backfilling="watch")
        for record in result.records:
            if record.job_id in heads:
                assert record.start is not None
                assert record.start - result.origin <= heads[record.job_id]

    def test_an_early_end_can_break_a_promise_of_conservative_backfilling(self) -> None:
        """Ten nodes. Job 1 (6) asks for 100 s and ends at 10; job 2 (4) ends at 40. Job 3 (8, 50 s) was to start at
        100, job 4 (4, 60 s) before it at 40. Job 3 then moves up to 40 and ends at 90, and only then job 4 starts.
        """
        jobs = [rigid(1, 0, 6, 10, 100), rigid(2, 0, 4, 40), rigid(3, 1, 8, 50), rigid(4, 2, 4, 60)]
        submit, nodes, walltime, runtime, machine = columns(Table(jobs, 10))
        replayed = replay_with_reservations(submit, nodes, walltime, runtime, machine)
        assert [at // SECOND for at in replayed.promise] == [0, 0, 100, 40]
        assert [at // SECOND for at in replayed.start] == [0, 0, 40, 90]
        assert [
            start for start, _, _ in simulation_outcome(Table(jobs, 10), backfilling="conservative")
        ] == replayed.start


def dense_view(draw: st.DrawFn) -> View:
    """A small view full of ties: times are within a few ticks of each other."""
    nodes = st.integers(1, 6)
    time = st.integers(1, 12)

    def draw_waiting_job(job_id: int) -> Waiting:
        size = draw(nodes)
        kind = draw(st.sampled_from([JobType.RIGID, JobType.RIGID, JobType.MALLEABLE]))
        least = draw(st.integers(1, size)) if kind is JobType.MALLEABLE else None
        walltime = draw(time)
        return Waiting(job_id, size, walltime, kind, least=least, runtime=draw(st.integers(1, walltime)))

    queue = [draw_waiting_job(number) for number in range(draw(st.integers(1, 6)))]
    urgent = [
        Waiting(50 + number, draw(nodes), draw(time), JobType.ON_DEMAND) for number in range(draw(st.integers(0, 1)))
    ]
    reserved = []
    for number in range(draw(st.integers(0, 2))):
        requested = draw(nodes)
        idle = draw(st.integers(0, requested))
        lent = draw(st.integers(0, requested - idle))
        reserved.append(Reserved(70 + number, requested, idle, lent, estimated_arrival=draw(time), walltime=draw(time)))
    return View(
        draw(st.integers(0, 8)),
        [*urgent, *queue],
        reservations=reserved,
        on_demand_waits=bool(urgent),
        releases=sorted((draw(time), 90 + number, draw(nodes)) for number in range(draw(st.integers(0, 5)))),
    )


views = st.composite(dense_view)()


class TestOneProfileForAll:
    @settings(max_examples=500)
    @given(view=views, length=st.sampled_from(["walltime", "runtime"]))
    def test_depth_1_is_easy(self, view: Any, length: Any) -> None:
        promises: list[Promise] = []
        planned = plan_queue(view, Outlook(1, by_runtime=length == "runtime"), promises)
        assert planned == Easy(length)(view)
        assert planned == plan_queue(view, Outlook(1, by_runtime=length == "runtime"))
        assert promises == Easy(length).promises(view)

    @pytest.mark.parametrize("mechanism", [BASELINE, *MECHANISMS])
    @settings(max_examples=25)
    @given(table=job_tables(), length=st.sampled_from(["walltime", "runtime"]))
    def test_depth_1_is_easy_in_whole_simulations(self, mechanism: str, table: Table, length: str) -> None:
        outlook = Outlook(1, by_runtime=length == "runtime")
        with rule("planned", lambda view: plan_queue(view, outlook)):
            planned = simulation_outcome(table, mechanism, backfilling="planned")
        assert planned == simulation_outcome(table, mechanism, backfill_length=length)

    @pytest.mark.system
    def test_depth_1_is_easy_on_a_real_trace(self) -> None:
        trace = read_trace(trace_file("KTH-SP2-1996-2.1-cln.swf.gz")).on_machine(100)
        table = Table(as_rigid(replace(trace, jobs=trace.jobs[:6000])), 100)
        with rule("planned", lambda view: plan_queue(view, Outlook(1))):
            assert simulation_outcome(table, backfilling="planned") == simulation_outcome(table)

    @settings(max_examples=300)
    @given(view=views)
    def test_great_depth_is_conservative(self, view: Any) -> None:
        view.queue = [job for job in view.queue if job.type is not JobType.MALLEABLE]
        assert Easy(depth=99)(view) == Conservative()(view)
        assert Easy(depth=99).promises(view) == Conservative().promises(view)

    @settings(max_examples=60)
    @given(table=job_tables(types=(JobType.RIGID, JobType.ON_DEMAND)), mechanism=st.sampled_from(MECHANISMS))
    def test_great_depth_is_conservative_in_whole_simulations(self, table: Table, mechanism: str) -> None:
        assert simulation_outcome(table, mechanism, backfilling="easy depth=99") == simulation_outcome(
            table, mechanism, backfilling="conservative"
        )

    @settings(max_examples=300)
    @given(view=views, depth=st.integers(1, 7))
    def test_what_is_not_planned_for_want_of_candidates_matters_to_none(self, view: Any, depth: int) -> None:
        for asked in (Easy(depth=depth), Easy("runtime", depth), Conservative()):
            full: list[Promise] = []
            outlook = Outlook(None, largest=True) if isinstance(asked, Conservative) else asked._outlook()
            assert plan_queue(view, outlook, full) == plan_queue(view, outlook)
            assert len(full) <= (len(view.queue) if isinstance(asked, Conservative) else depth)


class TestMalleable:
    def test_a_reservation_of_the_largest_size_that_starts_first(self) -> None:
        """Eight nodes from 20 on: EASY keeps five for the head, conservative eight, so that job 2 has to wait."""
        queue = [Waiting(1, 9, 10, least=5, type=JobType.MALLEABLE), Waiting(2, 2, 40)]
        view: Any = View(2, queue, releases=[(20, 9, 6)])
        assert starts(Easy()(view)) == [(2, 2)]
        assert starts(Conservative()(view)) == []
        assert Conservative().promises(view) == [Promise(1, 20, 8), Promise(2, 31, 2)]

    def test_a_larger_size_may_fit_into_an_earlier_gap(self) -> None:
        """Job 2 needs 40 ticks at 2 nodes and 10 at 8; eight are free from 20 to 31."""
        queue = [Waiting(1, 16, 10), Waiting(2, 8, 10, least=2, type=JobType.MALLEABLE)]
        view: Any = View(1, queue, releases=[(20, 8, 7), (31, 9, 8)])
        assert Conservative().promises(view) == [Promise(1, 31, 16), Promise(2, 20, 8)]
        assert Easy(depth=2).promises(view) == [Promise(1, 31, 16), Promise(2, 41, 2)]


class TestWindows:
    """Windows are in the profile of every rule."""

    def test_whoever_would_run_into_a_window_waits(self) -> None:
        queue = [Waiting(1, 4, 30), Waiting(2, 4, 20), Waiting(3, 2, 50)]
        view: Any = View(10, queue, windows=[Window(20, 40, 8)])
        # Job 1 would need 4 of the 2 nodes that stay: it waits until 40. Job 2 ends as the window begins, job 3 fits.
        for asked in (Easy(), Easy(depth=3), Conservative()):
            assert starts(asked(view)) == [(2, 4), (3, 2)]
            assert asked.promises(view) == [Promise(1, 40, 4)]
        assert starts(Strict()(view)) == []
        assert Strict().promises(view) == [Promise(1, 40, 4)]

    def test_one_tick_more_is_the_same_time(self) -> None:
        for asked in (Easy(), Conservative(), Strict()):
            assert starts(asked(View(4, [Waiting(1, 4, 21)], windows=[Window(20, 40, 8)]))) == [(1, 4)]  # type: ignore[arg-type]
            assert starts(asked(View(4, [Waiting(1, 4, 22)], windows=[Window(20, 40, 8)]))) == []  # type: ignore[arg-type]

    def test_runtimes_count_for_reservations_but_not_for_windows(self) -> None:
        queue = [Waiting(1, 8), Waiting(2, 2, 50, runtime=10), Waiting(3, 1, 50, runtime=30)]
        releases = [(20, 9, 4)]
        view: Any = View(5, queue, releases=releases, windows=[Window(40, 90, 7)])
        # Job 1 gets 20 to 30. Job 2 would run until 50, by its walltime, on two of the two nodes that stay.
        assert starts(Easy("runtime")(view)) == [(2, 2)]
        view.windows = [Window(40, 90, 8)]
        assert starts(Easy("runtime")(view)) == [(3, 1)]

    @settings(max_examples=300)
    @given(view=views, data=st.data())
    def test_nobody_starts_who_takes_a_windows_nodes(self, view: Any, data: st.DataObject) -> None:
        begin = data.draw(st.integers(1, 15))
        window = Window(begin, begin + data.draw(st.integers(1, 10)), data.draw(st.integers(1, 9)))
        view.windows = [window]
        view.reservations = []
        view.nodes = view.free + sum(nodes for _, _, nodes in view.releases)
        jobs = {job.job_id: job for job in view.queue}
        for asked in (Strict(), Easy(), Easy("runtime"), Easy(depth=2), Conservative()):
            chosen = asked(view)
            assert sum(start.nodes for start in chosen) <= view.free
            ends = [(jobs[start.job_id].limit(start.nodes), start.nodes) for start in chosen]
            for at in range(window.start + 1, window.end):
                new = sum(nodes for end, nodes in ends if end > at)
                running = sum(nodes for end, _, nodes in view.releases if end > at)
                # Whoever started leaves the window its nodes, where those that run already do.
                assert not new or new + running + window.nodes <= view.nodes or at <= begin


class TestProfile:
    @given(data=st.data())
    def test_against_a_list_of_all_instants(self, data: st.DataObject) -> None:
        """The same steps on one number for each tick, nodes taken as they come."""
        end = 60
        free = data.draw(st.integers(0, 9))
        releases = sorted(data.draw(st.lists(st.tuples(st.integers(0, 30), st.just(0), st.integers(1, 5)), max_size=5)))
        profile = Profile(0, free, releases)
        plain = [free + sum(nodes for at, _, nodes in releases if at <= tick) for tick in range(end)]
        for _ in range(data.draw(st.integers(0, 6))):
            begin = data.draw(st.integers(0, 30))
            length = data.draw(st.integers(0, 12))
            nodes = data.draw(st.integers(1, 6))
            found = next((at for at in range(end) if all(n >= nodes for n in plain[at : at + length])), None)
            assert profile.earliest(nodes, max(1, length)) == _first(plain, nodes, max(1, length))
            assert found is None or found <= _first(plain, nodes, max(1, length))
            profile.take(begin, begin + length, nodes)
            plain[begin : begin + length] = [level - nodes for level in plain[begin : begin + length]]
        assert [
            profile.levels[max(i for i, at in enumerate(profile.times) if at <= tick)] for tick in range(end)
        ] == plain


def _first(plain: list[int], nodes: int, length: int) -> int:
    """Beyond the list nothing changes any more."""
    longer = plain + [plain[-1]] * length
    return next((at for at in range(len(plain)) if min(longer[at : at + length]) >= nodes), NEVER)


class TestNames:
    def test_parameters_by_name(self) -> None:
        assert backfilling("easy depth=4", "runtime") == Easy("runtime", 4)
        assert backfilling("easy") == Easy()
        assert backfilling("conservative") == Conservative()

    @pytest.mark.parametrize("name", ["easy depth=0", "easy depth=1.5", "easy depth=deep", "easy deep=2"])
    def test_what_is_no_depth_is_refused(self, name: str) -> None:
        with pytest.raises(Exception, match=r"depth must be a whole number of jobs|unknown parameter"):
            backfilling(name)

    @pytest.mark.parametrize("name", ["conservative", "none"])
    def test_no_runtimes_without_candidates(self, name: str) -> None:
        with pytest.raises(Exception, match="backfill_length must be walltime with the backfilling rule"):
            backfilling(name, "runtime")


def test_rules_differ_where_they_should() -> None:
    """Worked by hand. Ten nodes, 8 of them taken until 100. Job 2 (8) waits for them, job 3 (9) for job 2; job 4 (2,
    150 s) delays job 3, not job 2; job 5 (2, 90 s) delays nobody."""
    jobs = [rigid(1, 0, 8, 100), rigid(2, 1, 8, 40), rigid(3, 2, 9, 40), rigid(4, 3, 2, 150), rigid(5, 4, 2, 90)]
    first = {
        name: [start and start // SECOND for start, _, _ in simulation_outcome(Table(jobs, 10), backfilling=name)]
        for name in ("none", "easy", "easy depth=2", "conservative")
    }
    assert first == {
        "none": [0, 100, 140, 180, 180],
        "easy": [0, 100, 153, 3, 193],
        "easy depth=2": [0, 100, 140, 180, 4],
        "conservative": [0, 100, 140, 180, 4],
    }


def test_an_on_demand_job_that_waits_stands_first_under_every_rule() -> None:
    jobs = [rigid(1, 0, 10, 100), rigid(2, 1, 10, 10), on_demand(3, 2, 4, 10), malleable(4, 3, 8, 10, min_nodes=2)]
    for name in ("none", "easy", "easy depth=2", "conservative"):
        result = simulate(jobs, 10, "N-PAA", backfilling=name)
        assert result.summary()["instant_start_ratio"] == 1.0


@pytest.mark.parametrize("name", ["easy depth=2", "conservative"])
def test_open_reservations_release_what_they_have_by_then(name: str) -> None:
    """Job 4's reservation gets nothing before 200: it must not release six nodes then, on which job 6 could go on."""
    times = simulation_outcome(Table(NOTHING_TO_RELEASE, 10), "CUA-PAA", backfilling=name)
    assert times[4:] == [(2000 * SECOND, 2100 * SECOND, 0), (2100 * SECOND, 4600 * SECOND, 0)]
