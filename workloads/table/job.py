"""The job, with every random choice already made.

One :class:`Job` is one row of the job table (docs/commands.md, "holdfast prepare"). Times are in seconds, sizes in
nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["MALLEABLE", "ON_DEMAND", "RIGID", "STOCHASTIC", "Job", "JobType"]


class JobType(StrEnum):
    """Type of a job: the actions that it allows (hybrid-workload-scheduling, section III-A)."""

    RIGID = "rigid"
    ON_DEMAND = "on-demand"
    MALLEABLE = "malleable"
    #: Unknown runtime, submitted as a sequence of reservations (docs/model.md, "Stochastic jobs").
    STOCHASTIC = "stochastic"


# Constants for hot loops of the simulation, because access to a member of an enumeration costs as much as a call.
RIGID, ON_DEMAND, MALLEABLE, STOCHASTIC = JobType


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a workload, as the job table describes it.

    Attributes
    ----------
    job_id
        Unique id.
    type
        Rigid, on-demand, malleable or stochastic.
    submit
        First submit [s]; for an on-demand job its *actual arrival*. None: it never arrives (no-show).
    nodes
        Requested size [nodes], the maximum for a malleable job.
    runtime
        Undisturbed wall time at ``nodes`` [s], setup and checkpoints included; at most ``walltime``.
    walltime
        Requested wall time at ``nodes`` [s]; a stochastic job requests it while there are too few past runs for a plan.
    min_nodes
        Smallest size of a malleable job; None or ``nodes`` for other jobs.
    setup
        Time at the start of each run that is lost when the run is preempted [s]; 0 for on-demand jobs.
    checkpoint_interval
        Compute time between two checkpoints of a rigid job [s]; None: no checkpoints.
    checkpoint_cost
        Duration of one checkpoint of a rigid or stochastic job [s].
    notice, estimated_arrival
        On-demand job with advance notice: time of the notice, and the arrival that it announces [s].
    trace_runtime, trace_walltime
        Runtime and walltime in the baseline if overheads were added to them [s]; None: ``runtime`` and ``walltime``.
    user, project
        User and project in the trace; empty if unknown.
    killed
        Whether the job reached its walltime in the trace, so that ``runtime`` is only a lower bound.
    application
        Stochastic job: name of its application; plans are made from the distribution of the application's runtimes.
    true_runtime
        Stochastic job: its compute time [s], hidden from all decisions; None: ``runtime``.
    plan
        Stochastic job: a planning strategy with its parameters, or the name of a plan.
    restart_cost
        Stochastic job: time to read a checkpoint [s].
    memory_profile
        Stochastic job: memory over time, as a sequence of ``SECONDS:GB``; empty: unknown.
    cancelled_at
        Time at which the user cancels the job unless it has finished [s]. If a dependency delays the submit, this time
        is delayed equally. None: never.
    preceding, think_time
        Job that must terminate before this one is submitted, and time between the two [s]. Without a think time, the
        job is submitted at its ``submit``, or at that termination if it is later (SWF 2.2, fields 17 and 18).
    running_since
        Start time of a job that is running when the replay begins [s]; None: the job is not running then.
    partition, qos
        Partition or queue, and quality of service, in the trace; empty if unknown.
    eligible
        Earliest possible start, at which the job enters the queue [s]. None or before ``submit``: it enters at its
        submit.
    """

    job_id: int
    type: JobType
    submit: float | None
    nodes: int
    runtime: float
    walltime: float
    min_nodes: int | None = None
    setup: float = 0.0
    checkpoint_interval: float | None = None
    checkpoint_cost: float = 0.0
    notice: float | None = None
    estimated_arrival: float | None = None
    trace_runtime: float | None = None
    trace_walltime: float | None = None
    user: str = ""
    project: str = ""
    killed: bool = False
    application: str = ""
    true_runtime: float | None = None
    plan: str = ""
    restart_cost: float = 0.0
    memory_profile: str = ""
    cancelled_at: float | None = None
    preceding: int | None = None
    think_time: float | None = None
    running_since: float | None = None
    partition: str = ""
    eligible: float | None = None
    qos: str = ""
