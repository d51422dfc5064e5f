"""Atomic replacement of a result in a directory, even if the process is killed.

A result is written to a hidden directory. When it is complete and on disk, the directory is renamed to the name that
readers look up first: this single step replaces the old result. Then its files are moved to their places, the manifest
last; if the process is killed before that, the next writer finishes the move. Other files in the directory are not
touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.experiments.output.manifest import Sealed, incoming_directory, open_result
from holdfast.experiments.output.signals import hold_interruptions
from holdfast.workloads.ground.errors import InputError, OutputError
from holdfast.workloads.ground.files import file_sha256, is_plain_file, partial_name, record_digests, sync

__all__ = ["handover", "settle", "settle_all"]


@contextmanager
def handover(directory: Path, manifest: str) -> Iterator[Path]:
    """Provide an empty directory for a result, which replaces the old result when the block ends without an error.

    Parameters
    ----------
    directory
        Directory of the result.
    manifest
        Name of its manifest, which the block must write (:func:`holdfast.experiments.output.manifest.seal`).

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    new = directory / partial_name(manifest)
    try:
        new.mkdir()
        with record_digests():
            yield new
        _check_places(new, directory)
        with hold_interruptions():
            sync(new)
            settle(directory, manifest)
            new.rename(incoming_directory(directory, manifest))
            sync(directory)
            settle(directory, manifest)
    except OSError as error:
        raise OutputError(f"{directory}: cannot be written: {error.strerror or error}") from None
    finally:
        import shutil

        shutil.rmtree(new, ignore_errors=True)


def _check_places(new: Path, directory: Path) -> None:
    """Refuse files that could not be moved to their places later."""
    for path in new.iterdir():
        if (directory / path.name).is_dir() and not (directory / path.name).is_symlink():
            raise OutputError(f"{directory / path.name}: cannot be written: is a directory")


def settle(directory: Path, manifest: str) -> None:
    """Move a complete result to its place, if one is pending."""
    new = incoming_directory(directory, manifest)
    if new.is_symlink():
        new.unlink()  # not written by us: a link would lead elsewhere
    if not new.is_dir():
        return
    if is_plain_file(new / manifest):
        _remove_former(directory, manifest, {path.name for path in new.iterdir()})
    # The manifest moves last: until then, readers look here first.
    for path in sorted(new.iterdir(), key=lambda path: path.name == manifest):
        if is_plain_file(path):
            with suppress(FileNotFoundError):
                path.replace(directory / path.name)
    sync(directory)
    with suppress(OSError):
        new.rmdir()


def settle_all(directory: Path) -> None:
    """Move all pending complete results to their places.

    Raises
    ------
    OutputError
        If a result cannot be moved.
    """
    try:
        for name in [path.name for path in directory.glob(".*.json.new")]:
            settle(directory, name.removeprefix(".").removesuffix(".new"))
    except OSError as error:
        raise OutputError(f"{directory}: cannot be written: {error.strerror or error}") from None


def _remove_former(directory: Path, manifest: str, coming: set[str]) -> None:
    """Remove files of the old result that the new one lacks, except files that were changed by others."""
    former = _former(directory, manifest)
    if former is None:
        return
    for name, digest in (former.files or {}).items():
        path = directory / name
        if name not in coming and is_plain_file(path) and file_sha256(path) == digest:
            path.unlink(missing_ok=True)
    for name in former.derived:
        path = directory / name
        if name not in coming and is_plain_file(path):
            path.unlink(missing_ok=True)


def _former(directory: Path, manifest: str) -> Sealed | None:
    """The old result, with its manifest in the directory itself."""
    path = directory / manifest
    if not is_plain_file(path):
        return None
    try:
        return open_result(path.parent, manifest, check=False, waiting=False)
    except InputError:
        return None
