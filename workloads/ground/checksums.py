"""Checksums at the end of JSON files: a digest of all bytes except its own digits.

A checksum finds accidents, such as a changed byte or a lost line. It is not a signature: after a deliberate change, the
file can be sealed again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from holdfast.workloads.ground.errors import InputError

__all__ = ["UNSEALED", "digest_holds", "has_digest", "has_leading_seal", "is_sealed", "seal_json", "with_digest"]

#: Warning about a file without a seal.
UNSEALED = "has no digest (earlier versions wrote none), so a change to it would not be noticed"

#: End of a text with a digest; _OPEN is the end of a text with an empty digest.
_END = re.compile(rb'"digest": "([0-9a-f]{64})"\n}\n\Z')
_OPEN = b'"digest": ""\n}\n'
#: First key of a sealed document. It shows that the document was sealed even if a change has damaged the digest.
_MARK = "sealed"


def with_digest(text: str) -> bytes:
    """Fill in the digest of a text that ends with an empty digest as the last key of a JSON object."""
    raw = text.encode()
    digest = hashlib.sha256(raw).hexdigest()
    return raw.removesuffix(_OPEN) + _OPEN.replace(b'""', f'"{digest}"'.encode())


def has_digest(raw: bytes) -> bool:
    """Whether bytes end like the result of :func:`with_digest`; the last part of a file suffices."""
    return _END.search(raw) is not None


def digest_holds(raw: bytes) -> bool:
    """Whether bytes end with a digest that agrees with their content."""
    found = _END.search(raw)
    return found is not None and hashlib.sha256(raw[: found.start()] + _OPEN).hexdigest() == found[1].decode()


def seal_json(data: Mapping[str, Any], *, allow_nan: bool = True) -> str:
    """Format a document as sealed JSON: the first key marks the seal, the last key is the digest.

    >>> print(seal_json({"a": 1}), end="")
    {
      "sealed": "SHA-256",
      "a": 1,
      "digest": "eefdc7654b21c85467c5087ca88c36f58a33214045e36b0675fe17e493163863"
    }
    """
    text = json.dumps({_MARK: "SHA-256", **data, "digest": ""}, indent=2, allow_nan=allow_nan) + "\n"
    return with_digest(text).decode()


def has_leading_seal(raw: bytes) -> bool:
    """Whether bytes begin like the result of :func:`seal_json`; its seal covers only the document itself."""
    return raw.lstrip(b"{ \r\n").startswith(f'"{_MARK}"'.encode())


def is_sealed(raw: bytes, data: Any) -> bool:
    """Whether a document has a valid seal.

    Parameters
    ----------
    raw
        The bytes of the document.
    data
        The parsed document. The keys of the seal are removed from it.

    Returns
    -------
    bool
        Whether the document has a seal.

    Raises
    ------
    InputError
        If the document was changed after it was sealed.
    """
    keys = [data.pop(name, None) for name in (_MARK, "digest")] if isinstance(data, dict) else []
    if not has_digest(raw) and all(value is None for value in keys):
        return False
    if not digest_holds(raw):
        raise InputError(
            "was changed after it was written: make it again, or remove its lines 'sealed' and 'digest' if the "
            "change is meant"
        )
    return True
