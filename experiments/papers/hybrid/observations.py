"""Experiment that tests the thirteen observations of hybrid-workload-scheduling on the data of Fig. 6 and Fig. 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.experiments.papers.hybrid.checkpoints import (
    Checkpoints,
    checkpoint_findings,
    checkpoint_rows,
    checkpoint_verdicts,
)
from holdfast.experiments.papers.hybrid.claim_evidence import grid_findings
from holdfast.experiments.papers.hybrid.claims import CLAIMS
from holdfast.experiments.papers.hybrid.decisions import decision_rows, decision_verdict
from holdfast.experiments.papers.hybrid.mechanisms import QUICK
from holdfast.experiments.study.experiment import Experiment, Resources, Tables
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.simulation_cache import ALL, MIXES, metric_rows, simulate_grid
from holdfast.experiments.study.verdicts import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]


@dataclass(frozen=True)
class Observations(Checkpoints):
    """Parameters.

    Attributes
    ----------
    mixes
        Notice mixes of Fig. 6; ``mix`` is that of Fig. 7.
    """

    mixes: tuple[str, ...] = MIXES


def _measure(parameters: Observations, seed: int, resources: Resources) -> Tables:
    result = simulate_grid(resources, "fig6", parameters, seed, ALL, {"notice_mix": list(parameters.mixes)})
    courses = checkpoint_rows(
        parameters, parameters.factors, parameters.node_mtbf_years, parameters.mix, seed, resources
    )
    return {"": metric_rows(result), "checkpoints": courses, "decisions": decision_rows(result)}


def _judge(tables: Tables) -> list[Verdict]:
    data = Measured(tables[""])
    return [
        *(claim.verdict(data) for claim in CLAIMS if claim.observation < 10),
        decision_verdict(tables["decisions"]),
        *(claim.verdict(data) for claim in CLAIMS if claim.observation > 10),
        *checkpoint_verdicts(tables["checkpoints"]),
    ]


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.evidence import plot_findings

    return plot_findings([*grid_findings(Measured(tables[""])), *checkpoint_findings(tables["checkpoints"])])


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="hybrid-obs",
        title="The thirteen observations as statistical tests",
        question="Which of the paper's observations hold on ten other traces?",
        parameters=Observations(),
        quick=replace(Observations(), jobs=QUICK.jobs, traces=QUICK.traces, node_mtbf_years=(5.0, 0.25)),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        clocked=("decisions",),
    ),
)
