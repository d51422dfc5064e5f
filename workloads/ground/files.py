"""File input and output: inputs are read whole and decompressed; outputs appear complete or not at all."""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Literal, overload

from holdfast.workloads.ground.errors import OutputError, ParameterError, TraceError
from holdfast.workloads.ground.lines import lines_with_ends
from holdfast.workloads.ground.safe_read import TooLargeError, read_content

__all__ = [
    "atomic_open",
    "blocks_of_file",
    "csv_rows",
    "decode_text",
    "file_sha256",
    "is_plain_file",
    "is_plain_name",
    "partial_name",
    "plain_bytes",
    "read_bytes",
    "read_text",
    "record_digests",
    "remove_partials",
    "sync",
    "written_digest",
]

#: Bytes of a block.
_BLOCK = 1 << 22
#: Digests, by path, of the files that are written in a block of :func:`record_digests`.
_NOTED: ContextVar[dict[str, str] | None] = ContextVar("noted", default=None)
#: Temporary names of files and directories that are being written; see :func:`partial_name`.
_PARTIAL = re.compile(r"\..+\.[0-9a-f]{8}\.part")
#: Errors which mean that written bytes are lost; other errors only mean that the file system cannot report it.
_LOST = frozenset((errno.EIO, errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)))
#: First bytes of files that are often given instead of a text, and descriptions of such files.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"BZh": "compressed by bzip2; unpack it first (gzip is read as it is)",
    b"\xfd7zXZ": "compressed by xz; unpack it first (gzip is read as it is)",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it first (gzip is read as it is)",
    b"PAR1": "a Parquet file, not a text",
}


