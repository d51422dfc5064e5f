"""Tables of all experiments at their small sizes, for tests of figures: measuring them takes eight minutes.

``python -m tests.golden.figure_tables DIR...`` stores them anew, from directories that
``holdfast reproduce --quick -o DIR`` has written. Numbers have five digits, which suffice for a layout.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from holdfast.experiments.study.experiment import all_experiments, read_tables
from tests.places import ROOT

__all__ = ["unpack"]

_STORE = ROOT / "tests" / "golden" / "figure_tables.json.xz"
_NUMBER = re.compile(r"-?\d+\.\d{5,}(?:e-?\d+)?")


def unpack(directory: Path) -> None:
    """Write the stored tables into a directory, as experiments do."""
    for name, text in json.loads(lzma.decompress(_STORE.read_bytes())).items():
        (directory / name).write_text(text, encoding="utf-8")


def main(words: Sequence[str]) -> None:
    """Store the tables of directories."""
    found: dict[str, str] = {}
    for directory in map(Path, words):
        for item in all_experiments().values():
            if item.draw is None or not (directory / f"{item.id}.csv").exists():
                continue
            for table in read_tables(item.id, directory):
                path = directory / f"{item.id}{f'-{table}' if table else ''}.csv"
                found[path.name] = _NUMBER.sub(lambda text: f"{float(text[0]):.5g}", path.read_text(encoding="utf-8"))
    content = json.dumps(found, sort_keys=True).encode()
    _STORE.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(sys.argv[1:])
