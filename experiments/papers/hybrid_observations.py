"""The thirteen observations of hybrid-workload-scheduling, section V, as tests on the data of Fig. 6 and Fig. 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from experiments.experiment import Experiment, Resources, Row, Tables
from experiments.papers.hybrid_checkpoints import Checkpoints, checkpoint_findings, checkpoint_rows
from experiments.papers.hybrid_claims import Claim
from experiments.papers.hybrid_evidence import Evidence, Finding
from experiments.papers.hybrid_findings import finding_row, grid_findings, verdict_of
from experiments.papers.hybrid_grid import ALL, MIXES, Measurements, metric_rows, simulated
from experiments.papers.hybrid_mechanisms import QUICK
from experiments.sweeps import SweepResult
from experiments.verdicts import Verdict
from policies.mechanism import BASELINE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: The paper's bound on a decision [ms].
_LIMIT = 10.0
_DECISIONS = Claim(
    10,
    "",
    "99 of 100 decisions take less than 10 ms, in each simulation",
    "< 10 ms",
    "ms",
    lambda data: Finding(Evidence.MISSING, "-"),
)


@dataclass(frozen=True)
class Observations(Checkpoints):
    """Parameters.

    Attributes
    ----------
    mixes
        Of Fig. 6; ``mix`` is that of Fig. 7.
    """

    mixes: tuple[str, ...] = MIXES


def _decisions(result: SweepResult) -> Row:
    """Observation 10; the times themselves differ from run to run and are told by hybrid-latency."""
    p99 = [row["decision_ms_p99"] for row in result.timings if row["mechanism"] != BASELINE]
    fast = all(value is not None and value < _LIMIT for value in p99)
    evidence = Evidence.SUPPORTED if fast else Evidence.CONTRADICTED
    return finding_row(_DECISIONS, Finding(evidence, f"p99 < {_LIMIT:g} ms", detail="the times: hybrid-latency"))


def _measure(parameters: Observations, seed: int, resources: Resources) -> Tables:
    result = simulated(resources, "fig6", parameters, seed, ALL, {"notice_mix": list(parameters.mixes)})
    grid = metric_rows(result)
    courses = checkpoint_rows(
        parameters, parameters.factors, parameters.node_mtbf_years, parameters.mix, seed, resources
    )
    found: list[dict[str, Any]] = [*grid_findings(Measurements(grid)), dict(_decisions(result))]
    found += [dict(row) for row in checkpoint_findings(courses)]
    found.sort(key=lambda row: int(row["observation"]))
    return {"": found, "mechanisms": grid, "checkpoints": courses}


def _judge(tables: Tables) -> list[Verdict]:
    return [verdict_of(row) for row in tables[""]]


def _draw(tables: Tables) -> Figure:
    from experiments.figures.evidence import plot_findings

    return plot_findings(tables[""])


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="hybrid-obs",
        title="The thirteen observations, each made exact and tested",
        question="Which of the paper's observations hold on ten other traces?",
        parameters=Observations(),
        quick=replace(Observations(), jobs=QUICK.jobs, traces=QUICK.traces, node_mtbf_years=(5.0, 0.25)),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        simulates=True,
    ),
)
