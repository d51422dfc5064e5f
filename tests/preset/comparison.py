"""Generated years under a preset, by the simulator and by the independent reading of the hybrid model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.experiments.paper_readings import find_reading
from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.hybrid.notices import NOTICE_MIXES
from holdfast.workloads.table.job import Job
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.presets import preset_year
from holdfast.workloads.theta.year import ThetaYear
from tests.reference.hybrid import MECHANISMS, replay

__all__ = ["Compared", "compared_years", "faults"]


class Compared(NamedTuple):
    """A year under a mechanism.

    Attributes
    ----------
    seed, mix, mechanism
        Which one.
    jobs, preempted, shrunk
        Jobs, and how many of them were preempted or shrunk.
    faults
        A sentence for each job, or the accounting, on which the two disagree.
    """

    seed: int
    mix: str
    mechanism: str
    jobs: int
    preempted: int
    shrunk: int
    faults: list[str]


def compared_years(name: str, jobs: int, length: int, seed: int) -> Iterator[Compared]:
    """Compare years until each mechanism has had so many jobs; notice mixes take turns.

    Parameters
    ----------
    name
        A preset of :data:`holdfast.experiments.paper_readings.READINGS`.
    jobs, length
        Jobs in all, and of a year.
    seed
        Of the first year.
    """
    reading, mixes = find_reading(name), list(NOTICE_MIXES)
    for number in range(-(-jobs // length)):
        own, mix = seed + number, mixes[number % len(mixes)]
        trace = generate(preset_year(reading.preset, ThetaYear(jobs=length)), own)
        table = assign(trace, seed=own, notice_mix=mix, **reading.assignment)
        for mechanism in ("baseline", *MECHANISMS):
            given = reading.mechanism(mechanism)
            result = simulate(table, trace.nodes or 0, given, events=False, **reading.options)
            preempted = sum(record.preemptions > 0 for record in result.records)
            shrunk = sum(record.shrinks > 0 for record in result.records)
            found = faults(table, trace.nodes or 0, given, reading.options, result)
            yield Compared(own, mix, mechanism, len(table), preempted, shrunk, found)


def faults(table: Sequence[Job], nodes: int, mechanism: str, options: Mapping[str, Any], result: Result) -> list[str]:
    """Where the simulator and the independent reading disagree, a sentence each."""
    expected = replay(list(table), nodes, mechanism, **options)
    found = []
    for record in result.records:
        seen = expected[record.job_id]
        ours = (record.start, record.end, record.preemptions, record.shrinks, record.lost)
        start, end = (None if time is None else to_ticks(time) for time in (seen.start, seen.end))
        theirs = (start, end, seen.preemptions, seen.shrinks, to_ticks(seen.lost_node_seconds))
        if ours != theirs:
            found.append(f"job {record.job_id}: {ours}, the independent reading has {theirs}")
    totals = expected.totals
    if mechanism != "baseline":
        independent = (
            totals.compute,
            totals.setup,
            totals.checkpoint,
            totals.lost,
            totals.warning,
            totals.held,
            totals.idle,
        )
        if tuple(result.accounting)[: len(independent)] != independent:
            found.append(f"accounting: {result.accounting}, the independent reading has {independent}")
    return found
