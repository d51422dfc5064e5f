"""Tests of whether a window closes a node to a job, or ends a run; advance reservations admit their own jobs.

Loops over whole numbers, which run compiled or as plain Python. A window has :data:`WINDOW` places in ``window``; those
of a node, from ``node_first`` on, are ``node_window``.
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.loop_arguments import Runs, Windows

__all__ = [
    "ANNOUNCE",
    "BEGIN",
    "END",
    "EVENTS",
    "FAILS",
    "MODE",
    "PREEMPTS",
    "STANDING",
    "TICKET",
    "UNTIL",
    "WAITS",
    "WINDOW",
    "is_closed",
    "is_hit",
]

#: Places of a window: its begin is the first; its end; whether it is unknown (0), known (1) or over (2); the number of
#: its advance reservation (-1: none); what becomes of running jobs.
UNTIL, STANDING, TICKET, MODE, WINDOW = 1, 2, 3, 4, 5
#: Running jobs are preempted, unless their walltime ends just then; go on; or are all preempted: a failure.
PREEMPTS, WAITS, FAILS = range(3)
#: What happens to a window, in this order within an instant.
END, ANNOUNCE, BEGIN, EVENTS = range(4)


def is_closed(node: Any, need: Any, begin: Any, end: Any, tolerance: Any, windows: Windows) -> Any:
    """Whether a known window keeps a need off a node at some time from ``begin`` to ``end``."""
    _, tickets, _, window, node_first, node_window, admits, _, _, _ = windows
    for spot in range(node_first[node], node_first[node + 1]):
        at = node_window[spot] * WINDOW
        if window[at + STANDING] == 1 and window[at] + tolerance < end and window[at + UNTIL] > begin:
            ticket = window[at + TICKET]
            if ticket < 0 or admits[need * tickets + ticket] == 0:
                return 1
    return 0


def is_hit(number: Any, job: Any, need: Any, tolerance: Any, windows: Windows, runs: Runs) -> Any:
    """Whether a run is preempted as a window begins."""
    _, tickets, _, window, node_first, node_window, admits, _, _, _ = windows
    at = number * WINDOW
    mode = window[at + MODE]
    ticket = window[at + TICKET]
    if mode == WAITS or (mode == PREEMPTS and runs.limits[job] <= window[at] + tolerance):
        return 0
    if ticket >= 0 and admits[need * tickets + ticket] == 1:
        return 0
    for entry in range(runs.first[job], runs.first[job] + runs.size[job]):
        node = runs.node[entry]
        for spot in range(node_first[node], node_first[node + 1]):
            if node_window[spot] == number:
                return 1
    return 0
