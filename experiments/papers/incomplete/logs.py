"""Run logs of the applications of [S] section VI: generated logs with sessions of similar runs, and measured logs.

The logs of the Vanderbilt laboratory are not public. The generated logs have the numbers of runs of figure 6,
distributions that match the descriptions in [S], and similar consecutive runs, which are the subject of figure 7. All
times are in hours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from holdfast.experiments.papers.checkpoint.published_values import APPLICATIONS
from holdfast.workloads.chains.runs import read_slant_makespans
from holdfast.workloads.distributions.distribution import Distribution
from holdfast.workloads.distributions.mixture import mixture
from holdfast.workloads.distributions.named import gamma, lognormal, lognormal_from_moments, truncated_normal, uniform
from holdfast.workloads.distributions.shifted import shift
from holdfast.workloads.distributions.truncated import truncate
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.random_streams import stream

__all__ = [
    "FIGURE_6",
    "LoggedApplication",
    "RunLog",
    "generate_log",
    "likeness",
    "list_applications",
    "read_logs",
]

Floats = npt.NDArray[np.float64]

#: Length of the year that the logs cover [h].
_YEAR = 8760.0
_SECONDS = 3600.0


@dataclass(frozen=True)
class LoggedApplication:
    """An application, with a model of the dependence between its runs.

    Attributes
    ----------
    name, title
        Name in tables, and title in figures.
    distribution
        Distribution of the runtime [h].
    runs
        Number of runs in a year.
    session
        Mean number of runs of a session; a session is a study that submits its images in sequence.
    likeness
        Share of the variance of a run (on the normal scale) that is common to its session, in [0, 1].
    drift
        Correlation between consecutive sessions, in [0, 1).
    """

    name: str
    title: str
    distribution: Distribution
    runs: int
    session: float
    likeness: float
    drift: float = 0.5


@dataclass(frozen=True, eq=False)
class RunLog:
    """Runs of one application, in chronological order.

    Attributes
    ----------
    name, title
        Name of the application.
    times
        Runtimes, shape (n,) [h].
    interarrival
        Mean time between two submissions [h]; None: unknown.
    distribution
        Distribution of the runtimes [h]; None for measured runtimes.
    """

    name: str
    title: str
    times: Floats
    interarrival: float | None = None
    distribution: Distribution | None = None

    def __len__(self) -> int:
        return int(self.times.size)


#: The six panels of figure 6, by name.
FIGURE_6 = ("cerebellum", "connectivity", "functional-qa", "deep-brain", "surface", "whole-brain")


@cache
def list_applications() -> Mapping[str, LoggedApplication]:
    """The six applications of figure 6 and, as ``orbital``, that of figure 7.

    Notes
    -----
    Known are the numbers of runs; that functional QA has one behaviour and deep brain segmentation several (figure 1);
    that the time of the surface modelling varies by orders of magnitude (figure 2); and that the whole brain
    segmentation takes 3 to 78 h and changes dramatically. The distributions of the connectivity analysis (Table 3) and
    of the orbital anatomy (figure 1) are those of "Reservation and Checkpointing Strategies for Stochastic Jobs". All
    other properties, in particular those of sessions, are choices.
    """
    modes = [lognormal_from_moments(8.0, 3.0), lognormal_from_moments(22.0, 6.0), lognormal_from_moments(50.0, 10.0)]
    whole = truncate(mixture(modes, [4, 3, 3], "three modes"), 3.0, 78.0)
    found = (
        LoggedApplication("cerebellum", "cerebellum", truncated_normal(2.5, 0.7, 0.3, 6.0), 718, 15, 0.4),
        LoggedApplication("connectivity", "connectivity", _connectivity(), 1151, 20, 0.4),
        LoggedApplication("functional-qa", "functional QA", lognormal_from_moments(0.6, 0.25), 17416, 80, 0.4),
        LoggedApplication("deep-brain", "deep brain", _deep_brain(), 3774, 40, 0.5),
        LoggedApplication("surface", "cortical surface", _surface(), 2411, 30, 0.3),
        LoggedApplication("whole-brain", "whole brain", whole, 17416, 300, 0.8, 0.8),
        LoggedApplication("orbital", "orbital anatomy", lognormal_from_moments(21.4, 19.7), 2000, 150, 0.7),
    )  # fmt: skip
    return {item.name: item for item in found}


def _connectivity() -> Distribution:
    # FCA of Table 3, with times in seconds.
    printed = APPLICATIONS["FCA"]
    span = (printed.maximum - printed.location) / _SECONDS
    return shift(truncate(gamma(printed.shape, printed.scale / _SECONDS), upper=span), printed.location / _SECONDS)


def _deep_brain() -> Distribution:
    parts = [truncated_normal(3.0, 0.8, 0.5, 12.0), uniform(4.0, 9.0), truncated_normal(9.0, 0.7, 0.5, 12.0)]
    return mixture(parts, [3, 3, 2])


def _surface() -> Distribution:
    """Runtime distribution of figure 2, averaged over the sizes."""
    quick, size = _log_moments(4.0, 1.0), _log_moments(15.0, 5.0)
    distributions = []
    for mean, std in ((1.0, 0.3), (4.0, 2.0)):
        hard = _log_moments(mean, std)
        mu = hard[0] + quick[0] + 0.3 * (size[0] - math.log(15.0))
        distributions.append(lognormal(mu, math.sqrt(hard[1] + quick[1] + 0.09 * size[1])))
    return mixture(distributions, [2, 1], "two hardnesses")


def _log_moments(mean: float, std: float) -> tuple[float, float]:
    """Mean and variance of the logarithm of a lognormal time with a given mean and standard deviation."""
    variance = math.log1p((std / mean) ** 2)
    return math.log(mean) - variance / 2.0, variance


def generate_log(name: str, seed: int, runs: int | None = None) -> RunLog:
    """Generate a log of an application of :func:`list_applications`.

    Parameters
    ----------
    name
        Name of the application.
    seed
        Seed of the log, >= 0.
    runs
        Number of runs, >= 2; None: as printed in [S].

    Returns
    -------
    RunLog
        The log, with its distribution and the mean time between submissions for this number of runs in a year.

    Notes
    -----
    The runtimes are an independent sample of the distribution. Sessions determine only their order, so that they do not
    change the distribution or the optimum. The rank of a run is that of sqrt(likeness) s + sqrt(1 - likeness) e (a
    Gaussian copula), where e is independent for each run, and s is common to a session and follows an AR(1) process
    over sessions.

    Raises
    ------
    UnknownNameError, ParameterError
        If there is no such application, or there are fewer than two runs.

    Examples
    --------
    >>> log = generate_log("cerebellum", 1)
    >>> len(log), round(log.interarrival, 1), bool(log.times.max() <= 6.0)
    (718, 12.2, True)
    """
    known = list_applications()
    if name not in known:
        raise UnknownNameError("application", name, known)
    application = known[name]
    number = application.runs if runs is None else runs
    if number < 2:
        raise ParameterError("runs", "2 or more", number)
    times = np.sort(application.distribution.sample(stream(seed, "incomplete", "log", name, "times"), number))
    latent = _latent(application, number, stream(seed, "incomplete", "log", name, "sessions"))
    ranks = np.argsort(np.argsort(latent, kind="stable"), kind="stable")
    interarrival = _YEAR / application.runs
    return RunLog(name, application.title, times[ranks], interarrival, application.distribution)


def _latent(application: LoggedApplication, number: int, rng: np.random.Generator) -> Floats:
    """A normally distributed number for each run, correlated within and between sessions."""
    lengths = rng.geometric(1.0 / application.session, number)
    session = np.repeat(np.arange(number), lengths)[:number]
    fresh = rng.standard_normal(int(session[-1]) + 1)
    levels = np.empty_like(fresh)
    level = levels[0] = fresh[0]
    for place in range(1, fresh.size):
        level = application.drift * level + math.sqrt(1.0 - application.drift**2) * fresh[place]
        levels[place] = level
    own = rng.standard_normal(number)
    latent: Floats = math.sqrt(application.likeness) * levels[session] + math.sqrt(1.0 - application.likeness) * own
    return latent


def read_logs(path: str) -> dict[str, RunLog]:
    """Read measured walltimes: a log for each dataset and one for all datasets together, by name.

    Parameters
    ----------
    path
        File for :func:`holdfast.workloads.chains.runs.read_slant_makespans`; runs are in the order of the lines.

    Raises
    ------
    TraceError, ParameterError
        If the file cannot be read, or a walltime is 0.
    """
    found = read_slant_makespans(path)
    if not found.walltimes.min() > 0:
        raise ParameterError("makespan_s", "above 0", float(found.walltimes.min()))
    logs = {}
    for dataset in dict.fromkeys(found.datasets):
        logs[dataset] = RunLog(dataset, f"SLANT, {dataset}", found.of(dataset) / _SECONDS)
    if len(logs) > 1:
        logs["all"] = RunLog("all", "SLANT, all", found.walltimes / _SECONDS)
    return logs


def likeness(times: npt.ArrayLike, lags: int, draws: int, rng: np.random.Generator) -> list[dict[str, float]]:
    """Rank correlation between runs at a distance of ``lag`` runs, and its distribution for shuffled logs.

    Parameters
    ----------
    times
        Runtimes in order, shape (n,).
    lags
        Largest lag, less than the number of runs.
    draws
        Number of shuffled logs.
    rng
        Generator of the shuffles.

    Returns
    -------
    list of dict
        A row for each lag: lag, correlation (Spearman's), low and high (the range of 95 % of the shuffled logs), and
        chance: the share of the logs, including this one, with a correlation at least as large.

    Examples
    --------
    >>> [row] = likeness(np.arange(30.0), 1, 99, np.random.default_rng(1))
    >>> round(row["correlation"], 3), row["chance"]
    (1.0, 0.01)
    """
    from scipy.stats import rankdata

    ranks = np.asarray(rankdata(np.asarray(times, dtype=float)))
    if not 1 <= lags < ranks.size - 1:
        raise ParameterError("lags", f"within 1..{ranks.size - 2} for {ranks.size} runs", lags)
    shuffled = [rng.permutation(ranks) for _ in range(draws)]
    rows = []
    for lag in range(1, lags + 1):
        found = _correlation(ranks, lag)
        others = np.array([_correlation(other, lag) for other in shuffled])
        low, high = np.quantile(others, [0.025, 0.975])
        # The log itself counts as one of the shuffled ones.
        chance = (1 + np.count_nonzero(others >= found)) / (1 + draws)
        rows.append({"lag": lag, "correlation": found, "low": float(low), "high": float(high), "chance": float(chance)})
    return rows


def _correlation(ranks: Floats, lag: int) -> float:
    left, right = ranks[:-lag] - ranks[:-lag].mean(), ranks[lag:] - ranks[lag:].mean()
    scale = math.sqrt(float(left @ left) * float(right @ right))
    return float(left @ right) / scale if scale > 0 else 0.0
