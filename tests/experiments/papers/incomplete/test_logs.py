"""Run logs with sessions, strategies made from parts of them, and what figures 6 and 7 of [S] say of them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from holdfast.experiments.papers.incomplete import sampling as incomplete_sampling
from holdfast.experiments.papers.incomplete.logs import (
    FIGURE_6,
    RunLog,
    generate_log,
    likeness,
    list_applications,
    read_logs,
)
from holdfast.experiments.papers.incomplete.sampling import Logs, fit_plan, measure_logs, optimal_plan
from holdfast.experiments.study.experiment import Resources, find_experiment, run_experiment
from holdfast.experiments.study.verdicts import Outcome, Verdict
from holdfast.workloads.distributions import exponential, from_samples
from holdfast.workloads.fits import Samples, selection
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from tests.shared_data import shared_file

FEW = ("norm", "gamma", "truncexpon")
SMALL = Logs(applications=("cerebellum",), runs=60, sizes=(6, 30), repetitions=2, cells=40, families=FEW)


@pytest.mark.system
def test_the_logs_have_the_printed_numbers_of_runs() -> None:
    assert [list_applications()[name].runs for name in FIGURE_6] == [718, 1151, 17416, 3774, 2411, 17416]
    assert len(generate_log("cerebellum", 0)) == 718
    whole = generate_log("whole-brain", 0)
    assert 3 <= whole.times.min() < 4
    assert 70 < whole.times.max() <= 78
    assert whole.interarrival == pytest.approx(365 * 24 / 17416)


@pytest.mark.system
@pytest.mark.parametrize("name", [*FIGURE_6, "orbital"])
def test_sessions_do_not_change_the_distribution(name: str) -> None:
    log = generate_log(name, 3)
    assert log.distribution is not None
    # Were the times themselves alike within sessions, 7 sessions would not be a sample of the distribution.
    assert stats.kstest(log.times, log.distribution.cdf).pvalue > 0.01


@pytest.mark.system
@pytest.mark.parametrize(("name", "lag"), [("orbital", 1), ("whole-brain", 5), ("surface", 10)])
def test_runs_are_as_alike_as_their_sessions_say(name: str, lag: int) -> None:
    application = list_applications()[name]
    ranks = stats.rankdata(generate_log(name, 5, 60_000).times)
    # Geometric sessions: both runs in one with probability p^lag; else in the next one, mostly.
    together = (1 - 1 / application.session) ** lag
    latent = application.likeness * (together + (1 - together) * application.drift)
    expected = 6 / np.pi * np.arcsin(latent / 2)
    assert np.corrcoef(ranks[:-lag], ranks[lag:])[0, 1] == pytest.approx(expected, abs=0.04)


def test_the_surface_distribution_is_that_of_figure_2() -> None:
    from holdfast.experiments.papers.incomplete.behaviour import Inputs, _measure_inputs

    rows = _measure_inputs(Inputs(runs=5000), 1)[""]
    distribution = list_applications()["surface"].distribution
    assert stats.kstest([row["time_h"] for row in rows], distribution.cdf).pvalue > 0.01


def test_logs_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="surface"):
        generate_log("surfaces", 0)
    with pytest.raises(ParameterError, match="runs"):
        generate_log("surface", 0, 1)
    with pytest.raises(ParameterError, match="lags"):
        likeness([1.0, 2.0, 3.0], 5, 3, np.random.default_rng(0))


def test_likeness_is_spearmans_and_chance_is_counted() -> None:
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.normal(size=80)) + 50
    rows = likeness(times, 3, 99, rng)
    for row in rows:
        lag = int(row["lag"])
        # Ranks within the log, not within its two parts: nearly the same.
        assert row["correlation"] == pytest.approx(stats.spearmanr(times[:-lag], times[lag:])[0], abs=0.03)
        assert row["chance"] == 0.01
    [alone] = likeness(rng.permutation(times), 1, 199, rng)
    assert alone["low"] < alone["correlation"] < alone["high"]
    assert alone["chance"] > 0.01


def write_makespans(path: Path, rows: list[tuple[str, float]]) -> str:
    lines = [f"{place},{dataset},{seconds}" for place, (dataset, seconds) in enumerate(rows)]
    path.write_text("\n".join(["run,dataset,makespan_s", *lines]) + "\n")
    return str(path)


def test_measured_logs_are_one_a_dataset_and_all(tmp_path: Path) -> None:
    path = write_makespans(tmp_path / "m.csv", [("A", 3600), ("B", 7200), ("A", 1800)])
    logs = read_logs(path)
    assert {name: log.times.tolist() for name, log in logs.items()} == {"A": [1, 0.5], "B": [2], "all": [1, 2, 0.5]}
    assert list(read_logs(write_makespans(tmp_path / "one.csv", [("A", 1), ("A", 2)]))) == ["A"]
    with pytest.raises(InputError, match="above 0"):
        read_logs(write_makespans(tmp_path / "zero.csv", [("A", 0)]))


def cost_by_hand(reservations: list[float], times: np.ndarray) -> float:
    total = 0.0
    for time in times:
        for reservation in itertools.chain(reservations, (reservations[-1] * 1.5**k for k in itertools.count(1))):
            total += reservation
            if time <= reservation:
                break
    return total / len(times)


def test_the_optimum_is_the_cheapest_of_all_sequences() -> None:
    times = np.array([1.0, 7.0, 2.0, 2.5, 9.0, 2.0, 8.0])
    values = sorted(set(times))
    sequences = ([*chosen, values[-1]] for k in range(len(values)) for chosen in itertools.combinations(values[:-1], k))
    best = min(cost_by_hand(list(sequence), times) for sequence in sequences)
    plan = optimal_plan(RunLog("x", "x", times))
    assert plan.paid_cost(times).mean() == pytest.approx(best)
    assert cost_by_hand(plan.milestones.tolist(), times) == pytest.approx(best)


def test_strategies_end_with_the_samples_or_with_the_bound() -> None:
    samples = Samples.of([2.0, 4.0, 6.0])
    # A mean spacing more than the largest sample, whatever the distribution's own end is.
    assert fit_plan(exponential(3.0), samples, 50).milestones[-1] == pytest.approx(8.0)
    assert fit_plan(from_samples([2.0, 4.0, 6.0]), samples, 50).milestones[-1] == 6.0
    assert fit_plan(exponential(3.0), Samples.of([2.0, 6.0], 20.0), 50).milestones[-1] == 20.0


@pytest.mark.system
def test_rows_cost_what_reservations_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def remember_plan(*arguments: Any) -> Any:
        made.append(fit_plan(*arguments))
        return made[-1]

    monkeypatch.setattr(incomplete_sampling, "fit_plan", remember_plan)
    log = generate_log("cerebellum", 4, 60)
    rows = measure_logs(SMALL, ["consecutive", "random"], 4)
    assert len(rows) == len(made) == 2 * 2 * 2 * 4
    for row, plan in zip(rows, made, strict=True):
        assert row["cost_h"] == pytest.approx(cost_by_hand(plan.milestones.tolist(), log.times))
        assert row["outlived"] == np.sum(log.times > plan.milestones[-1])
        assert row["loss"] >= 0
    for place in range(0, len(rows), 4):
        by = {row["estimator"]: row for row in rows[place : place + 4]}
        assert by["nearest"]["error"] == min(by["polynomial"]["error"], by["usual"]["error"])
    bound = measure_logs(replace(SMALL, ends="bound"), ["consecutive"], 4)
    assert {row["outlived"] for row in bound} == {0}


def test_samples_are_windows_or_scattered() -> None:
    log = RunLog("x", "x", np.arange(1.0, 41.0))
    for repetition in range(20):
        task = incomplete_sampling._Task("x", "consecutive", 10, repetition, 1, SMALL)
        assert np.all(np.diff(incomplete_sampling._draw_past(log, task)) == 1)
        scattered = incomplete_sampling._draw_past(log, replace(task, sampling="random"))
        assert len(set(scattered)) == 10
        assert np.ptp(scattered) > 10
    whole = incomplete_sampling._Task("x", "consecutive", 40, 0, 1, SMALL)
    assert incomplete_sampling._draw_past(log, whole).tolist() == log.times.tolist()


@pytest.mark.system
def test_measuring_depends_on_nothing_else(tmp_path: Path) -> None:
    rows = measure_logs(SMALL, ["consecutive"], 1)
    resources = Resources(tmp_path, workers=2)
    assert rows == measure_logs(SMALL, ["consecutive"], 1, resources)
    # What is stored serves a larger setting: only the other draws are worked out.
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "pieces").iterdir()}
    more = measure_logs(replace(SMALL, sizes=(*SMALL.sizes, 40)), ["consecutive"], 1, resources)
    assert [row for row in more if row["samples"] != 40] == rows
    now = {path: path.stat().st_mtime_ns for path in (tmp_path / "pieces").iterdir()}
    assert kept.items() < now.items()
    assert [row for row in rows if row["samples"] == 30] == measure_logs(
        replace(SMALL, sizes=(30,)), ["consecutive"], 1
    )
    # A log without so many runs goes without that size.
    assert {row["samples"] for row in measure_logs(replace(SMALL, sizes=(6, 70)), ["random"], 1)} == {6}
    for wrong in ({"sizes": ()}, {"sizes": (1,)}, {"sizes": (70,)}, {"repetitions": 0}, {"ends": "nowhere"}):
        with pytest.raises(ParameterError):
            measure_logs(replace(SMALL, **wrong), ["random"], 1)


def test_the_chosen_distribution_is_found_from_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    # The 27 usual distributions take seconds.
    few = {name: method for name, method in selection.METHODS.items() if not name.startswith("usual")}
    monkeypatch.setattr(selection, "METHODS", few)
    setting = replace(SMALL, sizes=(12,), repetitions=2, chosen_repetitions=1)
    rows = measure_logs(setting, ["consecutive"], 1)
    chosen = [row for row in rows if row["estimator"] == "chosen"]
    assert [row["repetition"] for row in chosen] == [0]
    assert chosen[0]["loss"] >= 0


# -- verdicts --


def tables(losses: dict[tuple[str, str, str, int], float], measured: int, ends: str = "samples") -> dict[str, Any]:
    names = list(dict.fromkeys(name for name, *_ in losses))
    rows = [
        {"application": name, "sampling": sampling, "samples": size, "repetition": repetition, "estimator": estimator}
        | {"loss": loss * factor}
        for (name, sampling, estimator, size), loss in losses.items()
        for repetition, factor in enumerate((0.98, 0.99, 1.0, 1.01, 1.02))
    ]
    return {
        "": rows,
        "logs": [{"application": name, "title": name, "runs": 100 + place} for place, name in enumerate(names)],
        "data": [{"measured": measured, "runs": 1, "why": "made up"}],
        "settings": [{"ends": ends}],
    }


THERE = {Outcome.HOLDS: "there it holds", Outcome.FAILS: "there it does not hold", Outcome.UNDECIDED: "undecided"}


def outcomes(verdicts: list[Verdict], word: str) -> set[Outcome]:
    """What holds on these logs; they are none of the paper's, so that no verdict is comparable."""
    found = [verdict for verdict in verdicts if word in verdict.claim]
    assert found, word
    assert {verdict.outcome for verdict in found} == {Outcome.NOT_COMPARABLE}
    return {outcome for outcome, words in THERE.items() for verdict in found if words in verdict.remark}


