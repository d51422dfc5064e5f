"""Runtime distributions: by name, from scipy, truncated, shifted, mixed and discrete, and grids to discretise them."""

from holdfast.workloads.distributions.distribution import (
    Array,
    ContinuousDistribution,
    DiscreteDistribution,
    Distribution,
)
from holdfast.workloads.distributions.grids import GRIDS, algorithm_1_size, discretise, from_samples
from holdfast.workloads.distributions.named import (
    TABLE_1,
    beta,
    bounded_pareto,
    exponential,
    gamma,
    lognormal,
    lognormal_from_moments,
    normal,
    pareto,
    truncated_normal,
    uniform,
    weibull,
)
from holdfast.workloads.distributions.scipy_adapter import from_scipy
from holdfast.workloads.distributions.truncated import TAIL, bound_support, has_mean, truncate

__all__ = [
    "GRIDS",
    "TABLE_1",
    "TAIL",
    "Array",
    "ContinuousDistribution",
    "DiscreteDistribution",
    "Distribution",
    "algorithm_1_size",
    "beta",
    "bound_support",
    "bounded_pareto",
    "discretise",
    "exponential",
    "from_samples",
    "from_scipy",
    "gamma",
    "has_mean",
    "lognormal",
    "lognormal_from_moments",
    "normal",
    "pareto",
    "truncate",
    "truncated_normal",
    "uniform",
    "weibull",
]
