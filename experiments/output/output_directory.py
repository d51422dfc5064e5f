"""The directory of a command's results, which a command that fails before its first file does not leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.experiments.output.locks import write_lock
from holdfast.workloads.ground.errors import OutputError
from holdfast.workloads.ground.files import partial_name

__all__ = ["make_directory", "output_directory"]


@contextmanager
def output_directory(path: str | Path) -> Iterator[Path]:
    """Make a directory and lock it against other writers; after an error, remove what was made and is empty.

    Raises
    ------
    OutputError
        If it cannot be made or written to.
    InputError
        If another process writes there.
    """
    directory = Path(path)
    missing = [place for place in (directory, *directory.parents) if not place.exists()]
    try:
        with write_lock(make_directory(directory)):
            yield directory
    except BaseException:
        for place in missing:
            with suppress(OSError):  # it is not empty
                place.rmdir()
        raise


def make_directory(path: str | Path) -> Path:
    """Make a directory, or check that it can be written to, before anything is computed.

    Raises
    ------
    OutputError
        If it cannot be made or written to.
    """
    directory = Path(path)
    for place in (directory, *directory.parents):
        if place.exists() and not place.is_dir():
            raise OutputError(f"cannot write to the directory {directory}: {place} is a file")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / partial_name("probe")
        probe.touch(exist_ok=False)  # existing files are not touched
        probe.unlink()
    except OSError as error:
        raise OutputError(f"cannot write to the directory {directory}: {error.strerror or error}") from None
    return directory
