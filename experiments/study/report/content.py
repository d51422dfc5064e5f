"""Content of the report, computed from a reproduction; every number in it is counted or measured."""

from __future__ import annotations

import platform
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from holdfast.experiments.output.csp import with_policy
from holdfast.experiments.output.page_templates import page_templates
from holdfast.experiments.study.cost_log import took
from holdfast.experiments.study.experiment import Experiment
from holdfast.experiments.study.parameters import data_files
from holdfast.experiments.study.publications import PUBLICATIONS, Publication, paper_key
from holdfast.experiments.study.report.choices import section_html, sentence_html
from holdfast.experiments.study.report.importance import Belief, belief, groups
from holdfast.experiments.study.reproduction import Done, Reproduction
from holdfast.experiments.study.verdicts import Outcome, Verdict, format_p, remaining_decisions
from holdfast.experiments.tables import cell_text
from holdfast.workloads.ground.files import atomic_open

__all__ = ["Chapter", "Entry", "Tally", "render_report", "write_report"]

#: Number of rows of a table shown in place of a figure.
_MOST_ROWS = 60
_LIBRARIES = ("numpy", "scipy", "matplotlib", "simpy", "numba")


@dataclass(frozen=True)
class Tally:
    """Counts of statements by outcome, and of experiments that failed or did not run.

    Statements that hold by construction are counted separately, as ``construction``.
    """

    holds: int = 0
    fails: int = 0
    undecided: int = 0
    open: int = 0
    broken: int = 0
    missing: int = 0
    construction: int = 0

    @classmethod
    def of(cls, done: Sequence[Done]) -> Tally:
        """Count the statements of several experiments."""
        counts = cls.of_verdicts([verdict for item in done for verdict in item.verdicts])
        broken, missing = sum(bool(item.error) for item in done), sum(bool(item.missing) for item in done)
        return replace(counts, broken=broken, missing=missing)

    @classmethod
    def of_verdicts(cls, verdicts: Sequence[Verdict]) -> Tally:
        """Count statements that were judged."""
        counts = Counter(verdict.outcome for verdict in verdicts if not verdict.by_construction)
        held, failed, undecided = counts[Outcome.HOLDS], counts[Outcome.FAILS], counts[Outcome.UNDECIDED]
        built = sum(verdict.by_construction for verdict in verdicts)
        return cls(held, failed, undecided, counts[Outcome.NOT_COMPARABLE], construction=built)

    @property
    def words(self) -> str:
        """The counts as a phrase.

        >>> Tally(holds=3, fails=1, undecided=2).words, Tally(broken=1).words, Tally().words
        ('3 statements hold, 1 does not hold, 2 are undecided', 'it failed', 'no statement')
        >>> Tally(holds=3, missing=2).words, Tally(missing=1).words
        ('3 statements hold; 2 experiments were not run', '1 experiment was not run')
        >>> Tally(holds=3, construction=2).words, Tally(construction=1).words
        ('3 statements hold; 2 more hold by construction', '1 holds by construction')
        """
        if self.broken:
            return "it failed" if self.broken == 1 else f"{self.broken} failed"
        parts = [
            (self.holds, "holds", "hold"),
            (self.fails, "does not hold", "do not hold"),
            (self.undecided, "is undecided", "are undecided"),
            (self.open, "is not comparable", "are not comparable"),
        ]
        counts = [(number, one if number == 1 else many) for number, one, many in parts if number]
        notes = []
        if self.construction:
            more = " more" if counts else ""
            notes.append(f"{self.construction}{more} hold{'s' if self.construction == 1 else ''} by construction")
        if self.missing:
            notes.append(f"{self.missing} experiment{' was' if self.missing == 1 else 's were'} not run")
        left = "; ".join(notes)
        if not counts:
            return left or "no statement"
        noun = "statement" if counts[0][0] == 1 else "statements"
        first = f"{counts[0][0]} {noun} {counts[0][1]}"
        statements = ", ".join([first, *(f"{number} {verb}" for number, verb in counts[1:])])
        return f"{statements}; {left}" if left else statements


