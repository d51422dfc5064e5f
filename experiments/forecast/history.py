"""History: what the runs completed by a time tell of the runtimes of jobs that still run or wait.

A job's runtime is a share of its walltime. The share's distribution is fitted to the completed runs of the finest group
with enough of them: those of the same user, walltime and size class; of the user; of the project; all. A run that hit
its walltime has the share 1, an atom. Source: docs/forecast.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
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

__all__ = ["History", "PastRun", "history_of"]


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


class History:
    """Completed runs, and the distributions of their groups.

    Parameters
    ----------
    runs
        The runs.
    submitted
        All jobs submitted by then, for the arrivals to come; ordered by submit here.
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
        runs: Iterable[PastRun],
        submitted: Iterable[SeenJob] = (),
        fit: str = "discrete",
        least: int = 10,
    ) -> None:
        if fit not in METHODS:
            raise UnknownNameError("kind of fit", fit, METHODS)
        if not is_whole(least, 1):
            raise ParameterError("least", "a whole number of at least 1", least)
        self._fit = fit
        self._least = least
        self._shares: dict[tuple[object, ...], list[float]] = {}
        self._laws: dict[tuple[object, ...], Law] = {}
        #: Laws of submitted jobs, their places by identity, and the place of each kind of job.
        self._different: list[Law] = []
        self._places: dict[int, int] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        #: Of ranges of submitted jobs: draws ask for the same weeks again and again.
        self._slices: dict[
            tuple[int, int], tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]]
        ] = {}
        self.runs = tuple(runs)
        if not self.runs:
            raise InputError(
                "no run had ended by then, so that nothing tells how long jobs run: choose a later time, or take "
                "walltimes for runtimes"
            )
        self.submitted = tuple(sorted(submitted, key=lambda job: (job.submit, job.job_id)))
        #: Their submits [s], ascending.
        self.submits = np.array([job.submit for job in self.submitted])
        for run in self.runs:
            for group in _groups(run.user, run.project, run.walltime, run.nodes):
                self._shares.setdefault(group, []).append(run.share)

    def __len__(self) -> int:
        return len(self.runs)

    def runtimes(self, job: SeenJob, levels: npt.ArrayLike, elapsed: float = 0.0) -> npt.NDArray[np.float64]:
        """Runtimes of a job at given levels.

        Parameters
        ----------
        job
            The job.
        levels
            Probabilities of a longer runtime, in (0, 1), any shape; uniform ones make draws.
        elapsed
            How long it has run [s]: its runtime is longer.

        Returns
        -------
        numpy.ndarray
            Runtimes of the same shape [s], above ``elapsed`` and at most the walltime; a job that is over its walltime
            ends a minute later.
        """
        levels = np.asarray(levels, dtype=float)
        if elapsed >= job.walltime:
            return np.full(levels.shape, elapsed + 60.0)
        done = elapsed / job.walltime
        law, left = self._law_beyond(job, done)
        shares = np.ones(levels.shape) if law is None else np.asarray(law.isf(levels * left), dtype=float)
        least = min(job.walltime, elapsed + 1.0)
        return np.clip(shares * job.walltime, least, job.walltime)

    def law_of(self, job: SeenJob) -> DiscreteLaw:
        """The distribution of the runtime of a job that has not started [s]: that of its group."""
        from workloads.laws import discretise

        law = next(self._laws_of(job))
        shares = discretise(law, _CELLS)
        least = min(job.walltime, 1.0)
        # What lies beyond the walltime is killed there.
        values, which = np.unique(np.clip(shares.values * job.walltime, least, job.walltime), return_inverse=True)
        return DiscreteLaw(values, np.bincount(which, weights=shares.probabilities).astype(float))

    @cached_property
    def waits(self) -> WaitModel:
        """Mean waits of the past runs as a function of the walltime, by size."""
        pairs = [(run.walltime, run.wait, run.nodes) for run in self.runs if run.wait is not None]
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
            law = next(self._laws_of(job))
            place = self._places.setdefault(id(law), len(self._different))
            if place == len(self._different):
                self._different.append(law)
            self._numbers[kind] = place
        return self._numbers[kind]

    def _law_beyond(self, job: SeenJob, done: float) -> tuple[Law | None, float]:
        """The distribution of the finest group that knows of runs beyond a share, and their probability."""
        for law in self._laws_of(job):
            left = float(law.sf(done)) if done else 1.0
            if left > 0:
                return law, left
        return None, 0.0

    def _laws_of(self, job: SeenJob) -> Iterator[Law]:
        enough = False
        for group in _groups(job.user, job.project, job.walltime, job.nodes):
            shares = self._shares.get(group, ())
            if len(shares) >= self._least:
                enough = True
                if group not in self._laws:
                    self._laws[group] = fits_of(self._fit, shares, 1.0).chosen.good()
                yield self._laws[group]
        if not enough:
            if _ALL not in self._laws:
                self._laws[_ALL] = fits_of("discrete", self._shares[_ALL], 1.0).chosen.good()
            yield self._laws[_ALL]


_ALL: tuple[object, ...] = ("all",)
#: Cells of a fitted distribution of the share; the runs themselves stay as they are.
_CELLS = 500
#: Fewer pairs of walltime and wait make no line.
_FEWEST_PAIRS = 3
#: Ranges of submitted jobs that are kept at hand.
_MOST_SLICES = 200


def _groups(user: str, project: str, walltime: float, nodes: int) -> Iterator[tuple[object, ...]]:
    """The groups of a job, the finest first."""
    if user:
        yield ("user", user, walltime, math.frexp(nodes)[1])
        yield ("user", user)
    if project:
        yield ("project", project)
    yield _ALL


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
    runs = (
        PastRun(job.nodes, job.walltime, min(1.0, job.runtime / job.walltime), job.user, job.project, job.wait)
        for job in known
        if job.wait is not None and job.cancelled_at is None and job.submit + job.wait + job.runtime <= at
    )
    submitted = (
        SeenJob(place, job.submit, job.nodes, job.walltime, job.user, job.project)
        for place, job in enumerate(known, start=1)
        if job.cancelled_at is None or job.cancelled_at > at
    )
    return History(runs, submitted, fit, least)
