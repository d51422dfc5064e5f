"""Random jobs for a lab with partitions, shared nodes and GPUs, and how they get onto it.

The stored replays come from ``python -m tests.experiments.slurm.machine_tables LAB SEED TABLE``, with a lab that was
started with ``--machine``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.experiments.slurm.lab import Lab, open_lab
from holdfast.experiments.slurm.live_replay import LabSlurm, patiently
from holdfast.experiments.slurm.submitted_jobs import Submit
from holdfast.experiments.tables import write_csv

__all__ = ["COLUMNS", "SharedJob", "random_shared_table", "submit_shared_table"]

#: Columns of the table that is stored; times in seconds from the beginning, ``origin`` in seconds since 1970.
COLUMNS = (
    *("id", "submit", "tasks", "tasks_per_node", "memory_mb", "gpus", "features", "partition", "walltime"),
    *("start", "end", "state", "by", "nodes", "completing", "origin"),
)


class SharedJob(NamedTuple):
    """A submission: its time [s], runtime [s], limit [min], and what it asks for; 0 and "": nothing."""

    at: float
    runtime: float
    minutes: int
    tasks: int
    tasks_per_node: int
    partition: str
    memory_mb: int = 0
    gpus: int = 0
    features: str = ""

    @property
    def options(self) -> list[str]:
        """Options of sbatch."""
        words = [f"--ntasks={self.tasks}", f"--ntasks-per-node={self.tasks_per_node}", f"--time={self.minutes}"]
        words += [f"--partition={self.partition}"]
        words += [f"--mem={self.memory_mb}"] if self.memory_mb else []
        words += [f"--gres=gpu:{self.gpus}"] if self.gpus else []
        return [*words, f"--constraint={self.features}"] if self.features else words


def random_shared_table(seed: int, count: int) -> list[SharedJob]:
    """Draw jobs for a machine with the partitions ``work`` and ``urgent``, and a load well above what it can do."""
    random = np.random.default_rng([seed, 12])
    jobs, at = [], 0.0
    for _ in range(count):
        at += float(random.choice((1, 5, 20, 60)))
        minutes = int(random.choice((10, 15, 20, 30, 45, 60)))
        runtime = float(round(60 * minutes * random.uniform(0.1, 0.97)))
        partition = str(random.choice(("work", "work", "work", "urgent")))
        each = int(random.choice((1, 2, 4, 4, 8, 8)))
        nodes = int(random.choice((1, 1, 1, 2, 2, 3)))
        kind = random.choice(("cores", "cores", "cores", "memory", "gpus", "features"))
        if kind == "memory":
            jobs.append(
                SharedJob(at, runtime, minutes, each, each, partition, int(random.choice((8000, 20000, 30000))))
            )
        elif kind == "gpus":
            jobs.append(SharedJob(at, runtime, minutes, 2, 2, partition, gpus=int(random.choice((1, 1, 2, 4)))))
        elif kind == "features":
            jobs.append(
                SharedJob(at, runtime, minutes, each, each, partition, features=str(random.choice(("cpu", "big"))))
            )
        else:
            jobs.append(SharedJob(at, runtime, minutes, nodes * each, each, partition))
    return jobs


def submit_shared_table(lab: Lab, jobs: Sequence[SharedJob]) -> list[Mapping[str, Any]]:
    """Submit at the times of the table, wait until all jobs have ended, and collect what happened."""
    slurm = LabSlurm(lab)
    begin = slurm.now() + 30.0
    submits: dict[int, Submit] = {}
    for number, job in enumerate(jobs, 1):
        time.sleep(max(0.0, begin + job.at - slurm.now()) / lab.speed)
        words = ["sbatch", "--parsable", "-o", "/dev/null", *job.options, "--wrap", f"exec sleep {job.runtime:g}"]
        found = int(patiently(slurm, words).strip().partition(";")[0])
        submits[found] = Submit(number, job.at, 1, job.runtime, job.minutes)
    while patiently(slurm, ["squeue", "-h", "-o", "%i"]).split():
        time.sleep(1.0)
    time.sleep(60.0 / lab.speed)
    rows = []
    for row in slurm.outcomes(submits):
        job = jobs[row["id"] - 1]
        times = {name: round(row[name] - begin, 3) for name in ("submit", "start", "end")}
        asked = {**job._asdict(), "memory_mb": job.memory_mb or "", "gpus": job.gpus or ""}
        rows.append({**asked, **row, **times, "nodes": row["node_list"], "origin": round(begin, 3)})
    return sorted(rows, key=lambda row: row["id"])


if __name__ == "__main__":
    place, seed, table = sys.argv[1:]
    write_csv(table, submit_shared_table(open_lab(Path(place).absolute()), random_shared_table(int(seed), 90)), COLUMNS)
