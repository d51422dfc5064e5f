"""``holdfast sweep``: a grid of simulations."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import add_trust, whole
from experiments.commands.asking.summing import add_summing, metrics_of, print_summed
from experiments.terminal import warn

if TYPE_CHECKING:
    from experiments.sweeps import Sweep

__all__ = ["KEPT", "add_arguments", "main"]

#: What is kept when a signal ends the command.
KEPT = "{output} holds the runs that are done, and their tables; the same command continues from there"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE.toml", help="grid of simulations, described in docs/sweeps.md")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory of the store and the tables")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change a key, such as workload.seeds=0:2 (default: none)",
    )
    add_summing(parser)
    parser.add_argument("--dry-run", action="store_true", help="list the runs and which are stored, and stop")
    add_trust(parser)
    workers = parser.add_argument_group("workers")
    workers.add_argument("--workers", metavar="N", help="number of processes (default: one for each core)")
    workers.add_argument(
        "--backend", metavar="NAME", default="loky", help="backend: loky (this machine) or dask (default loky)"
    )
    workers.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of a Dask scheduler, such as tcp://host:8786 (default: none)"
    )
    workers.add_argument(
        "--cluster", metavar="NAME", help="start Dask workers: local, slurm, pbs, lsf, ... (default: none)"
    )
    workers.add_argument(
        "--cluster-options", metavar="FILE", help="TOML file of arguments of the Dask cluster (default: none)"
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the command; the exit status is 1 if a run failed."""
    from experiments.sweeps import read_sweep, run_sweep
    from experiments.sweeps.clusters import cluster_options

    sweep = read_sweep(arguments.file, arguments.set)
    if arguments.dry_run:
        _list(sweep, arguments.output)
        return 0
    metrics = metrics_of(arguments)
    workers = None if arguments.workers is None else whole(arguments.workers, "--workers", 1)
    options = {} if arguments.cluster_options is None else cluster_options(arguments.cluster_options)
    result = run_sweep(
        sweep,
        arguments.output,
        workers=workers,
        backend=arguments.backend,
        scheduler=arguments.scheduler,
        cluster=arguments.cluster,
        cluster_options=options,
        progress=True,
        against=arguments.against or "",
    )
    failed = len(result.failures)
    total = result.stored + result.computed + failed
    print(f"{total:,} runs: {result.stored:,} were stored, {result.computed:,} done now, {failed:,} failed")
    print_summed(result.aggregates, result.differences, metrics)
    print(f"the tables are in {arguments.output}: one row a run in summary.csv")
    for sentence in (*result.caveats, result.lopsided):
        if sentence:
            warn("sweep", sentence)
    if failed:
        warn("sweep", f"what failed and why is in {arguments.output}/failures.json")
    return 1 if failed else 0


def _list(sweep: Sweep, output: str) -> None:
    from experiments.sweeps.grid import expand
    from experiments.sweeps.store import Store

    runs = expand(sweep)
    place = Path(output, "store")
    done = {run.key for run in runs if place.is_dir() and Store(place).read(run) is not None}
    for run in runs:
        print(f"{run.key[:12]}  {'stored ' if run.key in done else 'missing'}  {run.label}")
    print(f"{len(runs):,} runs: {len(done):,} are stored, {len(runs) - len(done):,} missing")
