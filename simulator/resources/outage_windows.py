"""Outages of a machine of named nodes as windows of a replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.window_checks import ANNOUNCE, BEGIN, END, FAILS, PREEMPTS, WAITS
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.outages.places import outage_places

__all__ = ["NodeWindow", "WindowColumns", "node_windows", "window_columns"]


class NodeWindow(NamedTuple):
    """An outage on named nodes.

    Attributes
    ----------
    outage
        The outage.
    number
        Its number, from 1.
    nodes
        Places of its nodes on the machine, ascending.
    start, end, known
        Its span, and when it is known [ticks of the clock of submits].
    """

    outage: Outage
    number: int
    nodes: tuple[int, ...]
    start: int
    end: int
    known: int

    @property
    def mode(self) -> int:
        """What becomes of running jobs."""
        if self.outage.kind is OutageKind.FAILURE:
            return FAILS
        return WAITS if self.outage.running == "wait" else PREEMPTS

    def admits(self, job: MachineJob) -> bool:
        """Whether a job may use its nodes: those of an advance reservation."""
        outage, account = self.outage, job.request.account
        return (
            job.job_id in outage.jobs
            or (bool(job.user) and job.user in outage.users)
            or (bool(account) and account in outage.projects)
        )


def node_windows(outages: Sequence[Outage], machine: Machine, begin: int) -> tuple[NodeWindow, ...]:
    """The windows of outages that last beyond the begin of a replay [ticks], in the order in which they begin.

    Raises
    ------
    InputError
        If an outage names nodes that there are not.
    """
    found = []
    for number, (outage, nodes) in enumerate(zip(outages, outage_places(outages, machine), strict=True), start=1):
        start, end = max(begin, to_ticks(outage.start)), to_ticks(outage.end)
        known = begin if outage.announced is None else max(begin, to_ticks(outage.announced))
        if outage.kind is OutageKind.FAILURE:
            known = start
        if end > begin:
            found.append(NodeWindow(outage, number, nodes, start, end, known))
    return tuple(sorted(found, key=lambda item: (item.start, item.number)))


class WindowColumns(NamedTuple):
    """Columns of the loop.

    Attributes
    ----------
    window
        The windows, :data:`holdfast.simulator.resources.window_checks.WINDOW` numbers each.
    node_first, node_window
        The windows of each node, in the order in which they begin.
    event_time, event_window, event_kind
        What happens to windows, in order.
    tickets
        The advance reservations among the windows.
    """

    window: list[int]
    node_first: list[int]
    node_window: list[int]
    event_time: list[int]
    event_window: list[int]
    event_kind: list[int]
    tickets: tuple[NodeWindow, ...]


def window_columns(windows: Sequence[NodeWindow], nodes: int, begin: int) -> WindowColumns:
    """Columns of windows, of a machine of ``nodes`` nodes and a replay that begins at a tick."""
    tickets = [item for item in windows if item.outage.kind is OutageKind.RESERVATION]
    numbers = {id(item): place for place, item in enumerate(tickets)}
    window: list[int] = []
    own: list[list[int]] = [[] for _ in range(nodes if windows else 0)]
    events = []
    for place, item in enumerate(windows):
        window += [item.start, item.end, int(item.known <= begin), numbers.get(id(item), -1), item.mode]
        for node in item.nodes:
            own[node].append(place)
        events += [(item.start, BEGIN, place), (item.end, END, place)]
        if begin < item.known < item.start:
            events.append((item.known, ANNOUNCE, place))
    events.sort()
    first = [0]
    for places in own:
        first.append(first[-1] + len(places))
    return WindowColumns(
        window,
        first,
        [place for places in own for place in places],
        [time for time, _, _ in events],
        [place for _, _, place in events],
        [kind for _, kind, _ in events],
        tuple(tickets),
    )
