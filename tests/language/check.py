"""Words and names that stop a reader, counted in the sources of the four packages and of ``holdfast``.

A word counts in docstrings, comments and messages (string literals); a name counts where a function is defined. The
limits are those of comparable projects: SimPy, seaborn and httpx have one to nine "who" and no "told" per 10,000 lines.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.places import PACKAGES

__all__ = ["LIMITS", "Finding", "findings", "lines_of_code"]

ROOT = Path(__file__).parent.parent.parent
FOLDERS = (*PACKAGES, "holdfast")

#: Words, and how many may stand in 10,000 lines.
WORDS = {
    "who": (re.compile(r"\b(who|whose|whom|whoever|nobody|somebody|anybody|everybody)\b", re.IGNORECASE), 4.0),
    "tell": (re.compile(r"\b(tells?|told|telling)\b", re.IGNORECASE), 2.0),
    "so many": (re.compile(r"\b(so|that) (many|long|much)\b(?! (as|that)\b)", re.IGNORECASE), 2.0),
    "phrase": (
        re.compile(
            r"\b(the one before|the next but one|those that came|(counts|stands?) for (nothing|itself)|what it is of"
            r"|of its own kind|is none of|manieth|say nothing about|it is said|is asked for of|as it was asked)\b",
            re.IGNORECASE,
        ),
        1.0,
    ),
}
#: Functions, and variables that are assigned: how many may have such a name in all packages together.
NAMES = {"participle": 20, "of": 20, "variable": 20}
LIMITS = {**{name: limit for name, (_, limit) in WORDS.items()}, **NAMES}

_IRREGULAR = (
    "begun|bound|bought|broken|brought|built|caught|chosen|done|drawn|driven|fed|felt|forgotten|found|frozen|given|gone"
    "|grown|held|hidden|kept|known|laid|led|left|lost|made|meant|met|paid|said|seen|sent|shown|shrunk|sold|spent|split"
    "|stood|struck|sunk|taken|taught|thought|thrown|told|torn|understood|withdrawn|won|worn|written"
)
_PREPOSITION = "after|at|before|beside|between|by|for|from|in|into|of|off|on|out|over|through|to|together|under|up|with"
_PARTICIPLE = re.compile(rf"_*(?:[a-z0-9]+_)*?({_IRREGULAR}|[a-z]{{2,}}ed)(_({_PREPOSITION})(_[a-z_]+)?)?")
#: Verbs and nouns that only look like participles.
_NOT_PARTICIPLES = {"seed", "feed", "need", "embed", "speed", "exceed", "proceed", "succeed", "split", "bed", "lead"}
#: Names of variables that do not say what they hold.
_VARIABLES = {"told", "said", "lot", "manieth"}
#: Names of functions that are right: each with its reason.
EXCEPTIONS = {
    "sum_of_squares": "statistics",
    "degrees_of_freedom": "statistics",
    "stopped": "the argument of sys.excepthook is an event",
}


@dataclass(frozen=True)
class Finding:
    """A place in the sources.

    Attributes
    ----------
    kind
        A key of :data:`LIMITS`.
    place
        ``file:line``.
    text
        The word with what stands around it, or the name.
    """

    kind: str
    place: str
    text: str


def sources(root: Path = ROOT) -> Iterator[Path]:
    """Source files of all packages."""
    for package in FOLDERS:
        yield from sorted((root / package).rglob("*.py"))


def lines_of_code(root: Path = ROOT) -> int:
    """Number of lines of all sources."""
    return sum(path.read_text().count("\n") for path in sources(root))


def findings(path: Path, root: Path = ROOT) -> Iterator[Finding]:
    """Words and names of one file.

    Parameters
    ----------
    path
        A Python source.
    root
        Directory that places are relative to.
    """
    text = path.read_text()
    where = path.relative_to(root)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.COMMENT, tokenize.STRING):
            continue
        for number, line in enumerate(token.string.splitlines(), token.start[0]):
            for kind, (pattern, _) in WORDS.items():
                for found in pattern.finditer(line):
                    around = line[max(0, found.start() - 45) : found.end() + 45].strip()
                    yield Finding(kind, f"{where}:{number}", around)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in _VARIABLES:
            yield Finding("variable", f"{where}:{node.lineno}", node.id)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name in EXCEPTIONS:
            continue
        # A property is an attribute: boolean ones are participles, as SimPy's `triggered`.
        if any(_is_property(decorator) for decorator in node.decorator_list):
            continue
        if node.name.endswith("_of"):
            yield Finding("of", f"{where}:{node.lineno}", node.name)
        elif _is_participle(node.name):
            yield Finding("participle", f"{where}:{node.lineno}", node.name)


def _is_property(decorator: ast.expr) -> bool:
    name = ast.unparse(decorator)
    return name.endswith(("property", ".setter", "overload"))


def _is_participle(name: str) -> bool:
    """Whether a name is, or ends in, a past participle without a noun."""
    if name.startswith(("is_", "_is_", "has_", "_has_", "was_", "are_", "__")):
        return False
    found = _PARTICIPLE.fullmatch(name)
    return found is not None and found[1] not in _NOT_PARTICIPLES
