"""The closed loop: what it fits, when it calls its plans stable, and its command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.figures.planning.loop import plot_loop
from holdfast.experiments.planning.closed_loop import COLUMNS, Round, close_loop, wait_samples
from holdfast.experiments.planning.cost_file import read_costs
from holdfast.experiments.tables import read_csv
from holdfast.policies.planning.plan_book import Planner
from holdfast.policies.planning.waits.fitting import fit_waits
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import write_job_table
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.support.jobs import on_demand, rigid, stochastic


@pytest.fixture(scope="module")
def year() -> list[Job]:
    return assign(generate(ThetaYear(jobs=500), seed=3), seed=3, stochastic_share=0.5)


def test_waits_are_those_of_requests() -> None:
    jobs = [
        rigid(1, 0, 4, 100),
        stochastic(2, 0, 4, 30, "p", walltime=50.0),
        on_demand(3, 10, 2, 20, 40),
        rigid(4, 300, 4, 10),
    ]
    alone = simulate(jobs, 4, planner=Planner(least=99), plans={"p": _plan(20, 40)})
    # Job 2 asks for 20 s and then, having expired, for 40 s; under the baseline everybody is rigid.
    rows = sorted(zip(*(part.tolist() for part in wait_samples(alone, jobs)), strict=True))
    starts = {record.job_id: (record.start or 0) / 1e6 for record in alone.records}
    first, second = (item for item in alone.stochastic[0].reservations)
    expected = sorted(
        [
            (100.0, starts[1], 4),
            (10.0, starts[4] - 300, 4),
            (40.0, starts[3] - 10, 2),
            (20.0, first.start / 1e6, 4),
            (40.0, (second.start - first.end) / 1e6, 4),
        ]
    )
    assert rows == expected
    # Under a mechanism an on-demand job is served otherwise, and its wait is no price of a request.
    served = simulate(jobs, 4, "N-PAA", planner=Planner(least=99), plans={"p": _plan(20, 40)})
    preempted = [item for item in served.stochastic[0].reservations if item.ending == "preempted"]
    pairs = wait_samples(served, jobs)[0].tolist()
    assert len(pairs) == 2 + len(served.stochastic[0].reservations) - len(preempted)


def _plan(*milestones: float) -> object:
    from holdfast.policies.planning.plan import ReservationPlan

    return ReservationPlan(list(milestones), False)


@pytest.mark.system
def test_the_loop_ends_when_new_plans_would_gain_nothing(year: list[Job]) -> None:
    rounds: list[Round] = []
    loop = close_loop(year, 4392, rounds=4, tolerance=0.02, progress=rounds.append)
    assert [item.number for item in loop.rounds] == list(range(len(loop.rounds)))
    assert list(loop.rounds) == rounds
    first = loop.rounds[0]
    # Round 0 is a plain simulation of plans for reserved time, and what is fitted to it is what fit-costs would fit.
    plain = simulate(year, 4392, events=False)
    assert first.prices is None
    assert first.summary["turnaround_h"] == plain.summary()["turnaround_h"]
    assert first.fitted == fit_waits(*wait_samples(plain, year))
    for before, after in zip(loop.rounds, loop.rounds[1:], strict=False):
        assert after.prices == before.fitted
        assert not before.stable
    assert all(item.stable == (item.regret <= 0.02) for item in loop.rounds)
    assert loop.stable or len(loop.rounds) == 4
    # Plans made for the prices they are judged by have no regret at all.
    again = close_loop(year, 4392, rounds=1, planner=Planner(prices=first.fitted.costs_for), tolerance=0.0)
    assert first.regret > 0
    assert again.rounds[0].regret < first.regret
    assert loop.gain("turnaround_h") == pytest.approx(
        1 - loop.rounds[-1].summary["turnaround_h"] / first.summary["turnaround_h"]
    )


def test_rules_of_thumb_have_nothing_to_regret(year: list[Job]) -> None:
    rule = [replace(job, plan="masi") if job.type is JobType.STOCHASTIC else job for job in year]
    loop = close_loop(rule, 4392, rounds=3)
    assert len(loop.rounds) == 1
    assert loop.stable
    assert loop.rounds[0].regret == 0


def test_what_the_loop_refuses(year: list[Job]) -> None:
    without = [job for job in year if job.type is not JobType.STOCHASTIC]
    with pytest.raises(InputError, match="no stochastic job is planned"):
        close_loop(without, 4392)
    with pytest.raises(InputError, match="rounds"):
        close_loop(year, 4392, rounds=0)


@pytest.mark.system
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, out = tmp_path / "year.swf", tmp_path / "out"
    assert cli.main(["generate", "-o", str(trace), "--jobs", "350", "--seed", "3"]) == 0
    words = ["loop", str(trace), "-o", str(out), "--stochastic-share", "0.5", "--rounds", "2", "--seed", "3"]
    assert cli.main(words) == 0
    rows = read_csv(out / "rounds.csv")
    assert tuple(rows[0]) == COLUMNS
    assert 1 <= len(rows) <= 2
    assert {path.name for path in out.iterdir()} == {
        *("rounds.csv", "costs.json", "run.json", "jobs.csv", "loop.png", "loop.pdf")
    }
    # The prices are those that the last plans were made for; where reserved time was stable at once, those fitted.
    prices = read_costs(out / "costs.json").all
    if len(rows) == 2:
        assert (prices.alpha, prices.gamma / 3600) == pytest.approx((rows[1]["alpha"], rows[1]["gamma_h"]))
    assert np.isfinite([row["regret"] for row in rows]).all()
    capsys.readouterr()
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert cli.main(words) == 2
    assert "already holds the results of a run" in capsys.readouterr().err
    assert cli.main([*words, "--force"]) == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--mechanism", "all"], "--mechanism must be one mechanism"),
        (["--rounds", "0"], "--rounds"),
        (["--tolerance", "2"], "--tolerance"),
        (["--costs", "x.json"], "--costs cannot be used with loop"),
        (["--classes", "9,4"], "--classes"),
    ],
)
def test_wrong_words(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    assert cli.main(["loop", "none.swf", "-o", str(tmp_path / "out"), *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_trace_without_stochastic_jobs_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "year.swf"
    assert cli.main(["generate", "-o", str(trace), "--jobs", "50"]) == 0
    assert cli.main(["loop", str(trace), "-o", str(tmp_path / "out")]) == 2
    assert "no stochastic job is planned" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_points_of_the_figure_have_room_above() -> None:
    columns = ("alpha", "fitted_alpha", "turnaround_stochastic_h", "turnaround_h", "reservations_per_job")
    rounds = ((1.0, 0.491, 5.67, 3.3, 1.79), (0.491, 0.568, 5.76, 3.49, 1.48), (0.568, 0.473, 5.71, 3.3, 1.59))
    figure = plot_loop([{"round": row, **dict(zip(columns, rounds[row], strict=True))} for row in range(3)])
    for axes, largest in zip(figure.axes, (1.0, 5.76, 1.79), strict=True):
        assert axes.get_ylim() == pytest.approx((0, 1.12 * largest))


def test_equal_responses_are_neither_sooner_nor_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The only round is that of plans for reserved time.
    table = tmp_path / "table.csv"
    write_job_table([stochastic(row, 100 * row, 4, 30, "optimal", walltime=50.0) for row in range(1, 9)], table)
    assert cli.main(["loop", str(table), "--nodes", "4", "--rounds", "1", "--known-runs", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "all jobs respond as soon as with plans for reserved time" in lines
