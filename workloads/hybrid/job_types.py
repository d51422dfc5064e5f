"""Conversion of the jobs of a trace to typed jobs, given their types and random numbers.

Source: Fan et al., IPDPS 2022, sections IV-A and IV-B; docs/model.md, parameter ``overheads``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.ground.units import LARGEST_TIME, SECOND, to_seconds, to_ticks
from holdfast.workloads.hybrid.checkpointing import checkpoint_cost, checkpoint_interval
from holdfast.workloads.logs.trace import TraceJobs
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = ["Overheads", "TypedJobs"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: A duration longer than any job [ticks]; sums with it are below 2^63.
_ENDLESS = 1 << 62


class Overheads(Protocol):
    """The parameters of the conversion; see :class:`holdfast.workloads.hybrid.type_mix.Assignment`."""

    @property
    def rigid_setup(self) -> tuple[float, float]: ...
    @property
    def malleable_setup(self) -> tuple[float, float]: ...
    @property
    def min_share(self) -> float: ...
    @property
    def overheads(self) -> str: ...
    @property
    def node_mtbf(self) -> float: ...
    @property
    def checkpoint_factor(self) -> float: ...
    @property
    def extra_dumps(self) -> str: ...
    @property
    def walltimes(self) -> str: ...


@dataclass
class TypedJobs:
    """Jobs of a trace during their conversion to a job table.

    Parameters
    ----------
    trace
        The jobs.

    Attributes
    ----------
    submit, runtime, walltime
        Times of the jobs [ticks], shape (n,); runtime and walltime are at least a tick, and the runtime is at most the
        walltime.
    job_id
        Ids of the trace if they are unique, else positions in the file from 1, shape (n,).
    kinds
        Index of each job's type in :class:`~holdfast.workloads.table.job.JobType`, shape (n,).
    made
        Further columns of the job table.
    longer
        Time that overheads add to each job [ticks], shape (n,).
    """

    trace: TraceJobs
    submit: Ints = field(init=False)
    runtime: Ints = field(init=False)
    walltime: Ints = field(init=False)
    job_id: Ints = field(init=False)
    kinds: NDArray[np.int8] = field(init=False)
    made: dict[str, NDArray[Any]] = field(init=False)
    longer: Ints = field(init=False)

    def __post_init__(self) -> None:
        trace = self.trace
        self.submit = in_ticks(trace.column("submit"))
        self.walltime = np.maximum(1, in_ticks(trace.column("walltime")))
        self.runtime = np.minimum(np.maximum(1, in_ticks(trace.column("runtime"))), self.walltime)
        ids = trace.column("job_id")
        ordered = np.sort(ids)
        self.job_id = np.arange(1, len(ids) + 1) if (ordered[1:] == ordered[:-1]).any() else ids
        self.kinds = np.zeros(len(trace), np.int8)
        self.longer = np.zeros(len(trace), np.int64)
        self.made = {name: trace.columns[name] for name in _CARRIED if name in trace.columns}
        for name in ("cancelled_at", "running_since", "eligible"):
            if trace.has(name):
                # Missing values stay NaN.
                self.made[name] = np.rint(trace.columns[name] * SECOND) / SECOND

    def be(self, which: Mask, kind: JobType) -> None:
        """Give these jobs a type."""
        self.kinds[which] = list(JobType).index(kind)

    def set_up(self, which: Mask, bounds: tuple[float, float], draws: Floats) -> Ints:
        """Give these jobs a setup from ``draws`` in [0, 1) for all jobs, shape (n,); return their setups [ticks]."""
        setup = np.rint(self.runtime[which] * (bounds[0] + draws[which] * (bounds[1] - bounds[0]))).astype(np.int64)
        self._column("setup", 0.0)[which] = setup / SECOND
        return setup

    def come_when_eligible(self, which: Mask) -> None:
        """Move the submits of these jobs to their eligible times."""
        if "eligible" in self.made:
            eligible = self.trace.columns["eligible"]
            held = which & ~np.isnan(eligible)
            self.submit[held] = in_ticks(eligible[held])
            self._column("eligible", np.nan)[which] = np.nan

    def arrive(self, which: Mask, notice: Ints, arrival: Ints, noticed: Mask, comes: Mask) -> None:
        """Give the on-demand jobs ``which`` their notices and arrivals; all arrays have one element for each of them.

        ``which`` must not include running jobs, because these have arrived.
        """
        nothing = np.nan
        self._column("notice", nothing)[which] = np.where(noticed, notice / SECOND, nothing)
        self._column("estimated_arrival", nothing)[which] = np.where(noticed, self.submit[which] / SECOND, nothing)
        if "cancelled_at" in self.made:
            # The time from arrival to cancellation stays the same; jobs that never arrive need no cancellation.
            cancelled = self.trace.columns["cancelled_at"][which]
            known = comes & ~np.isnan(cancelled)
            at = arrival + in_ticks(np.where(known, cancelled, 0.0)) - self.submit[which]
            self._column("cancelled_at", nothing)[which] = np.where(known, at / SECOND, nothing)
        self.submit[which] = arrival
        absent = np.flatnonzero(which)[~comes]
        if len(absent):
            self._column("submit", nothing)[absent] = 1.0

    def checkpoint(self, which: Mask, setup: Ints, how: Overheads) -> None:
        """Give rigid jobs checkpoints at Daly's interval, and extend them by additional checkpoints."""
        nodes, runtime = self.trace.column("nodes")[which], self.runtime[which]
        cost = _by_size(nodes, lambda size: to_ticks(checkpoint_cost(size)))
        daly = _by_size(nodes, lambda size: _interval(size, 1.0, how.node_mtbf))
        interval = _by_size(nodes, lambda size: _interval(size, how.checkpoint_factor, how.node_mtbf))
        if how.overheads == "added":
            compute, dumps, booked = runtime, _dumps(runtime, daly), np.zeros_like(runtime)
            longer = setup
        else:
            # The recorded run took checkpoints at Daly's interval; its compute time stays the same, and the number of
            # checkpoints changes.
            dumps = _dumps(runtime - setup, daly + cost)
            booked = dumps * cost
            compute = runtime - setup - booked
            longer = np.zeros_like(runtime)
        number = np.where(interval == daly, dumps, _dumps(compute, interval))
        if how.extra_dumps == "free":
            # The cost is rounded down to ticks: the job is not longer than at Daly's interval, and shorter by less than
            # a tick per checkpoint.
            cost = np.where(number > dumps, dumps * cost // np.maximum(number, 1), cost)
        endless = number > _ENDLESS // np.maximum(cost, 1)
        self.longer[which] = longer + np.where(endless, _ENDLESS, number * cost) - booked
        self._column("checkpoint_interval", np.nan)[which] = interval / SECOND
        self._column("checkpoint_cost", 0.0)[which] = cost / SECOND

    def shrink(self, which: Mask, share: float) -> None:
        """Give malleable jobs their smallest sizes."""
        # 0.07 x 100 is 7.000000000000001 in binary; rounding before the ceiling gives the intended 7.
        smallest = _by_size(self.trace.column("nodes")[which], lambda size: max(1, math.ceil(round(share * size, 9))))
        self._column("min_nodes", None)[which] = smallest.tolist()

    def plan(self, which: Mask, applications: NDArray[np.int64], names: list[str], plan: str) -> None:
        """Give stochastic jobs a plan and their applications, which are indices into ``names``."""
        cost = _by_size(self.trace.column("nodes")[which], lambda size: to_ticks(checkpoint_cost(size))) / SECOND
        known = self.trace.names
        self.names = [*known, "", plan, *names]
        self._column("application", len(known))[which] = applications + len(known) + 2
        self._column("plan", len(known))[which] = len(known) + 1
        self._column("checkpoint_cost", 0.0)[which] = cost
        self._column("restart_cost", 0.0)[which] = cost
        # A run that was killed has no known end: its runtime is only a lower bound of the time to completion.
        self.made["killed"] = self.trace.column("killed") & ~which

    def jobs(self, walltimes: str = "extended") -> Jobs:
        """The job table: jobs with overheads in their times, and with the times of the trace for the baseline.

        Raises
        ------
        ParameterError
            If a walltime with overheads exceeds the largest legal time.
        """
        runtime, walltime, made = self.runtime / SECOND, self.walltime / SECOND, self.made
        moved = self.longer != 0
        if moved.any():
            made["trace_runtime"] = np.where(moved, runtime, np.nan)
            made["trace_walltime"] = np.where(moved, walltime, np.nan)
            whole = in_ticks(runtime) + self.longer
            if walltimes == "trace":
                killed = moved & (whole > in_ticks(walltime))
                made["killed"] = self._column("killed", False) | killed
                runtime = np.where(moved, np.where(killed, walltime, whole / SECOND), runtime)
            else:
                runtime = np.where(moved, whole / SECOND, runtime)
                longer = (in_ticks(walltime) + self.longer) / SECOND
                self._check(moved & (longer > LARGEST_TIME), longer)
                walltime = np.where(moved, longer, walltime)
        submit = self.submit / SECOND
        if "submit" in made:
            submit[~np.isnan(made.pop("submit"))] = np.nan
        columns: dict[str, NDArray[Any]] = {
            "job_id": self.job_id, "type": self.kinds, "submit": submit, "nodes": self.trace.column("nodes"),
            "runtime": runtime, "walltime": walltime, **made,
        }  # fmt: skip
        return Jobs((), columns, getattr(self, "names", self.trace.names))

    def _check(self, beyond: Mask, walltime: Floats) -> None:
        if beyond.any():
            place = int(beyond.argmax())
            raise ParameterError(
                f"walltime of job {self.job_id[place]} with its overheads",
                f"at most {LARGEST_TIME:,.0f} s (a larger checkpoint_factor makes fewer checkpoints)",
                float(walltime[place]),
            )

    def _column(self, name: str, default: object) -> NDArray[Any]:
        """A further column, writable."""
        found = self.made.get(name)
        kind = np.int32 if isinstance(default, int) and not isinstance(default, bool) else None
        made = np.full(len(self.trace), default, kind) if found is None else found.copy()
        self.made[name] = made
        return made


#: Columns of a trace that are copied to its job table.
_CARRIED = ("user", "project", "killed", "partition", "qos")


def _by_size(nodes: Ints, value: Callable[[int], int]) -> Ints:
    """A number for each job that depends only on its size."""
    # Jobs have few distinct sizes, so that the function is called once for each.
    sizes, places = np.unique(nodes, return_inverse=True)
    found: Ints = np.array(list(map(value, sizes.tolist())), np.int64)[places]
    return found


def _interval(nodes: int, factor: float, node_mtbf: float) -> int:
    """Compute time between two checkpoints [ticks], at least 1, at most the largest time of a table (no checkpoint)."""
    return to_ticks(min(max(checkpoint_interval(nodes, factor, node_mtbf), to_seconds(1)), LARGEST_TIME))


def _dumps(time: Ints, period: Ints) -> Ints:
    """Vectorised :func:`holdfast.workloads.hybrid.checkpointing.checkpoints_of_compute`."""
    dumps: Ints = np.maximum(0, -(-time // period) - 1)
    return dumps
