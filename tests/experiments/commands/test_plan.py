"""``holdfast plan``: what it prints, writes and draws, and how it refuses."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.figures.planning.plans import plot_plan
from holdfast.experiments.planning.plan_document import fit_table, plan_table
from holdfast.experiments.planning.plan_inputs import DISTRIBUTIONS, make_distribution, parse_unit, read_runs
from holdfast.policies.planning.costs import CostModel
from holdfast.workloads.fits import selection
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import walltime_text
from tests.fuzz.plans import command_line, fault
from tests.places import GOLDEN, ROOT

#: One way to write each of the nine distributions, and its mean [h] by the textbook (None: truncated).
WORDS: dict[str, tuple[str, float | None]] = {
    "exponential": ("--mean 1h", 1.0),
    "weibull": ("--scale 1h --shape 0.5", 2.0),
    "gamma": ("--shape 2 --scale 0.5h", 1.0),
    "lognormal": ("--mean 21h --std 20h", 21.0),
    "truncated-normal": ("--mean 8h --std 1.41421356h --min 1h --max 20h", 8.0),
    "pareto": ("--min 1.5h --shape 3", 2.25),
    "uniform": ("--min 1h --max 20h", 10.5),
    "beta": ("--shape 2 --shape2 2 --max 1h", 0.5),
    "bounded-pareto": ("--min 1h --max 20h --shape 2.1", None),
}


def plan(capsys: pytest.CaptureFixture[str], words: str) -> dict[str, Any]:
    """The JSON document that the command writes to standard output."""
    assert cli.main(["plan", *words.split(), "--json", "-"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence of a refusal."""
    try:
        status = cli.main(["plan", *words])
    except SystemExit as stopped:  # argparse
        status = int(stopped.code or 0)
    shown = capsys.readouterr()
    assert status == 2
    assert not shown.out
    lines = shown.err.strip().splitlines()
    assert len(lines) == 1, lines
    assert "Traceback" not in lines[0]
    return lines[0]


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_every_distribution_makes_a_plan(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, mean = WORDS[name]
    document = plan(capsys, f"{name} {words} --checkpoint 6m --restart 3m --n 200")
    assert set(document) == {
        *("strategy", "expected_cost", "omniscient_cost", "reservations"),
        *("costs", "extension", "extension_checkpointed", "sealed", "digest"),
    }
    assert document["strategy"] == "optimal"
    if mean is not None:
        assert document["omniscient_cost"] == pytest.approx(3600 * mean, rel=1e-6)
    rows = document["reservations"]
    keys = ["milestone", "checkpointed", "length", "restart", "work", "checkpoint", "probability"]
    assert all(list(row) == keys for row in rows)
    # The anatomy of a sequence (Equations 3 and 4 of [R]), from the milestones and flags alone.
    saved = 0.0
    for row in rows:
        assert row["work"] == pytest.approx(row["milestone"] - saved)
        assert row["restart"] == (180 if saved else 0)
        assert row["checkpoint"] == (360 if row["checkpointed"] else 0)
        assert row["length"] == pytest.approx(row["restart"] + row["work"] + row["checkpoint"])
        saved = row["milestone"] if row["checkpointed"] else saved
    assert not rows[-1]["checkpointed"]
    assert rows[0]["probability"] == 1
    # Theorem 1 with alpha = 1, beta = gamma = 0; beyond the last milestone lies a tail of 1e-7.
    assert document["expected_cost"] == pytest.approx(sum(r["length"] * r["probability"] for r in rows), rel=1e-4)
    assert document["expected_cost"] >= document["omniscient_cost"]


def test_golden(capsys: pytest.CaptureFixture[str]) -> None:
    words = "uniform --min 1h --max 20h --checkpoint 2h --restart 30m --n 200"
    document = plan(capsys, words)
    golden = json.loads((GOLDEN / "plan.json").read_text())
    rows, expected = document.pop("reservations"), golden.pop("reservations")
    assert document.pop("costs") == golden.pop("costs")
    assert document == pytest.approx(golden)
    assert len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        assert row == pytest.approx(other)
    assert cli.main(["plan", *words.split(), "--compare"]) == 0
    assert capsys.readouterr().out == (GOLDEN / "plan.txt").read_text()


def test_without_the_time_of_a_checkpoint_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    words = "lognormal --mean 1h --std 1h --max 9h --n 60"
    assert plan(capsys, words) == plan(capsys, f"{words} --strategy no-ckpt")
    free = plan(capsys, f"{words} --checkpoint 0")
    assert free["strategy"] == "optimal"
    assert all(row["checkpointed"] for row in free["reservations"][:-1]), "where they cost nothing they always pay"
    assert cli.main(["plan", *words.split(), "--compare"]) == 0
    table, compared = capsys.readouterr().out.split("\n\n")[1:]
    assert table.split()[:6] == ["#", "ask", "for", "needed", "s", "HH:MM:SS"]
    compared_names = {line.split()[0] for line in compared.splitlines()[3:]}
    assert compared_names == {"no-ckpt", "no-ckpt-periodic", "masi", "maximum"}
    for strategy in ("all-ckpt", "all-ckpt-periodic", "neuro"):
        sentence = refusal(capsys, *words.split()[:-2], "--strategy", strategy)
        assert f"the strategy {strategy} writes checkpoints: give the time that one takes as --checkpoint" in sentence
    assert "--restart reads a checkpoint" in refusal(capsys, *words.split(), "--restart", "1m")


def test_files_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "exponential --mean 1h --checkpoint 6m --restart 6m --gamma 1m --beta 0.5 --n 100 --strategy no-ckpt"
    files = ["--json", str(tmp_path / "plan.json"), "--plot", str(tmp_path / "plan")]
    assert cli.main(["plan", *words.split(), *files]) == 0
    out = capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json", "plan.pdf", "plan.png"]
    document = json.loads((tmp_path / "plan.json").read_text())
    assert document["omniscient_cost"] == pytest.approx(1.5 * 3600 + 60)
    assert not any(row["checkpointed"] for row in document["reservations"])
    assert walltime_text(document["reservations"][0]["length"]) in out
    assert out.count("no-ckpt") == 1, "without --compare no other strategy is shown"


def test_means_are_those_before_truncation_and_mu_has_a_unit(capsys: pytest.CaptureFixture[str]) -> None:
    distribution = make_distribution("lognormal", {"mean": "21h", "std": "20h", "max": "80h"})
    assert distribution.upper == 80 * 3600
    assert distribution.mean() < 21 * 3600
    sigma = math.sqrt(math.log1p((20 / 21) ** 2))
    mu = math.log(21) - sigma**2 / 2
    by_logarithm = make_distribution("lognormal", {"mu": repr(mu), "sigma": repr(sigma), "max": "80h"}, parse_unit("h"))
    hours = np.linspace(0.5, 79, 9) * 3600
    assert by_logarithm.sf(hours) == pytest.approx(distribution.sf(hours), rel=1e-9)
    # Without --min and --max a normal distribution is cut at 0 only.
    assert make_distribution("truncated-normal", {"mean": "1h", "std": "1h"}).lower == 0
    document = plan(capsys, "gamma --shape 2 --scale 30m --max 2h --n 50 --checkpoint 1m --restart 1m")
    assert document["reservations"][-1]["milestone"] == pytest.approx(7200)


def test_algorithm_1_is_offered_where_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    words = "uniform --min 1h --max 20h --checkpoint 6m --restart 6m"
    fine, coarse = plan(capsys, f"{words} --n 4000"), plan(capsys, f"{words} --epsilon 1")
    assert fine["expected_cost"] <= coarse["expected_cost"] <= 2 * fine["expected_cost"]
    assert "n" in refusal(capsys, "exponential", "--mean", "1h", "--epsilon", "0.1")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "give either a distribution"),
        ("exponential", "needs --mean"),
        ("exponential --mean -1h", "--mean must be a duration above 0"),
        ("exponential --mean 0", "--mean must be"),
        ("exponential --mean nan", "--mean must be"),
        ("exponential --mean 1e999h", "--mean must be"),
        ("exponential --mean long", "--mean must be"),
        ("exponential --mean 1h --shape 2", "not --shape"),
        ("weibull --scale 1h", "needs --scale --shape"),
        ("weibull --scale 1h --shape nan", "--shape must be a positive number"),
        ("uniform --min 5h --max 1h", "--max must be above --min"),
        ("lognormal --mean 1h --std 1h --max 2h --min 3h", "--max must be above --min"),
        ("lognormal --mean 1h --std 1h --mu 3", "not --mu"),
        ("lognormal --mu 1 --sigma 1 --unit parsec", "--unit must be"),
        ("exponential --mean 1h --min 1y", "any probability"),
        ("pareto --min 1h --shape 0.9", "infinite"),
        ("exponential --mean 1e300", "bound it with --max"),
        ("lognormal --mu 1 --sigma 100", "infinite mean"),
        ("exponential --mean 1h --checkpoint -1m", "--checkpoint must be"),
        ("exponential --mean 1h --checkpoint 1m --restart soon", "--restart must be"),
        ("exponential --mean 1h --alpha 0", "--alpha must be"),
        ("exponential --mean 1h --alpha 1e308", "--alpha must be"),
        ("uniform --min 0 --max 1e-200 --alpha 1e-200", "too small for a number"),
        ("exponential --mean 1h --checkpoint 1m --n 100000000", "n must be a whole number of cells from 1 to 20,000"),
        ("uniform --min 1h --max 9h --gamma 1m --epsilon 1e-9", "epsilon must be at least"),
        ("exponential --mean 1h --beta -1", "--beta must be"),
        ("exponential --mean 1h --gamma inf", "--gamma must be"),
        ("expo --mean 1h", "unknown distribution 'expo': did you mean exponential"),
        ("exponential --mean 1h --strategy optimum", "did you mean optimal"),
        ("exponential --mean 1h --strategy mem-all-ckpt", "also needs chain"),
        ("exponential --mean 1h --grid square", "unknown grid"),
        ("exponential --mean 1h --n 0", "--n must be"),
        ("exponential --mean 1h --n 10 --epsilon 1", "either --n or --epsilon"),
        ("exponential --mean 1h --strategy maximum --n 10", "does not use --n"),
        ("exponential --mean 1h --fit usual", "--fit is for past runs"),
        ("exponential --mean 1h --runs x", "give either a distribution"),
        ("--mean 1h --runs x", "--mean describes a distribution"),
    ],
)
def test_wrong_words_are_one_sentence(
    words: str, sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert sentence in refusal(
        capsys, *words.split(), "--json", str(tmp_path / "x.json"), "--plot", str(tmp_path / "x")
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_what_cannot_be_written_is_found_first(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = {"--json": "--plot", "--plot": "--json"}[option]
    words = ["uniform", "--min", "1h", "--max", "2h", "--n", "20", option, str(tmp_path / "none" / "x")]
    assert "is not a directory" in refusal(capsys, *words, other, str(tmp_path / "y"))
    assert not list(tmp_path.iterdir())


def test_a_picture_that_cannot_be_written_leaves_no_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.pdf").mkdir()
    words = ["uniform", "--min", "1h", "--max", "2h", "--n", "20", "--json", str(tmp_path / "x.json")]
    assert "is a directory" in refusal(capsys, *words, "--plot", str(tmp_path / "x"))
    assert [path.name for path in tmp_path.iterdir()] == ["x.pdf"]


def test_runs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.txt"
    path.write_text("# minutes\n90\n\n  1h30m\n2\n")
    assert read_runs(path, unit=60.0).tolist() == [5400.0, 5400.0, 120.0]
    path.write_text("job, runtime\na, 10\nb,20s\n")
    assert read_runs(path, "runtime").tolist() == [10.0, 20.0]
    for mark in ";\t|":
        path.write_text(f"JobID{mark}Elapsed\n1{mark}00:01:30\n2{mark}1-00:00:00\n")
        assert read_runs(path, "Elapsed").tolist() == [90.0, 86_400.0], mark
    for text, column, sentence in [
        ("1:30\n", None, "is not a runtime, such as 90m or 01:30:00: '1:30'"),
        ("a;1\n", None, "with --column"),
        ("", None, "is empty"),
        ("# none\n", None, "holds no runtimes"),
        ("10\nlong\n", None, r"runs.txt:2: is not a runtime, such as 90m or 01:30:00: 'long'"),
        ("10\nnan\n", None, "runs.txt:2: a runtime must be positive"),
        ("10\n-5\n", None, "must be positive"),
        ("job,runtime\na,10\n", None, "with --column"),
        ("job,runtime\na,10\n", "runtimes", "did you mean runtime"),
        ("job,runtime\na,10\nb,\n", "runtime", "runs.txt:3"),
        ("job,runtime\n", "runtime", "holds no runtimes"),
        ("10\n1e300\n", None, "must be positive and below"),
        ("job,runtime\na," + "1" * 200_000 + "\n", "runtime", "is not a CSV file"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=re.escape(sentence)):
            read_runs(path, column)
    with pytest.raises(InputError, match="no such file"):
        read_runs(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        (("COMPLETED", "completed", ""), ""),
        (("TIMEOUT", "OUT_OF_ME+", "CANCELLED by 7"), "1 CANCELLED, 1 OUT_OF_MEMORY, 1 TIMEOUT, of 3"),
    ],
)
def test_runs_that_did_not_complete_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], states: tuple[str, ...], sentence: str
) -> None:
    path = tmp_path / "runs.txt"
    path.write_text("ElapsedRaw|State\n" + "".join(f"{600 * k}|{state}\n" for k, state in enumerate(states, 1)))
    assert cli.main(["plan", "--runs", str(path), "--column", "ElapsedRaw", "--fit", "discrete"]) == 0
    warned = capsys.readouterr().err
    assert (sentence in warned) if sentence else not warned


def test_reservations_are_rounded_up_to_seconds() -> None:
    assert walltime_text(59.2) == "00:01:00"
    assert walltime_text(60.0 + 1e-9) == "00:01:00", "a rounding error is no second"
    assert walltime_text(360000) == "100:00:00"


def test_long_plans_are_cut_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    document = plan(capsys, "weibull --scale 1h --shape 0.5 --gamma 1m --n 300 --checkpoint 0")
    number = len(document["reservations"])
    assert number > 50
    lines = plan_table(document, most=10).splitlines()
    assert lines[-1].startswith(f"{number - 9} before the last one")
    assert lines[-2].split()[0] == str(number)
    assert len(lines) == 3 + 10 + 1


def test_picture_shows_the_parts(capsys: pytest.CaptureFixture[str]) -> None:
    document = plan(capsys, "uniform --min 1h --max 20h --checkpoint 2h --restart 30m --n 200")
    figure = plot_plan(document, make_distribution("uniform", {"min": "1h", "max": "20h"}))
    _, bars, needed = figure.axes
    rows = document["reservations"]
    widths = [patch.get_width() for patch in bars.patches]  # type: ignore[attr-defined]
    parts = [row[part] / 3600 for part in ("restart", "work", "checkpoint") for row in rows]
    assert widths == pytest.approx(parts)
    chances = [patch.get_width() for patch in needed.patches]  # type: ignore[attr-defined]
    assert chances == pytest.approx([100 * row["probability"] for row in rows])


@pytest.mark.system
def test_a_usual_distribution_needs_no_heavy_library() -> None:
    words = "lognormal --mean 21h --std 20h --max 80h --checkpoint 10m --restart 10m --compare"
    code = (
        f"import sys\nfrom holdfast.experiments.cli import main\nmain(['plan', *{words!r}.split()])\n"
        "print([name for name in ('scipy.stats', 'pandas', 'matplotlib', 'simpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    times = np.random.default_rng(5).gamma(4.0, 30.0, 12)
    path.write_text("job,minutes\n" + "".join(f"{row},{time!r}\n" for row, time in enumerate(times.tolist())))
    return path


@pytest.mark.parametrize("how", ["discrete", "polynomial"])
def test_past_runs(how: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"--runs {runs} --column minutes --unit m --fit {how} --checkpoint 5m --restart 5m --n 100"
    document = plan(capsys, words)
    longest = read_runs(runs, "minutes", 60.0).max()
    assert document["reservations"][-1]["milestone"] >= longest * (1 - 1e-12)
    assert cli.main(["plan", *words.split(), "--compare"]) == 0
    out = capsys.readouterr().out
    reach = f"{walltime_text(read_runs(runs, 'minutes', 60.0).min())} to {walltime_text(longest)}"
    assert f"12 past runs of runs.csv, {reach}, fitted by {how}" in out
    # Rules of thumb look at the runs themselves.
    rule = plan(capsys, f"--runs {runs} --column minutes --unit m --fit {how} --strategy maximum")
    assert [row["milestone"] for row in rule["reservations"]] == pytest.approx([longest])


def test_discrete_plans_cost_what_the_runs_would_have_paid(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = plan(capsys, f"--runs {runs} --column minutes --unit m --fit discrete --gamma 1m --strategy no-ckpt")
    ends = [row["milestone"] for row in document["reservations"]]
    paid = []
    for time in read_runs(runs, "minutes", 60.0):
        needed = ends[: 1 + sum(end < time for end in ends)]
        paid.append(sum(needed) + 60 * len(needed))
    assert document["expected_cost"] == pytest.approx(np.mean(paid))
    assert document["omniscient_cost"] == pytest.approx(read_runs(runs, "minutes", 60.0).mean() + 60)


def test_the_distribution_of_past_runs_is_chosen_from_them_alone(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The 27 usual distributions take seconds.
    few = {name: method for name, method in selection.METHODS.items() if name != "usual"}
    monkeypatch.setattr(selection, "METHODS", few)
    words = ["--runs", str(runs), "--column", "minutes", "--unit", "m", "--n", "60", "--checkpoint", "5m"]
    assert cli.main(["plan", *words, "--restart", "5m", "--plot", str(tmp_path / "plan")]) == 0
    out = capsys.readouterr().out
    assert sum(line.startswith("* ") for line in out.splitlines()) == 1
    assert (tmp_path / "plan.png").exists()


def test_a_chosen_fit_that_is_not_the_cheapest_has_a_legend() -> None:
    def row(name: str, cost: float | None, *, chosen: bool = False) -> dict[str, object]:
        return {
            "name": name,
            "error": 0.01,
            "cost": cost,
            "chosen": chosen,
            "reason": None,
            "parameters": "p 0.125, " * 20,
        }

    cheap, near, untried = row("weibull", 9.0), row("gamma", 10.0, chosen=True), row("discrete", None)
    assert "chosen" not in fit_table([{**near, "cost": 8.0}, cheap])
    assert "chosen" not in fit_table([{**untried, "chosen": True}])
    lines = fit_table([cheap, near, untried]).splitlines()
    assert lines[-1].startswith("* chosen: the nearest to the runs")
    assert [line.startswith("* gamma") for line in lines].count(True) == 1
    assert all(len(line) <= 120 for line in lines)
    assert lines[3].endswith(" ...")
    # The chosen one is shown in any case.
    shown = fit_table([*[cheap] * 9, near], most=8).splitlines()
    assert len(shown) == 3 + 8 + 1
    assert shown[-2].startswith("* gamma")


def test_wrong_runs_are_one_sentence(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown kind of fit 'usal': did you mean usual" in refusal(
        capsys, "--runs", str(runs), "--column", "minutes", "--fit", "usal"
    )
    assert "runs.csv:1" in refusal(capsys, "--runs", str(runs))
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    assert "is empty" in refusal(capsys, "--runs", str(empty), "--json", str(tmp_path / "x.json"))
    assert not (tmp_path / "x.json").exists()


def test_random_command_lines_give_a_plan_or_a_sentence(tmp_path: Path) -> None:
    found = {}
    for number in range(40):
        words = command_line(np.random.default_rng([0, number]), tmp_path)
        found[" ".join(words)] = fault(words)
    assert not {words: why for words, why in found.items() if why}


def test_a_fault_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The report of the crash is written there.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert fault(["exponential", "--mean", "1h", "--n", "9"]) is None
    assert fault(["exponential", "--mean", "nan"]) is None
    monkeypatch.setattr(CostModel, "price", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in str(
        fault(["exponential", "--mean", "1h", "--n", "9", "--strategy", "masi", "--compare"])
    )


def test_a_grid_that_grew_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    words = "pareto --min 1h --shape 1.3 --checkpoint 6m --restart 6m --strategy all-ckpt"
    document = plan(capsys, words)
    assert document["growth"]["settled"] is True
    assert cli.main(["plan", *words.split()]) == 0
    assert f"The grid of 500 cells was used up and grew to {document['growth']['cells']:,}" in capsys.readouterr().out
    assert "growth" not in plan(capsys, f"{words} --n 500")
