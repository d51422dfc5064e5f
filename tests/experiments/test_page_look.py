"""The pages of what-if, forecast, report and Gantt: one look, at every width, in the dark, on paper and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.machine_state import state_at
from holdfast.experiments.forecast.page import render_page
from holdfast.experiments.gantt.page import write_gantt
from tests.experiments.study.test_report import carry_out
from tests.experiments.whatif.test_question import LOG
from tests.support.browser import Browser

pytestmark = [pytest.mark.system, pytest.mark.pictures("png")]

PAGES = ("whatif", "forecast", "report", "gantt")
#: Most sheets of paper.
SHEETS = {"whatif": 2, "forecast": 2, "gantt": 1}
#: What all pages share: colours and letters.
LOOK = """(() => {
  const of = (element) => { const s = getComputedStyle(element); return [s.color, s.backgroundColor, s.fontFamily]; };
  return [of(document.body), getComputedStyle(document.querySelector("footer")).color,
          getComputedStyle(document.querySelector("footer")).borderTopColor];
})()"""
#: Contrast of the letters to the nearest painted ground, as in WCAG 2, for each element with a text of its own.
CONTRAST = """(() => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const c = parts(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const e of document.body.querySelectorAll("*")) {
    const own = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
    if (!own || e.disabled || ["SCRIPT", "NOSCRIPT"].includes(e.tagName) || !e.getClientRects().length) continue;
    const [one, other] = [light(parts(getComputedStyle(e).color)), light(ground(e))].sort((a, b) => a - b);
    if ((other + 0.05) / (one + 0.05) < 4.5) faint.push(e.outerHTML.slice(0, 80));
  }
  return faint;
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of each kind."""
    place = tmp_path_factory.mktemp("pages")
    result = hf.simulate(LOG, events=True)
    hf.whatif(LOG, order=["sjf", "f1"], nodes="+25%", workers=1).write_page(place / "whatif.html", "holdfast whatif")
    write_gantt(place / "gantt.html", result)
    trace = hf.as_log(result)
    at = 100_000.0
    state = state_at(trace, at, LOG.nodes, [])
    (place / "forecast.html").write_text(
        render_page(
            forecast(state, read_history(trace, at), draws=10), title="<b>log</b>", lead=["It starts <soon>."],
            moment=lambda time: f"{time:,.0f} s", notes=["An assumption."], command="holdfast forecast 'a b'",
        )
    )  # fmt: skip
    carry_out(place / "study", ("hybrid-fig1", "hybrid-table1"), quick=True, workers=1)
    (place / "study" / "report.html").rename(place / "report.html")
    return {name: place / f"{name}.html" for name in PAGES}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_the_screen_and_look_alike(width: int, dark: bool, browser: Browser, pages: dict[str, Path]) -> None:
    looks: dict[str, Any] = {}
    for name, page in pages.items():
        browser.complaints.clear()
        browser.requests.clear()
        browser.open(page, width=width, dark=dark)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, name
        assert browser.evaluate(CONTRAST) == [], name
        assert browser.complaints == [], name
        assert browser.requests == [page.resolve().as_uri(), *_data_urls(browser.requests)], name
        looks[name] = browser.evaluate(LOOK)
    assert looks == dict.fromkeys(PAGES, looks["whatif"])


def _data_urls(requests: list[str]) -> list[str]:
    """Pictures that are in the page itself."""
    return [address for address in requests if address.startswith("data:image/")]


@pytest.mark.parametrize("name", PAGES)
def test_foreign_scripts_and_pictures_are_refused(name: str, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name])
    browser.complaints.clear()
    browser.evaluate(
        """(() => {
          const script = document.createElement("script");
          script.textContent = "window.broken = 1";
          const image = document.createElement("img");
          image.src = "https://example.org/x.png";
          document.body.append(script, image);
        })()"""
    )
    browser.wait("true")
    assert browser.evaluate("window.broken") is None
    assert any("script-src" in text for text in browser.complaints)
    assert any("img-src" in text for text in browser.complaints)
    browser.complaints.clear()


@pytest.mark.parametrize("name", PAGES)
def test_paper_is_white_and_has_few_sheets(name: str, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name], width=688, dark=True, paper=True)
    colors = "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    assert browser.evaluate(colors) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert browser.evaluate(CONTRAST) == []
    if name in SHEETS:
        assert 1 <= len(re.findall(rb"/Type\s*/Page\b", browser.print())) <= SHEETS[name]
    assert browser.complaints == []


@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_reaches_everything_and_shows_where_it_is(
    name: str, browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages[name])
    able = "a[href], button:not(:disabled), input, select, summary, [tabindex='0']"
    count = browser.evaluate(f'[...document.querySelectorAll("{able}")].filter((e) => e.checkVisibility()).length')
    reached = set()
    for _ in range(count):
        browser.key("Tab")
        focus = browser.evaluate(
            f"""(() => {{
              const e = document.activeElement, s = getComputedStyle(e);
              return [[...document.querySelectorAll("{able}")].indexOf(e), s.outlineStyle, parseFloat(s.outlineWidth)];
            }})()"""
        )
        assert focus[1] == "solid", focus
        assert focus[2] >= 2, focus
        reached.add(focus[0])
    assert len(reached) == count


@pytest.mark.parametrize("name", ["whatif", "forecast"])
@pytest.mark.parametrize("width", [1280, 390])
def test_heads_of_columns_sort_the_rows(name: str, width: int, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name], width=width)
    values = (
        "[...document.querySelector('table.sortable').tBodies[0].rows]"
        ".map((row) => Number(row.cells[{0}].dataset.value ?? row.cells[{0}].textContent.replaceAll(',', '')))"
    )
    column = {"whatif": 1, "forecast": 3}[name]
    before = browser.evaluate(values.format(column))
    head = f"document.querySelector('table.sortable').tHead.rows[0].cells[{column}]"
    for order in ("ascending", "descending"):
        browser.evaluate(f"{head}.querySelector('button').focus()")
        browser.key("Enter")
        found = browser.evaluate(values.format(column))
        assert found == sorted(before, reverse=order == "descending")
        assert browser.evaluate(f"{head}.getAttribute('aria-sort')") == order
    assert len(set(before)) > 1
