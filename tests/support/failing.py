"""Failing operations: the n-th write, fsync, rename, creation of a file or allocation of a command fails."""

from __future__ import annotations

import builtins
import errno
import io
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

__all__ = ["KINDS", "Operations"]

#: Kinds of operations, and what fails with which error.
KINDS = {
    "write": errno.ENOSPC,
    "fsync": errno.EIO,
    "rename": errno.EIO,
    "create": errno.ENOSPC,
    "mkdir": errno.ENOSPC,
    "allocate": 0,
}

#: What turns a failure into a sentence, and so must not fail itself.
_FRAME = ("experiments/cli.py", "experiments/crashes.py", "output/signals.py", "experiments/terminal.py", "errors.py")
_ROOT = str(Path(__file__).resolve().parents[2])


class _Raw(io.FileIO):
    """A file of which each write is counted."""

    operations: Operations

    def write(self, data: Any, /) -> int:
        self.operations.happen("write")
        return super().write(data)


class Operations:
    """Counts the operations of what runs in :meth:`watch`, and lets one of them fail.

    Parameters
    ----------
    place
        Directory below which files count.
    kind, number
        The operation that fails, from 1; none where the number is 0.
    """

    def __init__(self, place: Path, kind: str = "", number: int = 0) -> None:
        self.counts: Counter[str] = Counter()
        self._place = str(place)
        self._kind, self._number = kind, number

    def happen(self, kind: str) -> None:
        """An operation is about to be carried out."""
        self.counts[kind] += 1
        if kind == self._kind and self.counts[kind] == self._number:
            if kind == "allocate":
                raise MemoryError
            raise OSError(KINDS[kind], os.strerror(KINDS[kind]))

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Count what happens in the block."""
        own, places = io.open, (self._place,)

        def is_here(path: Any) -> bool:
            return isinstance(path, str | os.PathLike) and os.path.realpath(path).startswith(places)

        def open_file(file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
                   newline: Any = None, closefd: bool = True, opener: Any = None) -> Any:  # fmt: skip
            if not is_here(file) or not set(mode) & set("wxa+"):
                return own(file, mode, buffering, encoding, errors, newline, closefd, opener)
            self.happen("create")
            raw = _Raw(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            raw.operations = self
            buffered = raw if buffering == 0 else io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

        def counting_call(kind: str, name: str) -> Any:
            function = getattr(os, name)

            def call(*arguments: Any, **keywords: Any) -> Any:
                if kind == "fsync" or is_here(arguments[0]):
                    self.happen(kind)
                return function(*arguments, **keywords)

            return mock.patch.object(os, name, call)

        with (
            mock.patch.object(builtins, "open", open_file),
            mock.patch.object(io, "open", open_file),
            counting_call("fsync", "fsync"),
            counting_call("rename", "rename"),
            counting_call("rename", "replace"),
            counting_call("mkdir", "mkdir"),
            self._allocations(),
        ):
            yield

    @contextmanager
    def _allocations(self) -> Iterator[None]:
        """Each call of a function of ours stands for an allocation."""
        if self._kind != "allocate":
            yield
            return

        def look(frame: FrameType, event: str, argument: Any) -> None:
            path = frame.f_code.co_filename
            if event != "call" or not path.startswith(_ROOT) or path.endswith(_FRAME):
                return
            # No allocation resumes a generator: an error here would skip its `finally`, or be raised as it closes.
            if frame.f_code.co_flags & CO_GENERATOR and frame.f_lasti >= 0:
                return
            if path[len(_ROOT) + 1 :].partition(os.sep)[0] == "holdfast":
                self.happen("allocate")

        before = sys.getprofile()
        sys.setprofile(look)
        try:
            yield
        finally:
            sys.setprofile(before)
