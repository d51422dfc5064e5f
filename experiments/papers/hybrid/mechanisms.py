"""Experiments for Table II and Fig. 6 of hybrid-workload-scheduling: the baseline and the six mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.experiments.papers.hybrid.claims import CLAIMS
from holdfast.experiments.papers.hybrid.published_levels import LEVELS
from holdfast.experiments.study.evidence import judge_finding
from holdfast.experiments.study.experiment import Experiment, Resources, Tables
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.simulation_cache import ALL, MIXES, Traces, metric_rows, simulate_grid
from holdfast.experiments.study.verdicts import Statement, Verdict
from holdfast.experiments.sweeps import SweepResult
from holdfast.policies.mechanism import BASELINE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "QUICK", "Grid", "grid_result", "grid_tables"]

#: Quick parameters of all experiments with simulations: three traces of a few weeks.
QUICK = Traces(jobs=2000, traces=3)


@dataclass(frozen=True)
class Baseline(Traces):
    """Parameters of Table II.

    Attributes
    ----------
    mix
        Notice mix. The baseline ignores notices; the mix determines only which on-demand jobs arrive early or late.
    """

    mix: str = "W5"


def _measure_baseline(parameters: Baseline, seed: int, resources: Resources) -> Tables:
    result = simulate_grid(resources, "table2", parameters, seed, [BASELINE], {"notice_mix": parameters.mix})
    return {"": metric_rows(result)}


#: Level names of the rows of Table II.
_TABLE_2 = {
    "baseline_turnaround": "average turnaround",
    "baseline_utilisation": "utilisation",
    "baseline_instant": "on-demand jobs started instantly (0 s)",
}


def _judge_baseline(tables: Tables) -> list[Verdict]:
    data = Measured(tables[""])
    remark = "the generator is calibrated on this table"
    return [
        judge_finding(
            Statement(f"FCFS/EASY: {_TABLE_2[own.name]}", f"{own.printed:g} {own.unit}", own.source),
            own.unit,
            own.finding(data),
            remark,
        )
        for own in LEVELS
        if own.name in _TABLE_2
    ]


@dataclass(frozen=True)
class Grid(Traces):
    """Parameters of Fig. 6.

    Attributes
    ----------
    mixes
        Notice mixes of Table III.
    """

    mixes: tuple[str, ...] = MIXES


def grid_result(parameters: Grid, seed: int, resources: Resources) -> SweepResult:
    """Simulate all mechanisms and the baseline on all mixes and traces."""
    return simulate_grid(resources, "fig6", parameters, seed, ALL, {"notice_mix": list(parameters.mixes)})


def grid_tables(parameters: Grid, seed: int, resources: Resources) -> Tables:
    """Metrics of all mechanisms and the baseline on all mixes and traces."""
    return {"": metric_rows(grid_result(parameters, seed, resources))}


#: Quantitative claims of section V about Fig. 6 (:mod:`holdfast.experiments.papers.hybrid.claims`).
_LEVELS = ("1e", "1b", "9a")


def _judge_grid(tables: Tables) -> list[Verdict]:
    data = Measured(tables[""])
    known = {claim.name: claim for claim in CLAIMS}
    return [known[name].verdict(data) for name in _LEVELS]


def _draw_grid(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.evaluation import plot_groups

    rows = tables[""]
    return plot_groups(rows, "mix", list(dict.fromkeys(row["mix"] for row in rows)), "Notice mix")


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="hybrid-table2",
        title="The baseline, FCFS with EASY backfilling",
        question="Are utilisation and turnaround those of the paper?",
        parameters=Baseline(),
        quick=Baseline(QUICK.jobs, QUICK.traces),
        measure=_measure_baseline,
        judge=_judge_baseline,
        stores=True,
    ),
    Experiment(
        id="hybrid-fig6",
        title="Six mechanisms on five notice mixes, eight metrics",
        question="What do instant starts of on-demand jobs cost the other jobs?",
        parameters=Grid(),
        quick=Grid(QUICK.jobs, QUICK.traces),
        measure=grid_tables,
        judge=_judge_grid,
        draw=_draw_grid,
        stores=True,
    ),
)
