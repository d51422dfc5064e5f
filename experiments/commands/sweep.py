"""``holdfast sweep``: simulate a grid of options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.experiments.commands.options.aggregate_options import AGAINST, METRICS, Metrics, print_aggregates
from holdfast.experiments.commands.options.arguments import PaperReading, TrustOption
from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.parameters import Parameter, wholes
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from holdfast.experiments.sweeps import Sweep

__all__ = ["KEPT", "Arguments", "main"]

#: What is kept when a signal ends the command.
KEPT = "{output} holds the runs that are done, and their tables; the same command continues from there"


_WORKERS = "workers"


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    file: Annotated[
        str, Parameter("grid of simulations, described in docs/sweeps.md", metavar="FILE.toml", positional=True)
    ]
    output: Annotated[str, Parameter("directory of the store and the tables", metavar="DIR", short="-o")]
    set: Annotated[
        tuple[str, ...],
        Parameter("change a key, such as workload.seeds=0:2", default="none", metavar="KEY=VALUE", repeated=True),
    ] = ()
    paper: PaperReading
    against: Annotated[str | None, AGAINST] = None
    metrics: Annotated[Metrics, METRICS] = ()
    dry_run: Annotated[bool, Parameter("list the runs and which are stored, and stop")] = False
    trust: TrustOption = False
    workers: Annotated[
        int | None, wholes(1), Parameter("number of processes", default="one for each core", group=_WORKERS)
    ] = None
    backend: Annotated[str, Parameter("backend: loky (this machine) or dask", group=_WORKERS)] = "loky"
    scheduler: Annotated[
        str | None,
        Parameter(
            "address of a Dask scheduler, such as tcp://host:8786", default="none", metavar="ADDRESS", group=_WORKERS
        ),
    ] = None
    cluster: Annotated[
        str | None, Parameter("start Dask workers: local, slurm, pbs, lsf, ...", default="none", group=_WORKERS)
    ] = None
    cluster_options: Annotated[
        str | None,
        Parameter("TOML file of arguments of the Dask cluster", default="none", metavar="FILE", group=_WORKERS),
    ] = None


def main(arguments: Arguments) -> int:
    """Run the command; the exit status is 1 if a run failed."""
    from holdfast.experiments.sweeps import read_sweep, run_sweep
    from holdfast.experiments.sweeps.dask_cluster import cluster_options

    chosen = [] if arguments.paper.reading is None else [f"reading={arguments.paper.reading!r}"]
    sweep = read_sweep(arguments.file, [*chosen, *arguments.set])
    if arguments.dry_run:
        _list(sweep, arguments.output)
        return 0
    options = {} if arguments.cluster_options is None else cluster_options(arguments.cluster_options)
    result = run_sweep(
        sweep,
        arguments.output,
        workers=arguments.workers,
        backend=arguments.backend,
        scheduler=arguments.scheduler,
        cluster=arguments.cluster,
        cluster_options=options,
        progress=True,
        against=arguments.against or "",
    )
    failed = len(result.failures)
    total = result.stored + result.computed + failed
    print(
        f"{count_text(total, 'runs')}: {result.stored:,} were stored, {result.computed:,} done now, {failed:,} failed"
    )
    print_aggregates(result.aggregates, result.differences, arguments.metrics)
    print(f"the tables are in {arguments.output}: one row a run in summary.csv")
    if (sweep.measure.warmup, sweep.measure.cooldown) != (0.0, 0.0):
        print("accounting.csv and weeks.csv cover the whole runs")
    for sentence in (*result.caveats, result.lopsided):
        if sentence:
            warn("sweep", sentence)
    if failed:
        reasons = len({failure.error for failure in result.failures})
        which = f"{count_text(failed, 'runs')} failed for {count_text(reasons, 'reasons')}"
        warn("sweep", f"{which}; all are in {arguments.output}/failures.json")
    return 1 if failed else 0


def _list(sweep: Sweep, output: str) -> None:
    from holdfast.experiments.sweeps.grid import expand
    from holdfast.experiments.sweeps.store import Store

    runs = expand(sweep)
    place = Path(output, "store")
    done = {run.key for run in runs if place.is_dir() and Store(place).read(run) is not None}
    for run in runs:
        print(f"{run.key[:12]}  {'stored ' if run.key in done else 'missing'}  {run.label}")
    print(f"{count_text(len(runs), 'runs')}: {len(done):,} are stored, {len(runs) - len(done):,} missing")
