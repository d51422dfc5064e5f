"""Intake: the records of a log become the jobs of a trace, cleaned by one rule.

All readers of logs hand their records to one :class:`Intake`, so that there is one place where a job is left out or
clipped, and one set of names under which that is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workloads.ground.errors import ParameterError, TraceError
from workloads.ground.units import LARGEST_SIZE, LARGEST_TIME, SHORTEST_TIME
from workloads.logs.choice import Condition
from workloads.logs.trace import Trace, TraceJob, Withdrawn

__all__ = ["BROKEN_LINE", "NO_RUNTIME", "NO_WALLTIME", "Intake", "check_procs_per_node"]

#: Reason under which lines are counted that cannot be read at all.
BROKEN_LINE = "broken line"
#: Reason for jobs that did not run.
NO_RUNTIME = "runtime <= 0"
#: Remark on jobs without a known request.
NO_WALLTIME = "no walltime: the runtime taken"
#: Values of a column that a message names, and their length.
_SHOWN, _LONG = 10, 40
_TIMES = ("submit time", "runtime", "walltime", "wait", "think time", "eligible time")


class Intake:
    """Collects the jobs of one log.

    Attributes
    ----------
    jobs
        The jobs kept so far, in file order.
    excluded
        Records left out, counted by reason.
    remarks
        Oddities read all the same, counted by kind.
    withdrawn
        Those left out that were withdrawn before they started.
    """

    def __init__(self) -> None:
        self.jobs: list[TraceJob] = []
        self.withdrawn: list[Withdrawn] = []
        self.excluded: Counter[str] = Counter()
        self.remarks: Counter[str] = Counter()
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
            Job on whose termination the submit depends, and the time between the two [s]; None if unknown.
        partition, node_list, qos
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
            self.remarks["ran longer than the walltime: killed there"] += 1
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
        if partition or node_list or qos or eligible is not None:
            rare = {"partition": partition, "eligible": eligible, "node_list": node_list, "qos": qos}
        self.jobs.append(TraceJob(job_id, submit, nodes, runtime, walltime, killed, wait, *owners, **rare))
        return True

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
    ) -> None:
        """Remember a record, counted as left out for that reason, of a job that was withdrawn before it started.

        One without submit, size, walltime, or time of the withdrawal (its wait) is nothing that could be replayed.
        What it would have run is unknown: its walltime is the most, and it is then killed there. ``tasks``: ids of the
        jobs that the record stands for, if these are several. ``wait`` counts from ``eligible``, if that is after the
        submit.
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
            eligible=eligible,
        )  # fmt: skip
        self.withdrawn.append(Withdrawn(len(self.jobs), reason, job, tasks))

    def pass_over(self, condition: Condition, cell: str, jobs: int = 1) -> None:
        """Count a record that does not fulfil a condition, and remember what stands in the column instead."""
        self.excluded[condition.reason] += jobs
        others = self._others.setdefault(condition.name, {})
        if len(others) <= _SHOWN:
            others[cell.strip()] = None

    def trace(
        self, path: str | Path, format: str, nodes: int | None, header: Mapping[str, str], unit: str = "nodes"
    ) -> Trace:
        """What was collected, as a trace.

        Raises
        ------
        TraceError
            If no job is left.
        """
        if not self.jobs:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.excluded.most_common())
            advice = "; ".join(f"{name} is {_listed(list(cells))}" for name, cells in self._others.items())
            raise TraceError(path, None, f"no job is left ({reasons})" if reasons else "holds no job", advice)
        repeated = len(self.jobs) - len({job.job_id for job in self.jobs})
        if repeated:
            self.remarks["job id seen before"] += repeated
        return Trace(
            tuple(self.jobs),
            nodes,
            str(path),
            format,
            dict(header),
            dict(self.excluded),
            dict(self.remarks),
            tuple(self.withdrawn),
            unit,
        )


def _listed(cells: list[str]) -> str:
    """The first values of a column."""
    names = [cell[:_LONG] or "empty" for cell in cells[:_SHOWN]]
    return " or ".join([*names, "something else"] if len(cells) > _SHOWN else names)


def _out_of_bounds(nodes: int, *times: float | None) -> str:
    """What is too large: the size of a job, or the first of these times."""
    if nodes > LARGEST_SIZE:
        return f"the size of a job must be at most {LARGEST_SIZE:,}, not {nodes:,}"
    name, seconds = next(
        (name, seconds) for name, seconds in zip(_TIMES, times, strict=True) if seconds and seconds > LARGEST_TIME
    )
    return f"the {name} of a job must be at most {LARGEST_TIME:,.0f} s, not {seconds:.15g}"


def check_procs_per_node(procs_per_node: int | None) -> None:
    """Refuse a number of processors per node that is none.

    Raises
    ------
    ParameterError
        If it is not None and not an integer from 1 to the largest size.
    """
    if procs_per_node is not None and (not isinstance(procs_per_node, int) or not 1 <= procs_per_node <= LARGEST_SIZE):
        raise ParameterError("procs_per_node", f"a whole number from 1 to {LARGEST_SIZE:,}", procs_per_node)
