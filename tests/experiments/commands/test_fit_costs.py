"""``holdfast fit-costs`` and ``holdfast plan --costs``: what they read, write and draw, and how they refuse."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.figures.planning.costs import plot_costs
from holdfast.experiments.planning.cost_file import read_costs
from holdfast.experiments.planning.wait_pairs import pairs_of_results
from holdfast.policies.planning.waits.fitting import fit_waits
from holdfast.workloads.ground.errors import InputError
from tests.places import GOLDEN
from tests.support.jobs import reseal

#: Twelve jobs of 1 to 8 processors that asked for 1 to 12 h and waited half of it and 10 minutes; the last wait is
#: unknown.
_WAITS = [600 + 1800 * row for row in range(1, 12)] + [-1]
SWF = "; MaxProcs: 16\n" + "".join(
    f"{row} {600 * row} {wait} 1800 {size} -1 -1 {size} {3600 * row} -1 1 1 1 -1 1 -1 -1 -1\n"
    for row, (size, wait) in enumerate(zip([8, 4, 2, 1] * 3, _WAITS, strict=True), 1)
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    path.write_text(SWF)
    return path


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The golden job table under two mechanisms."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.csv").write_text((GOLDEN / "small.csv").read_text())
    words = ["run", "small.csv", "-o", "results", "--nodes", "16", "--mechanism", "baseline,CUA-SPAA"]
    assert cli.main(words) == 0
    return tmp_path / "results"


def fit_costs(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The JSON document that the command writes to standard output."""
    capsys.readouterr()
    assert cli.main(["fit-costs", *words, "-o", "-"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence of a refusal."""
    capsys.readouterr()
    try:
        status = cli.main(list(words))
    except SystemExit as stopped:  # argparse
        status = int(stopped.code or 0)
    shown = capsys.readouterr()
    assert status == 2
    assert not shown.out
    lines = shown.err.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"holdfast {words[0]}: ")
    return lines[0]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_trace_that_records_waits(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = fit_costs(capsys, str(trace))
    assert document["unit"] == "s"
    assert document["source"]["path"] == str(trace)
    assert len(document["source"]["sha256"]) == 64
    assert (document["all"]["alpha"], document["all"]["beta"], document["all"]["gamma"]) == pytest.approx(
        (0.5, 1.0, 600.0)
    )
    assert document["all"]["pairs"] == 11
    assert document["classes"] == [], "too few jobs for classes"
    words = ["fit-costs", str(trace), "-o", str(tmp_path / "costs.json"), "--plot", str(tmp_path / "fit")]
    assert cli.main([*words, "--classes", "1,4"]) == 0
    out = capsys.readouterr().out
    assert "11 pairs of walltime and wait: log.swf, recorded; left out: 1 wait not recorded" in out
    assert [line.split()[:2] for line in out.splitlines() if "too few: as all" in line] == [
        ["1", "2"],
        ["2", "-"],
        ["5", "-"],
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"log.swf", "costs.json", "fit.png", "fit.pdf"}
    model = read_costs(tmp_path / "costs.json")
    assert [(each.nodes_from, each.nodes_to, each.fit.pairs) for each in model.classes] == [
        (1, 1, 2),
        (2, 4, 6),
        (5, None, 3),
    ]
    assert model.costs_for(4) == pytest.approx((0.5, 1.0, 600.0))
    # Processors of a node of four: sizes 2, 1, 1, 1.
    assert cli.main([*words, "--classes", "1", "--procs-per-node", "4"]) == 0
    assert [each.fit.pairs for each in read_costs(tmp_path / "costs.json").classes] == [8, 3]
    # Who does not fit on the machine is no example.
    assert fit_costs(capsys, str(trace), "--nodes", "4")["all"]["pairs"] == 8


def test_golden(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Written down once and read by a person; the numbers are those of numpy for the pairs of the two CSV files."""
    document = fit_costs(capsys, "results", "--mechanism", "baseline", "--classes", "4")
    golden = json.loads((GOLDEN / "costs.json").read_text())
    assert document.pop("holdfast")
    assert document["source"] == golden["source"]
    free = golden["all"]["unconstrained"]
    assert document["all"].pop("unconstrained") == pytest.approx(golden["all"].pop("unconstrained"))
    for ours, theirs in zip([document["all"], *document["classes"]], [golden["all"], *golden["classes"]], strict=True):
        assert ours == pytest.approx(theirs)
    assert cli.main(["fit-costs", "results", "--mechanism", "baseline", "--classes", "4"]) == 0
    assert capsys.readouterr().out == (GOLDEN / "costs.txt").read_text()
    waits = {row["job_id"]: row["wait"] for row in rows(results / "jobs-baseline.csv")}
    sample = [
        (float(row["trace_walltime"] or row["walltime"]), float(waits[row["job_id"]]))
        for row in rows(GOLDEN / "small.csv")
        if waits[row["job_id"]]
    ]
    walltimes, values = np.array(sample).T
    (slope, intercept), *_ = np.linalg.lstsq(np.column_stack((walltimes, np.ones(len(values)))), values, rcond=None)
    assert document["all"]["pairs"] == len(sample) == 9
    assert slope < 0, "the golden example stands at the bound of alpha"
    assert document["all"]["alpha"] == 0.001
    assert document["all"]["gamma"] == pytest.approx(values.mean() - 0.001 * walltimes.mean())
    assert (free["alpha"], free["gamma"]) == pytest.approx((slope, intercept))


def test_under_a_mechanism_only_rigid_jobs_wait_as_a_reservation_would(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = pairs_of_results(results, "CUA-SPAA")
    rigid = {row["job_id"]: row for row in rows(GOLDEN / "small.csv") if row["type"] == "rigid"}
    waits = {row["job_id"]: float(row["wait"]) for row in rows(results / "jobs-CUA-SPAA.csv") if row["job_id"] in rigid}
    assert pairs.walltimes.tolist() == [float(row["walltime"]) for row in rigid.values()]
    assert pairs.waits.tolist() == list(waits.values())
    assert pairs.nodes.tolist() == [int(row["nodes"]) for row in rigid.values()]
    assert pairs.left_out == {"malleable, served otherwise": 2, "on-demand, served otherwise": 3, "never came": 1}
    assert cli.main(["fit-costs", str(results), "--mechanism", "cua-spaa"]) == 0
    assert "4 pairs of walltime and wait: results, simulated under CUA-SPAA; left out: " in capsys.readouterr().out


def test_a_trace_under_the_baseline_alone_has_its_walltimes_in_the_trace(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(trace), "-o", str(tmp_path / "out"), "--mechanism", "baseline", "--procs-per-node", "2"]
    words += ["--nodes", "4"]
    assert cli.main(words) == 0
    assert not (tmp_path / "out" / "jobs.csv").exists()
    pairs = pairs_of_results(tmp_path / "out")
    assert pairs.walltimes.tolist() == [3600.0 * row for row in range(1, 13)]
    assert pairs.nodes.tolist() == [4, 2, 1, 1] * 3
    waits = [float(row["wait"]) for row in rows(tmp_path / "out" / "jobs-baseline.csv")]
    assert pairs.waits.tolist() == waits
    assert max(waits) > 0
    # Several mechanisms: the job table lies beside the results.
    words[5] = "baseline,N-PAA"
    assert cli.main([*words, "--force"]) == 0
    assert sorted(pairs_of_results(tmp_path / "out", "baseline").walltimes) == [3600.0 * row for row in range(1, 13)]
    (tmp_path / "out" / "jobs.csv").unlink()
    reseal(tmp_path / "out")
    assert "has no jobs.csv" in refusal(capsys, "fit-costs", str(tmp_path / "out"), "--mechanism", "N-PAA")


@pytest.mark.parametrize(
    ("submit", "sentence"),
    [
        ("9223372036854775808", "jobs-baseline.csv:2: job 1 does not start before its submit"),
        ("1e300", "jobs-baseline.csv:2: submit must be a number of at most 1e+24, not '1e300'"),
    ],
)
def test_a_result_with_a_submit_beyond_all_clocks_is_refused(
    submit: str, sentence: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = results / "jobs-baseline.csv"
    lines = path.read_text().splitlines()
    cells = lines[1].split(",")
    cells[lines[0].split(",").index("submit")] = submit
    path.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")
    reseal(results)
    assert sentence in refusal(capsys, "fit-costs", str(results), "--mechanism", "baseline")


def test_the_window_of_the_run_is_that_of_the_fit(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "small.csv", "-o", "results", "--nodes", "16", "--mechanism", "baseline"]
    assert cli.main([*words, "--warmup", "300", "--cooldown", "1h", "--force"]) == 0
    pairs = pairs_of_results(results)
    # Submits are 0, 60, 300, 900, 1500, 2400, 3000, 5700, 9000: jobs 3, 4, 5, 7, 10 are left.
    assert sorted(pairs.nodes.tolist()) == [2, 4, 6, 9, 16]
    assert pairs.left_out == {"outside the window of the run": 4, "never came": 1}
    assert fit_costs(capsys, "results")["all"]["pairs"] == 5


def stochastic(results: Path, reservations: str) -> None:
    """Make job 7 of the baseline a stochastic job with these reservations."""
    path = results / "jobs-baseline.csv"
    path.write_text(path.read_text().replace("\n7,rigid,", "\n7,stochastic,"))
    (results / "reservations-baseline.csv").write_text(reservations)
    reseal(results, add=["reservations-baseline.csv"])


def test_reservations_count_and_their_jobs_do_not(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = pairs_of_results(results, "baseline")
    head = "job_id,number,submit,start,end,nodes,length,ending\n"
    rows = "7,1,1500,2500,3500,16,1000,expired\n7,2,3500,12000,12200,16,777.5,preempted\n"
    stochastic(results, f"{head}{rows}7,3,3500,13000,13777.5,16,777.5,expired\n7,4,13777.5,,,16,900,completed\n")
    after = pairs_of_results(results, "baseline")
    kept = before.nodes != 16
    assert after.walltimes.tolist() == [*before.walltimes[kept], 1000.0, 777.5]
    assert after.waits.tolist() == [*before.waits[kept], 1000.0, 8500.0]
    assert after.nodes.tolist() == [*before.nodes[kept], 16, 16]
    assert after.left_out["reservation that never started"] == 1
    assert after.left_out["asked for again after a preemption"] == 1
    # Submitted after the last job, but its own job is in the window.
    stochastic(results, f"{head}7,1,9001,9002,9500,16,1000,expired\n")
    assert pairs_of_results(results, "baseline").waits.tolist()[-1] == 1.0
    for text, sentence in [
        (f"{head}3,1,1500,2500,3500,16,1000,\n", "baseline.csv:2: job 3 is not a stochastic job of jobs-baseline.csv"),
        (f"{head}7,1,1500,500,3500,16,1000,\n", "baseline.csv:2: a reservation has a length, and does not start"),
        (f"{head}7,1,1500,2500,3500,16,1000\n", "baseline.csv:2: a row must have 8 cells"),
        (f"{head}7,1,1500,2500,3500,0,9,\n", "baseline.csv:2: nodes must be at least 1"),
        (f"{head}7,1,soon,2500,3500,1,9,\n", "baseline.csv:2: submit must be a finite number"),
        ("job_id,submit,start,end,nodes\n", "baseline.csv:1: the header row must have a column length"),
    ]:
        (results / "reservations-baseline.csv").write_text(text)
        reseal(results)
        assert sentence in refusal(capsys, "fit-costs", "results", "--mechanism", "baseline")


def test_files_that_do_not_belong_together(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fit-costs", "results", "--mechanism", "baseline"]
    assert "choose one with --mechanism" in refusal(capsys, "fit-costs", "results")
    assert "not of N-PAA" in refusal(capsys, "fit-costs", "results", "--mechanism", "n&paa")
    assert "did you mean baseline" in refusal(capsys, "fit-costs", "results", "--mechanism", "basline")
    table, jobs, manifest = Path("small.csv"), results / "jobs-baseline.csv", results / "run.json"
    whole = {path: path.read_text() for path in (table, jobs, manifest)}
    for path, text, sentence in [
        (table, whole[table] + "\n", "has changed; run"),
        (jobs, whole[jobs].replace("\n10,", "\n11,"), "jobs-baseline.csv:11: job 11 is not in the simulated job table"),
        (jobs, whole[jobs].replace(",7140.0,", ",-7140.0,"), "jobs-baseline.csv:3: wait must be at least 0"),
        (jobs, whole[jobs].replace("wait", "delay"), "must have a column wait"),
        (jobs, "", "is empty"),
        (manifest, "{", "run.json: is not JSON"),
        (manifest, "[]", "run.json: is not JSON"),
        (manifest, "{}", "run.json: is not what 'holdfast run' writes"),
        (
            manifest,
            whole[manifest].replace('"warmup": 0.0', '"warmup": 1.0'),
            "run.json: was changed after it was written",
        ),
    ]:
        path.write_text(text)
        if path == jobs:
            reseal(results)
        assert sentence in refusal(capsys, *words), sentence
        path.write_text(whole[path])
        manifest.write_text(whole[manifest])
    reseal(results, measurement={"warmup": "long"})
    assert "run.json: must name instant_tolerance, warmup" in refusal(capsys, *words)
    jobs.unlink()
    reseal(results)
    assert "has no jobs-baseline.csv" in refusal(capsys, *words)
    jobs.write_text(whole[jobs])
    manifest.write_text(whole[manifest])
    table.unlink()
    assert "small.csv, is missing" in refusal(capsys, *words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("{tmp}/none", "no such file"),
        ("{tmp}", "no results of 'holdfast run'"),
        ("{table}", "a job table records no waits: simulate it"),
        ("{year}", "the trace records no waits: simulate it with 'holdfast run "),
        ("{wishes}", "does not record requested walltimes"),
        ("{alike}", "with two different walltimes, not to 3 with 1"),
        ("{trace} --classes 4,2", "--classes must be ascending sizes in nodes"),
        ("{trace} --classes few", "--classes must be"),
        ("{trace} --classes 0,4", "--classes must be"),
        ("{trace} --classes ,", "--classes must be"),
        ("{trace} --mechanism baseline", "INPUT is a file"),
        ("{tmp} --format swf", "--format requires a trace"),
        ("{tmp} --procs-per-node 4", "--procs-per-node requires a trace"),
        ("{trace} --nodes 0", "--nodes must be"),
        ("{trace} --format alcf", "log.swf"),
        ("{trace} --plot {tmp}/none/x", "is not a directory"),
    ],
)
def test_wrong_words_are_one_sentence(
    words: str, sentence: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "year.swf").write_text(re.sub(r"(?m)^(\d+ \d+) \S+", r"\1 -1", SWF))
    (tmp_path / "wishes.swf").write_text(re.sub(r"(?m)^((?:\S+ ){8})\d+", r"\1-1", SWF))
    lines = SWF.splitlines()[:4]
    (tmp_path / "alike.swf").write_text("\n".join(re.sub(r"^((?:\S+ ){8})\d+", r"\g<1>7200", line) for line in lines))
    (tmp_path / "x.pdf").mkdir()
    names = {name: tmp_path / f"{name}.swf" for name in ("year", "wishes", "alike")}
    filled = words.format(tmp=tmp_path, trace=trace, table=GOLDEN / "small.csv", **names).split()
    before = set(tmp_path.iterdir())
    assert sentence in refusal(capsys, "fit-costs", *filled, "-o", str(tmp_path / "costs.json"))
    assert set(tmp_path.iterdir()) == before


def test_what_cannot_be_written_is_found_first(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fit.pdf").mkdir()
    words = ["fit-costs", str(trace), "-o", str(tmp_path / "costs.json"), "--plot", str(tmp_path / "fit")]
    assert "is a directory" in refusal(capsys, *words)
    assert {path.name for path in tmp_path.iterdir()} == {"log.swf", "fit.pdf"}


# -- plan --costs --


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    path = tmp_path / "costs.json"
    prices = {"alpha": 0.95, "beta": 1.0, "gamma": 3780.125}
    large = {"nodes_from": 129, "nodes_to": None, "alpha": 2.0, "beta": 1.0, "gamma": 36000.0, "walltime_to": 7200.0}
    classes = [{"nodes_from": 1, "nodes_to": 128, "fallback": True, **prices}, large]
    path.write_text(json.dumps({"unit": "s", "all": prices, "classes": classes}))
    return path


_WORDS = "lognormal --mean 21h --std 20h --max 80h --checkpoint 10m --restart 5m --n 150"
LAW = _WORDS.split()


@pytest.mark.parametrize(
    ("words", "prices"),
    [
        ("", "--alpha 0.95 --beta 1 --gamma 3780.125"),
        ("--nodes 64", "--alpha 0.95 --beta 1 --gamma 3780.125"),
        ("--nodes 129", "--alpha 2 --beta 1 --gamma 10h"),
    ],
)
def test_prices_of_a_file_are_those_of_the_options(
    words: str, prices: str, costs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for given in (["--costs", str(costs), *words.split()], prices.split()):
        assert cli.main(["plan", *LAW, *given, "--json", "-"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])["expected_cost"] > 21 * 3600


def test_the_table_says_whose_prices_they_are(costs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plan", *LAW, "--costs", str(costs), "--nodes", "500"]) == 0
    out = capsys.readouterr().out
    assert (
        f"costs: alpha 2, beta 1, gamma 36,000 s for jobs of 129 nodes or more, from {costs}; cost is response time"
        in out
    )
    assert re.search(
        r"waits beyond 02:00:00, the longest request of the fit, are extrapolated: up to \d\d:\d\d:\d\d", out
    )
    assert cli.main(["plan", *LAW, "--costs", str(costs), "--nodes", "5"]) == 0
    out = capsys.readouterr().out
    assert "for jobs of 1 - 128 nodes (too few: as of all sizes)" in out
    assert "extrapolated" not in out, "nobody knows how long the requests were"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--costs {costs} --alpha 1", "--costs FILE contains --alpha"),
        ("--costs {costs} --beta 1", "--costs FILE contains --beta"),
        ("--costs {costs} --gamma 0", "--costs FILE contains --gamma"),
        ("--nodes 4", "give their file with --costs"),
        ("--costs {costs} --nodes 0", "--nodes must be a whole number of at least 1"),
        ("--costs {tmp}/none.json", "none.json: no such file"),
        ("--costs {tmp}/prose.json", "prose.json:1: is not JSON"),
        ("--costs {tmp}/deep.json", "deep.json: is nested more than 32 levels deep"),
        ("--costs {tmp}/plan.json", "plan.json: unknown key of the document 'strategy'"),
        ("--costs {tmp}/changed.json", "changed.json: was changed after it was written: make it again"),
        ("--costs {tmp}/negative.json", "negative.json: all.gamma must be a number from 0 to 1e+100, not -1"),
    ],
)
def test_wrong_costs_are_one_sentence(
    words: str, sentence: str, costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prose.json").write_text("To be, or not to be")
    (tmp_path / "deep.json").write_text("[" * 200_000)
    (tmp_path / "plan.json").write_text((GOLDEN / "plan.json").read_text())
    (tmp_path / "changed.json").write_text((GOLDEN / "costs.json").read_text().replace("1", "2"))
    (tmp_path / "negative.json").write_text(costs.read_text().replace("3780.125", "-1"))
    before = set(tmp_path.iterdir())
    filled = words.format(costs=costs, tmp=tmp_path).split()
    assert sentence in refusal(capsys, "plan", *LAW, *filled, "--json", str(tmp_path / "x.json"))
    assert set(tmp_path.iterdir()) == before


# -- the picture --


def test_picture_shows_the_fits() -> None:
    rng = np.random.default_rng(8)
    walltimes = 3600.0 * rng.integers(1, 30, 700)
    waits = 0.5 * walltimes + rng.exponential(7200.0, 700)
    waits[:300] = np.maximum(0.0, 40000.0 - walltimes[:300])
    nodes = np.repeat([1, 8, 64], [300, 390, 10])
    model = fit_waits(walltimes, waits, nodes, [4, 32, 50])
    figure = plot_costs(walltimes, waits, nodes, model, "made up")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [
        "(a) all sizes: 700 pairs",
        "(b) 1 - 4 nodes: 300 pairs",
        "(c) 5 - 32 nodes: 390 pairs",
        "(d) 33 - 50 nodes: 0 pairs",
        "(e) 51 nodes or more: 10 pairs",
    ]
    for axes, fit in zip(figure.axes, [model.all, *(each.fit for each in model.classes)], strict=True):
        lines = {str(line.get_label()): line for line in axes.lines}
        if not lines:
            assert axes.texts[0].get_text() == "no pairs"
            continue
        line = lines.get("fit", lines.get("fit of all sizes"))
        assert line is not None
        (x0, x1), (y0, y1) = (np.asarray(data, float) for data in line.get_data())
        assert x0 == 0
        assert (y1 - y0) / (x1 - x0) == pytest.approx(fit.alpha)
        assert y0 == pytest.approx(fit.gamma / 3600)
        at_bound = fit.alpha_error is None and fit.unconstrained is not None
        assert ("fit without bounds" in lines) == at_bound
        assert f"alpha = {fit.alpha:.3g}, gamma = {fit.gamma / 3600:.3g} h" in axes.texts[0].get_text()
        means = np.asarray(lines["their mean"].get_ydata(), float)
        assert 0 < len(means) <= 20
        assert np.all(means * 3600 <= waits.max())
    assert [axes.get_xlabel() for axes in figure.axes[2:]] == ["requested walltime (h)"] * 3
    assert {axes.get_ylabel() for axes in figure.axes} == {"wait (h)", ""}
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(names) == len(set(names)) == 5
    assert math.isclose(figure.get_size_inches()[0], 7.16)


def test_files_are_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_text('{"unit": "s",\n "all": {"alpha": 1 "beta": 1}}')
    with pytest.raises(InputError, match=r"costs.json:2: is not JSON"):
        read_costs(path)
