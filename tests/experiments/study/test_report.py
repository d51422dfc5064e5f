"""The reproduction and its report: what ran is in it, it says what the tables say, and it needs nothing else."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from holdfast.experiments import cli
from holdfast.experiments.statistics import interval
from holdfast.experiments.study.experiment import Experiment, Tables, all_experiments
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.publications import PUBLICATIONS
from holdfast.experiments.study.report.choices import page_section
from holdfast.experiments.study.report.content import Tally, write_report
from holdfast.experiments.study.reproduction import Done, Reproduction, reproduce
from holdfast.experiments.study.rules import Above
from holdfast.experiments.study.verdicts import Outcome, Statement, Verdict, figure, text
from holdfast.experiments.tables import read_csv
from tests.places import ROOT
from tests.support.processes import alive, children_of, until

pytestmark = pytest.mark.pictures("png")


if TYPE_CHECKING:
    from matplotlib.figure import Figure


# A small catalogue: this module is imported again in the worker processes.


@dataclass(frozen=True)
class Line:
    points: int = 5
    path: str = data_file("lines/line.csv")


@dataclass(frozen=True)
class Plain:
    points: int = 3
    error: str = ""


def measure_line(parameters: Line, seed: int) -> Tables:
    if parameters.path:
        return {"": [{"x": row["x"], "y": row["y"]} for row in read_csv(parameters.path)]}
    return {"": [{"x": x, "y": x * x + seed} for x in range(parameters.points)]}


def judge_line(tables: Tables) -> list[Verdict]:
    last = tables[""][-1]["y"]
    return [
        Statement("y < 9 & <b>bold</b>", "< 9", figure("1", "by eye")).exact_verdict(
            last < 9, "holds if y < 9", f"{last}"
        ),
        Statement("open", "-", text("I")).open("no number"),
    ]


def draw_line(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import new_figure

    figure = new_figure(3, 2)
    figure.subplots().plot([row["x"] for row in tables[""]], [row["y"] for row in tables[""]])
    return figure


def draw_cloud(tables: Tables) -> Figure:
    """So many marks that a PNG file is much smaller."""
    from holdfast.experiments.figures.canvas import new_figure

    figure = new_figure(3, 2)
    figure.subplots().scatter(range(5000), range(5000), c=range(5000))
    return figure


def measure_plain(parameters: Plain, seed: int) -> Tables:
    if parameters.error == "dies":
        os._exit(7)
    if parameters.error:
        raise ValueError(parameters.error)
    return {"": [{"name": f"row {row}", "value": row / 3} for row in range(parameters.points)]}


def judge_plain(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    if len(rows) == 2:  # too few to tell
        found = interval([row["value"] for row in rows])
        return [Statement("they are above 0", "-", text("I")).judge(Above(), found, found.text())]
    return [
        Statement("there are rows", "some", text("I")).exact_verdict(bool(rows), "holds if there are", str(len(rows)))
    ]


def catalogue() -> Mapping[str, Experiment]:
    line, plain = (measure_line, judge_line, draw_line), (measure_plain, judge_plain)
    items = (
        Experiment("hybrid-fig1", "A line", "Does it grow?", Line(), Line(3), *line, ("`points` are ours.",)),
        Experiment("hybrid-fig2", "It fails", "Why?", Plain(error="<too> small"), Plain(error="<too> small"), *plain),
        Experiment("hybrid-fig3", "It dies", "Why?", Plain(error="dies"), Plain(error="dies"), *plain),
        Experiment("hybrid-table1", "A table", "Which rows?", Plain(), Plain(2), *plain),
        Experiment("beyond-cloud", "A cloud", "How many?", Plain(4), Plain(), measure_plain, judge_plain, draw_cloud),
    )
    return {item.id: item for item in items}


GOOD = ("hybrid-fig1", "hybrid-table1", "beyond-cloud")


def carry_out(directory: Path, names: tuple[str, ...] = GOOD, **how: Any) -> tuple[dict[str, Done], str]:
    """What was done, and the page."""
    directory.mkdir(exist_ok=True)
    reproduction = Reproduction(directory, "1.2.3", catalogue=catalogue, **how)
    done = {item.id: item for item in reproduce(names, reproduction)}
    times = {name: item.seconds for name, item in done.items() if item.seconds is not None}
    ordered = [done[name] for name in names]
    write_report(directory / "report.html", ordered, reproduction, times, "holdfast reproduce <now>")
    return done, (directory / "report.html").read_text(encoding="utf-8")


class Page(HTMLParser):
    """What a browser would see: elements, their texts, and whether they are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.sources: list[str] = []
        self.links: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.article = ""
        self.verdicts: dict[str, list[list[str]]] = {}
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag not in ("meta", "img", "br", "link", "input", "hr"):
            self.open.append(tag)
        assert tag not in ("script", "link", "iframe", "object", "base")
        assert not [name for name in values if name.startswith("on")]
        if values.get("id"):
            self.ids.append(values["id"] or "")
        self.sources += [
            values[name] or "" for name in ("src", "srcset", "poster", "data", "action") if values.get(name)
        ]
        if tag == "a":
            self.links.append(values["href"] or "")
        if tag == "img":
            self.images.append(values)
        if tag == "article":
            self.article = values["id"] or ""
            self.verdicts[self.article] = []
        if tag == "tr" and values.get("role") == "row" and self.article:
            self.verdicts[self.article].append([])
        if tag == "td" and values.get("role") == "cell" and self.article:
            self.verdicts[self.article][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "article":
            self.article = ""

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)
        if self.article and "td" in self.open and self.verdicts[self.article] and self.verdicts[self.article][-1]:
            self.verdicts[self.article][-1][-1] += data


