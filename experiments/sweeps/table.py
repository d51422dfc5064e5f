"""The tables of a sweep: tidy rows in the order of the grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.sweeps.aggregates import aggregate_rows, difference_rows, parse_reference
from holdfast.experiments.sweeps.delays import DELAYS
from holdfast.experiments.sweeps.grid import GeneratedYear, RunConfiguration
from holdfast.experiments.sweeps.object_cache import ObjectCache
from holdfast.experiments.sweeps.simulations import RunOutcome
from holdfast.experiments.tables import csv_lines, write_csv, write_lines
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.options import Options
from holdfast.simulator.results.catalogue import WALL_CLOCK, Group, columns
from holdfast.simulator.results.records import STATES
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.hybrid.assignment import Assignment

__all__ = ["ACCOUNTING", "PARAMETERS", "SUMMARY", "TIMINGS", "TYPES", "WEEKS", "Row", "Tables"]

#: One row of a table.
Row = Mapping[str, Any]
#: Function that gives the rows of a run in a table, without its parameters.
_Part = Callable[[RunOutcome], Sequence[Row]]

_WORKLOAD = ("workload", "generator_seed", "generator_jobs", "nodes", "assignment_seed")
_ASSIGNMENT, _OPTIONS, _MEASUREMENT = (
    tuple(item.name for item in fields(kind)) for kind in (Assignment, Options, Measurement)
)
#: Columns that identify a run, the same in all tables except that of the weeks.
PARAMETERS = (
    *("run", *_WORKLOAD, *_ASSIGNMENT),
    *(*_OPTIONS, *_MEASUREMENT),
    *("varied", "mechanism"),
)
_METRICS = tuple(name for name in columns(Group.SUMMARY) if name not in WALL_CLOCK)
_STOCHASTIC = tuple(name for name in columns(Group.STOCHASTIC) if name not in WALL_CLOCK)
_OF_TYPE = ("type", *columns(Group.TYPES))
_CLOCK = ("decision_ms_p50", *WALL_CLOCK, "prepare_seconds", "run_seconds", "worker_peak_mib")

#: Columns of the summary; the last ones are empty without stochastic jobs.
SUMMARY = (*PARAMETERS, *_METRICS, *DELAYS, *_STOCHASTIC)
_UNKNOWN = dict.fromkeys(SUMMARY[len(PARAMETERS) :])
TYPES = (*PARAMETERS, *_OF_TYPE)
ACCOUNTING = (*PARAMETERS, *(f"{name}_node_hours" for name in STATES))
WEEKS = (*_WORKLOAD, *_ASSIGNMENT, "week", "type", "jobs", "node_hours")
TIMINGS = (*PARAMETERS, *_CLOCK)


class Tables:
    """Rows of the completed runs.

    Parameters
    ----------
    runs
        All runs of the sweep, in the order of the rows.
    against
        Reference of the differences, as :func:`holdfast.experiments.sweeps.aggregates.parse_reference` reads it; empty:
        none.
    """

    def __init__(self, runs: Sequence[RunConfiguration], against: str = "") -> None:
        self.runs = runs
        # A wrong reference is refused before anything is simulated.
        self._against = parse_reference([_parameters(run, None) for run in runs], against) if against else {}
        self._outcomes: dict[str, RunOutcome] = {}
        self._parameters: dict[str, Row] = {}
        self._begins: dict[str, str] = {}
        #: Rows of the present runs that are shown more than once.
        self._made: dict[str, list[Row]] = {}

    def add(self, run: RunConfiguration, outcome: RunOutcome) -> None:
        """Add a completed run."""
        self._made.clear()
        self._outcomes[run.key] = outcome
        self._parameters[run.key] = parameters = _parameters(run, outcome)
        # All tables begin with the same cells, most of their text, so these are formatted once.
        self._begins[run.key] = _first_cells(run, parameters)

    def _finished_runs(self) -> list[tuple[RunConfiguration, RunOutcome, Row]]:
        # Filled last, so that a run that ran out of memory while being added is not shown.
        return [
            (run, self._outcomes[run.key], self._parameters[run.key]) for run in self.runs if run.key in self._begins
        ]

    def _rows(self, own: _Part) -> list[Row]:
        return [{**parameters, **row} for _, outcome, parameters in self._finished_runs() for row in own(outcome)]

    @property
    def summary(self) -> list[Row]:
        """A row for each run."""
        return self._once("summary", lambda: self._rows(_summary))

    @property
    def aggregates(self) -> list[Row]:
        """A row for each configuration and metric, over seeds."""
        return self._once("aggregates", lambda: list(aggregate_rows(self.summary)))

    @property
    def differences(self) -> list[Row]:
        """The same as differences from the reference; empty without one."""
        if not self._against:
            return []
        return self._once("differences", lambda: list(difference_rows(self.summary, self._against)))

    def _once(self, name: str, make: Callable[[], list[Row]]) -> list[Row]:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    @property
    def types(self) -> list[Row]:
        """A row for each run and type of jobs, and for all jobs."""
        return self._rows(_types)

    @property
    def accounting(self) -> list[Row]:
        """A row for each run: node-hours by use."""
        return self._rows(_accounting)

    @property
    def weeks(self) -> list[Row]:
        """A row for each job table, week and type: arriving jobs, which do not depend on mechanisms and options."""
        rows: dict[Any, list[Row]] = {}
        for run, outcome, parameters in self._finished_runs():
            table = run.workload, run.assignment, run.assignment_seed
            if table not in rows:
                shared = {name: parameters[name] for name in WEEKS if name in parameters}
                rows[table] = [{**shared, **row} for row in outcome.measured["weeks"]]
        return [row for part in rows.values() for row in part]

    @property
    def timings(self) -> list[Row]:
        """A row for each run: wall-clock measurements, which are not reproducible."""
        return self._rows(_timings)

    @property
    def lopsided(self) -> str:
        """Warning with the number of job tables that one draw dominates, and the first reason; empty if none."""
        tables = {
            (run.workload, run.assignment, run.assignment_seed): outcome.measured.get("lopsided", "")
            for run, outcome, _ in self._finished_runs()
            if run.mechanism != BASELINE
        }
        found = [(workload.label, seed, sentence) for (workload, _, seed), sentence in tables.items() if sentence]
        if not found:
            return ""
        label, seed, sentence = found[0]
        return f"in {len(found):,} of {len(tables):,} job tables (first {label}, seed {seed}) {sentence}"

    @property
    def caveats(self) -> list[str]:
        """Features of logs that one pool of equal nodes does not model, each sentence once with its first log."""
        found: dict[str, str] = {}
        for run, outcome, _ in self._finished_runs():
            for sentence in outcome.measured.get("caveats", ()):
                found.setdefault(sentence, run.workload.label)
        return [f"{label}: {sentence}" for sentence, label in found.items()]

    def write(self, directory: Path) -> None:
        """Write all tables, with the results so far, to a directory."""
        for name, own, header in (
            ("summary", _summary, SUMMARY),
            ("types", _types, TYPES),
            ("accounting", _accounting, ACCOUNTING),
            ("timings", _timings, TIMINGS),
        ):
            self._write(directory / f"{name}.csv", own, header)
        _write_parquet(directory / "summary.parquet", self.summary, SUMMARY)
        write_csv(directory / "weeks.csv", self.weeks, WEEKS)
        for name, found in (("aggregates", self.aggregates), ("differences", self.differences)):
            if found:
                write_csv(directory / f"{name}.csv", found, tuple(found[0]))

    def _write(self, path: Path, own: _Part, columns: Sequence[str]) -> None:
        """Same output as :func:`write_csv`, in a fifth of the time."""
        parts = [(self._begins[run.key], row) for run, outcome, _ in self._finished_runs() for row in own(outcome)]
        ends = csv_lines((row for _, row in parts), columns[len(PARAMETERS) :])
        write_lines(path, columns, (begin + end for (begin, _), end in zip(parts, ends, strict=True)))


# Rows of each table, without the parameters of the run.


def _summary(outcome: RunOutcome) -> Sequence[Row]:
    return [{**_UNKNOWN, **outcome.measured["summary"]}]


def _types(outcome: RunOutcome) -> Sequence[Row]:
    found: Sequence[Row] = outcome.measured["types"]
    return found


def _accounting(outcome: RunOutcome) -> Sequence[Row]:
    return [{f"{name}_node_hours": hours for name, hours in outcome.measured["accounting"].items()}]


def _timings(outcome: RunOutcome) -> Sequence[Row]:
    return [outcome.timings]


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
        **_cells(run.assignment),
        **_cells(run.options),
        **_cells(run.measurement),
        "varied": run.varied,
        "mechanism": run.mechanism,
    }


def _first_cells(run: RunConfiguration, parameters: Row) -> str:
    """The cells of the parameters as they stand in a line, with the comma after them."""
    (first,) = csv_lines([parameters], ("run", *_WORKLOAD))
    (last,) = csv_lines([parameters], ("varied", "mechanism"))
    settings = (_cells_text(given) for given in (run.assignment, run.options, run.measurement))
    return ",".join((first[:-1], *settings, last[:-1], ""))


def _settings_cells(given: Assignment | Options | Measurement) -> Row:
    return {item.name: _cell(getattr(given, item.name)) for item in fields(given)}


def _settings_text(given: Assignment | Options | Measurement) -> str:
    (line,) = csv_lines([_cells(given)], tuple(_cells(given)))
    return line[:-1]


_cells: ObjectCache[Row] = ObjectCache(_settings_cells)
_cells_text: ObjectCache[str] = ObjectCache(_settings_text)


def _cell(value: Any) -> Any:
    """Format a value as one cell; several numbers are separated by blanks."""
    return " ".join(map(repr, value)) if isinstance(value, tuple) else value


def _write_parquet(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Write the same table as Parquet, if pyarrow is installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return

    def column(name: str) -> Any:
        values = [row[name] for row in rows]
        known = [value for value in values if value is not None]
        # A column without any value would have no type.
        text, whole = any(isinstance(v, str) for v in known), known and all(isinstance(v, int) for v in known)
        return pa.array(values, pa.string() if text else pa.int64() if whole else pa.float64())

    with atomic_open(path, "wb") as file:
        pq.write_table(pa.table([column(name) for name in columns], list(columns)), file)