def figure_6(discrete: list[float], continuous: list[float], measured: int = 1) -> list[Verdict]:
    losses = {}
    for name in ("surface", "whole-brain", "other"):
        for size, first, second in zip((10, 110, 510), discrete, continuous, strict=True):
            losses[name, "consecutive", "discrete", size] = first
            for estimator in ("polynomial", "usual", "nearest"):
                losses[name, "consecutive", estimator, size] = second
    return list(find_experiment("incomplete-fig6").judge(tables(losses, measured)))


def test_verdicts_of_figure_6_can_fail() -> None:
    good = figure_6([0.3, 0.1, 0.01], [0.09, 0.04, 0.02])
    bad = figure_6([0.2, 0.1, 0.05], [0.3, 0.2, 0.4])
    for word in ("majority", "converges", "about 10 past", "about 100 past", "few runs", "10 runs give"):
        assert outcomes(good, word) == {Outcome.HOLDS}, word
    for word in ("majority", "converges", "about 10 past", "about 100 past", "10 runs give"):
        assert outcomes(bad, word) == {Outcome.FAILS}, word
    reverse = figure_6([0.2, 0.1, 0.05], [0.1, 0.05, 0.01])
    assert outcomes(reverse, "few runs") == {Outcome.FAILS}
    for verdict in good:
        assert verdict.remark.startswith("the runs are of SLANT")
    for verdict in figure_6([0.3, 0.1, 0.01], [0.09, 0.04, 0.02], 0):
        assert verdict.remark.startswith("made up")


