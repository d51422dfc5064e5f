"""Table of the distributions of waits and slowdowns: quantiles over all jobs and by size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.simulator.results.measured_simulation import WHOLE, MeasuredWindow, records_in_window
from holdfast.simulator.results.records import SLOWDOWN_BOUND, JobRecord
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.units import SECOND

__all__ = ["MOST_SIZES", "distribution_rows", "size_classes"]

#: Quantiles for all jobs, and for each size class.
_ALL = tuple(round(share / 200, 4) for share in range(201))
_CLASS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Largest number of size classes.
MOST_SIZES = 6


def size_classes(nodes: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges of sizes, each up to a power of two; the smallest ones are merged if there are too many.

    >>> size_classes([1, 2, 3, 4, 9, 16])
    [(1, 1), (2, 2), (3, 4), (9, 16)]
    """
    sizes = np.unique(np.asarray(nodes, dtype=np.int64))
    powers = np.ceil(np.log2(sizes)).astype(int)
    powers = np.maximum(powers, powers.max() - MOST_SIZES + 1)
    parts = [sizes[powers == power] for power in dict.fromkeys(powers.tolist())]
    return [(int(part.min()), int(part.max())) for part in parts]


def distribution_rows(results: Sequence[Result], window: MeasuredWindow = WHOLE) -> list[dict[str, Any]]:
    """Quantiles of the waits and of the bounded slowdowns of measured jobs that ran and were not cancelled.

    Parameters
    ----------
    results
        One or several.
    window
        What is measured of each.

    Returns
    -------
    list of dict
        A row for each result, ``metric`` (``wait_h`` [h] or ``bounded_slowdown``), ``sizes`` (``all`` or a range of
        nodes) and ``quantile``, with its ``value`` and the number of ``jobs`` in the class.
    """
    measured = [[record for record in records_in_window(result, window) if _counts(record)] for result in results]
    sizes = [record.nodes for records in measured for record in records]
    classes = size_classes(sizes) if sizes else []
    rows: list[dict[str, Any]] = []
    for result, records in zip(results, measured, strict=True):
        nodes = np.array([record.nodes for record in records], dtype=np.int64)
        for metric, values in _values(records).items():
            groups = [("all", np.ones(len(nodes), bool), _ALL)]
            groups += [(_words(low, high), (nodes >= low) & (nodes <= high), _CLASS) for low, high in classes]
            for words, chosen, shares in groups:
                if chosen.any():
                    found = np.quantile(values[chosen], shares)
                    rows += [
                        {
                            **result.identity,
                            "metric": metric,
                            "sizes": words,
                            "jobs": int(chosen.sum()),
                            "quantile": share,
                            "value": value,
                        }
                        for share, value in zip(shares, found.tolist(), strict=True)
                    ]
    return rows


def _counts(record: JobRecord) -> bool:
    return record.submit is not None and record.start is not None and record.status != "cancelled"


def _values(records: Sequence[JobRecord]) -> dict[str, NDArray[np.float64]]:
    wait = np.array([record.wait for record in records], dtype=np.float64)
    turnaround = np.array([record.turnaround for record in records], dtype=np.float64)
    runtime = np.array([record.runtime for record in records], dtype=np.float64)
    return {
        "wait_h": wait / (3600 * SECOND),
        "bounded_slowdown": np.maximum(1.0, turnaround / np.maximum(runtime, SLOWDOWN_BOUND)),
    }


def _words(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
