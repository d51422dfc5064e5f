"""Experiment for Fig. 7 of hybrid-workload-scheduling: the checkpoint interval as a multiple of Daly's optimum.

The paper does not state a mean time between failures. With five years per node, most rigid jobs are too short for a
checkpoint. The experiment therefore repeats the figure with shorter times, and reports the share of rigid jobs with
checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.papers.hybrid.claim_evidence import finding_row
from holdfast.experiments.papers.hybrid.claims import CHECKPOINT_CLAIMS, examine
from holdfast.experiments.papers.hybrid.mechanisms import QUICK
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.simulation_cache import SIX, Traces, metric_rows, simulate_grid
from holdfast.experiments.study.verdicts import Verdict
from holdfast.experiments.sweeps.grid import GeneratedYear
from holdfast.experiments.sweeps.job_tables import job_table
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.hybrid.checkpointing import NODE_MTBF, checkpoints_of_job
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "EXPERIMENTS",
    "YEAR",
    "Checkpoints",
    "by_mtbf",
    "checkpoint_findings",
    "checkpoint_rows",
    "checkpoint_verdicts",
]

#: Length of a year in node MTBFs [s].
YEAR = 365 * 86400.0


@dataclass(frozen=True)
class Checkpoints(Traces):
    """Parameters.

    Attributes
    ----------
    factors
        Multiples of Daly's optimum.
    node_mtbf_years
        Mean times between failures of a node.
    mix
        Notice mix.
    """

    factors: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    node_mtbf_years: tuple[float, ...] = (NODE_MTBF / YEAR, 1.0, 0.25)
    mix: str = "W5"


def checkpoint_rows(
    parameters: Traces,
    factors: Sequence[float],
    years: Sequence[float],
    mix: str,
    seed: int,
    resources: Resources,
) -> list[Row]:
    """Simulate, and return a row for each trace, node MTBF, factor and mechanism."""
    varied = {"notice_mix": mix, "checkpoint_factor": list(factors), "node_mtbf": [YEAR * value for value in years]}
    result = simulate_grid(resources, "fig7", parameters, seed, SIX, varied)
    rows = metric_rows(result, "checkpoint_factor", "node_mtbf")
    return [
        {**{key: value for key, value in row.items() if key != "node_mtbf"}, "node_mtbf_years": row["node_mtbf"] / YEAR}
        for row in rows
    ]


def by_factor(rows: Sequence[Row]) -> Measured:
    """Metrics of one node MTBF, with the checkpoint factor as ``mix``."""
    return Measured({**row, "mix": str(float(row["checkpoint_factor"]))} for row in rows)


def by_mtbf(rows: Sequence[Row]) -> dict[str, Measured]:
    """Metrics of each node MTBF, by its title."""
    return {
        f"node MTBF {years:g} years": by_factor([row for row in rows if row["node_mtbf_years"] == years])
        for years in dict.fromkeys(row["node_mtbf_years"] for row in rows)
    }


def checkpoint_verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge observation 13 under each node MTBF."""
    return [claim.verdict(data, where) for where, data in by_mtbf(rows).items() for claim in CHECKPOINT_CLAIMS.values()]


def checkpoint_findings(rows: Sequence[Row]) -> list[Row]:
    """Findings on observation 13 as rows for a figure."""
    return [
        finding_row(claim._replace(text=f"{claim.text} ({where})"), examine(claim, data))
        for where, data in by_mtbf(rows).items()
        for claim in CHECKPOINT_CLAIMS.values()
    ]


def _dump_rows(parameters: Checkpoints, seed: int) -> list[Row]:
    """Rows with the number of rigid jobs that make a checkpoint if undisturbed."""
    rows: list[Row] = []
    for trace in range(seed, seed + parameters.traces):
        year = GeneratedYear(trace, parameters.jobs)
        for years in parameters.node_mtbf_years:
            for factor in parameters.factors:
                how = Assignment(notice_mix=parameters.mix, checkpoint_factor=factor, node_mtbf=YEAR * years)
                jobs, _, _ = job_table(year, how, trace)
                dumps = np.array([checkpoints_of_job(job) for job in jobs if job.type is JobType.RIGID])
                rows.append(
                    {
                        "trace": trace,
                        "node_mtbf_years": years,
                        "checkpoint_factor": factor,
                        "rigid_jobs": len(dumps),
                        "share_with_checkpoints": float((dumps > 0).mean()) if len(dumps) else None,
                        "checkpoints_per_job": float(dumps.mean()) if len(dumps) else None,
                    }
                )
    return rows


def _measure(parameters: Checkpoints, seed: int, resources: Resources) -> Tables:
    rows = checkpoint_rows(parameters, parameters.factors, parameters.node_mtbf_years, parameters.mix, seed, resources)
    return {"": rows, "dumps": _dump_rows(parameters, seed)}


def _shares(tables: Tables, years: float, factor: float) -> float:
    """Share of rigid jobs that make a checkpoint, mean over the traces."""
    own = [
        row["share_with_checkpoints"]
        for row in tables["dumps"]
        if row["node_mtbf_years"] == years and row["checkpoint_factor"] == factor and row["rigid_jobs"]
    ]
    return float(np.mean(own)) if own else float("nan")


def _judge(tables: Tables) -> list[Verdict]:
    return checkpoint_verdicts(tables[""])


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.evaluation import plot_courses

    rows = [{**row, "line": f"{float(row['node_mtbf_years']):g}"} for row in tables[""]]
    lines = []
    for years in dict.fromkeys(row["node_mtbf_years"] for row in tables[""]):
        factors = sorted({row["checkpoint_factor"] for row in tables[""]})
        shares = [f"{100 * _shares(tables, years, factor):.0f}" for factor in factors]
        span = f"{years:g} year{'s' if years != 1 else ''}"
        title = f"Node MTBF of {span}; rigid jobs that make any checkpoint: {', '.join(shares)} %"
        lines.append((title, f"{years:g}"))
    names = ("turnaround_h", "turnaround_rigid_h", "preemption_ratio_rigid", "utilization")
    return plot_courses(rows, "checkpoint_factor", "Interval (% of Daly's)", lines, list(map(metric, names)))


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="hybrid-fig7",
        title="Checkpoint interval of rigid jobs, 25 to 200 % of Daly's optimum",
        question="Should rigid jobs checkpoint more often when on-demand jobs preempt them?",
        parameters=Checkpoints(),
        quick=replace(Checkpoints(), jobs=QUICK.jobs, traces=QUICK.traces, node_mtbf_years=(NODE_MTBF / YEAR, 0.25)),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
    ),
)
