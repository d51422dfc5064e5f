"""Groups of jobs to compare: by user, project, partition, QOS, size, type, week or hour."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from holdfast.experiments.recordings.week_blocks import WEEK
from holdfast.policies.planning.waits.fitting import size_classes
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = ["GROUPS", "ORDERED", "TIMES", "group_names", "places_by_name"]

#: Ways to group the jobs.
GROUPS = ("user", "project", "account", "partition", "qos", "size", "type", "week", "hour")
#: Those by the time of submission.
TIMES = ("week", "hour")
#: Those that are shown in their own order, others by their losses.
ORDERED = (*TIMES, "size")
#: Smallest share of the jobs in a size class.
_CLASS = 20


def group_names(
    by: str, jobs: Sequence[Job], submits: np.ndarray, epoch: float | None = None, unit: str = "nodes"
) -> list[str]:
    """Name of the group of each job.

    Parameters
    ----------
    by
        One of :data:`GROUPS`. Slurm's account is the project of other logs.
    jobs, submits
        The jobs and when they were submitted [s], shape (jobs,).
    epoch
        Unix time at which the clock of ``submits`` is 0; None: unknown, so that hours are those of the log's clock.
    unit
        Unit of sizes: ``nodes`` or ``processors``.

    Raises
    ------
    InputError
        If the jobs lack the attribute that groups them.
    """
    table = Jobs.of(jobs)
    if by == "type":
        kinds = list(map(str, JobType))
        return [kinds[code] for code in table.column("type").tolist()]
    if by == "size":
        return _sizes(table.column("nodes").tolist(), unit)
    if by == "week":
        weeks = np.floor((submits - submits.min()) / WEEK).astype(int).tolist()
        if epoch is None:
            return [f"week {week + 1}" for week in weeks]
        first = epoch + float(submits.min())
        return [f"from {datetime.fromtimestamp(first + week * WEEK, UTC):%Y-%m-%d}" for week in weeks]
    if by == "hour":
        hours = np.floor((submits + (epoch or 0.0)) / 3600).astype(int) % 24
        return [f"{hour:02}:00" for hour in hours.tolist()]
    found = table.texts("project" if by == "account" else by)
    if not any(found):
        raise InputError(f"the jobs name no {by}: choose another group ({', '.join(GROUPS)})")
    return [name or f"no {by}" for name in found]


def places_by_name(by: str, names: Sequence[str]) -> dict[str, Sequence[int]]:
    """Places of the jobs of each group, in the order in which the groups appear; hours and sizes in their own order.

    >>> places_by_name("user", ["b", "a", "b"]), list(places_by_name("hour", ["13:00", "02:00"]))
    ({'b': [0, 2], 'a': [1]}, ['02:00', '13:00'])
    >>> list(places_by_name("size", ["129 to 1,024 nodes", "17 to 128 nodes", "1 to 16 nodes"]))
    ['1 to 16 nodes', '17 to 128 nodes', '129 to 1,024 nodes']
    """
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        groups.setdefault(name, []).append(place)
    if by == "hour":
        return dict(sorted(groups.items()))
    if by == "size":
        return dict(sorted(groups.items(), key=lambda group: _first_size(group[0])))
    return dict(groups)


def _first_size(name: str) -> int:
    """Smallest size of a class."""
    return int(name.partition(" ")[0].replace(",", ""))


def _sizes(sizes: Sequence[int], unit: str) -> list[str]:
    """Classes of sizes with about a twentieth of the jobs or more each."""
    ends = size_classes(sizes, max(1, len(sizes) // _CLASS))
    starts = [1, *(end + 1 for end in ends)]
    words = [_span(*pair, unit) for pair in zip(starts, [*ends, max(sizes)], strict=True)]
    return [words[int(place)] for place in np.searchsorted(ends, sizes)]


def _span(start: int, end: int, unit: str) -> str:
    """Sizes from ``start`` to ``end``.

    >>> _span(1, 8, "nodes"), _span(1, 1, "nodes"), _span(64, 64, "processors")
    ('1 to 8 nodes', '1 node', '64 processors')
    """
    if start < end:
        return f"{start:,} to {end:,} {unit}"
    return f"{start:,} {unit.removesuffix('s') if start == 1 else unit}"
