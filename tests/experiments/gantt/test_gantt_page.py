"""The interactive Gantt page: its columns are the placement, nothing breaks out of it, and it works in a browser."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.experiments import cli
from holdfast.experiments.gantt.columns import KINDS, page_columns
from holdfast.experiments.gantt.page import write_gantt
from holdfast.experiments.placement.rectangles import cut_rectangles
from holdfast.experiments.placement.spans import HELD, Span, place_nodes
from holdfast.experiments.recordings.time_windows import Window
from holdfast.experiments.stories.story import explain
from holdfast.policies.mechanism import BASELINE, MECHANISMS
from holdfast.simulator import simulate
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.outages.outage import Outage, OutageKind
from tests.strategies.tables import Table, job_tables
from tests.support.browser import Browser
from tests.support.jobs import malleable, on_demand, rigid

EVIL = "</script><script>window.broken=1</script><!--"
MORE = "<img src=x onerror=window.broken=1>&amp;\u2028'\""
NAMES = [BASELINE, *(mechanism.name for mechanism in MECHANISMS)]
NOON = 1_646_136_000  # 1 March 2022, 12:00 UTC


def make_recording(mechanism: str = "CUP-PAA") -> Recording:
    """Two days in which everything happens."""
    at, hour = NOON, 3600
    jobs = [
        rigid(1, at, 6, 2 * hour, 3 * hour, setup=300, interval=1500, cost=60, project=EVIL, user="ann"),
        malleable(2, at + 60, 6, 2.5 * hour, 4 * hour, min_nodes=2, setup=120, project=MORE, user="ann"),
        malleable(3, at + 120, 4, 1.5 * hour, 2 * hour, min_nodes=2, setup=120, project="climate", user="bob"),
        rigid(4, at + 900, 8, hour, 1.2 * hour, setup=200, project="climate", user="bob"),
        on_demand(5, at + 4200, 10, 1800, 2400, notice=at + 2700, project="beamline", user="cat"),
        on_demand(6, at + 9000, 4, 1500, 2000, project="beamline", user="cat"),
        rigid(7, at + 30 * hour, 2, hour, project="climate", user="bob"),
    ]
    return simulate(jobs, 16, mechanism)


def cells(rectangles: Any) -> dict[tuple[str, int], set[tuple[int, int, int]]]:
    """(start, end, node) of each holder, without regard to how they are cut: every node between two changes."""
    found: dict[tuple[str, int], set[tuple[int, int, int]]] = {}
    for kind, job_id, start, end, nodes in rectangles:
        found.setdefault((kind, job_id), set()).update(
            (tick, tick + 1, node) for tick in range(start, end) for node in nodes
        )
    return found


@settings(max_examples=60)
@given(job_tables(), st.sampled_from(NAMES))
def test_rectangles_cover_what_the_placement_covers(table: Table, mechanism: str) -> None:
    result = simulate(table.jobs, table.nodes, mechanism)
    assume(result.entries)
    spans = place_nodes(result)
    times = sorted({time for span in spans for time in (span.start, span.end)})
    at = {time: place for place, time in enumerate(times)}
    rectangles = cut_rectangles(spans)
    assert rectangles == sorted(rectangles)
    assert cells((item.kind, item.job_id, at[item.start], at[item.end], range(item.low, item.high))
                 for item in rectangles) == cells(
        (span.kind, span.job_id, at[span.start], at[span.end], [node for part in span.nodes for node in range(*part)])
        for span in spans
    )  # fmt: skip
    area = sum((item.end - item.start) * (item.high - item.low) for item in rectangles)
    assert area == sum((span.end - span.start) * sum(high - low for low, high in span.nodes) for span in spans)
    ended = sum(item.ending == "preempt" for item in rectangles)
    assert (ended > 0) == any(span.ending == "preempt" for span in spans)


def test_a_holder_that_has_nothing_for_a_while_has_two_rectangles() -> None:
    spans = [
        Span(HELD, 1, 0, 0, 10, ((0, 4),)),
        Span(HELD, 1, 0, 20, 30, ((0, 2), (3, 4))),
        Span(HELD, 1, 0, 30, 40, ((0, 2),)),
    ]
    found = [(item.start, item.end, item.low, item.high) for item in cut_rectangles(spans)]
    assert found == [(0, 10, 0, 4), (20, 30, 3, 4), (20, 40, 0, 2)]
    # The first part is no wider at the beginning than at the end.
    again = [Span(HELD, 1, 0, 0, 10, ((0, 4),)), Span(HELD, 1, 0, 20, 30, ((0, 4),))]
    assert [(item.start, item.end) for item in cut_rectangles(again)] == [(0, 10), (20, 30)]


def test_columns_are_the_result_in_seconds() -> None:
    recording = make_recording()
    columns = page_columns(recording)
    assert (columns["mechanism"], columns["nodes"], columns["base"], columns["dates"]) == ("CUP-PAA", 16, NOON, True)
    jobs = columns["jobs"]
    assert jobs["id"] == [1, 2, 3, 4, 5, 6, 7]
    assert [jobs["projects"][place] for place in jobs["project"]] == [job.project for job in recording.table]
    assert jobs["submit"] == [0, 60, 120, 900, 4200, 9000, 108000]
    assert jobs["walltime"][:2] == [10800, 14400]
    by_id = {record.job_id: record for record in recording.records}
    assert jobs["end"] == [round((by_id[job].end or 0) / 1e6) - NOON for job in jobs["id"]]
    assert jobs["lost"] == [round(by_id[job].lost / 1e6) for job in jobs["id"]]
    log = columns["log"]
    assert sum(log["count"]) == len(recording.entries)
    events = list(zip(accumulate(log["d_time"]), (log["events"][event] for event in log["event"]), strict=True))
    own = [(round(entry.time / 1e6), entry.event) for entry in recording.entries if entry.job_id == 5]
    first = sum(log["count"][:4])
    assert events[first : first + log["count"][4]] == own
    shapes = columns["rectangles"]
    start = list(accumulate(shapes["d_start"]))
    seen = {
        (jobs["id"][job], KINDS[kind % len(KINDS)], begin, begin + length, low, low + size, kind >= len(KINDS))
        for job, kind, begin, length, low, size in zip(
            *(shapes[name] for name in ("job", "kind")), start, *(shapes[name] for name in ("length", "low", "size")),
            strict=True,
        )
    }  # fmt: skip
    assert seen == {
        (item.job_id, item.kind, round(item.start / 1e6), round(item.end / 1e6), item.low, item.high,
         item.ending == "preempt")
        for item in cut_rectangles(place_nodes(recording))
    }  # fmt: skip
    # Step functions: the value of the last step up to a time.
    use, times = columns["use"], list(accumulate(columns["use"]["d_time"]))
    assert times[0] == 0
    assert {sum(level[place] for level in use["levels"]) for place in range(len(times))} == {16}


def test_the_longest_waits_have_the_reasons_of_explain() -> None:
    jobs = [rigid(1, 0, 4, 7200), rigid(2, 60, 4, 600), rigid(3, 120, 2, 600)]
    recording = simulate(jobs, 4, decisions=True)
    columns = page_columns(recording)
    assert set(columns["reasons"]) == {"1", "2"}
    story = " ".join(str(explain(recording, 2)).split())
    for spent, text in columns["reasons"]["1"]:
        assert f"{spent} {text}".strip() in story
    assert columns["reasons"]["1"][0] == ("", "Why it waited 1 h 59 min:")
    assert page_columns(simulate(jobs[:1], 4))["reasons"] == {}


def test_causes_name_jobs_and_nothing_else() -> None:
    jobs = [rigid(1, 0, 8, 3600), on_demand(2, 100, 2, 60)]
    outage = Outage(OutageKind.FAILURE, 500, 600, 1, place=0.5, name="no. 2")
    log = page_columns(simulate(jobs, 8, "N-PAA", outages=[outage]))["log"]
    causes = {(log["causes"][cause], other) for cause, other in zip(log["cause"], log["other"], strict=True)}
    assert {("for #", 2), ("returned by #", 2), ("failure 1 (no. 2)", 0)} <= causes
    assert all(("#" in cause) == (other != 0) for cause, other in causes)


def test_a_window_leaves_out_what_is_not_in_it() -> None:
    columns = page_columns(make_recording(), Window("2022-03-02", "2022-03-03"))
    assert columns["jobs"]["id"] == [7]
    assert (columns["base"], columns["length"]) == (NOON + 12 * 3600, 86400)
    assert columns["jobs"]["start"] == [18 * 3600]
    assert page_columns(make_recording(), Window(0, "1h"))["jobs"]["id"] == [1, 2, 3, 4]
    with pytest.raises(InputError, match="no job runs in this window"):
        page_columns(make_recording(), Window("2022-03-04", "2022-03-05"))


def test_the_page_is_the_same_bytes_and_nothing_breaks_out(tmp_path: Path) -> None:
    pages = [tmp_path / "page.html", tmp_path / "again.html"]
    assert [write_gantt(page, make_recording()) for page in pages] == [7, 7]
    html = pages[0].read_text(encoding="utf-8")
    assert pages[1].read_text(encoding="utf-8") == html
    assert EVIL not in html
    assert "onerror=window" not in re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.DOTALL)
    # The elements are ours, and the data what they were.
    assert len(re.findall(r"<script", html)) == 2
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, flags=re.DOTALL)
    assert found is not None
    assert json.loads(found[1]) == json.loads(json.dumps(page_columns(make_recording())))
    assert set(json.loads(found[1])["jobs"]["projects"]) == {EVIL, MORE, "climate", "beamline"}
    # It asks for nothing from anywhere.
    assert not re.search(r"https?://|src=[\"'][^\"']|@import|url\(", html)


@pytest.mark.system
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    year, results = tmp_path / "year.swf.gz", tmp_path / "results"
    assert cli.main(["generate", "-o", str(year), "--jobs", "200"]) == 0
    assert cli.main(["run", str(year), "-o", str(results), "--events", "--mechanism", "CUA-SPAA"]) == 0
    capsys.readouterr()
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    for page in pages:
        assert cli.main(["gantt", str(results), "-o", str(page)]) == 0
    assert "200 jobs under CUA-SPAA drawn in" in capsys.readouterr().out
    assert pages[0].read_bytes() == pages[1].read_bytes()
    # A log whose header does not say when its clock began.
    undated = tmp_path / "undated"
    lines = gzip.decompress(year.read_bytes()).decode().splitlines(keepends=True)
    (tmp_path / "log.swf").write_text("".join(line for line in lines if "UnixStartTime" not in line))
    assert cli.main(["run", str(tmp_path / "log.swf"), "-o", str(undated), "--events", "--mechanism", "CUA-SPAA"]) == 0
    capsys.readouterr()
    assert cli.main(["gantt", str(results), "-o", str(pages[0]), "--from", "2019-01-02", "--to", "2019-01-03"]) == 0
    assert "2 January 2019 (times are UTC)" in pages[0].read_text()
    capsys.readouterr()
    for words, sentence in (
        ([str(results), "-o", str(tmp_path / "none" / "x.html")], "cannot be written"),
        ([str(tmp_path), "-o", str(tmp_path / "x.html")], "no results of 'holdfast run'"),
        ([str(tmp_path / "none.swf"), "-o", str(tmp_path / "x.html")], "none.swf: no such file or directory"),
        (
            [str(results), "-o", str(tmp_path / "x.html"), "--from", "3 fortnights"],
            "--from must be a time after the first submit",
        ),
        (
            [str(results), "-o", str(tmp_path / "x.html"), "--from", "2022-03-01"],
            "2022-03-01; the simulation",
        ),
        ([str(undated), "-o", str(tmp_path / "x.html"), "--from", "2022-03-01"], "is a date"),
        ([str(results), "-o", str(tmp_path / "x.html"), "--from", "2d", "--to", "1d"], "is empty"),
    ):
        assert cli.main(["gantt", *words]) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert len(error.splitlines()) == 1
    assert not (tmp_path / "x.html").exists()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "gantt.html"
    write_gantt(path, make_recording())
    return path


def point_of(browser: Browser, job_id: int) -> tuple[float, float]:
    """The middle of the largest rectangle of a job that runs, on the screen."""
    found = browser.evaluate(
        f"""(() => {{
          const h = holdfast, R = h.model.rectangles, L = h.layout(), k = h.model.byId.get({job_id});
          const area = (r) => (R.end[r] - R.start[r]) * (R.high[r] - R.low[r]);
          const own = h.model.ofJob.get(k).filter((r) => R.kind[r] === h.model.RUN).sort((a, b) => area(b) - area(a));
          const box = document.getElementById("over").getBoundingClientRect(), r = own[0];
          const t = (R.start[r] + R.end[r]) / 2, n = (R.low[r] + R.high[r]) / 2;
          return [box.left + L.left + ((t - h.view.from) / (h.view.to - h.view.from)) * L.w,
                  box.top + ((h.view.top - n) / (h.view.top - h.view.bottom)) * L.nodes];
        }})()"""
    )
    return float(found[0]), float(found[1])


def window(browser: Browser) -> list[float]:
    found: list[float] = browser.evaluate(
        "[holdfast.view.from, holdfast.view.to, holdfast.view.bottom, holdfast.view.top]"
    )
    return found


def time_at(browser: Browser, x: float) -> float:
    """The time that is shown there [s]."""
    return float(
        browser.evaluate(
            f"""(() => {{
              const {{ view }} = holdfast, L = holdfast.layout();
              const left = document.getElementById("over").getBoundingClientRect().left + L.left;
              return view.from + (({x} - left) / L.w) * (view.to - view.from);
            }})()"""
        )
    )


def test_the_page_opens_without_complaints(browser: Browser, page: Path) -> None:
    for look in ({}, {"dark": True}, {"width": 390, "height": 844, "touch": True}):
        browser.complaints.clear()
        browser.requests.clear()
        browser.open(page, **look)  # type: ignore[arg-type]  # keywords of several types
        browser.frames()
        assert browser.complaints == []
        assert browser.requests == [page.resolve().as_uri()]
        assert browser.evaluate("window.broken") is None
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it is wider than the screen"
        assert "7 jobs on 16 nodes, 1 March 2022 to 2 March 2022" in browser.evaluate("document.body.innerText")
        # Something is drawn: many pixels of the colour of rigid jobs.
        blue = browser.evaluate(
            """(() => {
              const c = document.getElementById("plot");
              const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
              let n = 0;
              for (let k = 0; k < d.length; k += 4) n += d[k] === 0x0a && d[k + 1] === 0x62 && d[k + 2] === 0xa0;
              return n / (d.length / 4);
            })()"""
        )
        assert blue > 0.005


def test_the_pointer_tells_the_story(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.evaluate("holdfast.show(0, 4 * 3600)")
    browser.frames()
    browser.mouse("mouseMoved", *point_of(browser, 5))
    browser.frames()
    tip = browser.evaluate("document.getElementById('tip').innerText")
    for words in ("Job 5, on-demand", "beamline", "cat", "Tue 1 Mar 2022 13:10:00", "on arrival", "30 min of 40 min"):
        assert words in tip
    browser.mouse("mouseMoved", *point_of(browser, 2))
    browser.frames()
    tip = browser.evaluate("document.getElementById('tip').innerText")
    # A name is text, whatever is in it.
    assert MORE.replace("\u2028", "") in tip.replace("\u2028", "")
    assert "preempted 2 times" in tip
    assert browser.evaluate("window.broken") is None
    browser.mouse("mouseMoved", 5, 5)
    browser.frames()
    assert browser.evaluate("document.getElementById('tip').hidden")


def test_search_finds_jobs_and_shows_them(browser: Browser, page: Path) -> None:
    browser.open(page)

    def look(text: str) -> list[int]:
        browser.evaluate("(q => { q.value = ''; q.focus(); })(document.getElementById('query'))")
        browser.type(text)
        browser.frames()
        hits: list[int] = browser.evaluate("holdfast.hits()")
        return sorted(hits)

    assert look("project:climate") == [3, 4, 7]
    assert look("user:ann type:rigid") == [1]
    assert look("on-demand") == [5, 6]
    assert look("id:4") == [4]
    assert look("nobody") == []
    assert browser.evaluate("document.getElementById('found').textContent") == "no job"
    assert look("7") == [7]
    browser.key("Enter")
    browser.frames(3)
    assert "Job 7, rigid" in browser.evaluate("document.getElementById('story').innerText")
    # The window is about the job: an hour, 30 hours after the first submit.
    start, end, *_ = window(browser)
    assert start > 29 * 3600
    assert end < 32 * 3600
    story = browser.evaluate("document.getElementById('story').innerText")
    assert "starts on 2 nodes" in story
    assert "is complete" in story
    assert browser.evaluate("location.hash") == "#job=7"


def test_zoom_and_pan_change_the_window(browser: Browser, page: Path) -> None:
    browser.open(page)
    whole = window(browser)
    assert whole[0] == 0
    assert whole[2:] == [0, 16]
    x, y = map(round, point_of(browser, 7))
    pointed = time_at(browser, x)
    browser.mouse("mouseMoved", x, y)
    for _ in range(3):
        browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
    browser.frames(3)
    closer = window(browser)
    assert closer[1] - closer[0] < 0.5 * (whole[1] - whole[0])
    # What was under the pointer stays there.
    assert time_at(browser, x) == pytest.approx(pointed, abs=1)
    browser.mouse("mousePressed", x, y, button="left", clickCount=1)
    browser.mouse("mouseMoved", x - 60, y, button="left", buttons=1)
    browser.mouse("mouseReleased", x - 60, y, button="left", clickCount=1)
    browser.frames(3)
    moved = window(browser)
    assert moved[1] - moved[0] == pytest.approx(closer[1] - closer[0])
    assert moved[0] > closer[0] or moved[1] == whole[1]
    browser.evaluate("document.getElementById('chart').focus()")
    browser.key("+")
    browser.key("+", alt=True)
    browser.key("ArrowLeft")
    browser.frames(3)
    keyed = window(browser)
    assert keyed[1] - keyed[0] < moved[1] - moved[0]
    assert keyed[3] - keyed[2] < 16
    browser.key("0")
    browser.frames(3)
    assert window(browser) == whole
    browser.evaluate("document.querySelector('[data-do=in]').click()")
    browser.frames(3)
    assert window(browser)[1] - window(browser)[0] == pytest.approx(0.6 * (whole[1] - whole[0]))


def test_legend_and_colours(browser: Browser, page: Path) -> None:
    browser.open(page)
    names = "[...document.querySelectorAll('#legend button')].map((b) => b.innerText.split(/\\s/)[0])"
    assert browser.evaluate(names) == ["rigid", "on-demand", "malleable"]
    browser.evaluate("document.querySelector('#legend button').click()")
    assert browser.evaluate("document.querySelector('#legend button').getAttribute('aria-pressed')") == "false"
    modes = browser.evaluate("[...document.querySelectorAll('#colors option')].map((o) => o.value)")
    assert modes == ["type", "project", "user", "wait", "slowdown", "start"]
    for mode in modes:
        browser.evaluate(
            f"(s => {{ s.value = '{mode}'; s.dispatchEvent(new Event('change')); }})(document.getElementById('colors'))"
        )
        browser.frames()
        numbers = browser.evaluate(
            "[...document.querySelectorAll('#legend .number')].reduce((n, e) => n + Number(e.textContent), 0)"
        )
        assert numbers == 7, mode
    assert browser.complaints == []


def test_paper_gets_a_picture_of_it(browser: Browser, page: Path) -> None:
    browser.open(page, dark=True)
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate("document.querySelectorAll('.chart img[src^=\"data:image/png\"]').length") == 1
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    browser.frames()
    assert browser.evaluate("document.querySelectorAll('.chart img').length") == 0
    assert browser.complaints == []


def test_a_point_is_what_the_placement_says(browser: Browser, page: Path) -> None:
    browser.open(page)
    recording = make_recording()
    spans = place_nodes(recording)
    times = sorted({round(span.start / 1e6) for span in spans} | {round(span.end / 1e6) for span in spans})
    points = [((before + after) / 2, half / 2) for before, after in pairwise(times) for half in range(32)]
    seen = browser.evaluate(
        f"{json.dumps(points)}.map(([t, n]) => {{"
        " const m = holdfast.model, r = m.at(t, n), R = m.rectangles;"
        " return r < 0 ? null : [m.jobs.id[R.job[r]], R.kinds[R.kind[r]]]; })"
    )
    for (time, node), found in zip(points, seen, strict=True):
        there = [
            [span.job_id, span.kind]
            for span in spans
            if span.start / 1e6 <= time < span.end / 1e6 and any(low <= node < high for low, high in span.nodes)
        ]
        assert ([] if found is None else [found]) == there, (time, node)


def test_fingers(browser: Browser, page: Path) -> None:
    browser.open(page, width=390, height=844, touch=True)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=touches)

    whole = window(browser)
    touch("touchStart", (180, 450), (220, 450))
    for part in range(1, 9):
        touch("touchMove", (180 - 10 * part, 450), (220 + 10 * part, 450))
    touch("touchEnd")
    browser.frames(3)
    closer = window(browser)
    # From 40 to 200 pixels apart.
    assert closer[1] - closer[0] == pytest.approx((whole[1] - whole[0]) / 5, rel=0.01)
    assert closer[2:] == whole[2:]
    touch("touchStart", (200, 450))
    for part in range(1, 6):
        touch("touchMove", (200 - 20 * part, 450))
    touch("touchEnd")
    browser.frames(3)
    assert window(browser)[0] > closer[0]
    browser.evaluate("holdfast.show(0, 4 * 3600)")
    browser.frames()
    touch("touchStart", point_of(browser, 5))
    touch("touchEnd")
    browser.frames(4)
    assert "Job 5, on-demand" in browser.evaluate("document.getElementById('story').innerText")
    assert browser.complaints == []


def test_keys_alone_suffice(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.evaluate("document.getElementById('chart').focus()")
    browser.key("/")
    assert browser.evaluate("document.activeElement.id") == "query"
    browser.key("Escape")
    assert browser.evaluate("document.activeElement.id") == "chart"
    browser.evaluate("holdfast.show(0, 3600)")
    browser.key("n")
    first = browser.evaluate("document.querySelector('#story h2').innerText")
    browser.key("n")
    second = browser.evaluate("document.querySelector('#story h2').innerText")
    browser.key("p")
    assert browser.evaluate("document.querySelector('#story h2').innerText") == first != second
    browser.key("Escape")
    assert browser.evaluate("document.getElementById('story').hidden")
    # The story of a job leads to those who disturbed it.
    browser.evaluate("(q => { q.value = 'id:2'; q.dispatchEvent(new Event('input')); q.focus(); })"
                     "(document.getElementById('query'))")  # fmt: skip
    browser.key("Enter")
    browser.frames(3)
    browser.evaluate("document.querySelector('#story li a').click()")
    assert browser.evaluate("document.querySelector('#story h2').innerText") in ("Job 5, on-demand", "Job 6, on-demand")
    assert browser.complaints == []


@pytest.mark.system
def test_nodes_that_are_nobodys(browser: Browser, tmp_path: Path) -> None:
    jobs = [rigid(1, 0, 4, 3600), rigid(2, 0, 4, 1000), rigid(3, 60, 4, 3600)]
    outage = Outage(OutageKind.MAINTENANCE, 1000, 3000, 4)
    recording = simulate(jobs, 8, "N-PAA", outages=[outage])
    write_gantt(tmp_path / "down.html", recording)
    browser.open(tmp_path / "down.html")
    assert "down" in browser.evaluate("document.getElementById('legend').innerText")
    rectangle = browser.evaluate(
        "(() => { const m = holdfast.model, R = m.rectangles, r = R.kind.indexOf(m.DOWN);"
        " return [R.start[r], R.end[r], R.low[r], R.high[r]]; })()"
    )
    assert rectangle == [1000, 3000, 4, 8]
    box = browser.evaluate("(b => [b.left, b.top])(document.getElementById('over').getBoundingClientRect())")
    layout = browser.evaluate("holdfast.layout()")
    whole = window(browser)
    x = box[0] + layout["left"] + 2000 / whole[1] * layout["w"]
    browser.mouse("mouseMoved", x, box[1] + layout["nodes"] * 0.25)
    browser.frames()
    tip = browser.evaluate("document.getElementById('tip').innerText")
    assert " ".join(tip.split()) == "down from day 0 00:16:40 to day 0 00:50:00 nodes 4 nodes: 4 to 7"
    browser.mouse("mouseMoved", x, box[1] + layout["use"] + 10)
    browser.frames()
    tip = browser.evaluate("document.getElementById('tip').innerText").replace("\n", " ")
    assert "compute 4 nodes (50.0 %)" in tip
    assert "down 4 nodes (50.0 %)" in tip
    assert "waiting 1 job, for 4 nodes" in tip
