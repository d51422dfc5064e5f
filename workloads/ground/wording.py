"""Words of messages: counts, lists, and sizes in the unit of a log, nodes or processors."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["count_text", "in_unit", "join_words", "sizes_in_words", "span_of_sizes"]

#: The word "node" as a word of its own, not as a part of an option, a file name, a column or a key.
_WORD = re.compile(r"(?<![\w.=/-])([Nn])ode(s?)(?!\.\w|[\w=/])")
#: Verbs that take no -s for one.
_SINGULAR_VERBS = {"are": "is", "have": "has", "were": "was"}
_HOURS = re.compile(r"(?<!\w)(k?)Nh(?!\w)")


def count_text(number: int, plural: str, verb: str = "") -> str:
    """A number of things in words.

    Parameters
    ----------
    number
        How many.
    plural
        The word for several of them, whose last word loses its -s, or -ies for -y, for one.
    verb
        Verb in the plural that follows; empty: none.

    Examples
    --------
    >>> count_text(0, "jobs"), count_text(1, "past runs"), count_text(1, "entries"), count_text(12345, "GPUs")
    ('0 jobs', '1 past run', '1 entry', '12,345 GPUs')
    >>> count_text(1, "jobs", "run"), count_text(2, "jobs", "run"), count_text(1, "pending jobs", "are")
    ('1 job runs', '2 jobs run', '1 pending job is')
    """
    one = f"{plural.removesuffix('ies')}y" if plural.endswith("ies") else plural.removesuffix("s")
    words = f"{number:,} {one if number == 1 else plural}"
    if not verb:
        return words
    return f"{words} {_SINGULAR_VERBS.get(verb, f'{verb}s') if number == 1 else verb}"


def in_unit(text: str, unit: str) -> str:
    """Convert a text about nodes to the unit of a log.

    Parameters
    ----------
    text
        A sentence, a heading or a label of an axis. Names of columns and files stay as they are.
    unit
        ``nodes`` or ``processors``.

    Examples
    --------
    >>> in_unit("1 node of 64 nodes, 3 node-hours (kNh): --nodes 64", "processors")
    '1 processor of 64 processors, 3 processor-hours (kPh): --nodes 64'
    >>> in_unit("Nodes (%)", "nodes")
    'Nodes (%)'
    """
    if unit == "nodes":
        return text
    words = _WORD.sub(lambda found: ("P" if found[1] == "N" else "p") + f"rocessor{found[2]}", text)
    return _HOURS.sub(r"\1Ph", words)


def span_of_sizes(nodes_from: int, nodes_to: int | None) -> str:
    """The sizes of a class in a few characters.

    >>> span_of_sizes(1, 128), span_of_sizes(129, None), span_of_sizes(8, 8), span_of_sizes(1, None)
    ('1 - 128', '129 -', '8', '1 -')
    """
    if nodes_to is None:
        return f"{nodes_from:,} -"
    return f"{nodes_from:,}" if nodes_from == nodes_to else f"{nodes_from:,} - {nodes_to:,}"


def sizes_in_words(nodes_from: int, nodes_to: int | None) -> str:
    """The sizes of a class in words.

    >>> sizes_in_words(1, 1), sizes_in_words(1, 128), sizes_in_words(129, None)
    ('1 node', '1 - 128 nodes', '129 nodes or more')
    """
    if nodes_to is None:
        return f"{nodes_from:,} nodes or more"
    return f"{span_of_sizes(nodes_from, nodes_to)} node{'s' if nodes_to > 1 else ''}"


def join_words(words: Sequence[str]) -> str:
    """Join words as a list.

    >>> join_words(["a"]), join_words(["a", "b"]), join_words(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
