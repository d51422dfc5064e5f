"""Random tables with on-demand jobs on a lab, while the controller is killed once or twice.

``python -m tests.experiments.slurm.served_lab --seeds 9401,9402`` serves them in a lab of its own, by the six
mechanisms in turn (or by those of ``--mechanisms``), and counts events that are equal to the simulator's, late, and
different.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import cycle
from pathlib import Path

import numpy as np

from holdfast.experiments import cli
from holdfast.policies.mechanism import MECHANISMS
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import write_job_table
from tests.experiments.slurm.served_tables import random_served_table

__all__ = ["serve_table"]

#: Readings of the journal after which the controller may be killed; a table of ten jobs has little more.
_KILLED = (5, 20)


def serve_table(
    folder: Path, lab: Path, jobs: list[Job], mechanism: str, kills: int, seed: int
) -> tuple[list[dict[str, str]], int]:
    """Serve a table, ending the controller some times; the rows of its events, and how many times it was ended.

    Raises
    ------
    AssertionError
        If it does not finish.
    """
    folder.mkdir()
    write_job_table(jobs, folder / "jobs.csv")
    words = [sys.executable, "-m", "holdfast", "slurm", "serve-on-demand", "jobs.csv", "-o", "served"]
    words += ["--lab", str(lab), "--mechanism", mechanism]
    random = np.random.default_rng([seed, 3])
    ended = 0
    for after in sorted(random.integers(*_KILLED, kills).tolist()):
        with (folder / "log").open("ab") as log:
            controller = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log)
        journal = folder / "served" / "journal"
        while controller.poll() is None:
            if journal.exists() and len(journal.read_text().splitlines()) > after:
                controller.send_signal(signal.SIGKILL)
                controller.wait()
                ended += 1
            time.sleep(0.1)
    if not (folder / "served").exists() or controller.returncode:
        with (folder / "log").open("ab") as log:
            subprocess.run(words, cwd=folder, stdout=log, stderr=log, check=True)
    with (folder / "served" / "events.csv").open() as file:
        return list(csv.DictReader(file)), ended


def main() -> None:
    """Serve tables in a lab of its own, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", required=True, help="seeds, separated by commas")
    names = ",".join(mechanism.name for mechanism in MECHANISMS)
    parser.add_argument("--mechanisms", default=names, help="of the tables in turn, default %(default)s")
    parser.add_argument("--speed", default="60")
    parser.add_argument("--port", default="26000")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="served"))
    os.chdir(folder)
    words = ["--nodes", "12", "--speed", given.speed, "--accounting", "--port", given.port]
    assert cli.main(["slurm", "lab", "start", "-o", "lab", *words]) == 0
    total: Counter[str] = Counter()
    try:
        for seed, mechanism in zip(map(int, given.seeds.split(",")), cycle(given.mechanisms.split(","))):
            jobs = random_served_table(seed).jobs
            rows, kills = serve_table(folder / str(seed), folder / "lab", jobs, mechanism, 1 + seed % 2, seed)
            found = Counter(row["comparison"] for row in rows)
            ended = {int(row["job_id"]) for row in rows if row["event"] == "complete" and row["slurm_s"]}
            urgent = {job.job_id for job in jobs if job.type == JobType.ON_DEMAND and job.submit is not None}
            missing = {job.job_id for job in jobs if job.submit is not None} - ended
            started = {int(row["job_id"]) for row in rows if row["event"] == "start" and row["slurm_s"]}
            shown = f"{len(urgent & started)} of {len(urgent)} on-demand jobs started, not ended: {sorted(missing)}"
            print(seed, mechanism, f"{len(jobs)} jobs, {kills} kills, {dict(found)}, {shown}", flush=True)
            total += found
    finally:
        cli.main(["slurm", "lab", "stop", "-o", "lab"])
    print(sum(total.values()), "events", dict(total))


if __name__ == "__main__":
    main()
