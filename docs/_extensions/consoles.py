"""Sphinx: blocks that GitHub shows well and Pygments does not."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.lexers.special import TextLexer
from pygments.token import Generic, Text
from sphinx.application import Sphinx


class Console(RegexLexer):
    """Commands after ``$``, and what they print: not a script, so that nothing in it is a keyword."""

    tokens: ClassVar = {"root": [(r"^\$ ", Generic.Prompt), (r".*\n", Text)]}


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_lexer("console", Console)
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
