"""Simulated waits of alternative requests, corrected as a forecast of their starts is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.experiments.forecast.track_record import TrackRecord
from holdfast.experiments.forecast.wait_quantiles import from_scale, to_scale

__all__ = ["correct_waits", "move_draws"]

Floats = npt.NDArray[np.float64]


def correct_waits(
    waits: Floats,
    record: TrackRecord | None,
    state: MachineState,
    job: SeenJob,
    lists: Mapping[int, Sequence[float]],
    own: Mapping[int, float],
) -> Floats:
    """Correct the waits of requests, those of a size like the forecast of its own or longest request.

    One correction for all walltimes of a size keeps their order that of the simulation: past waits of similar jobs are
    too few to distinguish walltimes.

    Parameters
    ----------
    waits
        Simulated waits [s], shape (draws, requests); by size, then by walltime.
    record
        Back-tests; None: there are none.
    state, job
        The machine, and the waiting job that makes the requests.
    lists
        Walltimes of the requests [s], by size.
    own
        The user's own walltime [s], by size.

    Returns
    -------
    numpy.ndarray
        Waits of the same shape [s]; ``waits`` itself if there are too few back-tests for a correction.
    """
    if record is None:
        return waits
    moved, first = waits, 0
    for size, times in lists.items():
        time = own.get(size, max(times))
        columns = slice(first, first + len(times))
        quantiles = np.quantile(waits[:, first + list(times).index(time)], LEVELS, method="inverted_cdf").tolist()
        corrected = record.correct(state, replace(job, nodes=size, walltime=time), quantiles)
        if corrected is None:
            return waits
        moved = moved.copy()
        moved[:, columns] = move_draws(waits[:, columns], quantiles, corrected.report_quantiles(), LEVELS)
        first += len(times)
    return moved


def move_draws(
    draws: Floats, simulated: Sequence[float], corrected: Sequence[float], levels: Sequence[float]
) -> Floats:
    """Draws moved as their quantiles are corrected, each by the shift at its rank.

    Parameters
    ----------
    draws
        Drawn times [s], shape (draws, alternatives); each column is moved by itself.
    simulated, corrected
        Quantiles before and after the correction [s].
    levels
        Their levels; beyond the outer ones the shift stays the same.

    Returns
    -------
    numpy.ndarray
        Times of the same shape [s], in each column in the same order as before, on the scale of logarithms moved by the
        same shifts.
    """
    shifts = to_scale(corrected) - to_scale(simulated)
    count = len(draws)
    ranks = (np.arange(count) + 0.5) / count
    moved = np.empty_like(draws)
    for place, column in enumerate(draws.T):
        order = np.argsort(column, kind="stable")
        found = to_scale(column[order]) + np.interp(ranks, levels, shifts)
        moved[order, place] = np.maximum.accumulate(found)
    return from_scale(moved)
