"""``holdfast forecast``: predict when waiting jobs will start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from holdfast.experiments.commands.options.arguments import JOB_ID, check_outputs, json_file
from holdfast.experiments.commands.options.cluster_state_options import (
    DrawingOptions,
    Present,
    PresentOptions,
    RuleOptions,
    read_present,
    read_record,
    write_document,
)
from holdfast.experiments.commands.options.command_lines import command_line
from holdfast.experiments.commands.options.machine_states import NodeRequest, describes_machine, read_machine_present
from holdfast.experiments.commands.options.site_snapshots import site_question
from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.parameters import Nodes, Parameter, Walltime
from holdfast.workloads.ground.wording import in_unit

if TYPE_CHECKING:
    from holdfast.experiments.forecast.forecasts import Forecast
    from holdfast.experiments.forecast.machine_requests import MachineRequests
    from holdfast.experiments.forecast.machine_state import MachineState

__all__ = ["Arguments", "main"]


_JOBS = "jobs (default: all that wait)"


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    present: PresentOptions
    job: Annotated[
        tuple[int, ...],
        JOB_ID,
        Parameter("id of a waiting job, as 287 or 287_1; may be repeated", default="all", group=_JOBS, repeated=True),
    ] = ()
    nodes: Annotated[
        Nodes | None, Parameter("nodes of a job that is submitted now", default="none is", group=_JOBS)
    ] = None
    walltime: Annotated[
        Walltime | None,
        Parameter("walltime of that job: seconds, or [D-]HH:MM:SS", default="no job", group=_JOBS),
    ] = None
    user: Annotated[str, Parameter("user of that job", default="unknown", group=_JOBS)] = ""
    project: Annotated[str, Parameter("project of that job", default="unknown", group=_JOBS)] = ""
    request: NodeRequest
    rules: RuleOptions
    drawing: DrawingOptions
    runtimes: Annotated[
        Literal["history", "walltime"],
        Parameter(
            "runtimes: drawn from runs that had ended, or the walltimes, as squeue --start does", group="drawing"
        ),
    ] = "history"
    report: Annotated[
        str | None, Parameter("write the answer as one HTML page", default="not written", metavar="FILE.html")
    ] = None
    json: Annotated[str | None, json_file()] = None
    plot: Annotated[str | None, Parameter("draw it as NAME.png and NAME.pdf", default="not drawn", metavar="NAME")] = (
        None
    )


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.forecast.forecasts import forecast
    from holdfast.experiments.forecast.history import read_history
    from holdfast.experiments.forecast.report import FROM_NOW, document, sentence, table

    question = site_question("forecast", arguments.present, arguments.rules)
    drawing = arguments.drawing.keywords(question.rules)
    check_outputs(arguments.json, arguments.plot)
    check_outputs(arguments.report, None)
    on_machine = describes_machine(question.rules.machine)
    present = read_machine_present(question) if on_machine else read_present(question)
    state, requests = present.state, present.requests
    asked = list(arguments.job) or None
    if requests is None and arguments.request.given:
        raise InputError(f"--{arguments.request.given[0]} needs a machine file, as --machine site.toml")
    if arguments.nodes is not None or arguments.walltime is not None or arguments.request.given:
        state, requests, added = _with_job(arguments, state, requests)
        asked = [*(asked or ()), added]
    history = None
    if arguments.runtimes == "history":
        history = read_history(present.trace, present.at, fit=arguments.drawing.fit, least=arguments.drawing.least)
    else:
        drawing["arrivals"] = "none"
    record = read_record(question, present, arguments.drawing, arguments.runtimes)
    found = forecast(state, history, jobs=asked, record=record, machine=requests, **drawing)
    for text in present.assumptions:
        warn("forecast", text)
    answers = [
        in_unit(sentence(found, job_id, present.moment), present.unit)
        for job_id in (found.ids if asked is not None else ())
    ]
    lead = [present.sentence(), *answers]
    shows = arguments.json != "-"
    if shows:
        print("\n".join(lead))
        print(table(found, present.unit, FROM_NOW))
    if arguments.json is not None:
        write_document(
            arguments.json, document(found, log=arguments.present.log, seed=drawing["seed"], **present.facts())
        )
    if arguments.report is not None:
        _write_page(arguments.report, found, present, lead, arguments)
        if shows:
            print(f"written to {arguments.report}")
    if arguments.plot is not None:
        paths = _draw(found, state.at, present.unit, arguments.plot)
        if shows:
            print(*(f"drawn in {path}" for path in paths), sep="\n")


def _write_page(path: str, found: Forecast, present: Present, lead: list[str], arguments: Arguments) -> None:
    """Write the answer as one HTML page, with the command that makes it."""
    from holdfast.experiments.forecast.page import write_page

    write_page(
        path, found, title=Path(arguments.present.log).name, lead=lead, moment=present.moment,
        zone=present.log_clock.zone, unit=present.unit, notes=[*present.assumptions, *present.warnings],
        command=command_line(
            "forecast", arguments.present, arguments, arguments.request, arguments.rules, arguments.rules.reading,
            arguments.drawing,
        ),
    )  # fmt: skip


def _draw(found: Forecast, now: float, unit: str, name: str) -> tuple[Path, ...]:
    """Draw the answer, and return the files."""
    from holdfast.experiments.figures.planning.forecasts import plot_forecast
    from holdfast.experiments.figures.style import relabel, save

    return save(relabel(plot_forecast(found.rows(), found.waits, found.others - now), unit), name)


def _with_job(
    arguments: Arguments, state: MachineState, requests: MachineRequests | None
) -> tuple[MachineState, MachineRequests | None, int]:
    """The state with the job that is asked for, and its request on a machine."""
    user, project = arguments.user, arguments.project
    if requests is not None:
        if arguments.walltime is None:
            raise InputError("a job that is submitted now needs --walltime")
        request = arguments.request.request(arguments.nodes)
        requests, state, added = requests.with_job(state, request, arguments.walltime, user, project)
        return state, requests, added
    if arguments.nodes is None or arguments.walltime is None:
        raise InputError("a job that is submitted now needs both --nodes and --walltime")
    state, added = state.with_job(arguments.nodes, arguments.walltime, user, project)
    return state, None, added
