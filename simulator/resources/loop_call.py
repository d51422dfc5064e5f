"""A call of the loop of a replay, and its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from holdfast.policies.kernels.compiled_or_plain import compiled_loop
from holdfast.simulator.resources.loop_arguments import LoopArguments
from holdfast.simulator.resources.loop_setup import loop_arguments
from holdfast.simulator.resources.loop_state import BLOCKED, CROWDED, DONE, ENDED, FULL, PASSES, PAST, PAUSED
from holdfast.simulator.resources.machine_jobs import JobStart, JobWait
from holdfast.simulator.resources.node_pools import NodePools, PoolRun, pool_nodes
from holdfast.simulator.resources.pass_order import sort_at_each_pass
from holdfast.simulator.resources.preemptions import PAST_RUN
from holdfast.simulator.resources.replay_columns import ReplayColumns
from holdfast.simulator.resources.resource_loop import replay_resources
from holdfast.simulator.resources.wait_causes import (
    BACKFILLED,
    CAUSES,
    LIMITED_UNTIL,
    OTHER,
    PROMISED,
    PROMISED_AT,
    WAITED,
)
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["LoopOutcome", "job_wait", "run_loop"]

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
    columns, pools = pool_nodes(columns, depth, placement)
    past = _PAST if columns.windows else 0
    while True:
        found = _run(columns, pools, depth, placement, heads, past)
        if isinstance(found, LoopOutcome):
            return found
        if found == CROWDED:
            past *= 4
        else:
            heads = min(count, 2 * heads)


def _run(
    columns: ReplayColumns, pools: NodePools, depth: int, placement: int, heads: int, past: int
) -> LoopOutcome | int:
    # 12,000 jobs on 40 GPU nodes, 1.9 million steps, take 39 s in Python, 1 s compiled, and 18 s to compile once; 6,000
    # take 4 s. 20,000 jobs on four pools, 1.8 million, take 36 s, and 0.4 s compiled. Reservations for many jobs take
    # ten times as many steps.
    steps = 2 * len(columns.jobs) * (len(columns.nodes.names) + 40) * (10 if depth > 10 else 1)
    code = compiled_loop(replay_resources, steps)
    run: Any = replay_resources if code is None else code
    given = loop_arguments(columns, depth, placement, heads, past, _list if code is None else np.asarray)
    run(*given)
    state = given.records.state
    if state[ENDED] == PAUSED:
        sort_at_each_pass(columns, lambda: run(*given), given)
    if state[ENDED] in (FULL, CROWDED):
        return int(state[ENDED])
    if state[ENDED] != DONE:
        raise InvariantError(f"job {columns.jobs[columns.arrival[state[BLOCKED]]].job_id} can never start")
    return _outcome(columns, pools, given)


def _list(array: Ints) -> list[int]:
    """What Python reads in half the time that it takes for arrays."""
    found: list[int] = array.tolist()
    return found


def _outcome(columns: ReplayColumns, pools: NodePools, given: LoopArguments) -> LoopOutcome:
    """What the loop has written, by the rows of the jobs."""
    order, machine, resources = columns.arrival.tolist(), columns.table.machine, len(columns.table.resources)
    runs, lives, records, count = given.runs, given.lives, given.records, len(columns.jobs)
    passes = int(records.state[PASSES])
    moments = np.asarray(records.instants, np.int64)[:passes]
    amounts = np.asarray(records.stranded, np.int64)[: passes * resources].reshape(passes, resources)
    noted = np.asarray(given.queue.causes, np.int64).reshape(-1, CAUSES).tolist()
    starts, option_of, first_of, size_of, ends, stopped, gone, submits, arrivals = (
        np.asarray(values).tolist()
        for values in (
            *(runs.starts, runs.option, runs.first, runs.size, runs.ends, given.queue.stopped),
            *(lives.gone, lives.submits, lives.arrivals),
        )
    )
    taken = np.asarray(runs.amount, np.int64).reshape(-1, resources)
    taken[:, 1] *= np.asarray(columns.nodes.counts_memory)[np.asarray(runs.node, np.int64)]
    holders = np.asarray(columns.nodes.places)[np.asarray(runs.node, np.int64)]
    former = np.asarray(records.past, np.int64)[: int(records.state[PAST]) * PAST_RUN].reshape(-1, PAST_RUN).tolist()
    # Nodes are written down in the order of starts.
    firsts = [first for first, size in zip(first_of, size_of, strict=True) if size]
    firsts = sorted(firsts + [run[3] for run in former])
    turn = {first: place for place, first in enumerate(firsts)}
    partition_of = [columns.distinct[need].partition for need, _ in columns.options]
    cores = taken[:, 0].tolist()
    pooled = sorted(
        (first, PoolRun(starts[place], ends[place], partition_of[option], cores[first]))
        for place, (first, size, option) in enumerate(zip(first_of, size_of, option_of, strict=True))
        if size and partition_of[option] in pools
    )
    in_pools = [run for _, run in pooled]
    nodes_of = {
        first: (nodes, pools.amounts(run)) for (first, run), nodes in zip(pooled, pools.nodes(in_pools), strict=True)
    }

    def job_nodes(first: int, size: int) -> tuple[Sequence[int], tuple[tuple[int, ...], ...]]:
        return nodes_of.get(first) or (
            tuple(holders[first : first + size].tolist()),
            tuple(map(tuple, taken[first : first + size].tolist())),
        )

    def job_start(place: int, begun: int, over: int, first: int, size: int, option: int) -> JobStart:
        return JobStart(
            begun,
            over,
            machine.partitions[partition_of[option]].name,
            *job_nodes(first, size),
            None if stopped[place] < 0 else columns.limits.limits[stopped[place]],
            job_wait(columns, order, noted[place]),
            turn[first],
            backfilled=bool(noted[place][BACKFILLED]),
        )

    found: list[JobStart | None] = [None] * count
    submitted, queued, withdrawn = [0] * count, [0] * count, cast("list[int | None]", [None] * count)
    for place, job in enumerate(order):
        submitted[job], queued[job] = submits[place], arrivals[place]
        if gone[place] >= 0:
            withdrawn[job] = gone[place]
        if size_of[place]:
            found[job] = job_start(place, starts[place], ends[place], first_of[place], size_of[place], option_of[place])
    past = [(order[run[0]], job_start(*run)) for run in former]
    return LoopOutcome(found, submitted, queued, withdrawn, past, moments, amounts)


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
