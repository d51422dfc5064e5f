"""History: what the runs completed by a time tell of the runtimes of jobs that still run or wait.

A job's runtime is a share of its walltime. The share's distribution is fitted to the last completed runs of the finest
group with enough of them: those of the same user, walltime and size class; of the user; of the project; all. A run that
hit its walltime has the share 1, an atom. Jobs of one user resemble each other, the more the less time lies between
them: how much so is a property of the history. Source: docs/forecast.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from experiments.forecast.states import SeenJob
from policies.planning.waits.fitting import fit_waits
from policies.planning.waits.model import LEAST_ALPHA, WaitFit, WaitModel
from workloads.fits import METHODS, fits_of
from workloads.ground.errors import InputError, ParameterError, UnknownNameError
from workloads.ground.numbers import is_whole
from workloads.laws import DiscreteLaw
from workloads.logs.withdrawals import keep_cancelled

if TYPE_CHECKING:
    from workloads.laws import Law
    from workloads.logs.trace import Trace

__all__ = ["ALL", "Group", "History", "PastRun", "Runs", "groups_of", "history_of"]

#: A group of runs: of a user with a walltime and a size class, of a user, of a project, all.
Group = tuple[object, ...]
#: The group of all runs.
ALL: Group = ("all",)
#: So many runs of a group count, the last ones: what users run changes.
_RECENT = 50
#: A group of n runs is trusted as far as n of n + so many: a next run need not be like the few before.
_DOUBT = 5
#: Groups of at least so many runs tell how much a run is like the one before.
_FEWEST_ALIKE = 10
#: Levels of draws lie above this: a law need not end.
_TINY = 1e-12


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
    """

    nodes: int
    walltime: float
    share: float
    user: str = ""
    project: str = ""
    wait: float | None = None


class Runs:
    """Completed runs by group, and the distributions fitted to them.

    Parameters
    ----------
    runs
        The runs, in the order of their ends.
    """

    def __init__(self, runs: Iterable[PastRun] = ()) -> None:
        self._shares: dict[Group, list[float]] = {}
        #: Of how many runs each distribution is, and the distribution, by group and kind of fit.
        self._laws: dict[tuple[Group, str], tuple[int, Law]] = {}
        #: The same of the likeness of successive runs: sums of products and of squares.
        self._alike: dict[Group, tuple[int, float, float]] = {}
        self._pairs: list[tuple[float, float, int]] = []
        for run in runs:
            if run.wait is not None:
                self._pairs.append((run.walltime, run.wait, run.nodes))
            for group in groups_of(run.user, run.project, run.walltime, run.nodes):
                self._shares.setdefault(group, []).append(run.share)

    def count(self, group: Group) -> int:
        """How many runs a group has."""
        return len(self._shares.get(group, ()))

    def shares(self, group: Group, last: int | None = None) -> Sequence[float]:
        """Runtimes over walltimes of a group's last runs; None: of all."""
        count = self.count(group)
        return self._shares.get(group, [])[0 if last is None else max(0, count - last) : count]

    def pairs(self) -> Sequence[tuple[float, float, int]]:
        """Walltime [s], wait [s] and nodes of each run whose wait is known."""
        return self._pairs

    def law(self, group: Group, fit: str) -> Law:
        """The distribution of the shares of a group's last runs; fitted once for the same runs."""
        count = self.count(group)
        known = self._laws.get((group, fit))
        if known is None or known[0] != count:
            shares = self.shares(group, None if group == ALL else _RECENT)
            known = count, fits_of(fit, shares, 1.0).chosen.good()
            self._laws[group, fit] = known
        return known[1]

    def likeness(self) -> float:
        """Correlation between the normal scores of successive runs of one user, walltime and size class; 0 to 0.9."""
        products = squares = 0.0
        for group in self._shares:
            if group[0] == _FINEST and (count := self.count(group)) >= _FEWEST_ALIKE:
                known = self._alike.get(group)
                if known is None or known[0] != count:
                    known = count, *_successive(self.shares(group))
                    self._alike[group] = known
                products += known[1]
                squares += known[2]
        return min(0.9, max(0.0, products / squares)) if squares else 0.0


def _successive(shares: Sequence[float]) -> tuple[float, float]:
    """Sums of products of successive normal scores, and of their squares, without those that are all the same."""
    from scipy.special import ndtri

    values, places, counts = np.unique(np.asarray(shares), return_inverse=True, return_counts=True)
    if len(values) < 2:
        return 0.0, 0.0
    # Equal values share the middle of their ranks.
    ranks = np.cumsum(counts) - 0.5 * counts
    scores = ndtri(ranks / len(shares))[places]
    return float(scores[1:] @ scores[:-1]), float(scores @ scores) * (1.0 - 1.0 / len(shares))


