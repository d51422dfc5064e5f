"""Parameters of a year on a machine like Theta.

Totals are those of Table I and Table II of Fan et al., IPDPS 2022 (the year 2019). The shapes of the distributions are
calibrated on ALCF's public records of 2018, 2021 and 2022 and rounded. This module contains no records of these logs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from holdfast.workloads.ground.errors import ParameterError

__all__ = ["FAVOURITE_SIZES", "LARGEST", "OTHER_SIZES", "REQUESTS", "ThetaYear"]

#: Maximum of jobs, nodes and projects each: 27 years of Theta, which take about a gigabyte.
LARGEST = 10_000_000

#: Frequent job sizes: (nodes, weight).
FAVOURITE_SIZES: tuple[tuple[int, float], ...] = (
    (128, 0.564), (136, 0.002), (144, 0.003), (150, 0.0025), (192, 0.0145), (216, 0.003), (256, 0.185), (300, 0.005),
    (384, 0.008), (400, 0.0055), (480, 0.002), (500, 0.0025), (504, 0.003), (512, 0.043), (540, 0.0035),
    (600, 0.0035), (640, 0.009), (700, 0.0015), (768, 0.0035), (802, 0.0040), (804, 0.008), (875, 0.0050),
    (957, 0.0020), (1024, 0.044), (1536, 0.0015), (1620, 0.0015), (2048, 0.0065), (2400, 0.0015), (3180, 0.0010),
    (4096, 0.0005),
)  # fmt: skip

#: Sizes between the favourites: (fewest nodes, most nodes, weight), log-uniform.
OTHER_SIZES: tuple[tuple[int, int, float], ...] = (
    (129, 255, 0.0150), (257, 383, 0.0105), (385, 639, 0.0180), (641, 801, 0.0040), (803, 1023, 0.0075),
    (1025, 2047, 0.0085), (2049, 4000, 0.0040),
)  # fmt: skip

#: Requests for each bracket of the queue rules (the last bracket in two parts): (smallest size [nodes], longest request
#: [minutes], frequent requests as (minutes, weight)). The remaining weight is log-uniform between the shortest and the
#: longest request.
REQUESTS: tuple[tuple[int, int, tuple[tuple[int, float], ...]], ...] = (
    (1, 180, (
        (180, 0.455), (60, 0.155), (30, 0.115), (40, 0.085), (120, 0.060), (179, 0.025), (45, 0.018), (90, 0.015),
        (35, 0.012), (43, 0.010),
    )),
    (256, 360, (
        (360, 0.440), (60, 0.165), (40, 0.115), (180, 0.075), (240, 0.055), (120, 0.045), (30, 0.030), (359, 0.015),
        (357, 0.012), (300, 0.012),
    )),
    (384, 540, (
        (540, 0.240), (60, 0.180), (480, 0.100), (360, 0.095), (120, 0.085), (30, 0.060), (539, 0.055), (180, 0.055),
        (240, 0.035), (510, 0.025), (300, 0.020), (420, 0.015),
    )),
    (640, 720, (
        (720, 0.310), (60, 0.120), (180, 0.110), (600, 0.080), (300, 0.060), (30, 0.060), (480, 0.050), (90, 0.040),
        (540, 0.030), (210, 0.030), (65, 0.030), (40, 0.020),
    )),
    (802, 1440, (
        (30, 0.225), (180, 0.140), (1440, 0.105), (360, 0.105), (60, 0.085), (120, 0.065), (720, 0.055), (240, 0.050),
        (300, 0.030), (1435, 0.025), (175, 0.025), (600, 0.015), (480, 0.015), (1200, 0.010),
    )),
    (1025, 1440, (
        (1440, 0.130), (30, 0.150), (360, 0.130), (180, 0.120), (120, 0.110), (240, 0.060), (720, 0.060), (300, 0.045),
        (60, 0.050), (1435, 0.035), (600, 0.020), (540, 0.015), (1200, 0.010),
    )),
)  # fmt: skip

_HOURS = (
    3.8, 2.8, 2.5, 2.4, 2.1, 2.0, 2.6, 3.8, 5.0, 5.8, 6.2, 6.4, 5.6, 5.8, 6.1, 5.7, 5.0, 4.4, 3.9, 3.7, 3.6, 3.7, 3.9,
    3.8,
)  # fmt: skip

#: Rules of single parameters, all of them finite and not negative: their names, whether a value is legal, legal values.
_RULES: tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...] = (
    (
        ("jobs", "jobs_per_year", "nodes", "projects", "batch_limit"),
        lambda number: isinstance(number, int) and 1 <= number <= LARGEST,
        f"a whole number from 1 to {LARGEST:,}",
    ),
    (
        ("year", "work_per_job", "batch_gap", "shortest_request", "short_limit", "middle_shape", "patience"),
        lambda number: number > 0,
        "positive",
    ),
    (
        ("mixed_share", "resemblance", "week_memory", "unevenness", "stray_share", "project_memory"),
        lambda share: share <= 1,
        "in [0, 1]",
    ),
    (("campaign_batches",), lambda number: number >= 1, "at least 1"),
    (("maintenance",), lambda hours: hours <= 16, "at most 16 hours (from 8 h to midnight)"),
    (("hours",), lambda weights: len(weights) == 24 and sum(weights) > 0, "24 weights, not all 0"),
    (("weekdays",), lambda weights: len(weights) == 7 and sum(weights) > 0, "7 weights, not all 0"),
    (("first_weekday",), lambda day: day in range(7), "0 (Monday) to 6 (Sunday)"),
)


@dataclass(frozen=True, kw_only=True)
class ThetaYear:
    """Parameters of :func:`holdfast.workloads.theta.generator.generate`.

    Attributes
    ----------
    jobs
        Number of jobs. The trace is ``year * jobs / jobs_per_year`` long.
    jobs_per_year
        Intensity of the submissions [jobs per ``year``].
    year
        Length of a year [s].
    nodes
        Number of nodes of the machine.
    projects
        Number of projects in a whole year.
    work_per_job
        Mean work of a job [node-hours]; the total is met exactly up to rounding to seconds.
    batch_exponent, batch_limit
        Number L of jobs submitted at once: P(L) ~ L ** -exponent for L = 1 .. limit (20 queued jobs per user).
    batch_gap
        Median time between two jobs submitted at once [s].
    campaign_batches
        Mean number of batches in a campaign; its jobs resemble each other.
    campaign_gap
        Mean time between two batches of a campaign, in hours of average activity [h].
    mixed_share
        Share of the campaigns with jobs that differ in shape (scaling studies).
    large_campaign
        Largest number of jobs in a campaign of capability jobs (802 nodes and more).
    shortest_request
        Shortest walltime request [minutes].
    short_share, near_share, limit_share
        Shares of jobs that end within ``short_limit``, that end shortly before their walltime (at 0.9 .. 0.99 of it),
        and that reach it.
    short_limit
        Longest runtime of a job that fails early [s].
    middle_shape
        Exponent of the runtimes of all other jobs, ``request * U ** shape`` with a uniform U, before work is scaled.
    resemblance
        Correlation of the runtimes (normal scores) within a campaign.
    week_sigma, day_sigma, hour_sigma
        Standard deviation of the logarithm of the weekly, daily and hourly level of activity (burstiness).
    week_memory
        Correlation of the levels of consecutive weeks.
    lulls, lull
        Number of periods without submissions in a year (holidays, outages), and length of each [h].
    unevenness
        Share of the campaigns that start at a random time; the others are spread so that submitted work follows the
        levels of activity.
    drain
        Share of the machine that drains the queue in the model of feedback.
    patience
        Queued work that reduces submissions by a factor e, in hours of the whole machine [h].
    hours, weekdays
        Relative activity by hour of the day, and by weekday, Monday first.
    first_weekday
        Weekday of the first day, 0 = Monday (1 January 2019 was a Tuesday).
    rank_offset, rank_exponent
        Share of the r-th most active project of a month: ~ (r + offset) ** -exponent for r = 0, 1, ...
    project_memory
        Correlation of a project's activity (normal scores) between months.
    stray_share
        Share of the campaigns that do not resemble the other campaigns of their project.
    maintenance
        Length of the maintenance from 8 h on every second Monday, without submissions [h]; 0: none.

    Raises
    ------
    ParameterError
        If a value is not legal.
    """

    jobs: int = 37_298
    jobs_per_year: int = 37_298
    year: float = 365 * 86400.0
    nodes: int = 4392
    projects: int = 211
    work_per_job: float = 866.0
    batch_exponent: float = 2.5
    batch_limit: int = 20
    batch_gap: float = 9.0
    campaign_batches: float = 8.0
    campaign_gap: float = 4.0
    mixed_share: float = 0.15
    large_campaign: int = 8
    shortest_request: float = 30.0
    short_share: float = 0.14
    near_share: float = 0.14
    limit_share: float = 0.29
    short_limit: float = 300.0
    middle_shape: float = 0.8
    resemblance: float = 0.5
    week_sigma: float = 0.3
    day_sigma: float = 0.25
    hour_sigma: float = 0.2
    week_memory: float = 0.3
    lulls: int = 4
    lull: float = 30.0
    unevenness: float = 0.3
    drain: float = 0.95
    patience: float = 92.0
    hours: tuple[float, ...] = _HOURS
    weekdays: tuple[float, ...] = (1.0, 0.98, 1.0, 0.97, 0.93, 0.75, 0.72)
    first_weekday: int = 1
    rank_offset: float = 8.0
    rank_exponent: float = 2.7
    project_memory: float = 0.7
    stray_share: float = 0.2
    maintenance: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            numbers = value if isinstance(value, tuple) else (value,)
            if not all(isinstance(number, int | float) and 0 <= number < math.inf for number in numbers):
                raise ParameterError(field.name, "finite and not negative", value)
        for names, is_legal, legal in _RULES:
            for name in names:
                if not is_legal(getattr(self, name)):
                    raise ParameterError(name, legal, getattr(self, name))
        if self.short_share + self.near_share + self.limit_share > 1:
            raise ParameterError(
                "short_share, near_share, limit_share",
                "shares of a sum of at most 1",
                (self.short_share, self.near_share, self.limit_share),
            )

    @property
    def span(self) -> float:
        """Length of the trace [s]."""
        return self.year * self.jobs / self.jobs_per_year
