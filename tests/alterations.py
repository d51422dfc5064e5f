"""Altered tables: what a judge must notice.

A verdict that stays the same whatever the measured numbers are is none. Each numeric column is multiplied, zeroed and
turned round, alone and together with all others, and once more in every second row only; and the rows of each
mechanism, mix and so on are multiplied, so that comparisons within a column change, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

from experiments.experiment import Experiment, Row, Tables
from experiments.verdicts import Outcome, Verdict
from workloads.errors import InputError

__all__ = ["LABELS", "altered", "stubborn"]

#: Columns that say what a row is of. They are left alone: without them rows only lose their partners.
LABELS = frozenset(
    {
        *("trace", "seed", "repetition", "mix", "mechanism", "option", "strategy", "dataset", "reading", "share"),
        *("checkpoint_factor", "node_mtbf_years", "notice_lead", "min_share", "project", "job", "real", "level"),
        *("order", "rule", "sizes", "scenario", "week", "smallest", "largest", "category", "law", "task", "run"),
    }
)

_CHANGES: Mapping[str, Callable[[Any], Any]] = {
    "times 3": lambda value: 3 * value,
    "a third": lambda value: value / 3,
    "zero": lambda value: 0 * value,
    "negative": lambda value: -value,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def altered(tables: Tables, labels: frozenset[str] = LABELS) -> Iterator[tuple[str, dict[str, list[dict[str, Any]]]]]:
    """The tables altered, each time in one way, with words for it."""
    places = sorted(
        {
            (name, column)
            for name, rows in tables.items()
            for row in rows
            for column, value in row.items()
            if column not in labels and _is_number(value)
        }
    )
    whole = set(places)
    yield from _changes(tables, "all", whole)
    # Levels that are missed by far: whatever is printed, some factor leads there.
    for factor in (*(2.0**step for step in (*range(-10, 0), *range(1, 11))), *(1.01**step for step in range(-70, 71))):
        yield f"all times {factor:.3g}", _changed(tables, whole, lambda value, by=factor: by * value)
    # Comparisons of rows: the rows of one mechanism, one mix, one order.
    groups = {
        (label, row[label]) for rows in tables.values() for row in rows for label in labels - {"trace"} if label in row
    }
    for label, value in sorted(groups, key=str):
        for how in ("times 3", "a third"):
            own = {
                name: [row for row in rows if label not in row or row[label] != value] for name, rows in tables.items()
            }
            part = {name: [row for row in rows if row.get(label) == value] for name, rows in tables.items()}
            other = _changed(part, whole, _CHANGES[how])
            yield f"{label} {value} {how}", {name: [*map(dict, own[name]), *other[name]] for name in tables}
    # Ranks and ratios of ratios: each kind of row has a factor of its own, the same in all traces.
    for seed in range(10):
        yield (
            f"each kind of row times its own factor {seed}",
            {
                name: [
                    row
                    for old in rows
                    for row in _changed({"": [old]}, {("", column) for _, column in whole}, _factor(old, labels, seed))[
                        ""
                    ]
                ]
                for name, rows in tables.items()
            },
        )
    for name, column in places:
        yield from _changes(tables, f"{name or 'main'}.{column}", {(name, column)})


def _factor(row: Row, labels: frozenset[str], seed: int) -> Callable[[Any], Any]:
    """A multiplication by between an eighth and eight, by what the row is of."""
    kind = repr((seed, sorted((name, row[name]) for name in row if name in labels - {"trace"})))
    by = 8.0 ** (2 * crc32(kind.encode()) / 2**32 - 1)
    return lambda value: by * value


def _changes(
    tables: Tables, words: str, which: set[tuple[str, str]]
) -> Iterator[tuple[str, dict[str, list[dict[str, Any]]]]]:
    for how, change in _CHANGES.items():
        for step, part in ((1, ""), (2, " in every second row")):
            yield f"{words} {how}{part}", _changed(tables, which, change, step)


def _changed(
    tables: Tables, which: set[tuple[str, str]], change: Callable[..., Any], step: int = 1
) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [
            {
                column: change(value) if place % step == 0 and (name, column) in which and _is_number(value) else value
                for column, value in row.items()
            }
            for place, row in enumerate(rows)
        ]
        for name, rows in tables.items()
    }


def _outcomes(experiment: Experiment, tables: Mapping[str, Sequence[Row]]) -> dict[str, Verdict] | None:
    """By claim; None where the judge refuses the tables."""
    try:
        return {verdict.claim: verdict for verdict in experiment.judge(tables)}
    except (InputError, ArithmeticError, LookupError, TypeError, ValueError, RuntimeWarning):
        return None


def stubborn(experiment: Experiment, tables: Tables, labels: frozenset[str] = LABELS) -> tuple[list[str], int]:
    """Claims whose verdict no alteration changes, and how many verdicts could be changed.

    A verdict that becomes "not comparable" has not changed: its data are only gone. What was not comparable before is
    left out.
    """
    before = _outcomes(experiment, tables)
    assert before is not None
    known = {claim: item.outcome for claim, item in before.items() if item.outcome is not Outcome.NOT_COMPARABLE}
    seen: dict[str, set[Outcome]] = defaultdict(set)
    open_ = set(known)
    for _, other in altered(tables, labels):
        for claim, verdict in (_outcomes(experiment, other) or {}).items():
            seen[claim].add(verdict.outcome)
        open_ = {claim for claim in open_ if not seen[claim] - {known[claim], Outcome.NOT_COMPARABLE}}
        if not open_:
            break
    return sorted(open_), len(known)
