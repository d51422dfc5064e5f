"""The catalogue of public logs: where a log comes from, its terms, and what it records.

The entries are in ``known_logs.toml``, beside this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from holdfast.workloads.ground.documents import read_toml
from holdfast.workloads.ground.files import file_sha256

__all__ = ["KnownLog", "Recognition", "known_logs", "recognise_log"]


@dataclass(frozen=True)
class KnownLog:
    """A public log.

    Attributes
    ----------
    title
        Machine and years.
    origin
        Source, with its address.
    files
        Names of the file, without ``.gz``.
    terms
        What the source asks of users.
    prepare
        Command that prepares or replays ``FILE``.
    records, missing
        What the log records, and what of its site cannot be modelled from it.
    sha256
        Digest of the file as it is distributed; empty: not known.
    header
        Header fields by which versions of the log are recognised.
    """

    title: str
    origin: str
    files: tuple[str, ...]
    terms: str
    prepare: str
    records: str
    missing: str
    sha256: str = ""
    header: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recognition:
    """A log of the catalogue, and how it was recognised.

    Attributes
    ----------
    log
        The entry.
    certainty
        ``the file as distributed``, ``recognised by its header``, or ``recognised by its name``.
    """

    log: KnownLog
    certainty: str


@cache
def known_logs() -> Mapping[str, KnownLog]:
    """The catalogue by key."""
    entries = read_toml(Path(__file__).with_name("known_logs.toml"))
    return {key: KnownLog(**{**entry, "files": tuple(entry["files"])}) for key, entry in entries.items()}


def recognise_log(path: str | Path, header: Mapping[str, str]) -> Recognition | None:
    """Find a log in the catalogue: by its digest, else by its header, else by its name.

    Parameters
    ----------
    path
        The file.
    header
        Its header, as ``Trace.header``.

    Returns
    -------
    Recognition or None
        None if the catalogue does not have it.

    Raises
    ------
    TraceError
        If the file cannot be read.
    """
    logs = known_logs().values()
    digest = file_sha256(path)
    name = Path(path).name.removesuffix(".gz")
    rules: dict[str, Callable[[KnownLog], bool]] = {
        "the file as distributed": lambda log: digest != "" and digest == log.sha256,
        "recognised by its header": lambda log: bool(log.header) and log.header.items() <= header.items(),
        "recognised by its name": lambda log: name in log.files,
    }
    for certainty, holds in rules.items():
        for log in logs:
            if holds(log):
                return Recognition(log, certainty)
    return None
