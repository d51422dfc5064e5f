"""Tampering with a column of a table changes what its page shows: a verdict, or the figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest

from holdfast.experiments.figures.canvas import new_figure
from holdfast.experiments.study.experiment import Experiment, Tables, all_experiments
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, Verdict
from tests.experiments.study.test_altered_verdicts import MADE_UP
from tests.support.tampering import marks, numeric_columns, unseen_columns
from tests.support.unseen import excused_columns, is_excused

#: Measured in a tenth of a second, and tampered with in about as much.
CHEAP = ("checkpoint-fig4", "hybrid-table1", "profiles-fig3", "profiles-fig4", "profiles-fig9", "profiles-table1",
         "profiles-table3")  # fmt: skip
#: Of these made-up tables of the same columns stand for the measured ones, which are many times as long.
LONG = ("hybrid-readings",)


def check(name: str, tables: Tables) -> None:
    experiment = all_experiments()[name]
    columns = [f"{table}.{column}" for table, column in numeric_columns(tables)]
    assert [column for column in unseen_columns(experiment, tables) if not is_excused(name, column)] == []
    # What is listed is there.
    assert [
        pattern for pattern in excused_columns(name) if not any(fnmatchcase(column, pattern) for column in columns)
    ] == []


@pytest.mark.parametrize("name", CHEAP)
def test_every_column_counts(name: str, quick_tables: Callable[[str], Tables]) -> None:
    check(name, quick_tables(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(all_experiments()) - set(CHEAP) - set(LONG)))
def test_every_column_of_all_experiments_counts(name: str, quick_tables: Callable[[str], Tables]) -> None:
    check(name, quick_tables(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_every_column_of_long_experiments_counts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.experiments.papers.hybrid import fidelity, readings

    kept: dict[Any, Any] = {}

    def score_readings(tables: Tables, stage: str = "") -> Any:
        """Those of stages that were not tampered with are worked out once."""
        own = (stage, id(tables.get(stage)), id(tables.get(fidelity.checkpoint_stage(stage))))
        if own not in kept:
            kept[own] = (fidelity.score_readings(tables, stage), tables)
        return kept[own][0]

    monkeypatch.setattr(readings, "score_readings", score_readings)
    check(name, MADE_UP[name]())


# The check itself.

ROWS: list[dict[str, Any]] = [
    {"trace": trace, "seen": 1.0 + trace, "drawn": 2.0 * trace, "idle": 3.0, "word": "x"} for trace in range(4)
]


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    if any(row["seen"] > 1000 for row in rows):
        raise ValueError("no table has that")
    mean = sum(row["seen"] for row in rows) / len(rows)
    return [Statement("it is seen", "", HYPOTHESIS).exact_verdict(mean > 2, "holds if it is above 2", f"{mean:.2f}")]


def _draw(tables: Tables) -> Any:
    figure = new_figure(3, 2)
    figure.subplots().plot([row["trace"] for row in tables[""]], [row["drawn"] for row in tables[""]])
    return figure


def _fictitious_experiment(**changes: Any) -> Experiment:
    item = Experiment("beyond-made-up", "t", "q", None, None, lambda *_: {}, _judge, _draw)
    return replace(item, **changes)


def test_a_column_that_nothing_shows_is_found() -> None:
    tables: Mapping[str, Any] = {"": ROWS, "more": [{"a": 1, "b": True, "c": None}, {"a": 2, "b": False, "c": 0.5}]}
    assert numeric_columns(tables) == [("", "trace"), ("", "seen"), ("", "drawn"), ("", "idle"), ("more", "a"),
                                       ("more", "c")]  # fmt: skip
    assert unseen_columns(_fictitious_experiment(), tables) == [".idle", "more.a", "more.c"]
    # Without a picture the main table stands on the page.
    assert unseen_columns(_fictitious_experiment(draw=None), tables) == ["more.a", "more.c"]


def test_marks_are_what_is_drawn() -> None:
    whole = {"": ROWS}
    assert marks(_draw(whole)) == marks(_draw({"": [dict(row) for row in ROWS]}))
    other = [{**row, "drawn": row["drawn"] + 1e-6 * (row["trace"] == 3)} for row in ROWS]
    assert marks(_draw(whole)) != marks(_draw({"": other}))


def test_exceptions_are_of_experiments_that_there_are() -> None:
    assert is_excused("checkpoint-fig4", "reservations.length")
    assert not is_excused("checkpoint-fig3", "reservations.length")
    assert not is_excused("hybrid-table1", ".jobs")
    assert excused_columns("checkpoint-table1") == [".median"]
