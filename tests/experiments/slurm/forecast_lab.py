"""Forecasts of ``holdfast slurm follow`` beside ``squeue --start``, on a lab with multifactor priority.

``python -m tests.experiments.slurm.forecast_lab --seed S`` measures them in a lab of its own. Jobs of three
accounts, which use different shares of their requests, make a past, and then a queue that is followed.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from holdfast.experiments import cli
from holdfast.experiments.slurm.lab import Lab, add_owners, open_lab
from holdfast.experiments.slurm.live_replay import LabSlurm, replay_on
from holdfast.experiments.slurm.submitted_jobs import Submit, generate_workload, make_submits

__all__ = ["SETTINGS", "first_scores", "followed_queue", "score_lines", "submits_of_accounts"]

#: Lines of slurm.conf.
SETTINGS = (
    "PriorityType=priority/multifactor",
    "PriorityWeightAge=10000",
    "PriorityWeightFairshare=20000",
    "PriorityWeightJobSize=5000",
    "PriorityMaxAge=1-0",
    "PriorityDecayHalfLife=1-0",
)
#: Shares of their requests that jobs of each account run for, from and to.
ACCOUNTS = {"chem": (0.03, 0.15), "bio": (0.1, 0.4), "sky": (0.4, 0.9)}


def submits_of_accounts(seed: int, count: int, nodes: int, load: float) -> list[Submit]:
    """A generated workload in which accounts differ in how much of their requests they use."""
    random = np.random.default_rng([seed, 13])
    jobs = generate_workload(count, nodes, load, seed).jobs
    names = random.choice(list(ACCOUNTS), size=count)
    runtimes = [job.walltime * min(1.0, random.uniform(*ACCOUNTS[name])) for job, name in zip(jobs, names, strict=True)]
    # The generated load is that of the generated runtimes.
    work = sum(job.nodes * job.runtime for job in jobs)
    slower = sum(job.nodes * runtime for job, runtime in zip(jobs, runtimes, strict=True)) / work
    return make_submits(
        [
            replace(job, submit=job.submit * slower, runtime=round(runtime, 1), project=str(name))
            for job, runtime, name in zip(jobs, runtimes, names, strict=True)
        ],
        nodes,
        ("account",),
    )


def followed_queue(
    lab: Lab, seed: int, past: int, count: int, *, forecast_every: str = "20m", draws: int = 100
) -> list[dict[str, str]]:
    """Make a past, follow a queue until all of its jobs have ended, and return the scores of the forecasts.

    The current directory gets ``site``, the snapshot after the past, and ``followed``.
    """
    add_owners(lab, ACCOUNTS, ())
    slurm = LabSlurm(lab)
    if past:
        replay_on(slurm, submits_of_accounts(seed, past, lab.nodes, 1.2), [], _log)
    environment = {**os.environ, **lab.variables, "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    holdfast = [sys.executable, "-m", "holdfast", "slurm"]
    subprocess.run([*holdfast, "snapshot", "-o", "site"], env=environment, check=True)
    words = ["follow", "site", "-o", "followed", "--lab", lab.directory, "--forecast-every", forecast_every]
    words += ["--draws", str(draws), "--workers", "1"]
    follow = subprocess.Popen([*holdfast, *words], start_new_session=True)
    try:
        replay_on(slurm, submits_of_accounts(seed + 1, count, lab.nodes, 1.6), [], _log)
        time.sleep(120.0 / lab.speed)  # a reading sees the last start
    finally:
        follow.terminate()  # a process in the background of a shell ignores SIGINT
        follow.wait(120)
    assert follow.returncode == 0
    with Path("followed", "scores.csv").open() as file:
        return list(csv.DictReader(file))


def first_scores(scores: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """The first forecast of each job for which Slurm had a plan at that time, too."""
    found: dict[str, Mapping[str, str]] = {}
    for score in sorted(scores, key=lambda row: float(row["forecast_at"])):
        if score["slurm_start"]:
            found.setdefault(score["job_id"], score)
    return list(found.values())


def score_lines(scores: Iterable[Mapping[str, str]]) -> list[str]:
    """A line for the first forecasts, and one for all."""
    table = list(scores)
    lines = []
    for name, rows in (("first forecast of each job", first_scores(table)), ("all forecasts", table)):
        both = [row for row in rows if row["slurm_start"]]
        half, most = (100 * sum(row[f"inside_{share}"] == "True" for row in rows) / len(rows) for share in (50, 90))
        ours, plans = (median(float(row[key]) for row in both) for key in ("error_s", "slurm_error_s"))
        lines.append(
            f"{name}: {len(rows)}; in the 50 % interval {half:.1f} %, in the 90 % interval {most:.1f} %; "
            f"median error of {len(both)} beside a plan {ours:.0f} s, of Slurm's plan {plans:.0f} s"
        )
    return lines


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Measure in a lab of its own, and print two lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=240)
    parser.add_argument("--past", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--speed", default="60")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--port", default="26000")
    given = parser.parse_args()
    os.chdir(tempfile.mkdtemp(prefix="forecasts"))
    print(Path.cwd())
    words = ["--nodes", str(given.nodes), "--speed", given.speed, "--accounting", "--port", given.port]
    words += [f"--setting={line}" for line in SETTINGS]
    assert cli.main(["slurm", "lab", "start", "-o", "lab", *words]) == 0
    try:
        scores = followed_queue(open_lab(Path("lab").absolute()), given.seed, given.past, given.jobs)
    finally:
        cli.main(["slurm", "lab", "stop", "-o", "lab"])
    print("\n".join(score_lines(scores)))


if __name__ == "__main__":
    main()
