"""``holdfast forecast``: when waiting jobs will start."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import add_reading, check_outputs, duration, read_options, whole
from workloads.ground.errors import InputError
from workloads.ground.units import LARGEST_SIZE

if TYPE_CHECKING:
    from experiments.forecast.states import MachineState
    from workloads.logs.trace import Trace
    from workloads.outages.outage import Outage

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "log", metavar="LOG", help="SWF, ALCF or sacct file with recorded waits, or results of 'holdfast run'"
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="time of the forecast: [s] after the first submit, or a date, 2022-03-01T12:00; nothing later is read "
        "(default: with --queue, its latest submit or start)",
    )
    parser.add_argument(
        "--queue",
        metavar="FILE",
        help="output of squeue with the jobs of now; LOG is the past (default: LOG tells both)",
    )
    parser.add_argument("--mechanism", metavar="NAME", help="result to take (default: the only one in LOG)")
    asked = parser.add_argument_group("jobs (default: all that wait)")
    asked.add_argument(
        "--job", metavar="N", action="append", help="id of a waiting job; may be repeated (default: all)"
    )
    asked.add_argument("--nodes", metavar="N", help="nodes of a job that is submitted now (default: none is)")
    asked.add_argument("--walltime", metavar="TIME", help="walltime of that job [s] (default: no job)")
    asked.add_argument("--user", metavar="NAME", default="", help="user of that job (default: unknown)")
    asked.add_argument("--project", metavar="NAME", default="", help="project of that job (default: unknown)")
    add_reading(parser, "--machine")
    machine = parser.add_argument_group("machine")
    machine.add_argument("--order", metavar="NAME", default="fcfs", help="queue order (default fcfs)")
    machine.add_argument("--backfilling", metavar="NAME", default="easy", help="backfilling rule (default easy)")
    machine.add_argument("--outages", metavar="FILE", help="file of announced windows (default: none)")
    drawing = parser.add_argument_group("drawing")
    drawing.add_argument("--draws", metavar="N", default="200", help="number of simulations (default 200)")
    drawing.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")
    drawing.add_argument(
        "--runtimes",
        metavar="{history,walltime}",
        default="history",
        help="runtimes: drawn from runs that had ended, or the walltimes, as squeue --start does (default history)",
    )
    drawing.add_argument(
        "--arrivals",
        metavar="{weeks,none}",
        default="weeks",
        help="jobs submitted later: those of a random earlier week, or none (default weeks)",
    )
    drawing.add_argument("--fit", metavar="NAME", default="discrete", help="fit of the runtimes (default discrete)")
    drawing.add_argument(
        "--least", metavar="N", default="10", help="fewest runs of a group of jobs to draw from (default 10)"
    )
    drawing.add_argument("--workers", metavar="N", help="number of processes (default: one for each core)")
    parser.add_argument("--json", metavar="FILE", help="write the forecast as JSON (default: not written)")
    parser.add_argument("--plot", metavar="NAME", help="draw it as NAME.png and NAME.pdf (default: not drawn)")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from functools import partial

    from experiments.forecast.forecasts import forecast
    from experiments.forecast.history import history_of
    from experiments.forecast.moments import moment_of, moment_told
    from experiments.forecast.sources import read_log
    from experiments.forecast.telling import document, sentence, table

    draws = whole(arguments.draws, "--draws", 1, 100_000)
    least = whole(arguments.least, "--least", 1)
    seed = whole(arguments.seed, "--seed")
    workers = None if arguments.workers is None else whole(arguments.workers, "--workers", 1)
    if arguments.runtimes not in ("history", "walltime"):
        raise InputError(f"--runtimes must be history or walltime, not {arguments.runtimes}")
    check_outputs(arguments.json, arguments.plot)
    trace = read_log(arguments.log, arguments.mechanism, **read_options(arguments))
    if arguments.queue is not None:
        at, state = _queue(arguments, trace)
    elif arguments.at is None:
        raise InputError("--at must be given, the time of the forecast, unless --queue tells the jobs of now")
    else:
        at = moment_of(arguments.at, trace, "--at")
        state = _state(arguments, trace, at)
    asked = None if arguments.job is None else [whole(word, "--job") for word in arguments.job]
    if arguments.nodes is not None or arguments.walltime is not None:
        state, added = _with_job(arguments, state)
        asked = [*(asked or ()), added]
    history = None
    if arguments.runtimes == "history":
        history = history_of(trace, at, fit=arguments.fit, least=least)
    told = forecast(
        state,
        history,
        jobs=asked,
        draws=draws,
        seed=seed,
        workers=workers,
        arrivals=arguments.arrivals if history is not None else "none",
        order=arguments.order,
        backfilling=arguments.backfilling,
    )
    moment = partial(moment_told, trace=trace)
    print(
        f"{moment(at)}: {len(state.running):,} jobs run on {sum(job.nodes for job in state.running):,} of "
        f"{state.nodes:,} nodes, {len(state.waiting):,} wait."
    )
    if asked is not None:
        for job_id in told.ids:
            print(sentence(told, job_id, moment))
    print(table(told))
    if arguments.json is not None:
        _write(arguments.json, document(told, log=arguments.log, seed=seed))
    if arguments.plot is not None:
        from experiments.figures.planning.forecasts import plot_forecast
        from experiments.figures.style import save

        for path in save(plot_forecast(told), arguments.plot):
            print(f"drawn in {path}")


def _state(arguments: argparse.Namespace, trace: Trace, at: float) -> MachineState:
    from experiments.forecast.states import state_at

    nodes = _machine(arguments, trace, at)
    return state_at(trace, at, nodes, _outages(arguments, nodes))


def _queue(arguments: argparse.Namespace, trace: Trace) -> tuple[float, MachineState]:
    """The state of a Slurm site, and its time on the clock of the log."""
    from experiments.forecast.moments import moment_of
    from experiments.forecast.states import state_of_queue
    from workloads.logs.squeue import read_queue
    from workloads.logs.trace import epoch_of

    rows, left_out = read_queue(arguments.queue)
    if not rows:
        raise InputError(f"{arguments.queue}: no job runs or waits")
    if epoch_of(trace.header, min((job.submit for job in trace.jobs), default=0.0)) != 0:
        raise InputError(f"{arguments.log} must count seconds since 1970 with --queue, as sacct does")
    if left_out:
        print(f"{left_out:,} pending jobs are left out: they are held, or wait for a job or a time.")
    latest = max(row.submit if row.start is None else max(row.submit, row.start) for row in rows)
    at = latest if arguments.at is None else moment_of(arguments.at, trace, "--at")
    nodes = _machine(arguments, trace, at)
    return at, state_of_queue(rows, at, nodes, _outages(arguments, nodes))


def _machine(arguments: argparse.Namespace, trace: Trace, at: float) -> int:
    """The size of the machine; it is told by the past alone."""
    from workloads.logs.machinesize import with_assumed_size

    if arguments.machine is not None:
        return whole(arguments.machine, "--machine", 1, LARGEST_SIZE)
    past = tuple(job for job in trace.jobs if job.wait is not None and job.submit + job.wait + job.runtime <= at)
    nodes = with_assumed_size(replace(trace, jobs=past)).nodes
    if nodes is None:
        raise InputError(f"{arguments.log} does not say how many nodes the machine has: give --machine")
    return nodes


def _outages(arguments: argparse.Namespace, nodes: int) -> list[Outage]:
    from workloads.outages.file import read_outages

    return [] if arguments.outages is None else read_outages(arguments.outages, nodes=nodes)


def _with_job(arguments: argparse.Namespace, state: MachineState) -> tuple[MachineState, int]:
    """The state with the job that is asked for."""
    if arguments.nodes is None or arguments.walltime is None:
        raise InputError("a job that is submitted now needs both --nodes and --walltime")
    nodes = whole(arguments.nodes, "--nodes", 1, LARGEST_SIZE)
    walltime = duration(arguments.walltime, "--walltime")
    if walltime <= 0:
        raise InputError(f"--walltime must be above 0, not {arguments.walltime}")
    return state.with_job(nodes, walltime, arguments.user, arguments.project)


def _write(path: str, facts: object) -> None:
    import json

    from workloads.ground.files import atomic_open

    with atomic_open(path) as file:
        file.write(json.dumps(facts, indent=2, allow_nan=False) + "\n")
    print(f"written to {path}")
