"""Figure 6 of [S]: strategies made from consecutive past runs of six applications, on all of their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from experiments.experiment import Experiment, Row, Tables
from experiments.papers.incomplete_logs import RunLog
from experiments.papers.incomplete_loss import PUBLISHED, Summaries, summaries
from experiments.papers.incomplete_sampling import Logs, chosen_logs, measure_logs, optimum_of
from experiments.papers.profiles_data import data_row, judged, marked
from experiments.verdicts import Outcome, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "log_tables", "remarked"]

WHY = "the logs of the paper are not public; generated ones with sessions of similar runs stand in"
#: What a user with nothing but samples takes, beside the series that knows the whole log.
_SERIES = {
    PUBLISHED: "judged by the published series, which knows the whole log",
    "nearest": "judged by the fit that is nearest to the samples",
}


def log_tables(setting: Logs, logs: Sequence[RunLog]) -> dict[str, Sequence[Row]]:
    """The tables ``logs`` (a row a log), ``settings`` and ``data``."""
    rows: list[Row] = []
    for log in logs:
        best = optimum_of(log)
        rows.append(
            {
                "application": log.name,
                "title": log.title,
                "runs": len(log),
                "mean_h": float(log.times.mean()),
                "least_h": float(log.times.min()),
                "most_h": float(log.times.max()),
                "optimum_h": float(best.cost_of(log.times).mean()),
                "reservations": len(best),
                "interarrival_h": log.interarrival,
            }
        )
    told = data_row(bool(setting.makespans), sum(map(len, logs)), WHY)
    return {"logs": rows, "settings": [{"ends": setting.ends}], **told}


def remarked(tables: Tables, *remarks: str) -> str:
    """The remarks, and what a reader must know of the logs and of where strategies end."""
    parts = [remark for remark in remarks if remark]
    if tables["settings"][0]["ends"] == "bound":
        parts.append("the user knows the longest run of the log")
    if tables["data"][0]["measured"]:
        parts.append("of SLANT, which is none of the paper's applications")
    return "; ".join(parts)


def _measure(setting: Logs, seed: int) -> Tables:
    logs = list(chosen_logs(setting, seed).values())
    return {"": measure_logs(setting, ["consecutive"], seed), **log_tables(setting, logs)}


def _percent(loss: float) -> str:
    return f"{100 * loss:.1f} %"


def _sizes(found: Summaries, name: str) -> list[int]:
    return sorted({samples for application, _, samples in found if application == name})


def _few_samples(tables: Tables, found: Summaries, names: Sequence[str], series: str) -> Verdict:
    """Whether most applications are better off with a continuous law when there are few samples."""
    better, told = 0, []
    for name in names:
        size = _sizes(found, name)[0]
        ours, discrete = found[name, series, size].mean, found[name, "discrete", size].mean
        better += ours < discrete
        told.append(f"{name} {_percent(ours)} against {_percent(discrete)}")
    size = min(_sizes(found, name)[0] for name in names)
    claim = f"in the majority of cases a continuous strategy is better after only a few samples ({size})"
    if series != PUBLISHED:
        claim += ", also for a user who has only the samples"
    measured = f"in {better} of {len(names)}: {', '.join(told)}"
    return judged(tables, claim, "majority", measured, 2 * better > len(names), remarked(tables, _SERIES[series]))


def _converges(tables: Tables, found: Summaries, names: Sequence[str]) -> Verdict:
    closer, told = 0, []
    for name in names:
        gaps = [abs(found[name, "discrete", n].mean - found[name, PUBLISHED, n].mean) for n in _sizes(found, name)]
        closer += gaps[-1] < gaps[0]
        told.append(f"{name} {_percent(gaps[0])} to {_percent(gaps[-1])}")
    claim = "the discrete strategy converges to the continuous one as the number of samples grows"
    measured = f"they come closer in {closer} of {len(names)}, from the least to the largest size: {', '.join(told)}"
    return judged(tables, claim, "converges", measured, closer == len(names), remarked(tables))


def _few_runs(tables: Tables, found: Summaries) -> Verdict:
    log = min(tables["logs"], key=lambda row: row["runs"])
    name = log["application"]
    size = _sizes(found, name)[-1]
    ours, discrete = found[name, PUBLISHED, size].mean, found[name, "discrete", size].mean
    claim = "where there are few runs, the discrete strategy from many of them is the better one"
    measured = f"{name}, {size} of {log['runs']} runs: discrete {_percent(discrete)}, continuous {_percent(ours)}"
    return judged(tables, claim, "e.g. figure 6a", measured, discrete < ours, remarked(tables, _SERIES[PUBLISHED]))


def _within(
    tables: Tables, found: Summaries, names: Sequence[str], samples: tuple[int, int], most: float, series: str
) -> Verdict:
    """Whether every application with a size between those loses no more than that."""
    sizes = {name: [n for n in _sizes(found, name) if samples[0] <= n <= samples[1]] for name in names}
    losses = {name: (ns[0], found[name, series, ns[0]].mean) for name, ns in sizes.items() if ns}
    printed = f"{100 * most:.0f} %"
    claim = f"with about {samples[0]} past runs every application is within {printed} of the optimum"
    if series != PUBLISHED:
        claim += ", also for a user who has only the samples"
    if not losses:
        return Verdict(claim, printed, "not measured", Outcome.NOT_COMPARABLE, "no size near that number")
    # 5.4 % is 5 %.
    holds = all(loss <= most + 0.005 for _, loss in losses.values())
    measured = ", ".join(f"{name} {_percent(loss)} ({n})" for name, (n, loss) in losses.items())
    return judged(tables, claim, printed, measured, holds, remarked(tables, _SERIES[series]))


def _surface(tables: Tables, found: Summaries) -> Verdict:
    claim, printed = "cortical surface modelling: 10 runs give a cost only 10 % over the optimum", "10 %"
    cell = found.get(("surface", PUBLISHED, 10))
    if cell is None:
        return Verdict(claim, printed, "not measured", Outcome.NOT_COMPARABLE, "its runs are not public")
    return judged(tables, claim, printed, _percent(cell.mean), cell.mean <= 0.105, remarked(tables, _SERIES[PUBLISHED]))


def _varies(tables: Tables, found: Summaries, names: Sequence[str]) -> Verdict:
    claim = "whole brain segmentation: both strategies vary most"
    printed = "high performance variation"
    if "whole-brain" not in names or len(names) < 2:
        return Verdict(claim, printed, "not measured", Outcome.NOT_COMPARABLE, "its runs are not public")
    spreads: dict[str, dict[str, float]] = {}
    for series in ("discrete", PUBLISHED):
        for name in names:
            cells = [found[name, series, n] for n in _sizes(found, name)]
            spreads.setdefault(series, {})[name] = float(np.mean([cell.high - cell.low for cell in cells]))
    largest = {series: max(own, key=lambda name: own[name]) for series, own in spreads.items()}
    told = "; ".join(
        f"{series}: {_percent(own['whole-brain'])}, most {_percent(max(own.values()))} ({largest[series]})"
        for series, own in spreads.items()
    )
    holds = set(largest.values()) == {"whole-brain"}
    return judged(
        tables,
        claim,
        printed,
        f"between the quartiles of the loss, {told}",
        holds,
        remarked(tables, "mean over the sizes"),
    )


def _judge(tables: Tables) -> list[Verdict]:
    found = summaries(tables[""])
    names = list(dict.fromkeys(row["application"] for row in tables[""]))
    verdicts = [_few_samples(tables, found, names, series) for series in _SERIES]
    verdicts += [_converges(tables, found, names), _few_runs(tables, found)]
    verdicts += [_within(tables, found, names, (10, 12), 0.20, series) for series in _SERIES]
    verdicts += [_within(tables, found, names, (100, 120), 0.05, series) for series in _SERIES]
    return [*verdicts, _surface(tables, found), _varies(tables, found, names)]


def _draw(tables: Tables) -> Figure:
    from experiments.figures.losses import plot_losses

    titles = {row["application"]: f"{row['title']}, N = {row['runs']:,}" for row in tables["logs"]}
    return marked(plot_losses(summaries(tables[""]), titles), tables, "generated run logs")


_PAPER = Logs(chosen_repetitions=5)
#: Few families, so that a fit takes a tenth of a second.
_FEW = ("norm", "gamma", "lognorm", "weibull", "truncexpon")

EXPERIMENTS = (
    Experiment(
        "incomplete-fig6",
        "Cost of strategies made from consecutive past runs of six applications (generated logs, or measured ones)",
        "How many of its last runs does one need to plan for a real application?",
        _PAPER,
        replace(_PAPER, sizes=(10, 110, 510), repetitions=4, chosen_repetitions=0, families=_FEW),
        _measure,
        _judge,
        _draw,
    ),
)
