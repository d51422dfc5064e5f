"""Results of a log that counts processors say processors, in tables, stories and figures; names of columns stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.gantt.page import write_gantt
from holdfast.experiments.recordings.archive import read_recording
from holdfast.workloads.ground.wording import in_unit

_NODE = re.compile(r"(?<![\w./-])nodes?\b|Nh\b", re.IGNORECASE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = (
        f"{n} {1000 * (n // 5)} {200 * (n % 5)} {190} {16 + 8 * (n % 7)} -1 -1 {16 + 8 * (n % 7)} {4000 + 60 * n} -1 1 "
        f"{n % 4} 1 -1 1 -1 -1 -1\n"
        for n in range(60)
    )
    Path("log.swf").write_text("; MaxNodes: 8\n; MaxProcs: 64\n" + "".join(lines))
    return tmp_path


def command_output(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(line.split()) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_tables_stories_and_pages(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = command_output("run log.swf -o r --mechanism baseline,CUA-SPAA --events", capsys)
    assert "\nkPh: 1,000 processor-hours\n" in output
    for line in (
        "explain r --worst 3 --run CUA-SPAA",
        *(f"explain r {job} --run CUA-SPAA --all" for job in (10, 20, 30, 40, 50)),
        "compare r:baseline r:CUA-SPAA --by size",
        "forecast log.swf --at 2h --draws 2 --workers 1 --least 1 --nodes 8 --walltime 1h",
        "advise log.swf --at 2h --draws 2 --workers 1 --least 1 --nodes 8 --walltime 1h",
    ):
        output += command_output(line, capsys)
    assert _NODE.search(output) is None, output[max(0, _NODE.search(output).start() - 100) :][:200]  # type: ignore[union-attr]
    assert len(re.findall("processor", output)) > 20
    assert all(len(line) <= 80 for line in command_output("explain r 30 --run CUA-SPAA --all", capsys).splitlines())
    assert "nodes" in Path("r/jobs.csv").read_text().partition("\n")[0]
    recording = read_recording("r", "CUA-SPAA")
    assert recording.unit == "processors"
    write_gantt("x.html", recording)
    page = Path("x.html").read_text()
    assert "on 64 processors" in page
    assert '"unit":"processors"' in page


def test_nodes_stay_nodes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = command_output("run log.swf -o r --unit nodes --mechanism CUA-SPAA --events", capsys)
    output += command_output("explain r 30", capsys)
    assert "\nkNh: 1,000 node-hours\n" in output
    assert "processor" not in output
    assert 'unit"' not in Path("r/run.json").read_text().replace('"unit": "nodes"', "")


def test_labels_of_figures(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from matplotlib.text import Text

    command_output("run log.swf -o r --mechanism CUA-SPAA --events", capsys)
    recording = read_recording("r")
    for kind in ("gantt", "use", "queue", "waits"):
        texts = " / ".join(text.get_text() for text in recording.plot(kind).findobj(Text) if isinstance(text, Text))
        assert _NODE.search(texts) is None, (kind, texts)
        assert "rocessor" in texts or kind == "queue", (kind, texts)


def test_words_that_are_names_stay() -> None:
    text = "--nodes 4, nodes.csv, max_nodes, nodes=4, n/nodes, a node; Nodes, node-hours and kNh."
    changed = "--nodes 4, nodes.csv, max_nodes, nodes=4, n/nodes, a processor; Processors, processor-hours and kPh."
    assert in_unit(text, "processors") == changed
    assert in_unit(text, "nodes") == text
