"""Completed runs in nested groups: same user, walltime and size class; same user; same project; all runs.

A runtime is stored as a share of the walltime. A run that hit its walltime has the share 1. Source: docs/forecast.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from holdfast.experiments.forecast.recent_shares import RecentShares
from holdfast.experiments.forecast.run_columns import RunColumns
from holdfast.workloads.fits import make_fits

if TYPE_CHECKING:
    from holdfast.workloads.distributions import Distribution

__all__ = ["ALL", "Compared", "Group", "PastRun", "Runs", "job_groups", "request_group"]

#: Key of a group of runs: user with walltime and size class, user, project, or all.
Group = tuple[object, ...]
#: The group of all runs.
ALL: Group = ("all",)
#: Number of most recent runs of a group that are used, because workloads change.
_RECENT = 50
#: Prior weight k: a group of n runs has the weight n / (n + k), because few runs may not represent the next one.
_DOUBT = 5
#: Levels closer than this are equal.
_SAME = 1e-9
_NORMAL_SCORE = NormalDist().inv_cdf


@dataclass(frozen=True, slots=True)
class PastRun:
    """A completed run.

    Attributes
    ----------
    nodes
        Requested nodes.
    walltime
        Requested walltime [s].
    share
        Runtime over walltime, above 0 and at most 1.
    user, project
        Names; empty if unknown.
    wait
        From submit to start [s]; None: unknown.
    submit, end
        Submit and end [s]; None: unknown, and then no past state contains it.
    """

    nodes: int
    walltime: float
    share: float
    user: str = ""
    project: str = ""
    wait: float | None = None
    submit: float | None = None
    end: float | None = None


class Compared(NamedTuple):
    """A run compared with the distribution known before it ended.

    Attributes
    ----------
    score
        Its level in the distribution as a normal score.
    apart
        Distance of the level from one half, averaged over the levels of equal runs.
    residual
        Its work minus the expected work [node-seconds].
    deviation
        Standard deviation of the work by the distribution [node-seconds].
    """

    score: float
    apart: float
    residual: float
    deviation: float


def request_group(user: str, walltime: float, nodes: int) -> Group:
    """The finest group of a job."""
    return ("request", user, walltime, math.frexp(nodes)[1])


def job_groups(user: str, project: str, walltime: float, nodes: int) -> Iterator[Group]:
    """The groups of a job, the finest first; without user names in a log, all jobs have the same user."""
    yield request_group(user, walltime, nodes)
    if user:
        yield ("user", user)
    if project:
        yield ("project", project)
    yield ALL


class Runs:
    """Completed runs by group, and the distributions fitted to them.

    Parameters
    ----------
    runs
        The runs, in the order of their ends.
    """

    def __init__(self, runs: Iterable[PastRun] = ()) -> None:
        self._shares: dict[Group, list[float]] = {}
        #: Ends of the runs of each group [s], where known.
        self._ends: dict[Group, list[float]] = {}
        #: Number of runs and fitted distribution, by group and kind of fit.
        self._distributions: dict[tuple[Group, str], tuple[int, Distribution]] = {}
        self._pairs: list[tuple[float, float, int]] = []
        #: Runs with known submit, wait and end, and their submits and ends.
        self._timed: list[PastRun] = []
        self._submits: list[float] = []
        self._ended: list[float] = []
        #: Runs in each past state, by time.
        self._there: dict[float, list[int]] = {}
        #: Compared runs of past states, by run number, time of the state, and fewest runs.
        self._compared: dict[tuple[int, float, int], Compared | None] = {}
        #: Last shares of groups, by their numbers of runs.
        self._recent: dict[tuple[Group, int], RecentShares] = {}
        for run in runs:
            self.add(run)

    @classmethod
    def from_columns(cls, columns: RunColumns) -> Runs:
        """The runs of a log, all of whose times are known."""
        runs = cls()
        runs._timed = list(map(PastRun, *columns.fields()))
        runs._pairs = [(run.walltime, run.wait, run.nodes) for run in runs._timed if run.wait is not None]
        runs._submits = [run.submit for run in runs._timed if run.submit is not None]
        runs._ended = columns.ends.tolist()
        for group, places in columns.groups():
            runs._shares[group] = columns.shares[places].tolist()
            runs._ends[group] = columns.ends[places].tolist()
        return runs

    def add(self, run: PastRun) -> None:
        """Add a run that ended no earlier than those already added."""
        if run.wait is not None:
            self._pairs.append((run.walltime, run.wait, run.nodes))
            if run.submit is not None and run.end is not None:
                self._timed.append(run)
                self._submits.append(run.submit)
                self._ended.append(run.end)
        for group in job_groups(run.user, run.project, run.walltime, run.nodes):
            self._shares.setdefault(group, []).append(run.share)
            if run.end is not None:
                self._ends.setdefault(group, []).append(run.end)

    def until(self, at: float) -> Runs:
        """The runs that had ended by a time, where all ends are known; fits are shared between times."""
        return _RunsUntil(self, at)

    def count(self, group: Group) -> int:
        """Number of runs of a group."""
        return len(self._shares.get(group, ()))

    def shares(self, group: Group, last: int | None = None) -> Sequence[float]:
        """Runtimes over walltimes of a group's last runs; None: all runs."""
        count = self.count(group)
        return self._shares.get(group, [])[0 if last is None else max(0, count - last) : count]

    def pairs(self) -> Sequence[tuple[float, float, int]]:
        """Walltime [s], wait [s] and nodes of each run with a known wait."""
        return self._pairs

    def distribution(self, group: Group, fit: str) -> Distribution:
        """The distribution of the shares of a group's last runs, cached for the same runs."""
        count = self.count(group)
        known = self._distributions.get((group, fit))
        if known is None or known[0] != count:
            shares = self.shares(group, None if group == ALL else _RECENT)
            known = count, make_fits(fit, shares, 1.0).chosen.good()
            self._distributions[group, fit] = known
        return known[1]

    def trust(self, group: Group) -> float:
        """Probability, from 0 to 1, that a draw uses this group rather than the next one."""
        return _trust(group, self.count(group))

    # Past states.

    def timed_count(self) -> int:
        """Number of runs with known times."""
        return len(self._timed)

    def there(self, at: float) -> Sequence[int]:
        """Numbers of the runs with known times that waited or ran at a time."""
        known = self._there.get(at)
        if known is None:
            first = bisect_right(self._ended, at)
            known = self._there[at] = (np.flatnonzero(np.asarray(self._submits[first:]) <= at) + first).tolist()
        return known[: bisect_left(known, self.timed_count())]

    def run(self, number: int) -> PastRun:
        """A run with known times, by number in the order of the ends."""
        return self._timed[number]

    def compare_run(self, number: int, at: float, least: int) -> Compared | None:
        """Compare a run with the distribution known at a time when it waited or ran.

        Parameters
        ----------
        number
            Number of the run.
        at
            A time when it waited or ran [s].
        least
            Fewest runs of a group to be used.

        Returns
        -------
        Compared or None
            Compared with the last runs of its groups that had ended by then and were longer than its elapsed time;
            None: there were none.
        """
        key = number, at, least
        if key not in self._compared:
            self._compared[key] = self._beside(self._timed[number], at, least)
        return self._compared[key]

    def _recent_shares(self, group: Group, count: int) -> RecentShares:
        """The last shares of a group's first runs, kept because the jobs of a queue are compared with the same ones."""
        if (group, count) not in self._recent:
            self._recent[group, count] = RecentShares.of(self._shares[group][max(0, count - _RECENT) : count])
        return self._recent[group, count]

    def _beside(self, run: PastRun, at: float, least: int) -> Compared | None:
        done = max(0.0, at - (run.submit or 0.0) - (run.wait or 0.0)) / run.walltime
        share, rest = run.share, 1.0
        level = lowest = highest = mean = square = weights = 0.0
        for group in job_groups(run.user, run.project, run.walltime, run.nodes):
            count = bisect_right(self._ends.get(group, ()), at)
            if count < least:
                continue
            ordered, totals, squares = self._recent_shares(group, count)
            first = bisect_right(ordered, done) if done else 0
            longer, trust = len(ordered) - first, _trust(group, count)
            weight = rest * trust * longer / len(ordered)
            rest *= 1.0 - trust
            if not longer:
                continue
            # Its rank among these runs and itself; ties share their middle rank.
            below, up_to = bisect_left(ordered, share, first) - first, bisect_right(ordered, share, first) - first
            level += weight * (0.5 * (below + up_to) + 0.5) / (longer + 1)
            lowest += weight * below / longer
            highest += weight * up_to / longer
            mean += weight * totals[first] / longer
            square += weight * squares[first] / longer
            weights += weight
        if not weights:
            return None
        mean /= weights
        deviation = math.sqrt(max(0.0, square / weights - mean * mean))
        work = run.nodes * run.walltime
        apart = _apart(lowest / weights, highest / weights)
        return Compared(_NORMAL_SCORE(level / weights), apart, work * (share - mean), work * deviation)


def _apart(low: float, high: float) -> float:
    """Mean distance from one half between two levels."""
    below, above = low - 0.5, high - 0.5
    if above - below < _SAME:
        return abs(above)
    return 0.5 * (above * abs(above) - below * abs(below)) / (above - below)


class _RunsUntil(Runs):
    """View of the runs that had ended by a time; fits to the same runs are shared between times."""

    def __init__(self, runs: Runs, at: float) -> None:
        super().__init__()
        self._all, self._at = runs, at
        self._shares, self._ends, self._distributions = runs._shares, runs._ends, runs._distributions
        self._timed, self._submits, self._ended = runs._timed, runs._submits, runs._ended
        self._there, self._compared, self._recent = runs._there, runs._compared, runs._recent

    def count(self, group: Group) -> int:
        return bisect_right(self._ends.get(group, ()), self._at)

    def pairs(self) -> Sequence[tuple[float, float, int]]:
        return self._all.pairs()[: self.count(ALL)]

    def timed_count(self) -> int:
        return bisect_right(self._ended, self._at)


def _trust(group: Group, count: int) -> float:
    recent = min(_RECENT, count)
    return 1.0 if group == ALL else recent / (recent + _DOUBT)
