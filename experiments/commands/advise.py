"""``holdfast advise``: recommend the size and walltime of a job to be submitted now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

from holdfast.experiments.commands.options.arguments import JOB_ID, check_outputs, json_file
from holdfast.experiments.commands.options.cluster_state_options import (
    DrawingOptions,
    Present,
    PresentOptions,
    Question,
    RuleOptions,
    read_present,
    read_record,
    write_document,
)
from holdfast.experiments.commands.options.machine_states import NodeRequest, describes_machine, read_machine_present
from holdfast.experiments.commands.options.site_snapshots import site_question
from holdfast.experiments.planning.plan_inputs import DISTRIBUTIONS, DistributionOptions
from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.ground.parameters import Group, Parameter, Seconds, Share, Values, Walltime, walltime, whole
from holdfast.workloads.ground.units import LARGEST_SIZE
from holdfast.workloads.ground.wording import in_unit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np

    from holdfast.experiments.forecast.advice import Advice
    from holdfast.experiments.forecast.machine_requests import MachineRequests
    from holdfast.experiments.forecast.track_record import Quality
    from holdfast.policies.planning.waits.model import WaitModel
    from holdfast.workloads.distributions.distribution import Distribution
    from holdfast.workloads.machines.request import ResourceRequest

__all__ = ["Arguments", "main"]


_JOB = "job"
_RUNTIME = "runtime of the job (default: from past runs like it in LOG)"


def _read_sizes(text: str) -> tuple[tuple[int, float | None], ...]:
    """Sizes, and of each but the first perhaps the runtime there over that at the first."""
    found: dict[int, float | None] = {}
    for word in text.split(","):
        digits, _, factor = word.partition(":")
        size = whole(digits, "", 1, LARGEST_SIZE)
        if size in found:
            raise ParameterError("", "different sizes", text)
        if factor and not found:
            raise ParameterError("", "a first size without a runtime, which is 1", word)
        found[size] = _factor(factor, word) if factor else None
    return tuple(found.items())


def _factor(text: str, word: str) -> float:
    try:
        value = decimal(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise ParameterError("", "sizes with a multiple above 0 of the first runtime, as 128:0.55", word)
    return value


def _walltimes(text: str) -> tuple[float, ...]:
    return tuple(map(walltime, text.split(",")))


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    present: PresentOptions
    job: Annotated[
        int | None,
        JOB_ID,
        Parameter(
            "id of a waiting job, as 287 or 287_1, which keeps its place",
            default="one that is submitted now",
            group=_JOB,
        ),
    ] = None
    nodes: Annotated[
        tuple[tuple[int, float | None], ...],
        Values("N,N,...", _read_sizes),
        Parameter(
            "sizes to try; SIZE:RATIO is the runtime relative to the first size, as 64,128:0.55",
            default="none, give it",
            group=_JOB,
        ),
    ] = ()
    serial: Annotated[
        Share | None,
        Parameter(
            "share of the runtime that more nodes do not shorten, by Amdahl's law",
            default="none; sizes then need runtimes, as 128:0.55",
            group=_JOB,
        ),
    ] = None
    walltime: Annotated[
        Walltime | None,
        Parameter("walltime that you would ask for: seconds, or [D-]HH:MM:SS", default="not known", group=_JOB),
    ] = None
    walltimes: Annotated[
        tuple[float, ...] | None,
        Values("TIME,...", _walltimes),
        Parameter(
            "walltimes to try at the first size: seconds, or [D-]HH:MM:SS",
            default="quantiles of the runtime",
            group=_JOB,
        ),
    ] = None
    checkpoint: Annotated[
        Seconds | None, Parameter("time to write a checkpoint", default="no checkpoints", group=_JOB)
    ] = None
    restart: Annotated[Seconds | None, Parameter("time to read a checkpoint", default="=0", group=_JOB)] = None
    user: Annotated[str, Parameter("user of the job", default="unknown", group=_JOB)] = ""
    project: Annotated[str, Parameter("project of the job", default="unknown", group=_JOB)] = ""
    request: NodeRequest
    costs: Annotated[
        str | None,
        Parameter(
            "file of 'holdfast fit-costs', which prices the requests after the first",
            default="fitted to the past of LOG",
            metavar="FILE",
            group=_JOB,
        ),
    ] = None
    runs: Annotated[
        str | None, Parameter("past runtimes, one per line", default="none", metavar="FILE", group=_RUNTIME)
    ] = None
    column: Annotated[
        str | None, Parameter("column of the runtimes, FILE being CSV", default="none", group=_RUNTIME)
    ] = None
    distribution: Annotated[
        str | None, Parameter(f"one of {', '.join(DISTRIBUTIONS)}", default="none", group=_RUNTIME)
    ] = None
    of: Annotated[DistributionOptions, Group(_RUNTIME)]
    rules: RuleOptions
    drawing: DrawingOptions
    json: Annotated[str | None, json_file()] = None
    plot: Annotated[str | None, Parameter("draw it as NAME.png and NAME.pdf", default="not drawn", metavar="NAME")] = (
        None
    )


@dataclass(frozen=True)
class _Job:
    """The job that the options describe.

    Attributes
    ----------
    nodes
        Its first size; None: it waits already, and has its size.
    sizes
        Other sizes, with the runtime relative to that at the first.
    runtimes
        Its distribution or past runs; None: those of jobs like it in the log.
    requests
        What it asks of a machine at each size.
    """

    nodes: int | None
    sizes: Mapping[int, float]
    runtimes: Distribution | np.ndarray | None
    requests: Mapping[int, ResourceRequest] = field(default_factory=dict)

    @property
    def every_size(self) -> tuple[int, ...]:
        """The first size and the others."""
        return () if self.nodes is None else (self.nodes, *self.sizes)


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.forecast.advice import advise
    from holdfast.experiments.forecast.history import read_history
    from holdfast.experiments.forecast.report import advice_document

    question = site_question("advise", arguments.present, arguments.rules)
    drawing = arguments.drawing.keywords(question.rules)
    job = _read_job(arguments)
    prices = _prices(arguments)
    check_outputs(arguments.json, arguments.plot)
    present = _read_state(question, arguments.request)
    job = _fit_to_machine(job, arguments, present)
    record = read_record(question, present, arguments.drawing, "history")
    advice = advise(
        present.state,
        read_history(present.trace, present.at, fit=arguments.drawing.fit, least=arguments.drawing.least),
        nodes=job.nodes,
        walltime=arguments.walltime,
        job=arguments.job,
        runtimes=job.runtimes,
        walltimes=arguments.walltimes,
        sizes=job.sizes,
        checkpoint=arguments.checkpoint,
        restart=arguments.restart or 0.0,
        user=arguments.user,
        project=arguments.project,
        prices=prices,
        record=record,
        machine=present.requests,
        requests=job.requests,
        **drawing,
    )
    for text in present.assumptions:
        warn("advise", text)
    # The requests are those of a job that is submitted now, unless it waits already.
    quality = record.quality(waiting=arguments.job is not None)
    if arguments.json != "-":
        _print_answer(advice, present, quality)
    if arguments.json is not None:
        about = {"log": arguments.present.log, "seed": drawing["seed"], **present.facts()}
        write_document(arguments.json, advice_document(advice, **about, quality=[quality.row()]))
    if arguments.plot is not None:
        paths = _draw(advice, present.unit, arguments.plot)
        if arguments.json != "-":
            print(*(f"drawn in {path}" for path in paths), sep="\n")


def _read_job(arguments: Arguments) -> _Job:
    """The job that the options describe, if they describe one."""
    nodes: int | None = None
    sizes: dict[int, float] = {}
    if arguments.job is None:
        nodes, sizes = _sizes(arguments)
    else:
        _check_no_request(arguments, arguments.job)
    if arguments.restart is not None and arguments.checkpoint is None:
        raise InputError("--restart reads a checkpoint; give the time to write one with --checkpoint TIME")
    runtimes = _runtimes(arguments)
    if arguments.walltime is None and runtimes is None and arguments.job is None:
        raise InputError(
            "give the walltime that you would ask for as --walltime, or runtimes of the job as --runs or --distribution"
        )
    return _Job(nodes, sizes, runtimes)


def _check_no_request(arguments: Arguments, job: int) -> None:
    """Refuse options of a job that is submitted now, since the job waits already."""
    for name in ("nodes", "walltime", "serial", "user", "project", *arguments.request.given):
        if name in arguments.request.given or getattr(arguments, name):
            raise InputError(f"--job {job_id_text(job)} asks for its own nodes and walltime; leave out --{name}")


def _sizes(arguments: Arguments) -> tuple[int, dict[int, float]]:
    """The first size, and the runtime at the others over that at it."""
    if not arguments.nodes:
        raise InputError("--nodes must be given, the nodes of the job")
    serial = arguments.serial
    found: dict[int, float] = {}
    (first, _), *others = arguments.nodes
    for size, factor in others:
        if factor is not None:
            found[size] = factor
        elif serial is not None:
            found[size] = serial + (1 - serial) * first / size
        else:
            given = ",".join(f"{one}" if part is None else f"{one}:{part:g}" for one, part in arguments.nodes)
            raise InputError(
                f"--nodes {given}: give the runtime on {size:,} nodes over that on {first:,}, "
                f"as {size}:0.55, or --serial SHARE"
            )
    return first, found


def _read_state(question: Question, request: NodeRequest) -> Present:
    """The machine now."""
    if describes_machine(question.rules.machine):
        return read_machine_present(question)
    if request.given:
        raise InputError(f"--{request.given[0]} needs a machine file, as --machine site.toml")
    return read_present(question)


def _fit_to_machine(job: _Job, arguments: Arguments, present: Present) -> _Job:
    """The job with its sizes in the unit of the machine, and with its requests."""
    if job.nodes is not None and present.requests is not None:
        job = _on_machine(job, job.nodes, arguments, present.requests)
    for size in job.every_size:
        if size > present.state.nodes:
            raise ParameterError("--nodes", f"at most the {present.state.nodes:,} {present.unit} of the machine", size)
    return job


def _on_machine(job: _Job, nodes: int, arguments: Arguments, machine: MachineRequests) -> _Job:
    walltime = arguments.walltime or 1.0
    asked = {size: arguments.request.request(size)._replace(account=arguments.project) for size in job.every_size}
    units = {size: machine.size(request, walltime, arguments.user) for size, request in asked.items()}
    return replace(
        job,
        nodes=units[nodes],
        sizes={units[size]: factor for size, factor in job.sizes.items()},
        requests={units[size]: request for size, request in asked.items()},
    )


def _print_answer(advice: Advice, present: Present, quality: Quality) -> None:
    from holdfast.experiments.forecast.report import FROM_NOW, advice_sentence, advice_table, quality_sentence

    print(present.sentence())
    print(in_unit(advice_sentence(advice), present.unit))
    print(advice_table(advice, present.unit, FROM_NOW))
    print(quality_sentence(quality))


def _draw(advice: Advice, unit: str, name: str) -> tuple[Path, ...]:
    """Draw the answer, and return the files."""
    from holdfast.experiments.figures.planning.advice import plot_advice
    from holdfast.experiments.figures.style import relabel, save

    return save(relabel(plot_advice(advice.rows(), advice.responses), unit), name)


def _runtimes(arguments: Arguments) -> Distribution | np.ndarray | None:
    """The distribution or the runs that the options name."""
    from holdfast.experiments.planning.plan_inputs import make_distribution, read_runs

    given = arguments.of.given
    if arguments.runs is not None and arguments.distribution is not None:
        raise InputError("give either --runs or --distribution")
    if given and arguments.distribution is None:
        raise InputError(f"--{next(iter(given))} describes a distribution: name it with --distribution")
    if arguments.column is not None and arguments.runs is None:
        raise InputError("--column names a column of --runs FILE")
    if arguments.runs is not None:
        return read_runs(arguments.runs, arguments.column, command="advise")
    return None if arguments.distribution is None else make_distribution(arguments.distribution, given)


def _prices(arguments: Arguments) -> WaitModel | None:
    from holdfast.experiments.planning.cost_file import read_costs

    return None if arguments.costs is None else read_costs(arguments.costs, "advise")
