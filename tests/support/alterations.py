"""Altered tables: what a judge must notice.

A verdict that stays the same whatever the measured numbers are is none. Columns are multiplied, zeroed, turned round,
mixed up and more, all together and each alone, in all rows, in every second one and in those of one kind.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from zlib import crc32

from holdfast.experiments.beyond.sensitivity import FACTORS
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.verdicts import Outcome, Verdict
from holdfast.workloads.ground.errors import InputError

__all__ = ["is_number", "never_flips", "outcome_text"]

#: Columns that say what a row is of. They are left alone: without them rows only lose their partners.
LABELS = frozenset(
    {
        *("trace", "seed", "repetition", "mix", "mechanism", "option", "strategy", "dataset", "reading", "share"),
        *("checkpoint_factor", "node_mtbf_years", "notice_lead", "min_share", "project", "job", "real", "level"),
        *("order", "rule", "sizes", "scenario", "week", "smallest", "largest", "category", "law", "task", "run"),
        *("trajectory", "step", *FACTORS, *(f"place_{name}" for name in FACTORS)),
    }
)

_Change = Callable[[list[Any]], list[Any]]
_Altered = dict[str, Sequence[Row]]


def _each(change: Callable[[Any], Any]) -> _Change:
    return lambda values: [change(value) for value in values]


def _times(factor: float) -> _Change:
    return _each(lambda value: factor * value)


#: What is done to the numbers of a column; some are lies that results could tell.
_CHANGES: tuple[_Change, ...] = (
    *map(_times, (3, 1 / 3, 0, -1, 1.03, 1.1, 1000.0, -100.0)),
    _each(lambda value: value + 0.2),
    *(_each(lambda _, constant=constant: constant) for constant in (0.2, 1.0, 100.0)),
    lambda values: [value * (1.0 + 1e-3 * place) for place, value in enumerate(values)],
    lambda values: [value * 10.0 ** (place % 5) for place, value in enumerate(values)],
    lambda values: values[::-1],
    lambda values: [values[(37 * place + 11) % len(values)] for place in range(len(values))],
)
#: Levels that are missed by far: whatever is printed, some factor leads there.
_FACTORS = (*(2.0**step for step in range(-10, 11)), *(1.01**step for step in range(-90, 71)))


def outcome_text(verdict: Verdict) -> str:
    """The outcome; of what is not comparable, what it would be there, or nothing."""
    if verdict.outcome is not Outcome.NOT_COMPARABLE:
        return str(verdict.outcome)
    there = re.search(r"there it (holds|does not hold|is undecided)", verdict.remark)
    return there[0] if there else ""


def never_flips(experiment: Experiment, tables: Tables, but: Callable[[str], bool] = lambda claim: False) -> list[str]:
    """Claims whose verdict no alteration changes, without those that ``but`` says need not.

    A verdict that becomes "not comparable" has not changed: its data are only gone. What was not comparable before is
    left out.
    """
    left = {
        verdict.claim: outcome
        for verdict in experiment.judge(tables)
        if (outcome := outcome_text(verdict)) and not but(verdict.claim)
    }
    for altered in _alterations(tables, _places(experiment, tables)):
        if not left:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = {verdict.claim: outcome_text(verdict) for verdict in experiment.judge(altered)}
        except (InputError, ArithmeticError, LookupError, TypeError, ValueError):
            # Tables that mean nothing are refused.
            continue
        left = {claim: was for claim, was in left.items() if (found.get(claim) or was) == was}
    return list(left)


class _Watched(dict[str, Any]):
    """A row that remembers which of its cells were read."""

    def __init__(self, row: Row, seen: set[str]) -> None:
        super().__init__(row)
        self._seen = seen

    def __getitem__(self, name: str) -> Any:
        self._seen.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._seen.add(name)
        return super().get(name, default)


def _places(experiment: Experiment, tables: Tables) -> list[tuple[str, str]]:
    """Tables and their columns of numbers, first those that the verdicts read cell by cell."""
    seen: dict[str, set[str]] = {name: set() for name in tables}
    experiment.judge({name: [_Watched(row, seen[name]) for row in rows] for name, rows in tables.items()})
    numeric = {
        (name, column): None
        for name, rows in tables.items()
        for row in rows
        for column, value in row.items()
        if column not in LABELS and is_number(value)
    }
    return sorted(numeric, key=lambda place: place[1] not in seen[place[0]])


def is_number(value: Any) -> bool:
    """Whether a cell is a number; a truth is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _alterations(tables: Tables, places: Sequence[tuple[str, str]]) -> Iterator[_Altered]:
    """The tables altered, each time in one way; what changes most comes first."""
    yield from _changes(tables, places)
    for factor in _FACTORS:
        yield _with(tables, places, _times(factor))
    # Tables that are set against each other.
    for name in tables:
        yield from _changes(tables, [place for place in places if place[0] == name])
    for place in places:
        yield from _changes(tables, [place])
    # Comparisons of rows: the rows of one mechanism, one mix, one order.
    for label, value in _groups(tables):
        for factor in (3, 1 / 3):
            yield _with(tables, places, _times(factor), lambda _, row, of=label, by=value: of in row and row[of] == by)
    # Ranks and ratios of ratios: each kind of row has a factor of its own, the same in all traces.
    for seed in range(10):
        yield {
            name: [row for old in rows for row in _with({name: [old]}, places, _times(_factor(old, seed)))[name]]
            for name, rows in tables.items()
        }
    for name, column in places:
        for chosen in _kinds(tables[name]):
            for change in _CHANGES:
                yield _with(tables, [(name, column)], change, lambda place, _, among=chosen: place in among)
    # Towards what is printed.
    for name, column in places:
        if column != "printed" and any(is_number(row.get("printed")) for row in tables[name]):
            rows = [{**row, column: row["printed"]} if is_number(row.get("printed")) else row for row in tables[name]]
            yield {**tables, name: rows}


