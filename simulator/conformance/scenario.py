"""Scenarios: the state of a machine at an instant, as a policy sees it, and its description in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.policies.port import Window
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.table.job import JobType

__all__ = ["Queued", "Reserved", "Running", "Scenario", "View"]


def _seconds(ticks: int) -> str:
    return f"{ticks / SECOND:g} s"


def _nodes(least: int, most: int) -> str:
    sizes = f"{least} to {most}" if least < most else f"{most}"
    return f"{sizes} node{'s' if most != 1 else ''}"


@dataclass(frozen=True)
class Queued:
    """A job in the queue, or an on-demand job that gives notice or arrives; times in ticks."""

    job_id: int
    type: JobType
    nodes: int
    min_nodes: int
    walltime: int
    submit: int
    runtime: int
    project: str = ""
    user: str = ""
    estimated_arrival: int = 0
    kept: int = 0
    peeks: list[int] = field(default_factory=list, compare=False, repr=False)

    @property
    def eligible(self) -> int:
        return self.submit

    def limit(self, nodes: int) -> int:
        return self.walltime * self.nodes // nodes

    def duration(self, nodes: int) -> int:
        # The call is recorded, so that a policy that reads the runtime is detected.
        self.peeks.append(self.job_id)
        return self.runtime * self.nodes // nodes

    def __str__(self) -> str:
        owner = f", project {self.project}" if self.project else ""
        return (
            f"job {self.job_id}, {self.type}, {_nodes(self.min_nodes, self.nodes)}, walltime {_seconds(self.walltime)}"
            f", submitted at {_seconds(self.submit)}{owner}"
        )


@dataclass(frozen=True)
class Running:
    """A running job: ``lent`` are borrowed nodes by job id, ``plan`` is the reservation that plans to preempt it."""

    job_id: int
    type: JobType
    nodes: int
    min_nodes: int
    max_nodes: int
    start: int
    expected_end: int
    setup: int = 0
    period: int | None = None
    lent: Mapping[int, int] = field(default_factory=dict)
    plan: int | None = None
    submit: int = 0

    @property
    def borrowed(self) -> int:
        return sum(self.lent.values())

    @property
    def planned(self) -> bool:
        return self.plan is not None

    def owes(self, job_id: int) -> int:
        return self.lent.get(job_id, 0)

    def loss(self, at: int) -> int:
        if self.type is JobType.MALLEABLE:
            return self.nodes * self.setup
        computed = at - self.start - self.setup
        saved = computed // self.period * self.period if self.period and computed > 0 else 0
        return self.nodes * (at - self.start - saved)

    def __str__(self) -> str:
        words = f"job {self.job_id}, {self.type}, on {_nodes(self.nodes, self.nodes)}"
        if self.min_nodes < self.max_nodes:
            words += f" ({self.min_nodes} to {self.max_nodes})"
        words += f" until {_seconds(self.expected_end)}"
        words += "".join(f", {nodes} of them of the reservation of job {job}" for job, nodes in self.lent.items())
        return words + (f", in the plan of job {self.plan}" if self.plan is not None else "")


@dataclass(frozen=True)
class Reserved:
    """An open reservation; it has lent the nodes that running jobs owe it."""

    job_id: int
    requested: int
    idle: int
    lent: int
    notice: int
    estimated_arrival: int
    walltime: int

    @property
    def missing(self) -> int:
        return self.requested - self.idle - self.lent

    def __str__(self) -> str:
        return (
            f"for job {self.job_id}, {count_text(self.requested, 'nodes')}, {self.idle} of them idle, "
            f"{self.lent} lent, due at {_seconds(self.estimated_arrival)}"
        )


@dataclass(frozen=True)
class Scenario:
    """A machine at an instant.

    Attributes
    ----------
    nodes, now
        Size of the machine, and the time in ticks.
    queue
        On-demand jobs first.
    running, reservations
        Holders of nodes; the rest are free.
    request
        The on-demand job that gives notice or arrives; None: there is none.
    windows
        Future outage windows.
    warning
        Time for which a preempted malleable job keeps its nodes [ticks].
    """

    nodes: int
    now: int
    queue: tuple[Queued, ...] = ()
    running: tuple[Running, ...] = ()
    reservations: tuple[Reserved, ...] = ()
    request: Queued | None = None
    windows: tuple[Window, ...] = ()
    warning: int = 120 * SECOND

    @property
    def free(self) -> int:
        held = sum(run.nodes for run in self.running) + sum(item.idle for item in self.reservations)
        return self.nodes - held

    def smaller(self) -> Iterator[Scenario]:
        """Scenarios with one job or one reservation removed."""
        for index in range(len(self.queue)):
            yield replace(self, queue=self.queue[:index] + self.queue[index + 1 :])
        for index, run in enumerate(self.running):
            kept = tuple(
                replace(item, lent=item.lent - run.owes(item.job_id), idle=item.idle + run.owes(item.job_id))
                for item in self.reservations
            )
            yield replace(self, running=self.running[:index] + self.running[index + 1 :], reservations=kept)
        for index in range(len(self.windows)):
            yield replace(self, windows=self.windows[:index] + self.windows[index + 1 :])
        for index, item in enumerate(self.reservations):
            if not item.lent and all(run.plan != item.job_id for run in self.running):
                yield replace(self, reservations=self.reservations[:index] + self.reservations[index + 1 :])

    def __str__(self) -> str:
        lines = [f"{_nodes(self.nodes, self.nodes)}, {self.free} of them free, at {_seconds(self.now)}"]
        for head, items in (("waits", self.queue), ("runs", self.running), ("reserved", self.reservations)):
            lines += [f"{head}: {item}" for item in items]
        for window in self.windows:
            times = f"from {_seconds(window.start)} to {_seconds(window.end)}"
            lines.append(f"taken away: {_nodes(window.nodes, window.nodes)} {times}")
        if self.request is not None:
            lines.append(f"asked about: {self.request}, expected at {_seconds(self.request.estimated_arrival)}")
        return "\n".join(lines)


class View:
    """A scenario as a policy sees it, which detects modifications.

    Parameters
    ----------
    scenario
        The scenario.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.peeks: list[int] = []
        self.queue: Sequence[Queued] = [replace(job, peeks=self.peeks) for job in scenario.queue]
        self.request = None if scenario.request is None else replace(scenario.request, peeks=self.peeks)
        self.running: Sequence[Running] = list(scenario.running)
        self.reservations: Sequence[Reserved] = list(scenario.reservations)
        self.releases = sorted((run.expected_end, run.job_id, run.nodes - run.borrowed) for run in scenario.running)
        self.windows: Sequence[Window] = list(scenario.windows)
        self.kept: Sequence[int] = ()
        self.nodes, self.now, self.free = scenario.nodes, scenario.now, scenario.free
        self.warning = scenario.warning
        self.on_demand_waits = any(job.type is JobType.ON_DEMAND for job in scenario.queue)
        self._before = self._state()

    def group_usage(self, group: str | None) -> float:
        """A value that differs between projects, since scenarios have no past usage."""
        if group is None:
            return 1e12
        return float(sum(map(ord, group)) % 97) * 1e9

    def find_change(self) -> str:
        """Name of a modified attribute; empty: none."""
        return next((name for name, value in self._state().items() if value != self._before[name]), "")

    def _state(self) -> dict[str, object]:
        return {
            name: list(value) if isinstance(value, list) else value
            for name, value in vars(self).items()
            if name not in ("_before", "peeks")
        }
