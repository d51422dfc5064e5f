"""Simulations shared by the experiments of the hybrid paper, and rows of their metrics.

A trace is a generated year with types, overheads and notices drawn for it; ten traces have the seeds S, S + 1, ...
Equal simulations have equal configurations, so that the store of the sweeps reuses the results of other experiments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.experiments.figures.study.mechanisms import METRICS
from holdfast.experiments.study.experiment import Resources, Row
from holdfast.experiments.study.year_runs import compute_share
from holdfast.experiments.sweeps import DELAYS, SweepResult, make_sweep, run_sweep
from holdfast.policies.mechanism import BASELINE, MECHANISMS
from holdfast.simulator.results.records import STATES
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.notices import NOTICE_MIXES
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["ALL", "COLUMNS", "MIXES", "SIX", "Traces", "Years", "labels", "metric_rows", "simulate_grid"]

#: Names of the mechanisms of the paper, without and with the baseline.
SIX = tuple(mechanism.name for mechanism in MECHANISMS)
ALL = (BASELINE, *SIX)
MIXES = tuple(NOTICE_MIXES)

#: Columns of each summary that are stored: the eight metrics of Fig. 6 and some that explain them.
_SUMMARY_COLUMNS = (
    *(metric.name for metric in METRICS),
    *("instant_start_ratio_strict", "shrink_ratio", "wait_h", "bounded_slowdown", "makespan_h", "lost_node_hours"),
    "utilization_to_last_submit",
    *DELAYS,
)
#: All metrics of a simulation; the last one is computed here from the node-hours by state.
COLUMNS = (*_SUMMARY_COLUMNS, "compute_utilization")


@dataclass(frozen=True)
class Years:
    """Generated years.

    Attributes
    ----------
    jobs
        Number of jobs of each year.
    traces
        Number of years.
    preset
        Name of the parameters of the years, in :data:`holdfast.workloads.theta.presets.PRESETS`.
    """

    jobs: int = ThetaYear().jobs
    traces: int = 10
    preset: str = field(default="default", kw_only=True)


@dataclass(frozen=True)
class Traces(Years):
    """The traces of an experiment: at least two years, for a confidence interval."""

    def __post_init__(self) -> None:
        if self.traces < 2:
            raise ParameterError("traces", "at least 2, for a confidence interval", self.traces)


def simulate_grid(
    resources: Resources,
    name: str,
    parameters: Years,
    seed: int,
    mechanisms: Sequence[str],
    assignment: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    vary: str = "product",
    preset: str = "",
) -> SweepResult:
    """Run a grid of simulations, except those with stored results.

    Parameters
    ----------
    resources
        Store and workers.
    name
        Name of the sweep; its tables are in a folder of the store.
    parameters, seed
        Parameters and seed of the traces.
    mechanisms, assignment, options
        Varied parameters, as in a sweep file.
    vary
        Kind of variation: ``product`` or ``one-at-a-time``.
    preset
        Preset of the years that replaces that of the parameters.

    Raises
    ------
    InputError
        If a value is not legal.
    HoldfastError
        If a simulation failed.
    """
    sweep = make_sweep(
        workload={
            "seeds": f"{seed}:{seed + parameters.traces}",
            "jobs": parameters.jobs,
            "presets": preset or parameters.preset,
        },
        mechanisms=list(mechanisms),
        assignment=dict(assignment or {}),
        options=dict(options or {}),
        vary=vary,
    )
    result = run_sweep(
        sweep,
        resources.store / "sweeps" / name,
        store=resources.store,
        workers=resources.workers,
        progress=resources.progress,
    )
    return result.complete()


def labels(row: Row) -> dict[str, Any]:
    """The trace, the mix and the mechanism of a run of a sweep."""
    return {"trace": row["assignment_seed"], "mix": row["notice_mix"], "mechanism": row["mechanism"]}


def metric_rows(result: SweepResult, *others: str) -> list[Row]:
    """One row per simulation: trace, mix, mechanism, the columns ``others``, and :data:`COLUMNS`."""
    return [
        {
            **labels(row),
            **{name: row[name] for name in (*others, *_SUMMARY_COLUMNS)},
            "compute_utilization": compute_share({name: hours[f"{name}_node_hours"] for name in STATES}),
        }
        for row, hours in zip(result.summary, result.accounting, strict=True)
    ]