def check_page(html: str, directory: Path, names: tuple[str, ...]) -> Page:
    """Laws of every report."""
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    assert set(names) == set(page.verdicts) <= set(page.ids)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert all(source.startswith("data:image/") for source in page.sources)
    assert not re.search(r"url\(|@import|https?://", re.sub(r'src="data:[^"]*"', "", html))
    for image in page.images:
        kind, _, content = str(image["src"]).partition(";base64,")
        blob = base64.b64decode(content, validate=True)
        assert str(image["alt"]).strip()
        if kind == "data:image/png":
            shape = Image.open(io.BytesIO(blob))
            shape.load()
            assert shape.width == pytest.approx(2 * int(str(image["width"])), abs=2)
        else:
            assert kind == "data:image/svg+xml"
            assert ET.fromstring(blob).tag.endswith("svg")
            assert not re.search(rb'href="(?!#)', blob)
    for name in names:
        path = directory / f"{name}-verdicts.csv"
        rows = [row for row in page.verdicts[name] if len(row) == 4]
        if path.exists() and rows:
            for row, verdict in zip(rows, read_csv(path), strict=True):
                assert [row[0], row[2]] == [str(verdict[key]) for key in ("claim", "measured")]
                source = verdict["source"] if verdict["source"] not in ("unknown", "hypothesis") else ""
                assert row[1] == f"{verdict['printed']} {source}".strip()
                reason = verdict["construction"] if verdict["outcome"] == Outcome.HOLDS else None
                outcome = f"holds by construction: {reason}" if reason else verdict["outcome"]
                assert row[3].startswith(f"{outcome} {verdict['rule'] or ''}".strip())
                assert row[3].endswith(verdict["remark"] or "")
    return page


@pytest.fixture(scope="module")
def report_parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Done], str]:
    directory = tmp_path_factory.mktemp("report") / "all"
    return directory, *carry_out(directory, tuple(catalogue()), quick=True, workers=2)


#: In this order.
PARTS = ('<table class="summary"', '<ul class="belief"', "What failed</h2>", '<section class="findings"',
         '<details class="fold paper"', '<details class="fold experiment"')  # fmt: skip


@pytest.mark.system
def test_the_report_is_whole_and_needs_nothing_else(report_parts: tuple[Path, dict[str, Done], str]) -> None:
    directory, _, html = report_parts
    page = check_page(html, directory, tuple(catalogue()))
    assert "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src 'sha256-" in html
    assert "unsafe" not in html
    assert [str(image["src"])[:14] for image in page.images] == ["data:image/svg", "data:image/png"]
    assert "A line. 1 statement holds, 1 is not comparable." in {image["alt"] for image in page.images}
    text = " ".join("".join(page.text).split())
    assert "2 experiments failed." in text
    # Experiments, then what holds, does not, is undecided, is not comparable, and failed.
    foot = html.split("<tfoot")[1].split("</tfoot>")[0]
    assert re.findall(r">(\d+)</td>", foot) == [str(len(catalogue())), "2", "0", "1", "1", "2"]
    # One screen: the papers with their counts, and what to believe; then the findings.
    assert [html.index(part) for part in PARTS] == sorted(html.index(part) for part in PARTS)
    summary = text.split("What to believe")[1].split("Findings, the most important first")[0]
    assert "Hybrid Workload Scheduling on HPC Systems: All of what is decided holds: 1 of 1 statements." in summary
    # Every experiment is folded, within its folded paper.
    folds = re.findall(r'<details class="fold (\w+)"( open)?>', html)
    assert [kind for kind, opened in folds if not opened].count("experiment") == len(catalogue())
    assert [kind for kind, opened in folds if opened] == ["findings"]
    assert "holdfast experiment hybrid-fig1 -o results --quick --seed 0" in text
    assert "`" not in text.split("Where the paper is silent")[1].split("How it was made")[0]


