"""The arguments of the loop of a replay before its first pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.policies.port import TOLERANCE
from holdfast.simulator.resources.life_columns import NEVER, LifeColumns, life_columns
from holdfast.simulator.resources.loop_arguments import (
    Accounts,
    Choice,
    Jobs,
    Lives,
    LoopArguments,
    LoopRecords,
    Needs,
    Nodes,
    Plan,
    Rule,
    Runs,
    WaitingRing,
    Windows,
)
from holdfast.simulator.resources.loop_state import COMING, LEAVING, STATES
from holdfast.simulator.resources.node_order import natural_places
from holdfast.simulator.resources.outage_windows import WindowColumns, window_columns
from holdfast.simulator.resources.preemptions import PAST_RUN
from holdfast.simulator.resources.replay_columns import ReplayColumns
from holdfast.simulator.resources.wait_causes import CAUSES

__all__ = ["loop_arguments"]


def loop_arguments(
    columns: ReplayColumns,
    depth: int,
    placement: int,
    heads: int,
    past: int,
    sequence: Callable[[npt.NDArray[np.int64]], Any],
) -> LoopArguments:
    """The arguments at the beginning of a replay.

    Parameters
    ----------
    columns
        The jobs.
    depth, placement
        Reservations for each partition, and number of the placement.
    heads, past
        Reservations and preempted runs for which there is room.
    sequence
        Makes of each array what the loop takes.
    """
    arrays = _Arrays(sequence)
    order = columns.arrival.tolist()
    count, nodes, resources = len(order), len(columns.nodes.names), len(columns.table.resources)
    partitions, needs = len(columns.table.machine.partitions), len(columns.distinct)
    shut = window_columns(columns.windows, nodes, columns.begin)
    lives = life_columns(columns, order)
    widths = np.array([need.nodes or min(need.tasks, len(need.eligible)) for need in columns.distinct], np.int64)
    widest = np.maximum.reduceat(widths[[need for need, _ in columns.options]], columns.first)
    entries = int(widest.sum()) + past * int(widest.max()) + nodes
    planned = 2 * heads * nodes + nodes
    # There is a pass when a job comes, ends, or is cancelled while it waits, and at each event of a window.
    passes = 2 * count + sum(patience >= 0 for patience in columns.patiences) + len(shut.event_time) + past
    state = np.zeros(STATES, np.int64)
    state[COMING] = sum(columns.preceding[job] < 0 for job in order)
    state[LEAVING] = sum(cancel < NEVER for cancel in lives.cancels)
    rule = Rule(depth, placement, TOLERANCE, int(not columns.queue.static or lives.dependent))
    column, zeros = arrays.column, arrays.zeros
    return LoopArguments(
        rule,
        arrays.nodes(columns),
        arrays.needs(columns),
        arrays.jobs(columns, order),
        Accounts(
            column(columns.limits.first), column([*columns.limits.accounts, 0]), column([*columns.limits.most, 0]),
            zeros(len(columns.limits.most) + 1),
        ),
        arrays.lives(columns, order, lives),
        WaitingRing(
            zeros(count + 1), zeros(count + 1), zeros(count), zeros(count + past), column([-1] * count),
            zeros(count * CAUSES), zeros(partitions), zeros(partitions),
        ),
        Runs(*(zeros(size) for size in (count, count, count, count, entries, entries * resources, *[count] * 4))),
        Plan(
            heads, zeros((heads + 2) * nodes * resources),
            zeros(heads + 1), zeros(heads + 1), zeros(heads + 1), zeros(heads + 1), zeros(heads + 1),
            zeros(2 * heads + 1), zeros(2 * heads + 1), zeros(planned), zeros(planned * resources),
            zeros((2 * heads + 1) * nodes * resources), zeros(heads + 1),
        ),
        Choice(
            zeros(nodes * resources), zeros(nodes * resources), zeros(nodes),
            zeros(nodes + max(map(len, columns.needs))), zeros(nodes * resources), zeros(5),
            *(zeros(size) for size in (needs, needs, needs, 3 * needs, 3 * needs)),
        ),
        arrays.windows(columns, shut),
        LoopRecords(past, zeros(past * PAST_RUN), zeros(passes), zeros(passes * resources), sequence(state)),
    )  # fmt: skip


class _Arrays:
    """Groups of arrays of what a replay is given."""

    def __init__(self, sequence: Callable[[npt.NDArray[np.int64]], Any]) -> None:
        self._sequence = sequence

    def column(self, values: Sequence[int]) -> Any:
        return self._sequence(np.array(values, np.int64))

    def zeros(self, size: int) -> Any:
        return self._sequence(np.zeros(max(size, 1), np.int64))

    def vectors(self, vectors: Sequence[Sequence[int]]) -> Any:
        return self.column(list(chain.from_iterable(vectors)))

    def nodes(self, columns: ReplayColumns) -> Nodes:
        table, nodes = columns.table, columns.nodes
        return Nodes(
            len(nodes.names), len(table.resources), len(table.machine.partitions), self.vectors(nodes.capacities),
            self.column(nodes.weights), self.column(natural_places(nodes.names)),
            self.column(list(map(int, nodes.counts_memory))),
        )  # fmt: skip

    def needs(self, columns: ReplayColumns) -> Needs:
        needs, column, vectors = columns.distinct, self.column, self.vectors
        return Needs(
            len(needs), column([need.partition for need in needs]), column(columns.eligible_first),
            column([len(need.eligible) for need in needs]), column(columns.eligible),
            column([need.nodes for need in needs]), column([need.tasks for need in needs]),
            column([int(need.exclusive) for need in needs]), vectors([need.vector for need in needs]),
            vectors([need.last for need in needs]), vectors([need.base for need in needs]), vectors(columns.wanted),
            vectors([(1, need.least_nodes, *total[:3]) for need, total in zip(needs, columns.wanted, strict=True)]),
        )  # fmt: skip

    def jobs(self, columns: ReplayColumns, order: Sequence[int]) -> Jobs:
        walltimes, runtimes, ranks, first = (
            self.column([values[job] for job in order])
            for values in (columns.walltimes, columns.runtimes, columns.ranks, columns.first)
        )
        return Jobs(
            len(order), walltimes, runtimes, ranks, first,
            self.column([len(columns.needs[job]) for job in order]), self.column([need for need, _ in columns.options]),
        )  # fmt: skip

    def lives(self, columns: ReplayColumns, order: Sequence[int], lives: LifeColumns) -> Lives:
        column = self.column
        begins, earliest, thinks, patiences = (
            column([values[job] for job in order])
            for values in (columns.begins, columns.earliest, columns.thinks, columns.patiences)
        )
        return Lives(
            column(lives.submits), begins, earliest, column(lives.followers), column(lives.next_follower), thinks,
            patiences, column(lives.cancels), column(lives.coming), column(lives.leaving), column([-1] * len(order)),
        )  # fmt: skip

    def windows(self, columns: ReplayColumns, shut: WindowColumns) -> Windows:
        tickets, column = len(shut.tickets), self.column
        admits = [int(place in admitted) for admitted in columns.admits for place in range(tickets)]
        return Windows(
            len(columns.windows), tickets, len(shut.event_time), column([*shut.window, 0]), column(shut.node_first),
            column([*shut.node_window, 0]), column([*admits, 0]), column([*shut.event_time, 0]),
            column([*shut.event_window, 0]), column([*shut.event_kind, 0]),
        )  # fmt: skip
