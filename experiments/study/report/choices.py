"""Sections of the documentation that explain modelling choices, converted to HTML for the report.

The text exists only in the documentation. In a checkout, the documentation is beside the packages; a wheel contains a
copy in this package.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["page_section", "section_html", "sentence_html"]

_HERE = Path(__file__).parent
_PLACES = (_HERE.parents[3] / "docs", _HERE / "docs")


def page_section(page: str, heading: str) -> str:
    """The Markdown text under a heading of a page of the documentation, up to the next heading.

    Raises
    ------
    LookupError
        If there is no such page or heading, which is a defect of the documentation.
    """
    path = next((place / page for place in _PLACES if (place / page).is_file()), None)
    if path is None:
        raise LookupError(f"the documentation has no page {page}")
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    if found is None:
        raise LookupError(f"{page} has no section {heading!r}")
    return found[1].strip()


def section_html(page: str, heading: str) -> str:
    """The section of :func:`page_section` as HTML, without links, because their targets are not part of the report."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", page_section(page, heading))
    html: str = _markdown().render(text)
    return html


def sentence_html(text: str) -> str:
    """A sentence on a choice as HTML, with parameter names as code."""
    html: str = _markdown().renderInline(text)
    return html


def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")
