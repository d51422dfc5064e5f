"""A sweep from configuration to tables: its execution and its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from holdfast.experiments.output.atomic_replace import handover
from holdfast.experiments.output.directory_checks import check_kind
from holdfast.experiments.output.locks import write_lock
from holdfast.experiments.output.manifest import SWEEP, open_result, seal
from holdfast.experiments.output.output_directory import make_directory
from holdfast.experiments.sweeps.configuration import Sweep
from holdfast.experiments.sweeps.execution import Workforce, carry_out
from holdfast.experiments.sweeps.fingerprint import model_fingerprint
from holdfast.experiments.sweeps.grid import Log, RunConfiguration, expand, run_kind
from holdfast.experiments.sweeps.progress import RunBar
from holdfast.experiments.sweeps.simulations import simulate_runs
from holdfast.experiments.sweeps.store import Store
from holdfast.experiments.sweeps.table import SUMMARY, Row, Tables
from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.errors import HoldfastError, OutputError, TraceError
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.release import VERSION
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    import pandas as pd

#: File of the failures, beside the tables.
FAILURES = "failures.json"
#: Figures drawn from the tables of a sweep.
SWEEP_PICTURES = tuple(f"{name}.{kind}" for name in ("aggregates", "differences") for kind in ("png", "pdf"))
#: Largest share of the time spent on updating the tables.
_SHARE = 0.01
#: Shortest time between two updates [s].
_LEAST = 0.5

__all__ = ["Failure", "SweepResult", "run_sweep"]


@dataclass(frozen=True)
class Failure:
    """A run that failed.

    Attributes
    ----------
    run
        Its configuration.
    error
        One-sentence reason.
    trace
        Traceback, if it was a defect.
    """

    run: RunConfiguration
    error: str
    trace: str = ""


@dataclass(frozen=True, repr=False)
class SweepResult:
    """Results of a sweep.

    Attributes
    ----------
    tables
        Rows of the runs that did not fail, in the order of the grid; the other attributes are made from them when they
        are read, since a sweep from the command line prints the aggregates alone.
    failures
        Runs that failed.
    stored, computed
        Number of runs found in the store, and number simulated now.
    """

    tables: Tables
    failures: Sequence[Failure]
    stored: int
    computed: int

    def __repr__(self) -> str:
        failed = f", {len(self.failures):,} failed" if self.failures else ""
        runs = count_text(len(self.summary), "runs")
        return f"SweepResult({runs}: {self.stored:,} stored, {self.computed:,} computed{failed})"

    @property
    def summary(self) -> Sequence[Row]:
        """A row for each run: its parameters and metrics."""
        return self.tables.summary

    @cached_property
    def types(self) -> Sequence[Row]:
        """A row for each run and type of jobs, and for all jobs."""
        return self.tables.types

    @cached_property
    def accounting(self) -> Sequence[Row]:
        """A row for each run: node-hours by use."""
        return self.tables.accounting

    @cached_property
    def weeks(self) -> Sequence[Row]:
        """A row for each job table, week and type: jobs that arrive."""
        return self.tables.weeks

    @cached_property
    def timings(self) -> Sequence[Row]:
        """A row for each run: wall-clock times."""
        return self.tables.timings

    @property
    def aggregates(self) -> Sequence[Row]:
        """Means over seeds, rows of :mod:`holdfast.experiments.sweeps.aggregates`."""
        return self.tables.aggregates

    @property
    def differences(self) -> Sequence[Row]:
        """Differences from the reference; empty without one."""
        return self.tables.differences

    @cached_property
    def lopsided(self) -> str:
        """Warning about job tables dominated by a single draw of types; empty: there are none."""
        return self.tables.lopsided

    @cached_property
    def caveats(self) -> Sequence[str]:
        """Features of the logs that one pool of equal nodes does not model, one sentence each."""
        return self.tables.caveats

    @property
    def frame(self) -> pd.DataFrame:
        """The summary as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.summary), columns=list(SUMMARY))

    def complete(self) -> SweepResult:
        """Return itself if no run failed.

        Raises
        ------
        HoldfastError
            If a run failed.
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
    against: str = "",
) -> SweepResult:
    """Run the missing simulations of a sweep and write its tables.

    Parameters
    ----------
    sweep
        Sweep of :func:`~holdfast.experiments.sweeps.toml_structure.make_sweep` or
        :func:`~holdfast.experiments.sweeps.toml_structure.read_sweep`.
    directory
        Directory of the tables: ``summary.csv`` (and ``.parquet`` where pyarrow is installed), ``types.csv``,
        ``accounting.csv``, ``weeks.csv``, ``aggregates.csv``, with a reference ``differences.csv``, ``timings.csv``,
        ``sweep.json``, and ``failures.json`` if runs failed. Rows are added to all of them while it runs. The bytes of
        all tables but the timings depend on the configuration alone.
    workers, backend, scheduler, cluster, cluster_options
        Workers, see :class:`holdfast.experiments.sweeps.execution.Workforce`; by default a process for each core.
    store
        Directory of the results of runs, which several sweeps may share one after the other; ``directory/store`` by
        default.
    progress
        Whether to show a bar with the remaining time.
    against
        Configuration that the others are compared with, ``order=fcfs``; empty: none.

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
    tables = Tables(runs, against)
    place = Path(directory)
    stored = place / "store" if store is None else Path(store)
    _refuse_links(place, stored)
    place = make_directory(place)
    kept = Store(stored)
    with write_lock(place, "another sweep"), kept.lock():
        check_kind(place, SWEEP)
        changed = _changed_table(place)
        if changed and progress:
            warn("sweep", f"{changed}; the tables are written again from the store")
        shown = _Shown(place, _manifest(sweep, runs), tables)
        missing: list[RunConfiguration] = []
        for run in runs:
            outcome = kept.read(run)
            if outcome is None:
                missing.append(run)
            else:
                tables.add(run, outcome)
        try:
            if missing:
                shown.refresh()
                _carry_out(
                    missing,
                    workforce,
                    kept,
                    tables,
                    shown,
                    RunBar(len(runs), [run_kind(run) for run in missing], progress),
                )
        finally:
            # Also after an interruption, so that completed runs are kept and shown.
            kept.flush()
            shown.write()
    failed = shown.list_failures(runs)
    return SweepResult(tables, failed, stored=len(runs) - len(missing), computed=len(missing) - len(failed))


