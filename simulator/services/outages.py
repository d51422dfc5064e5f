"""Effects of outages: the begin and end of windows, and failures.

A window takes free nodes, then idle reserved ones (latest notice first), then preempts running jobs or waits for the
nodes that they give up. Nodes that it still lacks are taken from those that become free while it lasts. The nodes of a
failure are chosen by :mod:`holdfast.simulator.services.failures`.
"""

from __future__ import annotations

from bisect import insort

from holdfast.policies.port import TOLERANCE, Window
from holdfast.simulator.machine.cluster import Account, Kind
from holdfast.simulator.machine.node_accounts import Gathering, Run
from holdfast.simulator.machine.system import System
from holdfast.simulator.services.downtime import Booking, Closure, Closures
from holdfast.simulator.services.failures import open_gatherings, strike
from holdfast.simulator.services.on_demand import OnDemandService
from holdfast.workloads.table.job import JobType

__all__ = ["OutageService"]


class OutageService:
    """Carries out outages.

    Parameters
    ----------
    system
        The machine.
    on_demand
        Service of on-demand jobs; None under the baseline.
    closures
        The outages.

    Attributes
    ----------
    closures
        The outages.
    course
        (time, nodes that are down) at each change.
    """

    def __init__(self, system: System, on_demand: OnDemandService | None, closures: Closures) -> None:
        self.closures = closures
        self.course: list[tuple[int, int]] = []
        self._system = system
        self._on_demand = on_demand
        self._announced: list[Closure] = []
        # Active windows.
        self._windows: list[Closure] = []
        for closure in closures.windows:
            if closure.announced <= closures.begin:
                self._announced.append(closure)
        self._tell()

    def announce(self, closure: Closure) -> bool:
        """Announce a window; no job can start because of it."""
        self._system.log(self._system.now, "announce", -closure.number, 0, closure.outage.nodes, closure.name)
        self._announced.append(closure)
        self._tell()
        return False

    def begin(self, closure: Closure) -> bool:
        """Begin an outage; returns whether it had an effect."""
        for held in list(self._system.kept.values()):
            self._system.let_go(held.job)
        if not closure.is_window:
            self._strike(closure)
            return bool(closure.wanted)
        if closure in self._announced:
            self._announced.remove(closure)
        self._windows.append(closure)
        closure.wanted = closure.outage.nodes
        self._take(closure)
        if closure.missing and closure.outage.running == "preempt":
            self._make_way(closure)
            self._take(closure)
        self._tell()
        return True

    def end(self, closure: Closure) -> bool:
        """End an outage and return its nodes."""
        system, account = self._system, closure.account
        if closure.is_window:
            self._windows.remove(closure)
        system.expected.forget(closure.release)
        nodes = closure.nodes
        if isinstance(account, Booking):
            # Jobs that have not ended in time continue; only the failure of one of their nodes can cause this.
            system.dismiss_tenants(account)
        system.log(system.now, "close" if account.kind == Kind.HELD else "up", -closure.number, nodes, 0, closure.name)
        system.release(account)
        self._tell()
        return True

    def collect(self) -> None:
        """After an event, assign nodes that have become free to windows that lack some."""
        for closure in self._windows:
            # Windows that end in this instant need no more nodes.
            if closure.missing and closure.end > self._system.now:
                self._take(closure)
                self._tell()

    def start_in_reservations(self) -> None:
        """Start jobs in their advance reservations, in queue order, if they fit and end in time."""
        system = self._system
        for closure in self._windows:
            booking = closure.account
            if not isinstance(booking, Booking) or not booking.nodes:
                continue
            for job in list(system.queue):
                size = min(job.nodes, booking.nodes)
                if size < job.min_nodes or job.type is JobType.ON_DEMAND or not closure.outage.admits(job.job):
                    continue
                if system.now + job.limit(size) <= closure.end + TOLERANCE:
                    system.start(job, [(booking, size)], f"in {closure.name}", {booking: size})

    def _strike(self, closure: Closure) -> None:
        """Carry out a failure."""
        system = self._system
        booked = [other.account for other in self._windows if isinstance(other.account, Booking)]
        closure.wanted, waiting = strike(system, closure, booked)
        if closure.wanted:
            self._log(closure, 0)
            # Advance reservations may have lost nodes.
            for other in self._windows:
                self._expect(other)
        for gathering in waiting:
            if self._on_demand is not None:
                self._on_demand.replace(gathering)
        self._tell()

    def _take(self, closure: Closure) -> None:
        """Take free nodes, then idle reserved ones, up to the number missing."""
        system, before = self._system, closure.nodes
        self._move(system.cluster.pool, closure)
        for reservation in sorted(system.reservations, key=lambda item: (-item.notice, item.job_id)):
            kept = reservation.nodes + reservation.lent
            taken = self._move(reservation, closure)
            if taken:
                system.log(system.now, "reserve", reservation.job_id, kept, kept - taken, closure.name)
        if closure.nodes != before:
            self._log(closure, before)

    def _move(self, source: Account, closure: Closure) -> int:
        count = min(source.nodes, closure.missing)
        self._system.cluster.move(source, closure.account, count, self._system.now)
        return count

    def _make_way(self, closure: Closure) -> None:
        """Preempt running jobs by ascending preemption overhead, then gathering jobs, then running on-demand jobs."""
        system = self._system
        # A job with a walltime that ends just in time ends within a tick; its nodes are taken then.
        soon = system.now + TOLERANCE
        missing = closure.missing - sum(_yields(run) for run in system.runs.values() if run.expected_end <= soon)
        others = [run for run in system.runs.values() if run.expected_end > soon and _yields(run)]
        victims = sorted(
            ((run.loss(system.now), run.job_id) for run in others),
            key=lambda victim: (system.runs[victim[1]].type is JobType.ON_DEMAND, *victim),
        )
        waiting = open_gatherings(system)
        for _, job_id in victims:
            run = system.runs[job_id]
            if run.type is JobType.ON_DEMAND:
                missing = self._dismiss(waiting, closure, missing)
            if missing <= 0:
                return
            # A malleable job first has its warning; its nodes are taken when the warning ends.
            missing -= _yields(run)
            system.preempt(run, closure.name)
        self._dismiss(waiting, closure, missing)

    def _dismiss(self, waiting: list[Gathering], closure: Closure, missing: int) -> int:
        """Take the nodes of gathering jobs, which are queued; returns the number of nodes still missing."""
        while waiting and missing > 0 and self._on_demand is not None:
            gathering = waiting.pop(0)
            missing -= gathering.nodes + gathering.promised_nodes
            self._on_demand.give_up(gathering, closure.name)
        return missing

    def _log(self, closure: Closure, before: int) -> None:
        system = self._system
        event = "reserve" if closure.account.kind == Kind.HELD else "down"
        system.log(system.now, event, -closure.number, before, closure.nodes, closure.name)
        self._expect(closure)

    def _expect(self, closure: Closure) -> None:
        """Insert or update the expected return of its nodes."""
        self._system.expected.forget(closure.release)
        closure.release = (closure.end, -closure.number, closure.nodes)
        insort(self._system.releases, closure.release)

    def _tell(self) -> None:
        """Publish the windows that policies must respect, and record the nodes that are down."""
        system = self._system
        windows = [Window(item.start, item.end, item.outage.nodes) for item in self._announced]
        windows += [Window(item.start, item.end, item.missing) for item in self._windows if item.missing]
        system.windows = sorted(windows)
        down = system.cluster.totals[Kind.DOWN]
        if not self.course or self.course[-1][1] != down:
            self.course.append((system.now, down))


def _yields(run: Run) -> int:
    """Number of nodes that a window gains by a preemption: those that belong to no advance reservation."""
    booked = sum(count for lender, count in run.lenders.items() if isinstance(lender, Booking)) if run.lenders else 0
    return run.nodes - booked
