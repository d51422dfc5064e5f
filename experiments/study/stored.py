"""Rows of long measurements, stored piece by piece: one that is interrupted goes on where it stood."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.study.experiment import Resources, Row
from experiments.sweeps.execution import spread
from experiments.sweeps.fingerprint import experiment_fingerprint
from experiments.sweeps.progress import followed
from workloads.ground.errors import TraceError
from workloads.ground.files import atomic_open, sha256_of

__all__ = ["piece_fault", "rows_of"]


@dataclass(frozen=True)
class _Piece:
    """A piece of work, and where its rows are kept."""

    tasks: tuple[Any, ...]
    work: Callable[[Any], Sequence[Row]]
    path: Path


def rows_of(
    work: Callable[[Any], Sequence[Row]],
    tasks: Sequence[Any],
    resources: Resources | None,
    *,
    files: Sequence[str] = (),
    together: int = 1,
) -> Iterator[Row]:
    """The rows of all tasks, in their order; those that are stored are not worked out again.

    Parameters
    ----------
    work
        A function of a module, of a task alone: a frozen dataclass.
    tasks
        The tasks.
    resources
        Store and workers; None: the calling process works, and nothing is stored.
    files
        For each task the file that it reads, or an empty text; with other contents what is stored does not count.
        Empty: none reads any.
    together
        How many tasks, one after the other, are stored in one file: many that are short.
    """
    if resources is None:
        for task in tasks:
            yield from work(task)
        return
    read = files or [""] * len(tasks)
    contents = {path: sha256_of(path) if path else "" for path in set(read)}
    told = [[asdict(task), contents[path]] for task, path in zip(tasks, read, strict=True)]
    pieces = []
    for first in range(0, len(tasks), together):
        part = slice(first, first + together)
        named = [experiment_fingerprint(), work.__module__, work.__qualname__, told[part]]
        name = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:32]
        pieces.append(_Piece(tuple(tasks[part]), work, resources.store / "pieces" / f"{name}.json"))
    for rows in followed(spread(_done, pieces, resources.workers), len(pieces), resources.progress):
        yield from rows


def _done(piece: _Piece) -> list[Row]:
    try:
        kept = json.loads(piece.path.read_bytes())
        rows: list[Row] = kept["rows"]
        if kept["digest"] == _digest(rows):
            return rows
    except (OSError, ValueError, LookupError, TypeError):
        pass  # missing or damaged: it is worked out
    rows = json.loads(json.dumps([row for task in piece.tasks for row in piece.work(task)]))
    piece.path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_open(piece.path, follow=False) as file:
        json.dump({"rows": rows, "digest": _digest(rows)}, file)
        file.write("\n")
    return rows


def piece_fault(path: Path) -> TraceError | None:
    """What is wrong with a stored piece of a measurement; None: nothing."""
    try:
        kept = json.loads(path.read_bytes())
        whole = set(kept) == {"rows", "digest"} and kept["digest"] == _digest(kept["rows"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        whole = False
    return None if whole else TraceError(path, None, "was changed after it was written", "it is measured anew")


def _digest(rows: Sequence[Row]) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
