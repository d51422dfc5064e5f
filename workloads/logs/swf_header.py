"""The header of a log in the Standard Workload Format: its directives, and the machine size they give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.text_cells import whole
from holdfast.workloads.ground.units import LARGEST_SIZE
from holdfast.workloads.logs.cleaning import Intake

__all__ = ["header_machine_size", "header_sizes", "read_header"]

#: Directives that say how large the machine is: processors, nodes.
_SIZES = ("MaxProcs", "MaxNodes")
_DIRECTIVE = re.compile(r";\s{0,4}([A-Za-z]\w*)\s*:(?!//)\s*(.*)")
#: A number, and what may follow it: some headers explain themselves, "1152 (144 nodes of 8)".
_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d[\w.+-]*)(?=[\s;(\[]|,\s|,?$)")


def read_header(blocks: Iterable[bytes]) -> tuple[dict[str, str], dict[str, int]]:
    """Directives by name, repeated ones and continuation lines joined by newlines; and the first line of each.

    Parameters
    ----------
    blocks
        The log in UTF-8, some whole lines at a time, which end with ``\\n``.
    """
    values: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    key = ""
    for number, line in _comments(blocks):
        match = _DIRECTIVE.match(line)
        if match:
            key, value = match[1], match[2].strip()
        else:
            value = line[1:].strip()
            if not value or not line[1:].startswith(("  ", "\t")):
                key = ""
        if key:
            values.setdefault(key, []).append(value)
            lines.setdefault(key, number)
    return {key: "\n".join(parts) for key, parts in values.items()}, lines


def header_machine_size(
    header: Mapping[str, str],
    lines: Mapping[str, int],
    procs_per_node: int | None,
    path: str | Path,
    lenient: Intake | None = None,
) -> tuple[int | None, str]:
    """Size of the machine, None if the header does not say; and its unit, ``nodes`` or ``processors``.

    Parameters
    ----------
    header, lines
        As in :func:`read_header`.
    procs_per_node
        Processors of a node; None: sizes are in the unit of the header.
    path
        For the message.
    lenient
        Where to remark a size that is none; None: it is refused.

    Raises
    ------
    TraceError
        If a size is none.
    """

    for name in _SIZES:
        if _size(header, name) is None:
            if lenient is None:
                legal = f"a whole number up to {LARGEST_SIZE:,}, or -1 for unknown"
                text = header[name].partition("\n")[0]
                raise TraceError(path, lines[name], f"{name} must be {legal}, not {format_value(text)}")
            lenient.remarks[f"{name} not understood"] += 1
    procs, nodes = header_sizes(header)
    if procs_per_node is not None:
        return nodes or -(-procs // procs_per_node) or None, "nodes"
    # Where there is one processor to a node both are the same; the format counts processors.
    return procs or nodes or None, "nodes" if nodes and procs in (0, nodes) else "processors"


def header_sizes(header: Mapping[str, str]) -> tuple[int, int]:
    """Processors and nodes of the machine, each 0 if the header does not say it, or not so that it is understood.

    >>> header_sizes({"MaxProcs": "1,152", "MaxNodes": "-1"})
    (1152, 0)
    """
    procs, nodes = (_size(header, name) or 0 for name in _SIZES)
    return procs, nodes


def _size(header: Mapping[str, str], name: str) -> int | None:
    """A size, 0 if there is none; None: what stands there is no size."""
    text = header.get(name, "").partition("\n")[0]
    if not text[:1].isdigit():
        return 0  # -1, unknown, nothing
    try:
        match = _NUMBER.match(text)
        value = -1 if match is None else whole(match[0].replace(",", ""), name)
    except ValueError:
        return None
    return value if 0 <= value <= LARGEST_SIZE else None


def _comments(blocks: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    """The lines that begin with a semicolon, with their numbers."""
    line = 1
    for text in blocks:
        counted = 0
        begin = 0 if text.startswith(b";") else _next_comment(text, 0)
        while begin >= 0:
            line += text.count(b"\n", counted, begin)
            end = text.find(b"\n", begin)
            end = len(text) if end < 0 else end
            yield line, text[begin:end].decode("utf-8", "surrogateescape")
            counted, begin = end, _next_comment(text, end)
        line += text.count(b"\n", counted)


def _next_comment(text: bytes, after: int) -> int:
    """Where the next line begins that begins with a semicolon; -1: nowhere."""
    place = text.find(b"\n;", after)
    return place if place < 0 else place + 1
