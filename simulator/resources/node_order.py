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
    resources = nodes.resources
    weights = nodes.weights
    least = choice.least
    fitting = choice.fitting
    gap = 1
    while gap < fits // 3:
        gap = 3 * gap + 1
    if only == 1:
        best = 0
        for spot in range(1, fits):
            node = fitting[spot]
            other = fitting[best]
            if weights[node] < weights[other] or (
                weights[node] == weights[other]
                and (
                    sign * least[node * resources] < sign * least[other * resources]
                    or (least[node * resources] == least[other * resources] and node < other)
                )
            ):
                best = spot
        node = fitting[0]
        fitting[0] = fitting[best]
        fitting[best] = node
        gap = 0
    while gap > 0:
        for spot in range(gap, fits):
            node = fitting[spot]
            at = spot
            while at >= gap:
                other = fitting[at - gap]
                if weights[node] < weights[other] or (
                    weights[node] == weights[other]
                    and (
                        sign * least[node * resources] < sign * least[other * resources]
                        or (least[node * resources] == least[other * resources] and node < other)
                    )
                ):
                    fitting[at] = other
                    at -= gap
                else:
                    break
            fitting[at] = node
        gap //= 3


def order_in_runs(fits: Any, wanted: Any, tasks: Any, nodes: Nodes, choice: Choice) -> None:
    """Sort the first ``fits`` nodes into the order of the placement ``slurm``."""
    resources = nodes.resources
    weights = nodes.weights
    by_name = nodes.by_name
    least = choice.least
    load = choice.load
    fitting = choice.fitting
    # By weight, then by name; then run after run of nodes that follow each other by name.
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
    done = 0
    got = 0
    goal = wanted
    if tasks > 0:
        goal = tasks
    while done < fits:
        # The run that suffices with the fewest free cores, else the largest, among those of the lowest weight.
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
                if tasks > 0:
                    takes += load[fitting[end] * resources]
                else:
                    takes += 1
                cores += least[fitting[end] * resources]
                end += 1
            better = 0
            if best < 0:
                better = 1
            elif takes >= goal - got:
                if best_takes < goal - got or cores < best_cores:
                    better = 1
            elif best_takes < goal - got and takes > best_takes:
                better = 1
            if better == 1:
                best = begin
                best_end = end
                best_takes = takes
                best_cores = cores
            begin = end
        # It goes to the front, the others keep their order; within it, the fewest free cores first.
        size = best_end - best
        for spot in range(best, best_end):
            node = fitting[spot]
            at = spot
            while at > done + spot - best:
                fitting[at] = fitting[at - 1]
                at -= 1
            fitting[at] = node
        for spot in range(done + 1, done + size):
            node = fitting[spot]
            at = spot
            while at > done and least[fitting[at - 1] * resources] > least[node * resources]:
                fitting[at] = fitting[at - 1]
                at -= 1
            fitting[at] = node
        done += size
        got += best_takes
