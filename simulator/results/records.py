"""Records: what a simulation leaves behind, as plain tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulator.machine.stochastic import ReservationRecord
from workloads.ground.errors import InputError
from workloads.ground.units import SECOND
from workloads.table.job import JobType

if TYPE_CHECKING:
    from policies.planning.planbook import Planned

__all__ = ["SLOWDOWN_BOUND", "STATES", "Accounting", "JobRecord", "StochasticRecord"]

#: Runtimes below this count as this in the bounded slowdown [ticks].
SLOWDOWN_BOUND = 10 * SECOND


class JobRecord(NamedTuple):
    """What became of one job; times in ticks of the job table's clock.

    Attributes
    ----------
    job_id, type, nodes
        As in the job table; under the baseline the type is only a label.
    submit, start, end
        First submit (of an on-demand job the actual arrival), first start, completion; None of a no-show.
    runtime
        Undisturbed runtime.
    preemptions, shrinks
        How often.
    status
        ``completed``, ``killed`` (at its walltime), ``no_show``, or ``cancelled`` (withdrawn by its user: ``end`` is
        when, and ``start`` is None if it waited).
    lost
        Node-ticks that preemptions have cost, and of a stochastic job reservations without a good end.
    eligible
        When it became eligible, if that was after its submit; else None.
    """

    job_id: int
    type: JobType
    submit: int | None
    start: int | None
    end: int | None
    nodes: int
    runtime: int
    preemptions: int
    shrinks: int
    status: str
    lost: int
    eligible: int | None = None

    @property
    def queued(self) -> int:
        """When it entered the queue: it was eligible, and began to wait [ticks]; only of a job that came."""
        return self.submit if self.eligible is None else self.eligible  # type: ignore[return-value]  # it came

    @property
    def wait(self) -> int:
        """From the time at which it was eligible to the first start [ticks]; only of a job that started."""
        return self.start - self.queued  # type: ignore[operator]  # it started

    @property
    def turnaround(self) -> int:
        """From the first submit to the completion [ticks]; only of a job that came."""
        return self.end - self.submit  # type: ignore[operator]  # it came

    @property
    def bounded_slowdown(self) -> float:
        """Turnaround over undisturbed runtime, short runtimes as the bound, at least 1 (docs/model.md, "Metrics")."""
        return max(1.0, self.turnaround / max(self.runtime, SLOWDOWN_BOUND))


class StochasticRecord(NamedTuple):
    """The reservations of a stochastic job.

    Attributes
    ----------
    job_id, application, strategy
        As in the job table; ``strategy`` is its column ``plan``.
    runtime
        True runtime [ticks].
    known_plan
        Its plan, and the cost that was expected of it (:attr:`planned`); None: not known.
    reservations
        In the order of their submits; the last one completed.
    """

    job_id: int
    application: str
    strategy: str
    runtime: int
    known_plan: Planned | None
    reservations: tuple[ReservationRecord, ...]

    @property
    def planned(self) -> Planned:
        """Its plan, and the cost that was expected of it.

        Raises
        ------
        InputError
            If this was read back from a directory, which does not hold it.
        """
        if self.known_plan is None:
            raise InputError("a result read from a directory has no plans; simulate again")
        return self.known_plan


class Accounting(NamedTuple):
    """Node-ticks from the first submit to the last completion; they sum to N x elapsed exactly.

    Attributes
    ----------
    compute, setup, checkpoint
        Sums over all runs; the setup of a preempted run is lost.
    lost, warning
        To preemptions: setups, unsecured compute and partial dumps; to reservations that saved nothing; and the time
        under warning.
    held
        Reserved, or waiting for a warned victim.
    idle
        Neither occupied nor held.
    down
        Taken away by maintenance or failures.
    """

    compute: int
    setup: int
    checkpoint: int
    lost: int
    warning: int
    held: int
    idle: int
    down: int = 0

    def told(self) -> dict[str, int]:
        """By name; ``down`` only where nodes were."""
        named = self._asdict()
        if not self.down:
            del named["down"]
        return named


#: Where node-ticks go on a machine that is always there.
STATES = Accounting._fields[:-1]
