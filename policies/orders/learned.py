"""The queue orders F1 to F4, which were learned from simulations.

Source: Carastan-Santos and de Camargo, "Obtaining dynamic scheduling policies with simulation and machine learning",
SC 2017: the four nonlinear functions with the best fit, of the processing time r [s], the size n and the submit time s
[s]; the job with the smallest value goes first. Here r is the walltime, because the runtime is not known, and s counts
from the first event of the table, as in the simulations of that paper. Times below one second count as one second, so
that log10 is never negative. The public code of RLScheduler (DIR-LAB/deep-batch-scheduler) has the same formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log10, sqrt
from typing import Any

import numpy as np

from holdfast.policies.port import WaitingJob
from holdfast.workloads.ground.units import SECOND

__all__ = ["f1", "f2", "f3", "f4"]


def _seconds(ticks: Any) -> Any:
    """A time, or a column of times, in seconds of at least 1."""
    if isinstance(ticks, np.ndarray):
        return np.maximum(ticks / SECOND, 1.0)
    return ticks / SECOND if ticks > SECOND else 1.0


def _each(function: Callable[[float], float], values: Any) -> Any:
    """The function of a number or of each in a column, to the same bits; numpy's log10 may differ in the last."""
    return np.array([*map(function, values.tolist())]) if isinstance(values, np.ndarray) else function(values)


def f1(job: WaitingJob, now: int) -> Any:
    """F1: log10(walltime) x nodes + 870 x log10(submit), the smallest first."""
    return _each(log10, _seconds(job.walltime)) * job.nodes + 8.70e2 * _each(log10, _seconds(job.submit))


def f2(job: WaitingJob, now: int) -> Any:
    """F2: sqrt(walltime) x nodes + 25,600 x log10(submit), the smallest first."""
    return _each(sqrt, _seconds(job.walltime)) * job.nodes + 2.56e4 * _each(log10, _seconds(job.submit))


def f3(job: WaitingJob, now: int) -> Any:
    """F3: walltime x nodes + 6,860,000 x log10(submit), the smallest first."""
    return _seconds(job.walltime) * job.nodes + 6.86e6 * _each(log10, _seconds(job.submit))


def f4(job: WaitingJob, now: int) -> Any:
    """F4: walltime x sqrt(nodes) + 530,000 x log10(submit), the smallest first."""
    return _seconds(job.walltime) * _each(sqrt, job.nodes) + 5.30e5 * _each(log10, _seconds(job.submit))
