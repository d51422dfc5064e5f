"""Advice: one simulation for all walltimes equals one for each, and plans go on as cheaply as they can."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.experiments import cli
from holdfast.experiments.figures.planning.advice import plot_advice
from holdfast.experiments.forecast.advice import Advice, advise
from holdfast.experiments.forecast.completed_runs import PastRun
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import History
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.requests import LaterWaits, coarse, plan_with_first_walltime
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.policies.planning.costs import CostModel
from holdfast.simulator.start_times import first_starts, starts_by_walltime
from holdfast.workloads.distributions import DiscreteDistribution
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import walltime_text
from holdfast.workloads.table.job import Job, JobType

NODES = 16


def crowd(seed: int, coming: int = 25) -> tuple[list[Job], float]:
    """A machine at one time: running and waiting jobs, and some to come."""
    rng = np.random.default_rng(seed)
    begin, jobs, free = 10_000.0, [], NODES
    for number in range(1, 60 + coming):
        walltime = float(rng.integers(100, 6000))
        runtime = max(1.0, round(walltime * rng.random()))
        nodes = int(rng.choice([1, 2, 3, 5, 8, 13]))
        if number < 8 and nodes <= free:
            free -= nodes
            job = Job(
                number, JobType.RIGID, begin - 50.0, nodes, runtime + 30.0, walltime + 30.0, running_since=begin - 20.0
            )
        elif number < 20:
            job = Job(number, JobType.RIGID, begin - float(rng.integers(0, 9000)), nodes, runtime, walltime)
        else:
            job = Job(number, JobType.RIGID, begin + float(rng.integers(1, 30_000)), nodes, runtime, walltime)
        jobs.append(job)
    return jobs, begin


@given(
    st.integers(0, 10**6),
    st.sampled_from(("fcfs", "smallest", "largest", "sjf", "wfp3")),
    st.sampled_from(("easy", "none", "conservative")),
    st.sampled_from(("instant", "event")),
)
@settings(max_examples=40, deadline=None)
def test_all_walltimes_of_one_simulation_are_those_of_one_simulation_each(
    seed: int, order: str, backfilling: str, passes: str
) -> None:
    jobs, begin = crowd(seed)
    rng = np.random.default_rng(seed + 1)
    asked = Job(1000, JobType.RIGID, begin, int(rng.choice([1, 2, 4, 9, 16])), 1.0, 1.0)
    walltimes = np.unique(rng.integers(50, 9000, 5)).astype(float).tolist()
    options = {"order": order, "backfilling": backfilling, "passes": passes}
    found = starts_by_walltime(jobs, NODES, begin, asked, walltimes, **options)
    alone = [
        first_starts(
            [*jobs, Job(1000, JobType.RIGID, begin, asked.nodes, walltime, walltime)], NODES, begin, [1000], **options
        )[1000]
        for walltime in walltimes
    ]
    assert [start for start, _ in found] == alone


def test_illegal_prospects() -> None:
    jobs, begin = crowd(1)
    with pytest.raises(InputError, match="runtime of job 1 must be such that it still runs at 90000 s, not"):
        first_starts(jobs, NODES, 90_000.0, [20])
    with pytest.raises(InputError, match="walltimes must be one or more durations, ascending"):
        starts_by_walltime(jobs, NODES, begin, jobs[0], [60.0, 60.0])


# Going on.

DISTRIBUTIONS = st.lists(st.integers(1, 40), min_size=2, max_size=5, unique=True).flatmap(
    lambda values: st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values)).map(
        lambda weights: DiscreteDistribution(
            np.array(sorted(values), float), np.array(weights[: len(values)]) / sum(weights[: len(values)])
        )
    )
)


def least_cost(distribution: DiscreteDistribution, first: float, saved: bool, costs: CostModel) -> float:
    """Least expected cost by trying every continuation, reservation by reservation."""
    values = distribution.values.tolist()
    ends = [value for value in values if value > first]
    best = np.inf
    for mask in range(1 << max(0, len(ends) - 1)):
        stops = [value for place, value in enumerate(ends) if place == len(ends) - 1 or mask >> place & 1]
        for marks in range(1 << len(stops)):
            total = 0.0
            for value, probability in zip(values, distribution.probabilities, strict=True):
                cost, done = 0.0, 0.0
                plan = [(first, saved), *((stop, bool(marks >> place & 1)) for place, stop in enumerate(stops))]
                for end, mark in plan:
                    restart = float(costs.restart_at(0.0)) if done else 0.0
                    length = restart + end - done + (float(costs.checkpoint_at(0.0)) if mark else 0.0)
                    used = restart + value - done if value <= end else length
                    cost += costs.alpha * length + costs.beta * used + costs.gamma
                    if value <= end:
                        break
                    done = end if mark else done
                total += probability * cost
            best = min(best, total)
    return best


@given(DISTRIBUTIONS, st.integers(2, 30), st.booleans(), st.sampled_from((0.0, 1.0, 3.0)), st.sampled_from((0.1, 1.0)))
@settings(max_examples=30, deadline=None)
def test_it_goes_on_by_the_cheapest_plan_of_all(
    distribution: DiscreteDistribution, walltime: int, saving: bool, gamma: float, alpha: float
) -> None:
    costs = CostModel(alpha, 1.0, gamma, checkpoint=0.5, restart=0.25) if saving else CostModel(alpha, 1.0, gamma)
    plan = plan_with_first_walltime(distribution, float(walltime), costs, saving=saving)
    assert plan.length[0] == pytest.approx(walltime)
    choices = [least_cost(distribution, float(walltime), False, costs)] if saving else []
    if saving and walltime - 0.5 < distribution.upper:
        choices.append(least_cost(distribution, walltime - 0.5, True, costs))
    if saving:
        assert plan.expected_cost(distribution) == pytest.approx(min(choices))
    else:
        assert not plan.checkpointed.any()
        assert plan.expected_cost(distribution) >= least_cost(distribution, float(walltime), False, costs) - 1e-9


def test_few_values_stand_for_many() -> None:
    distribution = DiscreteDistribution(np.arange(1.0, 1001.0), np.full(1000, 1e-3))
    few = coarse(distribution, 100, above=500.0)
    assert few is not None
    assert (few.lower, few.upper, len(few)) == (505.0, 1000.0, 100)
    assert few.mean() == pytest.approx(752.5)
    assert coarse(distribution, 100, above=1000.0) is None


# Advice.

STATE = MachineState(
    10_000.0, 4, (SeenJob(1, 0.0, 3, 7200.0, "ann", start=9_000.0), SeenJob(2, 9_500.0, 4, 3600.0, "ann"))
)
#: Half of the runs take a tenth of their walltime, half all of it; requests waited for half their walltime.
HISTORY = History(
    [PastRun(1, 1000.0 * hours, share, "ann", wait=500.0 * hours) for hours in (1, 2, 3) for share in (0.1, 1.0)] * 5
)


def make_advice(**others: object) -> Advice:
    given: dict[str, object] = {"nodes": 1, "walltime": 10_000.0, "user": "ann", "draws": 8, "arrivals": "none"}
    return advise(STATE, HISTORY, **{**given, **others})  # type: ignore[arg-type]


def test_a_short_request_fits_the_hole() -> None:
    # One node is free until job 1 ends, at 9,000 + 7,200 s by its walltime: a hole of 6,200 s before the wide job.
    advice = make_advice(walltimes=[1000.0, 6200.0, 6300.0], checkpoint=60.0, restart=30.0)
    own, best = advice.request_for("own"), advice.best
    assert own is not None
    places = {request.walltime: place for place, request in enumerate(advice.requests)}
    assert np.all(advice.waits[:, places[1000.0]] == 0)
    assert np.all(advice.waits[:, places[6200.0]] == 0)
    assert np.all(advice.backfilled[:, places[6200.0]])
    assert np.all(advice.waits[:, places[6300.0]] > 0)
    # The wide job waits for job 1, runs, and only then the own request has its turn, or fits beside what is left.
    assert np.array_equal(advice.waits[:, places[6300.0]], advice.waits[:, places[10_000.0]])
    assert best.walltime <= 6200.0
    gain = advice.gain(own)
    assert gain.total.mean == pytest.approx(advice.expected[places[10_000.0]] - advice.expected.min())
    assert gain.backfilling == pytest.approx(gain.wait)
    assert gain.total.low <= gain.total.mean <= gain.total.high
    # Half of the jobs take 1,000 s, half 10,000 s: 6,200 s hold the one half, and the work of the other is kept.
    request = advice.requests[places[6200.0]]
    assert (request.completes, request.saves, request.next) == (0.5, True, 10_000.0 - 6140.0 + 30.0)
    waits = advice.later[1]
    later = 0.5 * (waits.alpha * 3890.0 + waits.gamma + 3890.0)
    assert request.rest == pytest.approx(0.5 * 1000.0 + 0.5 * 6200.0 + later)
    row = advice.rows()[places[6200.0]]
    assert row["gain_own"] == pytest.approx(advice.expected[places[10_000.0]] - advice.expected[places[6200.0]])
    assert "10 requests" not in repr(advice)


def test_later_requests_wait_as_in_the_past_or_as_today_whichever_is_longer() -> None:
    past = CostModel(0.5, 1.0, 600.0)
    walltimes = [1000.0, 2000.0, 3000.0]
    today = LaterWaits.longer(past, walltimes, [2000.0, 4000.0, 6000.0], 3000.0)
    assert (today.alpha, today.gamma, today.today) == (pytest.approx(2.0), pytest.approx(0.0, abs=1e-6), True)
    assert LaterWaits.longer(past, walltimes, [0.0, 0.0, 100.0], 3000.0) == LaterWaits(0.5, 600.0)
    assert LaterWaits.longer(past, [1000.0], [9000.0], 3000.0) == LaterWaits(1e-3, 9000.0, today=True)
    assert today.apply(CostModel(checkpoint=5.0)).price(100.0, 10.0) == pytest.approx(210.0)


def test_without_checkpoints_work_is_lost() -> None:
    advice = make_advice(walltimes=[5000.0])
    request = next(request for request in advice.requests if request.walltime == 5000.0)
    assert not request.saves
    assert request.next == 10_000.0
    assert advice.responses[:, advice.requests.index(request)].max() >= 5000.0 + 10_000.0


def test_more_nodes_are_tried() -> None:
    advice = make_advice(sizes={2: 0.5, 4: 0.3}, walltimes=[10_000.0])
    assert {request.nodes for request in advice.requests} == {1, 2, 4}
    assert {request.walltime for request in advice.requests if request.nodes == 2} >= {5000.0}
    assert next(request.distribution.upper for request in advice.requests if request.nodes == 4) == pytest.approx(
        3000.0
    )
    # Four nodes never fit beside others: they wait for the wide job.
    wide = next(place for place, request in enumerate(advice.requests) if request.nodes == 4)
    assert advice.waits[:, wide].min() > 0


def test_a_waiting_job_keeps_its_place_and_asks_for_less() -> None:
    # Job 3 waits behind the wide job; the hole before that one is 6,200 s long.
    state = replace(STATE, jobs=(*STATE.jobs, SeenJob(3, 9_600.0, 1, 10_000.0, "ann"), SeenJob(4, 9_700.0, 1, 6000.0)))
    advice = advise(state, HISTORY, job=3, walltimes=[6200.0, 20_000.0], draws=8, arrivals="none")
    assert max(request.walltime for request in advice.requests) == 10_000.0
    own = advice.request_for("own")
    assert own is not None
    assert (own.nodes, own.walltime) == (1, 10_000.0)
    places = {request.walltime: place for place, request in enumerate(advice.requests)}
    # With 6,200 s it goes before job 4, which was submitted later; submitted now it would find the hole taken.
    assert np.all(advice.waits[:, places[6200.0]] == 0)
    late = advise(state, HISTORY, nodes=1, walltime=6200.0, user="ann", draws=8, arrivals="none")
    assert np.all(late.waits[:, [request.walltime for request in late.requests].index(6200.0)] > 0)
    # What it is expected to do is what a forecast tells of it.
    prediction = forecast(state, HISTORY, jobs=[3], draws=8, arrivals="none")
    assert np.array_equal(prediction.waits[:, 0], advice.waits[:, places[10_000.0]])
    for job, sentence in ((1, "job 1 must be a waiting one, and runs already"), (9, "is neither waiting nor running")):
        with pytest.raises(InputError, match=sentence):
            advise(state, HISTORY, job=job)
    with pytest.raises(InputError, match="job 3 has its nodes, walltime, user and project; give none of them"):
        advise(state, HISTORY, job=3, nodes=2)
    with pytest.raises(InputError, match="give the nodes of the job, or the id of a waiting one"):
        advise(state, HISTORY, walltime=60.0)


def test_a_request_keeps_its_draws_beside_others() -> None:
    few, many = make_advice(walltimes=[2000.0]), make_advice(walltimes=[1500.0, 2000.0, 4000.0])

    def of(advice: Advice) -> np.ndarray:
        place = next(place for place, request in enumerate(advice.requests) if request.walltime == 2000.0)
        return advice.waits[:, place]

    assert np.array_equal(of(few), of(many))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"nodes": 5}, "nodes must be a whole number from 1 to the 4 nodes of the machine, not 5"),
        ({"walltime": None}, "give the walltime that you would ask for, or runtimes of the job"),
        ({"walltime": 0.0}, "walltime must be a duration above 0 .s., not 0.0"),
        ({"walltimes": [60.0, -1.0]}, "walltimes must be durations above 0 .s., not -1.0"),
        ({"sizes": {2: 0.0}}, "runtime on 2 nodes must be a multiple above 0 of the runtime, not 0.0"),
        ({"draws": 0}, "draws must be a whole number of at least 1, not 0"),
        ({"checkpoint": -1.0}, "checkpoint must be"),
        ({"runtimes": []}, "samples must be at least one runtime"),
        ({"order": "fcsf"}, "order"),
    ],
)
def test_one_sentence_each(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as error:
        make_advice(**given)
    assert "\n" not in str(error.value)


# The command.


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A log in which one job runs, a wide one waits, and thirty have ended; times are hours but for the last submit."""
    rows = []
    for number in range(1, 31):
        runtime = 3600 if number % 2 else 36_000
        rows.append((number, 40_000 * number, 600 * (number % 3), runtime, 1, 36_000 + 3600 * (number % 3)))
    at = 40_000 * 33
    rows += [(40, at - 5000, 0, 7000, 3, 9000), (41, at - 900, 99_999, 3600, 4, 3600), (42, at + 60, 0, 60, 1, 60)]
    path = tmp_path_factory.mktemp("log") / "log.swf"
    lines = [
        f"{number} {submit} {wait} {runtime} {nodes} -1 -1 {nodes} {walltime} -1 1 7 -1 -1 -1 -1 -1 -1"
        for number, submit, wait, runtime, nodes, walltime in rows
    ]
    path.write_text("\n".join(["; MaxNodes: 4", *lines]) + "\n")
    return str(path)


