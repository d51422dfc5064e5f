"""Calibration of the Theta-like generator against the FCFS/EASY baseline of hybrid-workload-scheduling, Table II.

Run ``python -m holdfast.experiments.traces.calibration`` for the metrics by seed; ``--set patience=60`` tries another
parameter of :class:`holdfast.workloads.theta.year.ThetaYear`. Measured effects around the defaults:

- turnaround grows with ``patience`` (users accept a longer queue), ``day_sigma`` and ``week_sigma``;
- instant starts decrease with everything that makes the queue longer, and most with ``hour_sigma`` and ``day_sigma``;
  long campaigns (``campaign_batches``) raise turnaround without reducing them, because the same jobs wait longer;
- utilisation is the work, which is met exactly, over the year and the time in which the machine drains after it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.table.job import JobType
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.presets import preset_year
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["TABLE_II", "BaselineYear", "average", "measure"]


@dataclass(frozen=True)
class BaselineYear:
    """Metrics of a year in Table II, and further ones for calibration.

    Attributes
    ----------
    utilisation
        Node-seconds used / (nodes x (last completion - first submit)).
    turnaround
        Mean of completion - submit [h].
    instant_start
        Share of the on-demand jobs that started at their arrival.
    instant_start_all
        The same for all jobs.
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


def measure(seed: int, parameters: ThetaYear | None = None, **options: Any) -> BaselineYear:
    """Baseline of one generated year with the job types of the same seed (mix W5).

    Parameters
    ----------
    seed
        Seed of the trace and of the types.
    parameters
        Parameters of the year.
    **options
        Options of the simulation (:class:`holdfast.simulator.options.Options`).

    Returns
    -------
    BaselineYear
        Its metrics.
    """
    trace = generate(parameters, seed)
    jobs = assign(trace, seed=seed, notice_mix="W5")
    result = simulate(jobs, trace.nodes or 0, events=False, **options)
    figures = summarize(result)
    return BaselineYear(
        utilisation=float(figures["utilization"]),
        turnaround=float(figures["turnaround_h"]),
        instant_start=float(figures["instant_start_ratio_strict"]),
        instant_start_all=sum(record.start == record.queued for record in result.records) / len(jobs),
        on_demand=sum(job.type is JobType.ON_DEMAND for job in jobs) / len(jobs),
    )


def average(results: Sequence[BaselineYear]) -> BaselineYear:
    """Mean of each metric over seeds; a seed without on-demand jobs is left out for instant starts."""

    def mean(values: Iterable[float]) -> float:
        known = [value for value in values if not math.isnan(value)]
        return sum(known) / len(known) if known else float("nan")

    return BaselineYear(*(mean(getattr(result, field.name) for result in results) for field in fields(BaselineYear)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the baseline of each seed and the average beside Table II."""
    parser = argparse.ArgumentParser(description="FCFS/EASY baseline of generated years beside Table II.")
    parser.add_argument("--seeds", default="0:10", help="first:end, e.g. 100:110 (default 0:10)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of ThetaYear")
    parser.add_argument("--preset", default="default", help="parameters of the year (default default)")
    parser.add_argument("--backfill-length", default="walltime", help="walltime or runtime (default walltime)")
    options = parser.parse_args(arguments)
    defaults = preset_year(options.preset)
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
        results.append(measure(seed, replace(defaults, **changes), backfill_length=options.backfill_length))
        _show(str(seed), results[-1])
    _show("average", average(results))
    print(f"{'paper':>8} {100 * TABLE_II[0]:7.2f} {TABLE_II[1]:7.2f} {100 * TABLE_II[2]:9.2f}")


def _show(label: str, row: BaselineYear) -> None:
    print(
        f"{label:>8} {100 * row.utilisation:7.2f} {row.turnaround:7.2f} {100 * row.instant_start:9.2f} "
        f"{100 * row.instant_start_all:6.2f} {100 * row.on_demand:11.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
