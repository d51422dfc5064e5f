"""``holdfast plot``: draw figures and judge claims again from the tables of a directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from holdfast.experiments.commands.options.aggregate_options import AGAINST, METRICS, Metrics, print_aggregates
from holdfast.experiments.commands.options.figure_options import FigureOptions
from holdfast.experiments.terminal import note, warn
from holdfast.workloads.ground.parameters import Parameter

__all__ = ["Arguments", "main"]


_RUNS = "runs of a sweep, or of a run with several values"


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    directory: Annotated[
        str, Parameter("results of 'experiment', 'reproduce', 'run', 'sweep' or 'loop'", metavar="DIR", positional=True)
    ]
    id: Annotated[
        tuple[str, ...],
        Parameter(
            "ids of experiments",
            default="all with tables in DIR",
            metavar="ID",
            positional=True,
            repeated=True,
        ),
    ] = ()
    against: Annotated[str | None, replace(AGAINST, group=_RUNS)] = None
    metrics: Annotated[Metrics, replace(METRICS, group=_RUNS)] = ()
    where: Annotated[
        tuple[str, ...],
        Parameter(
            "draw the runs with this value, or one of several, as order=fcfs,sjf; may be repeated",
            default="all",
            metavar="KEY=VALUE",
            group=_RUNS,
            repeated=True,
        ),
    ] = ()
    look: FigureOptions


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.output.locks import write_lock
    from holdfast.experiments.output.manifest import SWEEP
    from holdfast.experiments.output.output_directory import make_directory
    from holdfast.experiments.study.redraw import (
        PICTURES,
        draw_pictures,
        find_experiments,
        present_again,
        refuse_changes,
        undrawn_pictures,
    )
    from holdfast.experiments.tables import read_csv
    from holdfast.workloads.ground.errors import TraceError

    directory, form = Path(arguments.directory), arguments.look.form
    swept = (directory / SWEEP).is_file() and not (directory / "aggregates.csv").is_file()  # by an older version
    if arguments.against or arguments.metrics or arguments.where or swept:
        _draw_selection(arguments, directory)
        return
    find_experiments(directory, arguments.id)  # refused before anything is written there
    make_directory(directory)
    with write_lock(directory):
        chosen = find_experiments(directory, arguments.id)
        for item, verdicts in present_again(chosen, directory, say=note, form=form):
            counts = Counter(verdict.counted_as for verdict in verdicts)
            picture = "no picture" if item.draw is None else form.names(item.id)
            print(f"{item.id}: {picture}; {', '.join(f'{number} {outcome}' for outcome, number in counts.items())}")
        drawn = [] if arguments.id else draw_pictures(directory, _unit(directory), form)
    for name in drawn:
        print(f"{name}: {form.names(name)}")
    if not chosen and not drawn:
        tables = ", ".join(table for table, _ in PICTURES.values())
        raise TraceError(directory, None, f"has no tables to draw, neither of an experiment nor {tables}")
    left_out = undrawn_pictures(directory, drawn)
    if left_out:
        print(left_out)
    if "aggregates" in drawn:
        with refuse_changes(directory / "aggregates.csv"):
            _say_undrawn(read_csv(directory / "aggregates.csv"))


def _unit(directory: Path) -> str:
    """What sizes count in the results of a directory."""
    from holdfast.experiments.output.manifest import open_result
    from holdfast.experiments.recordings.run_file import RUN, holds_run, recorded_unit

    return recorded_unit(open_result(directory, RUN, check=False).content) if holds_run(directory) else "nodes"


def _draw_selection(arguments: Arguments, directory: Path) -> None:
    """Sum up some runs of a directory in another way than its own tables, print and draw it."""
    from holdfast.experiments.figures.study.aggregates import plot_aggregates, plot_differences
    from holdfast.experiments.figures.style import relabel
    from holdfast.experiments.output.locks import write_lock
    from holdfast.experiments.study.redraw import read_summary, refuse_changes
    from holdfast.experiments.sweeps.aggregates import aggregate_rows, difference_rows, filter_rows, parse_reference
    from holdfast.workloads.ground.errors import InputError

    if arguments.id:
        raise InputError("--against, --metrics and --where are for runs, not for experiments: leave the ids out")
    metrics, form = arguments.metrics, arguments.look.form
    with refuse_changes(directory / "summary.csv"):
        rows = filter_rows(read_summary(directory), arguments.where)
        aggregates = aggregate_rows(rows)
        differences = difference_rows(rows, parse_reference(rows, arguments.against)) if arguments.against else []
        figures = {"aggregates": form.draw(plot_aggregates, aggregates, metrics)}
        if arguments.against:
            figures["differences"] = form.draw(plot_differences, differences, metrics)
    unit = _unit(directory)
    print_aggregates(aggregates, differences, metrics, unit)
    with write_lock(directory):
        for name, figure in figures.items():
            form.save(relabel(figure, unit), directory / name, follow=False)
            print(f"{name}: {form.names(name)}")
    _say_undrawn(aggregates)


def _say_undrawn(rows: Sequence[Mapping[str, Any]]) -> None:
    from holdfast.experiments.figures.study.aggregates import undrawn

    text = undrawn(rows)
    if text:
        warn("plot", f"{text}; choose others with --where KEY=VALUE")
