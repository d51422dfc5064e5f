"""Records of jobs and reservations, stored in columns; single records are created on access."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.simulator.machine.event_log import Sample
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.row_views import ColumnRows
from holdfast.workloads.ground.units import SECOND, to_seconds
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from holdfast.policies.planning.plan_book import Planned
    from holdfast.simulator.machine.stochastic import ReservationRecord

__all__ = [
    "ABSENT",
    "LAST_TICK",
    "SLOWDOWN_BOUND",
    "STATES",
    "STATUSES",
    "TYPES",
    "Accounting",
    "JobRecord",
    "Records",
    "Samples",
    "StochasticRecord",
    "refuse_late_end",
    "whole_column",
]

Column = NDArray[Any]

#: Represents None in 64-bit columns; columns of objects hold None itself.
ABSENT = -(2**63)
#: The last tick of a simulation, which limits the times in tables.
LAST_TICK = 2**63 - 1
#: Types and states of jobs; columns hold indices into these.
TYPES = tuple(JobType)
STATUSES = ("completed", "killed", "no_show", "cancelled")
_TYPE = {kind: place for place, kind in enumerate(TYPES)}
_STATUS = {status: place for place, status in enumerate(STATUSES)}

#: Lower bound of runtimes in the bounded slowdown [ticks].
SLOWDOWN_BOUND = 10 * SECOND


class JobRecord(NamedTuple):
    """Outcome of one job; times in ticks of the job table's clock.

    Attributes
    ----------
    job_id, type, nodes
        As in the job table; under the baseline the type is only a label.
    submit, start, end
        First submit (on-demand jobs: the actual arrival), first start, completion; None for a no-show.
    runtime
        Undisturbed runtime.
    preemptions, shrinks
        Numbers of preemptions and of shrinks.
    status
        ``completed``, ``killed`` (at its walltime), ``no_show``, or ``cancelled`` (at ``end``, by its user, or because
        a limit never let it run again; ``start`` is None if it was still waiting).
    lost
        Node-ticks lost to preemptions, and for a stochastic job also in reservations that saved nothing.
    eligible
        Time at which it became eligible, if after its submit; otherwise None.
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
        """Time at which it entered the queue, being eligible [ticks]; only for a job that arrived."""
        return self.submit if self.eligible is None else self.eligible  # type: ignore[return-value]  # it arrived

    @property
    def wait(self) -> int:
        """Time from eligibility to the first start [ticks]; only for a job that started."""
        return self.start - self.queued  # type: ignore[operator]  # it started

    @property
    def turnaround(self) -> int:
        """Time from the first submit to the completion [ticks]; only for a job that arrived."""
        return self.end - self.submit  # type: ignore[operator]  # it arrived

    @property
    def bounded_slowdown(self) -> float:
        """Turnaround over the undisturbed runtime or its lower bound, at least 1 (docs/model.md, "Metrics")."""
        return max(1.0, self.turnaround / max(self.runtime, SLOWDOWN_BOUND))


def whole_column(values: Iterable[int | None]) -> Column:
    """Column of 64-bit integers with :data:`ABSENT` for None, or of objects if a number is larger.

    >>> whole_column([1, None]).tolist() == [1, ABSENT], whole_column([2**70]).tolist() == [2**70]
    (True, True)
    """
    given = values if isinstance(values, list | tuple) else list(values)
    try:
        return np.array(given, np.int64)
    except TypeError:  # None
        pass
    except OverflowError:
        return np.array(given, object)
    if ABSENT in given:
        return np.array(given, object)
    return whole_column([ABSENT if value is None else value for value in given])


