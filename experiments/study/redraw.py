"""Figures redrawn from the CSV files in a directory: of experiments, of a replay, or of the closed loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.figure_form import FigureForm
from holdfast.experiments.figures.style import relabel
from holdfast.experiments.output.manifest import SWEEP, open_result
from holdfast.experiments.recordings.run_file import RUN
from holdfast.experiments.recordings.summaries import by_label
from holdfast.experiments.study.experiment import Experiment, all_experiments, find_experiment, present_experiment
from holdfast.experiments.study.verdicts import Verdict
from holdfast.experiments.tables import read_csv
from holdfast.policies.mechanism import BASELINE
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import is_plain_file
from holdfast.workloads.ground.wording import join_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "PICTURES",
    "describe_picture",
    "draw_pictures",
    "find_experiments",
    "present_again",
    "read_summary",
    "refuse_changes",
    "undrawn_pictures",
]

#: Figures of ``holdfast run`` and ``holdfast loop`` by name: source table and drawing function.
PICTURES: Mapping[str, tuple[str, str]] = {
    "mechanisms": ("contrasts.csv", "holdfast.experiments.figures.study.mechanisms:draw_contrasts"),
    "waits": ("distributions.csv", "holdfast.experiments.figures.study.delays:draw_distributions"),
    "machine": ("machine.csv", "holdfast.experiments.figures.study.machine:draw_machine"),
    "accounting": ("accounting.csv", "holdfast.experiments.figures.study.machine:draw_accounting"),
    "aggregates": ("aggregates.csv", "holdfast.experiments.figures.study.aggregates:plot_aggregates"),
    "differences": ("differences.csv", "holdfast.experiments.figures.study.aggregates:plot_differences"),
    "loop": ("rounds.csv", "holdfast.experiments.figures.planning.loop:plot_loop"),
}
#: Alternative source tables of figures in directories with several results.
_ELSE = {"mechanisms": ("summary.csv", "holdfast.experiments.figures.study.mechanisms:plot_mechanisms")}
#: Description of each figure.
SHOWN: Mapping[str, str] = {
    "mechanisms": "how the metrics differ from those of {}, with intervals",
    "waits": "waits and slowdowns: their distributions, and by size",
    "machine": "busy and held nodes, and the waiting jobs, over time",
    "accounting": "node-hours by use: compute, overheads, losses, held, idle",
    "aggregates": "the configurations",
    "differences": "the configurations less the reference",
    "loop": "waits and plans, round by round",
}


#: Figures of runs over seeds.
SUMMED = ("aggregates", "differences")
#: Figures of tables that ``holdfast run`` writes with ``--plot`` alone.
_WITH_PLOT = ("mechanisms", "waits", "machine")


def read_summary(directory: Path) -> list[dict[str, Any]]:
    """The summary of a sweep or a replay.

    Raises
    ------
    TraceError
        If there is no summary, or it was changed.
    """
    path = _whole_table(directory, "summary.csv")
    if path is None:
        raise TraceError(directory, None, "has no summary.csv of a sweep or a run")
    return read_csv(path)


def draw_pictures(directory: Path, unit: str = "nodes", form: FigureForm | None = None) -> list[str]:
    """Draw all figures for which a directory of a replay or a loop has tables; returns their names.

    Parameters
    ----------
    directory
        Directory with the tables.
    unit
        Unit of job sizes: ``nodes`` or ``processors``.
    form
        Width, style and formats.

    Raises
    ------
    TraceError
        If a table lacks columns or values, or was changed.
    """
    form = form or FigureForm()
    # All figures are drawn before the first is written, so that no picture is written if a table is refused.
    figures: dict[str, Figure] = {}
    swept = is_plain_file(directory / SWEEP) or _has_seeds(directory)
    for name, (table, plot) in PICTURES.items():
        # Figures of runs over several seeds show aggregates.
        hidden = swept and name not in SUMMED
        path, draw = None if hidden else _whole_table(directory, table), plot
        if path is None and name in _ELSE and not hidden:
            table, draw = _ELSE[name]
            path = _whole_table(directory, table)
            if path is not None and len(read_csv(path)) == 1:
                continue
        if path is None:
            continue
        with refuse_changes(path):
            rows = read_csv(path)
            called = _call_contrasts(rows) if name == "mechanisms" else name
            if called and not (called in figures and _have_contrasts(rows, directory)):
                figures[called] = relabel(form.draw(resolve_name(draw), by_label(rows)), unit)
    for name, figure in figures.items():
        form.save(figure, directory / name, follow=False)
    return list(figures)


def undrawn_pictures(directory: Path, drawn: Sequence[str]) -> str:
    """Name the figures of a run that cannot be drawn, and what writes their tables; empty: there are none.

    Parameters
    ----------
    directory
        Directory with the tables.
    drawn
        Names of the figures that :func:`draw_pictures` has drawn there.
    """
    if "accounting" not in drawn:
        return ""  # no run, or one over seeds, which has other figures
    summary = _whole_table(directory, "summary.csv")
    rows = [] if summary is None else read_csv(summary)
    names, tables = [], []
    for name in _WITH_PLOT:
        called = _call_contrasts([{**row, "difference": True} for row in rows]) if name == "mechanisms" else name
        there = called in drawn or _whole_table(directory, PICTURES[name][0]) is not None
        if not there and not (name == "mechanisms" and len(rows) < 2):
            names.append(called)
            tables.append(PICTURES[name][0])
    if not names:
        return ""
    return f"not drawn: {join_words(names)}; 'holdfast run --plot' writes their tables ({', '.join(tables)})"


def _call_contrasts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Name of the figure of contrasts; empty: there is nothing to compare."""
    if {str(row.get("mechanism")) for row in rows} != {BASELINE}:
        return "mechanisms"
    # Results that differ in other options alone.
    return "differences" if any(row.get("difference") for row in rows) else ""


