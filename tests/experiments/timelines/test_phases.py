"""What runs did when: worked by hand, and summed up to the accounting of the simulator under everything there is."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.experiments import cli
from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.tables import read_csv
from holdfast.experiments.timelines.phases import phases, use_of_time
from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import Job
from tests.reference.hybrid import MECHANISMS
from tests.strategies.lives import lively_mixes
from tests.strategies.mixes import mixes
from tests.strategies.outages import outages_for
from tests.support.jobs import malleable, on_demand, rigid, stochastic

every_mechanism = pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
operated = st.fixed_dictionaries(
    {
        "tenants": st.sampled_from(["any", "any", "fits", "none"]),
        "passes": st.sampled_from(["instant", "instant", "event"]),
        "expansion": st.sampled_from(["none", "none", "even"]),
        "checkpoint_variation": st.sampled_from([0.0, 0.3]),
        "checkpoint_mode": st.sampled_from(["absorbed", "strict"]),
    }
)


def job_phases(jobs: list[Job], nodes: int, mechanism: str, job_id: int) -> list[tuple[float, float, int, str]]:
    """The phases of a job: from, to [s], nodes and use."""
    recording = simulate(jobs, nodes, mechanism)
    return [
        (phase.start / SECOND, phase.end / SECOND, phase.nodes, phase.use)
        for phase in phases(recording)
        if phase.job_id == job_id
    ]


def test_a_rigid_job_that_is_left_alone() -> None:
    # 90 s after the setup, a dump after every 20 s: three dumps, and what is left of the compute at the end.
    job = rigid(1, 0, 2, 100, setup=10, interval=20, cost=5)
    assert job_phases([job], 2, "N-PAA", 1) == [
        (0, 10, 2, "setup"), (10, 30, 2, "compute"), (30, 35, 2, "checkpoint"), (35, 55, 2, "compute"),
        (55, 60, 2, "checkpoint"), (60, 80, 2, "compute"), (80, 85, 2, "checkpoint"), (85, 100, 2, "compute"),
    ]  # fmt: skip
    # The baseline knows no setup and no checkpoints.
    assert job_phases([job], 2, "baseline", 1) == [(0, 100, 2, "compute")]


def test_a_rigid_job_that_is_preempted_loses_its_setup_and_what_no_checkpoint_holds() -> None:
    jobs = [rigid(1, 0, 2, 100, setup=10, interval=20, cost=5), on_demand(2, 70, 2, 30)]
    assert job_phases(jobs, 2, "N-PAA", 1) == [
        (0, 10, 2, "lost"), (10, 30, 2, "compute"), (30, 35, 2, "checkpoint"), (35, 55, 2, "compute"),
        (55, 60, 2, "checkpoint"), (60, 70, 2, "lost"),
        # 75 s of compute were asked for, 40 are done; of three dumps two.
        (100, 110, 2, "setup"), (110, 130, 2, "compute"), (130, 135, 2, "checkpoint"), (135, 150, 2, "compute"),
    ]  # fmt: skip
    assert job_phases(jobs, 2, "N-PAA", 2) == [(70, 100, 2, "compute")]


def test_a_malleable_job_keeps_its_work_and_loses_setup_and_warning() -> None:
    jobs = [malleable(1, 0, 4, 100, min_nodes=4, setup=20), on_demand(2, 50, 4, 10)]
    assert job_phases(jobs, 4, "N-PAA", 1) == [
        (0, 20, 4, "lost"), (20, 50, 4, "compute"), (50, 170, 4, "warning"), (180, 200, 4, "setup"),
        (200, 250, 4, "compute"),
    ]  # fmt: skip


def test_a_malleable_job_that_shrinks_computes_on_fewer_nodes() -> None:
    jobs = [malleable(1, 0, 4, 100, min_nodes=1, setup=20), on_demand(2, 60, 2, 10)]
    assert job_phases(jobs, 4, "N-SPAA", 1) == [
        (0, 20, 4, "setup"), (20, 60, 4, "compute"), (60, 70, 2, "compute"), (70, 105, 4, "compute")
    ]  # fmt: skip


def test_a_reservation_that_is_preempted_as_it_starts_and_starts_again() -> None:
    """At 50 job 6 takes the node on which job 2 has just started, and job 7 one of the two of job 1."""
    jobs = [
        rigid(1, 0, 2, 100),
        stochastic(2, 50, 1, 40, "optimal"),
        on_demand(6, 50, 1, 10),
        on_demand(7, 50, 1, 10),
    ]
    result = simulate(jobs, 3, "N-PAA", passes="event")
    events = [(entry.time // SECOND, entry.event) for entry in result.entries if entry.job_id == 2]
    assert events == [(50, "submit"), (50, "start"), (50, "preempt"), (50, "requeue"), (50, "start"), (90, "complete")]
    agrees(result, jobs)


def test_a_job_that_is_withdrawn_has_done_what_it_has_done() -> None:
    job = rigid(1, 0, 2, 100, setup=10, interval=20, cost=5, cancelled_at=33)
    assert job_phases([job], 2, "N-PAA", 1) == [(0, 10, 2, "setup"), (10, 30, 2, "compute"), (30, 33, 2, "checkpoint")]
    jobs = [malleable(1, 0, 4, 100, min_nodes=4, setup=20, cancelled_at=90), on_demand(2, 50, 4, 10)]
    assert job_phases(jobs, 4, "N-PAA", 1) == [(0, 20, 4, "lost"), (20, 50, 4, "compute"), (50, 90, 4, "warning")]


def test_a_job_that_runs_already_counts_from_the_begin_on() -> None:
    jobs = [rigid(1, 0, 2, 100, setup=10, interval=20, cost=5, running_since=0), rigid(2, 0, 2, 200, running_since=32)]
    result = simulate(jobs, 4, "N-PAA")
    use = use_of_time(result)
    assert use.node_ticks() == result.accounting._asdict()
    # The replay begins at 32 s, in the first dump of job 1, which has three seconds left.
    assert [round(time / SECOND) for time in use.times.tolist()] == [0, 3, 23, 28, 48, 53, 68, 200]
    assert use.nodes["checkpoint"].tolist() == [2, 0, 2, 0, 2, 0, 0]


def agrees(result: Result, jobs: list[Job]) -> None:
    use = use_of_time(result)
    assert use.node_ticks() == result.accounting._asdict()
    levels = np.array(list(use.nodes.values()))
    assert (levels >= 0).all()
    assert (levels.sum(axis=0) == result.nodes).all()
    # At every moment as many nodes are busy, and held, as the simulator has noted.
    first = (result.opened or 0) - result.origin
    busy = sum(use.nodes[name] for name in ("compute", "setup", "checkpoint", "lost", "warning"))
    for before, after in pairwise(result.samples):
        if before[0] >= first and after[0] > before[0]:
            place = np.searchsorted(use.times, before[0] - first, side="right") - 1
            assert (busy[place], use.nodes["held"][place]) == before[1:3]  # type: ignore[index]  # an array


@every_mechanism
@settings(max_examples=25)
@given(mix=mixes(), chosen=operated)
def test_the_uses_sum_up_to_the_accounting(mechanism: str, mix: Any, chosen: dict[str, Any]) -> None:
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, **chosen)
    assume(any(record.end is not None for record in result.records))
    agrees(result, mix.jobs)


@every_mechanism
@settings(max_examples=25)
@given(data=st.data(), mix=mixes())
def test_so_they_do_with_outages(mechanism: str, data: st.DataObject, mix: Any) -> None:
    outages = data.draw(outages_for(mix.jobs, mix.nodes))
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, outages=outages)
    assume(any(record.end is not None for record in result.records))
    agrees(result, mix.jobs)


@every_mechanism
@settings(max_examples=20)
@given(mix=lively_mixes())
def test_so_they_do_with_withdrawals_dependencies_and_a_starting_state(mechanism: str, mix: Any) -> None:
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans)
    assume(any(record.end is not None for record in result.records))
    agrees(result, mix.jobs)


@pytest.mark.system
def test_a_directory_gives_the_same_as_its_accounting(tmp_path: Path) -> None:
    year = tmp_path / "year.swf.gz"
    assert cli.main(["generate", "-o", str(year), "--jobs", "300"]) == 0
    words = ["run", str(year), "-o", str(tmp_path), "--events", "--mechanism", "all", "--stochastic-share", "0.2"]
    assert cli.main(words) == 0
    rows = read_csv(tmp_path / "accounting.csv")
    assert len(rows) == 7
    for row in rows:
        use = use_of_time(read_recording(tmp_path, row["mechanism"]))
        for name, ticks in use.node_ticks().items():
            assert ticks / (3600 * SECOND) == pytest.approx(row.get(f"{name}_node_hours", 0), rel=1e-12, abs=1e-9)


def test_what_has_no_log_is_refused() -> None:
    jobs = [rigid(1, 0, 2, 100)]
    with pytest.raises(InputError, match="no event log"):
        use_of_time(simulate(jobs, 2, events=False))


def test_a_log_with_more_runs_than_reservations_is_refused() -> None:
    result = simulate([stochastic(1, 0, 2, 100, "optimal")], 4)
    course = result.stochastic[0]
    for courses in ([], [course._replace(reservations=())]):
        with pytest.raises(InputError, match="run of job 1 that the table of reservations lacks"):
            use_of_time(replace(result, stochastic=courses))
