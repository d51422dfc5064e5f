"""Outages on shared nodes: the begin and end of windows, and failures.

Source: docs/model.md, "Outages"; docs/reference/machines.md, rules 7 and 10. Windows close named nodes: idle reserved
parts there are given up, and jobs that run there are preempted or end first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from holdfast.policies.port import TOLERANCE
from holdfast.simulator.resources.outage_windows import NodeWindow
from holdfast.simulator.resources.window_checks import FAILS, WAITS
from holdfast.simulator.shared_nodes.arrivals import ArrivalService
from holdfast.simulator.shared_nodes.clock import OUTAGE, InstantClock
from holdfast.simulator.shared_nodes.closures import admits
from holdfast.simulator.shared_nodes.occupants import PartLoan, SharedRun
from holdfast.simulator.shared_nodes.reservations import ReservationBook
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine

__all__ = ["NodeOutageService"]


class NodeOutageService:
    """Carries out outages.

    Parameters
    ----------
    machine
        The machine, with its windows.
    book
        Its reservations.
    arrivals
        Service of on-demand jobs.
    loans
        By the id of an on-demand job, what others have given up for it.
    vacate
        Ends the warning of a run at once.
    """

    def __init__(
        self,
        machine: SharedMachine,
        book: ReservationBook,
        arrivals: ArrivalService,
        loans: dict[int, list[PartLoan]],
        vacate: Callable[[SharedRun], bool],
    ) -> None:
        self._machine, self._book, self._arrivals, self._loans, self._vacate = machine, book, arrivals, loans, vacate

    def expect(self, clock: InstantClock, begin: int) -> None:
        """Put the windows of a simulation that begins at a tick on the clock; ends come before begins."""
        windows = self._machine.closures.windows
        for window in windows:
            if window.known <= begin and window.mode != FAILS:
                self._machine.closures.announce(window)
            elif window.known < window.start:
                clock.call(window.known, OUTAGE, 0, partial(self.announce, window))
            clock.call(window.end, OUTAGE, 0, partial(self.end, window))
        for window in windows:
            clock.call(window.start, OUTAGE, 1, partial(self.begin, window))

    def announce(self, window: NodeWindow) -> bool:
        """Make a window known; jobs behind a head that must now wait longer may start."""
        self._machine.closures.announce(window)
        return True

    def end(self, window: NodeWindow) -> bool:
        """Open the nodes of a window; open reservations collect those that have room."""
        self._machine.closures.end(window)
        self._book.release(window.nodes)
        return True

    def begin(self, window: NodeWindow) -> bool:
        """Close the nodes of a window, and preempt the jobs there unless it waits for them."""
        machine = self._machine
        machine.closures.begin(window)
        nodes = set(window.nodes)
        self._empty_reservations(window, nodes)
        if window.mode == WAITS:
            return True
        short = self._take_from_gatherings(window, nodes)
        if window.mode == FAILS:
            self._fail(window, nodes, short)
        else:
            self._preempt(window, nodes)
            for job in short:
                self._arrivals.give_up(job)
        return True

    def _empty_reservations(self, window: NodeWindow, nodes: set[int]) -> None:
        """Take the nodes of open reservations; tenants there become ordinary.

        Reservations of jobs for which an advance reservation is open collect what others give up.
        """
        machine = self._machine
        released: set[int] = set()
        for reservation in list(machine.reservations.values()):
            if not admits(window, reservation.job):
                for node in nodes & machine.job_holds(reservation.job).keys():
                    machine.drop(machine.job_holds(reservation.job)[node])
                    released.add(node)
        self._book.release(released)

    def _take_from_gatherings(self, window: NodeWindow, nodes: set[int]) -> list[SharedJob]:
        """Take the nodes of arrived jobs that wait for runs under warning; returns those that lack some, by id."""
        machine = self._machine
        short = [
            gathering
            for gathering in machine.gatherings.values()
            if nodes & machine.job_holds(gathering.job).keys() and not admits(window, gathering.job)
        ]
        for gathering in short:
            job = gathering.job
            del machine.gatherings[job.job_id]
            self._loans[job.job_id] = gathering.loans
            self._move_loans(job)
            for node in nodes & machine.job_holds(job).keys():
                machine.drop(machine.job_holds(job)[node])
        return sorted((gathering.job for gathering in short), key=lambda job: job.job_id)

    def _runs_on(self, window: NodeWindow, nodes: set[int]) -> list[SharedRun]:
        machine = self._machine
        return [
            run
            for run in machine.runs.values()
            if not nodes.isdisjoint(run.taken) and not admits(window, machine.jobs[run.job_id])
        ]

    def _preempt(self, window: NodeWindow, nodes: set[int]) -> None:
        """Preempt jobs by ascending preemption overhead, on-demand jobs last; malleable ones have their warning."""
        machine = self._machine
        # A job with a walltime that ends just in time ends within a tick.
        runs = [
            run for run in self._runs_on(window, nodes) if run.running and run.expected_end > machine.now + TOLERANCE
        ]
        jobs = machine.jobs
        runs.sort(key=lambda run: (jobs[run.job_id].on_demand, run.loss(machine.now), run.job_id))
        for run in runs:
            machine.preempt(run, f"by {_name(window)}")
            self._move_loans(jobs[run.job_id])
            if run.over:
                self._book.release(run.taken)

    def _move_loans(self, job: SharedJob) -> None:
        """A job will return other nodes than those that it has borrowed."""
        for loan in self._loans.get(job.job_id, ()):
            loan.moved = True

    def _fail(self, window: NodeWindow, nodes: set[int], short: list[SharedJob]) -> None:
        """Let nodes fail: malleable jobs go on without them if they can, on-demand jobs get others."""
        machine = self._machine
        for run in sorted(self._runs_on(window, nodes), key=lambda run: run.job_id):
            job = machine.jobs[run.job_id]
            if run.over:
                continue
            if not run.running:
                self._vacate(run)
                continue
            rest = {node: part for node, part in run.taken.items() if node not in nodes}
            if run.malleable and job.demand.divided and len(rest) >= job.state.smallest:
                run.job.shrinks += 1
                machine.resize(run, rest, f"shrunk by {_name(window)}")
                continue
            machine.preempt(run, f"by {_name(window)}", warned=False)
            if job.on_demand:
                # The job keeps its other nodes, and is the first to get replacements.
                self._move_loans(job)
                del machine.waiting[job.job_id]
                job.state.waiting = False
                for node in sorted(rest):
                    if machine.covers(job, node):
                        machine.hold(job, node)
                short.append(job)
            else:
                self._book.release(run.taken)
        for job in sorted(short, key=lambda job: job.job_id):
            self._arrivals.replace(job)


def _name(window: NodeWindow) -> str:
    outage = window.outage
    return f"{outage.kind} {window.number}" + (f" ({outage.name})" if outage.name else "")
