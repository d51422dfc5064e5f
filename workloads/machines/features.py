"""Conditions on node features in the notation of Slurm's ``--constraint``: ``a&b``, ``a|b``, ``a&(b|c)``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from holdfast.workloads.ground.errors import format_value

__all__ = ["parse_features", "satisfies"]

#: A disjunction of conjunctions: one of the sets must be among the features of a node.
Alternatives = tuple[frozenset[str], ...]

_TOKEN = re.compile(r"\s*([^\s&|,()\[\]*]+|[&|,()\[\]*])")
_MOST = 1000


@lru_cache(maxsize=10_000)
def parse_features(text: str) -> Alternatives:
    """Alternatives of features that a node must have.

    Parameters
    ----------
    text
        Features joined by ``|`` and by ``&`` (or a comma), which binds more strongly, with or without parentheses.
        Brackets, which in Slurm request the same alternative on all nodes of the job, are read as parentheses.

    Returns
    -------
    tuple of frozenset
        The features of each alternative; one empty set if the text is empty.

    Raises
    ------
    ValueError
        If the text is not such a condition, counts nodes (``a*2``), or has more than 1,000 alternatives.

    Examples
    --------
    >>> [sorted(features) for features in parse_features("a&(b|c)")]
    [['a', 'b'], ['a', 'c']]
    """
    tokens = _tokens(text)
    if not tokens:
        return (frozenset(),)
    found, rest = _either(tokens, text)
    if rest:
        raise _fault(text)
    return tuple(dict.fromkeys(found))


def satisfies(alternatives: Alternatives, features: Collection[str]) -> bool:
    """Whether a node with these features satisfies at least one alternative.

    >>> satisfies(parse_features("a&b|c"), ["a", "c"]), satisfies(parse_features("a&b"), ["a"])
    (True, False)
    """
    owned = set(features)
    return any(wanted <= owned for wanted in alternatives)


def _tokens(text: str) -> list[str]:
    tokens, place = [], 0
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _fault(text)
        tokens.append(match[1])
        place = match.end()
    if "*" in tokens:
        raise ValueError(f"features must not be counted, as in {format_value(text)}")
    if len(tokens) > _MOST:
        raise _fault(text)
    return tokens


def _either(tokens: list[str], text: str) -> tuple[list[frozenset[str]], list[str]]:
    found, tokens = _both(tokens, text)
    while tokens[:1] == ["|"]:
        more, tokens = _both(tokens[1:], text)
        found = found + more
    return found, tokens


def _both(tokens: list[str], text: str) -> tuple[list[frozenset[str]], list[str]]:
    found, tokens = _one(tokens, text)
    while tokens[:1] in (["&"], [","]):
        more, tokens = _one(tokens[1:], text)
        if len(found) * len(more) > _MOST:
            raise _fault(text)
        found = list(_products(found, more))
    return found, tokens


def _one(tokens: list[str], text: str) -> tuple[list[frozenset[str]], list[str]]:
    if tokens[:1] in (["("], ["["]) and text.count("(") + text.count("[") < 50:
        found, rest = _either(tokens[1:], text)
        if rest[:1] != [")" if tokens[0] == "(" else "]"]:
            raise _fault(text)
        return found, rest[1:]
    if not tokens or tokens[0] in "&|,()[]":
        raise _fault(text)
    return [frozenset((tokens[0],))], tokens[1:]


def _products(left: list[frozenset[str]], right: list[frozenset[str]]) -> Iterator[frozenset[str]]:
    for first in left:
        for second in right:
            yield first | second


def _fault(text: str) -> ValueError:
    return ValueError(f"features must be written like a&b or a|b, not {format_value(text)}")
