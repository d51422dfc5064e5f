"""Paired differences between outcomes of the same jobs, for all jobs and for groups of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.recordings.gain_rows import gain_rows
from holdfast.experiments.recordings.job_groups import group_names, places_by_name
from holdfast.experiments.recordings.week_blocks import assign_clusters
from holdfast.experiments.statistics import Interval
from holdfast.experiments.whatif.blocks import percentile_gap
from holdfast.experiments.whatif.operation import Operation
from holdfast.experiments.whatif.outcomes import ScheduleOutcome
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.clock import LogClock
from holdfast.workloads.table.jobs import Jobs

__all__ = ["GROUPINGS", "METRICS", "Contrast", "JobGroups", "contrast", "group_gains", "group_jobs"]

#: Metrics of each run that are shown and stored.
METRICS = (
    *("wait_h", "wait_p99_h", "wait_max_h", "bounded_slowdown", "turnaround_h", "starved"),
    "utilization_to_last_submit",
)
#: Groups of jobs with gains and losses to show.
GROUPINGS = ("user", "project", "partition", "qos", "size", "hour")
_MEASURES = ("wait_h", "turnaround_h", "bounded_slowdown")


@dataclass(frozen=True)
class JobGroups:
    """The jobs of a log by group, and in blocks of time.

    Attributes
    ----------
    groups
        Places of the jobs of each group, by grouping; groupings with a single group are missing.
    clusters
        Block of each job, shape (n,).
    cluster
        Length of the blocks: ``week``, ``day``, ...
    """

    groups: Mapping[str, Mapping[str, Sequence[int]]]
    clusters: NDArray[np.int64]
    cluster: str


@dataclass(frozen=True)
class Contrast:
    """An alternative beside today's rule.

    Attributes
    ----------
    operation
        The alternative.
    summary, reference
        Metrics of the alternative and of today's rule for the same jobs, means over the draws.
    rows
        Paired difference of each measure over all jobs, as :func:`holdfast.experiments.recordings.gain_rows.gain_rows`
        gives it.
    p99
        Difference of the 99th percentiles of the waits [h], with its interval.
    groups
        Differences of the waits by grouping and group.
    use
        Utilisation in each period, shape (periods,).
    draws
        Number of random draws; 0: nothing is random.
    left_out
        Number of jobs that the alternative cannot run.
    on_demand
        Number of on-demand jobs of each draw, and share of them that starts instantly under the alternative.
    """

    operation: Operation
    summary: Mapping[str, float]
    reference: Mapping[str, float]
    rows: Mapping[str, dict[str, Any]]
    p99: Interval
    groups: Mapping[str, Sequence[Mapping[str, Any]]]
    use: NDArray[np.float64]
    draws: int = 0
    left_out: int = 0
    on_demand: tuple[tuple[int, ...], float] = field(default=((), float("nan")))

    @property
    def wait(self) -> dict[str, Any]:
        """Difference of the mean waits [h]."""
        return self.rows["wait_h"]


def group_jobs(jobs: Jobs, clock: LogClock, unit: str) -> JobGroups:
    """Group the jobs of a log."""
    submits = jobs.column("submit").astype(np.float64)
    groups = {}
    for by in GROUPINGS:
        try:
            names = group_names(by, jobs, submits, clock.epoch, unit)
            if by == "hour" and clock.epoch is not None:
                names = [f"{name} {clock.zone}" for name in names]
            found = places_by_name(by, names)
        except InputError:
            continue  # the log does not have it
        if len(found) > 1:
            groups[by] = found
    cluster, clusters = assign_clusters(submits)
    return JobGroups(groups, clusters, cluster)


def group_gains(
    first: NDArray[np.float64], second: NDArray[np.float64], of: JobGroups, draws: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """Differences of the waits of the jobs that ran in both, by grouping, each with all jobs first.

    Parameters
    ----------
    first, second
        Values of each job in each draw, shape (draws or 1, n); NaN where it did not run.
    of
        The jobs by group.
    draws
        Number of random draws; 0: nothing is random.
    """
    both = np.isfinite(first) & np.isfinite(second)
    count = first.shape[1]
    place = np.cumsum(both.ravel()) - 1
    numbers = np.repeat(np.arange(len(first)), count)[both.ravel()] if draws else None
    clusters = np.tile(of.clusters, len(first))[both.ravel()]
    a, b = first[both], second[both]
    found = {}
    for by, groups in of.groups.items():
        chosen = {name: _present(np.asarray(places), both, place, count) for name, places in groups.items()}
        kept = {name: places for name, places in chosen.items() if len(places)}
        found[by] = gain_rows("wait_h", a, b, clusters, kept, numbers)  # type: ignore[arg-type]  # arrays of places
    return found


def _present(
    places: NDArray[np.int64], both: NDArray[np.bool_], place: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Places of a group among the values that are left."""
    everywhere = (places + count * np.arange(len(both))[:, None]).ravel()
    found: NDArray[np.int64] = place[everywhere[both.ravel()[everywhere]]]
    return found


def contrast(
    operation: Operation,
    reference: Sequence[ScheduleOutcome],
    outcomes: Sequence[ScheduleOutcome],
    of: JobGroups,
    draws: int = 0,
    on_demand: Sequence[NDArray[np.bool_]] = (),
) -> Contrast:
    """Compare an alternative with today's rule.

    Parameters
    ----------
    operation
        The alternative.
    reference, outcomes
        Outcomes of today's rule and of the alternative, one for each draw.
    of
        The jobs by group.
    draws
        Number of random draws; 0: nothing is random.
    on_demand
        Masks of the on-demand jobs of each draw.

    Raises
    ------
    InputError
        If no job runs in both.
    """
    waits = {name: (_stack(reference, name), _stack(outcomes, name)) for name in _MEASURES}
    both = np.isfinite(waits["wait_h"][0]) & np.isfinite(waits["wait_h"][1])
    if not both.any():
        raise InputError(f"{operation.name}: no job runs in both this and today's rule")
    clusters = np.broadcast_to(of.clusters, both.shape)[both]
    numbers = np.broadcast_to(np.arange(len(both))[:, None], both.shape)[both] if draws else None
    rows = {
        name: gain_rows(name, first[both], second[both], clusters, {}, numbers)[0]
        for name, (first, second) in waits.items()
    }
    instant = [float(outcome.summary.get("instant_start_ratio", float("nan"))) for outcome in outcomes if on_demand]
    return Contrast(
        operation,
        _means(outcomes),
        _means(reference),
        rows,
        percentile_gap(waits["wait_h"][0][both], waits["wait_h"][1][both], clusters),
        group_gains(*waits["wait_h"], of, draws),
        np.mean([outcome.use for outcome in outcomes], axis=0),
        draws,
        int(sum(one.ran.sum() for one in reference) - both.sum()) // len(reference),
        (tuple(int(mask.sum()) for mask in on_demand), float(np.mean(instant)) if instant else float("nan")),
    )


def _stack(outcomes: Sequence[ScheduleOutcome], name: str) -> NDArray[np.float64]:
    return np.stack([getattr(outcome, name) for outcome in outcomes])


def _means(outcomes: Sequence[ScheduleOutcome]) -> dict[str, float]:
    """Mean of each metric over the draws; the longest wait is that of all draws."""
    found = {name: float(np.mean([outcome.summary[name] for outcome in outcomes])) for name in METRICS}
    found["wait_max_h"] = float(max(outcome.summary["wait_max_h"] for outcome in outcomes))
    return found
