"""Failures: which nodes one strikes, and what becomes of who has them.

Nodes have no names. A failure tells a place in the machine, and its nodes stand there in a fixed order: free ones, idle
reserved ones, those of arrived jobs that gather theirs, those of jobs by their ids, and those that are down. Each job
is so hit with a probability that is proportional to its nodes, and what was drawn is the same under any mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from simulator.closures import Booking, Closure
from simulator.cluster import Account, Kind
from simulator.holders import Gathering, Lender, Run
from simulator.run import MalleableRun
from simulator.system import System
from workloads.errors import InvariantError
from workloads.job import JobType

__all__ = ["gatherings_of", "strike"]


def strike(system: System, closure: Closure, set_aside: Sequence[Account]) -> tuple[int, list[Gathering]]:
    """Let nodes fail.

    Parameters
    ----------
    system
        The machine.
    closure
        The failure; its account gets the nodes. Those that are down already do not fail again.
    set_aside
        The accounts of all other outages that go on.

    Returns
    -------
    int, list of Gathering
        How many nodes have failed, and the arrived on-demand jobs that now miss some.
    """
    hits = _hits(system, closure, set_aside)
    short: dict[Gathering, None] = {}
    failed = 0
    for holder, count in hits:
        if isinstance(holder, Run):
            short.update(dict.fromkeys(_strike_run(system, closure, holder, count)))
        elif holder.kind == Kind.DOWN:
            continue
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


def gatherings_of(system: System) -> list[Gathering]:
    """The arrived jobs that still gather their nodes, by job id."""
    found = {gathering: None for run in system.leaving.values() for gathering, _ in run.claims}
    return sorted(found, key=lambda gathering: gathering.job.rank)


def _hits(system: System, closure: Closure, set_aside: Sequence[Account]) -> list[tuple[Account, int]]:
    """Who loses how many nodes."""
    order: list[Account] = [
        system.cluster.pool,
        *system.reservations,
        *(account for account in set_aside if isinstance(account, Booking)),
        *gatherings_of(system),
        *sorted([*system.runs.values(), *system.leaving.values()], key=attrgetter("job.rank")),
        *(account for account in set_aside if account.kind == Kind.DOWN),
    ]
    if sum(account.nodes for account in order) != system.nodes:
        raise InvariantError(f"{closure.name} finds {sum(account.nodes for account in order)} of {system.nodes} nodes")
    first = int((closure.outage.place or 0.0) * system.nodes)
    last = first + closure.outage.nodes
    hits: list[tuple[Account, int]] = []
    at = 0
    for account in order:
        end = at + account.nodes
        # After the last node comes the first.
        count = sum(max(0, min(end + turn, last) - max(at + turn, first)) for turn in (0, system.nodes))
        if count:
            hits.append((account, count))
        at = end
    return hits


def _strike_run(system: System, closure: Closure, run: Run, count: int) -> list[Gathering]:
    """Nodes of a job fail; returns the on-demand jobs that now miss nodes."""
    account, cause = closure.account, closure.name
    if run.warned:
        return _strike_leaving(system, run, count, account, cause)
    _cut_loans(run, count - (run.nodes - run.borrowed))
    if isinstance(run, MalleableRun) and run.nodes - count >= run.min_nodes:
        run.job.shrinks += 1
        system.resize(run, account, -count, cause)
        return []
    if run.type is not JobType.ON_DEMAND:
        system.preempt(run, cause, failed=(account, count))
        return []
    # It keeps what it has, and is the first to get what it now misses.
    gathering = Gathering(run.job, system.now)  # type: ignore[arg-type]  # on-demand jobs are of one size
    system.preempt(run, cause, claim=(gathering, run.nodes - count), failed=(account, count))
    return [gathering]


def _strike_leaving(system: System, run: Run, count: int, account: Account, cause: str) -> list[Gathering]:
    """Nodes of a job under warning fail: first those that it owes nobody, then borrowed ones, then promised ones."""
    promised = run.promised()
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
    # Those that fail have been under warning until now.
    warned = system.now - (run.end - system.warning)
    system.usage.lose_to_warning(run.job, count * warned, system.now)
    system.expected.expect(run)
    system.log(system.now, "shrink", run.job_id, before, run.nodes, cause)
    return short


def _cut_loans(run: Run, count: int) -> None:
    """Borrowed nodes fail: who lent them does not get them back."""
    for lender in list(run.lenders):
        if count <= 0:
            break
        lost = min(count, run.lenders[lender])
        count -= lost
        run.lenders[lender] -= lost
        lender.tenants[run] -= lost
        if not run.lenders[lender]:
            del run.lenders[lender], lender.tenants[run]
