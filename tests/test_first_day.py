"""The ten questions of docs/guides/first-day.md: each has an answer in words by one command.

That its commands run and print what the page shows is checked with all other pages (``test_docs``).
"""

from __future__ import annotations

import re

import pytest

from tests.documentation.blocks import blocks_of, commands
from tests.documentation.session import ROOT

PAGE = ROOT / "docs" / "guides" / "first-day.md"
ORDERS = ("fcfs", "sjf", "ljf", "wfp3", "f1")
#: What the page must show below each question.
ANSWERS = {
    "Which of five orders is best?": [r"shortens the mean wait", *(rf"^order {order} +\d" for order in ORDERS[1:])],
    "Is it so over ten seeds?": [
        *(rf"^{order} +10 +.*\[.*\]" for order in ORDERS[1:]),
        r"^sjf +10 +-\d.*\*",
        "difference from fcfs",
    ],
    "What does a week of maintenance cost?": [r"longer under maintenance 1d,7d by \d+ \["],
    "What do 20 more nodes give?": [r"Undecided is the direction of 4,412 nodes \(\+20\) \("],
    "Which users lose under shortest job first?": [r"^  by user: \d+ gain, \d+ lose, \d+ undecided or equal"],
    "What should I request, after my last 50 runs?": [r"^Ask for \d\d:\d\d:\d\d; if the job has not ended then, for "],
    "How many on-demand projects are too many?": [r"^0\.05,.* 5 +9[5-9]\.\d", r"^0\.4,.* 5 +[0-8]\d\.\d"],
    "Why was the longest wait so long?": [r"^Longest waits:", r"^Why it waited"],
    "Who had which nodes last Tuesday?": [r"^Of the used node-hours, user \d+ had \d+ %", r"drawn in tuesday\.html"],
    "Is my own order better than WFP3?": [r"Order mine:narrow_first shortens", r"^order mine:narrow_first +\d.*gains$"],
}  # fmt: skip


def test_the_page_has_these_questions_and_no_other() -> None:
    assert re.findall(r"^## (.*)", PAGE.read_text(), flags=re.MULTILINE) == list(ANSWERS)


@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_takes_one_command_and_is_answered(question: str) -> None:
    text = PAGE.read_text()
    first = text[: text.index(f"## {question}")].count("\n")
    after = text.find("\n## ", text.index(f"## {question}"))
    last = text.count("\n") if after < 0 else text[:after].count("\n")
    consoles = [block for block in blocks_of(PAGE) if block.kind == "console" and first < block.first <= last]
    assert sum(len(commands(block.text)) for block in consoles) == 1
    shown = "\n".join(block.text for block in consoles)
    for pattern in ANSWERS[question]:
        assert re.search(pattern, shown, flags=re.MULTILINE), pattern
