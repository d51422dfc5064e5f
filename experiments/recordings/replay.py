"""Replays of one job table under several mechanisms, and the files of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.experiments.output.filenames import check_distinct, table_name
from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.recordings.table_files import Format, write_table
from holdfast.experiments.tables import write_csv
from holdfast.policies.mechanism import BASELINE, MECHANISMS, parse_mechanism
from holdfast.simulator import Result, simulate
from holdfast.simulator.options import Options
from holdfast.simulator.results.metrics import summarize, summarize_types
from holdfast.simulator.results.records import STATES
from holdfast.simulator.results.reservations import JOB_COLUMNS, stochastic_rows
from holdfast.simulator.results.schema import DECISIONS, EVENTS, RESERVATIONS, job_schema, jobs_schema, timeline_schema
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.logs.node_names import node_list
from holdfast.workloads.table.job import Job

__all__ = [
    "accounting_rows",
    "parse_mechanisms",
    "replays",
    "summary_rows",
    "write_replay",
]

#: Callback after every few hundred jobs: (mechanism, number of ended jobs).
Progress = Callable[[str, int], None]


def parse_mechanisms(text: str) -> list[str]:
    """Mechanisms by name, separated by commas; ``all`` is the baseline and the six of the paper.

    Examples
    --------
    >>> parse_mechanisms("baseline,CUA-SPAA")
    ['baseline', 'CUA-SPAA']
    """
    names: list[str] = []
    for word in text.split(","):
        known = [BASELINE, *(mechanism.name for mechanism in MECHANISMS)]
        if word.strip().lower() != "all":
            mechanism = parse_mechanism(word.strip())
            known = [BASELINE if mechanism is None else mechanism.name]
        names += [name for name in known if name not in names]
    check_distinct(names)
    return names


def replays(
    jobs: Sequence[Job],
    nodes: int,
    mechanisms: Sequence[str],
    options: Options,
    *,
    events: bool = False,
    progress: Progress | None = None,
    **more: Any,
) -> Iterator[Result]:
    """Simulate the table under each mechanism in turn; an interruption loses only the current one.

    Parameters
    ----------
    jobs, nodes, options
        As for :func:`holdfast.simulator.simulation.simulate`.
    mechanisms
        Names of mechanisms.
    events
        Whether to keep the event log and the decisions.
    progress
        Called with the mechanism and the number of ended jobs.
    **more
        Further parameters of :func:`holdfast.simulator.simulation.simulate`.
    """
    for mechanism in mechanisms:
        yield simulate(
            jobs,
            nodes,
            mechanism,
            events=events,
            decisions=events,
            progress=None if progress is None else partial(progress, mechanism),
            **more,
            **asdict(options),
        )


def summary_rows(
    results: Sequence[Result], measurement: Measurement, values: Mapping[str, Mapping[str, Any]] | None = None
) -> list[dict[str, str | int | float]]:
    """Metrics of each result: the rows of ``summary.csv``.

    Parameters
    ----------
    results
        Results with distinct labels or mechanisms.
    measurement
        Settings of the measurement; the default tolerance is the warning of each result.
    values
        Additional columns by label: the options in which the results differ.
    """
    return [
        {
            **result.identity,
            **((values or {}).get(result.label, {})),
            **summarize(result, instant_tolerance=measurement.instant_tolerance, window=measurement.window),
        }
        for result in results
    ]


def write_replay(
    directory: Path,
    results: Sequence[Result],
    measurement: Measurement,
    summaries: Sequence[Mapping[str, Any]] | None = None,
    *,
    events: bool = False,
    jobs_as: Format = "csv",
) -> None:
    """Write ``summary.csv``, ``types.csv``, ``accounting.csv`` and ``jobs-*.csv``.

    With ``events`` also ``events-*.csv``, ``timeline-*.csv`` and ``decisions-*.csv``. Where there are stochastic jobs
    also ``stochastic-*.csv`` (a row a job) and ``reservations-*.csv``; where there are outages, ``outages.csv``; where
    the backfilling rule uses named nodes, ``nodes-*.csv``; on a machine with partitions, ``partitions.csv``,
    ``resources.csv`` and ``allocations-*.csv``.

    Parameters
    ----------
    directory
        Output directory.
    results, measurement
        As for :func:`summary_rows`.
    summaries
        What :func:`summary_rows` returns; None: it is called.
    events
        Whether to write the event logs.
    jobs_as
        Format of the tables of jobs.
    """
    if summaries is None:
        summaries = summary_rows(results, measurement)
    for result in results:

        def path(table: str, name: str = result.name) -> Path:
            return directory / table_name(table, name)

        tables = {"jobs": jobs_schema(result, job_schema(measurement.instant_tolerance))}
        if events:
            tables |= {"events": EVENTS, "timeline": timeline_schema(result), "decisions": DECISIONS}
        if result.stochastic:
            write_csv(path("stochastic"), stochastic_rows(result), JOB_COLUMNS)
            tables["reservations"] = RESERVATIONS
        if result.placements:
            rows = [{"job_id": job_id, "nodes": node_list(bits)} for job_id, bits in result.placements.items()]
            write_csv(path("nodes"), rows, ("job_id", "nodes"))
        for name, schema in tables.items():
            kind = jobs_as if name == "jobs" else "csv"
            write_table(path(name).with_suffix(f".{kind}"), schema, result, kind)
    write_csv(directory / "summary.csv", summaries, tuple(summaries[0]))
    types = [
        {**result.identity, **row} for result in results for row in summarize_types(result, window=measurement.window)
    ]
    write_csv(directory / "types.csv", types, tuple(types[0]))
    accounting = accounting_rows(results)
    write_csv(directory / "accounting.csv", accounting, tuple(accounting[0]))
    if any(result.on_machine is not None or result.pools for result in results):
        from holdfast.experiments.recordings.machine_tables import write_machine_tables

        write_machine_tables(directory, results, measurement.window)


def accounting_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """One row per result: its node-hours by use, with those down if there were any."""
    states = (*STATES, "down") if any(result.accounting.down for result in results) else STATES
    return [
        {
            **result.identity,
            **{f"{name}_node_hours": getattr(result.accounting, name) / (3600 * SECOND) for name in states},
        }
        for result in results
    ]
