"""Experiment for figure 6 of [S]: strategies made from consecutive past runs of six applications.

The cost of a strategy is its mean cost over all runs of the application.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.papers.incomplete.draws import PUBLISHED, Draws
from holdfast.experiments.papers.incomplete.logs import RunLog
from holdfast.experiments.papers.incomplete.loss import summaries
from holdfast.experiments.papers.incomplete.sampling import Logs, measure_logs, optimal_plan, select_logs
from holdfast.experiments.papers.profiles.shared_data import data_row, elsewhere, mark_figure
from holdfast.experiments.statistics import Interval, paired_interval
from holdfast.experiments.study.equivalence import ROUNDING
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.rules import Above, AtMost, Decision, Outcome
from holdfast.experiments.study.verdicts import Source, Statement, Verdict, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "join_remarks", "log_tables", "restrict_to_paper_logs"]

WHY = "the logs of the paper are not public; generated ones with sessions of similar runs stand in"
_SLANT = "the runs are of SLANT, which is none of the paper's applications"
#: Remark for each judged series: the fit nearest to the samples, and the published series, which uses the whole log.
_SERIES = {
    PUBLISHED: "judged by the published series, which knows the whole log",
    "nearest": "judged by the fit that is nearest to the samples",
}


def log_tables(setting: Logs, logs: Sequence[RunLog]) -> dict[str, Sequence[Row]]:
    """The tables ``logs`` (a row for each log), ``settings`` and ``data``."""
    rows: list[Row] = []
    for log in logs:
        best = optimal_plan(log)
        rows.append(
            {
                "application": log.name,
                "title": log.title,
                "runs": len(log),
                "mean_h": float(log.times.mean()),
                "least_h": float(log.times.min()),
                "most_h": float(log.times.max()),
                "optimum_h": float(best.paid_cost(log.times).mean()),
                "reservations": len(best),
                "interarrival_h": log.interarrival,
            }
        )
    data = data_row(bool(setting.makespans), sum(map(len, logs)), WHY)
    return {"logs": rows, "settings": [{"ends": setting.ends}], **data}


def join_remarks(tables: Tables, *remarks: str) -> str:
    """Join remarks, with a note on the end of strategies if they end at the longest run."""
    parts = [remark for remark in remarks if remark]
    if tables["settings"][0]["ends"] == "bound":
        parts.append("the user knows the longest run of the log")
    return "; ".join(parts)


def restrict_to_paper_logs(tables: Tables, verdict: Verdict) -> Verdict:
    """Mark a verdict as not comparable if its logs, generated or measured, are not those of the paper."""
    data = tables["data"][0]
    return elsewhere(verdict, _SLANT if data["measured"] else data["why"])


def _measure(setting: Logs, seed: int, resources: Resources) -> Tables:
    logs = list(select_logs(setting, seed).values())
    return {"": measure_logs(setting, ["consecutive"], seed, resources), **log_tables(setting, logs)}


#: Reason of a missing interval.
_TOO_FEW = "fewer than two draws were measured"


def _interval_list(found: Mapping[str, Interval], unit: str = "%") -> str:
    return "; ".join(f"{name} {item.text('.1f', 100)} {unit}" for name, item in found.items())


def _few_samples(tables: Tables, draws: Draws, names: Sequence[str], series: str) -> Verdict:
    """Judge whether a continuous strategy is better for most applications when samples are few."""
    size = min(draws.sizes(name)[0] for name in names)
    claim = f"in the majority of cases a continuous strategy is better after only a few samples ({size})"
    if series != PUBLISHED:
        claim += ", also for a user who has only the samples"
    statement = Statement(claim, "majority", text("VI"))
    rule = (
        "holds if the 95 % interval of the paired difference of the losses lies above 0 for more than half of the "
        "applications, does not hold if it lies below for half of them"
    )
    found = {name: draws.less(name, series, "discrete", draws.sizes(name)[0]) for name in names}
    gains = {name: item for name, item in found.items() if item is not None}
    if len(gains) < len(names):
        return statement.open(_TOO_FEW, rule=rule)
    better, worse = sum(item.positive for item in gains.values()), sum(item.negative for item in gains.values())
    outcome = Outcome.HOLDS if 2 * better > len(names) else Outcome.UNDECIDED
    outcome = Outcome.FAILS if 2 * worse >= len(names) else outcome
    measured = f"better in {better}, worse in {worse} of {len(names)}: less by {_interval_list(gains, 'points')}"
    return statement.verdict(Decision(outcome), rule, measured, join_remarks(tables, _SERIES[series]))


def _converges(tables: Tables, draws: Draws, names: Sequence[str]) -> Verdict:
    statement = Statement(
        "the discrete strategy converges to the continuous one as the number of samples grows", "converges", text("VI")
    )
    rule = Above(quantity="the mean distance of their losses from the fewest samples less that from the most")
    closer = {name: _approach(draws, name) for name in names}
    known = {name: item for name, item in closer.items() if item is not None}
    if len(known) < len(names):
        return statement.open(_TOO_FEW, rule=rule.words)
    return statement.each(rule, known, f"closer by {_interval_list(known, 'points')}", join_remarks(tables))


def _approach(draws: Draws, name: str) -> Interval | None:
    gaps = []
    sizes = draws.sizes(name)
    for size in (sizes[0], sizes[-1]):
        discrete, ours = (draws.losses(name, series, size) for series in ("discrete", PUBLISHED))
        gaps.append([abs(discrete[key] - ours[key]) for key in sorted(discrete.keys() & ours.keys())])
    number = min(map(len, gaps))
    return paired_interval(gaps[0][:number], gaps[1][:number]) if number > 1 else None


def _few_runs(tables: Tables, draws: Draws) -> Verdict:
    log = min(tables["logs"], key=lambda row: row["runs"])
    name = log["application"]
    size = draws.sizes(name)[-1]
    statement = Statement(
        "where there are few runs, the discrete strategy from many of them is the better one", "e.g. figure 6a",
        text("VI"),
    )  # fmt: skip
    rule = Above(quantity="the paired difference of the losses")
    less = draws.less(name, "discrete", PUBLISHED, size)
    if less is None:
        return statement.open(_TOO_FEW, rule=rule.words)
    measured = f"{name}, {size} of {log['runs']} runs: less by {less.text('.2f', 100)} points"
    return statement.judge(rule, less, measured, join_remarks(tables, _SERIES[PUBLISHED]))


def _within(
    tables: Tables, draws: Draws, names: Sequence[str], samples: tuple[int, int], most: float, series: str
) -> Verdict:
    """Judge whether every application loses at most a share with numbers of samples in a range."""
    printed = f"{100 * most:.0f} %"
    claim = f"with about {samples[0]} past runs every application is within {printed} of the optimum"
    if series != PUBLISHED:
        claim += ", also for a user who has only the samples"
    statement = Statement(claim, printed, Source("abstract"))
    rule = AtMost(most + ROUNDING, "the mean loss", "%", 100)
    sizes = {name: [n for n in draws.sizes(name) if samples[0] <= n <= samples[1]] for name in names}
    found = {f"{name} ({ns[0]})": draws.mean(name, series, ns[0]) for name, ns in sizes.items() if ns}
    losses = {name: item for name, item in found.items() if item is not None}
    if not losses:
        return statement.open("no size near that number was measured twice", rule=rule.words)
    return statement.each(rule, losses, _interval_list(losses), join_remarks(tables, _SERIES[series]))


def _surface(tables: Tables, draws: Draws) -> Verdict:
    statement = Statement(
        "cortical surface modelling: 10 runs give a cost only 10 % over the optimum", "10 %", text("VI")
    )
    rule = AtMost(0.1 + ROUNDING, "the mean loss", "%", 100)
    loss = draws.mean("surface", PUBLISHED, 10)
    if loss is None:
        return statement.open("its runs are not public", rule=rule.words)
    return statement.judge(rule, loss, f"{loss.text('.1f', 100)} %", join_remarks(tables, _SERIES[PUBLISHED]))


def _varies(tables: Tables, draws: Draws, names: Sequence[str]) -> Verdict:
    statement = Statement(
        "whole brain segmentation: both strategies vary most", "high performance variation", text("VI")
    )
    rule = "holds if the mean over the sizes of the distance between the quartiles of the loss is largest for it"
    if "whole-brain" not in names or len(names) < 2:
        return statement.open("its runs are not public", rule=rule)
    spreads: dict[str, dict[str, float]] = {}
    for series in ("discrete", PUBLISHED):
        for name in names:
            losses = [list(draws.losses(name, series, size).values()) for size in draws.sizes(name)]
            spreads.setdefault(series, {})[name] = float(np.mean([_quartiles(own) for own in losses if own]))
    largest = {series: max(own, key=lambda name: own[name]) for series, own in spreads.items()}
    measured = "; ".join(
        f"{series}: {100 * own['whole-brain']:.1f} points, most {100 * max(own.values()):.1f} ({largest[series]})"
        for series, own in spreads.items()
    )
    return statement.exact_verdict(set(largest.values()) == {"whole-brain"}, rule, measured, join_remarks(tables))


def _quartiles(values: Sequence[float]) -> float:
    low, high = np.quantile(np.array(values), [0.25, 0.75])
    return float(high - low)


def _judge(tables: Tables) -> list[Verdict]:
    draws = Draws(tables[""])
    names = list(dict.fromkeys(row["application"] for row in tables[""]))
    verdicts = [_few_samples(tables, draws, names, series) for series in _SERIES]
    verdicts += [_converges(tables, draws, names), _few_runs(tables, draws)]
    verdicts += [_within(tables, draws, names, (10, 12), 0.20, series) for series in _SERIES]
    verdicts += [_within(tables, draws, names, (100, 120), 0.05, series) for series in _SERIES]
    verdicts += [_surface(tables, draws), _varies(tables, draws, names)]
    return [restrict_to_paper_logs(tables, verdict) for verdict in verdicts]


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.planning.losses import plot_losses

    titles = {row["application"]: f"{row['title']}, N = {row['runs']:,}" for row in tables["logs"]}
    return mark_figure(plot_losses(summaries(tables[""]), titles), tables, "generated run logs")


_PAPER = Logs(chosen_repetitions=5)
#: Quick settings with few families, so that a fit takes a tenth of a second.
_FEW = ("norm", "gamma", "lognorm", "weibull", "truncexpon")

EXPERIMENTS = (
    Experiment(
        "incomplete-fig6",
        "Cost of strategies from consecutive past runs of six applications (generated or measured logs)",
        "How many of its last runs does a plan for a real application need?",
        _PAPER,
        replace(_PAPER, sizes=(10, 110, 510), repetitions=4, chosen_repetitions=0, families=_FEW),
        _measure,
        _judge,
        _draw,
        stores=True,
    ),
)
