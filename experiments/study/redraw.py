"""Figures made again from the CSV files of a directory alone: of experiments, of a replay, of a loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.figures.style import save
from experiments.output.seals import SWEEP, open_sealed
from experiments.recordings.runfile import RUN
from experiments.study.experiment import Experiment, all_experiments, find_experiment, present_experiment
from experiments.study.verdicts import Verdict
from experiments.tables import read_csv
from workloads.ground.errors import InputError, TraceError
from workloads.ground.files import is_plain_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PICTURES", "draw_pictures", "found_experiments", "present_again"]

_Rows = Sequence[Mapping[str, Any]]


def _mechanisms(rows: _Rows) -> Figure:
    from experiments.figures.study.mechanisms import plot_mechanisms

    # What is not defined is an empty cell, and a number to the figure.
    return plot_mechanisms([{name: math.nan if cell is None else cell for name, cell in row.items()} for row in rows])


def _machine(rows: _Rows) -> Figure:
    from experiments.figures.study.machine import draw_machine

    return draw_machine(rows)


def _accounting(rows: _Rows) -> Figure:
    from experiments.figures.study.machine import draw_accounting

    return draw_accounting(rows)


def _loop(rows: _Rows) -> Figure:
    from experiments.figures.planning.loop import plot_loop

    return plot_loop(rows)


#: Pictures of ``holdfast run`` and ``holdfast loop`` by name: the table that each is drawn from, and how.
PICTURES: Mapping[str, tuple[str, Callable[[_Rows], Figure]]] = {
    "mechanisms": ("summary.csv", _mechanisms),
    "machine": ("machine.csv", _machine),
    "accounting": ("accounting.csv", _accounting),
    "loop": ("rounds.csv", _loop),
}


def draw_pictures(directory: Path) -> list[str]:
    """Draw what the tables of a replay or a loop in this directory allow; returns the names of the pictures.

    Raises
    ------
    TraceError
        If a table is not what it should be, or was changed since it was written.
    """
    drawn = []
    for name, (table, draw) in PICTURES.items():
        path = _whole_table(directory, table)
        if path is not None:
            with _as_written(path):
                figure = draw(read_csv(path))
            save(figure, directory / name, follow=False)
            drawn.append(name)
    return drawn


def _whole_table(directory: Path, name: str) -> Path | None:
    """A table of a replay, a loop or a sweep; None if there is none.

    Raises
    ------
    TraceError
        If it was changed since it was written.
    """
    path = directory / name
    for manifest in (RUN, SWEEP):
        if is_plain_file(directory / manifest):
            result = open_sealed(directory, manifest)
            if result.files is not None:
                return result.find(name)
    return path if is_plain_file(path) else None


def found_experiments(directory: Path, names: Iterable[str] = ()) -> list[Experiment]:
    """The experiments whose tables are in the directory; of those only the named ones, if any are named.

    Raises
    ------
    InputError
        If the directory is none, a name is unknown, or the tables of a named experiment are not there.
    """
    if not directory.is_dir():
        raise TraceError(directory, None, "is not a directory" if directory.exists() else "no such directory")
    chosen = [find_experiment(name) for name in dict.fromkeys(names)]
    for item in chosen:
        if not _table(item, directory).is_file():
            raise TraceError(directory, None, f"holds no tables of the experiment {item.id}")
    return chosen or [item for item in all_experiments().values() if _table(item, directory).is_file()]


def present_again(
    experiments: Iterable[Experiment], directory: Path, say: Callable[[str], None] | None = None
) -> Iterator[tuple[Experiment, list[Verdict]]]:
    """Verdicts and figures of these experiments from their tables, one after the other.

    Parameters
    ----------
    experiments, directory, say
        As in :func:`experiments.study.experiment.present_experiment`.

    Raises
    ------
    TraceError
        If tables are not what the experiment writes.
    """
    for item in experiments:
        with _as_written(_table(item, directory)):
            verdicts = present_experiment(item, directory, say=say)
        yield item, verdicts


def _table(experiment: Experiment, directory: Path) -> Path:
    return directory / f"{experiment.id}.csv"


@contextmanager
def _as_written(path: Path) -> Iterator[None]:
    """A table in a user's directory need not be what was once written there; then one sentence says so."""
    try:
        yield
    except InputError:
        raise
    except KeyError as error:
        raise TraceError(path, None, f"is not as it was written: there is no {error}") from None
    except (ArithmeticError, AttributeError, IndexError, StopIteration, TypeError, ValueError) as error:
        raise TraceError(path, None, f"is not as it was written: {error}") from None
