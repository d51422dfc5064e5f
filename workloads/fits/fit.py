"""The result of a fit: a distribution, its distance from the samples, and the reason if the fit is rejected."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from holdfast.workloads.distributions import (
    Array,
    DiscreteDistribution,
    Distribution,
    bound_support,
    discretise,
    has_mean,
)
from holdfast.workloads.distributions.checks import runtimes
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["FARTHEST", "Fit", "Samples", "check_fit", "quiet"]

#: Largest end of the support as a multiple of the largest sample if no limit is known. A fit beyond it is rejected: its
#: parameters have diverged towards another family, and the plan would end far beyond any runtime.
FARTHEST = 100.0


@dataclass(frozen=True)
class Fit:
    """A distribution fitted to samples.

    Parameters
    ----------
    name
        Name of the fit, e.g. ``"gamma"`` or ``"polynomial-10"``.
    distribution
        The distribution; None if every attempt failed.
    error
        Mean squared difference between the CDF of the distribution and the empirical CDF at the samples; infinite
        without a distribution.
    parameters
        Numbers that define the distribution, by name.
    reason_refused
        Reason for rejecting the distribution, as a phrase; None for a good fit.
    method
        The kind of fit, one of :data:`~holdfast.workloads.fits.selection.METHODS`.
    """

    name: str
    distribution: Distribution | None
    error: float
    parameters: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    reason_refused: str | None = None
    method: str = ""

    def good(self) -> Distribution:
        """The distribution of a fit that is not rejected.

        Raises
        ------
        ParameterError
            If the fit is rejected.
        """
        if self.distribution is None or self.reason_refused is not None:
            raise ParameterError(f"the fit {self.name}", "one that is not refused", self.reason_refused)
        return self.distribution


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples prepared for a fit, constructed by :meth:`of`.

    Parameters
    ----------
    values
        The distinct runtimes, ascending, shape (m,).
    counts
        Number of samples equal to each value, shape (m,).
    levels
        Middle of the step of the empirical CDF at each value, (F(v-) + F(v)) / 2, shape (m,). Fitting to these levels
        minimises the Cramer-von-Mises distance; fitting to the upper ends of the steps would shift distributions left.
    lower, upper
        Ends of the support of a bounded distribution: known limits, else the extremes plus one mean spacing.
    limit
        Known upper limit of all runtimes; infinite if it is not known.
    """

    values: Array
    counts: npt.NDArray[np.int64]
    levels: Array
    lower: float
    upper: float
    limit: float

    @classmethod
    def of(cls, samples: npt.ArrayLike, upper: float | None = None) -> Samples:
        """Prepare samples.

        Parameters
        ----------
        samples
            Runtimes in any order, shape (n,).
        upper
            Known upper limit of all runtimes, or None ([S] section III: "the users can give an upper bound"). With a
            limit, every distribution ends there, and therefore every plan.

        Raises
        ------
        ParameterError
            If there is no sample, one is not finite and above 0, or one lies above the limit.
        """
        values, counts = np.unique(runtimes("samples", samples), return_counts=True)
        total = int(counts.sum())
        above = np.cumsum(counts)
        limit = math.inf if upper is None else float(upper)
        if not limit >= values[-1]:
            raise ParameterError("upper", f"at least the largest sample, {values[-1]:g}", limit)
        # The extremes of n samples of a uniform distribution lie one mean spacing inside its ends.
        spacing = float(values[-1] - values[0]) / max(total - 1, 1)
        end = limit if math.isfinite(limit) else float(values[-1]) + spacing
        start = max(0.0, float(values[0]) - spacing)
        return cls(values, counts, (above - counts / 2.0) / total, start, end, limit)

    @property
    def size(self) -> int:
        """Number of samples, including equal ones."""
        return int(self.counts.sum())

    @property
    def spread(self) -> float:
        """Difference between the largest and the smallest sample."""
        return float(self.values[-1] - self.values[0])

    def thin(self, most: int) -> tuple[Array, Array]:
        """Select at most ``most`` values with their levels, equally spaced in probability, including the extremes."""
        if self.values.size <= most:
            return self.values, self.levels
        wanted = np.linspace(self.levels[0], self.levels[-1], most)
        places = np.unique(np.clip(np.searchsorted(self.levels, wanted), 0, self.values.size - 1))
        return self.values[places], self.levels[places]

    def evenly(self, most: int) -> Array:
        """The samples in ascending order; if there are more than ``most``, equally spaced ranks with both extremes."""
        runs = np.repeat(self.values, self.counts)
        if runs.size <= most:
            return runs
        picked: Array = runs[np.round(np.linspace(0, runs.size - 1, most)).astype(np.intp)]
        return picked

    def error(self, distribution: Distribution) -> float:
        """Mean squared difference between the CDF of a distribution and the empirical CDF, over the samples."""
        if isinstance(distribution, DiscreteDistribution):
            middle = 0.5 * (1.0 - distribution.sf(self.values) + distribution.cdf(np.nextafter(self.values, 0.0)))
        else:
            middle = distribution.cdf(self.values)
        return float(np.average((middle - self.levels) ** 2, weights=self.counts))


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings of numpy and scipy while a fit tries illegal parameters and checks the result."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def check_fit(fit: Fit, samples: Samples) -> Fit:
    """Return the fit with its error, or with the reason why no plan can be made from it.

    A good distribution has a finite mean and gives a finite plan: its CDF increases without undefined values, and its
    support, truncated if it is infinite, contains the largest sample.
    """
    if fit.distribution is None or fit.reason_refused is not None:
        return replace(fit, error=math.inf, reason_refused=fit.reason_refused or "no parameters fit")
    with quiet():
        try:
            reason = _reason(fit.distribution, samples)
            error = samples.error(fit.distribution)
        except (ParameterError, ArithmeticError, ValueError, RuntimeError) as failure:
            reason, error = f"it cannot be evaluated ({failure})", math.inf
    if reason is None and not math.isfinite(error):
        reason = "its CDF is not a number"
    return replace(fit, error=error if math.isfinite(error) else math.inf, reason_refused=reason)


def _reason(distribution: Distribution, samples: Samples) -> str | None:
    largest = float(samples.values[-1])
    if math.isinf(samples.limit) and FARTHEST * largest < distribution.upper < math.inf:
        return (
            f"its support ends at {distribution.upper:.3g}, over {FARTHEST:g} times the largest sample, {largest:.6g}"
        )
    # The mean is checked first, because other checks take long for a distribution without a finite mean.
    if not has_mean(distribution):
        return "its mean is infinite"
    cut = bound_support(distribution)
    if not math.isfinite(cut.upper):
        return "no finite plan covers it"
    if cut.upper < largest:
        return f"it ends at {cut.upper:.6g}, before the largest sample, {largest:.6g}"
    heights = distribution.cdf(np.linspace(cut.lower, cut.upper, 257))
    if not np.all(np.isfinite(heights)):
        return "its CDF is not a number"
    if np.any(np.diff(heights) < -1e-9) or heights[0] < -1e-9 or heights[-1] > 1.0 + 1e-9:
        return "its CDF falls"
    # A coarse version of the planning problem.
    discretise(cut, 64, "cubic")
    return None
