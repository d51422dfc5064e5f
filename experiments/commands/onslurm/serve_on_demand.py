"""``holdfast slurm serve-on-demand``: a mechanism carried out on a lab, beside the simulator."""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import add_trust, duration, new_directory
from workloads.ground.errors import InputError
from workloads.table.job import JobType

if TYPE_CHECKING:
    from workloads.table.job import Job

__all__ = ["add_arguments", "main"]

#: Jobs that one lab takes in some minutes.
_MOST = 2_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "jobs",
        metavar="JOBS",
        help="job table with on-demand jobs; a program plays each job of it, checkpoints included",
    )
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory for what happened")
    parser.add_argument("--lab", metavar="DIR", default="slurm-lab", help="lab to use (default slurm-lab)")
    parser.add_argument("--mechanism", metavar="NAME", default="CUA-SPAA", help="mechanism (default CUA-SPAA)")
    parser.add_argument(
        "--grace",
        metavar="TIME",
        default="60s",
        help="time that a rigid victim has to save before it is requeued [s] (default 60s)",
    )
    parser.add_argument(
        "--no-save",
        action="store_true",
        help="let rigid jobs ignore the signal to save, as in the model, and have their periodic checkpoints alone",
    )
    parser.add_argument(
        "--warning", metavar="TIME", default="120s", help="time that a malleable victim has [s] (default 120s)"
    )
    parser.add_argument(
        "--timeout",
        metavar="TIME",
        default="10m",
        help="time after the estimated arrival until a reservation is given up [s] (default 10m)",
    )
    parser.add_argument(
        "--tenants", metavar="NAME", default="any", help="which jobs may use idle reserved nodes (default any)"
    )
    parser.add_argument(
        "--tolerance",
        metavar="TIME",
        default="60s",
        help="difference of the times of two events that counts as none [s] (default 60s)",
    )
    add_trust(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.slurm.concurrence import EVENT_COLUMNS, concurrence, concurrence_table, concurrence_told
    from experiments.slurm.lab import open_lab
    from experiments.slurm.replaying import LabSlurm
    from experiments.slurm.serving import serve
    from experiments.slurm.steering import Steering
    from experiments.tables import write_csv
    from policies.mechanism import parse_mechanism
    from simulator.options import Options
    from simulator.simulation import checked_table, simulate
    from workloads.table.jobtable import read_job_table

    warning, timeout = duration(arguments.warning, "--warning"), duration(arguments.timeout, "--timeout")
    grace, tolerance = duration(arguments.grace, "--grace"), duration(arguments.tolerance, "--tolerance")
    mechanism = parse_mechanism(arguments.mechanism)
    if mechanism is None:
        raise InputError("the baseline serves no on-demand jobs; --mechanism must name a mechanism, such as CUA-SPAA")
    options = Options(tenants=arguments.tenants, backfilling="slurm", warning=warning, timeout=timeout)
    out = new_directory(arguments.output)
    lab = open_lab(Path(arguments.lab).absolute())
    table = [_in_minutes(job) for job in checked_table(read_job_table(arguments.jobs).jobs, lab.nodes)]
    if len(table) > _MOST:
        raise InputError(f"{arguments.jobs}: has {len(table):,} jobs; a lab takes at most {_MOST:,}")
    if any(job.type is JobType.STOCHASTIC for job in table):
        raise InputError(f"{arguments.jobs}: has stochastic jobs; 'holdfast submit' carries out their plans")
    if not lab.accounting and any(job.type is JobType.MALLEABLE for job in table):
        raise InputError("malleable jobs grow only where Slurm has a database; start the lab with --accounting")
    out.mkdir(exist_ok=True)
    slurm = LabSlurm(lab)
    with (out / "log").open("w") as log:

        def tell(line: str) -> None:
            print(line, file=log, flush=True)
            if not line.startswith(" " * 2):
                print(line, file=sys.stderr)

        steering = Steering(slurm, out, saves=not arguments.no_save, tell=tell)
        entries = serve(slurm, steering, table, lab.nodes, mechanism, options, grace=grace, tell=tell)
    named = dataclasses.asdict(options)
    simulated = simulate(table, lab.nodes, mechanism.name, **named)
    rows = concurrence(entries, simulated.entries)
    write_csv(out / "events.csv", rows, EVENT_COLUMNS)
    print(concurrence_table(rows))
    print(concurrence_told(rows, tolerance))
    for line in steering.refused:
        print(f"refused by Slurm: {line}")
    print(f"written to {arguments.output}/events.csv; {arguments.output}/log has each command")


def _in_minutes(job: Job) -> Job:
    """The job with its walltime as Slurm takes it, in whole minutes."""
    return dataclasses.replace(job, walltime=60.0 * math.ceil(job.walltime / 60 - 1e-9))
