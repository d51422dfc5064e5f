"""What a replay found, from the numbers that its loop has written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.simulator.resources.loop_arguments import LoopArguments
from holdfast.simulator.resources.loop_state import PASSES, PAST
from holdfast.simulator.resources.machine_jobs import JobStart, JobWait
from holdfast.simulator.resources.node_pools import NodePools, PoolRun
from holdfast.simulator.resources.preemptions import PAST_RUN
from holdfast.simulator.resources.replay_columns import ReplayColumns
from holdfast.simulator.resources.wait_causes import (
    BACKFILLED,
    CAUSES,
    LIMITED_UNTIL,
    OTHER,
    PROMISED,
    PROMISED_AT,
    WAITED,
)

__all__ = ["LoopOutcome", "job_wait", "loop_outcome"]

Ints = npt.NDArray[np.int64]


class LoopOutcome(NamedTuple):
    """What a replay found for each job and each pass.

    Attributes
    ----------
    starts
        Where and when each job ran; None: it did not.
    submits, queued
        When each job was submitted, and began to wait [ticks]; of a job that never came, as given.
    gone
        When a job was cancelled before it started [ticks]; None: it was not.
    past
        Runs that an outage ended, with the row of the job, in the order of their ends.
    instants, stranded
        Ticks of each pass, and the amounts that were stranded from it on, shape (passes, resources).
    """

    starts: list[JobStart | None]
    submits: list[int]
    queued: list[int]
    gone: list[int | None]
    past: list[tuple[int, JobStart]]
    instants: Ints
    stranded: Ints


class _Run(NamedTuple):
    """A run in the numbers of the loop.

    Attributes
    ----------
    job
        Number of the job, by arrival.
    start, end
        [ticks].
    first, size
        Its nodes stand at ``size`` places from ``first`` on.
    option
        Number of its option.
    """

    job: int
    start: int
    end: int
    first: int
    size: int
    option: int


def loop_outcome(columns: ReplayColumns, pools: NodePools, given: LoopArguments) -> LoopOutcome:
    """What the loop has written, by the rows of the jobs.

    Parameters
    ----------
    columns
        The jobs, with each pool as one node.
    pools
        The pools.
    given
        Arguments of the loop, after its end.
    """
    lives, records = given.lives, given.records
    last, past = _last_runs(given.runs), _past_runs(records)
    job_starts = _JobStarts(columns, pools, given, last, past)
    order = columns.arrival.tolist()
    starts: list[JobStart | None] = [None] * len(order)
    for run in last:
        starts[order[run.job]] = job_starts.make(run)
    passes, resources = int(records.state[PASSES]), len(columns.table.resources)
    return LoopOutcome(
        starts,
        _by_row(columns, lives.submits),
        _by_row(columns, lives.arrivals),
        [None if tick < 0 else tick for tick in _by_row(columns, lives.gone)],
        [(order[run.job], job_starts.make(run)) for run in past],
        np.asarray(records.instants, np.int64)[:passes],
        np.asarray(records.stranded, np.int64)[: passes * resources].reshape(passes, resources),
    )


def job_wait(columns: ReplayColumns, order: Sequence[int], noted: list[int]) -> JobWait:
    """What a job waited for (:mod:`holdfast.simulator.resources.wait_causes`); ``order`` numbers the jobs."""
    limit, nodes, reservation = noted[WAITED : WAITED + 3]
    promised = noted[PROMISED] >= 0
    return JobWait(
        limit,
        nodes,
        reservation,
        noted[LIMITED_UNTIL] if limit else None,
        columns.jobs[order[noted[OTHER]]].job_id if noted[OTHER] >= 0 else None,
        noted[PROMISED] if promised else None,
        noted[PROMISED_AT] if promised else None,
    )


def _last_runs(runs: Any) -> list[_Run]:
    """The last run of each job that ran to its end, by arrival."""
    columns = [_plain(values) for values in (runs.starts, runs.ends, runs.first, runs.size, runs.option)]
    every = map(_Run._make, zip(count(), *columns))
    return [run for run in every if run.size]


def _past_runs(records: Any) -> list[_Run]:
    """Runs that an outage ended (:func:`holdfast.simulator.resources.preemptions.keep_past_run`)."""
    numbers = np.asarray(records.past, np.int64)[: int(records.state[PAST]) * PAST_RUN]
    return [_Run._make(row) for row in numbers.reshape(-1, PAST_RUN).tolist()]


def _by_row(columns: ReplayColumns, values: Any) -> list[int]:
    """Numbers of the jobs by arrival, in the order of their rows."""
    found = np.empty(len(columns.jobs), np.int64)
    found[columns.arrival] = values
    return _plain(found)


def _plain(values: Any) -> list[int]:
    """Numbers of an array or a list as a list of Python's numbers."""
    found: list[int] = np.asarray(values).tolist()
    return found


