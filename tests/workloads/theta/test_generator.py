"""The generated year: what was asked for, and the marginals that Theta's public records have."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from holdfast.experiments.traces.calibration import BaselineYear, average, measure
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.object_code import object_code
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.theta import arrival_rhythm
from holdfast.workloads.theta.activity_path import KINDS, find_path
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear


@pytest.fixture(scope="module")
def year() -> Trace:
    made = generate(seed=1)
    return replace(made, jobs=tuple(made.jobs))  # a job of a generated year is made at each access


@pytest.fixture(scope="module")
def columns(year: Trace) -> dict[str, np.ndarray]:
    return {
        name: np.array([getattr(job, name) for job in year.jobs]) for name in ("submit", "nodes", "runtime", "walltime")
    }


def share(mask: np.ndarray) -> float:
    return float(np.mean(mask))


@pytest.mark.system
def test_table_one(year: Trace, columns: dict[str, np.ndarray]) -> None:
    assert len(year.jobs) == 37_298
    assert year.nodes == 4392
    assert len({job.project for job in year.jobs}) == 211
    assert columns["nodes"].min() == 128
    assert columns["nodes"].max() <= 4392
    assert columns["walltime"].max() <= 86_400
    assert columns["submit"].min() >= 0
    assert columns["submit"].max() <= 365 * 86_400


def test_what_a_trace_file_can_hold(year: Trace, columns: dict[str, np.ndarray]) -> None:
    """Whole seconds, sorted, ids 1..n, names that are numbers: nothing is lost in SWF."""
    assert [job.job_id for job in year.jobs] == list(range(1, len(year.jobs) + 1))
    assert np.all(np.diff(columns["submit"]) >= 0)
    for name in ("submit", "runtime", "walltime"):
        assert np.all(columns[name] == np.floor(columns[name]))
    assert all(int(job.user) > 0 and int(job.project) > 0 for job in year.jobs)
    assert np.all(columns["runtime"] >= 1)
    assert np.all(columns["runtime"] <= columns["walltime"])
    assert all(type(value) is float for value in (year.jobs[0].submit, year.jobs[0].runtime, year.jobs[0].walltime))
    assert type(year.jobs[0].nodes) is int


def test_total_work(columns: dict[str, np.ndarray]) -> None:
    assert np.dot(columns["nodes"], columns["runtime"]) / 3600 == pytest.approx(866 * 37_298, rel=1e-4)


def test_sizes(columns: dict[str, np.ndarray]) -> None:
    nodes, work = columns["nodes"], columns["nodes"] * columns["runtime"]
    assert share(nodes == 128) == pytest.approx(0.57, abs=0.03)
    assert share((nodes > 128) & (nodes < 256)) == pytest.approx(0.05, abs=0.02)
    assert share(nodes == 256) == pytest.approx(0.18, abs=0.02)
    assert share(nodes == 1024) == pytest.approx(0.05, abs=0.015)
    assert 0.015 < share(nodes > 1024) < 0.035
    assert 0.07 < share(nodes >= 802) < 0.11
    assert 0.45 < work[nodes >= 802].sum() / work.sum() < 0.70


@pytest.mark.system
def test_requests(columns: dict[str, np.ndarray]) -> None:
    nodes, hours = columns["nodes"], columns["walltime"] / 3600
    assert np.all(columns["walltime"] % 60 == 0)
    assert hours.min() >= 0.5
    for bound, longest in ((256, 3), (384, 6), (640, 9), (802, 12)):
        assert hours[nodes < bound].max() <= longest
    for value, expected in ((3, 0.30), (1, 0.15), (6, 0.10), (0.5, 0.10), (2 / 3, 0.07), (2, 0.06)):
        assert share(np.isclose(hours, value)) == pytest.approx(expected, abs=0.02)
    assert share(columns["walltime"] % 1800 == 0) == pytest.approx(0.83, abs=0.03)


def test_runtimes(columns: dict[str, np.ndarray]) -> None:
    ratio = columns["runtime"] / columns["walltime"]
    assert ratio.mean() == pytest.approx(0.63, abs=0.05)
    assert share(ratio < 0.1) == pytest.approx(0.22, abs=0.05)
    assert share((ratio >= 0.9) & (ratio < 0.99)) == pytest.approx(0.14, abs=0.02)
    assert share(ratio > 0.999) == pytest.approx(0.30, abs=0.03)
    assert share(columns["runtime"] < 300) == pytest.approx(0.18, abs=0.03)


def test_arrivals(year: Trace, columns: dict[str, np.ndarray]) -> None:
    submit = columns["submit"]
    gaps = np.diff(submit)
    assert gaps.std() / gaps.mean() == pytest.approx(2.8, abs=0.7)
    assert share(gaps <= 60) == pytest.approx(0.43, abs=0.05)
    by_day = np.bincount((submit // 86_400).astype(int), minlength=365)
    # 66 +- 39 in 2022, and 102 jobs per day in 2019.
    assert by_day.std() / by_day.mean() == pytest.approx(39 / 66, abs=0.12)
    assert by_day.var() / by_day.mean() == pytest.approx(25, rel=0.5)
    by_hour = np.bincount((submit % 86_400 // 3600).astype(int), minlength=24) / len(submit)
    assert 0.01 < by_hour.min() < 0.03
    assert 0.055 < by_hour.max() < 0.075
    # Day 0 is a Tuesday.
    by_weekday = np.bincount(((submit // 86_400 + 1) % 7).astype(int), minlength=7)
    assert by_weekday[5:].max() < by_weekday[:5].min()
    assert 0.55 < by_weekday.min() / by_weekday.max() < 0.85
    # Jobs in runs of five and more equal ones within a minute of each other.
    lengths, length = [], 1
    for last, job in zip(year.jobs, year.jobs[1:], strict=False):
        equal = (last.nodes, last.walltime) == (job.nodes, job.walltime) and job.submit - last.submit <= 60
        if not equal:
            lengths.append(length)
        length = length + 1 if equal else 1
    assert sum(n for n in lengths if n >= 5) / len(year.jobs) == pytest.approx(0.20, abs=0.06)


def test_projects(year: Trace) -> None:
    month = 365 * 86_400 / 12
    shares = []
    for number in range(12):
        counts = Counter(job.project for job in year.jobs if number <= job.submit / month < number + 1)
        ranked = [count for _, count in counts.most_common()]
        shares.append([sum(ranked[:top]) / sum(ranked) for top in (1, 5, 10)])
    one, five, ten = np.mean(shares, axis=0)
    assert one == pytest.approx(0.19, abs=0.04)
    assert five == pytest.approx(0.59, abs=0.05)
    assert ten == pytest.approx(0.76, abs=0.05)
    users: dict[str, set[str]] = {}
    for job in year.jobs:
        users.setdefault(job.project, set()).add(job.user)
    numbers = sorted(len(names) for names in users.values())
    assert numbers[len(numbers) // 2] == 1
    assert numbers[-1] <= 10
    assert sum(numbers) == len(set().union(*users.values())), "a user belongs to one project"


def test_jobs_of_a_project_resemble_each_other(year: Trace) -> None:
    """Two jobs of a project have one shape far more often than two jobs of anybody."""

    def same(jobs: list[TraceJob]) -> float:
        counts = Counter((job.nodes, job.walltime) for job in jobs)
        return sum(n * (n - 1) for n in counts.values()) / max(1, len(jobs) * (len(jobs) - 1))

    projects: dict[str, list[TraceJob]] = {}
    for job in year.jobs:
        projects.setdefault(job.project, []).append(job)
    within = np.average([same(jobs) for jobs in projects.values()], weights=[len(jobs) for jobs in projects.values()])
    assert within > 2 * same(list(year.jobs))


def test_a_seed_is_a_trace() -> None:
    small = ThetaYear(jobs=2000)
    assert repr(generate(small, seed=5)).encode() == repr(generate(small, seed=5)).encode()
    assert generate(small, seed=5).jobs != generate(small, seed=6).jobs


@pytest.mark.parametrize("jobs", [1, 2, 7, 100, 1000, 10_000])
def test_fewer_jobs_are_a_shorter_time_and_not_a_thinner_year(jobs: int) -> None:
    trace = generate(ThetaYear(jobs=jobs), seed=2)
    assert len(trace.jobs) == jobs
    span = 365 * 86_400 * jobs / 37_298
    assert 0 <= trace.jobs[0].submit <= trace.jobs[-1].submit <= span
    if jobs >= 100:
        assert trace.jobs[-1].submit - trace.jobs[0].submit > 0.75 * span
    # A hundred jobs may hold no capability job that could be made longer.
    if jobs >= 1000:
        assert sum(job.nodes * job.runtime for job in trace.jobs) / 3600 / jobs == pytest.approx(866, rel=0.01)


def test_nobody_submits_in_a_maintenance() -> None:
    trace = generate(ThetaYear(jobs=8000, maintenance=9.0), seed=2)
    mondays = Counter(
        8 <= job.submit % 86_400 / 3600 < 17
        for job in trace.jobs
        if (job.submit // 86_400 + 1) % 7 == 0 and (job.submit // 86_400 + 1) // 7 % 2 == 1
    )
    # Batches that begin just before may run into it by seconds.
    assert mondays[True] <= 0.02 * mondays[False]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"jobs": 0}, "jobs"),
        ({"jobs": 10.5}, "jobs"),
        ({"patience": 0.0}, "patience"),
        ({"work_per_job": -1.0}, "work_per_job"),
        ({"limit_share": 0.9}, "limit_share"),
        ({"hours": (1.0,)}, "hours"),
        ({"first_weekday": 7}, "first_weekday"),
        ({"day_sigma": math.nan}, "day_sigma"),
        ({"stray_share": 1.5}, "stray_share"),
    ],
)
def test_illegal_parameters_are_named(options: dict[str, object], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        ThetaYear(**options)


def test_an_illegal_seed_is_named() -> None:
    with pytest.raises(ParameterError, match="seed"):
        generate(ThetaYear(jobs=1), seed=-1)


def near(result: BaselineYear) -> None:
    assert result.utilisation == pytest.approx(0.839, abs=0.015)
    assert result.turnaround == pytest.approx(15.6, abs=1.5)
    assert result.instant_start == pytest.approx(0.227, abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 10, 100])
def test_the_baseline_of_ten_years_is_that_of_table_two(first: int) -> None:
    near(average([measure(seed) for seed in range(first, first + 10)]))


def test_the_compiled_rhythm_is_the_interpreted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    assert object_code(find_path, KINDS) is not None
    years = [ThetaYear(jobs=jobs) for jobs in (1, 40, 900)]
    found = []
    for steps in (-(10**9), 10**9):
        monkeypatch.setattr(arrival_rhythm, "_steps", steps)
        found.append([list(generate(year, seed).jobs) for year in years for seed in range(4)])
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**65 + 3])
def test_a_stream_is_numpys_of_the_seed_and_the_letters(seed: int) -> None:
    name = "theta/añ"
    expected = np.random.default_rng(np.random.SeedSequence([seed, len(name.encode()), *name.encode()]))
    assert stream(seed, "theta", "añ").random(3).tolist() == expected.random(3).tolist()
