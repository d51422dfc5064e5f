"""Cleaning: the rules by which records of a log become jobs of a trace.

All readers of logs pass their records to one :class:`Intake`. Jobs are thus excluded or clipped in one place only, and
counted under one set of names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import ParameterError, TraceError
from holdfast.workloads.ground.row_views import Codes
from holdfast.workloads.ground.units import LARGEST_SIZE, LARGEST_TIME, SHORTEST_TIME
from holdfast.workloads.logs.filters import Condition
from holdfast.workloads.logs.trace import Trace, TraceJob, TraceJobs, Withdrawn

__all__ = ["BROKEN_LINE", "NO_RUNTIME", "NO_WALLTIME", "Intake", "OutOfBoundsError", "Records", "Tally",
           "check_procs_per_node"]  # fmt: skip

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Reason for lines that cannot be parsed.
BROKEN_LINE = "broken line"
#: Reason for jobs that did not run.
NO_RUNTIME = "runtime <= 0"
#: Remark on jobs without a known request.
NO_WALLTIME = "without a walltime (the runtime is used)"
_OVERRUN = "ran longer than the walltime (killed at the walltime)"
#: Values of a column that a message names, and their length.
_SHOWN, _LONG = 10, 40
#: Columns that most logs lack.
_RARE = ("wait", "think_time", "killed", "partition", "project", "user")
_TIMES = ("submit time", "runtime", "walltime", "wait", "think time", "eligible time")


class OutOfBoundsError(ValueError):
    """A record contains a size or a time that is too large to simulate.

    Attributes
    ----------
    row
        Its place among the records.
    """

    def __init__(self, row: int, sentence: str) -> None:
        super().__init__(sentence)
        self.row = row


@dataclass
class Records:
    """Records of a log in columns, each as an argument of :meth:`Intake.add` says, shape (n,).

    Users, projects and partitions are codes of the intake. Unknown are a wait below 0, a preceding job of 0 and a think
    time below 0.
    """

    job_id: Ints
    submit: Floats
    nodes: Ints
    runtime: Floats
    walltime: Floats
    wait: Floats
    user: NDArray[np.int32]
    project: NDArray[np.int32]
    stopped: Mask
    preceding: Ints
    think_time: Floats
    partition: NDArray[np.int32]


class Tally:
    """What is counted of some records at once, in the order in which one after the other would be counted."""

    def __init__(self) -> None:
        self._noted: list[tuple[int, int, Counter[str], str, int]] = []

    def note(self, counter: Counter[str], reason: str, which: Mask) -> None:
        """Count these records; if a record is noted twice, the first reason counts first."""
        count = int(np.count_nonzero(which))
        if count:
            self._noted.append((int(which.argmax()), len(self._noted), counter, reason, count))

    def take(self, other: Tally, places: Ints) -> None:
        """Add the notes of another tally about the records at these places."""
        for first, _, *entry in other._noted:
            self._noted.append((int(places[first]), len(self._noted), *entry))  # type: ignore[arg-type]

    def count(self) -> None:
        """Count what has been noted."""
        for _, _, counter, reason, count in sorted(self._noted, key=lambda item: item[:2]):
            counter[reason] += count
        self._noted.clear()


class Intake:
    """Collects the jobs of one log: one by one (:meth:`add`) or in columns (:meth:`take`), by the same rule.

    Attributes
    ----------
    jobs
        The jobs kept so far, in file order.
    excluded
        Excluded records, counted by reason.
    remarks
        Irregularities of records that were kept, counted by kind.
    withdrawn
        Excluded jobs that were cancelled before they started.
    codes
        Users, projects and partitions of the records that are taken in columns.
    """

    def __init__(self) -> None:
        self.jobs: list[TraceJob] = []
        self.withdrawn: list[Withdrawn] = []
        self.excluded: Counter[str] = Counter()
        self.remarks: Counter[str] = Counter()
        self.codes = Codes()
        self._parts: list[dict[str, NDArray[Any]]] = []
        self._taken = 0
        self._latest = 0.0
        self._others: dict[str, dict[str, None]] = {}

    def add(
        self,
        job_id: int,
        submit: float | None,
        nodes: int,
        runtime: float,
        walltime: float,
        wait: float | None = None,
        user: str = "",
        project: str = "",
        stopped: bool = False,
        preceding: int | None = None,
        think_time: float | None = None,
        partition: str = "",
        eligible: float | None = None,
        node_list: str = "",
        qos: str = "",
        job_class: str = "",
    ) -> bool:
        """Take one record.

        Parameters
        ----------
        job_id
            As in the log.
        submit
            Submit time [s]; None or negative: unknown.
        nodes
            Requested size; <= 0: unknown.
        runtime, walltime
            As recorded and requested [s]; <= 0: none, unknown.
        wait
            Recorded wait, from the eligible time if there is one after the submit [s]; None or negative: unknown.
        user, project
            Empty if unknown.
        stopped
            Whether the log says that the job was stopped at its walltime.
        preceding, think_time
            Job that must terminate before the submit, and the time between the two [s]; None if unknown.
        partition, node_list, qos, job_class
            Empty if unknown.
        eligible
            When the job could start [s]; None, or not after the submit: from its submit on.

        Returns
        -------
        bool
            Whether the job was kept.

        Raises
        ------
        ValueError
            If it would be kept, but a size or a time is larger than any that can be simulated; a sentence that says
            which, and what is legal.
        """
        if nodes <= 0:
            self.excluded["nodes <= 0"] += 1
            return False
        if runtime <= SHORTEST_TIME:
            self.excluded[NO_RUNTIME] += 1
            return False
        if submit is None or submit < 0:
            self.excluded["no submit time"] += 1
            return False
        if wait is not None and wait < 0:
            wait = None
        if (
            nodes > LARGEST_SIZE
            or submit > LARGEST_TIME
            or runtime > LARGEST_TIME
            or walltime > LARGEST_TIME
            or (wait is not None and wait > LARGEST_TIME)
            or (think_time is not None and think_time > LARGEST_TIME)
            or (eligible is not None and eligible > LARGEST_TIME)
        ):
            raise ValueError(_out_of_bounds(nodes, submit, runtime, walltime, wait, think_time, eligible))
        killed = False
        if walltime <= SHORTEST_TIME:
            self.remarks[NO_WALLTIME] += 1
            walltime = runtime
        elif runtime > walltime:
            self.remarks[_OVERRUN] += 1
            runtime = walltime
            killed = True
        elif stopped and runtime == walltime:
            killed = True
        if submit < self._latest:
            self.remarks["submitted before the job in the line above"] += 1
        self._latest = submit
        owners = user, project, preceding, think_time
        if eligible is not None and eligible <= submit:
            eligible = None
        rare: dict[str, Any] = {}
        if partition or node_list or qos or job_class or eligible is not None:
            rare = {"partition": partition, "eligible": eligible, "node_list": node_list, "qos": qos}
            rare["job_class"] = job_class
        self.jobs.append(TraceJob(job_id, submit, nodes, runtime, walltime, killed, wait, *owners, **rare))
        return True

    def take(self, records: Records, tally: Tally, *, lenient: bool = False) -> Mask:
        """Take records in columns.

        Parameters
        ----------
        records
            Any number of them.
        tally
            Receives exclusions and irregularities.
        lenient
            Whether records that are out of bounds are counted as broken lines.

        Returns
        -------
        ndarray
            Whether each record is kept, shape (n,).

        Raises
        ------
        OutOfBoundsError
            As :meth:`add` raises a ValueError.
        """
        nodes, runtime, walltime, submit = records.nodes, records.runtime, records.walltime, records.submit
        unusable = {"nodes <= 0": nodes <= 0, NO_RUNTIME: runtime <= SHORTEST_TIME, "no submit time": submit < 0}
        kept = np.ones(len(nodes), np.bool_)
        for reason, rows in unusable.items():
            tally.note(self.excluded, reason, kept & rows)
            kept &= ~rows
        times = submit, runtime, walltime, records.wait, records.think_time
        beyond = nodes > LARGEST_SIZE
        for column in times:
            beyond |= column > LARGEST_TIME
        beyond &= kept
        if beyond.any():
            if not lenient:
                row = int(beyond.argmax())
                sentence = _out_of_bounds(int(nodes[row]), *(float(column[row]) for column in times), None)
                raise OutOfBoundsError(row, sentence)
            tally.note(self.excluded, BROKEN_LINE, beyond)
            kept &= ~beyond
        without_walltime = walltime <= SHORTEST_TIME
        overrun = ~without_walltime & (runtime > walltime)
        stopped_at_walltime = ~without_walltime & records.stopped & (runtime == walltime)
        tally.note(self.remarks, NO_WALLTIME, kept & without_walltime)
        tally.note(self.remarks, _OVERRUN, kept & overrun)
        submitted = submit[kept]
        submitted_above = np.concatenate(([self._latest], submitted[:-1]))
        early = np.zeros_like(kept)
        early[kept] = submitted < submitted_above
        tally.note(self.remarks, "submitted before the job in the line above", early)
        if len(submitted):
            self._latest = float(submitted[-1])
        columns: dict[str, NDArray[Any]] = {
            "job_id": records.job_id, "submit": submit, "nodes": nodes, "runtime": np.where(overrun, walltime, runtime),
            "walltime": np.where(without_walltime, runtime, walltime), "killed": overrun | stopped_at_walltime,
            "wait": np.where(records.wait < 0, np.nan, records.wait),
            "user": records.user, "project": records.project, "partition": records.partition,
            "preceding": records.preceding,
            "think_time": np.where(records.think_time < 0, np.nan, records.think_time),
        }  # fmt: skip
        self._parts.append({name: column[kept] for name, column in columns.items()})
        self._taken += len(submitted)
        return kept

    def withdraw(
        self,
        reason: str,
        job_id: int,
        submit: float | None,
        nodes: int,
        walltime: float,
        wait: float | None,
        user: str = "",
        project: str = "",
        preceding: int | None = None,
        think_time: float | None = None,
        tasks: tuple[range, ...] = (),
        eligible: float | None = None,
        place: int | None = None,
        qos: str = "",
    ) -> None:
        """Remember a record, counted as left out for that reason, of a job that was cancelled before it started.

        One without submit, size, walltime, or time of the cancellation (its wait) is nothing that could be replayed.
        What it would have run is unknown: its walltime is the most, and it is then killed there. ``tasks``: ids of the
        jobs that the record stands for, if these are several. ``wait`` counts from ``eligible``, if that is after the
        submit. ``place``: before which of the jobs kept it stands; None: after those kept so far.
        """
        if submit is None or submit < 0 or nodes <= 0 or walltime <= SHORTEST_TIME or wait is None or wait < 0:
            return
        if eligible is not None and eligible <= submit:
            eligible = None
        cancelled_at = (submit if eligible is None else eligible) + wait
        if nodes > LARGEST_SIZE or max(cancelled_at, walltime, think_time or 0.0) > LARGEST_TIME:
            return
        job = TraceJob(
            job_id, submit, nodes, walltime, walltime, True, wait, user, project, preceding, think_time, cancelled_at,
            eligible=eligible, qos=qos,
        )  # fmt: skip
        self.withdrawn.append(Withdrawn(len(self.jobs) if place is None else place, reason, job, tasks))

    def pass_over(self, condition: Condition, cell: str, jobs: int = 1) -> None:
        """Count a record that does not fulfil a condition, and remember what stands in the column instead."""
        self.excluded[condition.reason] += jobs
        self.see_other(condition, cell)

    def see_other(self, condition: Condition, cell: str) -> None:
        """Remember what stands in a column instead of what is wanted."""
        others = self._others.setdefault(condition.name, {})
        if len(others) <= _SHOWN:
            others[cell.strip()] = None

    def trace(
        self, path: str | Path, format: str, nodes: int | None, header: Mapping[str, str], unit: str = "nodes"
    ) -> Trace:
        """Return the collected jobs as a trace.

        Raises
        ------
        TraceError
            If no job is left.
        """
        jobs = self._collect()
        if not jobs:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.excluded.most_common())
            advice = "; ".join(f"{name} is {_list_values(list(cells))}" for name, cells in self._others.items())
            raise TraceError(path, None, f"no job is left ({reasons})" if reasons else "holds no job", advice)
        ids = np.sort(jobs.column("job_id"))
        repeated = int(np.count_nonzero(ids[1:] == ids[:-1]))
        if repeated:
            self.remarks["job id seen before"] += repeated
        details = dict(header), dict(self.excluded), dict(self.remarks), tuple(self.withdrawn)
        return Trace(jobs, nodes, str(path), format, *details, unit)

    @property
    def taken(self) -> int:
        """Number of jobs kept among those taken in columns."""
        return self._taken

    def _collect(self) -> TraceJobs:
        if not self._parts:
            return TraceJobs(self.jobs)
        columns: dict[str, NDArray[Any]] = {}
        for name in list(self._parts[0]):
            parts = [part.pop(name) for part in self._parts]
            column = parts[0] if len(parts) == 1 else np.concatenate(parts)
            if name == "preceding":
                if not column.any():
                    continue
                column = np.where(column == 0, None, column)  # type: ignore[call-overload]  # objects
            columns[name] = column
        found = TraceJobs((), columns, self.codes.names)
        # Columns without values take no memory.
        return found.with_columns(**{name: None for name in _RARE if not found.has(name)})


def _list_values(cells: list[str]) -> str:
    """The first values of a column."""
    names = [cell[:_LONG] or "empty" for cell in cells[:_SHOWN]]
    return " or ".join([*names, "something else"] if len(cells) > _SHOWN else names)


def _out_of_bounds(nodes: int, *times: float | None) -> str:
    """Describe the value that is too large: the size of a job, or the first of these times."""
    if nodes > LARGEST_SIZE:
        return f"the size of a job must be at most {LARGEST_SIZE:,}, not {nodes:,}"
    name, seconds = next(
        (name, seconds) for name, seconds in zip(_TIMES, times, strict=True) if seconds and seconds > LARGEST_TIME
    )
    return f"the {name} of a job must be at most {LARGEST_TIME:,.0f} s, not {seconds:.15g}"


def check_procs_per_node(procs_per_node: int | None) -> None:
    """Reject an illegal number of processors per node.

    Raises
    ------
    ParameterError
        If it is not None and not an integer from 1 to the largest size.
    """
    if procs_per_node is not None and (not isinstance(procs_per_node, int) or not 1 <= procs_per_node <= LARGEST_SIZE):
        raise ParameterError("procs_per_node", f"a whole number from 1 to {LARGEST_SIZE:,}", procs_per_node)