WORDS = ["--at", str(40_000 * 32), "--draws", "6", "--workers", "1", "--arrivals", "none", "--walltime", "11h"]


def test_the_command(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["advise", log, *WORDS, "--user", "7", "--nodes", "1,2:0.98", "--checkpoint", "5m", "--restart", "2m"]
    assert cli.main([*words, "--json", str(tmp_path / "a.json")]) == 0
    output, facts = capsys.readouterr().out, json.loads((tmp_path / "a.json").read_text())
    best = facts["best"]
    # The free node is free until job 40 ends, 9,000 s after its start, 4,000 s from now.
    assert (best["nodes"], best["wait"], best["backfilled"]) == (1, 0.0, 1.0)
    assert best["walltime"] <= 4000
    assert {request["nodes"] for request in facts["requests"]} == {1, 2}
    assert facts["gains"]["over_own"]["low"] > 0
    assert facts["plan"]["reservations"][0]["length"] == best["walltime"]
    assert f"Ask for 1 node for {walltime_text(best['walltime'])}: the expected response time is" in output
    assert "less than with your own request of 1 node for 11:00:00" in output
    assert "a checkpoint keeps its work" in output
    assert "come from draws in which the request is backfilled" in output
    assert cli.main([*words[:-5], "1,2", "--serial", "0.98"]) == 0
    assert "its work is lost" in capsys.readouterr().out


def test_the_command_for_a_waiting_job(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["advise", log, *WORDS[:-2]]
    assert cli.main([*words, "--job", "41"]) == 0
    assert "your own request" in capsys.readouterr().out
    for more, sentence in (
        (["--job", "40"], "job 40 must be a waiting one, and runs already"),
        (["--job", "41", "--nodes", "2"], "--job 41 asks for its own nodes and walltime; leave out --nodes"),
        (["--job", "x"], "--job must be"),
    ):
        assert cli.main([*words, *more]) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--nodes", "5"], "--nodes must be at most the 4 nodes of the machine, not 5"),
        ([], "--nodes must be given, the nodes of the job"),
        (["--nodes", "1,2"], "--nodes 1,2: give the runtime on 2 nodes over that on 1, as 2:0.55, or --serial SHARE"),
        (["--nodes", "1:0.5"], "--nodes must be a first size without a runtime, which is 1, not '1:0.5'"),
        (["--nodes", "1,2:x"], "--nodes must be sizes with a multiple above 0 of the first runtime"),
        (["--nodes", "1,1:2"], "--nodes must be different sizes, not '1,1:2'"),
        (["--nodes", "1", "--walltimes", "1h,0"], "above 0, not '0'"),
        (["--nodes", "1", "--walltime", "1:30"], "--walltime must be seconds, or [D-]HH:MM:SS, or a duration such as"),
        (["--nodes", "1", "--restart", "1m"], "--restart reads a checkpoint"),
        (["--nodes", "1", "--mean", "1h"], "--mean describes a distribution: name it with --distribution"),
        (["--nodes", "1", "--at", "99999999"], "the time must lie within the log, from 40,000 s to"),
        (["--nodes", "1", "--at", "0"], "no run had ended by then"),
        (["--nodes", "1", "--machine", "2"], "need more than the 2 nodes of the machine"),
        (["--nodes", "1", "--order", "fcsf"], "unknown order 'fcsf'"),
    ],
)
def test_one_sentence_of_the_command(
    words: list[str], sentence: str, log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["advise", log, *WORDS, *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_runtimes_of_a_file_or_a_distribution(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs.txt").write_text("30m\n2h\n")
    words = ["advise", log, *WORDS[:-2], "--nodes", "1", "--json", str(tmp_path / "a.json")]
    # The hole of 4,000 s holds the short run, and no run of the distribution: no start is earlier than another one.
    for runtime, best in (
        (["--runs", str(tmp_path / "runs.txt")], 1800.0),
        (["--distribution", "uniform", "--min", "100m", "--max", "2h"], 7200.0),
    ):
        assert cli.main([*words, *runtime]) == 0
        facts = json.loads((tmp_path / "a.json").read_text())
        assert facts["best"]["walltime"] == pytest.approx(best, abs=60)
        assert list(facts["gains"]) == ["over_planner"]
    assert cli.main(words) == 2
    assert "give the walltime that you would ask for as --walltime, or runtimes" in capsys.readouterr().err


@pytest.mark.pictures("plot_advice")
def test_the_picture() -> None:
    for advice in (make_advice(walltimes=[3000.0]), make_advice(sizes={2: 0.5}, walltimes=[3000.0])):
        left, right = plot_advice(advice.rows(), advice.responses).axes
        assert left.get_xscale() == "log"
        assert len(right.get_lines()) == 1 + (advice.best is not advice.request_for("own"))
