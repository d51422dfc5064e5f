"""Altered tables: a verdict that comes from them flips under some alteration; one that never does is not computed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from experiments.experiment import Experiment
from experiments.verdicts import Outcome, Verdict
from workloads.errors import InputError

__all__ = ["never_flips", "standing"]

_Rows = Sequence[Mapping[str, Any]]
#: What is done to numbers; some lies that results could tell.
_CHANGES: tuple[Callable[[list[float]], list[float]], ...] = (
    lambda values: [3.0 * value for value in values],
    lambda values: [0.3 * value for value in values],
    lambda values: [0.0 for _ in values],
    lambda values: [value + 0.2 for value in values],
    lambda values: [1.0 for _ in values],
    lambda values: [0.2 for _ in values],
    lambda values: [100.0 for _ in values],
    lambda values: [value * (1.0 + 1e-3 * place) for place, value in enumerate(values)],
    lambda values: values[::-1],
    lambda values: [values[(37 * place + 11) % len(values)] for place in range(len(values))],
    lambda values: [-100.0 * value for value in values],
    lambda values: [1.03 * value for value in values],
    lambda values: [1.1 * value for value in values],
    lambda values: [1000.0 * value for value in values],
    lambda values: [value * 10.0 ** (place % 5) for place, value in enumerate(values)],
)


def standing(verdict: Verdict) -> str:
    """The outcome; of what is not comparable, what it would be there."""
    there = re.search(r"there it (holds|does not hold|is undecided)", verdict.remark)
    return f"{verdict.outcome}, {there[0]}" if there else str(verdict.outcome)


def never_flips(item: Experiment, tables: Mapping[str, _Rows]) -> list[str]:
    """Claims whose verdict is the same whatever is done to the tables; what was not measured is not asked."""
    first = {verdict.claim: verdict for verdict in item.judge(tables)}
    left = {
        claim: standing(verdict)
        for claim, verdict in first.items()
        if verdict.outcome is not Outcome.NOT_COMPARABLE or "there it" in verdict.remark
    }
    for altered in _altered(_read(item, tables)):
        if not left:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = {verdict.claim: standing(verdict) for verdict in item.judge(altered)}
        except (InputError, ArithmeticError, LookupError, TypeError, ValueError):
            # Tables that mean nothing are refused.
            continue
        left = {claim: was for claim, was in left.items() if found.get(claim, was) == was}
    return list(left)


class _Watched(dict[str, Any]):
    """A row that remembers which of its cells were read."""

    def __init__(self, row: Mapping[str, Any], seen: set[str]) -> None:
        super().__init__(row)
        self._seen = seen

    def __getitem__(self, name: str) -> Any:
        self._seen.add(name)
        return super().__getitem__(name)


def _read(item: Experiment, tables: Mapping[str, _Rows]) -> dict[str, _Rows]:
    """The tables; of those of which the verdicts read nothing, and of cells that they do not read, nothing."""
    seen: dict[str, set[str]] = {name: set() for name in tables}
    item.judge({name: [_Watched(row, seen[name]) for row in rows] for name, rows in tables.items()})
    return {
        name: [{key: value for key, value in row.items() if key in seen[name]} for row in rows]
        for name, rows in tables.items()
    }


def _altered(tables: Mapping[str, _Rows]) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """Whole columns first, then the rows of one kind, then towards what is printed."""
    for whole in (True, False):
        for name, rows in tables.items():
            for column in _numeric(rows):
                for chosen in [list(range(len(rows)))] if whole else _kinds(rows):
                    for change in _CHANGES:
                        yield _with(tables, name, column, chosen, change)
    for name, rows in tables.items():
        for column in _numeric(rows):
            if "printed" in rows[0] and column != "printed":
                done = {key: [dict(row) for row in own] for key, own in tables.items()}
                for row in done[name]:
                    row[column] = row["printed"] if row["printed"] is not None else row[column]
                yield done


def _numeric(rows: _Rows) -> list[str]:
    return [
        column
        for column in (rows[0] if rows else ())
        if any(isinstance(row.get(column), int | float) for row in rows) and column not in ("repetition", "run")
    ]


def _kinds(rows: _Rows) -> Iterator[list[int]]:
    """Rows that share a word or a small number, and single rows at both ends."""
    for column in rows[0] if rows else ():
        values = list(dict.fromkeys(row.get(column) for row in rows))
        if 1 < len(values) <= 12:
            for value in values:
                yield [place for place, row in enumerate(rows) if row.get(column) == value]


def _with(
    tables: Mapping[str, _Rows], name: str, column: str, chosen: list[int], change: Callable[[list[float]], list[float]]
) -> dict[str, list[dict[str, Any]]]:
    done = {key: list(map(dict, own)) for key, own in tables.items()}
    rows = done[name]
    places = [place for place in chosen if isinstance(rows[place].get(column), int | float)]
    for place, value in zip(places, change([float(rows[place][column]) for place in places]), strict=True):
        rows[place][column] = value
    return done
