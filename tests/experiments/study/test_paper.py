"""The paper about Holdfast: its table is that of the answers, and what it cites and measures is there."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from holdfast.experiments.study.report import paper_table
from holdfast.workloads.ground.errors import InputError
from tests.places import ROOT

PAPER = ROOT / "paper" / "paper.md"
OUTCOMES = ("holds", "does not hold", "undecided", "not comparable", "holds by construction")


def test_the_table_counts_the_verdicts_of_the_stored_answers() -> None:
    rows = {}
    for line in PAPER.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[1].isdigit():
            rows[cells[0]] = list(map(int, cells[1:]))
    assert len(rows) == 5
    for title, counted in rows.items():
        cited = re.search(r"@(\w+)", title)
        text = (ROOT / "docs" / "experiments" / f"{cited[1] if cited else 'beyond'}.json").read_text(encoding="utf-8")
        answers = json.loads(text)
        outcomes = Counter(verdict["outcome"] for answer in answers.values() for verdict in answer["verdicts"])
        again = "write it again: python -m holdfast.experiments.study.report.paper_table"
        assert counted == [len(answers), *(outcomes[name] for name in OUTCOMES)], again


def test_every_citation_is_in_the_bibliography_and_the_reverse() -> None:
    cited = set(re.findall(r"@(\w+)", PAPER.read_text(encoding="utf-8").split("---", 2)[2]))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", (PAPER.parent / "paper.bib").read_text(), flags=re.MULTILINE))


def test_the_measurement_beside_other_simulators_is_that_of_the_page_on_speed() -> None:
    text = " ".join(PAPER.read_text(encoding="utf-8").split())
    found = re.search(
        r"the (?P<jobs>[\d,]+ jobs) of the log KTH-SP2 .* takes AccaSim (?P<AccaSim>[\d.]+) s, "
        r"CQSim (?P<CQSim>[\d.]+) s and Holdfast (?P<Holdfast>[\d.]+) s",
        text,
    )
    assert found is not None
    speed = " ".join((ROOT / "docs" / "reference" / "speed.md").read_text(encoding="utf-8").split())
    assert f"| KTH-SP2, {found['jobs']} |" in speed
    for simulator in ("AccaSim", "CQSim", "Holdfast"):
        assert re.search(rf"\| {simulator} \| {re.escape(found[simulator])}[ ,]", speed), simulator


@pytest.mark.parametrize("text", ["", "<!-- verdicts: end -->\n<!-- verdicts: begin -->\n"])
def test_a_text_without_a_place_for_the_table_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="verdicts: begin"):
        paper_table.with_verdict_table(text, "table")
