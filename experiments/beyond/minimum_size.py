"""Experiment: the effect of the minimum size of malleable jobs, from a twentieth of the requested nodes to all of them.

The paper sets it to a fifth. At the whole size a malleable job is neither started small nor shrunk; it still differs
from a rigid job by its warning and by the work that it keeps when preempted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.experiments.study.evidence import Finding, Pair, average, every, within
from holdfast.experiments.study.experiment import Experiment, Resources, Tables
from holdfast.experiments.study.hypotheses import Hypothesis, verdicts
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.simulation_cache import SIX, Traces, metric_rows, simulate_grid
from holdfast.experiments.study.verdicts import Verdict
from holdfast.simulator.results.catalogue import metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_SPAA = tuple(name for name in SIX if name.endswith("-SPAA"))
#: The paper's minimum, and the size at which nothing shrinks.
_FIFTH, _WHOLE = 0.2, 1.0


@dataclass(frozen=True)
class Minima(Traces):
    """Parameters.

    Attributes
    ----------
    shares
        Smallest size of a malleable job as a share of what it asks for.
    mix
        Notice mix of Table III.
    """

    shares: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
    mix: str = "W5"


def _measure(parameters: Minima, seed: int, resources: Resources) -> Tables:
    how = {"notice_mix": parameters.mix, "min_share": list(parameters.shares)}
    result = simulate_grid(resources, "min-size", parameters, seed, SIX, how)
    return {"": metric_rows(result, "min_share")}


def _pairs(data: Measured, metric: str, a: float, b: float, names: Sequence[str] = SIX) -> dict[str, Pair]:
    """The metric at two minima, under each mechanism."""
    return {
        name: (data(metric, mechanism=name, min_share=a), data(metric, mechanism=name, min_share=b)) for name in names
    }


def _fifth(
    metric: str, sign: int, judge: Callable[..., Finding], names: Sequence[str] = SIX
) -> Callable[[Measured], Finding]:
    """A fifth against the whole size."""
    return lambda data: judge(_pairs(data, metric, _FIFTH, _WHOLE, names), sign)


def _below(data: Measured) -> Finding:
    """The smallest minimum against a fifth."""
    least = data.values("min_share")[0]
    if least >= _FIFTH:
        raise LookupError("a minimum below a fifth")
    a, b = (data("turnaround_malleable_h", mechanism=SIX, min_share=share) for share in (least, _FIFTH))
    return within({"": (a, b)}, 0.5, "h")


HYPOTHESES = (
    Hypothesis("A minimum of a fifth of the size shortens the average turnaround of malleable jobs, under each "
               "mechanism", "h", _fifth("turnaround_malleable_h", -1, every)),
    Hypothesis("It shortens the turnaround of rigid jobs, mean of the six mechanisms", "h",
               _fifth("turnaround_rigid_h", -1, average)),
    Hypothesis("It shortens the turnaround of all jobs, mean of the six "
               "mechanisms", "h", _fifth("turnaround_h", -1, average)),
    Hypothesis("Under SPAA fewer malleable jobs are preempted, under each notice strategy", "points",
               _fifth("preemption_ratio_malleable", -1, every, _SPAA)),
    Hypothesis("Under SPAA fewer rigid jobs are preempted, under each notice strategy", "points",
               _fifth("preemption_ratio_rigid", -1, every, _SPAA)),
    Hypothesis("It raises the utilisation, mean of the six mechanisms", "points", _fifth("utilization", 1, average)),
    Hypothesis("A smaller minimum than a fifth changes the average turnaround of malleable jobs by less than half "
               "an hour, mean of the six mechanisms", "h", _below),
)  # fmt: skip


def _judge(tables: Tables) -> list[Verdict]:
    return verdicts(HYPOTHESES, Measured(tables[""]))


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.line_panels import Ruler, plot_panels

    metrics = [
        metric(name)
        for name in (
            *("turnaround_malleable_h", "turnaround_rigid_h", "turnaround_h"),
            *("shrink_ratio", "preemption_ratio_malleable", "preemption_ratio_rigid"),
        )
    ]
    return plot_panels(tables[""], Ruler("min_share", "Minimum size (%)", even=True, scale=100.0), metrics, 3)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-min-size",
        title="What the minimum size of malleable jobs buys",
        question="How small should malleable jobs be able to run, and which jobs gain?",
        parameters=Minima(traces=6),
        quick=Minima(2000, 3, (0.05, 0.2, 1.0)),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "A malleable job with a minimum of its whole size never starts small and never shrinks, but a "
            "preemption still gives a warning and loses no work.",
        ),
    ),
)
