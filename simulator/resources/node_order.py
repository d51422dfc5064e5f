"""The order in which nodes that fit are taken: by free cores, or run after run of nodes that follow each other by name.

All but the places of names are loops over whole numbers, which run compiled or as plain Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from holdfast.simulator.resources.loop_arguments import Choice, Nodes

__all__ = ["natural_places", "order_by_cores", "order_in_runs"]


def natural_places(names: Sequence[str]) -> list[int]:
    """The place of each name where Slurm sorts them: ``n2`` stands before ``n10``."""

    def key(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split("([0-9]+)", name)]

    places = [0] * len(names)
    for place, node in enumerate(sorted(range(len(names)), key=lambda node: key(names[node]))):
        places[node] = place
    return places


def order_by_cores(fits: Any, only: Any, sign: Any, nodes: Nodes, choice: Choice) -> None:
    """Sort the first ``fits`` nodes by weight, then by ``sign`` times free cores, then by number.

    With ``only`` just the first of them comes to its place.
    """
    fitting = choice.fitting
    if only == 1:
        best = 0
        for spot in range(1, fits):
            if goes_first(fitting[spot], fitting[best], sign, nodes, choice) == 1:
                best = spot
        node = fitting[0]
        fitting[0] = fitting[best]
        fitting[best] = node
        return
    gap = 1
    while gap < fits // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for spot in range(gap, fits):
            node = fitting[spot]
            at = spot
            while at >= gap and goes_first(node, fitting[at - gap], sign, nodes, choice) == 1:
                fitting[at] = fitting[at - gap]
                at -= gap
            fitting[at] = node
        gap //= 3


def goes_first(node: Any, other: Any, sign: Any, nodes: Nodes, choice: Choice) -> Any:
    """Whether a node goes before another: by weight, then by ``sign`` times free cores, then by number."""
    if nodes.weights[node] != nodes.weights[other]:
        return 1 if nodes.weights[node] < nodes.weights[other] else 0
    cores = sign * choice.least[node * nodes.resources]
    others = sign * choice.least[other * nodes.resources]
    if cores != others:
        return 1 if cores < others else 0
    return 1 if node < other else 0


def order_in_runs(fits: Any, wanted: Any, tasks: Any, nodes: Nodes, choice: Choice) -> None:
    """Sort the first ``fits`` nodes into the order of the placement ``slurm``.

    By weight; within a weight, run after run of nodes that follow each other by name; within a run, the fewest free
    cores first.
    """
    order_by_name(fits, nodes, choice)
    left = tasks if tasks > 0 else wanted
    done = 0
    while done < fits:
        begin, end, takes = best_run(done, fits, left, tasks, nodes, choice)
        move_to(done, begin, end, choice.fitting)
        done += end - begin
        order_run(done - end + begin, done, nodes, choice)
        left -= takes


def order_by_name(fits: Any, nodes: Nodes, choice: Choice) -> None:
    """Sort the first ``fits`` nodes by weight, then by name."""
    weights, by_name, fitting = nodes.weights, nodes.by_name, choice.fitting
    for spot in range(1, fits):
        node = fitting[spot]
        at = spot
        while at > 0 and (
            weights[fitting[at - 1]] > weights[node]
            or (weights[fitting[at - 1]] == weights[node] and by_name[fitting[at - 1]] > by_name[node])
        ):
            fitting[at] = fitting[at - 1]
            at -= 1
        fitting[at] = node


def best_run(done: Any, fits: Any, left: Any, tasks: Any, nodes: Nodes, choice: Choice) -> Any:
    """The run that suffices for what is left with the fewest free cores, else the largest, among the lowest weight.

    Returns its begin and end in the nodes that fit, of which the first ``done`` are taken, and how many nodes or tasks
    it takes.
    """
    fitting, weights, by_name, resources = choice.fitting, nodes.weights, nodes.by_name, nodes.resources
    weight = weights[fitting[done]]
    best = -1
    best_end = 0
    best_takes = 0
    best_cores = 0
    begin = done
    while begin < fits and weights[fitting[begin]] == weight:
        end = begin
        takes = 0
        cores = 0
        while (
            end < fits
            and weights[fitting[end]] == weight
            and (end == begin or by_name[fitting[end]] == by_name[fitting[end - 1]] + 1)
        ):
            takes += choice.load[fitting[end] * resources] if tasks > 0 else 1
            cores += choice.least[fitting[end] * resources]
            end += 1
        better = best < 0
        if takes >= left:
            better = better or best_takes < left or cores < best_cores
        else:
            better = better or (best_takes < left and takes > best_takes)
        if better:
            best = begin
            best_end = end
            best_takes = takes
            best_cores = cores
        begin = end
    return best, best_end, best_takes


def move_to(place: Any, begin: Any, end: Any, fitting: Any) -> None:
    """Move the nodes from ``begin`` to before ``end`` forward to a place; those that they pass keep their order."""
    for spot in range(begin, end):
        node = fitting[spot]
        at = spot
        while at > place + spot - begin:
            fitting[at] = fitting[at - 1]
            at -= 1
        fitting[at] = node


def order_run(begin: Any, end: Any, nodes: Nodes, choice: Choice) -> None:
    """Sort the nodes from ``begin`` to before ``end`` by free cores, the fewest first."""
    fitting, least, resources = choice.fitting, choice.least, nodes.resources
    for spot in range(begin + 1, end):
        node = fitting[spot]
        at = spot
        while at > begin and least[fitting[at - 1] * resources] > least[node * resources]:
            fitting[at] = fitting[at - 1]
            at -= 1
        fitting[at] = node
