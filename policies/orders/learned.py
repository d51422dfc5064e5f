"""The queue orders F1 to F4, which were learned from simulations.

Source: Carastan-Santos and de Camargo, "Obtaining dynamic scheduling policies with simulation and machine learning",
SC 2017: the four nonlinear functions with the best fit, of the processing time r [s], the size n and the submit time s
[s]; the job with the smallest value goes first. Here r is the walltime, because the runtime is not known, and s counts
from the first event of the table, as in the simulations of that paper. Times below one second count as one second, so
that log10 is never negative. The public code of RLScheduler (DIR-LAB/deep-batch-scheduler) has the same formulas.
"""

from __future__ import annotations

from math import log10, sqrt

from holdfast.policies.port import WaitingJob
from holdfast.workloads.ground.units import SECOND

__all__ = ["f1", "f2", "f3", "f4"]


def _seconds(ticks: int) -> float:
    return ticks / SECOND if ticks > SECOND else 1.0


def f1(job: WaitingJob, now: int) -> float:
    """F1: log10(walltime) x nodes + 870 x log10(submit), the smallest first."""
    return log10(_seconds(job.walltime)) * job.nodes + 8.70e2 * log10(_seconds(job.submit))


def f2(job: WaitingJob, now: int) -> float:
    """F2: sqrt(walltime) x nodes + 25,600 x log10(submit), the smallest first."""
    return sqrt(_seconds(job.walltime)) * job.nodes + 2.56e4 * log10(_seconds(job.submit))


def f3(job: WaitingJob, now: int) -> float:
    """F3: walltime x nodes + 6,860,000 x log10(submit), the smallest first."""
    return _seconds(job.walltime) * job.nodes + 6.86e6 * log10(_seconds(job.submit))


def f4(job: WaitingJob, now: int) -> float:
    """F4: walltime x sqrt(nodes) + 530,000 x log10(submit), the smallest first."""
    return _seconds(job.walltime) * sqrt(job.nodes) + 5.30e5 * log10(_seconds(job.submit))
