"""A call of the loop of a replay."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.policies.kernels.compiled_or_plain import compiled_loop
from holdfast.simulator.resources.loop_outcome import LoopOutcome, loop_outcome
from holdfast.simulator.resources.loop_setup import loop_arguments
from holdfast.simulator.resources.loop_state import BLOCKED, CROWDED, DONE, ENDED, FULL, PAUSED
from holdfast.simulator.resources.node_pools import NodePools, pool_nodes
from holdfast.simulator.resources.pass_order import sort_at_each_pass
from holdfast.simulator.resources.replay_columns import ReplayColumns
from holdfast.simulator.resources.resource_loop import replay_resources
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["run_loop"]

Ints = npt.NDArray[np.int64]

#: Reservations at once for which there is room at first; doubled where there is not.
_HEADS = 256
#: Preempted runs for which there is room at first.
_PAST = 64


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
    return loop_outcome(columns, pools, given)


def _list(array: Ints) -> list[int]:
    """What Python reads in half the time that it takes for arrays."""
    found: list[int] = array.tolist()
    return found
