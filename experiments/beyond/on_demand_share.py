"""Experiment: the number of on-demand projects at which fewer than 95 % of the on-demand jobs start instantly.

In the paper one project in ten is on-demand. Here the share goes up to four in ten; rigid and malleable projects share
the rest two to one, as in the paper. The draws of a trace stay the same: a project that is on-demand at one share is
on-demand at all larger shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.statistics import interval
from holdfast.experiments.study.evidence import PERCENT, Finding, Pair, average, every
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import Hypothesis, hypothesis, verdicts
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.rules import Below, either
from holdfast.experiments.study.simulation_cache import SIX, Traces, metric_rows, simulate_grid
from holdfast.experiments.study.verdicts import Verdict
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "bearable", "crossing_point"]

Floats = NDArray[np.float64]
_INSTANT = "instant_start_ratio"
#: The paper's share of on-demand projects.
_PAPER = 0.1
_METHODS = ("PAA", "SPAA")


@dataclass(frozen=True)
class Shares(Traces):
    """Parameters.

    Attributes
    ----------
    shares
        Shares of on-demand projects, within (0, 1).
    level
        Part of the on-demand jobs that has to start instantly.
    mix
        Notice mix of Table III.
    """

    shares: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
    level: float = 0.95
    mix: str = "W5"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(0 < share < 1 for share in self.shares) or not 0 < self.level < 1:
            raise ParameterError("shares, level", "within (0, 1)", (*self.shares, self.level))


def crossing_point(places: Floats, curve: Floats, level: float) -> tuple[float, str]:
    """Position at which a curve first falls below a level, with linear interpolation.

    Parameters
    ----------
    places, curve
        Shape (n,), places ascending.
    level
        In the unit of the curve.

    Returns
    -------
    tuple
        The place; and ``<`` if the curve is below the level from the first place on, ``>`` if it never is, else empty.

    Examples
    --------
    >>> crossing_point(np.array([1.0, 2.0, 3.0]), np.array([9.0, 7.0, 5.0]), 6.0)
    (2.5, '')
    """
    below = np.flatnonzero(curve < level)
    if not len(below):
        return float(places[-1]), ">"
    first = int(below[0])
    if first == 0:
        return float(places[0]), "<"
    a, b = curve[first - 1], curve[first]
    part = (a - level) / (a - b)
    return float(places[first - 1] + part * (places[first] - places[first - 1])), ""


def bearable(values: Mapping[float, Floats], level: float) -> dict[str, Any]:
    """Positions at which the mean over the traces and the bounds of its 95 % interval cross the level.

    Parameters
    ----------
    values
        By share: a value for each trace, two or more.
    level
        In the unit of the values.

    Returns
    -------
    dict
        ``share``, ``low``, ``high``, and ``share_open``, ``low_open``, ``high_open``: ``<`` or ``>`` where the
        crossing lies outside the shares. Each trace's own crossing would be undefined as soon as one lies outside.
    """
    places = np.array(sorted(values))
    found = [interval(values[place], bounds=PERCENT) for place in places]
    row: dict[str, Any] = {}
    for name, curve in (("share", [i.mean for i in found]), ("low", [i.low for i in found]),
                        ("high", [i.high for i in found])):  # fmt: skip
        row[name], row[f"{name}_open"] = crossing_point(places, np.array(curve), level)
    return row


def _measure(parameters: Shares, seed: int, resources: Resources) -> Tables:
    shares = [[share, (1 - share) * 2 / 3, (1 - share) / 3] for share in sorted(parameters.shares)]
    how = {"notice_mix": parameters.mix, "shares": shares}
    result = simulate_grid(resources, "on-demand", parameters, seed, SIX, how)
    work = _work(result.weeks)
    rows = [
        {
            **row,
            "shares": _first(row["shares"]),
            "on_demand_work_share": work[row["trace"], _first(row["shares"])],
        }
        for row in metric_rows(result, "shares")
    ]
    for row in rows:
        row["share"] = row.pop("shares")
    return {"": rows, "bearable": _bearable(rows, parameters.level)}


def _first(cell: Any) -> float:
    """The share of on-demand projects, of a cell with three shares."""
    return float(str(cell).split()[0])


def _work(weeks: Iterable[Row]) -> dict[tuple[int, float], float]:
    """Part of the node-hours that on-demand jobs ask for, by trace and share."""
    total: dict[tuple[int, float], list[float]] = {}
    for row in weeks:
        sums = total.setdefault((row["assignment_seed"], _first(row["shares"])), [0.0, 0.0])
        sums[0] += row["node_hours"] if row["type"] == JobType.ON_DEMAND else 0.0
        sums[1] += row["node_hours"]
    return {key: part / whole for key, (part, whole) in total.items()}


def _bearable(rows: Iterable[Row], level: float) -> list[Row]:
    data = Measured(rows)
    found: list[Row] = []
    for name in SIX:
        cells = {share: data(_INSTANT, mechanism=name, share=share) for share in data.values("share")}
        # A trace without on-demand projects at some share is excluded at all shares.
        known = np.isfinite(np.array([*cells.values()])).all(axis=0)
        if known.sum() > 1:
            row = bearable({share: values[known] for share, values in cells.items()}, 100 * level)
            found.append({"mechanism": name, "level": level, "traces": int(known.sum()), **row})
    return found


def _pairs(data: Measured, a: str, b: str) -> dict[str, Pair]:
    """Two notice strategies, the mean over all shares."""
    return {kind: (data(_INSTANT, mechanism=f"{a}-{kind}"), data(_INSTANT, mechanism=f"{b}-{kind}"))
            for kind in _METHODS}  # fmt: skip


def _at(share: float) -> Callable[[Measured], Finding]:
    """Test that more than 95 % start instantly at a share, under each mechanism."""

    def test(data: Measured) -> Finding:
        level = np.full(len(data.traces), 95.0)
        return every({name: (data(_INSTANT, mechanism=name, share=share), level) for name in SIX}, 1)

    return test


def _ends(metric: str, sign: int) -> Callable[[Measured], Finding]:
    """Test of the largest share against the smallest, under each mechanism."""

    def test(data: Measured) -> Finding:
        shares = data.values("share")
        return every({name: (data(metric, mechanism=name, share=shares[-1]),
                             data(metric, mechanism=name, share=shares[0])) for name in SIX}, sign)  # fmt: skip

    return test


HYPOTHESES = (
    Hypothesis("At a share of 10 %, as in the hybrid paper, more than 95 % start instantly, under each mechanism",
               "points above", _at(_PAPER)),
    Hypothesis("The same at a share of 20 %", "points above", _at(2 * _PAPER)),
    Hypothesis("Fewer start instantly at the largest share than at the smallest, under each mechanism", "points",
               _ends(_INSTANT, -1)),
    Hypothesis("More start instantly under CUP than under N, mean over all shares", "points",
               lambda data: average(_pairs(data, "CUP", "N"), 1)),
    Hypothesis("More start instantly under CUA than under N, mean over all shares", "points",
               lambda data: average(_pairs(data, "CUA", "N"), 1)),
    Hypothesis("The average turnaround of all jobs is longer at the largest share than at the smallest, under each "
               "mechanism", "h", _ends("turnaround_h", 1)),
    Hypothesis("The utilisation is lower at the largest share than at the smallest, under each mechanism", "points",
               _ends("utilization", -1)),
)  # fmt: skip


def _judge(tables: Tables) -> list[Verdict]:
    rows, levels = tables[""], [row["level"] for row in tables.get("bearable", ())]
    crossings = _bearable(rows, levels[0]) if levels else []
    data = Measured(rows)
    return [*(_crossing_verdict(row, data) for row in crossings), *verdicts(HYPOTHESES, data)]


def _crossing_verdict(row: Row, data: Measured) -> Verdict:
    """Verdict on whether the instant start rate falls below the level at some share, and at which."""

    def percentage(name: str) -> str:
        return f"{row[f'{name}_open'] or ''}{100 * row[name]:.1f}"

    level = 100 * row["level"]
    claim = f"Under {row['mechanism']} some share of on-demand projects brings the instant start rate below {level:g} %"
    rule = Below(level, "the mean", "%")
    cells = [data(_INSTANT, mechanism=row["mechanism"], share=share) for share in data.values("share")]
    known = np.isfinite(cells).all(axis=0)
    decision = either([rule.decide(interval(values[known], bounds=PERCENT)) for values in cells])
    measured = f"crossed at {percentage('share')} % [{percentage('low')}, {percentage('high')}] of the projects"
    remark = "the crossing of the mean over the traces and of the bounds of its 95 % interval"
    words = f"{rule.words}; at one of {len(cells)} shares after Holm, or at none"
    return hypothesis(claim).verdict(decision, words, measured, remark)


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.instant_start_limit import plot_instant_start_limit

    return plot_instant_start_limit(tables[""], tables.get("bearable", ()))


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-on-demand",
        title="How many on-demand projects the machine bears",
        question="At which share of on-demand projects do fewer than 95 % of their jobs start instantly?",
        parameters=Shares(traces=6),
        quick=Shares(2000, 3, (0.05, 0.1, 0.2, 0.4)),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "The other projects are rigid and malleable, two to one, as in the hybrid paper.",
            "The crossing is that of the mean over the traces, interpolated linearly; the ends of its interval are "
            "the crossings of the bounds of the mean's 95 % interval.",
            "On-demand jobs of more than half the machine become rigid or malleable, as in the hybrid paper.",
        ),
    ),
)
