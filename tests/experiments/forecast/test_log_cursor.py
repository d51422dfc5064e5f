"""What was known at many times, and simpler ways to tell a wait: each against a plain reading of the log."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from holdfast.experiments.forecast import baselines
from holdfast.experiments.forecast.baselines import PastWaits, queues
from holdfast.experiments.forecast.completed_runs import PastRun, Runs
from holdfast.experiments.forecast.history import History, read_history
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.machine_state import state_at
from holdfast.experiments.forecast.runtime_correlation import INDEPENDENT, RuntimeCorrelation, estimate_correlation
from holdfast.experiments.forecast.sampled_workloads import Drawing, Future
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.workloads.logs.trace import Trace, TraceJob
from tests.experiments.forecast.test_forecasts import NODES, random_jobs, schedule_trace

WEEK = 7 * 86_400.0


@pytest.fixture(scope="module")
def log() -> Trace:
    """A schedule with users, of whose jobs some were withdrawn."""
    trace = schedule_trace(random_jobs(11, 300, exact=False, gap=500.0))
    jobs = tuple(
        replace(job, cancelled_at=job.submit + 900.0, wait=900.0) if job.job_id % 17 == 0 else job for job in trace.jobs
    )
    return replace(trace, jobs=jobs)


def test_a_past_tells_what_a_state_and_a_history_tell(log: Trace) -> None:
    past = Past(log, NODES, least=5)
    job = SeenJob(999, 0.0, 4, 3000.0, "u1")
    levels = np.linspace(0.01, 0.99, 25)
    # Backwards too: nothing of a later time is left.
    for place in (40, 150, 290, 90):
        at = log.jobs[place].submit + 1.0
        plain, from_past = state_at(log, at, NODES), past.state(at)
        assert sorted(from_past.jobs, key=lambda item: item.job_id) == sorted(plain.jobs, key=lambda item: item.job_id)
        assert (from_past.nodes, from_past.origin) == (plain.nodes, plain.origin)
        known, found = read_history(log, at, least=5), past.history(at)
        assert (len(found), found.runtime_correlation) == (len(known), known.runtime_correlation)
        assert list(found.submitted) == list(known.submitted)
        assert list(found.runs.pairs()) == list(known.runs.pairs())
        for elapsed in (0.0, 700.0):
            expected = known.runtimes(job, levels, elapsed)
            assert found.runtimes(job, levels, elapsed).tolist() == expected.tolist()


def test_the_job_of_a_moment_waits_although_it_starts_at_once(log: Trace) -> None:
    past = Past(log, NODES)
    place = next(place for place in range(1, 300) if past.starts[place] == past.submits[place])
    at = float(past.submits[place])
    assert past.job(place) in past.state(at, place).waiting
    assert past.job(place).job_id in {job.job_id for job in past.state(at).running}


# Runtimes of jobs that are alike.


def test_a_group_is_trusted_by_its_runs_and_only_the_last_count() -> None:
    early = [PastRun(2, 100.0, 0.9, "ann")] * 200
    late = [PastRun(2, 100.0, 0.2, "ann")] * 50
    others = [PastRun(2, 100.0, 0.5, "bob")] * 1000
    history = History([*early, *others, *late])
    job = SeenJob(1, 0.0, 2, 100.0, "ann")
    levels = (np.arange(100_000) + 0.5) / 100_000
    shares = history.runtimes(job, levels) / 100.0
    # The walltime group and the user's each have 50 runs: weights 50/55, 5/55 * 50/55, and the rest of all runs.
    rest = (5 / 55) ** 2
    assert np.mean(shares == 0.2) == pytest.approx(1 - rest * 1200 / 1250, abs=1e-4)
    assert np.mean(shares == 0.5) == pytest.approx(rest * 1000 / 1250, abs=1e-4)
    # Of a job that has run for longer than any of the user's, only runs of all kinds know.
    beyond = history.runtimes(job, levels, 30.0) / 100.0
    assert np.mean(beyond == 0.5) == pytest.approx(1000 / 1200, abs=1e-4)
    assert np.mean(beyond == 0.9) == pytest.approx(200 / 1200, abs=1e-4)


def runs_alike(anyone: float, user: float, request: float, users: int = 5) -> Runs:
    """Every hour five users submit two jobs of each of two requests, with scores that are correlated so."""
    rng = np.random.default_rng(0)
    runs = []
    for hour in range(500):
        common = np.sqrt(anyone) * rng.standard_normal()
        for name in range(users):
            own = common + np.sqrt(user - anyone) * rng.standard_normal()
            for walltime in (1000.0, 2000.0):
                same = own + np.sqrt(request - user) * rng.standard_normal()
                for _ in range(2):
                    share = float(ndtr(same + np.sqrt(1 - request) * rng.standard_normal()))
                    submit = 3600.0 * hour
                    runs.append(PastRun(1, walltime, share, f"u{name}", "", 0.0, submit, submit + walltime * share))
    return Runs(sorted(runs, key=lambda run: run.end or 0.0))


def test_the_likeness_of_runs_is_estimated_from_past_states() -> None:
    found = estimate_correlation(runs_alike(0.2, 0.4, 0.7))
    # That of different users is told by the hours alone, whose number is small.
    assert found.anyone == pytest.approx(0.2, abs=0.15)
    assert (found.user, found.request) == pytest.approx((0.4, 0.7), abs=0.1)
    assert found.mean == pytest.approx(0.0, abs=0.12)
    assert found.spread == pytest.approx(1.0, abs=0.12)
    alone = estimate_correlation(runs_alike(0.0, 0.0, 0.0))
    # 30 states with 0.1 count beside the 100 of the past, so that a short past makes no forecast too sure.
    assert alone[:3] == pytest.approx(np.full(3, 30 * 0.1 / 130), abs=0.03)
    # Runs without times, or that are all the same, tell nothing.
    assert estimate_correlation(Runs([PastRun(1, 100.0, 0.5, "ann")] * 100)) == INDEPENDENT
    # What ends later changes nothing.
    runs = runs_alike(0.2, 0.4, 0.7)
    early = Runs([run for run in map(runs.run, range(runs.timed_count())) if (run.end or 0.0) <= 500_000.0])
    assert estimate_correlation(runs.until(500_000.0)) == estimate_correlation(early) != found


def test_runs_that_differ_more_than_those_before_them_are_drawn_wider() -> None:
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.standard_normal(3000)) + rng.standard_normal(3000)
    runs = [
        PastRun(1, 1000.0, share, "ann", "", 0.0, 1000.0 * number, 1000.0 * (number + share))
        for number, share in enumerate(ndtr(level / 30.0).tolist())
        for _ in range(2)
    ]
    found = estimate_correlation(Runs(sorted(runs, key=lambda run: run.end or 0.0)))
    # Pairs of runs follow a random walk. Around the mean of the last 25 the next pair has the variance 1 + 25 / 3, and
    # these have 1 + 25 / 6.
    assert found.spread == pytest.approx(math.sqrt((1 + 25 / 3) / (1 + 25 / 6)), abs=0.15)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.45, 0.6, 1.0])
def test_equal_runs_share_their_levels(share: float) -> None:
    shares = [0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.6, 0.6, 0.9, 1.0]
    runs = [PastRun(1, 100.0, other, "", "", 0.0, float(at), 200.0 + at) for at, other in enumerate(shares)]
    seen = Runs([*runs, PastRun(1, 100.0, share, "", "", 50.0, 1000.0, 1090.0)]).compare_run(10, 1000.0, 10)
    assert seen is not None
    levels = np.linspace(np.mean(np.less(shares, share)), np.mean(np.less_equal(shares, share)), 100_001)
    assert seen.apart == pytest.approx(np.mean(abs(levels - 0.5)), abs=1e-4)


def test_runs_in_past_states_are_compared_with_longer_runs_alone() -> None:
    shares = [0.1, 0.2, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    runs = [PastRun(1, 100.0, share, "", "", 0.0, float(number), 200.0 + number) for number, share in enumerate(shares)]
    later = PastRun(3, 100.0, 0.4, "", "", 50.0, 1000.0, 1090.0)
    found = Runs([*runs, later])
    # All runs are its only group. When it waits 3 of 10 are shorter; having run for 20 s, 0 of 7. One is equal.
    for at, rank, others in ((1000.0, 4.0 / 11, shares), (1070.0, 1.0 / 8, shares[3:])):
        seen = found.compare_run(10, at, 10)
        assert seen is not None
        assert seen.score == pytest.approx(ndtri(rank))
        assert seen.residual == pytest.approx(300.0 * (0.4 - np.mean(others)))
        assert seen.deviation == pytest.approx(300.0 * np.std(others))
    assert found.compare_run(10, 1000.0, 11) is None


def test_draws_are_as_likely_as_the_history_says(log: Trace) -> None:
    at = log.jobs[200].submit
    users, walltimes = ("u1", "u1", "u1", "u2"), (3000.0, 3000.0, 6000.0, 3000.0)
    jobs = [SeenJob(number, at, 2, walltimes[number], user) for number, user in enumerate(users)]
    state = replace(state_at(log, at, NODES), jobs=tuple(jobs))

    class Alike(History):
        runtime_correlation = RuntimeCorrelation(0.2, 0.5, 0.8, 0.3, 1.5)

    history = Alike([PastRun(2, 3000.0, share, user) for share in np.linspace(0.01, 1, 50) for user in ("u1", "u2")])
    drawing = Drawing(state, history, Future("none"), 20_000, 0)
    scores = ndtri(1.0 - np.array([drawing.levels(job) for job in jobs]))
    expected = [[1.0, 0.8, 0.5, 0.2], [0.8, 1.0, 0.5, 0.2], [0.5, 0.5, 1.0, 0.2], [0.2, 0.2, 0.2, 1.0]]
    assert np.corrcoef(scores) == pytest.approx(np.array(expected), abs=0.03)
    assert scores.mean(axis=1) == pytest.approx(np.full(4, 0.3), abs=0.03)
    assert scores.std(axis=1) == pytest.approx(np.full(4, 1.5), abs=0.03)
    assert np.corrcoef(drawing.runtimes.T)[0, 1] > 0.6


# Simpler ways to tell a wait.


def test_queue_lengths_are_counted(log: Trace) -> None:
    past = Past(log, NODES)
    for place in range(0, len(past), 7):
        at = past.submits[place]
        waiting = [
            other
            for other in range(len(past))
            if other != place
            and past.submits[other] <= at
            and (past.starts[other] > at if np.isfinite(past.starts[other]) else past.withdrawn[other] > at)
        ]
        assert queues(past)[place] == len(waiting)


def waits_log(waits: list[float], nodes: list[int], gap: float = 3600.0) -> Past:
    jobs = [
        TraceJob(number, gap * number, size, 10.0, 600.0, wait=wait)
        for number, (wait, size) in enumerate(zip(waits, nodes, strict=True))
    ]
    return Past(Trace(tuple(jobs), 128), 128)


def test_the_mean_of_the_last_week_is_of_jobs_that_started_by_then_and_had_to_wait() -> None:
    day = 86_400.0
    jobs = [(0, 4, 500.0), (8, 4, 100.0), (9, 5, 300.0), (9.5, 4, 30.0), (10, 8, 900.0), (10.9, 4, 9e5)]
    log = [TraceJob(n, day * at, size, 10.0, 600.0, wait=wait) for n, (at, size, wait) in enumerate(jobs)]
    waits = PastWaits(Past(Trace(tuple(log), 128), 128))
    at = 11 * day
    # 4 and 5 nodes are one class; the first is older than a week, one did not wait, and the last has not started.
    assert waits.mean_of_week(SeenJob(9, at, 6, 60.0), at) == pytest.approx((100 + 300) / 2)
    assert waits.mean_of_week(SeenJob(9, at, 1, 60.0), at) == pytest.approx((100 + 300 + 900) / 3)
    assert waits.mean_of_week(SeenJob(9, at, 1, 60.0), 30 * day) == pytest.approx((500 + 100 + 300 + 900 + 9e5) / 5)
    assert waits.mean_of_week(SeenJob(9, at, 1, 60.0), 0.0) == 0.0


def test_the_nearest_jobs_are_the_most_similar() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.choice([1, 2, 4, 8, 16, 64], 200).tolist()
    past = waits_log(rng.uniform(100, 9000, 200).tolist(), sizes)
    waits = PastWaits(past)
    at = 150 * 3600.0
    known = [place for place in range(200) if past.starts[place] <= at]
    queue = queues(past)
    near = sorted(
        known,
        key=lambda place: (
            (np.log2(sizes[place]) - 2) ** 2 + np.log2((1 + queue[place]) / 2) ** 2,
            -past.starts[place],
        ),
    )[:20]
    levels = np.array([0.05, 0.5, 0.95])
    expected = np.quantile([past.starts[place] - past.submits[place] for place in near], levels, method="weibull")
    nearest = waits.nearest(SeenJob(1, at, 4, 600.0), at, 1, levels)
    assert nearest.tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize("level", [0.5, 0.75, 0.95])
def test_ranks_are_quantiles_of_the_binomial_distribution(level: float) -> None:
    counts = np.arange(3000)
    assert baselines._binomial_limits(counts, level).tolist() == binom.ppf(0.95, counts, level).tolist()


def test_bounds_are_those_of_the_binomial_distribution_since_the_last_change() -> None:
    rng = np.random.default_rng(5)
    calm, busy = rng.uniform(100, 1000, 150), rng.uniform(5000, 9000, 40)
    past = waits_log([*calm, *busy], [32] * 190, gap=86_400.0)
    waits = PastWaits(past)
    job = SeenJob(1, 0.0, 20, 600.0)

    def wait_limit(days: int, level: float) -> float:
        return float(waits.bounds(job, days * 86_400.0, np.array([level]))[0])

    known = np.sort(calm[:100])
    assert wait_limit(100, 0.5) == pytest.approx(np.median(known))
    upper = next(k for k in range(1, 101) if binom.cdf(k - 1, 100, 0.95) >= 0.95)
    assert wait_limit(100, 0.95) == pytest.approx(known[upper - 1])
    assert wait_limit(100, 0.05) == pytest.approx(known[100 - upper])
    # Three in a row above the bound: the last 59 are kept, and later ones join them.
    after = np.sort([*calm[-56:], *busy[:3]])
    assert wait_limit(153, 0.5) == pytest.approx(np.median(after))
    assert wait_limit(152, 0.5) == pytest.approx(np.median([*calm, *busy[:2]]))
    # Another size class knows nothing.
    assert waits.bounds(SeenJob(1, 0.0, 2, 600.0), 1e8, np.array([0.5])).tolist() == [0.0]
