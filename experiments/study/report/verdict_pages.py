"""Reference of all verdicts in full, one page for each paper: choices, sources, rules, p-values and remarks.

The site builds these pages from ``docs/experiments/KEY.json`` and from the experiments; they are not in the repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.experiments.study.experiment import Experiment
from holdfast.experiments.study.publications import PUBLICATIONS, Publication, paper_key
from holdfast.experiments.study.report.answers import Answer, Judgement
from holdfast.experiments.study.report.escapes import escape_markdown
from holdfast.experiments.study.report.notes import with_notes

__all__ = ["verdict_page"]


def verdict_page(paper: Publication, experiments: Iterable[Experiment], answers: Mapping[str, Answer]) -> str:
    """The page of a paper, in Markdown."""
    parts = [
        f"# Verdicts: {paper.title}",
        "All statements with the source of the printed value, the rule that was fixed before the data, p-values and "
        f"remarks; [the page of the experiments](../../experiments/{paper.key}.md) has the pictures.",
    ]
    parts += [_section(item, answers[item.id]) for item in experiments if item.id in answers]
    return "\n\n".join(parts) + "\n"


def _section(item: Experiment, answer: Answer) -> str:
    paper = PUBLICATIONS[paper_key(item.id)]
    parts = [f"## {item.id}", f"{escape_markdown(item.title)}."]
    if item.choices:
        parts.append(f"{paper.silent}:\n\n" + "\n".join(f"* {choice}" for choice in item.choices))
    columns = [paper.statement.lower(), *(["printed"] if paper.printed else []), "measured", "verdict"]
    rows = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    rows += [_row(verdict, paper.printed) for verdict in answer.verdicts]
    parts.append(with_notes("\n".join(rows)))
    if answer.holm:
        parts.append(answer.holm)
    parts += [f"Data: `{name}`, SHA-256 `{digest}`." for name, digest in answer.data.items()]
    parts.append(f"Sources {answer.sources}.")
    return "\n\n".join(parts)


def _row(verdict: Judgement, with_printed: bool) -> str:
    """A verdict as a line of a table: what is printed with its source, the outcome with its rule."""
    printed = escape_markdown(verdict.printed + (f" ({verdict.source})" if verdict.source else ""))
    parts = [verdict.construction, verdict.rule, verdict.p, verdict.remark]
    outcome = "; ".join([f"**{verdict.outcome}**", *(escape_markdown(part) for part in parts if part)])
    cells = [escape_markdown(verdict.claim), *([printed] if with_printed else []), escape_markdown(verdict.measured)]
    return f"| {' | '.join([*cells, outcome])} |"
