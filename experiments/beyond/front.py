"""Experiment: the Pareto front of turnaround and instant starts over mechanisms and their options.

A point is a mechanism with at most one option that is not at its default; the baseline is a point, too. Both axes are
means over the traces. A point is on the front if no other point dominates it in these means. A dominated point is
``beaten`` if another point is better on both axes according to the 95 % intervals of the differences by trace, else
``open``, because more traces may put it on the front. Multiple comparisons are not corrected for. Backfilling by true
runtimes is shown but not available in practice: an ``oracle`` beats no point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.statistics import interval, paired_interval
from holdfast.experiments.study.evidence import Finding, average, difference
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import Hypothesis, hypothesis, verdicts
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.rules import Above, Decision, together
from holdfast.experiments.study.simulation_cache import SIX, Traces, metric_rows, simulate_grid
from holdfast.experiments.study.verdicts import Outcome, Verdict
from holdfast.policies.mechanism import BASELINE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DEFAULT", "EXPERIMENTS", "Point", "Standing", "front_rows", "standings"]

Floats = NDArray[np.float64]
#: Name of the choice with all options at their defaults.
DEFAULT = "default"
#: Columns of instant starts, and the tolerance of each in words.
_INSTANT = {"instant_start_ratio": "the warning", "instant_start_ratio_strict": "0 s"}
_ORACLE = "backfill_length=runtime"
_STRICT = "instant_start_ratio_strict"
_WITH_NOTICE = tuple(name for name in SIX if not name.startswith("N-"))


class Standing(StrEnum):
    """Position of a point relative to the front."""

    FRONT = "front"
    OPEN = "open"
    BEATEN = "beaten"
    ORACLE = "oracle"


@dataclass(frozen=True)
class Choices(Traces):
    """Parameters; the first value of each option is its default, and each other value is tried alone.

    Attributes
    ----------
    mixes
        Notice mixes of Table III.
    tenants, backfill_lengths, warnings, timeouts
        Options of the machine; times in seconds.
    """

    mixes: tuple[str, ...] = ("W5", "W1", "W2", "W3", "W4")
    tenants: tuple[str, ...] = ("any", "fits", "none")
    backfill_lengths: tuple[str, ...] = ("walltime", "runtime")
    warnings: tuple[float, ...] = (120.0, 0.0)
    timeouts: tuple[float, ...] = (600.0, 3600.0)


class Point(NamedTuple):
    """Both means of one choice.

    Attributes
    ----------
    mechanism, option
        The choice.
    turnaround
        In each trace [h].
    instant
        In each trace [%].
    """

    mechanism: str
    option: str
    turnaround: Floats
    instant: Floats


def _measure(parameters: Choices, seed: int, resources: Resources) -> Tables:
    options: dict[str, list[Any]] = {
        "tenants": list(parameters.tenants),
        "backfill_length": list(parameters.backfill_lengths),
        "warning": list(parameters.warnings),
        "timeout": list(parameters.timeouts),
    }
    how = {"notice_mix": list(parameters.mixes)}
    tried = simulate_grid(resources, "front", parameters, seed, SIX, how, options, vary="one-at-a-time")
    first = {name: values[0] for name, values in options.items()}
    base = simulate_grid(
        resources, "front-baseline", parameters, seed, [BASELINE], {"notice_mix": parameters.mixes[0]}, first
    )
    rows = []
    for result in (tried, base):
        for summary, row in zip(result.summary, metric_rows(result), strict=True):
            varied = summary["varied"]
            rows.append({**row, "option": f"{varied}={_short(summary[varied])}" if varied else DEFAULT})
    return {"": rows, "front": front_rows(_points(Measured(rows), metric) for metric in _INSTANT)}


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _points(data: Measured, metric: str) -> tuple[str, list[Point]]:
    points = []
    for mechanism in data.values("mechanism"):
        for option in data.values("option"):
            try:
                where = {"mechanism": mechanism, "option": option}
                points.append(Point(mechanism, option, data("turnaround_h", **where), data(metric, **where)))
            except LookupError:
                continue
    # A trace without on-demand jobs has no instant starts.
    known = np.isfinite([point.instant for point in points]).all(axis=0)
    points = [point._replace(turnaround=point.turnaround[known], instant=point.instant[known]) for point in points]
    plain = {point.mechanism: point for point in points if point.option == DEFAULT}
    # An option without effect (tenants where nothing is reserved) is not a separate choice.
    return metric, [point for point in points if point.option == DEFAULT or not _same(point, plain[point.mechanism])]


def _same(a: Point, b: Point) -> bool:
    return np.array_equal(a.turnaround, b.turnaround) and np.array_equal(a.instant, b.instant)


def standings(points: Sequence[Point]) -> list[tuple[Standing, Point | None]]:
    """The standing of each point, and the point that beats it by most in turnaround, if any.

    Parameters
    ----------
    points
        Points on the same traces, two or more.
    """
    return [(Standing.ORACLE, None) if point.option == _ORACLE else _front_position(point, points) for point in points]


def _front_position(point: Point, points: Sequence[Point]) -> tuple[Standing, Point | None]:
    front, beaten_by = True, []
    for other in points:
        if other is point or other.option == _ORACLE:
            continue
        sooner, more = point.turnaround - other.turnaround, other.instant - point.instant
        if min(sooner.mean(), more.mean()) >= 0 and max(sooner.mean(), more.mean()) > 0:
            front = False
            gains = interval(sooner), interval(more)
            if all(gain.low >= 0 for gain in gains) and any(gain.positive for gain in gains):
                beaten_by.append(other)
    if beaten_by:
        return Standing.BEATEN, min(beaten_by, key=lambda other: float(other.turnaround.mean()))
    return (Standing.FRONT if front else Standing.OPEN), None


def front_rows(parts: Any) -> list[Row]:
    """A row for each meaning of instant and each point: means, intervals, standing.

    The intervals are of 95 % after each trace's own mean over the mechanisms is taken out: traces differ by more than
    choices do, and all choices have the same traces.

    Parameters
    ----------
    parts
        Column of the instant starts, and the points.
    """
    rows: list[Row] = []
    for metric, points in parts:
        if not points or len(points[0].instant) < 2:
            continue
        typical = [point for point in points if point.mechanism != BASELINE and point.option != _ORACLE] or points
        levels = [np.mean([getattr(point, name) for point in typical], axis=0) for name in ("turnaround", "instant")]
        for point, (standing, other) in zip(points, standings(points), strict=True):
            row: dict[str, Any] = {"instant": metric, "mechanism": point.mechanism, "option": point.option}
            for name, values, level in zip(("turnaround", "instant_start"), point[2:], levels, strict=True):
                mean, apart = float(values.mean()), interval(values - level)
                low, high = mean - apart.mean + apart.low, mean - apart.mean + apart.high
                # No duration is negative, and no share above the whole.
                highest = high if name == "turnaround" else min(100.0, high)
                row |= {name: mean, f"{name}_low": max(0.0, low), f"{name}_high": highest}
            row["standing"] = str(standing)
            row["beaten_by"] = _name(other.mechanism, other.option) if other else None
            rows.append(row)
    return rows


def _name(mechanism: str, option: str) -> str:
    return mechanism if option == DEFAULT else f"{mechanism} {option}"


# Verdicts.


def _options(data: Measured) -> list[Any]:
    return [option for option in data.values("option") if option != DEFAULT]


def _against_default(metric: str, option: str, sign: int, names: Sequence[str]) -> Any:
    """An option against the default, mean over some mechanisms."""

    def test(data: Measured) -> Finding:
        return average(
            {
                name: (data(metric, mechanism=name, option=option), data(metric, mechanism=name, option=DEFAULT))
                for name in names
            },
            sign,
        )

    return test


def _spaa_against_paa(data: Measured) -> Finding:
    def mean(kind: str) -> Floats:
        return data("turnaround_h", mechanism=tuple(name for name in SIX if name.endswith(f"-{kind}")))

    return difference(mean("SPAA"), mean("PAA"), -1)


def _price(data: Measured) -> Finding:
    base = data("turnaround_h", mechanism=BASELINE, option=DEFAULT)
    return average({name: (data("turnaround_h", mechanism=name, option=DEFAULT), base) for name in SIX}, 1)


HYPOTHESES = (
    Hypothesis("With default options the average turnaround of the six mechanisms is longer than the "
               "baseline's", "h", _price),
    Hypothesis("SPAA has a shorter average turnaround than PAA, mean over notice strategies and options", "h",
               _spaa_against_paa),
    Hypothesis("Without tenants the average turnaround is longer (CUA, CUP)", "h",
               _against_default("turnaround_h", "tenants=none", 1, _WITH_NOTICE)),
    Hypothesis("Without tenants more on-demand jobs start instantly (0 s; CUA, CUP)", "points",
               _against_default(_STRICT, "tenants=none", 1, _WITH_NOTICE)),
    Hypothesis("With accurate notices (W2) more on-demand jobs start instantly (0 s) than with mixed ones (W5; "
               "CUA, CUP)", "points",
               _against_default(_STRICT, "notice_mix=W2", 1, _WITH_NOTICE)),
    Hypothesis("Backfilling by true runtimes shortens the average turnaround, mean of the six mechanisms", "h",
               _against_default("turnaround_h", "backfill_length=runtime", -1, SIX)),
)  # fmt: skip


def _judge(tables: Tables) -> list[Verdict]:
    data = Measured(tables[""])
    return [*(_trade_off(data, metric) for metric in _INSTANT), *verdicts(HYPOTHESES, data)]


_TRADE_OFF = (
    "holds if the 95 % intervals of both paired differences between the choice with most instant starts and the one "
    "with the shortest turnaround lie above 0, does not hold if one choice beats every other at both in this way"
)


def _trade_off(data: Measured, metric: str) -> Verdict:
    """Verdict on the trade-off between the two metrics, with the points on the front."""
    statement = hypothesis(
        f"The choice with most instant starts ({_INSTANT[metric]}) is not the one with the shortest turnaround"
    )
    _, points = _points(data, metric)
    own = front_rows([(metric, points)])
    if not own:
        return statement.open("fewer than two traces have on-demand jobs", rule=_TRADE_OFF)
    front = sorted((row for row in own if row["standing"] == Standing.FRONT), key=lambda row: row["turnaround"])
    listed = ", ".join(
        f"{_name(row['mechanism'], row['option'])} ({row['turnaround']:.2f} h, {row['instant_start']:.2f} %)"
        for row in front
    )
    counted = {standing: sum(row["standing"] == standing for row in own) for standing in Standing}
    known = {(point.mechanism, point.option): point for point in points}
    fastest, surest = (known[row["mechanism"], row["option"]] for row in (front[0], front[-1]))
    remark = f"front: {listed}; {counted[Standing.OPEN]} open, {counted[Standing.BEATEN]} beaten"
    if fastest is surest:
        others = [point for point in points if point is not surest and point.option != _ORACLE]
        beaten = together([item for other in others for item in _better(surest, other)])
        holds = beaten.outcome is Outcome.HOLDS
        decision = Decision(Outcome.FAILS if holds else Outcome.UNDECIDED, beaten.p_value)
        return statement.verdict(decision, _TRADE_OFF, "one point is best at both", remark)
    longer, more = (
        paired_interval(surest.turnaround, fastest.turnaround),
        paired_interval(surest.instant, fastest.instant),
    )
    measured = f"{longer.text('+.2f')} h for {more.text('+.2f')} points"
    decision = together([Above().decide(longer), Above().decide(more)])
    return statement.verdict(decision, _TRADE_OFF, measured, remark)


def _better(point: Point, other: Point) -> tuple[Decision, Decision]:
    """Whether a point has the shorter turnaround and more instant starts than another."""
    pairs = (other.turnaround, point.turnaround), (point.instant, other.instant)
    shorter, more = (Above().decide(paired_interval(*pair)) for pair in pairs)
    return shorter, more


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.pareto_front import plot_front

    return plot_front(tables.get("front", ()), _INSTANT, DEFAULT)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-front",
        title="Turnaround against instant starts",
        question="Which mechanism and options are best at both, or must one choose?",
        parameters=Choices(traces=5),
        quick=Choices(2000, 3, ("W5", "W2"), ("any", "none"), warnings=(120.0,), timeouts=(600.0,)),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "Options change one at a time. An option without effect, such as tenants under N, is not shown.",
            "Backfilling by true runtimes is shown, but not compared: it is not available in practice.",
            "A start within the warning is instant; with `warning = 0` both definitions of instant agree.",
            "With `warning = 0` a malleable job still keeps its work, so that these points are too good.",
            "A notice mix is not an option of the operator, but of the users' behaviour.",
        ),
    ),
)
