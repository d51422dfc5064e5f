"""Words and names that stop a reader, counted in the sources of the four packages and of ``holdfast``.

A word counts in docstrings, comments and messages (string literals); a name counts where a function is defined. The
limits are those of comparable projects: SimPy, seaborn and httpx have one to nine "who" and no "told" per 10,000 lines.

The name of a function is a verb, or a noun for its result: a participle (``fitting``, ``told``) leaves open what comes
out. The name of a variable says what it holds. Both rules hold in tests and documentation, too.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.places import PACKAGES

__all__ = [
    "LIMITS",
    "NAMES",
    "NOUNS",
    "SUPPORT",
    "Finding",
    "all_findings",
    "amount",
    "findings",
    "lines_of_code",
    "participles",
    "sources",
    "variables",
]

ROOT = Path(__file__).parent.parent.parent
FOLDERS = (*PACKAGES, "holdfast")
#: Folders of which only names of functions (participles) and of variables count.
SUPPORT = ("tests", "docs")

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
#: Functions, and variables, parameters and attributes: how many may have such a name in all folders together.
NAMES = {"participle": 0, "of": 20, "variable": 0}
LIMITS = {**{name: limit for name, (_, limit) in WORDS.items()}, **NAMES}

_IRREGULAR = (
    "begun|bound|bought|broken|brought|built|caught|chosen|done|drawn|driven|fed|felt|forgotten|found|frozen|given|gone"
    "|grown|held|hidden|kept|known|laid|led|left|lost|made|meant|met|paid|said|seen|sent|shown|shrunk|sold|spent|split"
    "|stood|struck|sunk|taken|taught|thought|thrown|told|torn|understood|withdrawn|won|worn|written"
)
_PREPOSITION = "after|at|before|beside|between|by|for|from|in|into|of|off|on|out|over|through|to|together|under|up|with"
_PARTICIPLE = re.compile(
    rf"_*(?:[a-z0-9]+_)*?({_IRREGULAR}|[a-z]{{2,}}ed|[a-z]{{2,}}ing)(_({_PREPOSITION})(_[a-z_]+)?)?"
)
#: A name that says whether something holds.
_PREDICATE = re.compile(r"\w*?(?<![a-z])(is|are|was|were|has|have)_\w+")
#: Verbs and nouns that only look like participles.
_NOT_PARTICIPLES = {"docstring", "exceed", "feed", "need", "nothing", "seed", "speed", "split"}
#: Nouns in -ing that name the result of a function: each with what it is.
NOUNS = {
    "accounting": "the record of node-time, and that of Slurm",
    "backfilling": "starting jobs ahead of earlier ones (glossary)",
    "billing": "the amount that Slurm charges a job for",
    "ending": "an outcome of a reservation (class Ending)",
    "finding": "a measured effect or a broken rule (class Finding)",
    "gathering": "the account of a job that collects nodes (class Gathering)",
    "grouping": "what makes jobs of a trace a group",
    "halving": "successive halving, a search by medians",
    "heading": "the first line of a table",
    "listing": "all names of a registry",
    "ranking": "an order of jobs or of choices (class Ranking)",
    "reading": "an interpretation of a paper, or of a log (class Reading)",
    "recording": "a result that is read back (class Recording)",
    "rounding": "the error of a rounded number",
    "sampling": "a way to draw samples",
    "scaling": "the factors between two machines (class Scaling)",
    "setting": "the value of a parameter",
    "warning": "time to vacate nodes (glossary), or a sentence to the user",
}
#: Words in the names of variables that do not say what they hold.
_VARIABLES = {"told", "said", "lot", "manieth"}


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


def sources(root: Path = ROOT, folders: Sequence[str] = FOLDERS) -> Iterator[Path]:
    """Source files of all packages, or of other folders."""
    for folder in folders:
        yield from sorted((root / folder).rglob("*.py"))


def lines_of_code(root: Path = ROOT) -> int:
    """Number of lines of all sources."""
    return sum(path.read_text().count("\n") for path in sources(root))


def amount(kind: str, count: int, lines: int) -> float:
    """What :data:`LIMITS` limit: the count of a kind of names, and of words the count per 10,000 lines."""
    return count if kind in NAMES else count * 10_000 / lines


def all_findings(root: Path = ROOT) -> Iterator[Finding]:
    """Words and names of the packages, and names of tests and documentation."""
    for path in sources(root):
        yield from findings(path, root)
    for path in sources(root, SUPPORT):
        yield from participles(path, root)
        yield from variables(path, root)


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
    tree = ast.parse(text)
    for function in _functions(tree):
        if function.name.endswith("_of"):
            yield Finding("of", f"{where}:{function.lineno}", function.name)
    yield from participles(path, root)
    yield from variables(path, root)


def participles(path: Path, root: Path = ROOT) -> Iterator[Finding]:
    """Functions and methods of one file, tests excluded, whose names are participles.

    Parameters
    ----------
    path
        A Python source.
    root
        Directory that places are relative to.
    """
    for function in _functions(ast.parse(path.read_text())):
        if _is_participle(function.name):
            yield Finding("participle", f"{path.relative_to(root)}:{function.lineno}", function.name)


def variables(path: Path, root: Path = ROOT) -> Iterator[Finding]:
    """Variables, parameters and attributes of one file whose names do not say what they hold.

    Parameters
    ----------
    path
        A Python source.
    root
        Directory that places are relative to.
    """
    for name, line in _bindings(ast.parse(path.read_text())):
        if not _VARIABLES.isdisjoint(name.split("_")):
            yield Finding("variable", f"{path.relative_to(root)}:{line}", name)


def _bindings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names that get a value, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)):
                yield name, node.lineno


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods. A property is an attribute: boolean ones are participles, as SimPy's `triggered`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(map(_is_property, node.decorator_list)):
            yield node


def _is_property(decorator: ast.expr) -> bool:
    name = ast.unparse(decorator)
    return name.endswith(("property", ".setter", "overload"))


def _is_participle(name: str) -> bool:
    """Whether a name is, or ends in, a participle without a noun."""
    if name.startswith(("__", "test_")) or _PREDICATE.fullmatch(name):
        return False
    found = _PARTICIPLE.fullmatch(name)
    return found is not None and found[1] not in _NOT_PARTICIPLES | NOUNS.keys()
