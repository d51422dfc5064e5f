"""What the machine expects of its future: when runs and holds end, and what open reservations will collect.

A waiting job that gets a shadow time is planned beside all of this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.occupants import Hold, PartGathering, SharedRun
from holdfast.simulator.shared_nodes.occupation import Occupation, Span
from holdfast.simulator.shared_nodes.reservations import ReservationBook
from holdfast.simulator.shared_nodes.state import SharedMachine

__all__ = ["expected_collections", "expected_spans"]


def expected_spans(machine: SharedMachine) -> list[Span]:
    """Spans of all runs and holds from now on.

    Runs end with their walltimes or warnings. A reservation keeps its nodes until a walltime after the arrival, an
    arrived job until a walltime after its start.
    """
    now = machine.now
    spans = [Span(now, _departure(run, now), _beside_hosts(run)) for run in machine.runs.values()]
    for job_id, holds in machine.holds.items():
        gathering = machine.gatherings.get(job_id)
        for hold in holds.values():
            if gathering is None:
                spans.append(Span(now, machine.reservations[job_id].horizon(now), {hold.node: hold.part}))
            else:
                spans.append(Span(now, _end(gathering), {hold.node: hold.part}))
                spans += _guest_spans(hold, now)
    return [span for span in spans if span.begin < span.end]


def _departure(run: SharedRun, now: int) -> int:
    """When a run will leave its nodes; one that ends in this instant has them until the next pass."""
    return max(run.release, now + 1)


def _beside_hosts(run: SharedRun) -> Mapping[int, Amounts]:
    """What a run takes of nodes on which it is no tenant; few runs are tenants at all, so that there is no copy."""
    return {node: part for node, part in run.taken.items() if node not in run.hosts} if run.hosts else run.taken


def _end(gathering: PartGathering) -> int:
    return gathering.ready + gathering.job.state.walltime


def _guest_spans(hold: Hold, now: int) -> list[Span]:
    """What the guests take beyond the part of a hold, until one after the other leaves."""
    spans, begin = [], now
    guests = sorted(hold.guests, key=lambda guest: guest.departure)
    for place, guest in enumerate(guests):
        staying = [other.taken[hold.node] for other in guests[place:]]
        beyond = tuple(max(0, sum(amounts) - own) for own, *amounts in zip(hold.part, *staying, strict=True))
        spans.append(Span(begin, guest.release, {hold.node: beyond}))
        begin = guest.release
    return spans


def expected_collections(machine: SharedMachine, book: ReservationBook, occupation: Occupation) -> list[Span]:
    """Parts that open reservations will collect of what runs release, until these reservations end.

    Parameters
    ----------
    machine
        The machine.
    book
        Its reservations.
    occupation
        The spans of :func:`expected_spans`.
    """
    open_ones = [item for item in book.by_notice() if book.missing_nodes(item) > 0]
    if not open_ones or book.on_demand_waits:
        return []
    releases = _releases(machine)
    missing = {item.job.job_id: book.missing_nodes(item) for item in open_ones}
    found: list[Span] = []
    collected: dict[int, set[int]] = defaultdict(set)
    for time in sorted(releases):
        for item in open_ones:
            job, horizon = item.job, item.horizon(machine.now)
            if missing[job.job_id] <= 0 or horizon <= time:
                continue
            known = machine.closures.closures_at(job, time).union(collected[job.job_id], machine.job_holds(job))
            coming = [node for node in sorted(releases[time]) if node not in known and job.demand.suits(node)]
            free = occupation.at(time, 0, found) if coming else machine.free
            for node in coming:
                part = job.demand.part(node)
                if missing[job.job_id] <= 0:
                    break
                if all(have >= amount for have, amount in zip(free[node].tolist(), part, strict=True)):
                    found.append(Span(time, horizon, {node: part}))
                    free[node] -= part
                    collected[job.job_id].add(node)
                    missing[job.job_id] -= 1
    return found


def _releases(machine: SharedMachine) -> dict[int, set[int]]:
    """Nodes that runs leave, or that open again, by time."""
    found: dict[int, set[int]] = defaultdict(set)
    for run in machine.runs.values():
        found[_departure(run, machine.now)].update(_beside_hosts(run))
    for job_id, gathering in machine.gatherings.items():
        found[_end(gathering)].update(machine.holds[job_id])
    for end, nodes in machine.closures.ends():
        found[end].update(nodes)
    return found
