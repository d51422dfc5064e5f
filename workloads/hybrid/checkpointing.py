"""Checkpoints of rigid jobs: their cost, their interval, and their number in a run.

Sources: Daly 2006 (a higher order estimate of the optimum checkpoint interval); Fan et al., IPDPS 2022, section IV-B.
Numbers of checkpoints are computed in ticks, so that all numbers for a run agree.
"""

from __future__ import annotations

import math

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.hybrid.type_mix import NODE_MTBF
from holdfast.workloads.table.job import Job

__all__ = [
    "NODE_MTBF",
    "checkpoint_cost",
    "checkpoint_interval",
    "checkpoints_of_compute",
    "checkpoints_of_job",
    "checkpoints_of_run",
    "daly_interval",
]

_LARGE = 1024


def _positive(parameter: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(parameter, "a positive finite number", value)


def checkpoint_cost(nodes: int) -> float:
    """Duration of one checkpoint [s]: 600 below 1,024 nodes, else 1,200.

    Parameters
    ----------
    nodes
        Size of the job.

    Returns
    -------
    float
        Seconds (hybrid-workload-scheduling, section IV-B: "600 seconds if the job used less than 1K nodes").

    Examples
    --------
    >>> checkpoint_cost(1023), checkpoint_cost(1024)
    (600.0, 1200.0)
    """
    return 600.0 if nodes < _LARGE else 1200.0


def daly_interval(cost: float, mtbf: float) -> float:
    """Daly's optimum of the compute time between two checkpoints.

    ``sqrt(2 delta M) [1 + sqrt(delta / 2M) / 3 + (delta / 2M) / 9] - delta`` if delta < 2M, else M, where delta is the
    cost and M is the mean time between failures.

    Parameters
    ----------
    cost
        Duration of one checkpoint [s].
    mtbf
        Mean time between failures of the whole job [s]: the mean time for a node divided by the number of nodes.

    Returns
    -------
    float
        Seconds of compute between the end of one checkpoint and the start of the next (Daly 2006, equation 37).

    Raises
    ------
    ParameterError
        If an argument is not positive and finite.

    Examples
    --------
    >>> round(daly_interval(600, 86400), 3)
    9786.266
    >>> daly_interval(600.0, 300.0)
    300.0
    """
    _positive("checkpoint cost", cost)
    _positive("mtbf", mtbf)
    if cost >= 2 * mtbf:
        return mtbf
    part = cost / (2 * mtbf)
    return math.sqrt(2 * cost * mtbf) * (1 + math.sqrt(part) / 3 + part / 9) - cost


def checkpoint_interval(nodes: int, factor: float = 1.0, node_mtbf: float = NODE_MTBF) -> float:
    """Compute time between two checkpoints of a rigid job of this size [s].

    Parameters
    ----------
    nodes
        Size of the job.
    factor
        Multiple of Daly's optimum (varied in Fig. 7 of hybrid-workload-scheduling; 0.5: checkpoints twice as often).
    node_mtbf
        Mean time between failures of one node [s].

    Returns
    -------
    float
        Compute time [s].

    Raises
    ------
    ParameterError
        If a parameter is not positive.

    Examples
    --------
    >>> checkpoint_interval(128) > checkpoint_interval(512) > checkpoint_interval(512, 0.5)
    True
    """
    _positive("nodes", nodes)
    _positive("checkpoint_factor", factor)
    _positive("node_mtbf", node_mtbf)
    return factor * daly_interval(checkpoint_cost(nodes), node_mtbf / nodes)


def checkpoints_of_compute(compute: int, interval: int) -> int:
    """Number of checkpoints in ``compute`` ticks of computation: one after each full interval, none at the end.

    Parameters
    ----------
    compute, interval
        Compute time of the run, and compute time between two checkpoints [ticks].

    Returns
    -------
    int
        k = ``ceil(compute / interval) - 1``, at least 0. :func:`checkpoints_of_run` gives the same k for a run of
        ``compute + k cost`` ticks.

    Examples
    --------
    >>> checkpoints_of_compute(100, 50), checkpoints_of_compute(101, 50)
    (1, 2)
    """
    return max(0, -(-compute // interval) - 1)


def checkpoints_of_run(runtime: int, setup: int, interval: int, cost: int) -> int:
    """Number of checkpoints of an undisturbed run with overheads inside its runtime.

    Parameters
    ----------
    runtime, setup
        Duration of the run, and of its setup [ticks].
    interval, cost
        Compute time between two checkpoints, and duration of a checkpoint [ticks].

    Returns
    -------
    int
        ``ceil((runtime - setup) / (interval + cost)) - 1``, at least 0: none at the end of the work.

    Examples
    --------
    >>> checkpoints_of_run(1000, 100, 350, 100), checkpoints_of_run(1001, 100, 350, 100)
    (1, 2)
    """
    return max(0, -(-(runtime - setup) // (interval + cost)) - 1)


def checkpoints_of_job(job: Job) -> int:
    """Number of checkpoints of the undisturbed run of a job.

    Examples
    --------
    >>> from holdfast.workloads.table.job import JobType
    >>> checkpoints_of_job(Job(1, JobType.RIGID, 0.0, 128, 1000.0, 1200.0, None, 100.0, 350.0, 100.0))
    1
    """
    if job.checkpoint_interval is None:
        return 0
    return checkpoints_of_run(
        to_ticks(job.runtime), to_ticks(job.setup), to_ticks(job.checkpoint_interval), to_ticks(job.checkpoint_cost)
    )