@pytest.mark.system
def test_what_fails_is_reported_and_the_others_go_on(report_parts: tuple[Path, dict[str, Done], str]) -> None:
    directory, items, html = report_parts
    assert {name for name, item in items.items() if not item.error} == set(GOOD)
    line = measure_plain.__code__.co_firstlineno + 4
    place = f"{Path(__file__).name}, line {line}"
    assert items["hybrid-fig2"].error == f"a defect of Holdfast or of a plug-in ({place}): <too> small"
    assert "measure_plain" in items["hybrid-fig2"].details
    assert items["hybrid-fig3"].error.endswith("exit status 7")
    assert f"a defect of Holdfast or of a plug-in ({place}): &lt;too&gt; small" in html
    assert "<b>bold" not in html
    assert not (directory / "hybrid-fig2.json").exists()


@pytest.mark.system
def test_same_bytes_for_any_number_of_workers_and_nothing_is_measured_twice(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    first, html = carry_out(one, quick=True)
    carry_out(two, quick=True, workers=3)
    written = {path.name: path.read_bytes() for path in one.iterdir() if path.name != "report.html"}
    assert written == {path.name: path.read_bytes() for path in two.iterdir() if path.name != "report.html"}
    timeless = [re.sub('<span class="took">.*?</span>', "", page) for page in (html, (two / "report.html").read_text())]
    assert timeless[0] == timeless[1]

    stamps = {name: (one / f"{name}.csv").stat().st_mtime_ns for name in GOOD}
    (one / "beyond-cloud.png").unlink()
    again, repeated = carry_out(one, quick=True)
    assert all(item.seconds is not None for item in first.values())
    assert all(item.seconds is None for item in again.values())
    assert stamps == {name: (one / f"{name}.csv").stat().st_mtime_ns for name in GOOD}
    assert re.sub('<span class="took">.*?</span>', "", repeated) == timeless[0]
    assert (one / "beyond-cloud.png").read_bytes() == written["beyond-cloud.png"]


@pytest.mark.system
@pytest.mark.parametrize("change", ["seed", "sizes", "fresh", "table", "record", "number", "verdicts"])
def test_what_differs_is_measured_again(tmp_path: Path, change: str) -> None:
    carry_out(tmp_path, ("hybrid-table1",), quick=True)
    if change == "table":
        (tmp_path / "hybrid-table1.csv").unlink()
    if change == "record":
        (tmp_path / "hybrid-table1.json").write_text("{")
    path = tmp_path / ("hybrid-table1-verdicts.csv" if change == "verdicts" else "hybrid-table1.csv")
    if change in ("number", "verdicts"):
        path.write_text(path.read_text().replace("3", "4").replace("2", "7"))
    how: dict[str, Any] = {"seed": {"quick": True, "seed": 1}, "sizes": {}, "fresh": {"quick": True, "fresh": True}}
    done, _ = carry_out(tmp_path, ("hybrid-table1",), **how.get(change, {"quick": True}))
    # Verdicts follow from the tables, and need no measurement.
    assert (done["hybrid-table1"].seconds is None) == (change == "verdicts")
    assert (path.name in done["hybrid-table1"].note) == (change in ("table", "number", "verdicts"))


@pytest.mark.system
def test_papers_come_before_our_own(tmp_path: Path) -> None:
    how = Reproduction(tmp_path, "1.2.3", catalogue=catalogue, quick=True)
    names = ("beyond-cloud", "hybrid-table1", "hybrid-fig1")
    assert [item.id for item in reproduce(names, how)] == ["hybrid-table1", "hybrid-fig1", "beyond-cloud"]


@pytest.mark.system
def test_data_take_the_place_of_what_stands_in(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "lines").mkdir(parents=True)
    (data / "lines" / "line.csv").write_text("x,y\n1,2\n2,50\n")
    done, html = carry_out(tmp_path / "out", ("hybrid-fig1", "hybrid-table1"), quick=True, data=data)
    assert [verdict.outcome for verdict in done["hybrid-fig1"].verdicts] == ["does not hold", "not comparable"]
    assert "lines/line.csv: measured, SHA-256" in html
    assert f"--set path={data / 'lines' / 'line.csv'}" in html
    page = check_page(html, tmp_path / "out", ("hybrid-fig1", "hybrid-table1"))
    assert "A paper says it, and it does not hold" in "".join(page.text)
    (data / "lines" / "line.csv").write_text("x,y\n1,2\n")
    done, _ = carry_out(tmp_path / "out", ("hybrid-fig1", "hybrid-table1"), quick=True, data=data)
    # Only the experiment whose data are others now.
    assert [done[name].seconds is None for name in ("hybrid-fig1", "hybrid-table1")] == [False, True]


@pytest.mark.system
def test_workers_are_no_parameter_of_a_result(tmp_path: Path) -> None:
    carry_out(tmp_path, ("hybrid-fig1",), workers=2)
    record = json.loads((tmp_path / "hybrid-fig1.json").read_text())
    assert record["parameters"] == {"points": 5, "path": ""}
    assert record["data"] == {}
    assert record["tables"] == [""]


@pytest.mark.system
def test_tallies_are_the_verdicts(report_parts: tuple[Path, dict[str, Done], str]) -> None:
    _, items, _ = report_parts
    tally = Tally.of(list(items.values()))
    assert (tally.holds, tally.fails, tally.undecided, tally.open, tally.broken) == (2, 0, 1, 1, 2)


def test_every_paper_has_its_choices() -> None:
    for paper in PUBLICATIONS.values():
        for page, heading in paper.choices:
            assert len(page_section(page, heading)) > 200, (page, heading)
    assert "| `tenants` |" in page_section("model.md", "The model, and the choices it makes")
    assert {name.partition("-")[0] for name in all_experiments()} <= set(PUBLICATIONS)


@pytest.mark.system
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    words = ["reproduce", "--quick", "-o", str(out), "--only", "checkpoint-fig[34]", "--only", "*-fig1"]
    words += ["--paper", "checkpoint", "--paper", "profiles", "--workers", "1"]
    waiting = []

    def write(*arguments: Any, **named: Any) -> None:
        write_report(*arguments, **named)
        waiting.append(named["waiting"])
        assert ("not measured yet" in (out / "report.html").read_text()) == (named["waiting"] > 0)

    monkeypatch.setattr("holdfast.experiments.study.report.content.write_report", write)
    assert cli.main(words) == 0
    assert waiting == [2, 1, 0]
    shown = capsys.readouterr()
    assert "6 statements" not in shown.out
    assert shown.out.startswith("3 experiments: 1 statement is not comparable; 5 more hold by construction")
    lines = shown.err.strip().splitlines()
    assert len(lines) == 5
    assert lines[1].startswith("expected cost: ")
    names = ("checkpoint-fig3", "checkpoint-fig4", "profiles-fig1")
    check_page((out / "report.html").read_text(), out, names)
    assert set(json.loads((out / "times.json").read_text())) == set(names)
    before = (out / "report.html").read_bytes()
    assert cli.main(words) == 0
    assert capsys.readouterr().err.count("measured before") == 3
    assert (out / "report.html").read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["--only", "checkpont-*"],
        ["--paper", "hybrids"],
        ["--paper", "beyond", "--only", "hybrid-*"],
        ["--workers", "0"],
        ["--seed", "x"],
        ["--data", "nowhere"],
        ["-o", "/dev/null/x"],
    ],
)
def test_wrong_words_are_one_sentence(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "-o", str(tmp_path / "out"), *words]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_killed_reproduction_leaves_no_processes_and_is_continued(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from holdfast.experiments.cli import main; main()", "reproduce", "--quick", "-o"]
    words += [str(tmp_path), "--only", "checkpoint-*", "--workers", "2"]
    process = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL)
    until(lambda: list(tmp_path.glob("*.json")))
    workers = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: not any(map(alive, workers)))
    stamps = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("checkpoint-*.json")}
    assert subprocess.run(words, cwd=ROOT, check=False).returncode == 0
    kept = {name for name, stamp in stamps.items() if (tmp_path / name).stat().st_mtime_ns == stamp}
    assert kept == set(stamps)
    whole = tmp_path / "whole"
    words[words.index("-o") + 1] = str(whole)
    assert subprocess.run(words, cwd=ROOT, check=False).returncode == 0
    for path in whole.iterdir():
        if path.is_file() and path.name not in ("times.json", "report.html"):
            assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser")
@pytest.mark.parametrize("width", [360, 390, 1280])
def test_a_browser_shows_it_without_scrolling_sideways(
    width: int, tmp_path: Path, report_parts: tuple[Path, dict[str, Done], str]
) -> None:
    page = tmp_path / "frame.html"
    page.write_text(
        f'<iframe id="f" src="file://{report_parts[0]}/report.html" '
        f'style="width:{width}px;height:2000px;border:0"></iframe>'
        '<pre id="o"></pre><script>f.onload = () => { const d = f.contentDocument; o.textContent = '
        'd.documentElement.scrollWidth + " " + [...d.images].every(i => i.complete && i.naturalWidth) }</script>'
    )
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    browser += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"]
    browser += ["--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,2000"]
    document = subprocess.run(
        [*browser, "--virtual-time-budget=5000", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert re.findall(r'<pre id="o">(.*?)</pre>', document) == [f"{width} true"]
