"""Generator of scenarios and job tables: small, rich in ties and edge cases, and reproducible from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from holdfast.policies.port import Window
from holdfast.simulator.conformance.scenario import Queued, Reserved, Running, Scenario
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import Job, JobType

__all__ = ["arrivals", "growths", "job_tables", "notices", "scenarios"]

_MINUTE = 60 * SECOND
#: Time of the scenarios [ticks].
_NOW = 100 * _MINUTE


class _Draw:
    """Random choices of one scenario."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.ids = iter(rng.permutation(np.arange(1, 60)).tolist())

    def whole(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high + 1))

    def sizes(self, most: int, kind: JobType) -> tuple[int, int]:
        nodes = self.whole(1, most)
        return (self.whole(1, nodes) if kind is JobType.MALLEABLE else nodes), nodes

    def kind(self) -> JobType:
        return (JobType.RIGID, JobType.MALLEABLE, JobType.STOCHASTIC, JobType.RIGID)[self.whole(0, 3)]


def _scenario(draw: _Draw, size: int, *, growing: bool = False) -> Scenario:
    """Draw an instant; most ``growing`` ones have free nodes that malleable jobs could use."""
    machine = draw.whole(1, 4) if size < 2 else draw.whole(2, 8 * size)
    reservations = _reservations(draw, machine) if draw.whole(0, 2 if growing else 1) == 1 else []
    free = machine - sum(item.idle for item in reservations)
    running: list[Running] = []
    for _ in range(draw.whole(0, 2 * size)):
        if not free:
            break
        run = _run(draw, machine, free, reservations, size, growing=growing)
        running.append(run)
        free -= run.nodes - sum(run.lent.values())
    queue = [
        _draw_queued_job(draw, machine, _NOW - _MINUTE * draw.whole(0, 15)) for _ in range(draw.whole(0, 2 * size + 1))
    ]
    if draw.whole(0, 7) == 0:
        nodes = draw.whole(1, machine)
        queue.append(_on_demand(draw, nodes, _NOW - _MINUTE))
    queue.sort(key=lambda job: (job.type is not JobType.ON_DEMAND, job.submit))
    return Scenario(machine, _NOW, tuple(queue), tuple(running), tuple(reservations))


def _reservations(draw: _Draw, machine: int) -> list[Reserved]:
    """One or two reservations that hold free nodes of the machine."""
    reservations: list[Reserved] = []
    free = machine
    for _ in range(draw.whole(1, 2)):
        idle = draw.whole(0, free)
        arrival = _NOW + _MINUTE * draw.whole(-5, 30)
        notice = _NOW - _MINUTE * draw.whole(1, 9)
        requested = min(machine, idle + draw.whole(1, 4))
        reservations.append(Reserved(next(draw.ids), requested, idle, 0, notice, arrival, _MINUTE * 10))
        free -= idle
    return sorted(reservations, key=lambda item: (item.notice, item.job_id))


