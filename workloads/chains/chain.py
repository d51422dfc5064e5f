"""A chain of tasks: which task runs at a given time, and how much memory it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from holdfast.workloads.chains.convolution import partial_sums
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.chains.task_fits import fit_distribution
from holdfast.workloads.distributions import Distribution
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

__all__ = ["Task", "TaskChain"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Task:
    """One task of a chain.

    Attributes
    ----------
    distribution
        Distribution of the duration of the task [s]; see
        :class:`holdfast.workloads.distributions.distribution.Distribution`.
    memory
        Peak memory of the task [GB]; it does not depend on the input ([P], section 3.1).
    average
        Average memory of the task [GB]; None if unknown.
    """

    distribution: Distribution
    memory: float
    average: float | None = None

    def __post_init__(self) -> None:
        for name in ("memory", "average"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise ParameterError(name, "finite and >= 0 [GB]", value)


@dataclass(frozen=True, eq=False)
class TaskChain:
    """An application {(f_1, M_1), ..., (f_n, M_n)} ([P], equation 1).

    Attributes
    ----------
    tasks
        Tasks in the order in which they run.
    observed_ends
        Distributions of the end times of the tasks, fitted to measured ends [s]; None: durations are independent, and
        the distributions of the ends are computed from them.

    Examples
    --------
    >>> from holdfast.workloads.chains.task_fits import Normal
    >>> chain = TaskChain((Task(Normal(100.0, 10.0), 2.0), Task(Normal(300.0, 10.0), 4.0)))
    >>> chain.mean_memory()
    3.5
    >>> chain.running_probabilities([50.0, 200.0]).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> chain.memory_quantile([50.0, 100.0, 200.0], 0.1).tolist()
    [2.0, 4.0, 4.0]
    """

    tasks: tuple[Task, ...]
    observed_ends: tuple[Distribution, ...] | None = None

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ParameterError("tasks", "at least one", self.tasks)
        if self.observed_ends is not None and len(self.observed_ends) != len(self.tasks):
            raise ParameterError(
                "observed_ends", f"one distribution for each of the {len(self.tasks)} tasks", self.observed_ends
            )

    @classmethod
    def from_runs(cls, runs: TaskRuns, fit: str = "normal", *, ends: str = "independent") -> TaskChain:
        """A chain fitted to past runs.

        Parameters
        ----------
        runs
            At least two runs.
        fit
            Kind of distribution of the durations: ``"normal"`` as in [P], ``"gamma"``, ``"lognormal"``, ``"kernel"``,
            or ``"auto"``: for each task the one that predicts held-out runs best.
        ends
            ``"independent"``: ends are sums of independent durations, as in [P]; ``"observed"``: the same kind of
            distribution is fitted to the measured ends, which preserves the dependence between tasks.

        Notes
        -----
        The memory of a task is the largest peak of the runs, because a request that is too small ends a run.

        Raises
        ------
        ParameterError
            If there are fewer than two runs.
        UnknownNameError
            If ``fit`` or ``ends`` is not one of these names.
        """
        if ends not in ("independent", "observed"):
            raise UnknownNameError("kind of ends", ends, ("independent", "observed"))
        averages: Sequence[float | None] = [None] * runs.tasks
        if runs.averages is not None:
            weights = runs.durations.sum(axis=0)
            weights = np.where(weights > 0, weights, 1.0)
            averages = [float(value) for value in (runs.averages * runs.durations).sum(axis=0) / weights]
        tasks = tuple(
            Task(fit_distribution(durations, fit), float(peaks.max()), average)
            for durations, peaks, average in zip(runs.durations.T, runs.peaks.T, averages, strict=True)
        )
        observed = tuple(fit_distribution(column, fit) for column in runs.ends.T) if ends == "observed" else None
        return cls(tasks, observed)

    @cached_property
    def ends(self) -> tuple[Distribution, ...]:
        """Distributions of the times at which the tasks end."""
        return self.observed_ends or partial_sums([task.distribution for task in self.tasks])

    @property
    def walltime(self) -> Distribution:
        """Distribution of the whole run."""
        return self.ends[-1]

    @cached_property
    def memory(self) -> Floats:
        """Peaks of the tasks, shape (tasks,) [GB]."""
        return np.array([task.memory for task in self.tasks])

    def finish_probabilities(self, times: npt.ArrayLike) -> Floats:
        """y_i(t): the probability that task i is finished at time t ([P], section 3.2.1).

        Parameters
        ----------
        times
            Shape (m,) [s].

        Returns
        -------
        ndarray
            Shape (tasks, m), not increasing from task to task.
        """
        at = np.asarray(times, dtype=float)
        # No task has ended at time 0, but a normal distribution gives that a positive probability.
        rows = np.array([np.where(at > 0, distribution.cdf(at), 0.0) for distribution in self.ends])
        # The CDFs of normal distributions of different widths cross far out in their tails.
        return np.minimum.accumulate(rows, axis=0)

    def running_probabilities(self, times: npt.ArrayLike) -> Floats:
        """The probability that task i runs at time t, shape (tasks, m); the rest up to 1 is P(the run has finished)."""
        at = np.asarray(times, dtype=float)
        begun = np.concatenate((np.ones((1, at.size)), self.finish_probabilities(at)))
        rows: Floats = begun[:-1] - begun[1:]
        return rows

    def mean_memory(self, *, peaks: bool = True) -> float:
        """Memory averaged over a run: sum of M_i E(X_i) over sum of E(X_i) ([P], section 3.2.2) [GB].

        Parameters
        ----------
        peaks
            Whether M_i is the peak of a task, as printed in [P], or its average. The peak overestimates tasks that
            reach it only briefly.

        Raises
        ------
        ParameterError
            If ``peaks`` is false and the average of a task is unknown.
        """
        means = np.array([task.distribution.mean() for task in self.tasks])
        levels = [task.memory if peaks else task.average for task in self.tasks]
        if any(level is None for level in levels):
            raise ParameterError("peaks", "true where a task has no average memory", peaks)
        return float(np.array(levels, dtype=float) @ means / means.sum())

    def memory_quantile(self, times: npt.ArrayLike, tau: float = 0.1, *, of_running: bool = False) -> Floats:
        """M_tau(t): the largest memory of the tasks that run at time t with probability above tau ([P], equation 2).

        Parameters
        ----------
        times
            Shape (m,) [s].
        tau
            Probability in [0, 1).
        of_running
            Whether probabilities are conditional on runs that have not finished at t.

        Returns
        -------
        ndarray
            Shape (m,) [GB]. The most probable task always counts, so that the value is defined also where the
            probability of every task is at most tau, as after the end of most runs.

        Examples
        --------
        >>> from holdfast.workloads.chains.task_fits import Normal
        >>> chain = TaskChain((Task(Normal(100.0, 10.0), 2.0), Task(Normal(300.0, 10.0), 4.0)))
        >>> chain.memory_quantile([85.0, 90.0], 0.1).tolist()
        [2.0, 4.0]
        """
        if not 0 <= tau < 1:
            raise ParameterError("tau", "within [0, 1)", tau)
        at = np.asarray(times, dtype=float)
        chance = self.running_probabilities(at)
        if of_running:
            alive = chance.sum(axis=0)
            chance = np.divide(chance, alive, out=np.zeros_like(chance), where=alive > 0)
        counts = chance > tau
        # Where every run has ended, the last task ran last.
        likeliest = np.where(chance.max(axis=0) > 0, chance.argmax(axis=0), len(self.tasks) - 1)
        counts[likeliest, np.arange(at.size)] = True
        needed: Floats = np.where(counts, self.memory[:, None], 0.0).max(axis=0)
        return needed

    def start_quantile(self, task: int, tau: float = 0.1) -> float:
        """The time by which a task has started with probability tau.

        Parameters
        ----------
        task
            Index of the task, from 0.
        tau
            Probability in (0, 1).

        Returns
        -------
        float
            Time [s], at least 0; 0 for the first task.
        """
        if not 0 < tau < 1:
            raise ParameterError("tau", "within (0, 1)", tau)
        if not 0 <= task < len(self.tasks):
            raise ParameterError("task", f"within 0..{len(self.tasks) - 1}", task)
        return 0.0 if task == 0 else max(0.0, float(self.ends[task - 1].ppf(tau)))

    @property
    def peak_task(self) -> int:
        """Index of the task with the largest peak memory, from 0; the first one of ties."""
        return int(self.memory.argmax())

    def sample(self, size: int, rng: np.random.Generator) -> TaskRuns:
        """Draw runs with independent tasks; negative durations of a normal distribution become 0.

        Returns
        -------
        TaskRuns
            ``size`` runs; each task has its peak memory.
        """
        durations = np.column_stack([np.maximum(task.distribution.sample(rng, size), 0.0) for task in self.tasks])
        return TaskRuns(durations, np.tile(self.memory, (size, 1)))
