"""The generator of a year on a machine like Theta, for use without a real log.

hybrid-workload-scheduling, section IV-A, uses Theta's log of 2019. That log is not published as one file with project
names. This generator makes a trace with the same totals (Table I), the marginal distributions of the public records
and the FCFS/EASY baseline of Table II.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.logs.trace import Trace, TraceJobs
from holdfast.workloads.theta.arrival_rhythm import Rhythm
from holdfast.workloads.theta.job_shapes import draw_requests, draw_runtimes, draw_sizes
from holdfast.workloads.theta.projects import draw_projects, draw_users
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["generate"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: 1 January 2019, 0 h in Chicago.
_NEW_YEAR = 1546322400
#: Number of campaigns of similar work in a group that is spread evenly over the year.
_STRATUM = 52


def generate(parameters: ThetaYear | None = None, seed: int = 0) -> Trace:
    """Generate a trace.

    Parameters
    ----------
    parameters
        Parameters of the year; Theta's 2019 by default.
    seed
        Seed of all random choices, >= 0.

    Returns
    -------
    Trace
        Exactly ``parameters.jobs`` jobs sorted by submit, with ids from 1, times in whole seconds from the start of
        the year, and users and projects as numbers. The same arguments give the same bytes.

    Raises
    ------
    ParameterError
        If the seed is not legal.

    Examples
    --------
    >>> trace = generate(ThetaYear(jobs=500), seed=3)
    >>> len(trace.jobs), trace.nodes, trace.jobs == generate(ThetaYear(jobs=500), seed=3).jobs
    (500, 4392, True)
    """
    year = parameters or ThetaYear()
    if not isinstance(seed, int) or seed < 0:
        raise ParameterError("seed", "an integer >= 0", seed)
    batch = _batches(year, stream(seed, "theta", "batches"))
    batches = int(batch[-1]) + 1
    campaign_of_batch = _campaigns(year, batches, stream(seed, "theta", "campaigns"))
    campaign = campaign_of_batch[batch]
    unit = _units(year, campaign, stream(seed, "theta", "mixed"))
    counts, jobs_of_campaign = np.bincount(unit), np.bincount(campaign)
    first_of_unit = np.searchsorted(unit, np.arange(len(counts)))
    campaign_jobs = jobs_of_campaign[campaign[first_of_unit]]
    sizes = draw_sizes(year, counts, campaign_jobs, stream(seed, "theta", "sizes"))
    requests = draw_requests(year, sizes, counts, stream(seed, "theta", "requests"))[unit]
    nodes = sizes[unit]
    runtimes = draw_runtimes(year, nodes, requests, campaign, stream(seed, "theta", "runtimes"))
    request = np.bincount(campaign, weights=(nodes * requests).astype(np.float64)).astype(np.float64)
    place = _places(year, _starts(year, request, stream(seed, "theta", "starts")), campaign_of_batch, seed)
    work = np.bincount(batch, weights=nodes * runtimes) / (3600.0 * year.nodes)
    rhythm = Rhythm(year, place, work, stream(seed, "theta", "rhythm"))
    submit = _submits(year, rhythm.clock(place), batch, stream(seed, "theta", "submits"))
    first = np.searchsorted(campaign, np.arange(len(request)))
    shape = nodes[first] * 100_000 + requests[first]
    owner = draw_projects(year, shape, submit[first].astype(float), jobs_of_campaign, stream(seed, "theta", "projects"))
    user = draw_users(year, owner, stream(seed, "theta", "users"))
    order = np.argsort(submit, kind="stable")
    count = len(order)
    columns: dict[str, NDArray[Any]] = {
        "job_id": np.arange(1, count + 1),
        "submit": submit[order].astype(np.float64),
        "nodes": nodes[order],
        "runtime": runtimes[order].astype(np.float64),
        "walltime": requests[order].astype(np.float64),
        "user": user[campaign][order].astype(np.int32),
        "project": owner[campaign][order].astype(np.int32),
    }
    # Users and projects are numbered from 1.
    names = [str(number) for number in range(1, max(int(user.max()), int(owner.max())) + 2)]
    jobs = TraceJobs((), columns, names)
    return Trace(
        jobs,
        nodes=year.nodes,
        source=f"generated, Theta-like, seed {seed}",
        format="generated",
        header={
            "Computer": "Theta-like (generated)",
            "MaxJobs": str(len(jobs)),
            "MaxNodes": str(year.nodes),
            "MaxProcs": str(year.nodes),
            "UnixStartTime": str(_NEW_YEAR),
            "TimeZoneString": "America/Chicago",
        },
    )


def _batches(year: ThetaYear, rng: np.random.Generator) -> Ints:
    """Batch number of each of the ``year.jobs`` jobs, ascending."""
    lengths = np.arange(1, year.batch_limit + 1)
    weights = lengths**-year.batch_exponent
    drawn = rng.choice(lengths, size=year.jobs, p=weights / weights.sum())
    return np.repeat(np.arange(year.jobs), drawn)[: year.jobs]


def _campaigns(year: ThetaYear, batches: int, rng: np.random.Generator) -> Ints:
    """Campaign of each batch; the number of consecutive batches in a campaign has a geometric distribution."""
    opens = rng.random(batches) < 1 / year.campaign_batches
    opens[0] = True
    return np.cumsum(opens) - 1


def _units(year: ThetaYear, campaign: Ints, rng: np.random.Generator) -> Ints:
    """Unit of equal jobs that each job belongs to: its campaign, or the job alone if the campaign is mixed."""
    mixed = (rng.random(int(campaign[-1]) + 1) < year.mixed_share)[campaign]
    opens = mixed | np.concatenate(([True], campaign[1:] != campaign[:-1]))
    return np.cumsum(opens) - 1


def _starts(year: ThetaYear, work: Floats, rng: np.random.Generator) -> Floats:
    """Start of each campaign in activity time.

    Campaigns are sorted by work, and each group of similar ones is spread evenly. Submitted work thus follows the
    rhythm, and its variation is a parameter that does not depend on when a few campaigns of capability jobs start.
    """
    count = len(work)
    by_work = np.argsort(-work, kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[by_work] = np.arange(count)
    group = rank // _STRATUM
    shuffled = np.lexsort((rng.random(count), group))
    slot = np.empty(count, dtype=np.int64)
    slot[shuffled] = np.arange(count) % _STRATUM
    size = np.minimum(_STRATUM, count - group * _STRATUM)
    even = (slot + rng.random(count)) / size
    return np.where(rng.random(count) < year.unevenness, rng.random(count), even)


def _places(year: ThetaYear, start: Floats, campaign_of_batch: Ints, seed: int) -> Floats:
    """Activity time of each batch."""
    rng = stream(seed, "theta", "places")
    gaps = rng.exponential(year.campaign_gap * 3600.0 / year.span, len(campaign_of_batch))
    opens = np.concatenate(([True], campaign_of_batch[1:] != campaign_of_batch[:-1]))
    elapsed = _sum_since_reset(np.where(opens, 0.0, gaps), opens)
    # Jobs that would begin after the end wrap around to the start: a year has no edges.
    return np.asarray((start[campaign_of_batch] + elapsed) % 1.0)


def _submits(year: ThetaYear, when: Floats, batch: Ints, rng: np.random.Generator) -> Ints:
    """Submit time of each job [s], from the clock time of its batch."""
    first = np.concatenate(([True], batch[1:] != batch[:-1]))
    within = np.exp(np.log(year.batch_gap) + rng.standard_normal(len(batch)))
    submit = when[batch] + _sum_since_reset(np.where(first, 0.0, within), first)
    return np.minimum(submit, year.span).astype(np.int64)


def _sum_since_reset(steps: Floats, reset: NDArray[np.bool_]) -> Floats:
    """Cumulative sum that restarts where ``reset`` is true; the first element of ``reset`` must be true."""
    total = np.cumsum(steps)
    origin = np.flatnonzero(reset)
    return np.asarray(total - total[origin][np.cumsum(reset) - 1])
