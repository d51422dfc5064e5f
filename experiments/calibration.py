"""Calibration of the Theta-like generator against the FCFS/EASY baseline of hybrid-workload-scheduling, Table II.

Run ``python -m experiments.calibration`` for the figures by seed; ``--set patience=60`` tries another parameter of
:class:`workloads.theta.ThetaYear`. What moves what, measured around the defaults:

- turnaround grows with ``patience`` (users who put up with a longer queue), ``day_sigma`` and ``week_sigma``;
- instant starts fall with everything that makes the queue longer, and most with ``hour_sigma`` and ``day_sigma``; long
  campaigns (``campaign_batches``) raise turnaround without lowering them, because the jobs that wait are the same ones;
- utilisation is the work, which is met exactly, over the year and the time in which the machine drains after it.
"""

from __future__ import annotations

import argparse
import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from heapq import heappop, heappush
from typing import Any

from workloads.assignment import assign
from workloads.errors import ParameterError
from workloads.generator import generate
from workloads.job import Job, JobType
from workloads.theta import ThetaYear
from workloads.units import SECOND, to_ticks

__all__ = ["TABLE_II", "Baseline", "Replay", "average", "easy_starts", "measure"]

#: Start of each job [ticks], in the order of the jobs, on so many nodes.
Replay = Callable[[Sequence[Job], int], Sequence[int]]


@dataclass(frozen=True)
class Baseline:
    """What Table II says of a year, and what else a calibration should look at.

    Attributes
    ----------
    utilisation
        Node-seconds used / (nodes x (last completion - first submit)).
    turnaround
        Mean of completion - submit [h].
    instant_start
        Share of the on-demand jobs that started at their arrival.
    instant_start_all
        The same of all jobs.
    on_demand
        Share of the jobs that are on-demand.
    """

    utilisation: float
    turnaround: float
    instant_start: float
    instant_start_all: float
    on_demand: float


#: Paper: utilisation, turnaround [h], instant start.
TABLE_II = (0.8393, 15.6, 0.2269)


def easy_starts(jobs: Sequence[Job], nodes: int) -> list[int]:
    """Start times under FCFS with EASY backfilling, every job rigid at its trace runtime and walltime.

    Parameters
    ----------
    jobs
        Jobs that fit on the machine and arrive.
    nodes
        Size of the machine.

    Returns
    -------
    list of int
        Start of each job [ticks], in the order of ``jobs``.

    Notes
    -----
    The rule of easy-backfilling.md in plain lists: a year takes 0.2 s. It stands beside the simulator on purpose; that
    the two agree job by job is a test of both.
    """
    submit = [to_ticks(job.submit or 0.0) for job in jobs]
    run = [to_ticks(job.runtime if job.trace_runtime is None else job.trace_runtime) for job in jobs]
    limit = [to_ticks(job.walltime if job.trace_walltime is None else job.trace_walltime) for job in jobs]
    size = [job.nodes for job in jobs]
    smallest = min(size, default=1)
    order = sorted(range(len(jobs)), key=submit.__getitem__)
    start = [-1] * len(jobs)
    free, arrived = nodes, 0
    queue: list[int] = []
    ends: list[tuple[int, int]] = []
    expected: list[tuple[int, int]] = []

    def launch(job: int, now: int) -> None:
        nonlocal free
        free -= size[job]
        start[job] = now
        heappush(ends, (now + run[job], job))
        insort(expected, (now + limit[job], job))

    while arrived < len(order) or ends:
        now = ends[0][0] if ends else submit[order[arrived]]
        if arrived < len(order):
            now = min(now, submit[order[arrived]])
        while ends and ends[0][0] == now:
            job = heappop(ends)[1]
            free += size[job]
            del expected[bisect_left(expected, (start[job] + limit[job], job))]
        while arrived < len(order) and submit[order[arrived]] == now:
            queue.append(order[arrived])
            arrived += 1
        heads = 0
        while heads < len(queue) and size[queue[heads]] <= free:
            launch(queue[heads], now)
            heads += 1
        del queue[:heads]
        # Nothing can start on fewer nodes than the smallest job of the year asks for.
        if not queue or free < smallest:
            continue
        shadow, extra = _shadow(size[queue[0]], free, expected, size)
        waiting = queue[:1]
        for place in range(1, len(queue)):
            job = queue[place]
            if size[job] <= free and (now + limit[job] <= shadow or size[job] <= extra):
                if now + limit[job] > shadow:
                    extra -= size[job]
                launch(job, now)
                if free < smallest:
                    waiting.extend(queue[place + 1 :])
                    break
            else:
                waiting.append(job)
        queue = waiting
    return start


