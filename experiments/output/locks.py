"""Locks that allow only one command at a time to write to a directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from experiments.output.atomic_replace import settle_all
from workloads.ground.errors import InputError, OutputError
from workloads.ground.files import remove_partials

__all__ = ["LOCK", "writing"]

#: The locked file; it exists while a process writes.
LOCK = ".lock"


@contextmanager
def writing(directory: Path, writer: str = "another command") -> Iterator[None]:
    """Keep other writers out of a directory, and clear away what one that was killed has left half-written.

    A result that such a writer had completed is moved to its place (:mod:`experiments.output.atomic_replace`). The
    system frees the directory when this process ends, however it ends.

    Parameters
    ----------
    directory
        That is written to.
    writer
        Name of the other process, for the message.

    Raises
    ------
    InputError
        If another process writes there.
    """
    path = directory / LOCK
    descriptor = _try_lock(path, f"{writer} is at work in {directory}: wait for it, or take another directory")
    try:
        if descriptor is not None:
            remove_partials(directory)
            settle_all(directory)
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                path.unlink()
            os.close(descriptor)


def _try_lock(path: Path, sentence: str) -> int | None:
    """The locked file; None where the system or the file system cannot lock, so that two may meet unhindered."""
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        try:
            # Neither emptied nor reached through a link: the directory may belong to another user.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except OSError as error:
            raise OutputError(f"{path}: cannot be locked: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OutputError(f"{path}: cannot be locked: it is not a file")
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The former holder removes the file: the locked one must still be the one at the path.
            if _same(descriptor, path):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise InputError(sentence) from None
        except OutputError:
            os.close(descriptor)
            raise
        except OSError:
            os.close(descriptor)
            return None
        os.close(descriptor)


def _same(descriptor: int, path: Path) -> bool:
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    own = os.fstat(descriptor)
    return (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)
