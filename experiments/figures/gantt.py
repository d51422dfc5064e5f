"""A Gantt chart of the runs of a small scenario: which nodes each job had, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from experiments.figures.steps import choose_unit
from experiments.figures.style import (
    FONT,
    INK,
    PAGE,
    STATE_COLORS,
    TYPE_COLORS,
    dress,
    legend_above,
    mechanism_name,
    new_figure,
)
from simulator.result import Result
from workloads.errors import InputError
from workloads.job import JobType
from workloads.units import SECOND, to_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Block", "held_blocks", "place_runs", "plot_gantt"]


class Block(NamedTuple):
    """A job on its nodes while they stay the same.

    Attributes
    ----------
    job_id
        The job.
    start, end
        Ticks of the simulated clock.
    nodes
        Numbers of its nodes, ascending, from 0.
    warned
        Whether it is under warning.
    preempted
        Whether a preemption ends it.
    """

    job_id: int
    start: int
    end: int
    nodes: tuple[int, ...]
    warned: bool
    preempted: bool


class _Placed:
    """A run while it goes on."""

    def __init__(self, now: int, nodes: list[int]) -> None:
        self.since = now
        self.nodes = nodes
        self.warned = False


def place_runs(result: Result) -> list[Block]:
    """Give the runs of an event log nodes by number, first fit; the simulation itself only counts them.

    On-demand jobs fill the machine from the top, all others from the bottom, so that what is kept for the former lies
    where they will run.

    Parameters
    ----------
    result
        With its event log.

    Returns
    -------
    list of Block
        In the order in which they end.

    Raises
    ------
    InputError
        If the event log was switched off.
    """
    if not result.entries:
        raise InputError("this result has no event log; simulate with events=True")
    types = {record.job_id: record.type for record in result.records}
    free = set(range(result.nodes))
    runs: dict[int, _Placed] = {}
    blocks: list[Block] = []

    def close(job_id: int, run: _Placed, now: int, *, preempted: bool = False) -> None:
        if now > run.since:
            blocks.append(Block(job_id, run.since, now, tuple(sorted(run.nodes)), run.warned, preempted))
        run.since = now

    def take(job_id: int, count: int) -> list[int]:
        taken = _first_fit(free, count, from_top=types[job_id] is JobType.ON_DEMAND)
        free.difference_update(taken)
        return taken

    for entry in result.entries:
        now, job_id = entry.time, entry.job_id
        if entry.event == "start":
            runs[job_id] = _Placed(now, take(job_id, entry.after))
        elif entry.event in ("shrink", "expand"):
            run = runs[job_id]
            close(job_id, run, now)
            run.nodes.sort()
            if entry.after < entry.before:
                free.update(run.nodes[entry.after :])
                del run.nodes[entry.after :]
            else:
                run.nodes += take(job_id, entry.after - entry.before)
        elif entry.event == "warn":
            close(job_id, runs[job_id], now)
            runs[job_id].warned = True
        elif entry.event in ("preempt", "expire", "complete", "kill") or (entry.event == "cancel" and entry.before):
            run = runs.pop(job_id)
            close(job_id, run, now, preempted=entry.event == "preempt")
            free.update(run.nodes)
    return blocks


def plot_gantt(
    result: Result, *, start: float | None = None, end: float | None = None, labels: Mapping[int, str] | None = None
) -> Figure:
    """Draw the runs in a window of time, coloured by type; warnings are hatched, preemptions end in a dark edge.

    Parameters
    ----------
    result
        With its event log. Meant for a few dozen jobs.
    start, end
        The window, after the first submit [s]; all of the simulation by default.
    labels
        Texts of jobs; their ids by default.

    Returns
    -------
    Figure
        Nodes over time; triangles above mark notices and arrivals of on-demand jobs.

    Raises
    ------
    InputError
        If the result has no event log or nothing runs in the window.
    """
    from matplotlib.patches import Patch

    blocks = place_runs(result)
    first = (result.opened or 0) - result.origin
    opens = first + to_ticks(start) if start is not None else min(entry.time for entry in result.entries)
    closes = first + to_ticks(end) if end is not None else max(entry.time for entry in result.entries)
    shown = [block for block in blocks if block.end > opens and block.start < closes]
    if not shown:
        raise InputError("no job runs in this window")
    unit = choose_unit((closes - opens) / SECOND)
    tick = SECOND * unit.seconds
    types = {record.job_id: record.type for record in result.records}
    names = {job_id: (labels or {}).get(job_id, str(job_id)) for job_id in types}

    figure = new_figure(PAGE, 2.7)
    axes = figure.subplots()
    held = _draw_held(axes, result, shown, first, tick)
    for block in shown:
        _draw_block(axes, block, types[block.job_id], first, tick)
    axes.set_xlim((opens - first) / tick, (closes - first) / tick)
    axes.set_ylim(0, result.nodes)
    for block in shown:
        _name_block(axes, names[block.job_id], block, first, tick, result.nodes)
    _mark_calls(axes, result, types, names, first, tick)
    dress(axes, x=f"Time since the first submit ({unit.symbol})", y="Node (number)", grid="none")
    axes.locator_params(axis="y", integer=True)
    axes.text(
        0, 1.17, mechanism_name(result.mechanism), transform=axes.transAxes, fontsize=FONT["title"], color=INK
    )  # fmt: skip
    here = {types[block.job_id] for block in shown}
    handles = [Patch(facecolor=TYPE_COLORS[kind]) for kind in JobType if kind in here]
    texts = [str(kind) for kind in JobType if kind in here]
    if any(block.warned for block in shown):
        handles.append(Patch(facecolor="white", edgecolor=INK, hatch="/////", linewidth=0.5))
        texts.append("under warning")
    if any(block.preempted for block in shown):
        handles.append(Patch(facecolor="black"))
        texts.append("preempted here")
    if held:
        handles.append(Patch(facecolor=STATE_COLORS["held"], alpha=0.35))
        texts.append("held")
    legend_above(figure, handles, texts)
    return figure


def _draw_block(axes: Axes, block: Block, kind: JobType, first: int, tick: float) -> None:
    for low, high in _ranges(block.nodes):
        axes.broken_barh(
            [((block.start - first) / tick, (block.end - block.start) / tick)], (low, high - low),
            facecolor=TYPE_COLORS[kind], edgecolor="white", linewidth=0.5, hatch="/////" if block.warned else None,
        )  # fmt: skip
        if block.preempted:
            axes.vlines((block.end - first) / tick, low, high, color="black", linewidth=1.6, zorder=3)


def held_blocks(result: Result, blocks: Iterable[Block]) -> list[tuple[int, int, int, int]]:
    """Where held nodes are shown: they have no identity, and get the highest that nobody occupies.

    Returns
    -------
    list of tuple
        Start and end [ticks], and a range of nodes, the second bound not included.
    """
    blocks = list(blocks)
    bounds = sorted({time for block in blocks for time in (block.start, block.end)})
    held: list[tuple[int, int, int, int]] = []
    for before, after in pairwise(result.samples):
        if not before[2] or after[0] <= before[0]:
            continue
        cuts = [before[0], *(time for time in bounds if before[0] < time < after[0]), after[0]]
        for start, end in pairwise(cuts):
            busy = {node for block in blocks if block.start <= start < block.end for node in block.nodes}
            idle = [node for node in range(result.nodes) if node not in busy]
            held += [(start, end, low, high) for low, high in _ranges(idle[len(idle) - before[2] :])]
    return held


def _draw_held(axes: Axes, result: Result, blocks: Iterable[Block], first: int, tick: float) -> bool:
    held = held_blocks(result, blocks)
    for start, end, low, high in held:
        axes.broken_barh(
            [((start - first) / tick, (end - start) / tick)], (low, high - low),
            facecolor=STATE_COLORS["held"], alpha=0.35, linewidth=0,
        )  # fmt: skip
    return bool(held)


def _name_block(axes: Axes, name: str, block: Block, first: int, tick: float, nodes: int) -> None:
    """Write the job's name on each part that has room for it."""
    low, high = axes.get_xlim()
    start, end = max(low, (block.start - first) / tick), min(high, (block.end - first) / tick)
    if block.warned or end - start < 0.011 * len(name) * (high - low):
        return
    for bottom, top in _ranges(block.nodes):
        if top - bottom > 0.055 * nodes:
            axes.text(
                (start + end) / 2, (bottom + top) / 2, name, ha="center", va="center", fontsize=FONT["note"],
                color="white",
            )  # fmt: skip


