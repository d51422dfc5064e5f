"""The reference page of formats: ``python -m holdfast.experiments.traces.format_reference`` writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.logs.readers import READERS, Zone

__all__ = ["PAGE", "formats_page"]

PAGE = Path("docs/reference/formats.md")

_HEAD = """# Formats

Every file of jobs that Holdfast reads, by the name that `--format` takes. Without `--format` the content decides; the
formats are tried in this order. `holdfast policies --kind reader` also lists those of installed packages.

`--where NAME=VALUE` takes the names in the third column, and where it says *all columns* every column of the file by
its own name.

| format | files | `--where` | zone of times |
|---|---|---|---|
"""
_ZONES: Mapping[Zone, str] = {
    Zone.UTC: "UTC",
    Zone.LOCAL: "local time of the site",
    Zone.FILE: "as the file says, else UTC",
}


def formats_page() -> str:
    """The page: a row for each built-in reader, and the columns of its files by the names of ``--where``."""
    known = {item.name: item.about for item in READERS.entries() if item.origin == "built in"}
    rows, parts = [], []
    for name, about in known.items():
        reader = READERS[name]
        names = ", ".join(f"`{column}`" for column in reader.columns)
        where = f"{names}; all columns" if reader.further else names
        rows.append(f"| `{name}` | {about} | {where} | {_ZONES[reader.zone]} |")
        others = {column: own for column, own in reader.columns.items() if tuple(own) != (column,)}
        if reader.log and others:
            parts.append(_columns(name, others))
    return "\n".join([_HEAD + rows[0], *rows[1:], "\n## Columns of the files\n", *parts, ""])


def _columns(name: str, columns: Mapping[str, Sequence[str]]) -> str:
    listed = "; ".join(f"`{known}` is {' or '.join(own)}" for known, own in columns.items())
    return f"* `{name}`: {listed}."


if __name__ == "__main__":
    with atomic_open(PAGE) as file:
        file.write(formats_page())
