"""The page of a what-if answer: complete, self-contained, safe, and shown without faults by a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.experiments.whatif.conclusion import conclude
from holdfast.experiments.whatif.page import render_page
from tests.experiments.whatif.test_question import LOG
from tests.support.browser import Browser, chromium


@pytest.fixture(scope="module")
def answer() -> Any:
    recorded = replace(hf.as_log(hf.simulate(LOG)), nodes=8)
    log = replace(
        recorded, source="<b>log</b>.swf", jobs=[replace(job, user=f"<i>{job.user}") for job in recorded.jobs]
    )
    return hf.whatif(
        log, order=["sjf", "f1"], backfilling="conservative", nodes=["+25%", "6"], today={"nodes": 8}, workers=1
    )


def test_the_page_has_everything_and_needs_nothing_else(answer: Any) -> None:
    html = render_page(answer, "holdfast whatif log.swf --order 'a b'")
    assert html == render_page(answer, "holdfast whatif log.swf --order 'a b'")
    assert unescape(html).count(answer.conclusion) == 1
    assert "holdfast whatif log.swf --order &#39;a b&#39;" in html
    for row in answer.rows:
        assert f'<th role="rowheader" scope="row">{row["run"]}</th>' in html
        assert f">{row['wait_max_h']:,.1f}<" in html or f">{row['wait_max_h']:,.0f}<" in html
    assert len(re.findall('<svg class="interval"', html)) == 5
    assert len(re.findall('<svg class="use"', html)) == 7
    for name in ("user", "project", "size", "hour of submission"):
        assert f"<strong>{name}</strong>" in html
    assert html.count("<script>") == html.count("<script") == 1
    assert not re.findall(r"(?:src|href|style)=", html)
    assert "default-src 'none'" in html
    assert "<b>log" not in html
    assert "<i>" not in html
    assert "&lt;i&gt;" in html


@pytest.mark.parametrize(("wait", "doubted"), [(25.0, True), (23.0, False)])
def test_intervals_of_blocks_shorter_than_the_waits_are_doubted(answer: Any, wait: float, doubted: bool) -> None:
    replay = replace(answer.replay, summary={**answer.replay.summary, "wait_h": wait})
    other = replace(answer, replay=replay, cluster="day")
    words = "jobs wait longer than one day on average"
    assert (words in str(other)) == (words in render_page(other)) == (other.document()["doubt"] is not None) == doubted


def test_the_conclusion_is_two_sentences(answer: Any) -> None:
    sentences = re.split(r"(?<=[a-z0-9\])])\. ", answer.conclusion)
    assert len(sentences) == 2
    assert "shortens the mean wait most" in sentences[0] or "No alternative" in sentences[0]
    for contrast in answer.contrasts:
        assert contrast.operation.name.lower() in answer.conclusion.lower()
    assert str(answer).startswith(answer.conclusion)


@pytest.mark.parametrize(("left_out", "words"), [(0, ""), (1, "1 job cannot run"), (2_000, "2,000 jobs cannot run")])
def test_the_conclusion_counts_the_jobs_that_a_shorter_wait_leaves_out(answer: Any, left_out: int, words: str) -> None:
    gaining = next(contrast for contrast in answer.contrasts if contrast.wait["verdict"] == "gains")
    found = conclude([replace(gaining, left_out=left_out)], None, "day", answer.time_unit)
    assert ("cannot run" in found) == bool(words)
    assert words in found.partition(". ")[0].partition(", but ")[2]


@pytest.mark.system
def test_a_browser_shows_it_at_every_width_and_prints_two_pages(answer: Any, tmp_path: Path) -> None:
    chromium()
    page = tmp_path / "page.html"
    answer.write_page(page, "holdfast whatif log.swf --order sjf")
    with Browser(tmp_path / "profile") as browser:
        for width in (1280, 390):
            for dark in (False, True):
                browser.open(page, width=width, dark=dark)
                assert browser.evaluate("document.documentElement.scrollWidth") <= width
                colors = browser.evaluate(
                    "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
                )
                assert (colors[0] == "rgb(230, 231, 233)") is dark
                pictures = "[...document.querySelectorAll('svg.interval')]"
                assert browser.evaluate(f"{pictures}.every(svg => svg.getBoundingClientRect().width > 100)")
        assert len(re.findall(rb"/Type\s*/Page\b", browser.print())) <= 2
        assert browser.complaints == []
        assert browser.requests == [page.resolve().as_uri()] * 4


def test_short_waits_are_in_minutes() -> None:
    jobs = [replace(job, submit=4 * job.submit, runtime=job.runtime / 10) for job in LOG.jobs]
    answer = hf.whatif(replace(LOG, jobs=jobs), order="sjf", nodes="-25%")
    assert max(row["wait_h"] for row in answer.rows) < 1
    shown = f"{60 * answer.rows[0]['wait_h']:.1f}"
    assert [line.split()[:1] for line in str(answer).splitlines()[3:4]] == [["min"]]
    assert f"today: fcfs, easy  {shown:>4}" in str(answer)
    html = render_page(answer)
    assert "Mean wait, min" in html
    assert f">{shown}<" in html
    assert answer.conclusion.count(" min") >= 1
