"""The code blocks of a page, as Markdown has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

__all__ = ["Block", "blocks_of", "commands", "comparable"]

#: What differs between two runs of the same command: the wall-clock columns of a replay.
TIMED = re.compile(r"^(\s*(?:baseline|(?:N|CUA|CUP)-S?PAA)\b.*?)\s+[\d.]+\s+[\d.]+[ \t]*$", re.MULTILINE)


@dataclass
class Block:
    """A code block, an image that is a copy, or what stands after a comment."""

    kind: str
    text: str
    first: int  # lines of the page, the fences without
    last: int
    file: str | None = None
    follows: bool = False  # right after a block that prints


def blocks_of(page: Path) -> Iterator[Block]:
    """The code blocks of a page and the pictures that it draws, in order."""
    comment, last = "", ""
    for token in MarkdownIt("commonmark").parse(page.read_text()):
        if token.type == "html_block":
            comment = token.content
        elif token.type in ("fence", "code_block"):
            assert token.map is not None
            inside = 1 if token.type == "fence" else 0
            kind = (token.info.split() or ["sh"])[0] if inside else "sh"
            named = re.match(r"<!-- file: (\S+) -->", comment)
            yield Block(
                kind,
                token.content,
                token.map[0] + inside,
                token.map[1] - inside,
                named[1] if named else None,
                follows=kind == "text" and not comment and last in ("python", "sh"),
            )
            comment, last = "", kind
        elif token.type == "inline" and "![" in token.content:
            drawn = re.match(r"<!-- picture: (\S+) -->", comment)
            if drawn:
                assert token.map is not None
                yield Block("picture", drawn[1], token.map[0], token.map[1], target_of(token.content))
            comment, last = "", ""
        elif token.nesting >= 0 and token.type not in ("bullet_list_open", "list_item_open", "paragraph_open"):
            comment, last = "", ""


def target_of(image: str) -> str:
    """The file that an image shows."""
    found = re.search(r"!\[[^\]]*\]\(([^)\s]+)", image)
    assert found, image
    return found[1]


def commands(text: str) -> list[str]:
    """The command lines of a console block; one that ends with a backslash goes on."""
    return re.findall(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)", text, flags=re.MULTILINE)


def comparable(text: str) -> str:
    """A text without what differs from run to run, and without the widths that depend on it."""
    text = TIMED.sub(r"\1", text)
    return re.sub(r"-{2,}", "--", "\n".join(" ".join(line.split()) for line in text.strip().splitlines()))
