"""The page of a forecast: the numbers of the table, nothing that breaks out, and the command that makes it again."""

from __future__ import annotations

import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.experiments.cli import main
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.machine_state import state_at
from holdfast.experiments.forecast.page import render_page
from holdfast.experiments.forecast.time_parsing import format_duration
from tests.experiments.whatif.test_question import LOG

AT = 100_000.0


@pytest.fixture(scope="module")
def small_forecast() -> Any:
    trace = hf.as_log(hf.simulate(LOG))
    return forecast(state_at(trace, AT, 8), read_history(trace, AT), draws=9)


def test_the_page_has_the_rows_and_escapes_its_text(small_forecast: Any) -> None:
    html = render_page(
        small_forecast, title="<b>log", lead=["<i>now"], moment=lambda time: f"<u>{time:.0f}", notes=["<em>note"],
        command="holdfast forecast '<a>'",
    )  # fmt: skip
    assert "default-src 'none'" in html
    for text in ("<b>log", "<i>now", "<u>", "<em>note", "<a>"):
        assert text not in html
    rows = re.findall(r"<tr role=\"row\">(.*?)</tr>", html, flags=re.DOTALL)[1:]
    assert len(rows) == len(small_forecast.ids) > 1
    for row, text in zip(small_forecast.rows(), rows, strict=True):
        assert f">{row['job_id']}<" in text
        for name in ("start_p05", "start_p50", "start_p95"):
            assert f'data-value="{row[name]}">{format_duration(row[name])}<' in text
        assert f">{100 * row['start_within_1h']:.0f} %<" in text


def test_the_picture_of_the_queue_ends_when_a_tenth_waits(small_forecast: Any) -> None:
    html = render_page(small_forecast, title="log", lead=[], moment=str)
    waiting, left = (
        int(number)
        for number in re.search(r"now: (\d+)</span><span>in .*?: (\d+)<", html).groups()  # type: ignore[union-attr]
    )
    assert waiting == len(small_forecast.waiting)
    assert left <= waiting / 2
    heights = [float(height) for height in re.findall(r'height="([\d.]+)"/>', html.split('class="use"')[1])][1:]
    assert heights[0] == 24
    assert heights == sorted(heights, reverse=True)


@pytest.mark.parametrize(
    "words",
    [
        ["forecast", "out", "--at", "2d", "--draws", "5", "--backtests", "0", "--runtimes", "walltime"],
        ["forecast", "out", "--at", "2d", "--nodes", "3", "--walltime", "1h30m", "--draws", "5", "--order", "sjf",
         "--backtests", "0", "--arrivals", "none"],
        ["whatif", "a log.swf", "--order", "sjf", "--nodes=-10%", "--nodes", "+10%"],
    ],
    ids=["all", "new-job", "whatif"],
)  # fmt: skip
def test_the_command_on_the_page_makes_it_again(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["generate", "--jobs", "300", "--seed", "2", "-o", "a log.swf"]) == 0
    assert main(["run", "a log.swf", "-o", "out", "-q"]) == 0
    assert main([*words, "--report", "page.html"]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out.splitlines()[-1] == "written to page.html"
    first = Path("page.html").read_text()
    shown = re.search(r'<pre class="command"><code>(.*?)</code>', first)
    assert shown is not None
    program, *again = shlex.split(unescape(shown[1]))
    assert program == "holdfast"
    Path("page.html").unlink()
    assert main(again) == 0
    assert Path("page.html").read_text() == first