def _shadow(need: int, free: int, expected: list[tuple[int, int]], size: list[int]) -> tuple[int, int]:
    """Shadow time of the head and the nodes that it leaves over then, all jobs that end exactly then included."""
    available, shadow = free, -1
    for end, job in expected:
        if shadow >= 0 and end > shadow:
            break
        available += size[job]
        if shadow < 0 and available >= need:
            shadow = end
    if shadow < 0:
        raise ParameterError("nodes", f"at least {need}, the size of the largest job", available)
    return shadow, available - need


def measure(seed: int, parameters: ThetaYear | None = None, replay: Replay = easy_starts) -> Baseline:
    """Baseline of one generated year with the job types of the same seed (mix W5).

    Parameters
    ----------
    seed
        Of the trace and of the types.
    parameters
        Of the year.
    replay
        The scheduler; the simulator's baseline can stand in.

    Returns
    -------
    Baseline
        Its figures.
    """
    trace = generate(parameters, seed)
    nodes = trace.nodes or 0
    jobs = assign(trace, seed=seed, notice_mix="W5")
    starts = replay(jobs, nodes)
    submits = [to_ticks(job.submit or 0.0) for job in jobs]
    runs = [to_ticks(job.runtime if job.trace_runtime is None else job.trace_runtime) for job in jobs]
    ends = [start + run for start, run in zip(starts, runs, strict=True)]
    used = sum(job.nodes * run for job, run in zip(jobs, runs, strict=True))
    instant = [start == submit for start, submit in zip(starts, submits, strict=True)]
    chosen = [now for job, now in zip(jobs, instant, strict=True) if job.type is JobType.ON_DEMAND]
    return Baseline(
        utilisation=used / (nodes * (max(ends) - min(submits))),
        turnaround=sum(end - submit for end, submit in zip(ends, submits, strict=True)) / len(jobs) / 3600 / SECOND,
        instant_start=sum(chosen) / len(chosen) if chosen else float("nan"),
        instant_start_all=sum(instant) / len(jobs),
        on_demand=len(chosen) / len(jobs),
    )


def average(results: Sequence[Baseline]) -> Baseline:
    """Mean of each figure over seeds; a seed without on-demand jobs has no instant starts to count."""

    def mean(values: Iterable[float]) -> float:
        known = [value for value in values if not math.isnan(value)]
        return sum(known) / len(known) if known else float("nan")

    return Baseline(*(mean(getattr(result, field.name) for result in results) for field in fields(Baseline)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the baseline of each seed and the average beside Table II."""
    parser = argparse.ArgumentParser(description="FCFS/EASY baseline of generated years beside Table II.")
    parser.add_argument("--seeds", default="0:10", help="first:end, e.g. 100:110 (default 0:10)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of ThetaYear")
    options = parser.parse_args(arguments)
    defaults = ThetaYear()
    changes: dict[str, Any] = {}
    for text in options.set:
        name, _, value = text.partition("=")
        kind = type(getattr(defaults, name, None))
        if kind not in (int, float):
            raise ParameterError("--set", "NAME=VALUE with a number of ThetaYear", text)
        changes[name] = kind(value)
    first, _, end = options.seeds.partition(":")
    print(f"{'seed':>8} {'util %':>7} {'turn h':>7} {'instant %':>9} {'all %':>6} {'on-demand %':>11}")
    results = []
    for seed in range(int(first), int(end)):
        results.append(measure(seed, ThetaYear(**changes)))
        _show(str(seed), results[-1])
    _show("average", average(results))
    print(f"{'paper':>8} {100 * TABLE_II[0]:7.2f} {TABLE_II[1]:7.2f} {100 * TABLE_II[2]:9.2f}")


def _show(label: str, row: Baseline) -> None:
    print(
        f"{label:>8} {100 * row.utilisation:7.2f} {row.turnaround:7.2f} {100 * row.instant_start:9.2f} "
        f"{100 * row.instant_start_all:6.2f} {100 * row.on_demand:11.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
