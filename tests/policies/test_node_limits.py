"""Jobs that may start before a window: against a plain computation, and by hand."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.node_limits import largest_admitted_size, spare
from holdfast.policies.port import Window
from holdfast.simulator import Result, simulate
from holdfast.workloads.outages.outage import Outage, OutageKind, first_outage_fault
from tests.policies.test_policies import Reserved, Running, View, Waiting
from tests.reference.windows import Batch, Closed, replay
from tests.support.jobs import malleable, rigid

MAINTENANCE = OutageKind.MAINTENANCE


def simulate_windows(jobs: list[Batch], machine: int, windows: list[Closed], **options: Any) -> Result:
    table = [rigid(job.job_id, job.submit, job.nodes, job.runtime, job.walltime) for job in jobs]
    outages = [Outage(MAINTENANCE, window.start, window.end, window.nodes) for window in windows]
    return simulate(table, machine, outages=outages, **options)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Batch], int, list[Closed]]:
    machine = draw(st.integers(1, 12))
    jobs = []
    for job_id in range(1, draw(st.integers(1, 10)) + 1):
        runtime = draw(st.integers(1, 30))
        slack = draw(st.integers(0, 30)) * draw(st.integers(0, 1))
        jobs.append(Batch(job_id, draw(st.integers(0, 40)), draw(st.integers(1, machine)), runtime + slack, runtime))
    windows: list[Closed] = []
    for _ in range(draw(st.integers(1, 4))):
        start, length = draw(st.integers(0, 80)), draw(st.integers(1, 40))
        windows.append(Closed(start, start + length, draw(st.sampled_from([machine, draw(st.integers(1, machine))]))))
        outages = [Outage(MAINTENANCE, window.start, window.end, window.nodes) for window in windows]
        if first_outage_fault(outages, machine) is not None:
            windows.pop()
    return jobs, machine, windows


@settings(max_examples=300)
@given(case=cases())
def test_easy_with_windows_is_a_plain_reading_of_it(case: tuple[list[Batch], int, list[Closed]]) -> None:
    jobs, machine, windows = case
    result = simulate_windows(jobs, machine, windows)
    first = min(job.submit for job in jobs)
    # What was over before the first submit has no part, and the simulated clock begins there.
    assert {record.job_id: (record.start or 0) / 1e6 for record in result.records} == replay(jobs, machine, windows)
    assert not any(record.preemptions for record in result.records), "what is known in advance preempts nobody"
    last = max(record.end or 0 for record in result.records) / 1e6
    away = sum(window.nodes * max(0, min(window.end, last) - max(window.start, first)) for window in windows)
    assert result.accounting.down == round(away * 1e6)


@settings(max_examples=200)
@given(case=cases(), far=st.integers(0, 1))
def test_a_window_that_nobody_reaches_changes_nothing(case: tuple[list[Batch], int, list[Closed]], far: int) -> None:
    jobs, machine, _ = case
    late = 10_000
    assert (
        simulate_windows(jobs, machine, [Closed(late, late + 1, machine)]).records
        == simulate_windows(jobs, machine, []).records
    )


def test_a_partial_window_drains_only_its_part() -> None:
    """Ten nodes, six of them away from 100 to 200: four may go on."""
    jobs = [Batch(1, 0, 4, 150, 150), Batch(2, 0, 1, 150, 150), Batch(3, 0, 6, 100, 100), Batch(4, 0, 5, 200, 10)]
    found = {
        record.job_id: (record.start or 0) // 10**6
        for record in simulate_windows(jobs, 10, [Closed(100, 200, 6)]).records
    }
    # Job 2 would be the fifth node in the window, until job 1 ends; job 3 ends when it begins. Job 4 never fits beside.
    assert found == {1: 0, 2: 150, 3: 0, 4: 200}


def test_at_every_instant_of_overlapping_windows_there_are_enough_nodes() -> None:
    """Two windows of four and three of ten nodes, which overlap from 60 to 80: then only three are left."""
    windows = [Closed(50, 80, 4), Closed(60, 100, 3)]
    for nodes, walltime, start in ((6, 60, 0), (6, 61, 80), (3, 500, 0), (4, 500, 80), (7, 61, 80), (8, 500, 100)):
        result = simulate_windows([Batch(1, 0, nodes, walltime, walltime)], 10, windows)
        assert result.records[0].start == start * 10**6, (nodes, walltime)


def test_the_first_job_keeps_its_time_after_the_window() -> None:
    """Job 1 needs the whole machine for longer than until the window: it is promised its end, and others go first."""
    jobs = [Batch(1, 0, 4, 100, 100), Batch(2, 0, 4, 50, 50), Batch(3, 0, 1, 51, 51), Batch(4, 1, 1, 49, 49)]
    found = {
        record.job_id: (record.start or 0) // 10**6 for record in simulate_windows(jobs, 4, [Closed(50, 60, 4)]).records
    }
    assert found == {1: 60, 2: 0, 3: 160, 4: 160}


def test_a_malleable_job_takes_the_largest_size_that_the_window_leaves() -> None:
    """Of eight nodes five go at 100; on eight, 160 s of walltime reach into the window, and on three even more."""
    job = malleable(1, 0, 8, 80, 160, min_nodes=2)
    outage = Outage(MAINTENANCE, 100, 200, 5)
    result = simulate([job], 8, "N-PAA", outages=[outage])
    assert [(entry.time, entry.after) for entry in result.entries if entry.event == "start"] == [(0, 3)]
    # 80 s on eight nodes take 213.3 s on three.
    assert result.records[0].end == 213_333_333


def test_runtimes_are_nothing_that_a_window_knows() -> None:
    """``backfill_length = runtime`` is about the first job; a window sees walltimes."""
    jobs = [Batch(1, 0, 3, 40, 40), Batch(2, 1, 4, 30, 30), Batch(3, 2, 1, 90, 10)]
    records = simulate_windows(jobs, 4, [Closed(80, 90, 4)], backfill_length="runtime").records
    assert [(record.start or 0) // 10**6 for record in records] == [0, 40, 90]
    records = simulate_windows(jobs, 4, [Closed(100, 101, 4)], backfill_length="runtime").records
    assert [(record.start or 0) // 10**6 for record in records] == [0, 40, 2]


class TestSpare:
    view = View(4, releases=[(10, 1, 2), (50, 2, 4)], windows=[Window(20, 30, 5), Window(25, 40, 2)], nodes=10)

    def test_nodes_beside_what_stays_and_what_goes(self) -> None:
        assert spare(self.view, 20) == 10
        assert spare(self.view, 25) == 10 - 4 - 5
        assert spare(self.view, 35) == 10 - 4 - 7
        assert spare(self.view, 35, [(19, 3), (27, 1)]) == 10 - 4 - 7 - 1

    def test_the_ends_of_windows_and_jobs(self) -> None:
        def spare_nodes(until: int, **own: Any) -> int:
            return spare(View(10, nodes=10, **own), until)

        assert spare_nodes(99) == 10
        # A window within a microsecond of the time is later, and a job that ends within one of its start is gone.
        one = [Window(20, 30, 4)]
        assert [spare_nodes(until, windows=one) for until in (21, 22)] == [10, 6]
        assert [spare_nodes(40, windows=one, releases=[(end, 1, 3)]) for end in (21, 22)] == [6, 3]
        started = View(10, windows=one, nodes=10)
        assert [spare(started, 40, [(end, 3)]) for end in (21, 22)] == [6, 3]
        # One that has begun counts from now on; those that end when another starts need no nodes with it.
        assert spare_nodes(40, windows=[Window(-9, 30, 4)], releases=[(1, 1, 2), (2, 2, 1)]) == 5
        assert spare_nodes(40, windows=[Window(10, 20, 4), Window(20, 30, 3)]) == 6
        assert spare_nodes(40, windows=[Window(10, 20, 2), Window(20, 30, 3)], releases=[(15, 1, 4)]) == 4

    def test_borrowed_nodes_of_reservations_stay_with_their_jobs(self) -> None:
        window = [Window(21, 30, 4)]
        over, going, *staying = (Running(7, 3, expected_end=end, borrowed=3, lender=1) for end in (15, 22, 23, 50))
        for runs, lenders, expected in (
            ([over, going], [1], 6),
            ([over, *staying[:1]], [1], 3),
            (staying, [1], 0),
            (staying, [2, 1], 0),
            (staying, [2], 6),
            (staying, [], 6),
        ):
            reservations = [Reserved(job_id, 4, 0) for job_id in lenders]
            assert spare(View(0, running=runs, reservations=reservations, windows=window, nodes=10), 40) == expected

    def test_admitted(self) -> None:
        assert largest_admitted_size(self.view, Waiting(1, 3, 20), 3) == 3
        assert largest_admitted_size(self.view, Waiting(1, 1, 24), 1) == 1
        assert largest_admitted_size(self.view, Waiting(1, 2, 24), 2) == 0
        assert largest_admitted_size(self.view, Waiting(1, 1, 60), 1) == 0
        # Eight nodes until 25 are too many; on the five that are left it runs until 40.
        one = View(10, windows=[Window(20, 30, 5)], nodes=10)
        sizes = [largest_admitted_size(one, Waiting(1, 8, 25, least=least), 8) for least in (2, 5, 6)]
        assert sizes == [5, 5, 0]
