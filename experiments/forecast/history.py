"""Runtime estimation for running and waiting jobs from the runs that had completed by a given time.

A job's runtime is a share of its walltime. The share's distribution is that of the last completed runs of the finest
group with enough of them, mixed with those of wider groups. Source: docs/forecast.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.completed_runs import ALL, Group, PastRun, Runs, job_groups
from holdfast.experiments.forecast.run_columns import RunColumns
from holdfast.experiments.forecast.runtime_correlation import RuntimeCorrelation, estimate_correlation
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.experiments.forecast.submissions import Submissions
from holdfast.policies.planning.waits.fitting import fit_waits
from holdfast.policies.planning.waits.model import LEAST_ALPHA, WaitFit, WaitModel
from holdfast.workloads.distributions import DiscreteDistribution, discretise, from_samples
from holdfast.workloads.distributions.batch import DistributionBatch
from holdfast.workloads.fits import METHODS
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs

if TYPE_CHECKING:
    from holdfast.workloads.logs.trace import Trace

__all__ = ["History", "read_history"]

#: Smallest level of a draw, because a distribution may be unbounded.
_TINY = 1e-12


class History:
    """Completed runs, and the distributions of their groups.

    Parameters
    ----------
    runs
        The runs, in the order of their ends.
    submitted
        All jobs submitted by then, for the arrivals to come, ordered by submit.
    fit
        Kind of fit, one of :data:`holdfast.workloads.fits.selection.METHODS`.
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
        #: Distributions of submitted jobs, their indices by identity, and the index for each kind of job; -1: unknown.
        self._different = DistributionBatch()
        self._places: dict[int, int] = {}
        self._numbers: npt.NDArray[np.int64] | None = None
        #: Distributions of jobs by their groups, and distributions of groups.
        self._mixed: dict[tuple[Group, ...], DiscreteDistribution] = {}
        self._grids: dict[Group, DiscreteDistribution] = {}
        self.runs = runs if isinstance(runs, Runs) else Runs(runs)
        if not len(self):
            raise InputError(
                "no run had ended by then, so that runtimes cannot be estimated: choose a later time, or take "
                "walltimes for runtimes"
            )
        self.submitted = Submissions.of(submitted)

    @property
    def submits(self) -> npt.NDArray[np.float64]:
        """Submits of :attr:`submitted` [s], ascending."""
        return self.submitted.submits

    def __len__(self) -> int:
        return self.runs.count(ALL)

    @cached_property
    def runtime_correlation(self) -> RuntimeCorrelation:
        """Correlations of the runtimes of concurrent jobs in the past."""
        return estimate_correlation(self.runs, self._least)

    def runtimes(self, job: SeenJob, levels: npt.ArrayLike, elapsed: float = 0.0) -> npt.NDArray[np.float64]:
        """Runtimes of a job at given levels.

        Parameters
        ----------
        job
            The job.
        levels
            Probabilities of a longer runtime, in (0, 1), any shape; uniform ones make draws.
        elapsed
            Elapsed time [s], a lower bound of the runtime.

        Returns
        -------
        numpy.ndarray
            Runtimes of the same shape [s], above ``elapsed`` and at most the walltime; a job that is over its walltime
            ends a minute later.
        """
        given = np.maximum(np.asarray(levels, dtype=float), _TINY)
        if elapsed >= job.walltime:
            return np.full(given.shape, elapsed + 60.0)
        distribution = self._distribution(job)
        left = float(distribution.sf(elapsed / job.walltime)) if elapsed else 1.0
        # If no past run was longer, assume that it runs until it is killed.
        shares = np.asarray(distribution.isf(given * left), dtype=float) if left > 0 else np.ones(given.shape)
        least = min(job.walltime, elapsed + 1.0)
        return np.clip(shares * job.walltime, least, job.walltime)

    def runtime_distribution(self, job: SeenJob) -> DiscreteDistribution:
        """The distribution of the runtime of a job that has not started [s]."""
        shares = self._distribution(job)
        least = min(job.walltime, 1.0)
        # Longer runtimes are cut at the walltime, where the job is killed.
        values, which = np.unique(np.clip(shares.values * job.walltime, least, job.walltime), return_inverse=True)
        return DiscreteDistribution(values, np.bincount(which, weights=shares.probabilities).astype(float))

    @cached_property
    def waits(self) -> WaitModel:
        """Mean waits of the past runs as a function of the walltime, by size."""
        pairs = self.runs.pairs()
        if len({walltime for walltime, _, _ in pairs}) < 2 or len(pairs) < _FEWEST_PAIRS:
            # With too few pairs for a line, use their mean if there are any.
            mean = sum(wait for _, wait, _ in pairs) / len(pairs) if pairs else 0.0
            return WaitModel(WaitFit(LEAST_ALPHA, mean, pairs=len(pairs)))
        walltimes, waits, nodes = zip(*pairs, strict=True)
        return fit_waits(walltimes, np.maximum(waits, 0.0), np.array(nodes))

    def draw_runtimes(self, first: int, last: int, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Draw runtimes of some submitted jobs as if they were submitted again.

        Parameters
        ----------
        first, last
            Range of :attr:`submitted`; ``last`` is exclusive.
        levels
            Probabilities of a longer runtime, one for each of them.

        Returns
        -------
        numpy.ndarray
            Shape (last - first,) [s].
        """
        walltimes = self.submitted.walltimes[first:last]
        shares = self._different.isf(self._distribution_numbers(first, last), levels)
        runtimes: npt.NDArray[np.float64] = np.clip(shares * walltimes, np.minimum(walltimes, 1.0), walltimes)
        return runtimes

    def _distribution_numbers(self, first: int, last: int) -> npt.NDArray[np.int64]:
        """Indices of the distributions of some submitted jobs, shape (last - first,).

        They are looked up by the kinds of the jobs: a row for each job took a third of the back-tests of RICC.
        """
        kinds = self.submitted.kinds
        if self._numbers is None:
            self._numbers = np.full(int(kinds.max(initial=-1)) + 1, -1)
        own = kinds[first:last]
        found, places = np.unique(own, return_index=True)
        is_new = self._numbers[found] < 0
        for kind, job in zip(found[is_new].tolist(), self.submitted.rows(first + places[is_new]), strict=True):
            # Only the finest group: future jobs are many, and each matters less.
            distribution = self._cells(self._groups(job)[0])
            number = self._places.setdefault(id(distribution), len(self._different))
            if number == len(self._different):
                self._different.add(distribution)
            self._numbers[kind] = number
        return self._numbers[own]

    def _distribution(self, job: SeenJob) -> DiscreteDistribution:
        """The distribution of a job's share: a mixture over its groups, weighted by trust."""
        groups = self._groups(job)
        if groups not in self._mixed:
            self._mixed[groups] = self._mixture(groups)
        return self._mixed[groups]

    def _groups(self, job: SeenJob) -> tuple[Group, ...]:
        """The groups of a job with enough runs, the finest first; all runs if none has enough."""
        groups = job_groups(job.user, job.project, job.walltime, job.nodes)
        return tuple(group for group in groups if self.runs.count(group) >= self._least) or (ALL,)

    def _mixture(self, groups: Sequence[Group]) -> DiscreteDistribution:
        values, probabilities, rest = [], [], 1.0
        for group in groups:
            shares = self._cells(group)
            weight = rest * self.runs.trust(group)
            rest -= weight
            values.append(shares.values)
            probabilities.append(weight * shares.probabilities)
        ascending, which = np.unique(np.concatenate(values), return_inverse=True)
        mixed = np.bincount(which, weights=np.concatenate(probabilities))
        return DiscreteDistribution(ascending, mixed / mixed.sum())

    def _cells(self, group: Group) -> DiscreteDistribution:
        """The distribution of a group, discretised to a moderate number of values."""
        if group not in self._grids:
            # Fits need enough runs.
            fit = self._fit if self.runs.count(group) >= self._least else "discrete"
            distribution = discretise(self.runs.distribution(group, fit), _CELLS)
            if len(distribution) > _CELLS:
                distribution = from_samples(distribution.ppf((np.arange(_CELLS) + 0.5) / _CELLS))
            self._grids[group] = distribution
        return self._grids[group]


#: Largest number of values of a group's distribution.
_CELLS = 500
#: Fewest pairs of walltime and wait for a linear fit.
_FEWEST_PAIRS = 3


def read_history(trace: Trace, at: float, *, fit: str = "discrete", least: int = 10) -> History:
    """The history of a log at a time: the jobs that were submitted, and the runs that had ended by then.

    Parameters
    ----------
    trace
        A log with recorded waits; the end of a job without a wait is unknown.
    at
        The time, on the log's own clock [s].
    fit, least
        As of :class:`History`.

    Returns
    -------
    History
        Of these jobs and runs. A job counts from when it was eligible, as if it had been submitted then.

    Raises
    ------
    InputError
        If no run had ended.
    """
    jobs = keep_cancelled_jobs(trace).jobs
    places = np.flatnonzero(jobs.queued <= at)
    known = jobs.select(places)
    ends, cancelled = known.starts + known.column("runtime"), known.column("cancelled_at")
    ended = np.flatnonzero(ends <= at)
    runs = Runs.from_columns(RunColumns(known.select(ended[np.argsort(ends[ended], kind="stable")])))
    there = np.flatnonzero(~(cancelled <= at))
    there = there[np.argsort(known.queued[there], kind="stable")]
    return History(runs, Submissions(known.select(there), places[there] + 1), fit, least)
