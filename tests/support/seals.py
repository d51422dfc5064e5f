"""Documents without the seal that they were written with, as earlier versions wrote them, and sealed again."""

from __future__ import annotations

import json
import re

from holdfast.workloads.ground.checksums import seal_json

__all__ = ["remove_seal", "sealed_again"]

_MARK, _DIGEST = re.compile(r'\n  "sealed": "SHA-256",'), re.compile(r',\n  "digest": "[0-9a-f]{64}"\n}')


def remove_seal(text: str) -> str:
    """A plan or costs without the seal, the rest byte by byte as it is."""
    return _DIGEST.sub("\n}", _MARK.sub("", text))


def sealed_again(text: str) -> str:
    """The same document with the seal of what it says now."""
    document = json.loads(text)
    return seal_json({key: value for key, value in document.items() if key not in ("sealed", "digest")})
