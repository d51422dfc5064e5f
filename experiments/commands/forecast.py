"""``holdfast forecast``: when waiting jobs will start."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import check_outputs, duration, read_job_id, whole
from experiments.commands.asking.present import (
    add_drawing,
    add_present,
    add_rules,
    drawing_of,
    present_of,
    write_document,
)
from experiments.terminal import warn
from workloads.ground.errors import InputError
from workloads.ground.units import LARGEST_SIZE
from workloads.ground.wording import in_unit

if TYPE_CHECKING:
    from experiments.forecast.states import MachineState

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_present(parser)
    asked = parser.add_argument_group("jobs (default: all that wait)")
    asked.add_argument(
        "--job",
        metavar="N",
        action="append",
        help="id of a waiting job, as 287 or 287_1; may be repeated (default: all)",
    )
    asked.add_argument("--nodes", metavar="N", help="nodes of a job that is submitted now (default: none is)")
    asked.add_argument("--walltime", metavar="TIME", help="walltime of that job [s] (default: no job)")
    asked.add_argument("--user", metavar="NAME", default="", help="user of that job (default: unknown)")
    asked.add_argument("--project", metavar="NAME", default="", help="project of that job (default: unknown)")
    add_rules(parser)
    add_drawing(parser).add_argument(
        "--runtimes",
        metavar="{history,walltime}",
        default="history",
        help="runtimes: drawn from runs that had ended, or the walltimes, as squeue --start does (default history)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the forecast as JSON (default: not written)")
    parser.add_argument("--plot", metavar="NAME", help="draw it as NAME.png and NAME.pdf (default: not drawn)")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.forecast.forecasts import forecast
    from experiments.forecast.history import history_of
    from experiments.forecast.telling import document, sentence, table

    drawing = drawing_of(arguments)
    least = whole(arguments.least, "--least", 1)
    if arguments.runtimes not in ("history", "walltime"):
        raise InputError(f"--runtimes must be history or walltime, not {arguments.runtimes}")
    check_outputs(arguments.json, arguments.plot)
    present = present_of(arguments)
    state = present.state
    asked = None if arguments.job is None else [read_job_id(word, "--job") for word in arguments.job]
    if arguments.nodes is not None or arguments.walltime is not None:
        state, added = _with_job(arguments, state)
        asked = [*(asked or ()), added]
    history = None
    if arguments.runtimes == "history":
        history = history_of(present.trace, present.at, fit=arguments.fit, least=least)
    else:
        drawing["arrivals"] = "none"
    told = forecast(state, history, jobs=asked, **drawing)
    for text in present.assumptions:
        warn("forecast", text)
    print(present.told())
    if asked is not None:
        for job_id in told.ids:
            print(in_unit(sentence(told, job_id, present.moment), present.unit))
    print(table(told, present.unit, present.now))
    if arguments.json is not None:
        write_document(arguments.json, document(told, log=arguments.log, seed=drawing["seed"], **present.facts()))
    if arguments.plot is not None:
        from experiments.figures.planning.forecasts import plot_forecast
        from experiments.figures.style import relabel, save

        for path in save(relabel(plot_forecast(told), present.unit), arguments.plot):
            print(f"drawn in {path}")


def _with_job(arguments: argparse.Namespace, state: MachineState) -> tuple[MachineState, int]:
    """The state with the job that is asked for."""
    if arguments.nodes is None or arguments.walltime is None:
        raise InputError("a job that is submitted now needs both --nodes and --walltime")
    nodes = whole(arguments.nodes, "--nodes", 1, LARGEST_SIZE)
    walltime = duration(arguments.walltime, "--walltime")
    if walltime <= 0:
        raise InputError(f"--walltime must be above 0, not {arguments.walltime}")
    return state.with_job(nodes, walltime, arguments.user, arguments.project)
