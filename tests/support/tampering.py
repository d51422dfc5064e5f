"""Tampered tables: whether what a page shows of an experiment, its verdicts and its figure, notices a changed column.

A column is tampered with as a whole: its numbers are multiplied, or else mixed up among the rows. What then changes
neither a word of a verdict nor a mark of the figure could be anything.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.study.experiment import Experiment, Row, Tables, judge_experiment
from holdfast.experiments.study.verdicts import verdict_row
from holdfast.workloads.ground.errors import InputError
from tests.support.alterations import is_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["marks", "numeric_columns", "page_digests", "unseen_columns"]

#: One that hardly any rounding hides, and that no unit or doubling is.
_FACTOR = 1.37
#: What says that a table means nothing any more.
_REFUSED = (InputError, ArithmeticError, LookupError, TypeError, ValueError)


def numeric_columns(tables: Tables) -> list[tuple[str, str]]:
    """The tables' columns with numbers, each as (table, column)."""
    found = {
        (name, column): None
        for name, rows in tables.items()
        for row in rows
        for column, value in row.items()
        if is_number(value)
    }
    return list(found)


def unseen_columns(experiment: Experiment, tables: Tables) -> list[str]:
    """The columns, as ``table.column``, that a page tells nothing of: tampered with, it is the same."""
    before = page_digests(experiment, tables)
    return [
        f"{name}.{column}"
        for name, column in numeric_columns(tables)
        if all(
            _page(experiment, {**tables, name: _tamper(tables[name], column, change)}, before) == before
            for change in (_multiply, _shuffle)
        )
    ]


def page_digests(experiment: Experiment, tables: Tables) -> tuple[str, ...]:
    """What a page shows: digests of the verdicts, and of the figure, or the table that stands for it."""
    return _verdicts(experiment, tables), _picture(experiment, tables)


def _page(experiment: Experiment, tables: Tables, before: tuple[str, ...]) -> tuple[str, ...]:
    """The same for tampered tables; the figure is not drawn where the verdicts tell already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            verdicts = _verdicts(experiment, tables)
            return (verdicts, "") if verdicts != before[0] else (verdicts, _picture(experiment, tables))
        except _REFUSED:
            return ("refused", "")


def _verdicts(experiment: Experiment, tables: Tables) -> str:
    return repr([verdict_row(verdict) for verdict in judge_experiment(experiment, tables)])


def _picture(experiment: Experiment, tables: Tables) -> str:
    if experiment.draw is None:
        return repr(tables.get("", ()))
    return marks(experiment.draw(tables))


def _tamper(rows: Sequence[Row], column: str, change: Callable[[list[float]], Sequence[float]]) -> list[dict[str, Any]]:
    at = [place for place, row in enumerate(rows) if is_number(row.get(column))]
    done = [dict(row) for row in rows]
    for place, value in zip(at, change([rows[place][column] for place in at]), strict=True):
        done[place][column] = value
    return done


def _multiply(values: list[float]) -> list[float]:
    return [_FACTOR * value if value else 1.0 for value in values]


def _shuffle(values: list[float]) -> list[float]:
    return [values[(37 * place + 11) % len(values)] for place in range(len(values))]


def marks(figure: Figure) -> str:
    """A digest of all that is drawn, without drawing it."""
    digest = hashlib.sha256()
    for part in _parts(figure):
        content = np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
        digest.update(content)
    return digest.hexdigest()


def _parts(figure: Figure) -> Iterator[Any]:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    for artist in figure.findobj():
        if isinstance(artist, Line2D):
            yield from (np.asarray(artist.get_xydata(), dtype=float), artist.get_color(), artist.get_marker())
        elif isinstance(artist, Patch):
            shape = artist.get_patch_transform().transform(artist.get_path().vertices)
            yield from (np.asarray(shape, dtype=float), artist.get_facecolor())
        elif isinstance(artist, Collection):
            yield from (np.ma.filled(artist.get_offsets(), np.nan), np.asarray(artist.get_facecolor()))
            yield from (np.asarray(path.vertices, dtype=float) for path in artist.get_paths())
            values = artist.get_array()
            yield None if values is None else np.ma.filled(values, np.nan)
        elif isinstance(artist, AxesImage):
            yield np.asarray(artist.get_array())
        elif isinstance(artist, Text):
            yield (artist.get_text(), artist.get_position())
        elif isinstance(artist, Axes):
            yield (artist.get_xlim(), artist.get_ylim())