def _run(draw: _Draw, machine: int, free: int, reservations: list[Reserved], size: int, *, growing: bool) -> Running:
    """A job that runs on free nodes; it may have borrowed some of a reservation, which is updated."""
    kind = JobType.ON_DEMAND if draw.whole(0, 5) == 0 else draw.kind()
    nodes = free if draw.whole(0, 4) == 0 else draw.whole(1, free)
    if growing:
        kind = JobType.MALLEABLE if draw.whole(0, 1) else kind
        nodes = min(nodes, max(1, free // 2))
    least, most = nodes, nodes
    if kind is JobType.MALLEABLE:
        # At its minimum, at its maximum, or in between.
        least = nodes if draw.whole(0, 2) == 0 else draw.whole(1, nodes)
        most = min(machine, nodes + draw.whole(0, 2 * size))
    lent: dict[int, int] = {}
    lender = next((item for item in reservations if item.idle), None)
    if lender is not None and kind is not JobType.ON_DEMAND and draw.whole(0, 2) == 0:
        count = draw.whole(1, min(nodes, lender.idle))
        lent[lender.job_id] = count
        updated = replace(lender, idle=lender.idle - count, lent=lender.lent + count)
        reservations[reservations.index(lender)] = updated
    period = _MINUTE * draw.whole(2, 6) if kind is JobType.RIGID and draw.whole(0, 1) else None
    start = _NOW - _MINUTE * draw.whole(0, 20)
    end = _NOW + _MINUTE * draw.whole(1, 6) * draw.whole(1, 6)
    planned_for = None
    if reservations and not lent and kind is not JobType.ON_DEMAND and draw.whole(0, 5) == 0:
        planned_for = reservations[0].job_id
    setup = _MINUTE * draw.whole(0, 2)
    submit = start - _MINUTE * draw.whole(0, 5)
    return Running(next(draw.ids), kind, nodes, least, most, start, end, setup, period, lent, planned_for, submit)


def _draw_queued_job(draw: _Draw, machine: int, submit: int) -> Queued:
    kind = draw.kind()
    least, nodes = draw.sizes(machine, kind)
    walltime = _MINUTE * draw.whole(1, 6) * draw.whole(1, 6)
    runtime = max(SECOND, walltime // draw.whole(1, 4))
    project = ("", "atlas", "belle", "cms")[draw.whole(0, 3)]
    return Queued(next(draw.ids), kind, nodes, least, walltime, submit, runtime, project, "ann")


def _on_demand(draw: _Draw, nodes: int, submit: int, expected: int = 0) -> Queued:
    walltime = _MINUTE * draw.whole(1, 20)
    return Queued(
        next(draw.ids), JobType.ON_DEMAND, nodes, nodes, walltime, submit, walltime, estimated_arrival=expected
    )


def _draws_by_size(count: int, seed: int, name: str) -> Iterator[tuple[_Draw, int]]:
    """Sizes in ascending order, so that the first scenario with a problem is easy to read."""
    for number in range(count):
        yield _Draw(stream(seed, "conformance", name, str(number))), 1 + 4 * number // count


def scenarios(count: int, seed: int) -> Iterator[Scenario]:
    """Instants of scheduling passes: an empty machine, a full one, an empty queue, and everything between."""
    yield Scenario(2, _NOW)
    for draw, size in _draws_by_size(count - 1, seed, "passes"):
        base = _scenario(draw, size)
        if not base.reservations and draw.whole(0, 2) == 0:
            start = _NOW + _MINUTE * draw.whole(1, 20)
            window = Window(start, start + _MINUTE * draw.whole(1, 30), draw.whole(1, base.nodes))
            # A window announced too late to get its nodes at once is excluded.
            if window.nodes <= base.nodes - sum(run.nodes for run in base.running if run.expected_end > start):
                base = replace(base, windows=(window,))
        yield base


def growths(count: int, seed: int) -> Iterator[Scenario]:
    """Instants after the pass, mostly with free nodes and jobs that could grow into them."""
    for draw, size in _draws_by_size(count, seed, "growths"):
        base = _scenario(draw, size, growing=True)
        # Every job that can start has started.
        yield replace(base, queue=tuple(job for job in base.queue if job.min_nodes > base.free))


def notices(count: int, seed: int) -> Iterator[Scenario]:
    """Instants at which an on-demand job gives notice."""
    for draw, size in _draws_by_size(count, seed, "notices"):
        base = _scenario(draw, size)
        expected = _NOW + _MINUTE * draw.whole(0, 30)
        yield _about(base, _on_demand(draw, draw.whole(1, base.nodes), expected, expected))


def arrivals(count: int, seed: int) -> Iterator[Scenario]:
    """Instants at which an on-demand job arrives; sometimes it has a reservation of its own."""
    for draw, size in _draws_by_size(count, seed, "arrivals"):
        base = _scenario(draw, size)
        request = _on_demand(draw, draw.whole(1, base.nodes), _NOW, _NOW)
        if base.reservations and draw.whole(0, 1):
            own = base.reservations[0]
            request = Queued(
                own.job_id, JobType.ON_DEMAND, own.requested, own.requested, own.walltime, _NOW, own.walltime,
                estimated_arrival=own.estimated_arrival,
            )  # fmt: skip
        yield _about(base, request)


def _about(base: Scenario, request: Queued) -> Scenario:
    return Scenario(base.nodes, base.now, base.queue, base.running, base.reservations, request)


def job_tables(count: int, seed: int, kinds: tuple[JobType, ...]) -> Iterator[tuple[list[Job], int]]:
    """Job tables of these types and the machine that they run on, for short simulations."""
    for draw, size in _draws_by_size(count, seed, "tables"):
        machine = draw.whole(2, 8 * size)
        yield [_job(draw, job_id, machine, kinds) for job_id in range(1, 4 * size + draw.whole(2, 5))], machine


def _job(draw: _Draw, job_id: int, machine: int, kinds: tuple[JobType, ...]) -> Job:
    kind = kinds[draw.whole(0, len(kinds) - 1)]
    least, nodes = draw.sizes(machine, kind)
    runtime = 60.0 * draw.whole(1, 20)
    walltime = runtime * draw.whole(1, 3)
    submit = 60.0 * draw.whole(0, 40)
    project = ("", "atlas", "belle")[draw.whole(0, 2)]
    if kind is JobType.ON_DEMAND:
        noticed = draw.whole(0, 2) > 0
        return Job(
            job_id, kind, submit, nodes, runtime, walltime,
            notice=max(0.0, submit - 60.0 * draw.whole(0, 20)) if noticed else None,
            estimated_arrival=submit if noticed else None, project=project,
        )  # fmt: skip
    smallest = least if kind is JobType.MALLEABLE else None
    interval = 60.0 * draw.whole(1, 4) if kind is JobType.RIGID and draw.whole(0, 1) else None
    return Job(
        job_id, kind, submit, nodes, runtime, walltime, smallest, setup=min(runtime / 4, 30.0),
        checkpoint_interval=interval, checkpoint_cost=6.0 if interval else 0.0, project=project,
    )  # fmt: skip