class Records(ColumnRows[JobRecord]):
    """Outcomes of all jobs, in the order of the job table.

    Parameters
    ----------
    columns
        The fields of :class:`JobRecord` as columns of shape (n,): 64-bit integers, :data:`ABSENT` where a record has
        None; ``type`` and ``status`` are indices into :data:`TYPES` and :data:`STATUSES`. Missing ``preemptions``,
        ``shrinks`` and ``lost`` are 0; without ``eligible`` no job was held.
    """

    def __init__(self, **columns: Column) -> None:
        nothing = np.zeros(len(columns["job_id"]), np.int64)
        self.columns: dict[str, Column] = {
            name: columns.get(name, nothing) for name in JobRecord._fields if name != "eligible" or name in columns
        }

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Records:
        """Make columns from records, or from tuples with their fields."""
        fields = list(zip(*rows, strict=True)) or [()] * len(JobRecord._fields)
        columns = dict(zip(JobRecord._fields, fields, strict=True))
        coded = {
            "type": np.array([_TYPE[kind] for kind in columns.pop("type")], np.int8),
            "status": np.array([_STATUS[status] for status in columns.pop("status")], np.int8),
        }
        if not any(time is not None for time in columns["eligible"]):
            del columns["eligible"]
        return cls(**coded, **{name: whole_column(values) for name, values in columns.items()})

    def __len__(self) -> int:
        return len(self.columns["job_id"])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Records):
            return self.columns.keys() == other.columns.keys() and all(
                np.array_equal(column, other.columns[name]) for name, column in self.columns.items()
            )
        return list(self) == other

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __repr__(self) -> str:
        return f"Records({count_text(len(self), 'jobs')})"

    def column(self, name: str) -> Column:
        """The column of a field, or ``queued``; ``eligible`` is :data:`ABSENT` for jobs that were not held."""
        if name == "queued":
            return self.queued
        if name == "eligible" and name not in self.columns:
            return np.full(len(self), ABSENT)
        return self.columns[name]

    def part(self, rows: Column | slice) -> Records:
        """Select records by a mask, indices or a slice."""
        return Records(**{name: column[rows] for name, column in self.columns.items()})

    def are(self, kind: JobType) -> Column:
        """Mask of the jobs of a type, shape (n,)."""
        found: Column = self.columns["type"] == _TYPE[kind]
        return found

    def have(self, status: str) -> Column:
        """Mask of the jobs with a status, shape (n,)."""
        found: Column = self.columns["status"] == _STATUS[status]
        return found

    @property
    def held(self) -> bool:
        """Whether any job became eligible after its submit."""
        return "eligible" in self.columns and bool((self.columns["eligible"] != ABSENT).any())

    @property
    def came(self) -> Column:
        """Mask of the jobs that arrived."""
        found: Column = self.columns["submit"] != ABSENT
        return found

    @property
    def started(self) -> Column:
        """Mask of the jobs that started."""
        found: Column = self.columns["start"] != ABSENT
        return found

    @property
    def ran(self) -> Column:
        """Mask of the jobs that started and were not cancelled."""
        found: Column = self.started & (self.columns["end"] != ABSENT) & ~self.have("cancelled")
        return found

    @property
    def queued(self) -> Column:
        """:attr:`JobRecord.queued` of each job."""
        if not self.held:
            return self.columns["submit"]
        return np.where(self.columns["eligible"] == ABSENT, self.columns["submit"], self.columns["eligible"])

    @property
    def wait(self) -> Column:
        """:attr:`JobRecord.wait` of each job; valid only for jobs that started."""
        return self.columns["start"] - self.queued

    @property
    def turnaround(self) -> Column:
        """:attr:`JobRecord.turnaround` of each job; valid only for jobs that arrived."""
        return self.columns["end"] - self.columns["submit"]

    @property
    def bounded_slowdown(self) -> Column:
        """:attr:`JobRecord.bounded_slowdown` of each job; valid only for jobs that arrived."""
        return np.maximum(1.0, self.turnaround / np.maximum(self.columns["runtime"], SLOWDOWN_BOUND))

    def _make_rows(self, rows: slice) -> list[JobRecord]:
        fields: list[Any] = []
        for name in JobRecord._fields:
            values = self.column(name)[rows].tolist()
            if name == "type":
                values = [TYPES[place] for place in values]
            elif name == "status":
                values = [STATUSES[place] for place in values]
            elif name in ("submit", "start", "end", "eligible"):
                values = [None if value == ABSENT else value for value in values]
            fields.append(values)
        return list(map(JobRecord._make, zip(*fields, strict=True)))


class Samples(ColumnRows[Sample]):
    """The machine at the end of each instant.

    Attributes
    ----------
    table
        Time [ticks of the simulated clock], busy nodes, held nodes, waiting jobs, nodes requested by these; shape (n,
        5).
    """

    def __init__(self, table: NDArray[np.int64]) -> None:
        self.table = table

    @classmethod
    def of(cls, rows: list[Sample]) -> Samples:
        """Make samples from a list."""
        # Three times as fast as numpy.array of a list of tuples.
        return cls(np.fromiter(chain.from_iterable(rows), np.int64, 5 * len(rows)).reshape(-1, 5))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Column:
        return np.array(self.table, dtype)

    def __len__(self) -> int:
        return len(self.table)

    def __eq__(self, other: object) -> bool:
        return np.array_equal(self.table, other.table) if isinstance(other, Samples) else list(self) == other

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def column(self, place: int) -> Column:
        """One of the five columns."""
        return self.table[:, place]

    def busy_after(self, time: int) -> int:
        """Node-ticks that are occupied after a time, which is none before the first sample."""
        place = int(np.searchsorted(self.column(0), time, side="right"))
        after = self.table[place - 1 :, :2].tolist()
        return sum(nodes * (until - max(at, time)) for (at, nodes), (until, _) in pairwise(after))

    def _make_rows(self, rows: slice) -> list[Sample]:
        return [(time, busy, held, jobs, nodes) for time, busy, held, jobs, nodes in self.table[rows].tolist()]


class StochasticRecord(NamedTuple):
    """The reservations of a stochastic job.

    Attributes
    ----------
    job_id, application, strategy
        As in the job table; ``strategy`` is its column ``plan``.
    runtime
        True runtime [ticks].
    known_plan
        Its plan and expected cost (:attr:`planned`); None: unknown.
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
        """Its plan and expected cost.

        Raises
        ------
        InputError
            If the record was read from a directory, which does not contain plans.
        """
        if self.known_plan is None:
            raise InputError("a result read from a directory has no plans; simulate again")
        return self.known_plan


class Accounting(NamedTuple):
    """Node-ticks from the first submit to the last completion; they sum to N x elapsed exactly.

    Attributes
    ----------
    compute, setup, checkpoint
        Node-ticks of all runs; the setup of a preempted run counts as lost.
    lost, warning
        Lost to preemptions (setups, compute time without checkpoint, partial dumps) and to reservations that saved
        nothing; and time under warning.
    held
        Reserved, or gathered while others are under warning.
    idle
        Neither occupied nor held.
    down
        Down for maintenance or by failures.
    """

    compute: int
    setup: int
    checkpoint: int
    lost: int
    warning: int
    held: int
    idle: int
    down: int = 0

    def by_state(self) -> dict[str, int]:
        """Node-ticks by state; ``down`` only if there are any."""
        named = self._asdict()
        if not self.down:
            del named["down"]
        return named


#: States of nodes without outages.
STATES = Accounting._fields[:-1]


def refuse_late_end(now: int, origin: int) -> None:
    """Refuse a simulation that ends later than tables can hold.

    Raises
    ------
    InputError
        With the end of the simulation.
    """
    if now + abs(origin) > LAST_TICK:
        raise InputError(
            f"the jobs take until {to_seconds(now + origin):.3g} s, and a simulation must end by "
            f"{to_seconds(LAST_TICK):,.0f} s"
        )
