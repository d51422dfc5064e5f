"""Windows on named nodes: which nodes they close to a job, now and over the walltime of a start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from holdfast.policies.port import TOLERANCE
from holdfast.simulator.resources.outage_windows import NodeWindow
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.workloads.outages.outage import OutageKind

__all__ = ["NodeClosures"]

Ints = npt.NDArray[np.int64]
_NONE: frozenset[int] = frozenset()


class NodeClosures:
    """The windows of a simulation.

    Parameters
    ----------
    windows
        All windows, with ticks of the simulated clock.

    Attributes
    ----------
    windows
        As given.
    """

    def __init__(self, windows: Sequence[NodeWindow] = ()) -> None:
        self.windows = windows
        self._nodes = {item.number: frozenset(item.nodes) for item in windows}
        #: Windows that are known and not over, and those that have begun.
        self._known: list[NodeWindow] = []
        self._active: list[NodeWindow] = []

    @property
    def exist(self) -> bool:
        """Whether there are any."""
        return bool(self.windows)

    def announce(self, window: NodeWindow) -> None:
        """From now on a window is known."""
        if window not in self._known:
            self._known.append(window)

    def begin(self, window: NodeWindow) -> None:
        """Close the nodes of a window."""
        self.announce(window)
        self._active.append(window)

    def end(self, window: NodeWindow) -> None:
        """Open the nodes of a window."""
        self._known.remove(window)
        self._active.remove(window)

    def ends(self) -> list[tuple[int, tuple[int, ...]]]:
        """The ends of the known windows [ticks], and their nodes."""
        return [(item.end, item.nodes) for item in self._known]

    def closed_nodes(self, job: SharedJob, begin: int, end: int) -> frozenset[int]:
        """Nodes that a known window closes to a job at some time from ``begin`` to ``end`` [ticks]."""
        found = _NONE
        for item in self._known:
            if item.start + TOLERANCE < end and begin < item.end and not admits(item, job):
                found |= self._nodes[item.number]
        return found

    def closures_at(self, job: SharedJob, time: int) -> frozenset[int]:
        """Nodes that a known window closes to a job at a later time [ticks], or a tick after it."""
        found = _NONE
        for item in self._known:
            if item.start <= time + TOLERANCE and time < item.end and not admits(item, job):
                found |= self._nodes[item.number]
        return found

    def closed_now(self, job: SharedJob) -> frozenset[int]:
        """Nodes that are closed to a job now."""
        return _NONE.union(*(self._nodes[item.number] for item in self._active if not admits(item, job)))

    def closes(self, job: SharedJob, node: int) -> bool:
        """Whether a node is closed to a job now."""
        return any(node in self._nodes[item.number] and not admits(item, job) for item in self._active)

    def room(self, free: Ints, closed: frozenset[int]) -> Ints:
        """Free amounts of all nodes, shape (nodes, resources), with nothing free on the closed ones."""
        if not closed:
            return free
        left = free.copy()
        left[list(closed)] = 0
        return left

    def idle_amounts(self, free: Ints, capacities: Ints, *, whole: bool) -> tuple[int, int]:
        """Idle nodes (``whole``) or cores among the closed nodes: of those that are down, and of the reserved ones."""
        down, reserved = _NONE, _NONE
        for item in self._active:
            if item.outage.kind is OutageKind.RESERVATION:
                reserved |= self._nodes[item.number]
            else:
                down |= self._nodes[item.number]

        def amount(nodes: frozenset[int]) -> int:
            if whole:
                return sum(bool(free[node, 0] == capacities[node, 0]) for node in nodes)
            return int(free[list(nodes), 0].sum())

        return amount(down), amount(reserved - down)


def admits(window: NodeWindow, job: SharedJob) -> bool:
    """Whether a job may use the nodes of a window: those of an advance reservation."""
    outage = window.outage
    return (
        job.job_id in outage.jobs
        or (bool(job.state.user) and job.state.user in outage.users)
        or (bool(job.account) and job.account in outage.projects)
    )