def describe_picture(name: str, directory: Path) -> str:
    """Description of a figure that :func:`draw_pictures` has drawn in a directory."""
    path, contrasts = directory / PICTURES[name][0], directory / PICTURES["mechanisms"][0]
    rows = read_csv(path) if name in SUMMED and path.exists() else []
    if name == "mechanisms" or (name == "differences" and (not rows or _have_contrasts(rows, directory))):
        first = by_label(read_csv(contrasts))[0]["mechanism"] if contrasts.exists() else "the first run"
        return SHOWN["mechanisms"].format(first)
    numbers = sorted({int(row["n"]) for row in rows}) or [1]
    if numbers[-1] == 1:
        return SHOWN[name]
    many = f"{numbers[0]}" if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"
    return f"{SHOWN[name]}: means over {many} seeds with 95 % intervals"


def _have_contrasts(differences: Sequence[Mapping[str, Any]], directory: Path) -> bool:
    """Whether differences are those of single runs from one reference: the contrasts have them with intervals."""
    path = directory / PICTURES["mechanisms"][0]
    if not path.exists() or any(row["n"] != 1 for row in differences):
        return False
    compared = [row["metric"] for row in differences].count(differences[0]["metric"])
    contrasts = read_csv(path)
    return compared == [row["metric"] for row in contrasts].count(contrasts[0]["metric"]) - 1


def _has_seeds(directory: Path) -> bool:
    """Whether a replay has runs with several seeds."""
    path = _whole_table(directory, "summary.csv")
    rows = [] if path is None else read_csv(path)
    return bool(rows) and "label" in rows[0] and "seed" in rows[0]


def _whole_table(directory: Path, name: str) -> Path | None:
    """A table of a replay, a loop or a sweep; None if there is none.

    Raises
    ------
    TraceError
        If the table was changed.
    """
    path = directory / name
    for manifest in (RUN, SWEEP):
        if is_plain_file(directory / manifest):
            result = open_result(directory, manifest)
            if result.files is not None:
                return result.find(name)
    return path if is_plain_file(path) else None


def find_experiments(directory: Path, names: Iterable[str] = ()) -> list[Experiment]:
    """Find experiments with tables in a directory: all, or only the named ones.

    Raises
    ------
    InputError
        If the directory does not exist, a name is unknown, or the tables of a named experiment are missing.
    """
    if not directory.is_dir():
        raise TraceError(directory, None, "is not a directory" if directory.exists() else "no such directory")
    chosen = [find_experiment(name) for name in dict.fromkeys(names)]
    for item in chosen:
        if not _table(item, directory).is_file():
            raise TraceError(directory, None, f"holds no tables of the experiment {item.id}")
    return chosen or [item for item in all_experiments().values() if _table(item, directory).is_file()]


def present_again(
    experiments: Iterable[Experiment],
    directory: Path,
    say: Callable[[str], None] | None = None,
    form: FigureForm | None = None,
) -> Iterator[tuple[Experiment, list[Verdict]]]:
    """Recreate verdicts and figures of experiments from their tables.

    Parameters
    ----------
    experiments, directory, say, form
        As in :func:`holdfast.experiments.study.experiment.present_experiment`.

    Raises
    ------
    TraceError
        If tables lack values that the experiment writes.
    """
    for item in experiments:
        with refuse_changes(_table(item, directory)):
            verdicts = present_experiment(item, directory, say=say, form=form)
        yield item, verdicts


def _table(experiment: Experiment, directory: Path) -> Path:
    return directory / f"{experiment.id}.csv"


@contextmanager
def refuse_changes(path: Path) -> Iterator[None]:
    """Context manager that converts errors from changed tables into a one-sentence error."""
    try:
        yield
    except InputError:
        raise
    except KeyError as error:
        raise TraceError(path, None, f"was changed after it was written: {error} is missing") from None
    except (ArithmeticError, AttributeError, IndexError, StopIteration, TypeError, ValueError):
        raise TraceError(path, None, "was changed after it was written: nothing can be drawn from it") from None
