"""Batch run in a lab: stochastic jobs submitted together, each as the job chain of its plan."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from holdfast.experiments.slurm.client import submit
from holdfast.experiments.slurm.controller_log import parse_jobs, time_of_slurm
from holdfast.experiments.slurm.job_chain import make_links
from holdfast.experiments.slurm.lab import Lab
from holdfast.experiments.slurm.live_replay import LabSlurm, patiently
from holdfast.experiments.slurm.reservation_sequence import Sequence as Chain
from holdfast.experiments.slurm.templates import fill_template
from holdfast.experiments.slurm.workdir import read_remains, write_sequence
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.numbers import integer
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.ground.wording import count_text

__all__ = ["ChainedJob", "run_chains"]

#: State of a job that was cancelled before it ran.
_WAITED = ("CANCELLED", "PENDING")


class ChainedJob(NamedTuple):
    """A job of unknown runtime.

    Attributes
    ----------
    runtime
        Its true runtime [s].
    plan
        Its reservations.
    """

    runtime: float
    plan: ReservationPlan


def run_chains(
    lab: Lab, jobs: Sequence[ChainedJob], folder: Path, *, spare: int, log: Callable[[str], None]
) -> dict[str, Any]:
    """Submit all jobs at once, wait until they are done, and compute the simulator's metrics.

    Parameters
    ----------
    lab
        The lab, which must be idle. A job takes one node.
    jobs
        Jobs in the order of submission.
    folder
        Absolute path below which each job has a directory.
    spare
        Number of reservations added to each plan.
    log
        Called with lines of progress.

    Returns
    -------
    dict
        jobs; utilization; execution, response and reserved, over the runtime, means over the jobs; reservations, a job;
        all_done_s.

    Raises
    ------
    InputError
        If a job cannot be submitted, or is not done in its reservations.
    """
    slurm = LabSlurm(lab)
    program = folder / "working.sh"
    program.write_text(fill_template("working.sh", {}))
    variables = {**lab.variables, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    # All jobs are submitted before the first one starts.
    slurm.call(["scontrol", "update", "PartitionName=batch", "State=DOWN"])
    try:
        for number, job in enumerate(jobs, 1):
            directory = folder / f"job-{number}"
            write_sequence(_chain(job, directory, program, spare), directory)
            submit(directory, environment=variables)
        log(f"submitted {count_text(len(jobs), 'chains')}")
        begin = slurm.now()
    finally:
        slurm.call(["scontrol", "update", "PartitionName=batch", "State=UP"])
    while patiently(slurm, ["squeue", "-h", "-o", "%A"]).split():
        time.sleep(max(1.0, 30.0 / slurm.speed))
    shown = parse_jobs(slurm.call(["scontrol", "-o", "show", "job"]))
    rows = [_row(job, folder / f"job-{number}", shown, begin) for number, job in enumerate(jobs, 1)]
    lost = [number for number, row in enumerate(rows, 1) if not row["done"]]
    if lost:
        raise InputError(f"{folder}/job-{lost[0]}: did not finish within its reservations; add more with --spare")
    last = max(row["end"] for row in rows)
    return {
        "jobs": len(rows),
        "utilization": sum(job.runtime for job in jobs) / (lab.nodes * last),
        **{
            name: fmean(row[name] / job.runtime for row, job in zip(rows, jobs, strict=True))
            for name in ("execution", "response", "reserved")
        },
        "reservations": fmean(row["count"] for row in rows),
        "all_done_s": last,
    }


def _chain(job: ChainedJob, directory: Path, program: Path, spare: int) -> Chain:
    times = (job.runtime, float(job.plan.checkpoint.max()), float(job.plan.restart.max()))
    return Chain(
        name=directory.name,
        program=["bash", str(program), *(str(to_ticks(seconds)) for seconds in times)],
        folder=str(directory.parent),
        nodes=1,
        options=[],
        history="",
        retries=1,
        links=make_links(job.plan, most=20, spare=spare, margin=10.0),
        plan=job.plan.to_dict(),
        expected_cost=None,
    )


def _row(job: ChainedJob, directory: Path, shown: Mapping[int, Mapping[str, str]], begin: float) -> dict[str, Any]:
    """Measurements of a job: time in reservations, response time, and requested time [s]."""
    remains = read_remains(directory)
    execution = reserved = end = 0.0
    count = 0
    for number in remains.jobs.values():
        fields = shown.get(number, {})
        start, over = time_of_slurm(fields.get("StartTime", "")), time_of_slurm(fields.get("EndTime", ""))
        if fields.get("JobState") in _WAITED or not start or over <= start:
            continue
        count += 1
        execution += over - start
        reserved += _seconds(fields["TimeLimit"])
        end = max(end, over - begin)
    done = remains.runtime is not None
    return {"execution": execution, "response": end, "reserved": reserved, "count": count, "end": end, "done": done}


def _seconds(limit: str) -> float:
    """Seconds of a limit as scontrol shows it, ``days-hours:minutes:seconds``."""
    days, _, clock = limit.rpartition("-")
    hours, minutes, seconds = map(integer, clock.split(":"))
    return 86_400.0 * integer(days or "0") + 3600 * hours + 60 * minutes + seconds
