"""Parser of a site's configuration files: parameters, nodes and partitions as key-value records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.machines.host_list import expand

__all__ = ["SiteConfiguration", "is_set", "read_configuration"]

#: Values of parameters that are not set.
_NOTHING = ("", "(null)", "n/a", "none", "(null type)")
_NAME = re.compile(r"[A-Za-z_][\w.]*(\[\d+\])?")
#: A pair in a line of nodes or partitions; text without a name, such as ``6.1`` in ``OS=Linux 6.1``, is skipped.
_PAIR = re.compile(r"(?:^|(?<=\s))([A-Za-z][\w:/]*)=(\"[^\"]*\"|\S*)")


def is_set(value: str) -> bool:
    """Whether the value of a parameter is set.

    >>> is_set("(null)"), is_set("0")
    (False, True)
    """
    return value.strip().lower() not in _NOTHING


@dataclass
class SiteConfiguration:
    """The content of the files.

    Attributes
    ----------
    settings
        Values of parameters, by name in lower case.
    names
        Spelling of the names in the file, by name in lower case.
    nodes, partitions
        Values of each line, or of each record of ``scontrol show``, by name in lower case; the values of ``DEFAULT``
        are filled in.
    """

    settings: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    nodes: list[dict[str, str]] = field(default_factory=list)
    partitions: list[dict[str, str]] = field(default_factory=list)

    def value(self, name: str, default: str = "") -> str:
        """The value of a parameter, or a default if it is not set."""
        value = self.settings.get(name, "")
        return value if is_set(value) else default

    def node_count(self, lines: Sequence[Mapping[str, str]] | None = None) -> int:
        """Number of different nodes in some lines (default: all lines); 0 if it is not known."""
        names: set[str] = set()
        try:
            for line in self.nodes if lines is None else lines:
                names.update(expand(line["nodename"]))
        except ValueError:
            return 0
        return len(names)


def read_configuration(paths: Sequence[str | Path]) -> SiteConfiguration:
    """Read slurm.conf, or the output of ``scontrol show config``, ``show node`` and ``show partition``.

    Parameters
    ----------
    paths
        One or several files. Nodes and partitions in the output of ``scontrol`` replace those in a slurm.conf.

    Raises
    ------
    TraceError
        If a file cannot be read, has a line that is not a parameter, or has no parameter.
    """
    found = SiteConfiguration()
    printed: dict[str, list[dict[str, str]]] = {"nodename": [], "partitionname": []}
    for path in paths:
        text = read_text(path)
        records = _is_records(text)
        lines = printed if records else {"nodename": found.nodes, "partitionname": found.partitions}
        defaults: dict[str, dict[str, str]] = {"nodename": {}, "partitionname": {}}
        empty = True
        for number, line in _records(text) if records else _lines(text):
            name, value = _parameter(path, number, line)
            key = name.lower()
            empty = False
            if key in defaults:
                words = {word.lower(): cell.strip('"') for word, cell in _PAIR.findall(line)}
                if words.get(key, "").upper() == "DEFAULT":
                    defaults[key].update(words)
                elif words.get(key):
                    lines[key].append({**defaults[key], **words})
            else:
                found.settings[key] = value.strip().strip('"')
                found.names[key] = name
        if empty:
            raise TraceError(path, None, "holds no parameter of slurm.conf")
    found.nodes = printed["nodename"] or found.nodes
    found.partitions = printed["partitionname"] or found.partitions
    return found


def _parameter(path: str | Path, number: int, line: str) -> tuple[str, str]:
    """Name and value of the parameter in a line."""
    if line.lower().startswith("include "):
        return "Include", line[8:]
    name, between, value = line.partition("=")
    if not between or not _NAME.fullmatch(name.strip()):
        raise TraceError(path, number, f"is not a parameter of slurm.conf: {format_value(line)}")
    if value.startswith("="):
        raise TraceError(path, number, f"must have one '=' between name and value: {format_value(line)}")
    return name.strip(), value


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line with a parameter, in a slurm.conf or the output of ``scontrol show config``."""
    is_output = text.startswith("Configuration data as of")
    begun, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw if is_output else re.sub(r"(?<!\\)#.*", "", raw)
        begun, first = (f"{begun} {line}", first) if begun else (line, number)
        if line.endswith("\\") and not is_output:
            begun = begun[:-1]
            continue
        line, begun = begun.strip(), ""
        if line and (not is_output or "=" in line):
            yield first, line
    if begun.strip():
        yield first, begun.strip()


def _is_records(text: str) -> bool:
    """Whether a text consists of records: with indented further lines, or one record per line (``scontrol -o``)."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or not lines[0].lower().startswith(("nodename=", "partitionname=")):
        return False
    return bool(re.match(r"\s{3}\w+=", lines[1]) if len(lines) > 1 else False) or bool(
        re.search(r" (?:CPUAlloc|AllowGroups)=", lines[0])
    )


def _records(text: str) -> Iterator[tuple[int, str]]:
    """Line number and joined lines of each record of ``scontrol show node`` or ``show partition``."""
    begun, first = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1].strip():
            if begun:
                yield first, begun
            begun, first = line.strip(), number
        elif line.strip():
            begun = f"{begun} {line.strip()}"
    if begun:
        yield first, begun