class _JobStarts:
    """Makes a :class:`JobStart` of each run.

    Parameters
    ----------
    columns, pools, given
        As for :func:`loop_outcome`.
    last, past
        The last run of each job, and those that an outage ended.
    """

    def __init__(
        self, columns: ReplayColumns, pools: NodePools, given: LoopArguments, last: list[_Run], past: list[_Run]
    ) -> None:
        self._columns = columns
        self._order = columns.arrival.tolist()
        self._stopped = _plain(given.queue.stopped)
        self._causes = np.asarray(given.queue.causes, np.int64).reshape(-1, CAUSES).tolist()
        # Nodes are written down in the order of starts.
        in_order = sorted([*last, *past], key=attrgetter("first"))
        self._places = {run.first: place for place, run in enumerate(in_order)}
        self._partitions = [columns.distinct[need].partition for need, _ in columns.options]
        numbers = np.asarray(given.runs.node, np.int64)
        self._nodes = np.asarray(columns.nodes.places)[numbers]
        self._taken = np.asarray(given.runs.amount, np.int64).reshape(-1, len(columns.table.resources))
        # Memory is zero on nodes where it is not counted.
        self._taken[:, 1] *= np.asarray(columns.nodes.counts_memory)[numbers]
        self._pooled = self._runs_in_pools(pools, in_order)

    def _runs_in_pools(
        self, pools: NodePools, in_order: list[_Run]
    ) -> dict[int, tuple[Sequence[int], tuple[tuple[int, ...], ...]]]:
        """Nodes in pools and what is taken of each, by the first place of the run."""
        cores = self._taken[:, 0].tolist()
        pooled = {
            run.first: PoolRun(run.start, run.end, self._partitions[run.option], cores[run.first])
            for run in in_order
            if self._partitions[run.option] in pools
        }
        nodes = pools.nodes(list(pooled.values()))
        return {first: (own, pools.amounts(run)) for (first, run), own in zip(pooled.items(), nodes, strict=True)}

    def make(self, run: _Run) -> JobStart:
        """Where and when a run was."""
        columns, causes, stopped = self._columns, self._causes[run.job], self._stopped[run.job]
        return JobStart(
            run.start,
            run.end,
            columns.table.machine.partitions[self._partitions[run.option]].name,
            *self._job_nodes(run),
            None if stopped < 0 else columns.limits.limits[stopped],
            job_wait(columns, self._order, causes),
            self._places[run.first],
            backfilled=bool(causes[BACKFILLED]),
        )

    def _job_nodes(self, run: _Run) -> tuple[Sequence[int], tuple[tuple[int, ...], ...]]:
        """The nodes of a run, and what it took of each."""
        if run.first in self._pooled:
            return self._pooled[run.first]
        own = slice(run.first, run.first + run.size)
        return tuple(self._nodes[own].tolist()), tuple(map(tuple, self._taken[own].tolist()))
