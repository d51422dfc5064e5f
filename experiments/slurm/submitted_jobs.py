"""Jobs of a workload as they are submitted to a Slurm, and a small generated workload for trials."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.slurm.job_chain import MINUTE, whole_minutes
from holdfast.experiments.slurm.request_options import sbatch_options
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.machines.request import ResourceRequest

if TYPE_CHECKING:
    from holdfast.workloads.table.job import Job

__all__ = ["OWNERS", "Submit", "generate_workload", "make_submits"]

#: What a job may be submitted with, and where a job of a workload has it.
OWNERS: Mapping[str, str] = {"account": "project", "qos": "qos", "partition": "partition", "user": "user"}
#: Typical requests [min], and sizes on a machine of 16 nodes.
_REQUESTS = (10, 15, 20, 30, 60, 90, 120)
_SIZES = (1, 1, 2, 2, 4, 4, 8, 8, 16, 3, 5, 12)


@dataclass(frozen=True)
class Submit:
    """A job to be submitted.

    Attributes
    ----------
    number
        Of the job in the workload.
    at
        After the first submit [s].
    nodes
        Size.
    runtime
        Runtime [s], for which the job sleeps.
    minutes
        Limit [min].
    owner
        Account, QOS, partition and user to submit it with, by the name of sbatch's option; others are the defaults.
    request
        What it asks for on a machine with resources; None: its nodes alone.
    """

    number: int
    at: float
    nodes: int
    runtime: float
    minutes: int
    owner: Mapping[str, str] = field(default_factory=dict)
    request: ResourceRequest | None = None

    @property
    def resources(self) -> list[str]:
        """Options of sbatch for its size, or for its request."""
        return ["-N", str(self.nodes)] if self.request is None else sbatch_options(self.request)


def make_submits(
    jobs: Iterable[TraceJob | Job],
    nodes: int,
    owners: Collection[str] = (),
    requests: Sequence[ResourceRequest] = (),
) -> list[Submit]:
    """Jobs of a workload by submit, with walltimes rounded up to minutes; a held job is submitted when eligible.

    Parameters
    ----------
    jobs
        The jobs.
    nodes
        Size of the machine.
    owners
        What of :data:`OWNERS` each job is submitted with, as far as the workload says.
    requests
        What each job asks for on a machine with resources; empty: nodes alone.

    Raises
    ------
    InputError
        If there is no job, one has no submit, or is larger than the machine.
    """
    made = []
    for place, job in enumerate(jobs, 1):
        if job.submit is None:
            continue
        if job.nodes > nodes:
            raise InputError(f"job {job.job_id} has {job.nodes:,} nodes, and the machine {nodes:,}")
        minutes = whole_minutes(job.walltime)
        at = job.submit if job.eligible is None else max(job.submit, job.eligible)
        request = requests[place - 1] if requests else None
        at = max(at, request.begin) if request is not None and request.begin is not None else at
        # A request may have an account where the job has no project.
        named = {name: getattr(request, name, "") or getattr(job, OWNERS[name], "") for name in owners}
        owner = {name: str(value) for name, value in named.items() if value}
        made.append(Submit(place, float(at), job.nodes, float(job.runtime), minutes, owner, request))
    if not made:
        raise InputError("the workload has no jobs")
    made.sort(key=lambda submit: (submit.at, submit.number))
    first = made[0].at
    return [replace(one, at=one.at - first) for one in made]


def generate_workload(jobs: int, nodes: int, load: float, seed: int) -> Trace:
    """Generate a workload of some hours: typical requests, log-uniform runtimes below them, a quarter in bursts.

    Parameters
    ----------
    jobs
        How many.
    nodes
        Size of the machine.
    load
        Offered load relative to the machine's capacity.
    seed
        Seed of every random choice.
    """
    draw = stream(seed, "slurm workload")
    sizes = np.array([max(1, round(size * nodes / 16)) for size in _SIZES])
    requests = MINUTE * draw.choice(_REQUESTS, size=jobs)
    chosen = draw.choice(sizes, size=jobs)
    # Some jobs request less than their runtime and are killed at the limit.
    used = np.minimum(1.0, np.exp(draw.uniform(math.log(0.05), math.log(1.15), size=jobs)))
    runtimes = np.round(requests * used, 1)
    gap = float((chosen * runtimes).sum()) / nodes / load / jobs
    gaps = np.where(draw.random(jobs) < 0.25, 0.0, draw.exponential(gap / 0.75, size=jobs))
    submits = np.round(np.concatenate(([0.0], np.cumsum(gaps)[:-1])), 1)
    columns = zip(submits.tolist(), chosen.tolist(), runtimes.tolist(), requests.tolist(), strict=True)
    rows = [TraceJob(number, *row) for number, row in enumerate(columns, 1)]
    return Trace(tuple(rows), nodes, f"seed {seed}", "generated")
