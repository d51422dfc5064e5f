"""Cache of the rows of long measurements, stored in pieces so that an interrupted measurement can resume.

A piece is a file named by the digest of its inputs: sources, function and tasks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from holdfast.experiments.study.experiment import Resources, Row
from holdfast.experiments.sweeps.execution import spread
from holdfast.experiments.sweeps.fingerprint import back_test_fingerprint, experiment_fingerprint, year_fingerprint
from holdfast.experiments.sweeps.progress import follow
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import atomic_open, file_sha256

__all__ = ["PIECES", "SOURCES", "collect_rows", "piece_content", "piece_fault", "piece_text"]

#: Folder of the pieces in a store.
PIECES = "pieces"
#: Fingerprints of the sources that rows depend on: all experiments, simulated years only, or back-tests only.
SOURCES: Mapping[str, Callable[[], str]] = {
    "experiments": experiment_fingerprint,
    "years": year_fingerprint,
    "back-tests": back_test_fingerprint,
}


@dataclass(frozen=True)
class _Piece:
    """Consecutive tasks, and the file of their rows."""

    tasks: tuple[Any, ...]
    work: Callable[[Any], Sequence[Row]]
    path: Path
    sources: str


def collect_rows(
    work: Callable[[Any], Sequence[Row]],
    tasks: Sequence[Any],
    resources: Resources | None,
    *,
    files: Sequence[str] = (),
    together: int = 1,
    sources: str = "experiments",
    group: Callable[[Any], Hashable] | None = None,
) -> Iterator[Row]:
    """Return the rows of all tasks in order, and compute only those that are not stored.

    Parameters
    ----------
    work
        Module-level function of one task, which is a frozen dataclass.
    tasks
        The tasks.
    resources
        Store and workers; None: the calling process computes all rows, and nothing is stored.
    files
        File that each task reads, or an empty text; stored rows are reused only if its content is the same. Empty: no
        task reads a file.
    together
        Number of consecutive tasks stored in one file; a larger number suits short tasks.
    sources
        Sources that the rows depend on, a name of :data:`SOURCES`.
    group
        Key of a task; consecutive tasks with equal keys run in one process, each with its own file. Requires
        ``together`` = 1.
    """
    if resources is None:
        for task in tasks:
            yield from work(task)
        return
    read = files or [""] * len(tasks)
    contents = {path: file_sha256(path) if path else "" for path in set(read)}
    inputs = [[asdict(task), contents[path]] for task, path in zip(tasks, read, strict=True)]
    digest = SOURCES[sources]()
    pieces = []
    for first in range(0, len(tasks), together):
        part = slice(first, first + together)
        named = [digest, work.__module__, work.__qualname__, inputs[part]]
        name = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:32]
        path = resources.store / PIECES / f"{name}.json"
        pieces.append(_Piece(tuple(tasks[part]), work, path, f"{sources} {digest}"))
    parts = (
        [[piece] for piece in pieces]
        if group is None
        else [list(own) for _, own in groupby(pieces, key=lambda piece: group(piece.tasks[0]))]
    )
    for rows in follow(spread(_piece_rows, parts, resources.workers), len(parts), resources.progress):
        yield from rows


def _piece_rows(pieces: Sequence[_Piece]) -> list[Row]:
    return list(chain.from_iterable(map(_load_or_measure, pieces)))


def _load_or_measure(piece: _Piece) -> list[Row]:
    try:
        rows: list[Row] = piece_content(piece.path)["rows"]
        return rows
    except (OSError, ValueError, LookupError, TypeError):
        pass  # missing or damaged: it is computed
    rows = json.loads(json.dumps([row for task in piece.tasks for row in piece.work(task)]))
    piece.path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_open(piece.path, follow=False) as file:
        file.write(piece_text(rows, piece.sources))
    return rows


def piece_text(rows: Sequence[Row], sources: str) -> str:
    """Content of the file of a piece."""
    return json.dumps({"rows": rows, "digest": _digest(rows), "sources": sources}) + "\n"


def piece_content(path: Path) -> dict[str, Any]:
    """Read a stored piece: ``rows``, their ``digest``, and the ``sources`` that produced them.

    Raises
    ------
    OSError, ValueError, LookupError, TypeError
        If the piece is missing or damaged.
    """
    kept: dict[str, Any] = json.loads(path.read_bytes())
    if kept["digest"] != _digest(kept["rows"]) or set(kept) - {"rows", "digest", "sources"}:
        raise ValueError(path)
    return kept


def piece_fault(path: Path) -> TraceError | None:
    """The error of a damaged piece; None if it is valid."""
    try:
        piece_content(path)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return TraceError(path, None, "was changed after it was written", "it is measured anew")
    return None


def _digest(rows: Sequence[Row]) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
