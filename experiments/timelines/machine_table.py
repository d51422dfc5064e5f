"""Table of nodes and queue length over time under each mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from holdfast.experiments.recordings.time_windows import unix_origin
from holdfast.experiments.timelines.steps import bin_averages, choose_bin
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND

__all__ = ["machine_rows"]


def machine_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Use of nodes and length of the queue, as step functions of the time since the first submit.

    Parameters
    ----------
    results
        Results over the same jobs. Curves with too many steps for a figure are averaged over bins that suit the span,
        so that the table of a year stays small.

    Returns
    -------
    list of dict
        A row for each step of each result: from ``start_s`` to ``end_s`` [s] the number of busy and held nodes [% of
        the machine], of waiting jobs, and of the nodes that they requested [% of the machine]. ``averaged_over`` is the
        length of the bins in words; empty: not averaged. ``began`` is the first submit [s since 1970]; empty: its date
        is unknown.

    Raises
    ------
    InputError
        If no job of a result ran.
    """
    spans = [_span(result) for result in results]
    longest = max((end - first for first, end in spans), default=0) / SECOND
    width, over = choose_bin(longest, max((len(result.samples) for result in results), default=0))
    return [row for result, span in zip(results, spans, strict=True) for row in _steps(result, span, width, over)]


def _span(result: Result) -> tuple[int, int]:
    """First submit (or begin of the replay) and last completion, in ticks of the simulated clock."""
    if result.opened is None or result.closed is None:
        raise InputError("no job of this result ran; there is nothing to draw")
    return result.opened - result.origin, result.closed - result.origin


def _steps(result: Result, span: tuple[int, int], width: float, over: str) -> list[dict[str, Any]]:
    samples = np.array(result.samples, dtype=float)
    first, end = span
    times = np.clip((samples[:, 0] - first) / SECOND, 0.0, (end - first) / SECOND)
    # Only the last sample of an instant, and of the time before the first submit, counts.
    last = np.append(times[1:] > times[:-1], True)
    times, values = times[last], samples[last, 1:]
    if width:
        edges = np.append(np.arange(0.0, times[-1], width), times[-1])
        # Avoid a last bin that is only a rounding error.
        edges = edges[np.append(True, np.diff(edges) > 1e-6)]
        levels = [bin_averages(times, column, edges) for column in values.T]
    else:
        edges, levels = times, list(values[:-1].T)
    busy, held, jobs, nodes = (column.tolist() for column in levels)
    percent = 100.0 / result.nodes
    clock = unix_origin(result)
    began = None if clock is None else (clock + first) / SECOND
    return [
        {
            **result.identity,
            "start_s": start,
            "end_s": stop,
            "busy_percent": percent * busy[step],
            "held_percent": percent * held[step],
            "waiting_jobs": jobs[step],
            "waiting_nodes_percent": percent * nodes[step],
            "averaged_over": over,
            "began": began,
            "zone": result.zone,
        }
        for step, (start, stop) in enumerate(pairwise(edges.tolist()))
    ]
