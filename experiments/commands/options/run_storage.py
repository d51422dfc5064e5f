"""What ``holdfast run`` writes into its directory: tables, job tables, outages, figures, and the manifest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.experiments.commands.options.outage_options import OUTAGE_FILE, save_outages
from holdfast.experiments.commands.options.planned_runs import PlannedRun, make_manifest
from holdfast.experiments.commands.options.run_options import RunOptions
from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.recordings.replay import summary_rows, write_replay
from holdfast.experiments.recordings.run_file import ENGINE, EPOCH, JOB_TABLE, LOCAL, PICTURE_FILES, RUN, ZONE
from holdfast.simulator import Result
from holdfast.simulator.results.catalogue import WALL_CLOCK

__all__ = ["RunAnswer", "store_run"]


@dataclass(frozen=True)
class RunAnswer:
    """The metrics of all runs of a command.

    Attributes
    ----------
    results, planned
        The results and what was planned, in the same order.
    measurement
        Settings of the measurement.
    summaries, aggregates, differences
        Rows of ``summary.csv``, ``aggregates.csv`` and ``differences.csv``; the last two may be empty.
    against
        Keys and values of the reference of differences; empty: there is none.
    """

    results: Sequence[Result]
    planned: Sequence[PlannedRun]
    measurement: Measurement
    summaries: Sequence[Mapping[str, Any]]
    aggregates: Sequence[Mapping[str, Any]]
    differences: Sequence[Mapping[str, Any]]
    against: Mapping[str, Any]

    @classmethod
    def of(
        cls, arguments: RunOptions, results: Sequence[Result], planned: Sequence[PlannedRun], against: Mapping[str, Any]
    ) -> RunAnswer:
        """The metrics of results; ``against``: the reference of differences, or empty."""
        # Without a tolerance of its own the warning of each run decides.
        measurement = planned[0].measurement
        if arguments.measurement.instant_tolerance is None:
            measurement = replace(measurement, instant_tolerance=None)
        values = {run.variation.label: run.variation.values for run in planned}
        summaries = summary_rows(results, measurement, values)
        if not (planned[0].variation.values or against):
            return cls(results, planned, measurement, summaries, [], [], against)
        from holdfast.experiments.sweeps.aggregates import aggregate_rows, difference_rows

        differences = difference_rows(summaries, against) if against else []
        return cls(results, planned, measurement, summaries, aggregate_rows(summaries), differences, against)

    @property
    def unit(self) -> str:
        """Unit of sizes."""
        return self.planned[0].simulation.unit

    def document(self) -> dict[str, Any]:
        """JSON document: configuration as in ``run.json``, and the rows of the summaries without wall-clock times."""
        tables = {"results": self.summaries, "aggregates": self.aggregates, "differences": self.differences}
        return make_manifest(self.planned, {}) | {
            name: [
                {key: _json_value(value) for key, value in row.items() if key not in WALL_CLOCK}
                for row in rows
                if row.get("metric") not in WALL_CLOCK
            ]
            for name, rows in tables.items()
        }


def _json_value(value: Any) -> Any:
    """A value for JSON, which has no number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def store_run(arguments: RunOptions, directory: Path, answer: RunAnswer) -> list[str]:
    """Replace the result in a directory; returns a line for each figure that was drawn."""
    from holdfast.experiments.figures.recording.recording_figures import existing_pictures
    from holdfast.experiments.output.atomic_replace import handover
    from holdfast.experiments.output.manifest import seal
    from holdfast.experiments.tables import write_csv

    results, planned = answer.results, answer.planned
    tables = _table_names(planned)
    # Runs that only their mechanisms set apart have no entries of their own.
    engines = {run.name: result.engine for run, result in zip(planned, results, strict=True)}
    alike = planned[0].variation.values or len(set(engines.values())) == 1
    own: dict[str, dict[str, Any]] = {name: {ENGINE: engine if alike else engines} for name, engine in engines.items()}
    for run in planned:
        if arguments.events or (run.simulation.prepared and (len(tables) > 1 or run.simulation.on_machine)):
            own[run.name] |= {JOB_TABLE: tables[run.table], EPOCH: run.simulation.epoch}
        own[run.name] |= {ZONE: LOCAL} if run.simulation.local else {}
    former, drawn = existing_pictures(directory), list[str]()
    with handover(directory, RUN) as new:
        _write_tables(arguments, planned, tables, new, directory)
        _write_outages(planned, results, new, directory)
        write_replay(
            new,
            results,
            answer.measurement,
            answer.summaries,
            events=arguments.events,
            jobs_as=arguments.stream_format,
        )
        for name, rows in (("aggregates", answer.aggregates), ("differences", answer.differences)):
            if rows:
                write_csv(new / f"{name}.csv", rows, tuple(rows[0]))
        if arguments.plot:
            drawn = _draw(answer, new, directory)
        seal(new, RUN, make_manifest(planned, own), PICTURE_FILES)
    for path in former:
        path.unlink(missing_ok=True)
    return drawn


