"""Reconciliation of a Slurm with the desired state: commands for each difference, tried again while it remains.

Nothing is remembered but when a command may be tried again, so that it works the same after a restart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import inf

from holdfast.experiments.slurm.actuator import FIRST, Actuator, limit_minutes
from holdfast.experiments.slurm.controller import Controller, Refusal
from holdfast.experiments.slurm.slurm_state import Held, Seen, SlurmState
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Gathering, Run
from holdfast.simulator.machine.run import is_malleable
from holdfast.workloads.ground.units import to_seconds
from holdfast.workloads.table.job import JobType

__all__ = ["Reconciliation"]

#: Time for which nodes stay reserved beyond the expected need, and before its end the reservation is prolonged [s].
_SPARE, _SHORT = 600.0, 120.0
#: Time for Slurm to show the effect of a command on a job, which doubles with each refusal up to the longest [s].
_PAUSE, _LONGEST = 15.0, 600.0
#: Number of refusals after which Slurm's state is accepted.
_REFUSALS = 4


class Reconciliation:
    """Compares Slurm with the desired state.

    Parameters
    ----------
    controller
        The desired state.
    actuator
        Executes the commands.
    """

    def __init__(self, controller: Controller, actuator: Actuator) -> None:
        self._controller, self._shadow, self._actuator = controller, controller.shadow, actuator
        self._next: dict[Refusal, float] = {}
        self._refusals: Counter[Refusal] = Counter()
        self._now = 0.0

    def act(self, state: SlurmState, now: float) -> list[Refusal]:
        """Send the commands that bring Slurm to the desired state.

        Parameters
        ----------
        state
            What was read of Slurm, and has been entered into the desired state.
        now
            Time on Slurm's clock [s since 1970].

        Returns
        -------
        list
            What Slurm has refused so often that its own state should be accepted.
        """
        self._now = now
        controller, seen = self._controller, state.jobs
        self._actuator.ids |= {number: shown.number for number, shown in seen.items()}
        # Nodes are reserved before any job leaves them.
        self._reserve(state)
        for job_id in sorted(controller.left):
            if job_id in seen and not seen[job_id].ended:
                self._free_nodes(controller.jobs[job_id], seen[job_id])
        for job_id in sorted(controller.left):
            self._use_nodes(controller.jobs[job_id], seen.get(job_id))
        over = [key for key, count in self._refusals.items() if count >= _REFUSALS and key[1] in _ACCEPTED]
        for key in over:
            del self._refusals[key], self._next[key]
        return over

    def _free_nodes(self, job: JobState, shown: Seen) -> None:
        """Let jobs that are to give up nodes do so."""
        shadow, actuator, job_id = self._shadow, self._actuator, job.job_id
        running = shown.state == "RUNNING"
        old = shadow.vacating.get(job_id)
        if running and (old is not None or job_id in shadow.leaving):
            self._try(job_id, f"save {shown.start}", lambda: actuator.ask_to_save(job), once=True)
        if running and old is not None and old.due <= shadow.now:
            self._try(job_id, "requeue", lambda: actuator.requeue(job))
        run = shadow.runs.get(job_id)
        if running and run is not None and job_id not in shadow.awaited and is_malleable(run):
            wanted = shadow.named.numbers(run)
            if shown.nodes - wanted and shown.nodes & wanted:
                self._try(job_id, "shrink", lambda: actuator.shrink(job, shown.nodes & wanted))
            elif shown.nodes - wanted:
                self._refusals[job_id, "shrink"] = _REFUSALS
                self._next[job_id, "shrink"] = self._now

    def _use_nodes(self, job: JobState, shown: Seen | None) -> None:
        """Let jobs that are to have nodes get them."""
        shadow, actuator, job_id = self._shadow, self._actuator, job.job_id
        ordered = shadow.awaited.get(job_id)
        nodes = frozenset(shadow.named.numbers(ordered[0])) if ordered is not None else frozenset()
        if shown is None:
            if job.waiting:
                urgent = job.type is JobType.ON_DEMAND
                self._try(job_id, "submit", lambda: actuator.submit(job, first=urgent))
            elif ordered is not None:
                self._try(job_id, "submit", lambda: actuator.submit_on(job, nodes))
        elif shown.state == "PENDING":
            if ordered is not None:
                if not shown.reserved or shown.required != nodes or shown.delayed:
                    self._try(job_id, "place", lambda: actuator.place(job, nodes))
            elif job.waiting:
                if shown.reserved or shown.required or shown.delayed:
                    self._try(job_id, "release", lambda: actuator.release(job))
                elif job.type is JobType.ON_DEMAND and shown.priority < FIRST:
                    self._try(job_id, "put first", lambda: actuator.put_first(job))
        elif shown.state == "RUNNING" and ordered is None:
            run = shadow.runs.get(job_id)
            if run is not None:
                self._keep(job, run, shown)

    def _keep(self, job: JobState, run: Run, shown: Seen) -> None:
        """Give a running job its nodes and its limit."""
        shadow, actuator, job_id = self._shadow, self._actuator, job.job_id
        if shown.reserved:
            self._try(job_id, "detach", lambda: actuator.leave_reservation(job))
        if not is_malleable(run):
            return
        wanted = shadow.named.numbers(run)
        if wanted > shown.nodes:
            self._try(job_id, "grow", lambda: actuator.grow(job, wanted - shown.nodes))
        actuator.announce_size(job, len(shown.nodes))
        limit = run.expected_end - run.start
        if abs(limit_minutes(limit) - shown.minutes) >= 1:
            self._try(job_id, f"limit {limit_minutes(limit)}", lambda: actuator.limit(job, limit), once=True)

    def _try(self, job_id: int, what: str, command: Callable[[], bool], *, once: bool = False) -> None:
        """Send a command, unless its last try is too recent."""
        key = job_id, what
        if self._next.get(key, -inf) > self._now:
            return
        if command():
            self._refusals.pop(key, None)
            # The effect of a command on the reservation shows at once.
            self._next[key] = inf if once else self._now + _PAUSE * bool(job_id)
        else:
            self._refusals[key] += 1
            self._next[key] = self._now + min(_PAUSE * 2 ** self._refusals[key], _LONGEST)

    # The reservation.

    def _reserve(self, state: SlurmState) -> None:
        wanted, seconds = self._wanted_nodes(state)
        held, actuator = state.held, self._actuator
        if not wanted:
            if held is not None:
                self._try(0, "release nodes", actuator.delete_reservation)
            return
        if held is None:
            self._try(0, f"reserve {sorted(wanted)}", lambda: actuator.create_reservation(wanted, seconds))
        elif held.nodes != wanted or _expires(held, self._now):
            self._try(0, f"hold {sorted(wanted)}", lambda: actuator.change_reservation(wanted, seconds))

    def _wanted_nodes(self, state: SlurmState) -> tuple[set[int], float]:
        """Nodes to reserve, and for how long from now on [s]."""
        shadow, seen = self._shadow, state.jobs
        kept = shadow.named.held_nodes()
        ends = [max(item.estimated_arrival, shadow.now) + item.walltime for item in shadow.reservations]
        ends += [item.ready + item.job.walltime for item in shadow.named.accounts() if isinstance(item, Gathering)]
        for job_id, run in shadow.runs.items():
            nodes, shown = shadow.named.numbers(run), seen.get(job_id)
            # Borrowed nodes must return, and no other job may take them in between.
            if run.lenders or job_id in shadow.awaited or job_id in shadow.borrowers:
                kept |= nodes
                ends.append(run.expected_end)
            elif shown is not None and (shown.reserved or nodes - shown.nodes):
                kept |= nodes
        if not shadow.on_demand_waits and any(item.missing > 0 for item in shadow.reservations):
            # All nodes, so that no node that becomes free is taken.
            kept = set(range(1, shadow.nodes + 1))
        return kept, _SPARE + to_seconds(max([*ends, shadow.now]) - shadow.now)


#: What is accepted after several refusals.
_ACCEPTED = ("submit", "grow", "shrink")


def _expires(held: Held, now: float) -> bool:
    return 0 < held.end < now + _SHORT
