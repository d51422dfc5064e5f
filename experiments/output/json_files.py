"""JSON files that commands write with ``--json`` and ``--output``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from holdfast.workloads.ground.checksums import seal_json
from holdfast.workloads.ground.files import atomic_open

__all__ = ["write_json", "write_sealed_json"]


def write_json(path: str, document: Mapping[str, Any]) -> None:
    """Write a document as JSON; ``-`` is standard output."""
    _write(path, json.dumps(document, indent=2, allow_nan=False) + "\n")


def write_sealed_json(path: str, document: Mapping[str, Any]) -> None:
    """Write a document as JSON with a digest, by which a reader detects changes; ``-`` is standard output."""
    _write(path, seal_json(document, allow_nan=False))


def _write(path: str, text: str) -> None:
    # The only control character that is legal unescaped in JSON but unsafe for a terminal.
    text = text.replace("\x7f", "\\u007f")
    if path == "-":
        sys.stdout.write(text)
        return
    with atomic_open(path) as file:
        file.write(text)
