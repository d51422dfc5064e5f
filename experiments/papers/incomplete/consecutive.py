"""Experiment for figure 7 of [S]: consecutive or randomly chosen past runs, and the similarity of consecutive runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.incomplete.draws import PUBLISHED, Draws
from holdfast.experiments.papers.incomplete.evaluation import join_remarks, log_tables, restrict_to_paper_logs
from holdfast.experiments.papers.incomplete.logs import likeness
from holdfast.experiments.papers.incomplete.loss import Summaries, summaries
from holdfast.experiments.papers.incomplete.sampling import SAMPLINGS, Logs, measure_logs, select_logs
from holdfast.experiments.papers.profiles.shared_data import mark_figure
from holdfast.experiments.statistics import paired_interval
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.measurement_table import rows_where
from holdfast.experiments.study.rules import LEVEL, Above, Decision, Outcome, either
from holdfast.experiments.study.verdicts import Statement, Verdict, text
from holdfast.workloads.ground.random_streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_SERIES = ("discrete", PUBLISHED, "nearest")
#: Smallest decrease that rounds to the printed 50 %.
_HALF = 0.475


def _measure(setting: Logs, seed: int, resources: Resources) -> Tables:
    logs = select_logs(setting, seed)
    rows = measure_logs(setting, SAMPLINGS, seed, resources)
    alike: list[Row] = []
    for name, log in logs.items():
        lags = min(setting.lags, len(log) // 4)
        rng = stream(seed, "incomplete", "shufflings", name)
        found = likeness(log.times, lags, setting.shufflings, rng)
        alike += [{"application": name, **row} for row in found]
    return {"": rows, "likeness": alike, **log_tables(setting, list(logs.values()))}


def _summaries_by_sampling(tables: Tables) -> dict[str, Summaries]:
    """Summaries by sampling."""
    return {sampling: summaries(rows_where(tables[""], sampling=sampling)) for sampling in SAMPLINGS}


def _judge(tables: Tables) -> list[Verdict]:
    remark = join_remarks(tables, "in the order of the file" if tables["data"][0]["measured"] else "")
    draws = {sampling: Draws(rows_where(tables[""], sampling=sampling)) for sampling in SAMPLINGS}
    verdicts = []
    for row in tables["logs"]:
        name, title = row["application"], row["title"]
        verdicts += [
            _alike(tables, name, title, remark),
            _decrease(draws, name, title, remark),
            _always(draws, name, title, remark),
        ]
    return [restrict_to_paper_logs(tables, verdict) for verdict in verdicts]


def _alike(tables: Tables, name: str, title: str, remark: str) -> Verdict:
    first = rows_where(tables["likeness"], application=name)[0]
    statement = Statement(f"{title}: consecutive runs share patterns", "might", text("VI"))
    rule = (
        f"holds if less than {100 * LEVEL:g} % of the shuffled logs have so large a rank correlation of a run with the "
        f"next, does not hold if over {100 - 100 * LEVEL:g} % have"
    )
    chance = float(first["chance"])
    outcome = Outcome.HOLDS if chance < LEVEL else Outcome.FAILS if chance > 1 - LEVEL else Outcome.UNDECIDED
    measured = f"rank correlation with the next run {first['correlation']:.2f}, in {chance:.1%} of shuffled logs"
    return statement.verdict(Decision(outcome, min(1.0, 2 * min(chance, 1 - chance))), rule, measured, remark)


def _sizes(found: Summaries, name: str) -> list[int]:
    return sorted({samples for application, _, samples in found if application == name})


_Both = Mapping[str, Draws]


def _decrease(draws: _Both, name: str, title: str, remark: str) -> Verdict:
    """Judge the decrease of the mean cost for any series and number of runs."""
    statement = Statement(
        f"{title}: randomly choosing the samples can decrease the cost by 50 %", "50 % in some cases", text("VI")
    )
    rule = (
        f"holds if the mean cost falls by {100 * _HALF:.1f} % or more for a series and a number of runs, beyond doubt "
        "after Holm, does not hold if it falls by less for all of them"
    )
    falls: dict[tuple[str, int], float] = {}
    decisions = []
    for series in _SERIES:
        for size in draws["random"].sizes(name):
            losses = [list(draws[sampling].losses(name, series, size).values()) for sampling in SAMPLINGS]
            number = min(map(len, losses))
            if number < 2:
                continue
            consecutive, random = (1.0 + np.array(values[:number]) for values in losses)
            decisions.append(Above().decide(paired_interval((1.0 - _HALF) * consecutive, random)))
            falls[series, size] = 1.0 - float(random.mean() / consecutive.mean())
    if not decisions:
        return statement.open("fewer than two draws were measured", rule=rule)
    series, size = max(falls, key=lambda case: falls[case])
    measured = f"at most {100 * falls[series, size]:.0f} % ({series}, {size} runs)"
    return statement.verdict(either(decisions), rule, measured, remark)


def _always(draws: _Both, name: str, title: str, remark: str) -> Verdict:
    statement = Statement(
        f"{title}: random samples are the better ones for every number of samples", "a good optimization in all cases",
        text("VI-A"),
    )  # fmt: skip
    rule = Above(quantity="the difference of the losses from consecutive and from random runs")
    gains = {}
    for series in ("discrete", PUBLISHED):
        for size in draws["random"].sizes(name):
            losses = [list(draws[sampling].losses(name, series, size).values()) for sampling in SAMPLINGS]
            number = min(map(len, losses))
            if number > 1:
                gains[f"{series} {size}"] = paired_interval(losses[0][:number], losses[1][:number])
    if not gains:
        return statement.open("fewer than two draws were measured", rule=rule.words)
    better, worse = sum(item.positive for item in gains.values()), sum(item.negative for item in gains.values())
    measured = f"beyond doubt better at {better} of {len(gains)} points (discrete, continuous), worse at {worse}"
    return statement.each(rule, gains, measured, remark)


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters

    found = _summaries_by_sampling(tables)
    logs = tables["logs"]
    figure = new_figure(PAGE, 0.5 + 2.1 * len(logs))
    panels = subplots(figure, len(logs), 2, squeeze=False)
    handles: dict[str, Any] = {}
    for (left, right), log in zip(panels, logs, strict=True):
        name = log["application"]
        for series, color in (("discrete", "#7F7F7F"), (PUBLISHED, "#0072B2")):
            for sampling, line, marker in (("consecutive", "-", "o"), ("random", "--", "v")):
                cells = [(n, found[sampling].get((name, series, n))) for n in _sizes(found[sampling], name)]
                points = [(n, cell) for n, cell in cells if cell is not None]
                if not points:
                    continue
                sizes = [n for n, _ in points]
                label = f"{series.partition(',')[0]}, {sampling} runs"
                look = {"color": color, "linestyle": line, "marker": marker, "markersize": 3.2, "linewidth": 1.1}
                [handles[label]] = left.plot(sizes, [1 + cell.mean for _, cell in points], **look)
                if sampling == "consecutive":
                    low, high = [1 + cell.low for _, cell in points], [1 + cell.high for _, cell in points]
                    left.fill_between(sizes, low, high, color=color, alpha=0.13, linewidth=0)
        left.set_ylim(bottom=1.0)
        last = log is logs[-1]
        title = f"{log['title']}, N = {log['runs']:,}"
        dress(left, x="past runs (number)" if last else "", y="cost / optimum (ratio)", title=title)
        _draw_likeness(right, rows_where(tables["likeness"], application=name), INK)
        title = "is a run like a later one?" if log is logs[0] else ""
        dress(right, x="later by (runs)" if last else "", y="rank correlation", title=title)
    panel_letters(list(panels.flat))
    legend_above(figure, list(handles.values()), list(handles), columns=4)
    return mark_figure(figure, tables, "generated run logs")


def _draw_likeness(axes: Any, rows: Sequence[Row], ink: str) -> None:
    lags = [row["lag"] for row in rows]
    low, high = [row["low"] for row in rows], [row["high"] for row in rows]
    axes.fill_between(lags, low, high, color="#B8B8B8", alpha=0.5, linewidth=0)
    found = [row["correlation"] for row in rows]
    axes.vlines(lags, 0, found, color="#0072B2", linewidth=1.2)
    axes.plot(lags, found, "o", color="#0072B2", markersize=2.5)
    axes.axhline(0, color=ink, linewidth=0.6)
    axes.set_ylim(min(-0.2, *low, *found), max(0.8, *high, *found) * 1.05)
    axes.text(0.98, 0.95, "gray: 95 % of shuffled logs", transform=axes.transAxes, ha="right", va="top", fontsize=6.5,
              color=ink)  # fmt: skip


_PAPER = Logs(applications=("orbital",))
_FEW = ("norm", "gamma", "lognorm", "weibull", "truncexpon")

EXPERIMENTS = (
    Experiment(
        "incomplete-fig7",
        "Consecutive against randomly chosen past runs (a generated or measured log)",
        "Should a plan use the last runs, or any past runs?",
        _PAPER,
        replace(_PAPER, sizes=(10, 60, 160, 310, 510), repetitions=10, families=_FEW, shufflings=199),
        _measure,
        _judge,
        _draw,
        stores=True,
    ),
)
