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


# For hot loops of the simulation: access to a member of an enumeration costs as much as a call.
RIGID, ON_DEMAND, MALLEABLE, STOCHASTIC = JobType


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a workload, as the job table describes it.

    Attributes
    ----------
    job_id
        Unique.
    type
        Rigid, on-demand, malleable or stochastic.
    submit
        First submit [s]; of an on-demand job its *actual arrival*; None if it never arrives (no-show).
    nodes
        Requested size, the maximum of a malleable job.
    runtime
        Undisturbed wall time at ``nodes`` [s], setup and checkpoints included; at most ``walltime``.
    walltime
        Requested wall time at ``nodes`` [s]; a stochastic job asks for it while too little is known for a plan.
    min_nodes
        Smallest size of a malleable job; None or ``nodes`` for the others.
    setup
        Time at the start of each run that is lost when the run is preempted [s]; 0 for on-demand jobs.
    checkpoint_interval
        Compute time between two checkpoints of a rigid job [s]; None: it takes none.
    checkpoint_cost
        Duration of one checkpoint of a rigid or stochastic job [s].
    notice, estimated_arrival
        On-demand job with advance notice: time of the notice, and the arrival that it announces [s].
    trace_runtime, trace_walltime
        What the baseline uses where overheads were added to the trace's times [s]; None: ``runtime``, ``walltime``.
    user, project
        Carried through; empty if unknown.
    killed
        Whether the trace's job ran into its walltime, so that ``runtime`` was clipped to it.
    application
        Stochastic job: its application; plans are made from the distribution of its runtimes.
    true_runtime
        Stochastic job: its computing time [s], hidden from all decisions; None: ``runtime``.
    plan
        Stochastic job: a planning strategy with its parameters, or the name of a plan.
    restart_cost
        Stochastic job: time to read a checkpoint [s].
    memory_profile
        Stochastic job: the memory that it needs over time, as ``SECONDS:GB`` one after the other; empty: unknown.
    cancelled_at
        Time at which its user cancels it unless it has finished [s]; it shifts with the submit if a dependency moves
        that. None: never.
    preceding, think_time
        The job that must terminate before its submit, and the time between the two [s]. Without a think time it is
        submitted when recorded, or at that termination if that is later (SWF 2.2, fields 17 and 18).
    running_since
        Start time of a job that is running when the replay begins [s]; None: the job is not running then.
    partition, qos
        Partition or queue, and quality of service, carried through; empty if unknown.
    eligible
        Earliest possible start [s]; the job enters the queue then. None or earlier: it enters at its submit.
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
