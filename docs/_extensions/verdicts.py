"""Sphinx: all verdicts of the experiments in full, from the answers beside their pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.experiments.study.experiment import all_experiments
from holdfast.experiments.study.publications import PUBLICATIONS, paper_key
from holdfast.experiments.study.report.answers import read_answers
from holdfast.experiments.study.report.verdict_pages import verdict_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def pages(app: Sphinx) -> None:
    """Write a page for each paper."""
    target = Path(app.srcdir, "reference", "api")
    target.mkdir(parents=True, exist_ok=True)
    for paper in PUBLICATIONS.values():
        own = [item for item in all_experiments().values() if paper_key(item.id) == paper.key]
        answers = read_answers(Path(app.srcdir, "experiments", f"{paper.key}.json"))
        (target / f"verdicts-{paper.key}.md").write_text(verdict_page(paper, own, answers), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", pages, priority=400)  # before autosummary looks for pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
