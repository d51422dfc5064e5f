"""Numbers printed in the checkpoint paper (Tables 2, 3 and 4), used for comparison only and never in a computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["APPLICATIONS", "TABLE_2", "TABLE_4", "TAUS", "MixedRun", "Periodic", "PrintedApplication"]

#: Numbers of reservations for which Table 2 prints a cost.
TAUS = (1, 200, 400, 600, 800, 1000)


@dataclass(frozen=True)
class Periodic:
    """One strategy in one row of Table 2; costs are multiples of the cost of DYN-PROG-COUNT(0.1).

    Attributes
    ----------
    best_tau, best
        Best number of reservations in 1..1000, and its cost.
    costs
        Cost for each number in :data:`TAUS`.
    """

    best_tau: int
    best: float
    costs: tuple[float, ...]


#: Table 2 by distribution: ALL-CKPT-PER and NO-CKPT-PER.
TABLE_2: Mapping[str, tuple[Periodic, Periodic]] = {
    "exponential": (
        Periodic(23, 1.00, (8.60, 2.55, 4.51, 6.48, 8.46, 10.43)),
        Periodic(12, 1.38, (8.60, 7.81, 15.04, 22.27, 29.50, 36.74)),
    ),
    "weibull": (
        Periodic(291, 1.06, (81.56, 1.09, 1.08, 1.17, 1.29, 1.43)),
        Periodic(68, 2.54, (81.56, 3.85, 6.66, 9.56, 12.49, 15.43)),
    ),
    "gamma": (
        Periodic(13, 1.02, (5.35, 4.07, 7.54, 11.02, 14.49, 17.97)),
        Periodic(8, 1.26, (5.35, 10.44, 20.29, 30.14, 39.99, 49.84)),
    ),
    "lognormal": (
        Periodic(9, 1.11, (3.05, 4.52, 8.24, 11.96, 15.69, 19.41)),
        Periodic(3, 1.24, (3.05, 18.26, 35.74, 53.21, 70.68, 88.16)),
    ),
    "pareto": (
        Periodic(574, 1.00, (105.79, 1.19, 1.02, 1.00, 1.02, 1.04)),
        Periodic(261, 1.32, (105.79, 1.35, 1.39, 1.57, 1.79, 2.01)),
    ),
    "truncated-normal": (
        Periodic(9, 1.10, (2.18, 3.28, 5.67, 8.07, 10.46, 12.86)),
        Periodic(2, 1.23, (2.18, 30.78, 60.69, 90.60, 120.50, 150.41)),
    ),
    "uniform": (
        Periodic(8, 1.01, (1.57, 3.17, 5.51, 7.86, 10.20, 12.54)),
        Periodic(1, 1.57, (1.57, 51.08, 101.33, 151.58, 201.83, 252.09)),
    ),
    "beta": (
        Periodic(2, 1.06, (1.11, 30.77, 60.99, 91.21, 121.42, 151.64)),
        Periodic(1, 1.11, (1.11, 40.85, 81.14, 121.42, 161.71, 202.00)),
    ),
    "bounded-pareto": (
        Periodic(32, 1.01, (7.53, 1.73, 2.71, 3.70, 4.70, 5.69)),
        Periodic(14, 1.44, (7.53, 6.51, 12.28, 18.06, 23.83, 29.61)),
    ),
}


@dataclass(frozen=True)
class PrintedApplication:
    """A row of Table 3; times in seconds.

    Attributes
    ----------
    title
        Purpose of the application.
    distribution
        ``"gamma"`` or ``"weibull"``.
    shape, scale
        Parameters of the distribution as printed.
    minimum, maximum
        Ends of the support.
    location
        Location of the distribution, which the paper does not print. The Gamma distributions begin at the minimum. The
        Weibull distribution is a fit with a location far below 0, so that only :data:`scale` / :data:`shape` matters
        (Gumbel limit).
    checkpoint, restart
        Durations C and R.
    """

    title: str
    distribution: str
    shape: float
    scale: float
    minimum: float
    maximum: float
    location: float
    checkpoint: float
    restart: float


APPLICATIONS: Mapping[str, PrintedApplication] = {
    "Qball": PrintedApplication("diffusion model fitting", "gamma", 1.18, 34.0, 146.0, 407.0, 146.0, 90.0, 40.0),
    "SD": PrintedApplication(
        "diffusion model fitting", "weibull", 1043811.0, 1174322466.0, 2760.0, 8280.0, 6000.0, 1500.0, 600.0
    ),
    "FCA": PrintedApplication(
        "functional connectivity analysis", "gamma", 3.6, 72.0, 165.0, 1003.0, 165.0, 150.0, 100.0
    ),
}


@dataclass(frozen=True)
class MixedRun:
    """One row of Table 4: a mix of the three applications, under DYN-PROG-COUNT and under HPC.

    Attributes
    ----------
    utilization, hpc_utilization
        Utilisation [%].
    stretch, hpc_stretch
        Average job stretch.
    utilization_gain, stretch_gain
        Gain of DYN-PROG-COUNT over HPC [%]. The printed means agree with DYN-PROG-COUNT / HPC - 1 for utilisation
        and with HPC / DYN-PROG-COUNT - 1 for stretch, to their rounding.
    """

    utilization: float
    stretch: float
    hpc_utilization: float
    hpc_stretch: float
    utilization_gain: float
    stretch_gain: float


#: Ten runs, the best improvement in utilisation first.
TABLE_4: Sequence[MixedRun] = (
    MixedRun(67, 2.04, 55, 2.34, 21, 15),
    MixedRun(73, 1.72, 62, 2.04, 18, 19),
    MixedRun(62, 2.08, 55, 2.46, 12, 18),
    MixedRun(71, 1.88, 64, 2.10, 11, 12),
    MixedRun(63, 2.19, 56, 2.41, 11, 10),
    MixedRun(71, 1.74, 64, 1.96, 10, 12),
    MixedRun(75, 1.51, 68, 1.69, 10, 12),
    MixedRun(68, 2.09, 65, 2.19, 4, 5),
    MixedRun(61, 2.24, 60, 2.32, 2, 4),
    MixedRun(77, 1.96, 75, 1.99, 2, 2),
)