def _draw(answer: RunAnswer, new: Path, directory: Path) -> list[str]:
    """Draw the figures from tables alone, here as at any later time."""
    from holdfast.experiments.study.redraw import describe_picture, draw_pictures
    from holdfast.experiments.tables import write_csv
    from holdfast.experiments.timelines.distributions import distribution_rows
    from holdfast.experiments.timelines.machine_table import machine_rows
    from holdfast.experiments.timelines.paired_contrasts import contrast_rows
    from holdfast.workloads.ground.wording import in_unit

    results = answer.results
    dated = [
        replace(result, epoch=run.simulation.epoch, zone=LOCAL if run.simulation.local else "UTC")
        for run, result in zip(answer.planned, results, strict=True)
    ]
    drawable = {"machine": machine_rows(dated), "distributions": distribution_rows(results, answer.measurement.window)}
    if len(results) > 1:
        ordered = _reference_first(results, answer)
        drawable["contrasts"] = contrast_rows(ordered, answer.measurement.instant_tolerance, answer.measurement.window)
    for name, rows in drawable.items():
        write_csv(new / f"{name}.csv", rows, tuple(rows[0]))
    drawn = draw_pictures(new, answer.unit)
    return [f"{directory / name}.png: {in_unit(describe_picture(name, new), answer.unit)}" for name in drawn]


def _reference_first(results: Sequence[Result], answer: RunAnswer) -> list[Result]:
    """The results, before all others the one that ``--against`` names, if it names a single one."""
    named = answer.against
    found = [place for place, row in enumerate(answer.summaries) if named and named.items() <= dict(row).items()]
    first = found[0] if len(found) == 1 else 0
    return [results[first], *results[:first], *results[first + 1 :]]


def _table_names(planned: Sequence[PlannedRun]) -> dict[str, str]:
    """The file of each job table, by what sets the table apart."""
    from holdfast.experiments.output.filenames import table_name

    parts = dict.fromkeys(run.table for run in planned)
    return {part: "jobs.csv" if len(parts) == 1 else table_name("table", part) for part in parts}


def _write_tables(
    arguments: RunOptions, planned: Sequence[PlannedRun], tables: dict[str, str], new: Path, directory: Path
) -> None:
    """Write the job tables, so that what was simulated can be read, compared, and given to another simulator."""
    from holdfast.workloads.table.job_table import write_job_table

    for run in {run.table: run for run in planned}.values():
        # An input that lies there stays as it is.
        own = (directory / tables[run.table]).resolve() == Path(arguments.simulation.input).resolve()
        if (run.simulation.prepared or arguments.events) and not own:
            write_job_table(run.simulation.jobs, new / tables[run.table])
        workload = run.simulation.on_machine
        if workload is not None:
            from holdfast.experiments.recordings.stored_allocations import machine_file_name
            from holdfast.workloads.machines.machine_file import write_machine

            write_machine(workload.machine, new / machine_file_name(tables[run.table]))


def _write_outages(planned: Sequence[PlannedRun], results: Sequence[Result], new: Path, directory: Path) -> None:
    """Write the outages: one file where all runs have the same, else one for each run that has any."""
    from holdfast.experiments.output.filenames import table_name

    first = planned[0]
    same = all((run.asked, run.simulation.nodes) == (first.asked, first.simulation.nodes) for run in planned)
    if same and first.asked.configuration:
        save_outages(results, new, directory, first.variation.arguments.outages.outages)
    elif not same:
        for run, result in zip(planned, results, strict=True):
            if run.asked.configuration:
                name = table_name(Path(OUTAGE_FILE).stem, run.name)
                save_outages([result], new, directory, run.variation.arguments.outages.outages, name)
