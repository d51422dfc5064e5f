"""Queue orders by a utility that grows while a job waits: WFP, UNICEP, and the score of the ALCF.

All of them use a power of the "unitless waiting time", the wait divided by the requested walltime: an hour of waiting
is worse for a job of 20 minutes than for one of six hours. Walltimes below one second count as one second, which avoids
a division by zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from holdfast.policies.kernels.queue_keys import ALCF, UNICEP, WFP, Formula
from holdfast.policies.port import Ranking, SystemView, WaitingJob
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.ranges import DURATION, PATIENCE, Range, legal
from holdfast.workloads.ground.units import SECOND

__all__ = ["Alcf", "Wfp", "unicep", "unicep_formula", "unicep_ranking"]

Numbers = NDArray[np.float64]
Ints = NDArray[np.int64]

#: With these exponents, the power of 1e12 (a very long wait over a walltime of one second) does not overflow.
_EXPONENT = Range(0, 20, above=True)


@dataclass(frozen=True)
@legal(exponent=_EXPONENT)
class Wfp:
    """WFP: highest (wait / walltime)^exponent x nodes first.

    Attributes
    ----------
    exponent
        Exponent of the relative wait; 3 is WFP3.

    Notes
    -----
    Tang, Lan, Desai, Buettner: "Fault-aware, utility-based job scheduling on Blue Gene/P systems", CLUSTER 2009. It is
    the utility function ``wfp`` that Cobalt publishes (trac.mcs.anl.gov/projects/cobalt/wiki/UtilityFunctions: ``val =
    (queued_time / wall_time)**3 * size``); the default of its simulator qsim divides by 64 nodes, which does not change
    the order. A job has the value 0 when it becomes eligible; ties are in the order of the input.
    """

    exponent: float = 3.0

    def __call__(self, job: WaitingJob, now: int) -> float:
        """Minus the utility."""
        walltime = job.walltime
        ratio = (now - job.eligible) / (walltime if walltime > SECOND else SECOND)
        grown: float = ratio**self.exponent
        return -grown * job.nodes

    def ranking(self) -> Ranking:
        """Vectorised form of this order."""
        return _WfpRanking(self)

    def formula(self, nodes: Ints, walltimes: Ints, machine: int) -> Formula:
        """Form of this order for a compiled replay."""
        return Formula(WFP, np.maximum(walltimes, SECOND).astype(float), nodes.astype(float), (self.exponent, 0.0, 0.0))


def unicep(job: WaitingJob, now: int) -> float:
    """UNICEP: highest wait / (log2(nodes) x walltime) first, which favours small and short jobs.

    Notes
    -----
    As quoted by Carastan-Santos and de Camargo (SC 2017) from Tang et al. (CLUSTER 2009). Because log2(1) is 0, a job
    on one node is treated like a job on two nodes. Cobalt's own ``unicef`` (same page as ``wfp``) takes
    ceil(log2(nodes)) - 5, at least 1, because its smallest partition has 64 nodes.
    """
    walltime = job.walltime
    nodes = job.nodes
    stretched = (walltime if walltime > SECOND else SECOND) * (log2(nodes) if nodes > 2 else 1.0)
    return -(now - job.eligible) / stretched


def unicep_ranking() -> Ranking:
    """Vectorised form of :func:`unicep`."""
    return _UnicepRanking()


def unicep_formula(nodes: Ints, walltimes: Ints, machine: int) -> Formula:
    """Form of :func:`unicep` for a compiled replay."""
    sizes, places = np.unique(nodes, return_inverse=True)
    logarithms = np.array([log2(size) if size > 2 else 1.0 for size in sizes.tolist()])
    return Formula(UNICEP, np.maximum(walltimes, SECOND) * logarithms[places], np.zeros(len(nodes)))


@dataclass(frozen=True)
@legal(
    wfp_factor=Range(0, 1e15, above=True),
    shortest=DURATION,
    longest=DURATION,
    fifo_factor=PATIENCE,
    backfill_factor=PATIENCE,
    backfill_max=Range(0, 1e15),
)
class Alcf:
    """ALCF: the score of its production queues, by wait^2 / walltime^3 x nodes / machine.

    Attributes
    ----------
    wfp_factor
        Weight of the first part.
    shortest, longest
        Bounds to which walltimes are clipped [s].
    fifo_factor
        Wait per point [s]; 0: no points, as in the production queues.
    backfill_factor, backfill_max
        Wait per point [s], and the maximum number of points; 0: no points.

    Notes
    -----
    The ``job_sort_formula`` of the ALCF's PBS servers (``qstat -Bf`` of Polaris, PBS 2022.1.1), with time in seconds::

        base_score + score_boost
        + enable_wfp * wfp_factor * (eligible_time**2 / min(max(walltime, 21600.0), 43200.0)**3
                                     * project_priority * nodect / total_cpus)
        + enable_backfill * min(backfill_max, eligible_time / backfill_factor)
        + enable_fifo * eligible_time / fifo_factor

    We found no publication of the utility function that the ALCF had configured in Theta's Cobalt. The ALCF's page on
    Theta's queues describes the behaviour of this formula: larger jobs have a higher priority, and the priority of
    shorter jobs increases more quickly. The logs lack the base score, the boost and the project's priority: they are 0,
    0 and 1.
    """

    wfp_factor: float = 100_000.0
    shortest: float = 6 * 3600.0
    longest: float = 12 * 3600.0
    fifo_factor: float = 0.0
    backfill_factor: float = 0.0
    backfill_max: float = 50.0

    def __post_init__(self) -> None:
        if self.longest < self.shortest:
            raise ParameterError("longest", f"at least shortest ({self.shortest:g} s)", self.longest)

    def at(self, view: SystemView) -> Callable[[WaitingJob], float]:
        """Return the key: minus the current score of a job."""
        now, machine = view.now, view.nodes
        least, most = self.shortest, self.longest
        weight = self.wfp_factor / machine
        fifo, backfill, limit = self.fifo_factor, self.backfill_factor, self.backfill_max

        def key(job: WaitingJob) -> float:
            wait = (now - job.eligible) / SECOND
            walltime = min(max(job.walltime / SECOND, least), most)
            score = weight * job.nodes * wait * wait / walltime**3
            if fifo:
                score += wait / fifo
            if backfill:
                score += min(limit, wait / backfill)
            return -score

        return key

    def ranking(self) -> Ranking:
        """Vectorised form of this order."""
        return _AlcfRanking(self)

    def formula(self, nodes: Ints, walltimes: Ints, machine: int) -> Formula:
        """Form of this order for a compiled replay."""
        limited = np.minimum(np.maximum((walltimes / SECOND).astype(float), self.shortest), self.longest)
        lengths, places = np.unique(limited, return_inverse=True)
        cubes = np.array([length**3 for length in lengths.tolist()], float)
        given = (self.fifo_factor, self.backfill_factor, self.backfill_max)
        return Formula(ALCF, self.wfp_factor / machine * nodes.astype(float), cubes[places], given)


# Arrays and single numbers round sums, differences, products and quotients equally if the sequence of operations is the
# same. Powers may differ in the last digits, also between processors.


class _WfpRanking:
    """:class:`Wfp` for many jobs."""

    width = 3
    #: The relative error of the power is about 1e-15 for usual exponents, and 1e-12 for any exponent below a thousand.
    slack = 1e-11

    def __init__(self, order: Wfp) -> None:
        self._exponent = order.exponent

    def traits(self, job: WaitingJob) -> tuple[float, ...]:
        """Eligible time, walltime, and minus the number of nodes."""
        return job.eligible, _at_least_a_second(job.walltime), -job.nodes

    def keys(self, view: SystemView, traits: Numbers) -> tuple[Numbers, ...]:
        """Minus the utilities."""
        eligible, walltime, size = traits
        ratio = (view.now - eligible) / walltime
        # Multiplication is about ten times faster than the power.
        with np.errstate(all="ignore"):
            grown = ratio * ratio * ratio if self._exponent == 3 else ratio**self._exponent
            return (grown * size,)


class _UnicepRanking:
    """:func:`unicep` for many jobs."""

    width = 2
    slack = 0.0

    def traits(self, job: WaitingJob) -> tuple[float, ...]:
        """Eligible time, and the divisor of the wait."""
        return job.eligible, _at_least_a_second(job.walltime) * (log2(job.nodes) if job.nodes > 2 else 1.0)

    def keys(self, view: SystemView, traits: Numbers) -> tuple[Numbers, ...]:
        """Minus the utilities."""
        eligible, stretched = traits
        return ((eligible - view.now) / stretched,)


class _AlcfRanking:
    """:class:`Alcf` for many jobs."""

    width = 3
    slack = 0.0

    def __init__(self, order: Alcf) -> None:
        self._order = order

    def traits(self, job: WaitingJob) -> tuple[float, ...]:
        """Eligible time, nodes, and the divisor of the score."""
        walltime = min(max(job.walltime / SECOND, self._order.shortest), self._order.longest)
        return job.eligible, job.nodes, walltime**3

    def keys(self, view: SystemView, traits: Numbers) -> tuple[Numbers, ...]:
        """Minus the scores."""
        order = self._order
        eligible, nodes, cubed = traits
        wait = (view.now - eligible) / SECOND
        score = order.wfp_factor / view.nodes * nodes * wait * wait / cubed
        if order.fifo_factor:
            score += wait / order.fifo_factor
        if order.backfill_factor:
            score += np.minimum(order.backfill_max, wait / order.backfill_factor)
        return (-score,)


def _at_least_a_second(walltime: int) -> int:
    return walltime if walltime > SECOND else SECOND
