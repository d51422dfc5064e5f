"""Figure 7 of [S]: consecutive past runs against randomly chosen ones, and how alike consecutive runs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.experiment import Experiment, Row, Tables
from experiments.papers.incomplete_evaluation import log_tables, remarked
from experiments.papers.incomplete_logs import likeness
from experiments.papers.incomplete_loss import PUBLISHED, Summaries, summaries
from experiments.papers.incomplete_sampling import SAMPLINGS, Logs, chosen_logs, measure_logs
from experiments.papers.profiles_data import judged, marked, rows_where
from experiments.verdicts import Verdict
from workloads.streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_SERIES = ("discrete", PUBLISHED, "nearest")
#: A shuffled log is as alike in less than so many cases.
_CHANCE = 0.05
#: From which decrease on one says 50 %.
_HALF = 0.475


def _measure(setting: Logs, seed: int) -> Tables:
    logs = chosen_logs(setting, seed)
    rows = measure_logs(setting, SAMPLINGS, seed)
    alike: list[Row] = []
    for name, log in logs.items():
        lags = min(setting.lags, len(log) // 4)
        rng = stream(seed, "incomplete", "shufflings", name)
        found = likeness(log.times, lags, setting.shufflings, rng)
        alike += [{"application": name, **row} for row in found]
    return {"": rows, "likeness": alike, **log_tables(setting, list(logs.values()))}


def _found(tables: Tables) -> dict[str, Summaries]:
    """Summaries by sampling."""
    return {sampling: summaries(rows_where(tables[""], sampling=sampling)) for sampling in SAMPLINGS}


def _judge(tables: Tables) -> list[Verdict]:
    found = _found(tables)
    remark = remarked(tables, "in the order of the file" if tables["data"][0]["measured"] else "")
    verdicts = []
    for row in tables["logs"]:
        name, title = row["application"], row["title"]
        verdicts.append(_alike(tables, name, title, remark))
        verdicts.append(_decrease(tables, found, name, title, remark))
        verdicts.append(_always(tables, found, name, title, remark))
    return verdicts


def _alike(tables: Tables, name: str, title: str, remark: str) -> Verdict:
    first = rows_where(tables["likeness"], application=name)[0]
    told = f"rank correlation with the next run {first['correlation']:.2f}, in {first['chance']:.1%} of shuffled logs"
    claim = f"{title}: consecutive runs share patterns"
    return judged(tables, claim, "might", told, first["chance"] <= _CHANCE and first["correlation"] > 0, remark)


def _sizes(found: Summaries, name: str) -> list[int]:
    return sorted({samples for application, _, samples in found if application == name})


def _decrease(tables: Tables, found: dict[str, Summaries], name: str, title: str, remark: str) -> Verdict:
    """The largest decrease of the mean cost, by any of the series."""
    best: tuple[float, str, int] | None = None
    for series in _SERIES:
        for size in _sizes(found["random"], name):
            pair = [found[sampling].get((name, series, size)) for sampling in SAMPLINGS]
            if pair[0] is None or pair[1] is None:
                continue
            decrease = 1.0 - (1.0 + pair[1].mean) / (1.0 + pair[0].mean)
            best = max(best or (decrease, series, size), (decrease, series, size))
    claim = f"{title}: randomly choosing the samples can decrease the cost by 50 %"
    if best is None:
        return judged(tables, claim, "50 % in some cases", "no strategy could be made", False, remark)
    decrease, series, size = best
    consecutive, random = (found[sampling][name, series, size].mean for sampling in SAMPLINGS)
    told = (
        f"at most {100 * decrease:.0f} % ({series}, {size} runs: cost above the optimum {100 * consecutive:.1f} % of "
        f"consecutive runs, {100 * random:.1f} % of random ones)"
    )
    return judged(tables, claim, "50 % in some cases", told, decrease >= _HALF, remark)


def _always(tables: Tables, found: dict[str, Summaries], name: str, title: str, remark: str) -> Verdict:
    lower = points = 0
    for series in ("discrete", PUBLISHED):
        for size in _sizes(found["random"], name):
            pair = [found[sampling].get((name, series, size)) for sampling in SAMPLINGS]
            if pair[0] is not None and pair[1] is not None:
                points += 1
                lower += pair[1].mean < pair[0].mean
    claim = f"{title}: random samples are the better ones for every number of samples"
    told = f"at {lower} of {points} points (discrete, continuous)"
    return judged(tables, claim, "a good optimization in all cases", told, lower == points > 0, remark)


def _draw(tables: Tables) -> Figure:
    from experiments.figures.style import INK, PAGE, dress, legend_above, new_figure, panel_letters

    found = _found(tables)
    logs = tables["logs"]
    figure = new_figure(PAGE, 0.5 + 2.1 * len(logs))
    panels = figure.subplots(len(logs), 2, squeeze=False)
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
    return marked(figure, tables, "generated run logs")


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
        "Consecutive against randomly chosen past runs (a generated log, or measured ones)",
        "Should one plan with the last runs, or with any runs of the past?",
        _PAPER,
        replace(_PAPER, sizes=(10, 60, 160, 310, 510), repetitions=10, families=_FEW, shufflings=199),
        _measure,
        _judge,
        _draw,
    ),
)
