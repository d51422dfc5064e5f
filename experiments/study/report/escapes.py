"""Escaping of the characters that have a meaning in Markdown."""

from __future__ import annotations

import re

__all__ = ["escape_markdown"]


def escape_markdown(text: str) -> str:
    r"""Escape the signs of a text that Markdown would interpret.

    >>> print(escape_markdown("a < b_1"))
    a \< b\_1
    """
    return re.sub(r"([\\|*_<>`\[\]])", r"\\\1", text)