def _mark_calls(
    axes: Axes, result: Result, types: Mapping[int, JobType], names: Mapping[int, str], first: int, tick: float
) -> None:
    """Triangles over the machine: open for a notice, full for an arrival."""
    low, high = axes.get_xlim()
    for entry in result.entries:
        at = (entry.time - first) / tick
        arrival = entry.event == "submit"
        if types[entry.job_id] is not JobType.ON_DEMAND or not (arrival or entry.event == "notice"):
            continue
        if low <= at <= high:
            color = TYPE_COLORS[JobType.ON_DEMAND]
            axes.plot(
                [at], [1.025], marker="v", markersize=4, color=color, markerfacecolor=color if arrival else "white",
                markeredgewidth=0.8, clip_on=False, transform=axes.get_xaxis_transform(),
            )  # fmt: skip
            axes.annotate(
                names[entry.job_id] if arrival else f"notice {names[entry.job_id]}", (at, 1.05),
                xycoords=axes.get_xaxis_transform(), ha="center", va="bottom", fontsize=FONT["note"], color=color,
            )  # fmt: skip


def _first_fit(free: Iterable[int], count: int, *, from_top: bool) -> list[int]:
    """The first gap that is wide enough, else the first nodes that are free.

    >>> _first_fit([0, 2, 3, 4, 8], 2, from_top=False), _first_fit([0, 2, 8], 2, from_top=True)
    ([2, 3], [2, 8])
    """
    order = sorted(free, reverse=from_top)
    for low, high in _ranges(sorted(free))[:: -1 if from_top else 1]:
        if high - low >= count:
            return list(range(high - count, high) if from_top else range(low, low + count))
    return sorted(order[:count])


def _ranges(nodes: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as half-open ranges.

    >>> _ranges([0, 1, 2, 5])
    [(0, 3), (5, 6)]
    """
    ranges: list[tuple[int, int]] = []
    for node in nodes:
        if ranges and ranges[-1][1] == node:
            ranges[-1] = (ranges[-1][0], node + 1)
        else:
            ranges.append((node, node + 1))
    return ranges
