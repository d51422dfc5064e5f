"""A call of the loop of a replay: its buffers and its results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from holdfast.policies.kernels.compiled_or_plain import compiled_loop
from holdfast.policies.port import TOLERANCE
from holdfast.simulator.resources import resource_loop
from holdfast.simulator.resources.life_columns import NEVER, life_columns
from holdfast.simulator.resources.loop_state import (
    BLOCKED,
    COMING,
    CROWDED,
    DONE,
    ENDED,
    FULL,
    LEAVING,
    PASSES,
    PAST,
    PAUSED,
    STATES,
)  # fmt: skip
from holdfast.simulator.resources.machine_jobs import JobStart, JobWait
from holdfast.simulator.resources.outage_windows import window_columns
from holdfast.simulator.resources.pass_order import MovingTimes, sort_at_each_pass
from holdfast.simulator.resources.preemptions import PAST_RUN
from holdfast.simulator.resources.replay_columns import ReplayColumns
from holdfast.simulator.resources.wait_causes import CAUSES, LIMITED_UNTIL, OTHER, PROMISED, PROMISED_AT, WAITED
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["LoopOutcome", "job_wait", "natural_places", "run_loop"]

Ints = npt.NDArray[np.int64]

#: Reservations at once for which there is room at first; doubled where there is not.
_HEADS = 256
#: Preempted runs for which there is room at first.
_PAST = 64


class LoopOutcome(NamedTuple):
    """What a replay found for each job and each pass.

    Attributes
    ----------
    starts
        Where and when each job ran; None: it did not.
    submits, queued
        When each job was submitted, and began to wait [ticks]; of a job that never came, as given.
    gone
        When a job was cancelled before it started [ticks]; None: it was not.
    past
        Runs that an outage ended, with the row of the job, in the order of their ends.
    instants, stranded
        Ticks of each pass, and the amounts that were stranded from it on, shape (passes, resources).
    """

    starts: list[JobStart | None]
    submits: list[int]
    queued: list[int]
    gone: list[int | None]
    past: list[tuple[int, JobStart]]
    instants: Ints
    stranded: Ints


def run_loop(columns: ReplayColumns, depth: int, placement: int) -> LoopOutcome:
    """Replay jobs.

    Parameters
    ----------
    columns
        The jobs.
    depth
        Reservations for each partition.
    placement
        Number of the placement.
    """
    count, partitions = len(columns.jobs), len(columns.table.machine.partitions)
    heads = min(count, partitions * depth, max(_HEADS, partitions)) if depth else 1
    past = _PAST if columns.windows else 0
    while True:
        found = _run(columns, depth, placement, heads, past)
        if isinstance(found, LoopOutcome):
            return found
        if found == CROWDED:
            past *= 4
        else:
            heads = min(count, 2 * heads)


def _run(columns: ReplayColumns, depth: int, placement: int, heads: int, past: int) -> LoopOutcome | int:
    table, count, order = columns.table, len(columns.jobs), columns.arrival.tolist()
    nodes, resources = table.machine.size, len(table.resources)
    width = nodes * resources
    widest = [max(need.nodes or min(need.tasks, len(need.eligible)) for need in options) for options in columns.needs]
    entries = sum(widest) + past * max(widest)
    shut = window_columns(columns.windows, nodes, columns.begin)
    # Of wagap-2013, 1.4 million: 25 s in Python, 0.5 s compiled, and 18 s to compile.
    # With reservations for many jobs ten times as many.
    steps = count * (nodes + 10) * (10 if depth > 10 else 1)
    code = compiled_loop(resource_loop.replay_resources, steps, resource_loop.KINDS)
    run: Any = resource_loop.replay_resources if code is None else code

    def sequence(array: Ints) -> Any:
        # Python reads lists in half the time that it takes for arrays.
        return array.tolist() if code is None else array

    def column(values: Sequence[int]) -> Any:
        return sequence(np.array(values, np.int64))

    def room(size: int) -> Any:
        return sequence(np.zeros(max(size, 1), np.int64))

    def flat(vectors: Sequence[Sequence[int]]) -> Any:
        return column([amount for vector in vectors for amount in vector])

    options = [len(columns.needs[job]) for job in order]
    starts, option_of, taken_first, taken_count = (room(count) for _ in range(4))
    taken_node, taken_amount, stopped = (
        room(entries + nodes),
        room((entries + nodes) * resources),
        column([-1] * count),
    )
    # There is a pass when a job comes, ends, or is cancelled while it waits, and at each event of a window.
    most = 2 * count + sum(patience >= 0 for patience in columns.patiences) + len(shut.event_time) + past
    instants, stranded, state = room(most), room(most * resources), room(STATES)
    after, before, causes = room(count + 1), room(count + 1), room(count * CAUSES)
    times = columns.walltimes, columns.runtimes, columns.ranks
    lives = life_columns(columns, order)
    submits, cancels, coming, leaving = (
        column(values) for values in (lives.submits, lives.cancels, lives.coming, lives.leaving)
    )
    state[COMING] = sum(columns.preceding[job] < 0 for job in order)
    state[LEAVING] = sum(cancel < NEVER for cancel in lives.cancels)
    arrivals, ends, gone, arrived = (
        column([columns.begins[job] for job in order]),
        room(count),
        column([-1] * count),
        room(count + past),
    )
    preempted = room(past * PAST_RUN)
    needs = columns.distinct
    ceiling = max(options)
    arguments = (
        count, nodes, resources, len(table.machine.partitions), len(needs), depth, placement, TOLERANCE, heads,
        int(not columns.queue.static or lives.dependent),
        len(columns.windows), len(shut.tickets), len(shut.event_time), past,
        arrivals, *(column([values[job] for job in order]) for values in times),
        column([columns.first[job] for job in order]), column(options),
        column([need for need, _ in columns.options]), column(columns.account_first), column([*columns.accounts, 0]),
        column([need.partition for need in needs]), column(columns.eligible_first),
        column([len(need.eligible) for need in needs]), column([need.nodes for need in needs]),
        column([need.tasks for need in needs]), column([int(need.exclusive) for need in needs]),
        flat([need.vector for need in needs]), flat([need.last for need in needs]),
        flat([need.base for need in needs]), flat([(1, need.least_nodes, *need.total[:3]) for need in needs]),
        column(columns.eligible),
        flat(table.capacities), column(table.weights), column(natural_places(table.machine.names)),
        column(list(map(int, table.counts_memory))),
        column([*columns.most, 0]), room(len(columns.most) + 1),
        starts, option_of, taken_first, taken_count, taken_node, taken_amount, stopped, instants, stranded,
        after, before, room(count + 1), room(count + 1), ends, room(count),
        room((heads + 2) * width), room(heads + 1), room(heads + 1), room(2 * heads + 1), room(2 * heads + 1),
        room(2 * heads * nodes + nodes), room((2 * heads * nodes + nodes) * resources), room(heads + 1),
        room(heads + 1), room(len(table.machine.partitions)), room(len(needs)), room(len(needs)),
        room(len(needs)), room(width), room(width), room(nodes), room(nodes + ceiling), room(nodes * resources),
        room((2 * heads + 1) * width), room(heads + 1), room(3 * len(needs)), room(3 * len(needs)), room(5),
        room(len(table.machine.partitions)), causes,
        column(lives.followers), column(lives.next_follower), column([columns.thinks[job] for job in order]),
        submits, column([columns.earliest[job] for job in order]), column([columns.patiences[job] for job in order]),
        cancels, coming, leaving, gone, room(count), arrived,
        column([*shut.window, 0]), column(shut.node_first), column([*shut.node_window, 0]),
        column([int(place in admits) for admits in columns.admits for place in range(len(shut.tickets))] + [0]),
        column([*shut.event_time, 0]), column([*shut.event_window, 0]), column([*shut.event_kind, 0]), preempted, state,
    )  # fmt: skip
    run(*arguments)
    if state[ENDED] == PAUSED:
        moving = MovingTimes(submits, arrivals, ends, gone, arrived, preempted)
        sort_at_each_pass(columns, lambda: run(*arguments), order, after, before, taken_count, moving, state)
    if state[ENDED] in (FULL, CROWDED):
        return int(state[ENDED])
    if state[ENDED] != DONE:
        raise InvariantError(f"job {columns.jobs[order[state[BLOCKED]]].job_id} can never start")
    passes = int(state[PASSES])
    moments = np.asarray(instants, np.int64)[:passes]
    amounts = np.asarray(stranded, np.int64)[: passes * resources].reshape(passes, resources)
    found: list[JobStart | None] = [None] * count
    machine = table.machine
    noted = np.asarray(causes, np.int64).reshape(-1, CAUSES).tolist()
    starts, option_of, taken_first, taken_count, stopped, ended, left, came, waited = (
        np.asarray(values).tolist()
        for values in (starts, option_of, taken_first, taken_count, stopped, ends, gone, submits, arrivals)
    )
    taken = np.asarray(taken_amount, np.int64).reshape(-1, resources)
    holders = np.asarray(taken_node, np.int64)
    former = np.asarray(preempted, np.int64)[: int(state[PAST]) * PAST_RUN].reshape(-1, PAST_RUN).tolist()
    # Nodes are written down in the order of starts.
    firsts = [first for first, size in zip(taken_first, taken_count, strict=True) if size]
    firsts = sorted(firsts + [run[3] for run in former])
    turn = {first: place for place, first in enumerate(firsts)}

    def ran(place: int, begun: int, over: int, first: int, size: int, option: int) -> JobStart:
        return JobStart(
            begun,
            over,
            machine.partitions[needs[columns.options[option][0]].partition].name,
            tuple(holders[first : first + size].tolist()),
            tuple(map(tuple, taken[first : first + size].tolist())),
            None if stopped[place] < 0 else columns.limits[stopped[place]],
            job_wait(columns, order, noted[place]),
            turn[first],
        )

    submitted, queued, withdrawn = [0] * count, [0] * count, cast("list[int | None]", [None] * count)
    for place, job in enumerate(order):
        submitted[job], queued[job] = came[place], waited[place]
        if left[place] >= 0:
            withdrawn[job] = left[place]
        if not taken_count[place]:
            continue
        found[job] = ran(place, starts[place], ended[place], taken_first[place], taken_count[place], option_of[place])
    runs = [(order[run[0]], ran(*run)) for run in former]
    return LoopOutcome(found, submitted, queued, withdrawn, runs, moments, amounts)


def job_wait(columns: ReplayColumns, order: Sequence[int], noted: list[int]) -> JobWait:
    """What a job waited for (:mod:`holdfast.simulator.resources.wait_causes`); ``order`` numbers the jobs."""
    limit, nodes, reservation = noted[WAITED : WAITED + 3]
    promised = noted[PROMISED] >= 0
    return JobWait(
        limit,
        nodes,
        reservation,
        noted[LIMITED_UNTIL] if limit else None,
        columns.jobs[order[noted[OTHER]]].job_id if noted[OTHER] >= 0 else None,
        noted[PROMISED] if promised else None,
        noted[PROMISED_AT] if promised else None,
    )


def natural_places(names: Sequence[str]) -> list[int]:
    """The place of each name where Slurm sorts them: ``n2`` stands before ``n10``."""

    def key(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split("([0-9]+)", name)]

    places = [0] * len(names)
    for place, node in enumerate(sorted(range(len(names)), key=lambda node: key(names[node]))):
        places[node] = place
    return places
