"""Manifests with the SHA-256 of every file of a result, and readers that accept only unchanged files.

A manifest (``run.json``, ``sweep.json``, ``ID.json``) describes a result. ``files`` lists the names and digests of its
tables, ``derived`` those of the figures drawn from them; the last entry is its own ``digest``. This detects accidents;
it is not a signature, because an attacker can write a new manifest as well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.checksums import digest_holds, has_digest, has_leading_seal, with_digest
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import (
    atomic_open,
    file_sha256,
    is_plain_file,
    is_plain_name,
    read_bytes,
    written_digest,
)

__all__ = ["SWEEP", "Sealed", "check_files", "file_faults", "incoming_directory", "is_manifest", "open_result", "seal"]

#: The manifest of a sweep.
SWEEP = "sweep.json"
#: Keys of a manifest that concern its files.
_KEYS = ("files", "derived", "digest")


def incoming_directory(directory: Path, manifest: str) -> Path:
    """The hidden directory of a complete result that is being moved to its place."""
    return directory / f".{manifest}.new"


@dataclass(frozen=True)
class Sealed:
    """A result in a directory.

    Attributes
    ----------
    directory, manifest
        Its directory, and the name of its manifest.
    content
    Content of the manifest, without the entries for files.
    files
        Digests of its tables by name; None: written without digests.
    derived
        Names of the figures drawn from the tables.
    raw
        The bytes of the manifest.
    """

    directory: Path
    manifest: str
    content: dict[str, Any]
    files: Mapping[str, str] | None
    derived: tuple[str, ...]
    raw: bytes

    def find(self, name: str) -> Path | None:
        """Path of a table of the result; None if there is no such table."""
        if not is_plain_name(name) or (self.files is not None and name not in self.files):
            return None
        path = _current_path(self.directory, self.manifest, name)
        return path if is_plain_file(path) else None

    def need(self, name: str, without: str) -> Path:
        """Path of a table that must exist.

        Raises
        ------
        InputError
            If there is no such table; the message ends with ``without``.
        """
        path = self.find(name)
        if path is None:
            raise InputError(f"{self.directory}: has no {name}, {without}")
        return path


def is_manifest(path: Path) -> bool:
    """Whether a file has the ending of a manifest and is not a plan or cost file, which have their own digests."""
    if not is_plain_file(path):
        return False
    with path.open("rb") as file:
        if has_leading_seal(file.read(100)):
            return False
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 100))
        return has_digest(file.read())


def seal(directory: Path, manifest: str, content: Mapping[str, Any], derived: Iterable[str] = ()) -> None:
    """Write the manifest of a result.

    Parameters
    ----------
    directory
        Directory with the files of the result and nothing else.
    manifest
        Its name.
    content
    Description of the result.
    derived
        Names of figures that are, or may later be, drawn from the tables: these have no digests, and are removed when
        the result is replaced.
    """
    drawn = list(derived)
    files = {path.name: written_digest(path) for path in sorted(directory.iterdir()) if path.name not in drawn}
    text = json.dumps({**content, "files": files, "derived": drawn, "digest": ""}, indent=2) + "\n"
    with atomic_open(directory / manifest, "wb") as file:
        file.write(with_digest(text))


def open_result(directory: Path, manifest: str, *, check: bool = True, waiting: bool = True) -> Sealed:
    """Open a result if all its files are unchanged.

    Parameters
    ----------
    directory
        Directory of the result. Nothing is written there; if the move of the result to its place was interrupted, the
        remaining files are read from the hidden directory.
    manifest
        Its name.
    check
        Whether to check the files as well.
    waiting
        Whether to accept a result that is pending in the hidden directory.

    Raises
    ------
    InputError
        If there is no such result, the manifest is invalid, or a file, which is named, was changed.
    """
    path = _current_path(directory, manifest, manifest) if waiting else directory / manifest
    if not is_plain_file(path):
        raise TraceError(path, None, "is not a plain file" if path.is_symlink() or path.exists() else "no such file")
    raw = read_bytes(path)
    try:
        content = json.loads(raw)
        if not isinstance(content, dict):
            raise ValueError("no object")
    except (ValueError, RecursionError):
        raise TraceError(path, None, "is not JSON as Holdfast writes it") from None
    if not any(key in content for key in ("files", "digest")):
        return Sealed(directory, manifest, content, None, (), raw)
    if not digest_holds(raw):
        raise TraceError(path, None, "was changed after it was written")
    files, derived = content.get("files"), content.get("derived")
    if not isinstance(files, dict) or not isinstance(derived, list):
        files, derived = {}, [None]
    if not all(is_plain_name(name) for name in [*files, *derived]):
        raise TraceError(path, None, "must name files of its own directory, each with its SHA-256")
    own = {key: value for key, value in content.items() if key not in _KEYS}
    sealed = Sealed(directory, manifest, own, files, tuple(derived), raw)
    if check:
        check_files(sealed)
    return sealed


def check_files(sealed: Sealed) -> None:
    """Refuse a result with a file that was changed, is missing, or is not a plain file.

    Raises
    ------
    TraceError
        With the name of the file.
    """
    for error in file_faults(sealed):
        raise error


def file_faults(sealed: Sealed) -> Iterator[TraceError]:
    """Find the changed files of a result, one error for each.

    Raises
    ------
    InputError
        If the result was replaced in the meantime.
    """
    for name, digest in (sealed.files or {}).items():
        path = _current_path(sealed.directory, sealed.manifest, name)
        problem = ""
        if not is_plain_file(path):
            problem = "is a link or no file" if path.is_symlink() or path.exists() else "is missing"
        elif file_sha256(path) != digest:
            problem = "was changed after it was written"
        if problem and _rewritten(sealed):
            raise InputError(f"{sealed.directory}: was replaced while it was read; run the command again")
        if problem:
            yield TraceError(path, None, f"{problem} ({sealed.manifest} names its SHA-256)", "make the result again")


def _rewritten(sealed: Sealed) -> bool:
    try:
        return _current_path(sealed.directory, sealed.manifest, sealed.manifest).read_bytes() != sealed.raw
    except OSError:
        return True


def _current_path(directory: Path, manifest: str, name: str) -> Path:
    """Path of a file in the hidden directory, if it is still there, otherwise its final path."""
    new = incoming_directory(directory, manifest)
    waiting = new / name
    return waiting if not new.is_symlink() and is_plain_file(waiting) else directory / name
