"""The table of verdict counts in the paper about Holdfast.

``python -m holdfast.experiments.study.report.paper_table [PAPER [DOCS]]`` writes it into PAPER (default
``paper/paper.md``), between the comments ``verdicts: begin`` and ``verdicts: end``, from the answers in DOCS (default
``docs/experiments``). A test compares both.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.experiments.study.publications import PUBLICATIONS
from holdfast.experiments.study.report.answers import COUNTED, Answer, read_answers
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.files import atomic_open

__all__ = ["verdict_table", "with_verdict_table"]

_BEGIN, _END = "<!-- verdicts: begin -->\n", "<!-- verdicts: end -->\n"


def verdict_table(answers: Mapping[str, Mapping[str, Answer]]) -> str:
    """Verdicts by paper as a Markdown table; the keys are those of papers, then of experiments."""
    head = ["source of the statements", "experiments", *COUNTED]
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}"]
    for paper in PUBLICATIONS.values():
        own = answers.get(paper.key, {})
        counts = sum((answer.counts for answer in own.values()), Counter[str]())
        title = f"{paper.title} [@{paper.key}]" if paper.printed else "hypotheses of our own"
        cells = [title, str(len(own)), *(str(counts[outcome]) for outcome in COUNTED)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def with_verdict_table(text: str, table: str) -> str:
    """A text with another table between the comments.

    Raises
    ------
    InputError
        If the text does not have the two comments once each.
    """
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end) or re.search("verdicts: (begin|end)", after):
        raise InputError(f"the paper must have the lines {_BEGIN.strip()} and {_END.strip()} once each, in this order")
    return f"{before}{begin}\n{table}\n{end}{after}"


def main(words: Sequence[str]) -> None:
    """Write the table."""
    paper, docs = map(Path, [*words, *("paper/paper.md", "docs/experiments")[len(words) :]])
    table = verdict_table({key: read_answers(docs / f"{key}.json") for key in PUBLICATIONS})
    text = with_verdict_table(paper.read_text(encoding="utf-8"), table)
    with atomic_open(paper) as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
