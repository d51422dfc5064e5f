"""Plans of many jobs, made by the loop: at each pass of a simulation, the starts and promises that lists give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_int64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies import array_queue_pass
from holdfast.policies.array_queue_pass import ManyJobs
from holdfast.policies.backfilling import BACKFILLING, Conservative, Easy
from holdfast.policies.kernels import compiled_or_plain
from holdfast.policies.list_queue import as_queue
from holdfast.policies.mechanism import BASELINE, MECHANISMS
from holdfast.policies.port import Promise, Start, SystemView
from holdfast.policies.reservation_depth import Outlook, plan_queue
from holdfast.simulator import simulate
from holdfast.workloads.ground.compilation import letters
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import Job, JobType
from tests.policies.test_backfilling import honest
from tests.reference.backfilling import replay_with_reservations
from tests.strategies.lives import lively_mixes, random_lively_mix
from tests.strategies.mixes import Mix
from tests.strategies.outages import outages_for, random_outages


class Checked:
    """A plan of the loop beside one of lists."""

    long_from = 1

    def __init__(self, outlook: Outlook, asking: int, queues: Counter[str]) -> None:
        self.outlook = outlook
        self.loop = ManyJobs(outlook)
        self.asking = asking
        self.queues = queues
        self.passes = 0

    def __call__(self, view: SystemView) -> list[Start]:
        self.passes += 1
        if self.asking and self.passes % self.asking == 0:
            self.compare_promises(view)
        expected = plan_queue(view, self.outlook)
        found = self.loop(view)
        # Causes, too: whether a job has passed another one.
        assert [(start, start.cause) for start in found] == [(start, start.cause) for start in expected]
        self.queues["short" if as_queue(view.queue).numbers() is None else "long"] += 1
        return found

    def compare_promises(self, view: SystemView) -> None:
        expected: list[Promise] = []
        plan_queue(view, self.outlook, expected)
        assert self.loop.promises(view) == expected


def plain_loop(loop: Callable[..., int], steps: int) -> Callable[..., int]:
    """The plain source of a loop; arrays that are given by their addresses have no end."""

    def array(value: Any, letter: str) -> Any:
        return (c_int64 * (1 << 40)).from_address(value) if letter == "a" else value

    def run(*given: Any) -> int:
        return loop(*(type(group)(*map(array, group, letters((type(group),)))) for group in given))

    return run


@contextmanager
def check_rule(
    depth: int | None = None, asking: int = 0, *, compiled: bool = False, queues: Counter[str] | None = None
) -> Iterator[str]:
    """A rule that checks itself, on the plain loops or compiled ones."""

    class Rule:
        def __call__(self, view: SystemView) -> list[Start]:
            raise AssertionError("a simulation has a rule of its own")

        def begin(self) -> Checked:
            return Checked(Outlook(depth, largest=depth is None), asking, Counter() if queues is None else queues)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_or_plain, "LOAD_FROM", 0)
        if not compiled:
            patch.setattr(array_queue_pass, "compiled_loop", plain_loop)
        BACKFILLING.add("checked", Rule())
        try:
            yield "checked"
        finally:
            BACKFILLING.forget("checked")


def ticks(draw: Any, count: int, machine: int) -> list[Job]:
    """Jobs whose times are a few ticks, so that what is near counts as equal everywhere."""
    jobs = []
    for number in range(count):
        walltime = draw(1, 9)
        runtime = draw(1, walltime) if draw(0, 2) else walltime
        nodes = draw(1, machine)
        jobs.append(
            Job(number + 1, JobType.RIGID, draw(0, 12) / SECOND, nodes, runtime / SECOND, walltime / SECOND)
        )  # fmt: skip
    return jobs


@st.composite
def dense(draw: st.DrawFn) -> Mix:
    machine = draw(st.integers(2, 7))
    return Mix(ticks(lambda low, high: draw(st.integers(low, high)), draw(st.integers(1, 16)), machine), machine, {})


ORDERS = ("fcfs", "fcfs", "fcfs", "sjf", "wfp3", "fairshare")


@settings(max_examples=300)
@given(
    data=st.data(),
    mix=st.one_of(dense(), lively_mixes(), lively_mixes(types=(JobType.RIGID,))),
    mechanism=st.sampled_from([BASELINE, BASELINE, *(mechanism.name for mechanism in MECHANISMS)]),
    order=st.sampled_from(ORDERS),
    depth=st.sampled_from([None, None, None, 2, 4]),
    asking=st.integers(0, 2),
    passes=st.sampled_from(["instant", "instant", "event"]),
    exact=st.booleans(),
)
def test_at_each_pass_of_a_simulation(
    data: st.DataObject,
    mix: Mix,
    mechanism: str,
    order: str,
    depth: int | None,
    asking: int,
    passes: str,
    exact: bool,
) -> None:
    jobs = honest(mix.jobs) if exact else mix.jobs
    outages = data.draw(outages_for(jobs, mix.nodes)) if data.draw(st.integers(0, 3)) == 0 else []
    with check_rule(depth, asking) as rule:
        simulate(
            jobs, mix.nodes, mechanism, events=False, plans=mix.plans, outages=outages, order=order, backfilling=rule,
            passes=passes,
        )  # fmt: skip


def crowd(seed: int, count: int, machine: int) -> tuple[list[Job], int]:
    """An overloaded machine: some hundred jobs wait, submits and walltimes on a grid, a third of the runtimes exact."""
    rng = np.random.default_rng([seed, 7])
    walltime = rng.integers(1, 20, count) * 60.0
    runtime = np.where(rng.random(count) < 0.3, walltime, np.ceil(walltime * rng.random(count)))
    nodes = np.minimum(machine, np.ceil(machine ** rng.random(count))).astype(int)
    submit = np.sort(rng.integers(0, int((nodes * runtime).sum() / machine / 1.5) + 1, count)).astype(float)
    return [
        Job(row + 1, JobType.RIGID, float(submit[row]), int(nodes[row]), float(runtime[row]), float(walltime[row]))
        for row in range(count)
    ], machine


def test_the_loop_is_asked() -> None:
    queues: Counter[str] = Counter()
    jobs, machine = crowd(1, 60, 16)
    with check_rule(queues=queues) as rule:
        simulate(jobs, machine, events=False, backfilling=rule)
    assert queues["long"] > 50


@pytest.mark.parametrize("depth", [None, 3])
def test_machine_code(depth: int | None) -> None:
    pytest.importorskip("numba")
    jobs, machine = crowd(2, 120, 32)
    with check_rule(depth, asking=3, compiled=True) as rule:
        starts(jobs, machine, backfilling=rule)
        starts(flexible(3, 120, 32), 32, mechanism="CUA-SPAA", backfilling=rule, order="wfp3")


def starts(jobs: Sequence[Job], machine: int, **options: Any) -> list[int | None]:
    return [record.start for record in simulate(jobs, machine, events=False, engine="simpy", **options).records]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_crowd(seed: int) -> None:
    """Compiled, against the plain reference and against plans made anew."""
    jobs, machine = crowd(seed, 250, 8 << seed % 5)
    with check_rule(asking=3, compiled=True) as rule:
        found = starts(jobs, machine, backfilling=rule)
        for order in ("sjf", "wfp3", "fairshare patience=3600", "f1"):
            starts(jobs, machine, backfilling=rule, order=order)
        starts(honest(jobs), machine, backfilling=rule)
        starts(jobs, machine, backfilling=rule, outages=random_outages(seed, jobs, machine))
    columns = ([round(getattr(job, name) * SECOND) for job in jobs] for name in ("submit", "walltime", "runtime"))
    submit, walltime, runtime = columns
    assert found == replay_with_reservations(submit, [job.nodes for job in jobs], walltime, runtime, machine).start
    with check_rule(4, compiled=True) as rule:
        starts(jobs, machine, backfilling=rule)


@pytest.mark.slow
def test_many_small_tables() -> None:
    for seed in range(1500):
        rng = np.random.default_rng([seed, 8])

        def pick(low: int, high: int, rng: np.random.Generator = rng) -> int:
            return int(rng.integers(low, high + 1))

        machine = pick(2, 9)
        mix = Mix(ticks(pick, pick(2, 30), machine), machine, {}) if seed % 3 else random_lively_mix(seed, max_jobs=30)
        mechanism = MECHANISMS[seed % 6].name if seed % 4 == 3 else BASELINE
        outages = random_outages(seed, mix.jobs, mix.nodes) if seed % 5 == 4 else []
        jobs = honest(mix.jobs) if seed % 2 else mix.jobs
        with check_rule((None, None, 2)[seed % 7 % 3], seed % 4, compiled=True) as rule:
            simulate(
                jobs, mix.nodes, mechanism, events=False, plans=mix.plans, outages=outages, backfilling=rule,
                order=ORDERS[seed % len(ORDERS)],
            )  # fmt: skip


def flexible(seed: int, count: int, machine: int) -> list[Job]:
    """A crowd in which half of the jobs are malleable."""
    return [
        replace(job, type=JobType.MALLEABLE, min_nodes=1 + job.nodes // 3, setup=job.runtime / 8) if row % 2 else job
        for row, job in enumerate(crowd(seed, count, machine)[0])
    ]


@pytest.mark.parametrize("depth", [None, 3])
def test_jobs_of_several_sizes_are_planned_in_the_loops(depth: int | None) -> None:
    queues: Counter[str] = Counter()
    with check_rule(depth, queues=queues) as rule:
        simulate(flexible(4, 40, 16), 16, "N-SPAA", events=False, backfilling=rule)
    assert queues["long"] > 20


def test_more_work_than_an_array_holds_is_left_to_python() -> None:
    jobs = [
        replace(job, walltime=job.walltime * 7e7, nodes=8 * job.nodes, min_nodes=8 * (job.min_nodes or job.nodes))
        for job in flexible(5, 10, 8)
    ]
    assert max(job.walltime * SECOND * job.nodes for job in jobs if job.type is JobType.MALLEABLE) > 1 << 61
    with check_rule() as rule:
        found = starts(jobs, 64, mechanism="N-PAA", backfilling=rule)
    assert found == starts(jobs, 64, mechanism="N-PAA", backfilling="conservative")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_crowd_of_several_sizes(seed: int) -> None:
    """Compiled, against plans made anew, with notices, outages and several orders."""
    machine = 8 << seed % 4
    jobs = flexible(seed, 250, machine)
    jobs = [
        replace(job, type=JobType.ON_DEMAND, notice=max(0.0, (job.submit or 0.0) - 600), estimated_arrival=job.submit)
        if row % 11 == 0 and job.type is JobType.RIGID and job.submit
        else job
        for row, job in enumerate(jobs)
    ]
    for depth, mechanism, order in ((None, "CUA-SPAA", "fcfs"), (None, "CUP-PAA", "wfp3"), (4, "N-SPAA", "sjf")):
        with check_rule(depth, compiled=True) as rule:
            simulate(
                jobs, machine, mechanism, events=False, backfilling=rule, order=order,
                outages=random_outages(seed, jobs, machine) if seed % 2 else [],
            )  # fmt: skip


def test_a_rule_is_begun_anew_for_each_simulation() -> None:
    assert Conservative().begin() is not Conservative().begin()
    assert Easy().begin() == Easy()
    assert Easy("runtime", 3).begin() == Easy("runtime", 3)
    assert isinstance(Easy(depth=3).begin(), ManyJobs)


def test_times_too_large_for_the_loops_are_left_to_python() -> None:
    """Thousands of years each: the end of the plan is beyond what an array holds."""
    jobs, machine = crowd(2, 40, 8)
    jobs = [replace(job, walltime=job.walltime * 8e8) for job in jobs]
    with check_rule() as rule:
        found = starts(jobs, machine, backfilling=rule)
    assert found == starts(jobs, machine, backfilling="conservative")