class _Shown:
    """Writer of the tables, which are replaced atomically and show all results so far.

    Parameters
    ----------
    directory, manifest, tables
        Directory of the files, content of ``sweep.json``, and rows of the tables.
    """

    def __init__(self, directory: Path, manifest: Mapping[str, Any], tables: Tables) -> None:
        self._directory, self._manifest, self._tables = directory, manifest, tables
        self._next = 0.0
        self.failures: dict[str, Failure] = {}

    def list_failures(self, runs: Sequence[RunConfiguration]) -> list[Failure]:
        """The failures in the order of the runs."""
        return [self.failures[run.key] for run in runs if run.key in self.failures]

    def refresh(self) -> None:
        """Write the results so far, unless that was just done."""
        began = perf_counter()
        if began >= self._next:
            self.write()
            now = perf_counter()
            self._next = now + max(_LEAST, (now - began) / _SHARE)

    def write(self) -> None:
        """Write the results so far."""
        with handover(self._directory, SWEEP) as new:
            self._tables.write(new)
            failed = self.list_failures(self._tables.runs)
            if failed:
                _write_json(new / FAILURES, [_failure(failure) for failure in failed])
            seal(new, SWEEP, {**self._manifest, "done": len(self._tables.summary)}, SWEEP_PICTURES)


def _refuse_links(directory: Path, store: Path) -> None:
    """Refuse a store or tables behind a symbolic link, which may belong to another user.

    Raises
    ------
    OutputError
        Says which.
    """
    below = [path for path in (directory, *directory.parents) if store in path.parents]
    for path in (store, *below):
        if path.is_symlink():
            raise OutputError(f"{path}: is a link, and results are not written through links")


def _changed_table(directory: Path) -> str:
    """The table that was changed since it was written; empty if none was."""
    try:
        open_result(directory, SWEEP)
    except TraceError as error:
        return "" if not (directory / SWEEP).exists() else error.fault
    return ""


def _carry_out(
    missing: Sequence[RunConfiguration],
    workforce: Workforce,
    kept: Store,
    tables: Tables,
    shown: _Shown,
    bar: RunBar,
) -> None:
    by_key = {run.key: run for run in missing}
    reported: set[str] = set()
    with workforce.assemble() as pool, bar:
        for outcome in carry_out(simulate_runs, missing, pool, kept.flush):
            run = by_key[outcome.key]
            if outcome.error:
                shown.failures[run.key] = Failure(run, outcome.error, outcome.trace)
                if outcome.error not in reported:
                    bar.say(f"failed ({run.label}): {outcome.error}")
                reported.add(outcome.error)
            else:
                tables.add(run, kept.write(run, outcome))
                shown.refresh()
            bar.advance(run_kind(run), outcome.timings.get("run_seconds") or 0.0)


def _sweep_entry(sweep: Sweep) -> dict[str, Any]:
    """The sweep as a dict; machines only where there are any."""
    entry = asdict(sweep)
    for place in (entry["workload"], *entry["workload"]["traces"]):
        for name in ("machine", "placement"):
            if place[name] is None:
                del place[name]
    return entry


def _manifest(sweep: Sweep, runs: Sequence[RunConfiguration]) -> dict[str, Any]:
    return {
        "holdfast": VERSION,
        "model": model_fingerprint(),
        "sweep": _sweep_entry(sweep),
        "traces": {run.workload.label: run.workload.sha256 for run in runs if isinstance(run.workload, Log)},
        "runs": len(runs),
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "run": failure.run.key[:12],
        "label": failure.run.label,
        "error": failure.error,
        "trace": failure.trace,
        "configuration": failure.run.identity(),
    }


def _write_json(path: Path, content: Any) -> None:
    with atomic_open(path) as file:
        json.dump(content, file, indent=2)
        file.write("\n")
