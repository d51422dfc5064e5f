"""The state of a machine at a time, its past and its rules, as the commands about the future ask for them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.commands.asking.arguments import add_choice, add_reading, duration, read_options, whole
from experiments.terminal import warn
from workloads.ground.errors import InputError
from workloads.ground.units import LARGEST_SIZE

if TYPE_CHECKING:
    from experiments.forecast.states import MachineState
    from workloads.logs.trace import Trace
    from workloads.outages.failures import FailureRate
    from workloads.outages.outage import Outage

__all__ = ["Present", "add_drawing", "add_present", "add_rules", "drawing_of", "present_of", "write_document"]


@dataclass(frozen=True)
class Present:
    """A machine at a time.

    Attributes
    ----------
    trace
        The past, and perhaps more, which is not looked at.
    at
        The time, on the clock of the log [s].
    state
        The machine.
    clock
        Source of the time, such as ``"last_update of queue.json"``.
    warnings
        What the log has and one pool of equal nodes does not model, a sentence each.
    assumptions
        What the answer rests on although the files do not say it, or contradict it, a sentence each.
    """

    trace: Trace
    at: float
    state: MachineState
    clock: str
    warnings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What sizes count."""
        return self.trace.unit

    def moment(self, time: float) -> str:
        """A time of the log for people."""
        from experiments.forecast.moments import moment_told

        return moment_told(time, self.trace)

    @property
    def now(self) -> str:
        """The time of the state, and where it comes from."""
        return f"{self.moment(self.at)} ({self.clock})"

    def told(self) -> str:
        """The state in a sentence."""
        state = self.state
        used = sum(job.nodes for job in state.running)
        return (
            f"Now is {self.now}: {len(state.running):,} jobs run on {used:,} of {state.nodes:,} {self.unit}, "
            f"{len(state.waiting):,} wait."
        )

    def facts(self) -> dict[str, Any]:
        """The clock, the warnings and the assumptions for programs."""
        clock = {"at": self.at, "time": self.moment(self.at), "source": self.clock}
        return {"clock": clock, "warnings": list(self.warnings), "assumptions": list(self.assumptions)}


def add_present(parser: argparse.ArgumentParser) -> None:
    """Add the log, and the options that say what is present in it."""
    parser.add_argument(
        "log", metavar="LOG", help="SWF, ALCF or sacct file with recorded waits, or results of 'holdfast run'"
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="time of the state: [s] after the first submit, 20d, or a date, 2022-03-01T12:00 in UTC (local time where "
        "the log has no zone); nothing later is read (default: the time of --queue)",
    )
    parser.add_argument(
        "--queue",
        metavar="FILE",
        help="output of squeue with the jobs of now; LOG is the past (default: LOG tells both)",
    )
    parser.add_argument(
        "--usage",
        metavar="FILE",
        help="output of 'sshare -a -l -P' (default: LOG)",
    )
    add_choice(parser, "LOG")


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the options of reading, and of how the machine is operated."""
    add_reading(parser, "--machine", "number of nodes of the machine, or the output of 'scontrol show nodes'")
    group = parser.add_argument_group("machine")
    group.add_argument("--order", metavar="NAME", default="fcfs", help="queue order (default fcfs)")
    group.add_argument("--backfilling", metavar="NAME", default="easy", help="backfilling rule (default easy)")
    group.add_argument("--outages", metavar="FILE", help="file of announced windows (default: none)")
    group.add_argument(
        "--failure-mtbf", metavar="TIME", help="mean time between failures of a node to come [s] (default: none)"
    )
    group.add_argument("--repair", metavar="TIME", help="mean time to repair a failed node [s] (default 4h)")


def add_drawing(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options of drawing futures; returns their group."""
    group = parser.add_argument_group("drawing")
    group.add_argument("--draws", metavar="N", default="200", help="number of simulations (default 200)")
    group.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")
    group.add_argument(
        "--arrivals",
        metavar="{weeks,none}",
        default="weeks",
        help="jobs submitted later: those of a random earlier week, or none (default weeks)",
    )
    group.add_argument("--fit", metavar="NAME", default="discrete", help="fit of the runtimes (default discrete)")
    group.add_argument(
        "--least", metavar="N", default="10", help="fewest runs of a group of jobs to draw from (default 10)"
    )
    group.add_argument("--workers", metavar="N", help="most processes (default: one for each core)")
    return group


