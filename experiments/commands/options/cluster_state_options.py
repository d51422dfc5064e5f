"""Options for the state of a machine at a time, its past and its rules, as ``forecast`` and ``advise`` need them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.experiments.commands.options.arguments import LogReading, chosen_run, machine_size, read_options
from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.parameters import Group, Parameter, SecondsAbove0, Seed, Values, whole, wholes
from holdfast.workloads.ground.units import LARGEST_SIZE
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from holdfast.experiments.forecast.machine_requests import MachineRequests
    from holdfast.experiments.forecast.machine_state import MachineState
    from holdfast.experiments.forecast.track_record import TrackRecord
    from holdfast.workloads.logs.clock import LogClock
    from holdfast.workloads.logs.trace import Trace
    from holdfast.workloads.outages.failures import FailureRate
    from holdfast.workloads.outages.outage import Outage

__all__ = [
    "DrawingOptions",
    "Present",
    "PresentOptions",
    "Question",
    "RuleOptions",
    "read_present",
    "read_record",
    "write_document",
]

#: Back-tests that were stored less than this ago count as made now [s].
_FRESH = 60.0


@dataclass(frozen=True)
class Present:
    """The state of a machine at a time.

    Attributes
    ----------
    trace
        The past as it was known at that time.
    log_clock
        The clock of the log, for dates.
    at
        The time, on the clock of the log [s].
    state
        The machine.
    clock
        Source of the time, such as ``"last_update of queue.json"``.
    warnings
        Features of the log that one pool of equal nodes does not model, one sentence each.
    assumptions
        Assumptions of the answer that the files do not state or that contradict them, one sentence each.
    requests
        Requests of the jobs, on the machine of a file; None: one pool of equal nodes.
    """

    trace: Trace
    log_clock: LogClock
    at: float
    state: MachineState
    clock: str
    warnings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    requests: MachineRequests | None = None

    @property
    def unit(self) -> str:
        """Unit of sizes."""
        return self.trace.unit

    def moment(self, time: float) -> str:
        """Format a time of the log, without the zone, which the first sentence of the answer names."""
        return self.log_clock.show(time).removesuffix(f" {self.log_clock.zone}")

    @property
    def now(self) -> str:
        """Text with the time of the state, its zone and its source."""
        return f"{self.log_clock.show(self.at)} ({self.clock})"

    def sentence(self) -> str:
        """Describe the state in a sentence."""
        state = self.state
        used = sum(job.nodes for job in state.running)
        return (
            f"Now is {self.now}: {count_text(len(state.running), 'jobs', 'run')} on {used:,} of "
            f"{count_text(state.nodes, self.unit)}, {len(state.waiting):,} wait{'s' * (len(state.waiting) == 1)}."
        )

    def facts(self) -> dict[str, Any]:
        """The clock, the warnings and the assumptions, for JSON."""
        clock = {"at": self.at, "time": self.log_clock.show(self.at), "source": self.clock}
        return {"clock": clock, "warnings": list(self.warnings), "assumptions": list(self.assumptions)}


@dataclass(kw_only=True, eq=False, repr=False)
class PresentOptions:
    """Options for the log and the current state.

    Attributes
    ----------
    log
        Log of the past and, without ``queue``, of the current state.
    at, queue, usage
        Time of the state, current jobs, past usage.
    mechanism
        Run of a directory of results.
    """

    log: Annotated[
        str,
        Parameter(
            "SWF, ALCF or sacct file with waits, or results of 'run' or 'slurm snapshot'",
            metavar="LOG",
            positional=True,
        ),
    ]
    at: Annotated[
        str | None,
        Values("TIME", str, unit="s"),
        Parameter(
            "time of the state: [s] after the first submit, 20d, or a date, 2022-03-01T12:00 in UTC (local time where "
            "the log has no zone); nothing later is read",
            default="the time of --queue",
        ),
    ] = None
    queue: Annotated[
        str | None,
        Parameter(
            "output of squeue, or 'slurm snapshot'; LOG is the past",
            default="LOG has both",
            metavar="FILE",
        ),
    ] = None
    usage: Annotated[str | None, Parameter("output of 'sshare -a -l -P'", default="LOG", metavar="FILE")] = None
    mechanism: Annotated[str | None, chosen_run("LOG")] = None


_MACHINE = "machine"
_DRAWING = "drawing"


def _nodes_or_file(text: str) -> int | Path:
    is_number = text[:1].isdigit() or text[:1] in "+-"
    return whole(text, "", 1, LARGEST_SIZE) if is_number and not Path(text).is_file() else Path(text)


@dataclass(kw_only=True, eq=False, repr=False)
class RuleOptions:
    """Options for reading the log and for the operation of the machine.

    Attributes
    ----------
    machine
        Number of nodes, or the file that lists them; None: from the log.
    reading
        How the log is read.
    order, backfilling, outages, failure_mtbf, repair
        As in a simulation; an order or rule of None is chosen by
        :func:`holdfast.experiments.commands.options.site_snapshots.site_question`.
    """

    machine: Annotated[
        int | Path | None,
        Values("N", _nodes_or_file),
        machine_size("nodes of the machine, output of 'scontrol show nodes', or file of 'holdfast machine' (.toml)"),
    ] = None
    reading: LogReading
    order: Annotated[
        str | None, Parameter("order, or rule file", default="fcfs, or the snapshot's", group=_MACHINE)
    ] = None
    backfilling: Annotated[
        str | None, Parameter("backfilling rule", default="easy, or the snapshot's", group=_MACHINE)
    ] = None
    outages: Annotated[
        str | None, Parameter("file of announced windows", default="none", metavar="FILE", group=_MACHINE)
    ] = None
    failure_mtbf: Annotated[
        SecondsAbove0 | None,
        Parameter("mean time between future failures of a node", default="none", group=_MACHINE),
    ] = None
    repair: Annotated[
        SecondsAbove0 | None, Parameter("mean time to repair a failed node", default="=4h", group=_MACHINE)
    ] = None

    @property
    def failures(self) -> FailureRate | None:
        """Rate of future failures; None: none.

        Raises
        ------
        InputError
            If a repair time is given without a failure rate.
        """
        from holdfast.workloads.outages.failures import FailureRate

        if self.failure_mtbf is None:
            if self.repair is not None:
                raise InputError("--repair needs --failure-mtbf")
            return None
        return FailureRate(self.failure_mtbf) if self.repair is None else FailureRate(self.failure_mtbf, self.repair)


@dataclass(eq=False, repr=False)
class DrawingOptions:
    """Options for the sampled futures.

    Attributes
    ----------
    draws, seed, arrivals, workers
        As in :func:`holdfast.experiments.forecast.forecasts.forecast`.
    backtests
        As ``count`` of :class:`holdfast.experiments.forecast.back_tests.BackTesting`.
    fit, least
        As in :func:`holdfast.experiments.forecast.history.history_of`.
    """

    draws: Annotated[int, wholes(1, 100_000), Parameter("number of simulations", group=_DRAWING)] = 200
    seed: Annotated[Seed, Group(_DRAWING)] = 0
    arrivals: Annotated[
        str,
        Parameter(
            "jobs submitted later: those of a random earlier week, or none", metavar="{weeks,none}", group=_DRAWING
        ),
    ] = "weeks"
    backtests: Annotated[
        int,
        wholes(0, 10_000),
        Parameter("past moments at which to test such forecasts", group=_DRAWING),
    ] = 160
    fit: Annotated[str, Parameter("fit of the runtimes", group=_DRAWING)] = "discrete"
    least: Annotated[int, wholes(1), Parameter("fewest runs of a group to draw from", group=_DRAWING)] = 10
    workers: Annotated[
        int | None, wholes(1), Parameter("most processes", default="one for each core", group=_DRAWING)
    ] = None

    def keywords(self, rules: RuleOptions) -> dict[str, Any]:
        """Keywords of :func:`holdfast.experiments.forecast.forecasts.forecast`."""
        return {
            "draws": self.draws,
            "seed": self.seed,
            "workers": self.workers,
            "arrivals": self.arrivals,
            "order": rules.order,
            "backfilling": rules.backfilling,
            "failures": rules.failures,
        }


@dataclass(frozen=True)
class Question:
    """The request of a command for the current state.

    Attributes
    ----------
    command
        The command, for warnings.
    present, rules
        Its options.
    notes
        Sentences on the choice of options, for the assumptions of the answer.
    """

    command: str
    present: PresentOptions
    rules: RuleOptions
    notes: tuple[str, ...] = ()


def read_present(question: Question) -> Present:
    """Read the log and determine the current state from it or from the queue.

    Raises
    ------
    InputError
        If a file or an option is not usable.
    """
    asked, rules = question.present, question.rules
    from holdfast.experiments.forecast.known_past import past_log, started_jobs
    from holdfast.experiments.forecast.machine_state import state_at
    from holdfast.experiments.forecast.sources import read_log
    from holdfast.experiments.forecast.time_parsing import parse_moment
    from holdfast.workloads.logs.clock import LogClock

    trace = read_log(asked.log, asked.mechanism, **read_options(rules.reading))
    if asked.queue is not None:
        return _queue(question, asked.queue, trace)
    if asked.at is None:
        raise InputError("give the time of the forecast with --at, or the current jobs with --queue")
    at = parse_moment(asked.at, trace, "--at")
    if asked.usage is not None:
        raise InputError("--usage is current usage: give the current jobs with --queue")
    known = past_log(trace, at)
    nodes = _machine(question, known, at)
    warnings = _warn_of_caveats(question, started_jobs(trace, at), nodes)
    state = state_at(trace, at, nodes, _outages(question, nodes, trace))
    return _with_gaps(question, Present(known, LogClock.of_trace(trace), at, state, f"--at {asked.at}", warnings))


def read_record(question: Question, present: Present, drawing: DrawingOptions, runtimes: str) -> TrackRecord:
    """Back-tests of such forecasts; a line says how old they are if they were stored."""
    from holdfast.experiments.forecast.back_test_cache import find_record
    from holdfast.experiments.forecast.back_tests import BackTesting
    from holdfast.experiments.forecast.time_parsing import format_duration
    from holdfast.experiments.forecast.track_record import TrackRecord

    if present.requests is not None:
        return TrackRecord()
    rules = question.rules
    how = BackTesting(
        drawing.backtests, drawing.seed, runtimes, drawing.arrivals, str(rules.order), str(rules.backfilling)
    )  # fmt: skip
    record, age = find_record(
        present.trace, present.at, present.state.nodes, how, fit=drawing.fit, least=drawing.least
    )  # fmt: skip
    if age is not None and age >= _FRESH and record.tests:
        warn(question.command, f"the back-tests of this past were made {format_duration(age)} ago and stored")
    return record


def write_document(path: str, facts: Mapping[str, Any]) -> None:
    """Write facts as JSON and print a message; ``-`` is standard output, without a message."""
    from holdfast.experiments.output.json_files import write_json

    write_json(path, facts)
    if path != "-":
        print(f"written to {path}")


def _queue(question: Question, queue: str, trace: Trace) -> Present:
    """The state of a Slurm site."""
    from holdfast.experiments.commands.options.snapshots import queue_clock, sshare_usage
    from holdfast.experiments.forecast.known_past import past_log, started_jobs
    from holdfast.experiments.forecast.machine_state import state_of_queue
    from holdfast.workloads.logs.clock import LogClock
    from holdfast.workloads.logs.node_list import read_node_names
    from holdfast.workloads.logs.squeue import read_queue
    from holdfast.workloads.logs.trace import trace_epoch

    usage, machine = question.present.usage, question.rules.machine
    rows, left_out = read_queue(queue)
    if not rows:
        raise InputError(f"{queue}: no job runs or waits")
    if trace_epoch(trace.header, min((job.submit for job in trace.jobs), default=0.0)) != 0:
        raise InputError(f"{question.present.log} must count seconds since 1970 with --queue, as sacct does")
    if left_out:
        print(f"{count_text(left_out, 'pending jobs', 'are')} left out: held, or waiting for a job or a time.")
    assumptions: list[str] = []
    clock = queue_clock(queue, question.present.at, trace, rows, assumptions)
    at = clock.at
    known = past_log(trace, at)
    nodes = _machine(question, known, at)
    warnings = _warn_of_caveats(question, started_jobs(trace, at), nodes)
    totals = None if usage is None else sshare_usage(usage, machine, rows, assumptions)
    names = read_node_names(machine) if isinstance(machine, Path) else []
    outages = _outages(question, nodes, trace)
    state = state_of_queue(rows, at, nodes, outages, past=known.jobs, totals=totals, names=names)
    log_clock = LogClock.of_trace(trace)
    present = Present(known, log_clock, at, state, clock.source, warnings, tuple(assumptions))
    return _with_gaps(question, present)


def _warn_of_caveats(question: Question, trace: Trace, nodes: int) -> tuple[str, ...]:
    """Print the features of the log that one pool of equal nodes does not model, before the state is determined."""
    from holdfast.workloads.logs.one_pool import caveats

    found = caveats(trace, nodes, "--machine")
    for text in found:
        warn(question.command, text)
    return found


def _with_gaps(question: Question, present: Present) -> Present:
    """Add assumptions: jobs left out, and past information that the order or the backfilling rule needs but lacks."""
    from holdfast.experiments.forecast.missing_history import find_gaps
    from holdfast.simulator.options import Options

    state = present.state
    left_out = [state.describe_excluded_jobs()] if state.left_out else []
    if left_out and not state.jobs:
        raise InputError(f"{state.source}: no job remains; {left_out[0]}")
    options = Options(order=question.rules.order or "fcfs", backfilling=question.rules.backfilling or "easy")
    running = [job.job_id for job in state.running]
    gaps = find_gaps(state.prior, options, present.at, running)
    return replace(present, assumptions=(*question.notes, *left_out, *present.assumptions, *gaps))


def _machine(question: Question, trace: Trace, at: float) -> int:
    """Determine the size of the machine, which only the past gives."""
    from holdfast.workloads.logs.machine_size import with_assumed_size

    if isinstance(question.rules.machine, Path):
        from holdfast.workloads.logs.node_list import read_node_count

        return read_node_count(question.rules.machine)
    if question.rules.machine is not None:
        return question.rules.machine
    nodes = trace.nodes
    if nodes is None:
        jobs = trace.jobs
        ended = jobs.select(jobs.starts + jobs.column("runtime") <= at)
        nodes = with_assumed_size(replace(trace, jobs=ended)).nodes
    if nodes is None:
        raise InputError(f"{question.present.log} does not say how many nodes the machine has: give --machine")
    return nodes


def _outages(question: Question, nodes: int, trace: Trace) -> list[Outage]:
    from holdfast.workloads.logs.clock import LogClock
    from holdfast.workloads.outages.file import read_outages

    if question.rules.outages is None:
        return []
    return read_outages(question.rules.outages, nodes=nodes, clock=LogClock.of_trace(trace))
