"""Node failures: the choice of the failing nodes, and the consequences for their jobs.

Nodes have no names. A failure is drawn as a position in the machine, where nodes are in a fixed order: free, idle and
reserved, gathered by arrived jobs, allocated (by job id), and down. So each job is hit with a probability proportional
to its nodes, and the drawn failures are the same under every mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter

from holdfast.simulator.machine.cluster import Account, Kind
from holdfast.simulator.machine.node_accounts import Gathering, Lender, Run
from holdfast.simulator.machine.run import is_malleable
from holdfast.simulator.machine.system import System
from holdfast.simulator.services.downtime import Booking, Closure
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.table.job import JobType

__all__ = ["open_gatherings", "strike"]


def strike(system: System, closure: Closure, booked: Iterable[Booking]) -> tuple[int, list[Gathering]]:
    """Carry out a node failure.

    Parameters
    ----------
    system
        The machine.
    closure
        The failure; its account gets the nodes. Nodes that are already down do not fail again.
    booked
        Active advance reservations.

    Returns
    -------
    int, list of Gathering
        Number of failed nodes, and the arrived on-demand jobs that now lack some.
    """
    short: dict[Gathering, None] = {}
    failed = 0
    for holder, count in _hits(system, closure, booked):
        if isinstance(holder, Run):
            short.update(dict.fromkeys(_strike_run(system, closure, holder, count)))
        else:
            before = holder.nodes
            system.cluster.move(holder, closure.account, count, system.now)
            if isinstance(holder, Lender):
                kept = holder.nodes + holder.lent
                system.log(system.now, "reserve", holder.job_id, kept + before - holder.nodes, kept, closure.name)
            elif isinstance(holder, Gathering):
                short[holder] = None
        failed += count
    return failed, sorted(short, key=lambda gathering: gathering.job.rank)


def open_gatherings(system: System) -> list[Gathering]:
    """Arrived jobs that still gather their nodes, by job id."""
    found = {gathering: None for run in system.leaving.values() for gathering, _ in run.claims}
    return sorted(found, key=lambda gathering: gathering.job.rank)


def _hits(system: System, closure: Closure, booked: Iterable[Booking]) -> list[tuple[Account, int]]:
    """Number of nodes that each account loses; nodes that are already down come last and do not count."""
    nodes = system.nodes
    first = int((closure.outage.place or 0.0) * nodes)
    last = first + closure.outage.nodes
    hits: list[tuple[Account, int]] = []
    at = 0
    for account in _in_order(system, booked):
        end = at + account.nodes
        count = min(end, last) - max(at, first)
        if count > 0:
            hits.append((account, count))
        # The first node follows the last.
        if at < last - nodes:
            again = min(end, last - nodes) - at
            if count > 0:
                hits[-1] = account, count + again
            else:
                hits.append((account, again))
        at = end
        if at >= last:
            return hits
    down = system.cluster.totals[Kind.DOWN]
    if at + down != nodes:
        raise InvariantError(f"{closure.name} finds {at + down} of {nodes} nodes")
    return hits


def _in_order(system: System, booked: Iterable[Booking]) -> Iterator[Account]:
    """Accounts with nodes that are up, generated lazily: most failures do not need the jobs, which must be sorted."""
    yield system.cluster.pool
    yield from system.reservations
    yield from booked
    yield from open_gatherings(system)
    yield from sorted([*system.runs.values(), *system.leaving.values()], key=attrgetter("job.rank"))


def _strike_run(system: System, closure: Closure, run: Run, count: int) -> list[Gathering]:
    """Let nodes of a job fail; returns the on-demand jobs that now lack nodes."""
    account, cause = closure.account, closure.name
    if run.warned:
        return _strike_vacating_run(system, run, count, account, cause)
    _cut_loans(run, count - (run.nodes - run.borrowed))
    if is_malleable(run) and run.nodes - count >= run.min_nodes:
        run.job.shrinks += 1
        system.resize(run, account, -count, cause)
        return []
    if run.type is not JobType.ON_DEMAND:
        system.preempt(run, cause, failed=(account, count))
        return []
    # The job keeps its other nodes, and is the first to get replacements.
    gathering = Gathering(run.job, system.now)
    system.preempt(run, cause, claim=(gathering, run.nodes - count), failed=(account, count))
    return [gathering]


def _strike_vacating_run(system: System, run: Run, count: int, account: Account, cause: str) -> list[Gathering]:
    """Let nodes of a job under warning fail: first its own, then borrowed, then promised ones."""
    promised = run.promised_nodes()
    _cut_loans(run, min(count - (run.nodes - run.borrowed - promised), run.borrowed))
    short: list[Gathering] = []
    cut = count - (run.nodes - promised)
    claims: list[tuple[Gathering, int]] = []
    for gathering, nodes in run.claims:
        lost = max(0, min(cut, nodes))
        cut -= lost
        if lost:
            short.append(gathering)
        if nodes > lost:
            claims.append((gathering, nodes - lost))
        else:
            gathering.awaited.remove(run)
    run.claims = claims
    before = run.nodes
    system.cluster.move(run, account, count, system.now)
    # The failing nodes have been under warning until now.
    warned = system.now - (run.end - system.warning)
    system.usage.lose_to_warning(run.job, count * warned, system.now)
    system.log(system.now, "shrink", run.job_id, before, run.nodes, cause)
    if run.nodes:
        system.expected.expect(run)
    else:
        # No node is left to give up, so that the warning ends now.
        system.end_warning(run)
    return short


def _cut_loans(run: Run, count: int) -> None:
    """Remove failed nodes from the borrowed ones; their lender does not get them back."""
    for lender in list(run.lenders):
        if count <= 0:
            break
        lost = min(count, run.lenders[lender])
        count -= lost
        run.lenders[lender] -= lost
        lender.tenants[run] -= lost
        if not run.lenders[lender]:
            del run.lenders[lender], lender.tenants[run]
