"""The frame of all experiments: tables that are measured, a figure and verdicts that come from the tables alone.

An experiment reproduces a table or figure of a paper. ``measure`` computes tidy tables; they are written as CSV, read
back, and only then ``judge`` and ``draw`` see them: so every figure and verdict can be made again from the files.
"""

from __future__ import annotations

import csv
import json
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.tables import write_csv
from workloads.errors import ParameterError, TraceError, UnknownNameError
from workloads.files import atomic_open

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Experiment",
    "Outcome",
    "Resources",
    "Row",
    "Tables",
    "Verdict",
    "all_experiments",
    "find_experiment",
    "read_tables",
    "run_experiment",
    "with_settings",
]

#: One line of a table; numbers, text, or None where a value is not defined.
Row = Mapping[str, Any]
#: Tables by name. The one of the empty name is the experiment's main table.
Tables = Mapping[str, Sequence[Row]]


class Outcome(StrEnum):
    """What the measured data say of a statement of the paper."""

    HOLDS = "holds"
    FAILS = "does not hold"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Verdict:
    """A statement of the paper beside what was measured.

    Attributes
    ----------
    claim
        The statement, in short.
    printed
        The paper's number or words.
    measured
        Ours.
    outcome
        Computed from the measured data, never typed in.
    remark
        Why, where it needs saying.
    """

    claim: str
    printed: str
    measured: str
    outcome: Outcome
    remark: str = ""

    @classmethod
    def of(cls, claim: str, printed: str, measured: str, holds: bool, remark: str = "") -> Verdict:
        """A verdict that holds or does not."""
        return cls(claim, printed, measured, Outcome.HOLDS if holds else Outcome.FAILS, remark)


@dataclass(frozen=True)
class Resources:
    """What an experiment of simulations works with; no result depends on it.

    Attributes
    ----------
    store
        Directory where results of simulations are kept and found: experiments that share it simulate nothing twice.
    workers
        Processes that simulate; None: one for each core.
    progress
        Whether to show how far it is.
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
        What it shows.
    question
        What one learns from it.
    parameters
        A frozen dataclass with the paper's sizes and repetitions as defaults.
    quick
        The same, small: at most 30 s.
    measure
        ``measure(parameters, seed)``: the tables, tidy (a row an observation), a function of its arguments alone.
        Where ``simulates``: ``measure(parameters, seed, resources)``, a function of the first two alone but for what
        is measured by the clock.
    judge
        The verdicts, from tables as they are read from CSV.
    draw
        The figure, from the same; None: a table needs no picture.
    simulates
        Whether it runs simulations, which other experiments may have run before.
    """

    id: str
    title: str
    question: str
    parameters: Any
    quick: Any
    measure: Callable[..., Tables]
    judge: Callable[[Tables], Sequence[Verdict]]
    draw: Callable[[Tables], Figure] | None = None
    simulates: bool = False


def all_experiments() -> dict[str, Experiment]:
    """Every experiment by id, in the order of papers and numbers."""
    found: list[Experiment] = []
    for name in ("experiments.papers", "experiments.beyond"):
        for module in pkgutil.iter_modules(import_module(name).__path__, f"{name}."):
            found += getattr(import_module(module.name), "EXPERIMENTS", ())
    return {item.id: item for item in sorted(found, key=lambda item: _reading_order(item.id))}


def _reading_order(name: str) -> tuple[str, int, str]:
    paper, _, rest = name.partition("-")
    digits = "".join(letter for letter in rest if letter.isdigit())
    return paper, int(digits or 0), rest


def find_experiment(name: str) -> Experiment:
    """The experiment of that id.

    Raises
    ------
    UnknownNameError
        If there is none; the message offers the nearest.
    """
    known = all_experiments()
    if name not in known:
        raise UnknownNameError("experiment", name, known)
    return known[name]


def with_settings(parameters: Any, settings: Iterable[str]) -> Any:
    """Parameters with some ``name=value`` changed; the value is read as the kind that the default has.

    Raises
    ------
    ParameterError, UnknownNameError
        If there is no such parameter, or the value does not fit.
    """
    known = {field.name: getattr(parameters, field.name) for field in fields(parameters)}
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError("--set", "NAME=VALUE", setting)
        if name not in known:
            raise UnknownNameError("parameter", name, known)
        changes[name] = _read_as(known[name], text, name)
    return replace(parameters, **changes)


def _read_as(default: Any, text: str, name: str) -> Any:
    """A value of the kind of the default; a tuple is written with commas."""
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int | float):
            return _in_range(default, type(default)(text))
        if isinstance(default, tuple):
            return tuple(_read_as(default[0] if default else "", part.strip(), name) for part in text.split(","))
    except (ValueError, KeyError):
        raise ParameterError(name, f"a value such as {default!r}", text) from None
    return text


def _in_range(default: float, value: float) -> float:
    """Sizes, repetitions, times and shares: positive where the default is, never negative where it is not."""
    if not math.isfinite(value) or value < 0 <= default or value == 0 < default:
        raise ValueError
    return value


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

    Writes ``ID.csv`` (and ``ID-NAME.csv`` for further tables), ``ID.png``, ``ID.pdf``, ``ID-verdicts.csv`` and
    ``ID.json`` with parameters, seed and version. Simulations are kept in ``runs``, for all experiments that are run
    with this directory.
    """
    with_resources = (Resources(directory / "runs", workers, progress),) if experiment.simulates else ()
    for name, rows in experiment.measure(parameters, seed, *with_resources).items():
        columns = list(dict.fromkeys(column for row in rows for column in row))
        # A row need not have every column: what it has not is not defined.
        whole = ({column: row.get(column) for column in columns} for row in rows)
        write_csv(directory / f"{_file(experiment.id, name)}.csv", whole, columns)
    told = {
        "experiment": experiment.id,
        "title": experiment.title,
        "holdfast": version,
        "seed": seed,
        "parameters": asdict(parameters),
    }
    with atomic_open(directory / f"{experiment.id}.json") as file:
        json.dump(told, file, indent=2, default=str)
        file.write("\n")
    return present_experiment(experiment, directory)


def present_experiment(experiment: Experiment, directory: Path) -> list[Verdict]:
    """Judge and draw from the tables in the directory."""
    tables = read_tables(experiment.id, directory)
    verdicts = list(experiment.judge(tables))
    columns = [field.name for field in fields(Verdict)]
    write_csv(directory / f"{experiment.id}-verdicts.csv", (asdict(verdict) for verdict in verdicts), columns)
    if experiment.draw is not None:
        from experiments.figures.style import save

        save(experiment.draw(tables), directory / experiment.id)
    return verdicts


def read_tables(name: str, directory: Path) -> dict[str, list[dict[str, Any]]]:
    """The tables of an experiment as they were written: numbers are numbers again, empty cells None.

    Raises
    ------
    TraceError
        If there are none.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(directory.glob(f"{name}*.csv")):
        label = path.stem.removeprefix(name).removeprefix("-")
        if label == "verdicts" or not (path.stem == name or path.stem.startswith(f"{name}-")):
            continue
        with path.open(newline="") as file:
            tables[label] = [{key: _value(text) for key, text in row.items()} for row in csv.DictReader(file)]
    if not tables:
        raise TraceError(directory, None, f"holds no tables of the experiment {name}")
    return tables


def _value(text: str) -> Any:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _file(name: str, table: str) -> str:
    return f"{name}-{table}" if table else name
