"""Ranking of the findings of a report by importance, and a summary of how far each paper was confirmed.

A finding that contradicts a paper is more important than one that confirms it, a statement of a paper more important
than a hypothesis of this project, and a decision that survives Holm's correction more important than one that does not.
Within each group, the main results of a paper are first, followed by others in ascending order of p-values, alternating
between the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from textwrap import shorten
from typing import NamedTuple

from holdfast.experiments.study.publications import PUBLICATIONS, Publication, paper_key
from holdfast.experiments.study.reproduction import Done
from holdfast.experiments.study.verdicts import Outcome, Verdict

__all__ = ["Belief", "Group", "JudgedStatement", "belief", "groups"]

#: Number of findings of a group that are shown; the others are folded.
_FIRST = 3


class JudgedStatement(NamedTuple):
    """A statement with its verdict.

    Attributes
    ----------
    verdict
        The verdict.
    names
        Ids of the experiments with this statement, the most important first.
    """

    verdict: Verdict
    names: tuple[str, ...]

    @property
    def paper(self) -> Publication:
        """The paper of its experiment."""
        return PUBLICATIONS[paper_key(self.names[0])]

    @property
    def printed(self) -> bool:
        """Whether it is a statement of a paper."""
        return self.verdict.source.kind in ("text", "table", "figure")

    @property
    def short(self) -> str:
        """The statement, shortened to one line."""
        return shorten(self.verdict.claim, 110, placeholder=" \N{HORIZONTAL ELLIPSIS}")


class Group(NamedTuple):
    """Findings of equal importance.

    Attributes
    ----------
    title
        Heading of the group.
    found
        The findings, the most important first.
    kind
        Outcome of the findings: ``holds``, ``fails``, ``undecided`` or ``open``; empty: several outcomes.
    """

    title: str
    found: Sequence[JudgedStatement]
    kind: str

    @property
    def first(self) -> Sequence[JudgedStatement]:
        """Findings that are shown."""
        return self.found[:_FIRST] if self.kind in ("holds", "fails") else ()

    @property
    def rest(self) -> Sequence[JudgedStatement]:
        """Findings that are folded."""
        return self.found[len(self.first) :]


def _is_refuted(item: JudgedStatement) -> bool:
    return item.verdict.survives and item.verdict.outcome is Outcome.FAILS


def _is_confirmed(item: JudgedStatement) -> bool:
    return item.verdict.survives and item.verdict.outcome is Outcome.HOLDS and not item.verdict.by_construction


_GROUPS: Sequence[tuple[str, str, Callable[[JudgedStatement], bool]]] = (
    ("A paper says it, and it does not hold", "fails", lambda item: item.printed and _is_refuted(item)),
    ("A paper says it, and it holds", "holds", lambda item: item.printed and _is_confirmed(item)),
    ("We expected it, and it does not hold", "fails", lambda item: not item.printed and _is_refuted(item)),
    ("We expected it, and it holds", "holds", lambda item: not item.printed and _is_confirmed(item)),
    (
        "Decided alone, but not after Holm's correction",
        "",
        lambda item: item.verdict.decided and not item.verdict.survives and not item.verdict.by_construction,
    ),
    ("Undecided", "undecided", lambda item: item.verdict.outcome is Outcome.UNDECIDED),
    ("Not comparable", "open", lambda item: item.verdict.outcome is Outcome.NOT_COMPARABLE),
    ("Holds by construction", "", lambda item: item.verdict.by_construction),
)


def groups(done: Sequence[Done]) -> list[Group]:
    """Group all findings, the most important group first, without empty groups.

    Parameters
    ----------
    done
        The experiments. A statement with the same verdict in several experiments is one finding.
    """
    statements = _statements(done)
    found = [
        Group(title, _in_turns([item for item in statements if fits(item)]), kind) for title, kind, fits in _GROUPS
    ]
    return [group for group in found if group.found]


def _statements(done: Sequence[Done]) -> list[JudgedStatement]:
    seen: dict[tuple[str, str, str, Outcome], list[tuple[Verdict, str]]] = {}
    for item in sorted(done, key=lambda item: _place(item.id)):
        for verdict in item.verdicts:
            key = (paper_key(item.id), verdict.claim, verdict.printed, verdict.outcome)
            seen.setdefault(key, []).append((verdict, item.id))
    return [JudgedStatement(own[0][0], tuple(dict.fromkeys(name for _, name in own))) for own in seen.values()]


def _place(name: str) -> int:
    """Rank of an experiment among the main experiments of its paper; others have the next rank."""
    main = PUBLICATIONS[paper_key(name)].main
    return main.index(name) if name in main else len(main)


def _in_turns(found: Sequence[JudgedStatement]) -> list[JudgedStatement]:
    """Interleave the findings of the papers: the first of each paper, then the second of each."""
    ranked = sorted(found, key=lambda item: (_place(item.names[0]), item.verdict.adjusted or 0.0))
    of_papers: Mapping[str, list[JudgedStatement]] = {
        key: [item for item in ranked if item.paper.key == key] for key in PUBLICATIONS
    }
    return [item for turn in zip_longest(*of_papers.values()) for item in turn if item is not None]


class Belief(NamedTuple):
    """Summary of how far a paper was confirmed.

    Attributes
    ----------
    words
        One or two sentences with the counts of its verdicts.
    holds, fails
        Most important statement that holds, and most important one that does not; None if there is none.
    """

    words: str
    holds: JudgedStatement | None = None
    fails: JudgedStatement | None = None


def belief(done: Sequence[Done]) -> Belief:
    """Summarise how far the paper of these experiments was confirmed."""
    statements = _statements(done)
    holds, fails = ([item for item in statements if fits(item)] for fits in (_is_confirmed, _is_refuted))
    decided = len(holds) + len(fails)
    comparable = sum(
        item.verdict.outcome is not Outcome.NOT_COMPARABLE and not item.verdict.by_construction for item in statements
    )
    left = comparable - decided
    if not comparable:
        return Belief("Nothing can be compared.")
    if not decided:
        return Belief(f"Nothing is decided: {_open(left, comparable)}")
    words = f"{_share(len(holds), decided)} of what is decided holds: {len(holds)} of {decided} statements."
    if left:
        words += f" {_open(left, comparable)}"
    return Belief(words, next(iter(_in_turns(holds)), None), next(iter(_in_turns(fails)), None))


def _open(left: int, whole: int) -> str:
    return f"{left} of {whole} {'is' if left == 1 else 'are'} open."


def _share(part: int, whole: int) -> str:
    """A share in words.

    >>> [_share(part, 10) for part in (0, 3, 5, 7, 9, 10)]
    ['Nothing', 'Less than half', 'Half', 'More than half', 'Nearly all', 'All']
    """
    if part in (0, whole):
        return "All" if part else "Nothing"
    if 2 * part == whole:
        return "Half"
    return "Nearly all" if 10 * part >= 9 * whole else "More than half" if 2 * part > whole else "Less than half"
