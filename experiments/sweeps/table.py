"""The tables of a sweep: tidy rows in the order of the grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from experiments.recordings.replay import Measurement
from experiments.sweeps.aggregates import aggregate_rows, difference_rows, reference_of
from experiments.sweeps.delays import DELAYS
from experiments.sweeps.grid import GeneratedYear, RunConfiguration
from experiments.sweeps.simulations import WALL_CLOCK, RunOutcome
from experiments.tables import write_csv
from policies.mechanism import BASELINE
from simulator.options import Options
from simulator.results import reservations
from simulator.results.metrics import SUMMARY_COLUMNS
from simulator.results.records import STATES
from workloads.ground.files import atomic_open
from workloads.hybrid.assignment import Assignment

__all__ = ["ACCOUNTING", "PARAMETERS", "SUMMARY", "TIMINGS", "TYPES", "WEEKS", "Row", "Tables"]

#: One row of a table.
Row = Mapping[str, Any]

_WORKLOAD = ("workload", "generator_seed", "generator_jobs", "nodes", "assignment_seed")
_ASSIGNMENT = tuple(item.name for item in fields(Assignment))
#: Columns that say which run it is, the same in all tables but that of the weeks.
PARAMETERS = (
    *("run", *_WORKLOAD, *_ASSIGNMENT),
    *(item.name for kind in (Options, Measurement) for item in fields(kind)),
    *("varied", "mechanism"),
)
_METRICS = tuple(name for name in SUMMARY_COLUMNS if name not in ("mechanism", *WALL_CLOCK))
_STOCHASTIC = tuple(name for name in reservations.SUMMARY_COLUMNS if name not in WALL_CLOCK)
_OF_TYPE = (
    *("type", "jobs", "turnaround_h", "wait_h", "wait_median_h", "wait_p95_h", "wait_max_h"),
    *("bounded_slowdown", "preemption_ratio", "shrink_ratio"),
)
_CLOCK = ("decision_ms_p50", *WALL_CLOCK, "prepare_seconds", "run_seconds", "worker_peak_mib")

#: The last ones are empty without stochastic jobs.
SUMMARY = (*PARAMETERS, *_METRICS, *DELAYS, *_STOCHASTIC)
_UNKNOWN = dict.fromkeys(SUMMARY)
TYPES = (*PARAMETERS, *_OF_TYPE)
ACCOUNTING = (*PARAMETERS, *(f"{name}_node_hours" for name in STATES))
WEEKS = (*_WORKLOAD, *_ASSIGNMENT, "week", "type", "jobs", "node_hours")
TIMINGS = (*PARAMETERS, *_CLOCK)


class Tables:
    """Rows of the runs that are done.

    Parameters
    ----------
    runs
        All runs of the sweep, in the order of the rows.
    against
        Reference of the differences, as :func:`experiments.sweeps.aggregates.reference_of` reads it; empty: none.
    """

    def __init__(self, runs: Sequence[RunConfiguration], against: str = "") -> None:
        self.runs = runs
        # A wrong reference is refused before anything is simulated.
        self._against = reference_of([_parameters(run, None) for run in runs], against) if against else {}
        self._outcomes: dict[str, RunOutcome] = {}
        self._summary: dict[str, Row] = {}
        self._parameters: dict[str, Row] = {}

    def add(self, run: RunConfiguration, outcome: RunOutcome) -> None:
        """A run is done."""
        self._outcomes[run.key] = outcome
        self._parameters[run.key] = told = _parameters(run, outcome)
        self._summary[run.key] = {**_UNKNOWN, **told, **outcome.measured["summary"]}

    def _done(self) -> list[tuple[RunConfiguration, RunOutcome, Row]]:
        return [
            (run, self._outcomes[run.key], self._parameters[run.key]) for run in self.runs if run.key in self._outcomes
        ]

    @property
    def summary(self) -> list[Row]:
        """A row for each run."""
        return [self._summary[run.key] for run in self.runs if run.key in self._summary]

    @property
    def aggregates(self) -> list[Row]:
        """A row for each configuration and metric, over seeds."""
        return list(aggregate_rows(self.summary))

    @property
    def differences(self) -> list[Row]:
        """The same, less the reference; empty where there is none."""
        return list(difference_rows(self.summary, self._against)) if self._against else []

    @property
    def types(self) -> list[Row]:
        """A row for each run and type of jobs, and for all jobs."""
        return [{**told, **row} for _, outcome, told in self._done() for row in outcome.measured["types"]]

    @property
    def accounting(self) -> list[Row]:
        """A row for each run: where all node-hours went."""
        return [
            {**told, **{f"{name}_node_hours": hours for name, hours in outcome.measured["accounting"].items()}}
            for _, outcome, told in self._done()
        ]

    @property
    def weeks(self) -> list[Row]:
        """A row for each job table, week and type: what arrives. Mechanisms and options have no part in it."""
        rows: dict[Any, list[Row]] = {}
        for run, outcome, told in self._done():
            table = run.workload, run.assignment, run.assignment_seed
            if table not in rows:
                shared = {name: told[name] for name in WEEKS if name in told}
                rows[table] = [{**shared, **row} for row in outcome.measured["weeks"]]
        return [row for part in rows.values() for row in part]

    @property
    def timings(self) -> list[Row]:
        """A row for each run: what was measured by the clock, and is another number each time."""
        return [{**told, **outcome.timings} for _, outcome, told in self._done()]

    @property
    def lopsided(self) -> str:
        """In how many job tables one draw has decided what the workload is, and in the first why; empty: in none."""
        tables = {
            (run.workload, run.assignment, run.assignment_seed): outcome.measured.get("lopsided", "")
            for run, outcome, _ in self._done()
            if run.mechanism != BASELINE
        }
        found = [(workload.label, seed, sentence) for (workload, _, seed), sentence in tables.items() if sentence]
        if not found:
            return ""
        label, seed, sentence = found[0]
        return f"in {len(found):,} of {len(tables):,} job tables (first {label}, seed {seed}) {sentence}"

    def write(self, directory: Path) -> None:
        """Write all tables of what has come so far into a directory."""
        rows = self.summary
        write_csv(directory / "summary.csv", rows, SUMMARY)
        _write_parquet(directory / "summary.parquet", rows, SUMMARY)
        for name, found, columns in (
            ("types", self.types, TYPES),
            ("accounting", self.accounting, ACCOUNTING),
            ("weeks", self.weeks, WEEKS),
            ("timings", self.timings, TIMINGS),
        ):
            write_csv(directory / f"{name}.csv", found, columns)
        for name, found in (("aggregates", self.aggregates), ("differences", self.differences)):
            if found:
                write_csv(directory / f"{name}.csv", found, tuple(found[0]))


def _parameters(run: RunConfiguration, outcome: RunOutcome | None) -> Row:
    workload = run.workload
    generated = workload if isinstance(workload, GeneratedYear) else None
    return {
        "run": run.key[:12],
        "workload": workload.label,
        "generator_seed": generated.seed if generated else None,
        "generator_jobs": generated.jobs if generated else None,
        "nodes": None if outcome is None else outcome.measured["nodes"],
        "assignment_seed": run.assignment_seed,
        **{
            item.name: _cell(getattr(given, item.name))
            for given in (run.assignment, run.options, run.measurement)
            for item in fields(given)
        },
        "varied": run.varied,
        "mechanism": run.mechanism,
    }


def _cell(value: Any) -> Any:
    """A value as one cell: several numbers stand in one text, separated by blanks."""
    return " ".join(map(repr, value)) if isinstance(value, tuple) else value


def _write_parquet(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """The same table as a file of columns, where pyarrow is installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return

    def column(name: str) -> Any:
        values = [row[name] for row in rows]
        known = [value for value in values if value is not None]
        # A column without a single value would have no type.
        text, whole = any(isinstance(v, str) for v in known), known and all(isinstance(v, int) for v in known)
        return pa.array(values, pa.string() if text else pa.int64() if whole else pa.float64())

    with atomic_open(path, "wb") as file:
        pq.write_table(pa.table([column(name) for name in columns], list(columns)), file)