def drawing_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keywords of :func:`experiments.forecast.forecasts.forecast` that say how futures are drawn."""
    return {
        "draws": whole(arguments.draws, "--draws", 1, 100_000),
        "seed": whole(arguments.seed, "--seed"),
        "workers": None if arguments.workers is None else whole(arguments.workers, "--workers", 1),
        "arrivals": arguments.arrivals,
        "order": arguments.order,
        "backfilling": arguments.backfilling,
        "failures": _failures(arguments),
    }


def present_of(arguments: argparse.Namespace) -> Present:
    """Read the log, and find the state in it or in the queue."""
    from experiments.forecast.moments import moment_of
    from experiments.forecast.sources import read_log
    from experiments.forecast.states import state_at

    trace = read_log(arguments.log, arguments.mechanism, **read_options(arguments))
    if arguments.queue is not None:
        return _queue(arguments, trace)
    if arguments.at is None:
        raise InputError("--at must be given, the time of the forecast, unless --queue tells the jobs of now")
    at = moment_of(arguments.at, trace, "--at")
    if arguments.usage is not None:
        raise InputError("--usage is of now: give the jobs of now with --queue")
    nodes = _machine(arguments, trace, at)
    warnings = _warn_of_caveats(arguments, trace, nodes)
    state = state_at(trace, at, nodes, _outages(arguments, nodes, trace))
    return _with_gaps(arguments, Present(trace, at, state, f"--at {arguments.at}", warnings))


def write_document(path: str, facts: object) -> None:
    """Write facts as JSON, and say so."""
    import json

    from workloads.ground.files import atomic_open

    with atomic_open(path) as file:
        file.write(json.dumps(facts, indent=2, allow_nan=False) + "\n")
    print(f"written to {path}")


def _queue(arguments: argparse.Namespace, trace: Trace) -> Present:
    """The state of a Slurm site."""
    from experiments.commands.asking.snapshots import queue_clock, sshare_usage
    from experiments.forecast.states import state_of_queue
    from workloads.logs.nodelist import read_node_names
    from workloads.logs.squeue import read_queue
    from workloads.logs.trace import epoch_of

    rows, left_out = read_queue(arguments.queue)
    if not rows:
        raise InputError(f"{arguments.queue}: no job runs or waits")
    if epoch_of(trace.header, min((job.submit for job in trace.jobs), default=0.0)) != 0:
        raise InputError(f"{arguments.log} must count seconds since 1970 with --queue, as sacct does")
    if left_out:
        print(f"{left_out:,} pending jobs are left out: they are held, or wait for a job or a time.")
    assumptions: list[str] = []
    clock = queue_clock(arguments, trace, rows, assumptions)
    at = clock.at
    nodes = _machine(arguments, trace, at)
    warnings = _warn_of_caveats(arguments, trace, nodes)
    totals = None if arguments.usage is None else sshare_usage(arguments, rows, assumptions)
    names = read_node_names(arguments.machine) if _is_file(arguments.machine) else []
    outages = _outages(arguments, nodes, trace)
    state = state_of_queue(rows, at, nodes, outages, past=trace.jobs, totals=totals, names=names)
    present = Present(trace, at, state, clock.source, warnings=warnings, assumptions=tuple(assumptions))
    return _with_gaps(arguments, present)


def _warn_of_caveats(arguments: argparse.Namespace, trace: Trace, nodes: int) -> tuple[str, ...]:
    """Print what the log has and one pool of equal nodes does not model, before the state is found or refused."""
    from workloads.logs.onepool import caveats

    found = caveats(trace, nodes, "--machine")
    for text in found:
        warn(arguments.command, text)
    return found


def _with_gaps(arguments: argparse.Namespace, present: Present) -> Present:
    """The state with what it does not know of the time before, although order or backfilling rule ask for it."""
    from experiments.forecast.gaps import find_gaps
    from simulator.options import Options

    options = Options(order=arguments.order, backfilling=arguments.backfilling)
    running = [job.job_id for job in present.state.running]
    gaps = find_gaps(present.state.prior, options, present.at, running)
    return replace(present, assumptions=(*present.assumptions, *gaps))


def _is_file(machine: str | None) -> bool:
    return machine is not None and Path(machine).is_file()


def _machine(arguments: argparse.Namespace, trace: Trace, at: float) -> int:
    """The size of the machine; it is told by the past alone."""
    from workloads.logs.machinesize import with_assumed_size

    if arguments.machine is not None:
        if _is_file(arguments.machine):
            from workloads.logs.nodelist import read_node_count

            return read_node_count(arguments.machine)
        return whole(arguments.machine, "--machine", 1, LARGEST_SIZE)
    past = tuple(job for job in trace.jobs if job.start is not None and job.start + job.runtime <= at)
    nodes = with_assumed_size(replace(trace, jobs=past)).nodes
    if nodes is None:
        raise InputError(f"{arguments.log} does not say how many nodes the machine has: give --machine")
    return nodes


def _outages(arguments: argparse.Namespace, nodes: int, trace: Trace) -> list[Outage]:
    from workloads.logs.clock import LogClock
    from workloads.outages.file import read_outages

    if arguments.outages is None:
        return []
    return read_outages(arguments.outages, nodes=nodes, clock=LogClock.of_trace(trace))


def _failures(arguments: argparse.Namespace) -> FailureRate | None:
    from workloads.outages.failures import FailureRate

    if arguments.failure_mtbf is None:
        if arguments.repair is not None:
            raise InputError("--repair needs --failure-mtbf")
        return None
    times = {}
    for name, text in (("failure-mtbf", arguments.failure_mtbf), ("repair", arguments.repair or "4h")):
        times[name] = duration(text, f"--{name}")
        if not times[name] > 0:
            raise InputError(f"--{name} must be a positive duration, not {text}")
    return FailureRate(times["failure-mtbf"], times["repair"])