def _changes(tables: Tables, which: Sequence[tuple[str, str]]) -> Iterator[_Altered]:
    """Each change of these columns, in all rows and in every second one."""
    for change in _CHANGES:
        yield _with(tables, which, change)
        yield _with(tables, which, change, lambda place, _: place % 2 == 0)


def _groups(tables: Tables) -> list[tuple[str, Any]]:
    found = {
        (label, row[label])
        for row in chain.from_iterable(tables.values())
        for label in LABELS - {"trace"}
        if label in row
    }
    return sorted(found, key=str)


def _factor(row: Row, seed: int) -> float:
    """Between an eighth and eight, by what the row is of."""
    kind = repr((seed, sorted((name, row[name]) for name in row if name in LABELS - {"trace"})))
    return float(8.0 ** (2 * crc32(kind.encode()) / 2**32 - 1))


def _kinds(rows: Sequence[Row]) -> Iterator[set[int]]:
    """Rows that share a word or a small number."""
    for column in rows[0] if rows else ():
        values = dict.fromkeys(row.get(column) for row in rows)
        if 1 < len(values) <= 12:
            for value in values:
                yield {place for place, row in enumerate(rows) if row.get(column) == value}


def _with(
    tables: Mapping[str, Sequence[Row]],
    places: Iterable[tuple[str, str]],
    change: _Change,
    chosen: Callable[[int, Row], bool] = lambda place, row: True,
) -> _Altered:
    done: _Altered = dict(tables)
    columns: dict[str, list[str]] = {}
    for name, column in places:
        if name in tables:
            columns.setdefault(name, []).append(column)
    for name, own in columns.items():
        rows = [dict(row) for row in tables[name]]
        for column in own:
            at = [place for place, row in enumerate(rows) if is_number(row.get(column)) and chosen(place, row)]
            for place, value in zip(at, change([tables[name][place][column] for place in at]), strict=True):
                rows[place][column] = value
        done[name] = rows
    return done
