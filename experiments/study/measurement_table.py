"""Lookup of measurements by column values, and comparison by repetition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.study.experiment import Row
from holdfast.experiments.study.metrics import find_metric
from holdfast.workloads.ground.errors import InputError

__all__ = ["Measured", "column", "in_order", "rows_where"]

Floats = NDArray[np.float64]


def rows_where(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Select the rows with given values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def column(rows: Iterable[Row], name: str) -> Floats:
    """A column as numbers; NaN for missing values."""
    return np.array([np.nan if row[name] is None else float(row[name]) for row in rows])


def in_order(rows: Sequence[Row], name: str, **where: Any) -> list[float]:
    """A column of the rows with these values, ordered by ``repetition``.

    Raises
    ------
    InputError
        If no row matches, or two rows have the same repetition.
    """
    own = sorted(rows_where(rows, **where), key=lambda row: int(row["repetition"]))
    values_text = ", ".join(f"{key} {value}" for key, value in where.items())
    if not own:
        raise InputError(f"there are no runs of {values_text}")
    if len({row["repetition"] for row in own}) < len(own):
        raise InputError(f"there are two runs of the same repetition of {values_text}")
    return [float(row[name]) for row in own]


class Measured:
    """Metrics by trace.

    Parameters
    ----------
    rows
        One row for each simulation, with ``trace``, the varied columns, and metrics.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)
        self.traces = sorted({row["trace"] for row in self._rows})
        #: Indices of rows, by columns and their values.
        self._cells: dict[tuple[str, ...], Mapping[tuple[Any, ...], list[int]]] = {}
        #: Results of :meth:`_table`: the claims of a page ask for most of them several times.
        self._reduced: dict[tuple[Any, ...], Floats] = {}

    def values(self, name: str) -> list[Any]:
        """The values of a column, sorted."""
        return sorted({row[name] for row in self._rows})

    def __call__(self, metric: str, mechanism: Any = None, mix: Any = None, **where: Any) -> Floats:
        """Mean of a metric over the matching rows of each trace, in the unit of the catalogue.

        Parameters
        ----------
        metric
            Name of the metric.
        mechanism, mix, **where
            Required value, or tuple of values, of columns; None: any value.

        Returns
        -------
        ndarray
            Means in the order of :attr:`traces`; NaN where the metric is not defined.

        Raises
        ------
        LookupError
            If a trace has no row for a combination of these values.
        InputError
            If no metric has that name.
        """
        chosen = {"mechanism": mechanism, "mix": mix, **where}
        shown: Floats = find_metric(metric).scale_value(self._table(metric, chosen, np.mean))
        return shown

    def total(self, metric: str, mechanism: Any = None) -> Floats:
        """Sum of a metric over the matching rows of each trace; parameters and errors as for the mean."""
        return self._table(metric, {"mechanism": mechanism}, np.sum)

    def mean(self, metric: str, mechanism: Any = None) -> Floats:
        """Mean of a column in each trace without conversion of units; the column need not be in the catalogue."""
        return self._table(metric, {"mechanism": mechanism}, np.mean)

    def _table(self, metric: str, asked: Mapping[str, Any], reduce: Any) -> Floats:
        where = {name: value for name, value in asked.items() if value is not None}
        key = (metric, reduce, *where.items())
        if key not in self._reduced:
            self._reduced[key] = self._reduce(metric, where, reduce)
        return self._reduced[key].copy()

    def _reduce(self, metric: str, where: Mapping[str, Any], reduce: Any) -> Floats:
        names = tuple(where)
        if names not in self._cells:
            cells: dict[tuple[Any, ...], list[int]] = {}
            for place, row in enumerate(self._rows):
                cells.setdefault((row["trace"], *(row[name] for name in names)), []).append(place)
            self._cells[names] = cells
        chosen = [value if isinstance(value, tuple) else (value,) for value in where.values()]
        try:
            found = [
                sorted(place for values in product((trace,), *chosen) for place in self._cells[names][values])
                for trace in self.traces
            ]
        except KeyError:
            found = []
        if not found:
            missing = (f"{name} {' or '.join(map(str, own))}" for name, own in zip(names, chosen, strict=True))
            raise LookupError(", ".join(missing) or "any trace")
        return np.array([reduce(column([self._rows[place] for place in places], metric)) for places in found])
