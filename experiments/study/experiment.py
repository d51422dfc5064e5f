"""The :class:`Experiment` class: measures tables, and derives a figure and verdicts from the tables alone.

An experiment reproduces a table or figure of a paper. ``measure`` computes tidy tables, which are written as CSV;
``judge`` and ``draw`` use the tables that are read back. Every figure and verdict can therefore be made again from the
files.
"""

from __future__ import annotations

import json
import pkgutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.experiments.output.atomic_replace import handover
from holdfast.experiments.output.manifest import check_files, incoming_directory, open_result, seal
from holdfast.experiments.study.cost_log import add_cost
from holdfast.experiments.study.parameters import data_digests
from holdfast.experiments.study.rule_digests import mark_verdicts
from holdfast.experiments.study.verdicts import COLUMNS, Verdict, correct_p_values, verdict_row
from holdfast.experiments.sweeps.fingerprint import experiment_fingerprint
from holdfast.experiments.tables import read_csv, write_csv
from holdfast.workloads.ground.errors import InputError, TraceError, UnknownNameError
from holdfast.workloads.ground.files import is_plain_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from holdfast.experiments.figures.figure_form import FigureForm

__all__ = [
    "Experiment",
    "Resources",
    "Row",
    "Tables",
    "all_experiments",
    "find_experiment",
    "is_measured",
    "judge_experiment",
    "make_record",
    "measure_experiment",
    "present_experiment",
    "read_tables",
    "run_experiment",
    "storage_key",
]

#: Suffix of the file of the verdicts.
_VERDICTS = "-verdicts.csv"

