"""Footnotes of a table: a phrase that several verdicts share is printed once, below the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["with_notes"]

#: Length below which phrases stay in their rows [characters].
_SHORTEST = 30
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def with_notes(table: str) -> str:
    """Move the phrases that several rows share in their last cell into notes.

    Parameters
    ----------
    table
        Table in Markdown; semicolons separate the phrases of a last cell.

    Returns
    -------
    str
        The table with letters in place of these phrases, and a list of the phrases.

    Examples
    --------
    >>> row = "| {} | **holds**; holds if the measured value lies above 0; p = 0.0{} |"
    >>> print(with_notes("\\n".join(["| statement | verdict |", "|---|---|", row.format("A", 1), row.format("B", 2)])))
    | statement | verdict |
    |---|---|
    | A | **holds** (a); p = 0.01 |
    | B | **holds** (a); p = 0.02 |
    <BLANKLINE>
    Notes:
    <BLANKLINE>
    * (a) holds if the measured value lies above 0
    """
    head, rows = table.splitlines()[:2], [_Row(line) for line in table.splitlines()[2:]]
    counted = Counter(phrase for row in rows for phrase in dict.fromkeys(row.phrases))
    shared = [phrase for phrase, count in counted.items() if count > 1 and len(phrase) >= _SHORTEST][: len(_LETTERS)]
    if not shared:
        return table
    letters = dict(zip(shared, _LETTERS, strict=False))
    notes = [f"* ({letter}) {phrase}" for phrase, letter in letters.items()]
    return "\n".join([*head, *(row.mark(letters) for row in rows), "", "Notes:", "", *notes])


class _Row:
    """A row of a table: its first cells, the outcome, and the phrases after it."""

    def __init__(self, line: str) -> None:
        self.cells, last = line.removesuffix(" |").rsplit(" | ", 1)
        self.outcome, *self.phrases = last.split("; ")

    def mark(self, letters: dict[str, str]) -> str:
        marks = [letters[phrase] for phrase in self.phrases if phrase in letters]
        rest: Sequence[str] = [phrase for phrase in self.phrases if phrase not in letters]
        outcome = f"{self.outcome} ({', '.join(marks)})" if marks else self.outcome
        return f"{self.cells} | {'; '.join([outcome, *rest])} |"