def read_bytes(path: str | Path) -> bytes:
    """Read the content of a file, decompressed if its first bytes are those of gzip.

    Parameters
    ----------
    path
        A file or a pipe.

    Returns
    -------
    bytes
        The content, never empty.

    Raises
    ------
    TraceError
        If the file is missing, a directory, unreadable, empty, a damaged gzip file, or too large: more than 1 GiB
        (:data:`holdfast.workloads.ground.safe_read.LARGEST_INPUT`), or, for gzip, more than 64 MiB and 50 times its
        packed size.
    ParameterError
        If it is not the name of a file.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterError("path", "the name of a file", path)
    with _convert_read_errors(path):
        data = read_content(path)
    if not data or data.isspace():
        raise TraceError(path, None, "is empty")
    return data


def blocks_of_file(path: str | Path) -> Iterator[bytes]:
    """Iterate over a plain or gzip file of any length in blocks of whole lines; lines end with ``\\n``.

    Raises
    ------
    TraceError
        If the file cannot be read to its end, is empty, or is not text.
    """
    rest, blank = b"", True
    with _convert_read_errors(path), Path(path).open("rb") as raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        content: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]  # it is one
        while piece := content.read(_BLOCK):
            if b"\0" in piece:
                raise TraceError(path, None, "is a binary file, not a text")
            if blank:
                piece = piece.removeprefix(b"\xef\xbb\xbf")
                blank = piece.isspace()
            if piece.endswith(b"\r"):
                piece += content.read(1)
            piece = rest + (piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in piece else piece)
            end = piece.rfind(b"\n") + 1
            rest = piece[end:]
            if end:
                yield piece[:end]
    if blank:
        raise TraceError(path, None, "is empty")
    if rest:
        yield rest


@contextmanager
def _convert_read_errors(path: str | Path) -> Iterator[None]:
    """Convert errors of reading a file to one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise TraceError(path, None, "no such file") from None
    except IsADirectoryError:
        raise TraceError(path, None, "is a directory, not a file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TraceError(path, None, "is a damaged gzip file") from None
    except TooLargeError as error:
        raise TraceError(path, None, str(error)) from None
    except TraceError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise TraceError(path, None, f"cannot be read: {_reason(error)}") from None


def decode_text(data: bytes, path: str | Path) -> str:
    """Decode bytes: UTF-8 with or without a byte order mark, else Latin-1.

    Raises
    ------
    TraceError
        If the bytes are not text.
    """
    _check_text(data, path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Old logs have names in Latin-1, in which every byte is legal.
        return data.decode("latin-1")


def plain_bytes(data: bytes, path: str | Path) -> bytes:
    """The text of :func:`decode_text` in UTF-8, for parsers that are faster on bytes; lines end with ``\\n``."""
    if data.isascii():
        _check_text(data, path)
    else:
        data = decode_text(data, path).encode()
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _check_text(data: bytes, path: str | Path) -> None:
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise TraceError(path, None, f"is {what}")
    if b"\0" in data:
        raise TraceError(path, None, "is a binary file, not a text")


def read_text(path: str | Path) -> str:
    """The text of a plain or gzip file; see :func:`read_bytes` and :func:`decode_text`."""
    return decode_text(read_bytes(path), path)


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a file on disk, in hexadecimal digits; empty for pipes and devices.

    Pipes and devices cannot be read twice and may never end.

    Raises
    ------
    TraceError
        If the file cannot be read.
    """
    try:
        if Path(path).is_fifo() or Path(path).is_char_device():
            return ""
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        raise TraceError(path, None, f"cannot be read: {_reason(error)}") from None


@overload
def atomic_open(
    path: str | Path, mode: Literal["w"] = "w", *, follow: bool = True
) -> AbstractContextManager[IO[str]]: ...
@overload
def atomic_open(path: str | Path, mode: Literal["wb"], *, follow: bool = True) -> AbstractContextManager[IO[bytes]]: ...
def atomic_open(
    path: str | Path, mode: Literal["w", "wb"] = "w", *, follow: bool = True
) -> AbstractContextManager[IO[Any]]:
    """Open a file for writing that appears under its name only when it is complete.

    The file is written under a temporary name in the same directory, and renamed when it has reached the disk. After an
    error, nothing remains of it, and an existing file is unchanged. A name that ends in ``.gz`` is compressed without
    time and name inside, so that equal content gives equal bytes. Text is UTF-8 with ``\\n`` line ends.

    Parameters
    ----------
    path
        File to write. A device or a pipe (``/dev/stdout``) is written directly.
    mode
        ``"w"`` for text, ``"wb"`` for bytes.
    follow
        Whether to write the target of a link. If false, the file replaces the link; this is for directories to which
        other programs may have written.

    Returns
    -------
    context manager
        Context manager of the file object.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    return _atomic_open(path, mode, follow)


@contextmanager
def _atomic_open(path: str | Path, mode: str, follow: bool) -> Iterator[IO[Any]]:
    target, direct = _target(path) if follow else (Path(path), False)
    partial = target if direct else target.with_name(partial_name(target.name))
    try:
        with ExitStack() as stack:
            # Python's tempfile would create a file that only its owner may read.
            file: Any = stack.enter_context(partial.open("wb" if direct else "xb"))
            found = _NOTED.get()
            if found is not None:
                file = noted = stack.enter_context(_Noting(file))
            if target.suffix == ".gz":
                file = stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
            if mode == "w":
                file = stack.enter_context(io.TextIOWrapper(file, encoding="utf-8", newline="\n"))
            yield file
        if not direct:
            sync(partial)  # a rename must not reach the disk before the content
            partial.replace(target)
            if found is not None:
                found[os.path.realpath(target)] = noted.digest
    except OSError as error:
        # An error that names another file comes from the block of the caller, which reads that file.
        if error.filename not in (None, str(partial), partial):
            raise
        raise OutputError(f"{path}: cannot be written: {_reason(error)}") from None
    finally:
        if not direct:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


@contextmanager
def record_digests() -> Iterator[None]:
    """Compute digests of files while :func:`atomic_open` writes them, for :func:`written_digest`."""
    token = _NOTED.set({})
    try:
        yield
    finally:
        _NOTED.reset(token)


def written_digest(path: Path) -> str:
    """SHA-256 of a file, without reading it if it was written in a block of :func:`record_digests`."""
    return (_NOTED.get() or {}).get(os.path.realpath(path)) or file_sha256(path)


class _Noting(io.RawIOBase):
    """A file that is written from start to end, with the digest of its content; the digest is empty after a seek."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._in_order = True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._in_order = False
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def write(self, data: Any, /) -> int:
        self._hash.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest() if self._in_order else ""


def remove_partials(directory: str | Path) -> None:
    """Remove incomplete files from a directory, which killed processes have left.

    Parameters
    ----------
    directory
        A directory that no other process is writing to: its unfinished files would be removed, too.
    """
    import shutil

    for partial in Path(directory).iterdir():
        if _PARTIAL.fullmatch(partial.name):
            if partial.is_dir() and not partial.is_symlink():
                shutil.rmtree(partial, ignore_errors=True)  # which follows no links
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def partial_name(name: str) -> str:
    """A hidden temporary name for a file or directory that will be renamed to ``name``."""
    return f".{name}.{os.urandom(4).hex()}.part"


def is_plain_name(name: object) -> bool:
    """Whether a value is a plain file name: not a path, and no name that leads to another directory."""
    return isinstance(name, str) and name not in ("", ".", "..") and not re.search(r"[/\\\0:]", name)


def is_plain_file(path: Path) -> bool:
    """Whether the path is a regular file: not a link, pipe or directory."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def sync(path: Path) -> None:
    """Wait until a file, or the names in a directory, have reached the disk, if the file system reports it.

    Raises
    ------
    OSError
        If the disk is full or broken; some file systems report this only here.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # a system that does not open directories
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno in _LOST:
            raise
    finally:
        os.close(descriptor)


def _target(path: str | Path) -> tuple[Path, bool]:
    """Path to write, and whether to write it directly because it is a device or a pipe."""
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        if target.is_dir():
            raise OutputError(f"{path}: cannot be written: is a directory")
        if not target.parent.is_dir():
            raise OutputError(f"{path}: cannot be written: {target.parent} is not a directory")
        return target, target.exists() and not target.is_file()
    except OutputError:
        raise
    except (OSError, ValueError) as error:  # a name that is too long, a NUL in it
        raise OutputError(f"{path}: cannot be written: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def csv_rows(text: str, path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV text that are not empty, each with the line in which it begins.

    Raises
    ------
    TraceError
        If the text is not CSV; names the line.
    """
    reader = csv.reader(lines_with_ends(text), strict=True)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise TraceError(path, line, f"is not CSV: {error}") from None
