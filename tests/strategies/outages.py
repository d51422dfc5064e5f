"""Random outages for random job tables: on the same grid of times, so that they meet everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.outages.outage import Outage, OutageKind, first_outage_fault
from holdfast.workloads.outages.places import outage_places
from holdfast.workloads.table.job import Job

__all__ = [
    "Moment",
    "build_outages",
    "named_outages",
    "outages_at_moments",
    "outages_for",
    "random_outages",
    "whole_machine_outages",
]

Pick = Callable[[int, int], int]


class Moment(NamedTuple):
    """Something that happens at a time [s] on nodes, which are given by their places."""

    what: str
    time: float
    nodes: tuple[int, ...]


def build_outages(pick: Pick, jobs: Sequence[Job], nodes: int, kinds: Sequence[OutageKind]) -> list[Outage]:
    times = sorted({time for job in jobs for time in (job.submit, job.notice, job.estimated_arrival) if time})
    # Beside the grid of the table also the ends of jobs that run undisturbed, as long as they are.
    times += [job.submit + job.runtime for job in jobs if job.submit is not None]
    times += [0.0, times[-1] * 2 if times else 600.0]
    units = (60.0, 120.0, 30.0, 600.0, 100 / 3)
    outages: list[Outage] = []
    for _ in range(pick(1, 6)):
        kind = kinds[pick(0, len(kinds) - 1)]
        unit = units[pick(0, len(units) - 1)]
        start = times[pick(0, len(times) - 1)] + unit * (pick(-2, 2) if pick(0, 1) else 0)
        end = start + unit * pick(1, 30)
        size = nodes if pick(0, 2) == 0 else pick(1, nodes)
        name = f"no. {len(outages) + 1}" if pick(0, 1) else ""
        if kind is OutageKind.FAILURE:
            size = 1 if pick(0, 2) else size
            outage = Outage(kind, start, end, size, place=pick(0, 999) / 1000, name=name)
        else:
            announced = start - unit * pick(0, 20) if pick(0, 1) else None
            running = ("preempt", "preempt", "wait")[pick(0, 2)]
            booked = kind is OutageKind.RESERVATION
            ids = tuple(job.job_id for job in jobs if pick(0, 2) == 0) or (jobs[0].job_id,) if booked else ()
            outage = Outage(kind, start, end, size, announced, running, name=name, jobs=ids)
        if first_outage_fault([*outages, outage], nodes) is None:
            outages.append(outage)
    return outages


@st.composite
def outages_for(
    draw: st.DrawFn, jobs: Sequence[Job], nodes: int, kinds: Sequence[OutageKind] = tuple(OutageKind)
) -> list[Outage]:
    """A few outages, at times at which something else happens, too.

    Parameters
    ----------
    jobs, nodes
        What arrives, and at which machine.
    kinds
        What outages there are, equally likely.
    """
    return build_outages(lambda low, high: draw(st.integers(low, high)), jobs, nodes, kinds)


def random_outages(
    seed: int, jobs: Sequence[Job], nodes: int, kinds: Sequence[OutageKind] = tuple(OutageKind)
) -> list[Outage]:
    """The same from a seed, for bulk runs."""
    rng = np.random.default_rng([seed, 2])
    return build_outages(lambda low, high: int(rng.integers(low, high + 1)), jobs, nodes, kinds)


def whole_machine_outages(seed: int, jobs: Sequence[Job], nodes: int) -> list[Outage]:
    """Maintenance, known from the beginning, and failures, each of all nodes; they do not overlap."""
    found: list[Outage] = []
    for drawn in random_outages(seed, jobs, nodes, (OutageKind.MAINTENANCE, OutageKind.FAILURE)):
        place = 0.0 if drawn.kind is OutageKind.FAILURE else None
        outage = replace(drawn, nodes=nodes, announced=None, running="preempt", place=place)
        if not any(other.start < outage.end and outage.start < other.end for other in found):
            found.append(outage)
    return found


def named_outages(seed: int, jobs: Sequence[Job], machine: Machine) -> list[Outage]:
    """Outages of a partition or of a few nodes, at times at which something else happens, too."""
    random = Random(seed)
    times = sorted({time for job in jobs for time in (job.submit, job.notice, job.estimated_arrival) if time})
    times += [0.0, *(job.submit + job.runtime for job in jobs if job.submit is not None)]
    found = []
    for _ in range(random.randint(1, 5)):
        kind, start = random.choice(list(OutageKind)), random.choice(times) + random.choice((0, 0, -60, 30, 600))
        partition, names = random.choice(machine.partitions), random.sample(machine.names, min(2, machine.size))
        size, on = random.choice(((len(partition.nodes), partition.name), (len(names), ",".join(names))))
        end, failure = start + random.choice((30, 60, 600, 3600)), kind is OutageKind.FAILURE
        known = start - random.choice((0, 60, 600)) if not failure and random.random() < 0.5 else None
        running = "wait" if not failure and random.random() < 0.3 else "preempt"
        ids = tuple(job.job_id for job in jobs if random.random() < 0.4) or (jobs[0].job_id,)
        admitted = ids if kind is OutageKind.RESERVATION else ()
        place = random.random() if failure else None
        found.append(Outage(kind, start, end, size, known, running, place, jobs=admitted, on=on))
    return found


def outages_at_moments(
    seed: int, jobs: Sequence[Job], machine: Machine, moments: Callable[[Sequence[Outage]], Sequence[Moment]]
) -> list[Outage]:
    """Outages each of which meets something: of nodes on which it happens, in a simulation with those before.

    A few are of a number of nodes, or begin when a walltime ends.

    Parameters
    ----------
    jobs, machine
        What arrives, and at which machine.
    moments
        What happens with given outages.
    """
    random = Random(seed)
    ends = [job.submit + job.walltime for job in jobs if job.submit is not None]
    found: list[Outage] = []
    earliest = 0.0
    for outage in named_outages(seed, jobs, machine):
        choice, start = random.random(), outage.start
        known = [each for each in moments(found) if each.nodes and each.time >= earliest] if choice < 0.7 else []
        if known:
            # Each kind of moment is equally likely: most of them are starts and ends.
            chosen = random.choice(sorted({moment.what for moment in known}))
            moment = random.choice([moment for moment in known if moment.what == chosen])
            start = moment.time + random.choice((0, 0, 30, 119))
            places = random.sample(moment.nodes, random.randint(1, len(moment.nodes)))
            outage = replace(outage, nodes=len(places), on=",".join(machine.names[place] for place in places))
            earliest = start
        elif choice < 0.85:
            start = random.choice(ends) if ends else start
            outage = replace(outage, nodes=random.randint(1, outage.nodes), on=random.choice((outage.on, "")))
        announced = None if outage.announced is None else outage.announced + start - outage.start
        outage = replace(outage, start=start, end=start + random.choice((30, 60, 300, 1200)), announced=announced)
        if outage.jobs and random.random() < 0.3:
            user, account = random.choice((("u", ""), ("", "s"), ("v", "t")))
            outage = replace(outage, users=(user,) if user else (), projects=(account,) if account else ())
        try:
            outage_places([*found, outage], machine)
        except InputError:
            continue
        found.append(outage)
    return found
