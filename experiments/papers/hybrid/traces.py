"""Experiments for Figs. 3 to 5 of hybrid-workload-scheduling: sizes, types and bursts in the generated traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.hybrid.inputs import assigned_traces
from holdfast.experiments.papers.hybrid.mechanisms import QUICK
from holdfast.experiments.statistics import interval
from holdfast.experiments.study.evidence import PERCENT
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.rules import LEVEL, Decision, Outcome, together
from holdfast.experiments.study.simulation_cache import Traces
from holdfast.experiments.study.verdicts import Statement, Verdict, figure, text
from holdfast.experiments.sweeps.grid import GeneratedYear
from holdfast.experiments.sweeps.job_tables import job_table
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "SIZE_RANGES"]

#: Lower bounds of the ranges of Fig. 3 [nodes]; the text of the paper does not give them.
SIZE_RANGES = (1, 128, 256, 512, 1024, 2048, 4096)
_TYPES = (JobType.ON_DEMAND, JobType.RIGID, JobType.MALLEABLE)

# Fig. 3.


def _measure_sizes(parameters: Traces, seed: int) -> Tables:
    rows: list[Row] = []
    for trace, nodes, jobs in assigned_traces(parameters, seed):
        place = np.searchsorted(SIZE_RANGES, [job.nodes for job in jobs], side="right") - 1
        work = np.array([job.nodes * job.runtime / 3600 for job in jobs])
        for index, low in enumerate(SIZE_RANGES):
            high = SIZE_RANGES[index + 1] - 1 if index + 1 < len(SIZE_RANGES) else nodes
            rows.append(
                {
                    "trace": trace,
                    "smallest": low,
                    "largest": high,
                    "jobs": int((place == index).sum()),
                    "share_of_jobs": float((place == index).mean()),
                    "node_hours": float(work[place == index].sum()),
                    "share_of_node_hours": float(work[place == index].sum() / work.sum()),
                }
            )
    return {"": [row for row in rows if any(other["jobs"] for other in rows if other["smallest"] == row["smallest"])]}


def _judge_sizes(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    shares = {
        low: [row["share_of_node_hours"] for row in rows if row["smallest"] == low]
        for low in dict.fromkeys(row["smallest"] for row in rows)
    }
    shares_text = ", ".join(f"from {low}: {100 * float(np.mean(values)):.1f} %" for low, values in shares.items())
    return [
        Statement("Jobs and core hours by size", "a picture", figure("3", "without numbers")).open(
            "the shares of Fig. 3 are not in the text of the paper; every node has as many cores",
            f"core hours by size [nodes]: {shares_text}",
        )
    ]


def _draw_sizes(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.workload_inputs import plot_sizes

    return plot_sizes(tables[""])


# Fig. 4.


def _measure_types(parameters: Traces, seed: int) -> Tables:
    rows: list[Row] = []
    for trace, _, jobs in assigned_traces(parameters, seed):
        work = sum(job.nodes * job.runtime for job in jobs)
        for kind in _TYPES:
            own = [job for job in jobs if job.type is kind]
            rows.append(
                {
                    "trace": trace,
                    "type": str(kind),
                    "jobs": len(own),
                    "share_of_jobs": len(own) / len(jobs),
                    "share_of_node_hours": sum(job.nodes * job.runtime for job in own) / work,
                }
            )
    return {"": rows}


def _judge_types(tables: Tables) -> list[Verdict]:
    shares = [100 * row["share_of_jobs"] for row in tables[""] if row["type"] == JobType.ON_DEMAND]
    outside = [share for share in shares if not 3 <= round(share) <= 15]
    found = interval(shares, bounds=PERCENT)
    return [
        Statement(
            "On-demand jobs are 3 % to 15 % of the jobs of every trace", "3 % to 15 %", text("V-A")
        ).exact_verdict(
            not outside,
            "holds if the share of every trace lies within, rounded to whole per cents",
            f"{min(shares):.1f} % to {max(shares):.1f} %; mean {found.text('.1f')} %",
            f"{len(shares) - len(outside)} of {len(shares)} traces lie within",
        )
    ]


def _draw_types(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.workload_inputs import plot_types

    return plot_types(tables[""])


# Fig. 5.


def _measure_weeks(parameters: Traces, seed: int) -> Tables:
    rows: list[dict[str, Any]] = []
    for trace in range(seed, seed + parameters.traces):
        _, _, weeks = job_table(GeneratedYear(trace, parameters.jobs), Assignment(), trace)
        rows += [
            {"trace": trace, "week": row["week"], "jobs": row["jobs"], "node_hours": row["node_hours"]}
            for row in weeks
            if row["type"] == JobType.ON_DEMAND
        ]
    return {"": rows}


def _judge_weeks(tables: Tables) -> list[Verdict]:
    from scipy.stats import chi2

    dispersions, decisions = [], []
    for trace in dict.fromkeys(row["trace"] for row in tables[""]):
        counts = np.array([row["jobs"] for row in tables[""] if row["trace"] == trace], dtype=float)
        freedom = len(counts) - 1
        if freedom < 1 or counts.mean() <= 0:
            continue
        dispersion = float(counts.var(ddof=1) / counts.mean())
        dispersions.append(f"{dispersion:.0f}")
        more, less = chi2.sf(dispersion * freedom, freedom), chi2.cdf(dispersion * freedom, freedom)
        outcome = Outcome.HOLDS if more < LEVEL else Outcome.FAILS if less < LEVEL else Outcome.UNDECIDED
        decisions.append(Decision(outcome, float(min(more, less))))
    statement = Statement(
        "On-demand jobs come in bursts: more unevenly over the weeks than independent jobs would",
        "bursty",
        text("V-A, observation 9"),
    )
    rule = (
        "holds if the weekly jobs of each trace vary more than a Poisson process (chi-squared, 5 %), does not hold if "
        "those of one vary less, after Holm"
    )
    if not dispersions:
        return [statement.open("too few weeks", rule=rule)]
    measured = f"variance / mean of the weekly jobs: {', '.join(dispersions)} (independent jobs: 1)"
    return [statement.verdict(together(decisions), rule, measured)]


def _draw_weeks(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.workload_inputs import plot_weeks

    return plot_weeks(tables[""])


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        "hybrid-fig3", "Jobs and core hours by size", "Which jobs fill the machine?",
        Traces(), QUICK, _measure_sizes, _judge_sizes, _draw_sizes,
    ),
    Experiment(
        "hybrid-fig4", "Types of jobs in each trace", "How much do the traces differ?",
        Traces(), QUICK, _measure_types, _judge_types, _draw_types,
    ),
    Experiment(
        "hybrid-fig5", "On-demand jobs in each week, three traces", "How bursty are on-demand jobs?",
        Traces(traces=3), replace(QUICK, jobs=8000), _measure_weeks, _judge_weeks, _draw_weeks,
    ),
)  # fmt: skip