@dataclass(frozen=True)
class Entry:
    """An experiment of the report."""

    experiment: Experiment
    done: Done
    command: str
    parameters: Sequence[tuple[str, str]]
    data: Sequence[str]
    took: str
    tally: Tally

    @property
    def alt(self) -> str:
        """Alternative text of the picture."""
        return f"{self.experiment.title}. {self.tally.words[0].upper()}{self.tally.words[1:]}."

    @property
    def remaining(self) -> str:
        """Sentence on the decisions that remain after Holm's correction."""
        return remaining_decisions(self.done.verdicts)

    @property
    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]], int]:
        """The main table, shown if there is no picture: header, rows as texts, and the number of rows left out."""
        rows = self.done.table
        head = list(rows[0]) if rows else []
        return head, [[cell_text(row[name]) for name in head] for row in rows[:_MOST_ROWS]], len(rows) - _MOST_ROWS


@dataclass(frozen=True)
class Chapter:
    """A paper with its experiments."""

    paper: Publication
    entries: Sequence[Entry]
    tally: Tally
    choices: Sequence[tuple[str, str]]

    @property
    def belief(self) -> Belief:
        """Summary of how far the paper was confirmed."""
        return belief([entry.done for entry in self.entries])


def write_report(
    path: Path, done: Sequence[Done], how: Reproduction, times: Mapping[str, float], words: str, *, waiting: int = 0
) -> None:
    """Write the report to a file; the other arguments are those of :func:`render_report`."""
    html = render_report(done, how, times, words, waiting=waiting)
    with atomic_open(path, follow=False) as file:
        file.write(html)


def render_report(
    done: Sequence[Done], how: Reproduction, times: Mapping[str, float], words: str, *, waiting: int = 0
) -> str:
    """Render the report as HTML.

    Parameters
    ----------
    done
        All experiments of the reproduction, in the order of the catalogue.
    how
        Settings of the reproduction.
    times
        Duration of measurements by experiment [s]. They appear only in elements of the class ``took``; except for
        these, equal tables give equal bytes.
    words
        Command that wrote the report.
    waiting
        Number of experiments of the reproduction that are not done yet.
    """
    environment = page_templates("holdfast.experiments.study.report")
    environment.filters["sentence"] = sentence_html
    environment.filters["p"] = format_p
    known = how.catalogue()
    chapters = _chapters([_entry(known[item.id], item, how, times) for item in done])
    html = environment.get_template("report.html").render(
        chapters=chapters,
        tally=Tally.of(done),
        groups=groups(done),
        how=how,
        words=words,
        total=len(done),
        waiting=waiting,
        took=took(sum(times[item.id] for item in done if item.id in times)),
        sources=next((item.record["sources"] for item in done if item.record), "unknown"),
        libraries=[("Python", platform.python_version()), *((name, _version(name)) for name in _LIBRARIES)],
        Outcome=Outcome,
    )
    return with_policy(html, scripts=0)


def _chapters(entries: Sequence[Entry]) -> list[Chapter]:
    chapters = []
    for key, paper in PUBLICATIONS.items():
        own = [entry for entry in entries if paper_key(entry.experiment.id) == key]
        if own:
            choices = [(heading, section_html(page, heading)) for page, heading in paper.choices]
            chapters.append(Chapter(paper, own, Tally.of([entry.done for entry in own]), choices))
    return chapters


def _entry(experiment: Experiment, done: Done, how: Reproduction, times: Mapping[str, float]) -> Entry:
    record = done.record
    settings = record.get("parameters", {})
    files = data_files(how.parameters(experiment))
    words = ["holdfast", "experiment", experiment.id, "-o", "results", *(["--quick"] if how.quick else [])]
    words += ["--seed", str(how.seed)]
    for name in record.get("data", {}):
        words += ["--set", f"{name}={settings[name]}"]
    data = [
        f"{file}: measured, SHA-256 {record['data'][name]}"
        if name in record.get("data", {})
        else f"{file} is not public with Holdfast: generated runs stand in (see --data)"
        for name, file in files.items()
    ]
    return Entry(
        experiment,
        done,
        shlex.join(words),
        [(name, _setting(value)) for name, value in settings.items() if name not in files],
        data,
        took(times[done.id]) if done.id in times else "not known",
        Tally.of([done]),
    )


def _setting(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_setting, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "missing"
