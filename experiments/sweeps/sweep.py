"""A sweep from its configuration to its tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.fingerprint import model_fingerprint
from experiments.progress import RunBar
from experiments.replay import make_directory
from experiments.sweeps.configuration import Sweep
from experiments.sweeps.execution import Workforce, carry_out
from experiments.sweeps.grid import Log, RunConfiguration, expand
from experiments.sweeps.simulations import simulate_run
from experiments.sweeps.store import Store
from experiments.sweeps.table import SUMMARY, Row, Tables
from workloads.errors import HoldfastError
from workloads.files import atomic_open, remove_partials

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Failure", "SweepResult", "run_sweep"]


@dataclass(frozen=True)
class Failure:
    """A run that failed.

    Attributes
    ----------
    run
        Its configuration.
    error
        Why, in a sentence.
    trace
        Where, if it was a defect.
    """

    run: RunConfiguration
    error: str
    trace: str = ""


@dataclass(frozen=True)
class SweepResult:
    """What a sweep has shown.

    Attributes
    ----------
    summary, types, accounting, weeks, timings
        Rows of the tables, in the order of the grid; without those of runs that failed.
    failures
        Runs that failed.
    stored, computed
        How many runs were found in the store, and how many were carried out now.
    """

    summary: Sequence[Row]
    types: Sequence[Row]
    accounting: Sequence[Row]
    weeks: Sequence[Row]
    timings: Sequence[Row]
    failures: Sequence[Failure]
    stored: int
    computed: int

    @property
    def frame(self) -> pd.DataFrame:
        """The summary as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.summary), columns=list(SUMMARY))

    def complete(self) -> SweepResult:
        """Itself, if no run failed.

        Raises
        ------
        HoldfastError
            If one did.
        """
        if self.failures:
            first = self.failures[0]
            raise HoldfastError(
                f"{len(self.failures)} of the runs failed; the first ({first.run.label}): {first.error}\n{first.trace}"
            )
        return self


def run_sweep(
    sweep: Sweep,
    directory: str | Path,
    *,
    workers: int | None = None,
    backend: str = "loky",
    scheduler: str | None = None,
    cluster: str | None = None,
    cluster_options: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> SweepResult:
    """Carry out what is missing of a sweep, and write its tables.

    Parameters
    ----------
    sweep
        Of :func:`~experiments.sweeps.structure.make_sweep` or :func:`~experiments.sweeps.structure.read_sweep`.
    directory
        Where the tables go: ``summary.csv`` (and ``.parquet`` where pyarrow is installed), to which rows are added
        while it runs, ``types.csv``, ``accounting.csv``, ``weeks.csv``, ``timings.csv``, ``sweep.json``, and
        ``failures.json`` if runs failed. The bytes of the first four depend on the configuration alone.
    workers, backend, scheduler, cluster, cluster_options
        Who does it, see :class:`experiments.sweeps.execution.Workforce`; by default a process for each core.
    store
        Directory of the results of runs, which several sweeps may share one after the other; ``directory/store`` by
        default.
    progress
        Whether to show a bar with the remaining time.

    Returns
    -------
    SweepResult
        The rows of the tables.

    Raises
    ------
    InputError
        If a trace cannot be read, a directory not written, or the scheduler does not answer. A run that fails is no
        error: see :meth:`SweepResult.complete`.
    """
    workforce = Workforce(
        workers=workers,
        backend=backend,
        scheduler=scheduler,
        cluster=cluster,
        cluster_options=cluster_options or {},
    )
    runs = expand(sweep)
    place = make_directory(directory)
    kept = Store(store if store is not None else place / "store")
    tables = Tables(place, runs)
    failures: dict[str, Failure] = {}
    with kept.reserved():
        remove_partials(place)
        missing: list[RunConfiguration] = []
        for run in runs:
            outcome = kept.read(run)
            if outcome is None:
                missing.append(run)
            else:
                tables.add(run, outcome)
        _write_json(place / "sweep.json", _told(sweep, runs))
        try:
            if missing:
                tables.refresh()
                _carry_out(missing, workforce, kept, tables, failures, RunBar(len(runs), len(missing), progress))
        finally:
            # Also after an interruption: what is done is shown.
            tables.write()
            failed = [failures[run.key] for run in runs if run.key in failures]
            _write_failures(place / "failures.json", failed)
    return SweepResult(
        summary=tables.summary,
        types=tables.types,
        accounting=tables.accounting,
        weeks=tables.weeks,
        timings=tables.timings,
        failures=failed,
        stored=len(runs) - len(missing),
        computed=len(missing) - len(failed),
    )


def _carry_out(
    missing: Sequence[RunConfiguration],
    workforce: Workforce,
    kept: Store,
    tables: Tables,
    failures: dict[str, Failure],
    bar: RunBar,
) -> None:
    by_key = {run.key: run for run in missing}
    with workforce.assembled() as pool, bar:
        for outcome in carry_out(simulate_run, missing, pool):
            run = by_key[outcome.key]
            if outcome.error:
                failures[run.key] = Failure(run, outcome.error, outcome.trace)
                bar.say(f"failed ({run.label}): {outcome.error}")
            else:
                tables.add(run, kept.write(run, outcome))
                tables.refresh()
            bar.advance()


def _told(sweep: Sweep, runs: Sequence[RunConfiguration]) -> dict[str, Any]:
    return {
        "holdfast": version("holdfast"),
        "model": model_fingerprint(),
        "sweep": asdict(sweep),
        "traces": {run.workload.label: run.workload.sha256 for run in runs if isinstance(run.workload, Log)},
        "runs": len(runs),
    }


def _write_failures(path: Path, failed: Sequence[Failure]) -> None:
    """Write what failed; a file of former failures that are none any more goes."""
    if not failed:
        path.unlink(missing_ok=True)
        return
    told = [
        {
            "run": failure.run.key[:12],
            "label": failure.run.label,
            "error": failure.error,
            "trace": failure.trace,
            "configuration": failure.run.identity(),
        }
        for failure in failed
    ]
    _write_json(path, told)


def _write_json(path: Path, content: Any) -> None:
    with atomic_open(path) as file:
        json.dump(content, file, indent=2)
        file.write("\n")
