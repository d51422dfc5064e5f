"""Update of the rule record: ``python -m holdfast.experiments.study.report.rule_changes DIR`` stores the present rules.

DIR has the tables of ``holdfast reproduce --quick --seed 0``; entries of experiments without tables there are not
changed. Each change is printed (:mod:`holdfast.experiments.study.rule_digests`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.experiments.study.experiment import read_tables
from holdfast.experiments.study.redraw import find_experiments
from holdfast.experiments.study.rule_digests import RULES, Entry, differences, digests, read_record, renew_entries
from holdfast.workloads.ground.files import atomic_open

__all__ = ["main"]


def main(words: Sequence[str], path: Path = RULES) -> None:
    """Write the record.

    Parameters
    ----------
    words
        Command-line arguments: the directory of the tables.
    path
        File of the record.
    """
    directory, date = Path(words[0]), datetime.now(UTC).date().isoformat()
    record = {name: dict(entries) for name, entries in read_record(path).items()}
    for item in find_experiments(directory):
        found = digests(item.judge(read_tables(item.id, directory)))
        for line in differences(item.id, found, record) if item.id in record else ():
            print(line)
        record[item.id] = renew_entries(record.get(item.id, {}), found, date)
    with atomic_open(path) as file:
        file.write(_lines(record))
    read_record.cache_clear()


def _lines(record: Mapping[str, Mapping[str, Entry]]) -> str:
    """Format the record as JSON with one line per statement, so that a changed rule changes one line."""
    parts = []
    for name, entries in sorted(record.items()):
        lines = [f"  {_json(claim)}: {_json(entry)}" for claim, entry in sorted(entries.items())]
        parts.append(f" {_json(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main(sys.argv[1:])
