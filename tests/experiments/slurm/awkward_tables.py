"""Random submissions that a queue by size and time alone does not explain, and how they get onto a lab.

Throttled arrays, dependencies, ``--begin``, cancellations in the queue, and QOS limits of jobs, nodes, CPUs and memory.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from holdfast.experiments.slurm.lab import Lab
from holdfast.experiments.slurm.live_replay import LabSlurm, patiently

__all__ = ["LIMITS", "AwkwardJob", "random_awkward_table", "submit_awkward_table"]

#: Limits by QOS, as sacctmgr takes them; each node of a lab has one CPU.
LIMITS = {"few": "MaxJobsPU=2", "small": "GrpTRES=node=3", "cores": "MaxTRESPU=cpu=4", "lean": "GrpTRES=mem=1500"}


class AwkwardJob(NamedTuple):
    """A submission: time [s], options of sbatch, runtime of each task [s], whether it follows the job before it.

    A time of cancellation [s] of -1 is none; the job is cancelled only while it waits.
    """

    at: float
    options: tuple[str, ...]
    runtime: float
    follows: bool = False
    cancelled: float = -1.0


def random_awkward_table(seed: int, count: int, nodes: int) -> list[AwkwardJob]:
    """Draw submissions of about two hours."""
    random = np.random.default_rng([seed, 11])
    jobs = []
    at = 0.0
    for _ in range(count):
        at += float(random.choice((5, 20, 120, 300)))
        minutes = int(random.choice((10, 20, 30, 45, 60)))
        size = int(random.choice((1, 1, 2, 3, max(1, nodes // 2))))
        runtime = float(round(60 * minutes * random.uniform(0.15, 0.95)))
        options: tuple[str, ...] = ("-N", str(size), "-t", str(minutes))
        kind = random.choice(("plain", "array", "follows", "begin", "cancelled", *LIMITS))
        if kind == "array":
            options = ("-N", str(min(size, 2)), "-t", "20", f"--array=1-5%{random.integers(1, 4)}")
            runtime = min(runtime, 900.0)
        elif kind == "begin":
            options += (f"--begin=now+{random.integers(5, 25)}minutes",)
        elif kind == "lean":
            options = ("-N", "1", "-t", str(minutes), "--qos=lean", "--mem=500M")
        elif kind in LIMITS:
            options = ("-N", str(min(size, 3)), "-t", str(minutes), f"--qos={kind}")
        if kind == "cancelled":
            options = ("-N", str(nodes), "-t", str(minutes))
            jobs.append(AwkwardJob(at, options, runtime, cancelled=at + float(random.integers(100, 900))))
        else:
            jobs.append(AwkwardJob(at, options, runtime, follows=kind == "follows"))
    return jobs


def submit_awkward_table(lab: Lab, jobs: Sequence[AwkwardJob]) -> None:
    """Set the limits, submit and cancel at the times of the table, and wait until all jobs have ended."""
    known = set(lab.call(["sacctmgr", "-n", "-P", "show", "qos", "format=Name"]).split())
    for name, limit in LIMITS.items():
        if name not in known:
            lab.call(["sacctmgr", "-n", "-i", "add", "qos", name])
        lab.call(["sacctmgr", "-n", "-i", "modify", "qos", name, "set", limit])
    lab.call(["sacctmgr", "-n", "-i", "modify", "user", "root", "set", f"qos+={','.join(LIMITS)}"])
    slurm = LabSlurm(lab)
    begin = slurm.now() + 30.0
    due: list[tuple[float, int, AwkwardJob]] = []
    for place, job in enumerate(jobs):
        due.append((job.at, place, job))
        if job.cancelled >= 0:
            due.append((job.cancelled, place, job))
    ids: dict[int, str] = {}
    for at, place, job in sorted(due):
        time.sleep(max(0.0, begin + at - slurm.now()) / lab.speed)
        if place in ids:
            # It may have started meanwhile; then nothing is cancelled.
            patiently(slurm, ["scancel", "--state=PENDING", ids[place]])
            continue
        options = job.options
        if job.follows and ids:
            options += (f"--dependency=afterany:{ids[max(ids)]}",)
        words = ["sbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", f"sleep {job.runtime:g}"]
        ids[place] = patiently(slurm, words).strip().partition(";")[0]
    while patiently(slurm, ["squeue", "-h", "-o", "%i"]).split():
        time.sleep(1.0)
    time.sleep(1.0)
