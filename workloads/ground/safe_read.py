"""Reading of plain or gzip files with a limit on the decompressed size.

A few kilobytes of gzip may expand to gigabytes, and a device or a pipe may never end.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

__all__ = ["LARGEST_INPUT", "TooLargeError", "read_content"]

#: Maximum size of one input after decompression [bytes].
LARGEST_INPUT = 1 << 30
#: Decompressed size up to which any compression ratio is accepted [bytes]; logs are compressed to a fifth.
_HARMLESS = 64 << 20
_RATIO = 50

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
#: Bytes of a piece; small, because zlib copies the unused rest of a piece.
_PIECE = 1 << 16


class TooLargeError(Exception):
    """An input exceeds the size limit; the text is a sentence for users."""


def read_content(path: str | Path) -> bytes:
    """Read a file, decompressed if its first bytes are those of gzip.

    Parameters
    ----------
    path
        A file, a device or a pipe. A binary file that is not a Parquet file is read only far enough to recognise it.

    Raises
    ------
    TooLargeError
        If the content is larger than :data:`LARGEST_INPUT`, or than both 64 MiB and 50 times the compressed size.
    OSError, EOFError, zlib.error
        If the file cannot be read (OSError), or is a damaged gzip file (the other two).
    """
    with Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size > LARGEST_INPUT:
            raise TooLargeError(f"is {status.st_size:,} bytes long, and at most {LARGEST_INPUT:,} are read")
        first = file.read(_PIECE)
        pieces = _unpack(file, first) if first.startswith(_GZIP) else _plain(file, first)
        content = BytesIO()
        length = 0
        for piece in pieces:
            length += content.write(piece)
            if length > LARGEST_INPUT:
                raise TooLargeError(f"holds more than {LARGEST_INPUT:,} bytes, the most that is read")
            if b"\0" in piece and bytes(content.getbuffer()[:4]) != _PARQUET:
                break
        return content.getvalue()


def _plain(file: IO[bytes], piece: bytes) -> Iterator[bytes]:
    while piece:
        yield piece
        piece = file.read(_PIECE)


def _unpack(file: IO[bytes], piece: bytes) -> Iterator[bytes]:
    """Decompress concatenated gzip files, as gzip itself does."""
    member = zlib.decompressobj(31)
    packed = unpacked = 0
    fresh = False
    while piece:
        packed += len(piece)
        while piece:
            if fresh:
                # Zeros may pad the end of a file.
                piece = piece.lstrip(b"\0")
                if not piece:
                    break
                member, fresh = zlib.decompressobj(31), False
            data = member.decompress(piece, 16 * _PIECE)
            unpacked += len(data)
            if unpacked > max(_HARMLESS, _RATIO * packed):
                raise TooLargeError(f"unpacks to more than {_RATIO} times its size and {_HARMLESS:,} bytes")
            if data:
                yield data
            fresh = member.eof
            piece = member.unused_data if fresh else member.unconsumed_tail
        piece = file.read(_PIECE)
    if not fresh:
        raise EOFError("it is truncated")