class History:
    """Completed runs, and the distributions of their groups.

    Parameters
    ----------
    runs
        The runs, in the order of their ends.
    submitted
        All jobs submitted by then, for the arrivals to come, ordered by submit.
    fit
        Kind of fit, one of :data:`workloads.fits.selection.METHODS`.
    least
        Fewest runs of a group to fit a distribution to, >= 1; where there are fewer in all, all are used.

    Raises
    ------
    InputError
        If there are no runs, or ``least`` or ``fit`` is not legal.

    Examples
    --------
    >>> runs = [PastRun(4, 3600.0, share, user="ann") for share in (0.1, 0.2, 0.4)]
    >>> history = History(runs, least=3)
    >>> history.runtimes(SeenJob(1, 0.0, 4, 3600.0, "ann"), [0.9, 0.5, 0.1]).tolist()
    [360.0, 720.0, 1440.0]

    Of a job that has run for 10 minutes only the longer runs are compared with.

    >>> history.runtimes(SeenJob(1, 0.0, 4, 3600.0, "ann", start=0.0), [0.9, 0.5, 0.1], elapsed=600).tolist()
    [720.0, 720.0, 1440.0]
    """

    def __init__(
        self,
        runs: Runs | Iterable[PastRun],
        submitted: Sequence[SeenJob] = (),
        fit: str = "discrete",
        least: int = 10,
    ) -> None:
        if fit not in METHODS:
            raise UnknownNameError("kind of fit", fit, METHODS)
        if not is_whole(least, 1):
            raise ParameterError("least", "a whole number of at least 1", least)
        self._fit = fit
        self._least = least
        #: Laws of submitted jobs, their places by identity, and the place of each kind of job.
        self._different: list[Law] = []
        self._places: dict[int, int] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        #: Of ranges of submitted jobs: draws ask for the same weeks again and again.
        self._slices: dict[
            tuple[int, int], tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]]
        ] = {}
        self.runs = runs if isinstance(runs, Runs) else Runs(runs)
        if not len(self):
            raise InputError(
                "no run had ended by then, so that nothing tells how long jobs run: choose a later time, or take "
                "walltimes for runtimes"
            )
        self.submitted = submitted
        #: Their submits [s], ascending.
        self.submits = np.array([job.submit for job in submitted])

    def __len__(self) -> int:
        return self.runs.count(ALL)

    @cached_property
    def likeness(self) -> float:
        """How much the runtimes of successive jobs of one user are alike: a correlation from 0 to 0.9."""
        return self.runs.likeness()

    def runtimes(
        self, job: SeenJob, levels: npt.ArrayLike, elapsed: float = 0.0, picks: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.float64]:
        """Runtimes of a job at given levels.

        Parameters
        ----------
        job
            The job.
        levels
            Probabilities of a longer runtime, in (0, 1), any shape; uniform ones make draws.
        elapsed
            How long it has run [s]: its runtime is longer.
        picks
            Numbers in (0, 1) of the shape of ``levels`` that choose among the groups of the job, the finer ones up to
            their weight; None: the finest is taken.

        Returns
        -------
        numpy.ndarray
            Runtimes of the same shape [s], above ``elapsed`` and at most the walltime; a job that is over its walltime
            ends a minute later.
        """
        given = np.maximum(np.asarray(levels, dtype=float), _TINY)
        if elapsed >= job.walltime:
            return np.full(given.shape, elapsed + 60.0)
        laws = self._laws_beyond(job, elapsed / job.walltime)
        shares = np.ones(given.shape)
        if laws and picks is None:
            _, law, left = laws[0]
            shares = np.asarray(law.isf(given * left), dtype=float)
        elif laws:
            weights = np.cumsum([weight for weight, _, _ in laws])
            which = np.searchsorted(weights[:-1] / weights[-1], np.asarray(picks, dtype=float))
            for number, (_, law, left) in enumerate(laws):
                mine = which == number
                if mine.any():
                    shares[mine] = law.isf(given[mine] * left)
        least = min(job.walltime, elapsed + 1.0)
        return np.clip(shares * job.walltime, least, job.walltime)

    def law_of(self, job: SeenJob) -> DiscreteLaw:
        """The distribution of the runtime of a job that has not started [s]: that of its group."""
        from workloads.laws import discretise

        law = next(self._laws_of(job))[1]
        shares = discretise(law, _CELLS)
        least = min(job.walltime, 1.0)
        # What lies beyond the walltime is killed there.
        values, which = np.unique(np.clip(shares.values * job.walltime, least, job.walltime), return_inverse=True)
        return DiscreteLaw(values, np.bincount(which, weights=shares.probabilities).astype(float))

    @cached_property
    def waits(self) -> WaitModel:
        """Mean waits of the past runs as a function of the walltime, by size."""
        pairs = self.runs.pairs()
        if len({walltime for walltime, _, _ in pairs}) < 2 or len(pairs) < _FEWEST_PAIRS:
            # Too few for a line: their mean, if there are any.
            mean = sum(wait for _, wait, _ in pairs) / len(pairs) if pairs else 0.0
            return WaitModel(WaitFit(LEAST_ALPHA, mean, pairs=len(pairs)))
        walltimes, waits, nodes = zip(*pairs, strict=True)
        return fit_waits(walltimes, np.maximum(waits, 0.0), np.array(nodes))

    def runtimes_of_submitted(self, first: int, last: int, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Runtimes of some of the submitted jobs, as if they were submitted again.

        Parameters
        ----------
        first, last
            From which to before which of :attr:`submitted`.
        levels
            Probabilities of a longer runtime, one for each of them.

        Returns
        -------
        numpy.ndarray
            Shape (last - first,) [s].
        """
        _, walltimes, which = self._slice(first, last)
        shares = np.empty(last - first)
        # A law is asked once for all of its jobs.
        for number in np.unique(which):
            mine = which == number
            shares[mine] = self._different[number].isf(levels[mine])
        runtimes: npt.NDArray[np.float64] = np.clip(shares * walltimes, np.minimum(walltimes, 1.0), walltimes)
        return runtimes

    def sizes_of_submitted(self, first: int, last: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Nodes and walltimes [s] of some of the submitted jobs."""
        return self._slice(first, last)[:2]

    def _slice(
        self, first: int, last: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Nodes, walltimes and the numbers of the laws of some of the submitted jobs."""
        if (first, last) not in self._slices:
            jobs = self.submitted[first:last]
            nodes = np.array([job.nodes for job in jobs], dtype=np.int64)
            walltimes = np.array([job.walltime for job in jobs], dtype=float)
            which = np.array([self._law_number(job) for job in jobs], dtype=np.int64)
            if len(self._slices) >= _MOST_SLICES:
                self._slices.clear()
            self._slices[first, last] = (nodes, walltimes, which)
        return self._slices[first, last]

    def _law_number(self, job: SeenJob) -> int:
        """Which of the different laws is that of a job submitted again."""
        kind = (job.user, job.project, job.walltime, math.frexp(job.nodes)[1])
        if kind not in self._numbers:
            law = next(self._laws_of(job))[1]
            place = self._places.setdefault(id(law), len(self._different))
            if place == len(self._different):
                self._different.append(law)
            self._numbers[kind] = place
        return self._numbers[kind]

    def _laws_beyond(self, job: SeenJob, done: float) -> list[tuple[float, Law, float]]:
        """The distributions that know of runs beyond a share, with their weights and the probability of such runs."""
        found, rest = [], 1.0
        for group, law in self._laws_of(job):
            count = min(_RECENT, self.runs.count(group))
            weight = rest if group == ALL else rest * count / (count + _DOUBT)
            rest -= weight
            left = float(law.sf(done)) if done else 1.0
            if left > 0:
                found.append((weight * left, law, left))
        return found

    def _laws_of(self, job: SeenJob) -> Iterator[tuple[Group, Law]]:
        enough = False
        for group in groups_of(job.user, job.project, job.walltime, job.nodes):
            if self.runs.count(group) >= self._least:
                enough = True
                yield group, self.runs.law(group, self._fit)
        if not enough:
            yield ALL, self.runs.law(ALL, "discrete")


#: Begins the name of the finest groups.
_FINEST = "request"
#: Cells of a fitted distribution of the share; the runs themselves stay as they are.
_CELLS = 500
#: Fewer pairs of walltime and wait make no line.
_FEWEST_PAIRS = 3
#: Ranges of submitted jobs that are kept at hand.
_MOST_SLICES = 200


def groups_of(user: str, project: str, walltime: float, nodes: int) -> Iterator[Group]:
    """The groups of a job, the finest first; where a log names no users, they are one."""
    yield (_FINEST, user, walltime, math.frexp(nodes)[1])
    if user:
        yield ("user", user)
    if project:
        yield ("project", project)
    yield ALL


def history_of(trace: Trace, at: float, *, fit: str = "discrete", least: int = 10) -> History:
    """The history of a log at a time: the jobs that were submitted, and the runs that had ended by then.

    Parameters
    ----------
    trace
        A log with recorded waits; a job without one is not known to have ended.
    at
        The time, on the log's own clock [s].
    fit, least
        As of :class:`History`.

    Returns
    -------
    History
        Of these jobs and runs.

    Raises
    ------
    InputError
        If no run had ended.
    """
    known = [job for job in keep_cancelled(trace).jobs if job.submit <= at]
    ended = [
        (job.submit + job.wait + job.runtime, job)
        for job in known
        if job.wait is not None and job.cancelled_at is None and job.submit + job.wait + job.runtime <= at
    ]
    runs = (
        PastRun(job.nodes, job.walltime, min(1.0, job.runtime / job.walltime), job.user, job.project, job.wait)
        for _, job in sorted(ended, key=itemgetter(0))
    )
    submitted = (
        SeenJob(place, job.submit, job.nodes, job.walltime, job.user, job.project)
        for place, job in enumerate(known, start=1)
        if job.cancelled_at is None or job.cancelled_at > at
    )
    return History(runs, sorted(submitted, key=lambda job: (job.submit, job.job_id)), fit, least)
