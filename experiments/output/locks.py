"""Locks that allow only one command at a time to write to a directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.experiments.output.atomic_replace import settle_all
from holdfast.workloads.ground.errors import InputError, OutputError
from holdfast.workloads.ground.files import remove_partials

__all__ = ["LOCK", "write_lock"]

#: The locked file; it exists while a process writes.
LOCK = ".lock"


@contextmanager
def write_lock(directory: Path, writer: str = "another command") -> Iterator[None]:
    """Lock a directory against other writers, and remove incomplete files of a killed writer.

    A result that a killed writer had completed is moved to its place
    (:mod:`holdfast.experiments.output.atomic_replace`). The operating system releases the lock when this process ends,
    however it ends.

    Parameters
    ----------
    directory
        Output directory.
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
    """Lock a file; None if the operating system or file system has no locks, so that writers are not excluded."""
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        try:
            # Without truncation and without following links: the directory may belong to another user.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except OSError as error:
            raise OutputError(f"{path}: cannot be locked: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OutputError(f"{path}: cannot be locked: it is not a file")
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder removes the file: check that the locked file is still the one at the path.
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