def test_the_whole_brain_must_vary_most() -> None:
    def verdict_outcomes(wide: str) -> set[Outcome]:
        losses = {
            (name, "consecutive", estimator, 60): 0.5 if name == wide else 0.1
            for name in ("surface", "whole-brain")
            for estimator in ("discrete", "polynomial", "usual", "nearest")
        }
        return outcomes(list(find_experiment("incomplete-fig6").judge(tables(losses, 1))), "vary most")

    assert verdict_outcomes("whole-brain") == {Outcome.HOLDS}
    assert verdict_outcomes("surface") == {Outcome.FAILS}


def figure_7(random: float, correlation: float, chance: float, ends: str = "samples") -> list[Verdict]:
    losses = {
        ("x", sampling, estimator, size): loss
        for sampling, loss in (("consecutive", 1.5), ("random", random))
        for estimator in ("discrete", "polynomial", "usual", "nearest")
        for size in (10, 60)
    }
    made = tables(losses, 1, ends)
    made["likeness"] = [{"application": "x", "lag": 1, "correlation": correlation, "chance": chance}]
    return list(find_experiment("incomplete-fig7").judge(made))


def test_verdicts_of_figure_7_can_fail() -> None:
    good, bad = figure_7(0.1, 0.6, 0.001), figure_7(1.6, -0.1, 0.99)
    for word in ("share patterns", "50 %", "every number"):
        assert outcomes(good, word) == {Outcome.HOLDS}, word
        assert outcomes(bad, word) == {Outcome.FAILS}, word
    assert outcomes(figure_7(0.1, 0.1, 0.3), "share patterns") == {Outcome.UNDECIDED}
    # 2.5 to 1.4 times the optimum is 44 %.
    assert outcomes(figure_7(0.4, 0.6, 0.001), "50 %") == {Outcome.FAILS}
    assert "knows the longest run" in figure_7(0.1, 0.6, 0.001, "bound")[0].remark


@pytest.mark.system
def test_measured_runs_of_slant_are_alike(tmp_path: Path) -> None:
    item = find_experiment("incomplete-fig7")
    path = str(shared_file("slant", "slant_makespan.csv"))
    parameters = replace(item.quick, makespans=path, sizes=(10, 80), repetitions=2, families=FEW, cells=100)
    verdicts = run_experiment(item, parameters, 0, tmp_path, "0", workers=1)
    assert outcomes(verdicts, "share patterns") == {Outcome.HOLDS}
    assert [verdict.claim.partition(":")[0] for verdict in verdicts[::3]] == [
        "SLANT, OASIS",
        "SLANT, DRD",
        "SLANT, all",
    ]
