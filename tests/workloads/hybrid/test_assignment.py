"""Job types, overheads and notices: their laws (Fan et al., IPDPS 2022, section IV)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.hybrid.assignment import Assignment, as_rigid, assign
from holdfast.workloads.hybrid.checkpointing import checkpoints_of_job
from holdfast.workloads.hybrid.groups import campaigns, group_jobs, group_names
from holdfast.workloads.hybrid.notices import NOTICE_MIXES
from holdfast.workloads.hybrid.type_balance import imbalance
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job import Job, JobType

SECONDS = st.one_of(st.integers(1, 100_000).map(float), st.floats(0.001, 1e5))
#: Half of the groups on-demand, so that small examples have some.
MANY = {"shares": (0.5, 0.3, 0.2)}


@st.composite
def traces(draw: st.DrawFn, largest: int = 12) -> Trace:
    """Traces as a reader makes them: sorted or not, with and without names, with ids that repeat."""
    count = draw(st.integers(1, largest))
    jobs = []
    for _ in range(count):
        walltime = draw(SECONDS)
        jobs.append(
            TraceJob(
                job_id=draw(st.integers(0, 20)),
                submit=draw(st.one_of(st.integers(0, 1000).map(float), st.floats(0, 1e9))),
                nodes=draw(st.sampled_from([1, 5, 128, 512, 1023, 1024, 2196, 2197, 4392])),
                runtime=min(walltime, draw(SECONDS)),
                walltime=walltime,
                user=draw(st.sampled_from(["", "u1", "u2"])),
                project=draw(st.sampled_from(["", "p1", "p2", "p3"])),
            )
        )
    return Trace(tuple(jobs), nodes=4392)


def many_jobs(count: int = 3000, project: bool = True) -> Trace:
    """Jobs of one size in as many projects, so that shares can be counted."""
    jobs = [
        TraceJob(i, 10_000.0 + 60.0 * i, 128, 36_000.0, 43_200.0, project=f"p{i}" if project else "", user=f"u{i % 7}")
        for i in range(count)
    ]
    return Trace(tuple(jobs), nodes=4392)


def without_notice(job: Job) -> Job:
    return replace(job, submit=None, notice=None, estimated_arrival=None)


def category(job: Job) -> str:
    if job.notice is None:
        return "none"
    assert job.submit is not None and job.estimated_arrival is not None
    if job.submit == job.estimated_arrival:
        return "accurate"
    return "early" if job.submit < job.estimated_arrival else "late"


@settings(max_examples=60, deadline=None)
@given(traces(), st.integers(0, 2**40), st.sampled_from(["inside", "added"]))
def test_mixes_of_one_seed_differ_in_nothing_but_notices(trace: Trace, seed: int, overheads: str) -> None:
    first = None
    for mix in NOTICE_MIXES:
        jobs = assign(trace, seed=seed, notice_mix=mix, overheads=overheads, **MANY)
        rigid_part = [without_notice(job) if job.type is JobType.ON_DEMAND else job for job in jobs]
        first = first or rigid_part
        assert rigid_part == first


@settings(max_examples=60, deadline=None)
@given(traces(), st.integers(0, 1000))
def test_two_mixes_give_one_category_the_same_times(trace: Trace, seed: int) -> None:
    """The time of a notice belongs to the job, not to the mix that gave it its category."""
    for one, other in zip(
        assign(trace, seed=seed, notice_mix="W3", **MANY),
        assign(trace, seed=seed, notice_mix="W4", **MANY),
        strict=True,
    ):
        if one.notice is not None and other.notice is not None:
            assert one.notice == other.notice
            assert one.estimated_arrival == other.estimated_arrival


@settings(max_examples=60, deadline=None)
@given(traces(), st.integers(0, 1000), st.sampled_from([0.25, 0.5, 1.0, 2.0]), st.sampled_from(["inside", "added"]))
def test_overheads_do_not_touch_types_or_notices(trace: Trace, seed: int, factor: float, overheads: str) -> None:
    plain = assign(trace, seed=seed, **MANY)
    other = assign(trace, seed=seed, checkpoint_factor=factor, overheads=overheads, **MANY)
    for one, two in zip(plain, other, strict=True):
        assert (one.type, one.submit, one.notice, one.setup) == (two.type, two.submit, two.notice, two.setup)


@settings(max_examples=100, deadline=None)
@given(traces(), st.integers(0, 1000), st.sampled_from(list(NOTICE_MIXES)), st.sampled_from([0.0, 0.5]))
def test_notice_comes_in_time(trace: Trace, seed: int, mix: str, no_show: float) -> None:
    jobs = assign(trace, seed=seed, notice_mix=mix, no_show_share=no_show, **MANY)
    for job, source in zip(jobs, trace.jobs, strict=True):
        if job.notice is None:
            assert job.estimated_arrival is None
            assert job.submit == pytest.approx(source.submit, abs=1e-6)
            continue
        assert job.type is JobType.ON_DEMAND
        assert job.estimated_arrival == pytest.approx(source.submit, abs=1e-6)
        assert job.estimated_arrival is not None
        assert 900 - 1e-6 <= job.estimated_arrival - job.notice <= 1800 + 1e-6
        if job.submit is not None:
            assert job.notice <= job.submit <= job.estimated_arrival + 1800 + 1e-6


@settings(max_examples=100, deadline=None)
@given(traces(), st.integers(0, 1000))
def test_inside_an_undisturbed_job_takes_its_trace_runtime(trace: Trace, seed: int) -> None:
    for job, source in zip(assign(trace, seed=seed), trace.jobs, strict=True):
        assert job.runtime == pytest.approx(source.runtime, abs=1e-6)
        assert job.walltime == pytest.approx(source.walltime, abs=1e-6)
        assert job.trace_runtime is None and job.trace_walltime is None
        share = job.setup / job.runtime
        slack = 1e-6 / job.runtime
        if job.type is JobType.RIGID:
            assert 0.05 - slack <= share <= 0.10 + slack
        elif job.type is JobType.MALLEABLE:
            assert 0 <= share <= 0.05 + slack
            assert job.min_nodes == -(-job.nodes // 5)
        else:
            assert job.setup == 0 and job.checkpoint_interval is None


@settings(max_examples=150, deadline=None)
@given(
    traces(),
    st.integers(0, 1000),
    st.sampled_from([0.01, 0.3, 0.5, 1.0, 1.7]),
    st.sampled_from(["inside", "added"]),
    st.sampled_from([5.0, 0.25, 0.01]),
)
def test_the_run_formula_finds_the_checkpoints_that_were_added(
    trace: Trace, seed: int, factor: float, overheads: str, years: float
) -> None:
    """What a simulator counts from the finished job is what the assignment put in: compute is kept to the tick."""
    options = {"overheads": overheads, "node_mtbf": years * 365 * 86400.0}
    reference = assign(trace, seed=seed, overheads="inside", node_mtbf=options["node_mtbf"])
    jobs = assign(trace, seed=seed, checkpoint_factor=factor, **options)
    for job, plain, source in zip(jobs, reference, trace.jobs, strict=True):
        assert 0 < job.runtime <= job.walltime
        if job.type is not JobType.RIGID:
            continue
        delta, setup = to_ticks(job.checkpoint_cost), to_ticks(job.setup)
        compute = to_ticks(job.runtime) - setup - checkpoints_of_job(job) * delta
        if overheads == "added":
            assert compute == to_ticks(source.runtime)
            assert job.checkpoint_interval is not None
            assert checkpoints_of_job(job) == math.ceil(compute / to_ticks(job.checkpoint_interval)) - 1
        else:
            assert compute == to_ticks(plain.runtime) - setup - checkpoints_of_job(plain) * delta
        moved = to_ticks(job.runtime) - to_ticks(plain.runtime)
        assert moved == to_ticks(job.walltime) - to_ticks(plain.walltime)
        assert (job.trace_runtime, job.trace_walltime) == (
            (None, None) if moved == 0 else (plain.runtime, plain.walltime)
        )


@settings(max_examples=100, deadline=None)
@given(
    traces(),
    st.integers(0, 1000),
    st.sampled_from([0.01, 0.3, 0.5, 1.0, 1.7]),
    st.sampled_from(["inside", "added"]),
    st.sampled_from([5.0, 0.25, 0.01]),
)
def test_free_extra_dumps_leave_compute_and_runtime_as_at_dalys_interval(
    trace: Trace, seed: int, factor: float, overheads: str, years: float
) -> None:
    options = {"overheads": overheads, "node_mtbf": years * 365 * 86400.0}
    daly = assign(trace, seed=seed, **options)
    free = assign(trace, seed=seed, checkpoint_factor=factor, extra_dumps="free", **options)
    charged = assign(trace, seed=seed, checkpoint_factor=factor, **options)
    for job, plain, paid in zip(free, daly, charged, strict=True):
        number = checkpoints_of_job(job)
        assert number == checkpoints_of_job(paid)
        assert job.checkpoint_interval == paid.checkpoint_interval
        if number <= checkpoints_of_job(plain):
            assert job == paid
            continue
        compute = to_ticks(job.runtime) - to_ticks(job.setup) - number * to_ticks(job.checkpoint_cost)
        before = checkpoints_of_job(plain) * to_ticks(plain.checkpoint_cost)
        assert compute == to_ticks(plain.runtime) - to_ticks(plain.setup) - before
        assert 0 <= to_ticks(plain.runtime) - to_ticks(job.runtime) < number


def test_shares_of_types_and_categories() -> None:
    jobs = assign(many_jobs(6000), seed=3, notice_mix=(0.1, 0.2, 0.3, 0.4))
    types = Counter(job.type for job in jobs)
    for kind, share in ((JobType.ON_DEMAND, 0.1), (JobType.RIGID, 0.6), (JobType.MALLEABLE, 0.3)):
        assert types[kind] / len(jobs) == pytest.approx(share, abs=0.03)
    categories = Counter(category(job) for job in jobs if job.type is JobType.ON_DEMAND)
    for name, share in (("none", 0.1), ("accurate", 0.2), ("early", 0.3), ("late", 0.4)):
        assert categories[name] / types[JobType.ON_DEMAND] == pytest.approx(share, abs=0.08)


def test_one_project_has_one_type_but_for_its_large_jobs() -> None:
    sizes = [128, 2196] + [2197] * 600
    jobs = tuple(TraceJob(i, float(i), n, 100.0, 100.0, project="p") for i, n in enumerate(sizes))
    trace = Trace(jobs, nodes=4392)
    assigned = assign(trace, shares=(1.0, 0.0, 0.0), group_by="project", seed=1)
    assert [job.type for job in assigned[:2]] == [JobType.ON_DEMAND] * 2
    assert {job.type for job in assigned[2:]} == {JobType.RIGID}
    # With the paper's proportion 60 : 30 two of three become rigid, job by job.
    split = next(
        types
        for seed in range(100)
        if (types := Counter(job.type for job in assign(trace, group_by="project", seed=seed)))[JobType.ON_DEMAND]
    )
    assert split[JobType.ON_DEMAND] == 2
    assert split[JobType.RIGID] / 600 == pytest.approx(2 / 3, abs=0.08)


def test_no_shows_are_a_share_of_the_jobs_with_notice() -> None:
    jobs = assign(many_jobs(), seed=3, shares=(1.0, 0.0, 0.0), no_show_share=0.3)
    assert all(job.submit is not None for job in jobs if job.notice is None)
    noticed = [job for job in jobs if job.notice is not None]
    assert sum(job.submit is None for job in noticed) / len(noticed) == pytest.approx(0.3, abs=0.05)


def test_groups_fall_back_from_project_to_user_to_campaign() -> None:
    shape = {"nodes": 1, "runtime": 1.0, "walltime": 1.0}
    named = (
        TraceJob(1, 0.0, **shape, user="u", project="p"),
        TraceJob(2, 1.0, **shape, user="v", project="p"),
        TraceJob(3, 2.0, **shape, user="v"),
        TraceJob(4, 3.0, **shape),
    )
    trace = Trace(named, nodes=4)
    assert group_jobs(trace) == group_jobs(trace, "project") == [0, 0, 1, 2]
    assert group_jobs(trace, "user") == [0, 1, 1, 2]
    assert group_jobs(trace, "campaign") == [0, 0, 0, 0]
    nameless = Trace(tuple(replace(job, user="", project="") for job in named), nodes=4)
    assert group_jobs(nameless) == [0, 0, 0, 0]
    with pytest.raises(ParameterError, match="names no project"):
        group_jobs(nameless, "project")


def test_one_value_on_every_line_groups_nothing() -> None:
    shape = {"runtime": 1.0, "walltime": 1.0, "project": "p"}
    rows = enumerate(zip((1, 1, 2, 1), "uvuu", strict=True))
    trace = Trace(tuple(TraceJob(i, float(i), nodes, **shape, user=user) for i, (nodes, user) in rows), nodes=4)
    assert group_jobs(trace) == group_jobs(trace, "user") == [0, 1, 0, 0]
    alone = Trace(tuple(replace(job, user="u") for job in trace.jobs), nodes=4)
    assert group_jobs(alone) == group_jobs(alone, "campaign") == [0, 0, 1, 2]
    assert group_names(alone) == ["group-0", "group-0", "group-1", "group-2"]
    # Who asks for it gets it; a job without a project is then of its campaign, for all are of one user.
    assert group_jobs(alone, "project") == [0, 0, 0, 0]
    gaps = Trace((*alone.jobs[:3], replace(alone.jobs[3], project="")), nodes=4)
    assert group_jobs(gaps) == [0, 0, 0, 1]
    assert group_names(gaps) == ["p", "p", "p", "group-1"]


@pytest.mark.parametrize(
    ("users", "options", "sentence"),
    [
        ("aab", {"shares": (0, 1, 0)}, "types are drawn for each user: 'a' has 67 % of the jobs; another seed"),
        ("aab", {}, "types are drawn for each user: 'a' has 67 % of the jobs, and none is malleable; another seed"),
        ("abc", {}, "types are drawn for each user: no job is malleable; another seed may draw others"),
        (
            "abc",
            {"shares": (0.001, 0.999, 0)},
            "types are drawn for each user: no job is on-demand; another seed, a larger on-demand share (shares) or "
            "smaller groups (group_by) may draw some, and without any the mechanisms have nothing to decide",
        ),
        ("abc", {"shares": (0, 1, 0)}, ""),
        ("abc", {"stochastic_share": 1.0}, ""),
        ("aaa", {"shares": (0, 1, 0)}, "types are drawn for each campaign: 'group-0' has 100 % of the jobs; another"),
        ("", {}, ""),
    ],
)
def test_what_one_draw_decides_is_reported(users: str, options: dict[str, Any], sentence: str) -> None:
    trace = Trace(tuple(TraceJob(i, float(i), 1, 1.0, 1.0, user=user) for i, user in enumerate(users)), nodes=4)
    warning = imbalance(trace, assign(trace, seed=1, **options), Assignment(**options))
    assert warning.startswith(sentence) and bool(warning) == bool(sentence)


def test_campaigns_are_consecutive_in_time_and_not_by_line() -> None:
    rows = [(5.0, 128, 60.0), (1.0, 128, 60.0), (3.0, 256, 60.0), (6.0, 128, 60.0), (2.0, 128, 60.0), (7.0, 128, 90.0)]
    jobs = tuple(TraceJob(i, submit, nodes, 1.0, limit) for i, (submit, nodes, limit) in enumerate(rows))
    assert campaigns(Trace(jobs)) == [2, 0, 1, 2, 0, 3]


def test_ids_stay_unless_they_repeat() -> None:
    jobs = tuple(TraceJob(number, 0.0, 1, 1.0, 1.0) for number in (7, 3, 9))
    assert [job.job_id for job in as_rigid(Trace(jobs, nodes=1))] == [7, 3, 9]
    assert [job.job_id for job in assign(Trace((*jobs, jobs[0]), nodes=1))] == [1, 2, 3, 4]


@settings(max_examples=40, deadline=None)
@given(traces())
def test_as_rigid_is_the_trace(trace: Trace) -> None:
    jobs = as_rigid(trace)
    for job, source in zip(jobs, trace.jobs, strict=True):
        assert job.type is JobType.RIGID
        assert (job.nodes, job.user, job.project) == (source.nodes, source.user, source.project)
        assert (job.setup, job.checkpoint_interval, job.notice, job.min_nodes) == (0, None, None, None)
        assert job.submit == pytest.approx(source.submit, abs=1e-6)
        assert job.runtime == pytest.approx(source.runtime, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"shares": (0.5, 0.5, 0.5)}, "shares"),
        ({"shares": (1.2, -0.2, 0.0)}, "shares"),
        ({"notice_mix": (0.5, 0.5)}, "notice_mix"),
        ({"group_by": "queue"}, "group_by"),
        ({"overheads": "outside"}, "overheads"),
        ({"min_share": 1.5}, "min_share"),
        ({"no_show_share": -0.1}, "no_show_share"),
        ({"checkpoint_factor": 0.0}, "checkpoint_factor"),
        ({"node_mtbf": math.inf}, "node_mtbf"),
        ({"notice_lead": (1800.0, 900.0)}, "notice_lead"),
        ({"lateness": -1.0}, "lateness"),
        ({"min_shares": 0.2}, "min_shares"),
        ({"seed": -1}, "seed"),
    ],
)
def test_illegal_parameters_are_named(options: dict[str, object], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        assign(many_jobs(3), **options)


def test_a_misspelt_mix_and_an_unknown_machine() -> None:
    with pytest.raises(UnknownNameError, match="did you mean W5"):
        assign(many_jobs(3), notice_mix="w5")
    with pytest.raises(ParameterError, match="the size of its machine"):
        assign(replace(many_jobs(3), nodes=None))


def test_parameters_and_changes_are_the_same_thing() -> None:
    trace = many_jobs(50)
    assert assign(trace, Assignment(notice_mix="W2"), seed=4) == assign(trace, seed=4, notice_mix="W2")
