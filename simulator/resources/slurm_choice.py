"""The nodes that select/cons_tres of Slurm 22.05 chooses for a job among those with room for it.

Nodes are numbered by name. Source: ``_eval_nodes`` and ``_eval_nodes_busy`` of Slurm 22.05, which count the free cores
of each node, also those that the job does not ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["Room", "choose_nodes", "room_on", "share_job", "suffices", "usual_nodes"]

Vector = Sequence[int]


class Room(NamedTuple):
    """Room of a node for a job.

    Attributes
    ----------
    tasks
        Tasks that fit; 1 if the number of nodes is fixed.
    cores
        Free cores, as far as memory that goes with cores suffices for them, in whole tasks; for a job with GPUs no more
        than it needs.
    full
        Whether the node has room for as many tasks as any node of the job; if not, only for those of the last one.
    """

    tasks: int
    cores: int
    full: bool = True


def room_on(need: Need, free: Vector, capacity: Vector) -> Room | None:
    """Room of a node for a job; None: it has none.

    Parameters
    ----------
    need
        What the job needs.
    free, capacity
        Resources of the node.
    """
    if need.exclusive and (free[0] != capacity[0] or capacity[0] * need.memory_per_core > capacity[1]):
        return None
    cores = free[0]
    if need.memory_per_core:
        cores = min(cores, free[1] // need.memory_per_core)
    cores -= cores % need.task_cores
    if need.vector[2] and not need.tasks:
        cores = min(cores, need.vector[0])
    if need.tasks:
        tasks = need.tasks
        for have, base, one in zip(free, need.base, need.vector, strict=True):
            if have < base:
                return None
            if one:
                tasks = min(tasks, (have - base) // one)
        return Room(tasks, cores) if tasks else None
    if all(have >= amount for have, amount in zip(free, need.vector, strict=True)):
        return Room(1, cores)
    if all(have >= amount for have, amount in zip(free, need.last, strict=True)):
        return Room(1, cores, False)
    return None


def suffices(need: Need, rooms: Sequence[Room]) -> bool:
    """Whether nodes with this room hold a job."""
    if need.tasks:
        return sum(room.tasks for room in rooms) >= need.tasks
    return len(rooms) >= need.nodes and sum(room.full for room in rooms) >= need.nodes - 1


def choose_nodes(need: Need, rooms: dict[int, Room], weights: Sequence[int]) -> list[int]:
    """Nodes for a job that starts: run after run of nodes that follow each other by name.

    Parameters
    ----------
    need
        What the job needs.
    rooms
        Room of each node that has any; together they suffice.
    weights
        Weight of each node.

    Returns
    -------
    list of int
        Of the lowest weight first, the run that suffices with the fewest cores, or one with more that does not suffice;
        if none does, the one with the most. For one node more, the node with the fewest cores that suffices; otherwise
        nodes by name.
    """
    left = _candidates(need, rooms)
    runs = _runs(left, weights)
    missing = _Missing(need)
    chosen: list[int] = []
    while runs:
        run = runs.pop(_best_run(runs, rooms, weights, missing))
        alone = [node for node in run if rooms[node].cores >= missing.cores]
        if missing.nodes <= 1 and alone:
            run = [min(alone, key=lambda node: rooms[node].cores)]
        for node in run:
            chosen.append(node)
            missing.take(rooms[node].cores)
            if suffices(need, [rooms[other] for other in chosen]):
                return chosen
    return chosen


def usual_nodes(
    need: Need, rooms: dict[int, Room], weights: Sequence[int], is_busy: Callable[[int], bool], *, more: bool = True
) -> list[int]:
    """Nodes for a job that is planned: by weight those in use, then idle ones, each by name.

    Parameters
    ----------
    need, rooms, weights
        As in :func:`choose_nodes`.
    is_busy
        Whether a node is in use now.
    more
        Whether one more idle node of the weight is reserved where nodes in use suffice, as in Slurm 22.05.
    """
    candidates = _candidates(need, rooms)
    chosen: list[int] = []
    for weight in sorted({weights[node] for node in candidates}):
        enough = False
        for busy in (True, False):
            for node in candidates:
                if weights[node] != weight or is_busy(node) != busy:
                    continue
                if enough and not more:
                    break
                chosen.append(node)
                enough = suffices(need, [rooms[node] for node in chosen])
                if enough:
                    break
        if enough:
            break
    return chosen


def share_job(need: Need, rooms: dict[int, Room], nodes: Sequence[int], capacities: Sequence[Vector]) -> list[Vector]:
    """What a job takes of each of its nodes."""
    if need.exclusive:
        return [tuple(capacities[node]) for node in nodes]
    if need.tasks:
        left = need.tasks
        taken: list[Vector] = []
        for node in nodes:
            tasks = min(left, rooms[node].tasks)
            left -= tasks
            taken.append(tuple(tasks * one + base for one, base in zip(need.vector, need.base, strict=True)))
        return taken
    last = next((node for node in nodes if not rooms[node].full), nodes[-1])
    return [need.last if node == last else need.vector for node in nodes]


def _candidates(need: Need, rooms: dict[int, Room]) -> list[int]:
    """Nodes by name; those with room for the last tasks alone are left out where the others suffice."""
    full = [node for node in sorted(rooms) if rooms[node].full]
    return full if suffices(need, [rooms[node] for node in full]) else sorted(rooms)


class _Missing:
    """Nodes and cores that a job still needs."""

    def __init__(self, need: Need) -> None:
        self.nodes = need.nodes or 1
        self.cores = need.total[0]

    def take(self, cores: int) -> None:
        """Take cores of a node; each node after it has at least one."""
        self.cores -= min(cores, max(self.cores - max(self.nodes - 1, 0), 1))
        self.nodes -= 1


def _best_run(runs: Sequence[Sequence[int]], rooms: dict[int, Room], weights: Sequence[int], missing: _Missing) -> int:
    """Place of the run from which Slurm takes nodes next."""
    best, best_weight, best_cores, best_suffices = -1, 0, 0, False
    for place, run in enumerate(runs):
        weight, cores = weights[run[0]], sum(rooms[node].cores for node in run)
        enough = cores >= missing.cores and len(run) >= missing.nodes
        if best < 0 or weight < best_weight:
            better = True
        elif weight == best_weight:
            # A run that does not suffice replaces one that does, if it has more cores: it has too few nodes.
            better = (enough and (not best_suffices or cores < best_cores)) or (not enough and cores > best_cores)
        else:
            better = False
        if better:
            best, best_weight, best_cores, best_suffices = place, weight, cores, enough
    return best


def _runs(nodes: Sequence[int], weights: Sequence[int]) -> list[list[int]]:
    """Runs of nodes of equal weight that follow each other."""
    runs: list[list[int]] = []
    for node in nodes:
        if runs and runs[-1][-1] + 1 == node and weights[runs[-1][-1]] == weights[node]:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs
