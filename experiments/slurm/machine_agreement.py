"""Agreement between a replay on a Slurm whose nodes have resources and the rule: starts, nodes and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean
from typing import Any

from holdfast.experiments.slurm.agreement import cancelled_note, compare_decisions, compare_starts
from holdfast.experiments.slurm.decision_pace import measure_pace
from holdfast.experiments.slurm.machine_decisions import machine_decisions
from holdfast.experiments.slurm.machine_starts import PlacedStart, simulate_machine_starts
from holdfast.experiments.slurm.pass_times import measure_delays
from holdfast.experiments.slurm.placed_replay import PlacedJob, PlacedReplay
from holdfast.experiments.slurm.recorded_limits import limit_remarks
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources.limit_columns import Owner
from holdfast.workloads.machines.machine import Machine

__all__ = ["machine_agreement", "paced_note", "placed_summary"]


def machine_agreement(
    replay: PlacedReplay,
    machine: Machine,
    name: str,
    rule: SlurmBackfill,
    *,
    tolerance: float,
    lag: float,
    completing: float = 0.0,
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[int, float]]:
    """Compare a replay with Slurm's rule on a machine.

    Parameters
    ----------
    replay
        What Slurm did.
    machine
        The machine.
    name, rule
        The rule and its name.
    tolerance, lag, completing
        As of :func:`holdfast.experiments.slurm.agreement.agreement`.

    Returns
    -------
    row, differences, starts
        As of that function, for one rule; ``same_nodes`` counts jobs on equal nodes. Starts are simulated with the
        threads and, where the replay does not have the times of nodes to complete, with the times of Slurm's passes;
        ``paced_start`` counts equal starts with the same times after each event, the main scheduler first.

    Raises
    ------
    InputError
        If a job does not fit the machine, or ran on nodes that the machine does not have.
    """
    found = list(machine_decisions(machine, replay, rule, lag, completing))
    pace = measure_pace(replay)
    paced = simulate_machine_starts(machine, replay, rule, pace)
    known = any(job.completing for job in replay.jobs)
    passes = measure_delays(replay, pace)
    placed = simulate_machine_starts(machine, replay, rule, pace, {} if known else passes, passes)
    starts = {job.job_id: placed[job.job_id].start for job in replay.jobs}
    counts, wrong = compare_decisions(found)
    names = {"replay": replay.name, "rule": name}
    row = {
        **names,
        **compare_starts(replay.jobs, starts, tolerance),
        "same_nodes": sum(sorted(placed[job.job_id].nodes) == sorted(job.nodes) for job in replay.jobs),
        "paced_start": sum(_same_start(job, paced, tolerance) for job in replay.jobs),
        **counts,
        "divergence": _first_difference(replay, placed, tolerance),
    }
    return row, [{**names, **decision} for decision in wrong], starts


def placed_summary(replay: PlacedReplay, machine: Machine) -> str:
    """A replay in one line, and lines about the limits of the machine."""
    jobs = replay.jobs
    hours = (max(job.end for job in jobs) - jobs[0].submit) / 3600.0
    line = (
        f"{replay.name}: {len(jobs):,} jobs on {machine.size:,} nodes in {hours:.1f} h, mean wait "
        f"{mean(job.wait for job in jobs):,.0f} s, {sum(job.wait > 60 for job in jobs):,} waited over a minute"
        f"{cancelled_note(len(replay.cancelled))}"
    )
    # Each job has a partition, named or not.
    owners = [Owner(job.request.qos, job.request.account, job.user, "any") for job in jobs]
    return "\n".join([line, *limit_remarks(machine.limits, owners)])


def paced_note(row: Mapping[str, Any]) -> str:
    """How many starts of a row agree with the times of passes, and without them."""
    starts = f"{row['same_start']:,} starts are equal by Slurm's passes"
    return f"{starts}, {row['paced_start']:,} with the same times after each event"


def _same_start(job: PlacedJob, placed: Mapping[int, PlacedStart], tolerance: float) -> bool:
    return abs(placed[job.job_id].start - job.start) <= tolerance


def _first_difference(replay: PlacedReplay, placed: Mapping[int, PlacedStart], tolerance: float) -> str:
    """The first start that differs, in time or nodes."""
    for job in sorted(replay.jobs, key=lambda job: min(job.start, placed[job.job_id].start)):
        start, nodes = placed[job.job_id]
        at = f"job {job.job_id:,}, which Slurm starts at {job.start - replay.jobs[0].submit:,.0f} s"
        if not _same_start(job, placed, tolerance):
            return f"starts are equal until {at} and the rule at {start - replay.jobs[0].submit:,.0f} s"
        if sorted(nodes) != sorted(job.nodes):
            return f"nodes are equal until {at} on {','.join(job.nodes)} and the rule on {','.join(nodes)}"
    return "all starts and nodes are equal"
