"""The files of ``run --stream`` are those of ``run``, byte for byte but for what a clock measures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.cli import main
from tests.experiments.recordings.test_streamed_replay import swf
from tests.places import ROOT

#: Columns of summary.csv that a clock measures, as docs/commands.md names them.
CLOCK = ("decision_ms_p99", "decision_ms_max", "engine_seconds")


def without_clock(text: str) -> str:
    """A table with the values of these columns left out; everything else stays as it is."""
    head, *rows = text.split("\n")
    places = {head.split(",").index(name) for name in CLOCK}
    cells = [[cell for place, cell in enumerate(row.split(",")) if place not in places] for row in rows]
    return "\n".join([head, *map(",".join, cells)])


def without_digests(text: str) -> str:
    """The description with the digest of summary.csv and the digest over all left out; every other byte stays."""
    text, count = re.subn(r'("summary\.csv": )"[0-9a-f]{64}"', r"\1-", text)
    text, counts = re.subn(r'("digest": )"[0-9a-f]{64}"', r"\1-", text)
    assert (count, counts) == (1, 1)
    return text


@pytest.mark.parametrize("options", [[], ["--order", "sjf", "--warmup", "100s"], ["--backfilling", "conservative"]])
def test_a_streamed_run_writes_the_files_of_a_run(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text(swf(2, 120))
    plain = main(["run", "log.swf", "-o", "plain", "--mechanism", "baseline", *options])
    streamed = main(["run", "log.swf", "-o", "streamed", "--stream", *options])
    assert (plain, streamed) == (0, 0)
    files = [
        {path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
        for directory in (Path("plain"), Path("streamed"))
    ]
    assert set(files[0]) == set(files[1])
    assert {"summary.csv", "run.json", "jobs-baseline.csv"} <= set(files[0])
    for name in files[0]:
        one, other = (found[name].decode() for found in files)
        if name == "summary.csv":
            one, other = without_clock(one), without_clock(other)
        elif name == "run.json":
            one, other = without_digests(one), without_digests(other)
        assert one == other, name
    capsys.readouterr()


def test_the_page_names_what_differs() -> None:
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"What differs from any run to\s+the next are (.*?`run\.json`)", page, re.DOTALL)
    assert re.findall(r"`(\w+)`", sentence) == list(CLOCK)


def test_nothing_else_is_left_out(tmp_path: Path) -> None:
    head = ",".join(["a", *CLOCK, "b"])
    assert without_clock(f"{head}\n1,2,3,4,5\n") == f"{head}\n1,5\n"
    described: dict[str, Any] = {"files": {"summary.csv": "0" * 64, "types.csv": "1" * 64}, "digest": "2" * 64}
    text = json.dumps(described)
    assert without_digests(text) == text.replace('"' + "0" * 64 + '"', "-").replace('"' + "2" * 64 + '"', "-")