#: One row of a table: numbers, texts, or None for undefined values.
Row = Mapping[str, Any]
#: Tables by name; the main table of an experiment has an empty name.
Tables = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Resources:
    """Store and workers of an experiment; no result depends on them.

    Attributes
    ----------
    store
        Directory of stored results; experiments that share it simulate nothing twice.
    workers
        Number of processes; None: one for each core.
    progress
        Whether to show progress.
    """

    store: Path
    workers: int | None = None
    progress: bool = False


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Attributes
    ----------
    id
        The paper and the number, e.g. ``checkpoint-fig6``.
    title
        Description of the content.
    question
        Question that the experiment answers.
    parameters
        Frozen dataclass with the paper's sizes and repetitions as defaults.
    quick
        Parameters with small sizes, for at most 30 s.
    measure
        Function ``measure(parameters, seed)`` that returns tidy tables (a row per observation), which depend only on
        the arguments. With ``stores``: ``measure(parameters, seed, resources)``; except for clock times, the tables do
        not depend on the resources.
    judge
        Function that returns the verdicts from tables read from CSV.
    draw
        Function that draws the figure from these tables; None: no figure, because a table suffices.
    choices
        Choices where the paper is silent or ambiguous, one sentence each.
    stores
        Whether the experiment stores intermediate results, so that it can resume after an interruption and use several
        processes; simulations are shared with other experiments.
    single_runs
        Whether the figure shows single runs of its data instead of aggregates. If the data may not be redistributed,
        such a figure may not be published.
    clocked
        Names of the tables with clock times, which differ between measurements.
    """

    id: str
    title: str
    question: str
    parameters: Any
    quick: Any
    measure: Callable[..., Tables]
    judge: Callable[[Tables], Sequence[Verdict]]
    draw: Callable[[Tables], Figure] | None = None
    choices: tuple[str, ...] = ()
    stores: bool = False
    single_runs: bool = False
    clocked: tuple[str, ...] = ()


def all_experiments() -> dict[str, Experiment]:
    """All experiments by id, in the order of papers and numbers."""
    found: list[Experiment] = []
    for name in ("holdfast.experiments.papers", "holdfast.experiments.beyond"):
        for module in pkgutil.walk_packages(import_module(name).__path__, f"{name}."):
            found += getattr(import_module(module.name), "EXPERIMENTS", ())
    return {item.id: item for item in sorted(found, key=lambda item: _reading_order(item.id))}


def _reading_order(name: str) -> tuple[str, int, str]:
    paper, _, rest = name.partition("-")
    digits = "".join(letter for letter in rest if letter.isdigit())
    return paper, int(digits or 0), rest


def find_experiment(name: str) -> Experiment:
    """Find an experiment by its id.

    Raises
    ------
    UnknownNameError
        If there is no such experiment; the message names the most similar one.
    """
    known = all_experiments()
    if name not in known:
        raise UnknownNameError("experiment", name, known)
    return known[name]


def make_record(experiment: Experiment, parameters: Any, seed: int, version: str) -> dict[str, Any]:
    """Content of ``ID.json``: all inputs of the tables.

    Raises
    ------
    TraceError
        If a data file cannot be read.
    """
    record = {
        "experiment": experiment.id,
        "title": experiment.title,
        "holdfast": version,
        "sources": experiment_fingerprint(),
        "seed": seed,
        "parameters": asdict(parameters),
        "data": data_digests(parameters),
    }
    whole: dict[str, Any] = json.loads(json.dumps(record, default=str))
    return whole


def run_experiment(
    experiment: Experiment,
    parameters: Any,
    seed: int,
    directory: Path,
    version: str,
    *,
    workers: int | None = None,
    progress: bool = False,
) -> list[Verdict]:
    """Measure, write the tables, judge and draw; returns the verdicts.

    Writes ``ID.csv`` (and ``ID-NAME.csv`` for further tables), ``ID.json`` with parameters, seed and version, the cost
    in ``times.json``, and the files of :func:`present_experiment`. Simulations are stored in ``runs``, for all
    experiments in this directory.
    """
    resources = Resources(directory / "runs", workers, progress)
    from holdfast.experiments.sweeps.execution import available_workers

    count = (workers or available_workers()) if experiment.stores else 1
    stores = storage_key(experiment, seed)
    began = time.perf_counter()
    try:
        measure_experiment(experiment, parameters, seed, directory, version, resources)
    except Exception:
        raise
    except BaseException:
        # Simulations stay stored after an interruption, so that their cost is recorded.
        add_cost(directory, experiment.id, time.perf_counter() - began, count, stores=stores, ended=False)
        raise
    add_cost(directory, experiment.id, time.perf_counter() - began, count, stores=stores)
    return present_experiment(experiment, directory)


def storage_key(experiment: Experiment, seed: int) -> str:
    """Key under which an experiment stores simulations for reuse at all of its sizes; empty: it stores none."""
    return f"{experiment_fingerprint()}, seed {seed}" if experiment.stores else ""


def measure_experiment(
    experiment: Experiment,
    parameters: Any,
    seed: int,
    directory: Path,
    version: str,
    resources: Resources | None = None,
) -> None:
    """Measure an experiment and write ``ID.csv``, ``ID-NAME.csv`` and ``ID.json``; the default store is ``runs``."""
    given = (resources or Resources(directory / "runs"),) if experiment.stores else ()
    tables = experiment.measure(parameters, seed, *given)
    record = make_record(experiment, parameters, seed, version)
    with handover(directory, _manifest(experiment.id)) as new:
        for name, rows in tables.items():
            columns = list(dict.fromkeys(column for row in rows for column in row))
            # Rows may lack columns; missing values are undefined.
            whole = ({column: row.get(column) for column in columns} for row in rows)
            write_csv(new / f"{_file(experiment.id, name)}.csv", whole, columns)
        drawn = [f"{experiment.id}{end}" for end in (_VERDICTS, ".png", ".pdf")]
        seal(new, _manifest(experiment.id), record | {"tables": list(tables)}, drawn)


def is_measured(record: Mapping[str, Any], directory: Path) -> bool:
    """Whether a directory has all tables of a record (:func:`make_record`), unchanged.

    Raises
    ------
    TraceError
        If a file was changed or removed; the message names it.
    """
    try:
        found = open_result(directory, _manifest(record["experiment"]), check=False)
    except InputError:
        return False
    recorded = {key: value for key, value in found.content.items() if key != "tables"}
    if recorded != record or found.files is None:
        return False
    check_files(found)
    return True


def present_experiment(
    experiment: Experiment,
    directory: Path,
    also: Callable[[Figure], None] | None = None,
    say: Callable[[str], None] | None = None,
    form: FigureForm | None = None,
) -> list[Verdict]:
    """Write ``ID-verdicts.csv``, ``ID.png`` and ``ID.pdf`` from the tables in a directory.

    Parameters
    ----------
    experiment, directory
        The experiment, and the directory of its tables.
    also
        Function that is called with the figure after it was written.
    say
        Function that is called with a sentence if the existing verdicts differ.
    form
        Width, style and formats of the figure; by default those of its design, as PNG and PDF.

    Raises
    ------
    TraceError
        If there are no tables, or they were changed or cannot be read.
    """
    tables = read_tables(experiment.id, directory)
    verdicts = judge_experiment(experiment, tables, _record_beside(experiment.id, directory))
    figure = None
    if experiment.draw is not None:
        from holdfast.experiments.figures.figure_form import FigureForm as Form

        form = form or Form()
        figure = form.draw(experiment.draw, tables)
    path = directory / f"{experiment.id}{_VERDICTS}"
    before = path.read_bytes() if is_plain_file(path) else None
    write_csv(path, map(verdict_row, verdicts), COLUMNS, follow=False)
    if say is not None and before is not None and before != path.read_bytes():
        say(f"{path.name} was not what the tables say: it is written again")
    if figure is not None and form is not None:
        form.save(figure, directory / experiment.id, follow=False)
        if also is not None:
            also(figure)
    return verdicts


def judge_experiment(experiment: Experiment, tables: Tables, record: Mapping[str, Any] | None = None) -> list[Verdict]:
    """The verdicts of an experiment on its tables, corrected for their number.

    Parameters
    ----------
    experiment, tables
        The experiment, and its tables.
    record
        Content of ``ID.json`` (:func:`make_record`). If given, verdicts by a changed rule mention the change
        (:mod:`holdfast.experiments.study.rule_digests`).
    """
    verdicts = correct_p_values(list(experiment.judge(tables)))
    if not record or "seed" not in record:
        return verdicts
    return mark_verdicts(experiment.id, verdicts, int(record["seed"]), bool(record.get("data")))


def _record_beside(name: str, directory: Path) -> Mapping[str, Any]:
    """Content of ``ID.json``; None if the tables were copied without it."""
    if not (directory / _manifest(name)).exists() and not incoming_directory(directory, _manifest(name)).exists():
        return {}
    return open_result(directory, _manifest(name), check=False).content


def read_tables(name: str, directory: Path) -> dict[str, list[dict[str, Any]]]:
    """Read the tables of an experiment; numeric cells become numbers, empty cells None.

    If the directory has ``ID.json``, the tables are compared with its digests.

    Raises
    ------
    TraceError
        If there are no tables, or one was changed.
    """
    tables = {path.stem.removeprefix(name).removeprefix("-"): read_csv(path) for path in _table_files(name, directory)}
    if not tables:
        raise TraceError(directory, None, f"holds no tables of the experiment {name}")
    return tables


def _table_files(name: str, directory: Path) -> list[Path]:
    if (directory / _manifest(name)).exists() or incoming_directory(directory, _manifest(name)).exists():
        result = open_result(directory, _manifest(name))
        if result.files is not None:
            return [path for path in map(result.find, result.files) if path is not None]
    # There are no digests if tables were copied, or written by early versions.
    return [
        path
        for path in sorted(directory.glob(f"{name}*.csv"))
        if (path.stem == name or path.stem.startswith(f"{name}-")) and path.name != f"{name}{_VERDICTS}"
    ]


def _file(name: str, table: str) -> str:
    return f"{name}-{table}" if table else name


def _manifest(name: str) -> str:
    return f"{name}.json"
