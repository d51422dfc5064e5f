"""Statements about strategies in figures 13, 14 and 16 of the profiles paper, judged on measured plans.

If the text of the paper has no number, the reference is an independent computation, and the verdict states this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.experiments.papers.profiles.shared_data import restrict_verdict
from holdfast.experiments.statistics import Interval, interval, ratio
from holdfast.experiments.study.equivalence import POINTS, ROUNDING, SHARE
from holdfast.experiments.study.experiment import Tables
from holdfast.experiments.study.measurement_table import column, rows_where
from holdfast.experiments.study.rules import Above, AtMost, Near
from holdfast.experiments.study.verdicts import Source, Statement, Verdict, reference, text

__all__ = ["judge_fig13", "judge_fig14", "judge_fig16", "sizes"]

#: Reservation time of an independent computation for SLANT, for one number of past runs [min].
_REFERENCE_MINUTES = {
    "mem-all-ckpt": 129.0,
    "mem-all-ckpt-v2": 132.0,
    "all-ckpt": 136.0,
    "neuro": 154.0,
    "neuro-avg": 154.0,
}
_REFERENCE_RUNS = 50
_REFERENCE = reference("an independent computation on the runs of SLANT, 50 past runs")
#: Memory saved compared with All-Ckpt: "~ 8 %" (section 4.2.2) and "~ 25 %" (section 4.2.3).
_PRINTED_SAVING = {"mem-all-ckpt": 0.08, "mem-all-ckpt-v2": 0.25}
#: Largest loss of All-Ckpt, which estimates with one task, compared with Mem-All-Ckpt (section 4.2.2).
_LOSSES = {"reservation_min": ("reservation time", 0.04), "utilization": ("utilisation", 0.04),
           "memory_gb": ("memory", 0.10)}  # fmt: skip
#: Largest relative excess of the reservation time that counts as no cost.
_NO_COST = 0.01
#: Smallest significant gain.
_SLIGHT = 0.03
#: First reservation of V2 [min].
_FIRST = 25.0

_Array = np.ndarray[Any, np.dtype[np.float64]]


def sizes(tables: Tables) -> list[int]:
    """Sizes of the samples of past runs, ascending."""
    return sorted({row["samples"] for row in tables[""]})


class _Plans:
    """Costs of the plans made from ``count`` past runs, by strategy and repetition."""

    def __init__(self, tables: Tables, samples: int) -> None:
        self.rows = rows_where(tables[""], samples=samples)
        self.strategies = list(dict.fromkeys(row["strategy"] for row in self.rows))

    def values(self, name: str, strategy: str) -> _Array:
        """A column of a strategy, by repetition."""
        own = sorted(rows_where(self.rows, strategy=strategy), key=lambda row: int(row["repetition"]))
        return column(own, name)

    def longer(self, name: str, strategy: str, than: str) -> Interval:
        """Relative excess of a value over that of another strategy from the same past runs."""
        return ratio(self.values(name, strategy), self.values(name, than))

    def means_text(self, name: str, pattern: str = ".1f") -> str:
        """Format the means of all strategies, ascending."""
        means = {strategy: float(self.values(name, strategy).mean()) for strategy in self.strategies}
        return ", ".join(f"{key} {value:{pattern}}" for key, value in sorted(means.items(), key=lambda item: item[1]))


def _per_cent(found: Interval) -> str:
    return f"{found.text('+.1f', 100)} %"


def _each(found: Mapping[str, Interval]) -> str:
    return "; ".join(f"{name} {_per_cent(item)}" for name, item in found.items())


def _common(tables: Tables, place: str) -> list[Verdict]:
    few, most = sizes(tables)[0], sizes(tables)[-1]
    plans, early = _Plans(tables, most), _Plans(tables, few)
    neuro = [name for name in plans.strategies if name.startswith("neuro")]
    longer = {"All-Ckpt over Mem-All-Ckpt": plans.longer("reservation_min", "all-ckpt", "mem-all-ckpt")}
    longer |= {f"{name} over All-Ckpt": plans.longer("reservation_min", name, "all-ckpt") for name in neuro}
    better = {
        f"over {name}": plans.longer("utilization", "mem-all-ckpt", name)
        for name in ("all-ckpt", *neuro)
        if name in plans.strategies
    }
    rank = Statement(
        f"reservation time at k = {most}: Mem-All-Ckpt < All-Ckpt < Neuro",
        "Mem-All-Ckpt < All-Ckpt < Neuro",
        text(place),
    )
    best = Statement(f"Mem-All-Ckpt has the best utilisation at k = {most}", "best", text(place))
    runs = Statement(f"Mem-All-Ckpt needs few runs: k = {few} as good as k = {most}", "almost as good", text(place))
    extra = ratio(early.values("reservation_min", "mem-all-ckpt"), plans.values("reservation_min", "mem-all-ckpt"))
    enough = AtMost(SHARE, f"the relative difference of the reservation times of k = {few} and {most}", "%", 100)
    apart = Above(quantity="the paired relative difference")
    return [
        rank.each(apart, longer, f"{plans.means_text('reservation_min')} min; {_each(longer)}"),
        best.each(apart, better, f"{plans.means_text('utilization', '.3f')}; {_each(better)}"),
        runs.judge(enough, extra, f"longer by {_per_cent(extra)}"),
    ]


def _failures(tables: Tables) -> str:
    parts = []
    for strategy in dict.fromkeys(row["strategy"] for row in tables[""]):
        rows = rows_where(tables[""], strategy=strategy)
        short, exceeded = (int(column(rows, name).sum()) for name in ("short_checkpoints", "memory_failures"))
        if short or exceeded:
            carried = int(column(rows, "runs").sum())
            parts.append(
                f"{strategy}: {short} checkpoints too small, memory exceeded {exceeded} times in {carried} runs"
            )
    return "; ".join(parts) or "no failures"


def _minutes(tables: Tables, names: Sequence[str]) -> list[Verdict]:
    """Judge reservation times by the independent computation, which has only one number of past runs."""
    verdicts = []
    for name in names:
        level = _REFERENCE_MINUTES[name]
        statement = Statement(f"reservation time of {name} at k = {_REFERENCE_RUNS}", f"{level:g} min", _REFERENCE)
        rule = Near(level, SHARE * level, "the mean reservation time", "min")
        plans = _Plans(tables, _REFERENCE_RUNS)
        if name in plans.strategies:
            found = interval(plans.values("reservation_min", name))
            verdicts.append(statement.judge(rule, found, f"{found.text('.1f')} min"))
        else:
            verdicts.append(statement.open(f"k = {_REFERENCE_RUNS} was not measured", rule=rule.words))
    return verdicts


def _saving_verdict(tables: Tables, name: str, source: Source) -> Verdict:
    most = sizes(tables)[-1]
    plans = _Plans(tables, most)
    saving = interval(1.0 - plans.values("memory_gb", name) / plans.values("memory_gb", "all-ckpt"))
    statement = Statement(
        f"memory that {name} saves against All-Ckpt, k = {most}", f"~{100 * _PRINTED_SAVING[name]:.0f} %", source
    )
    rule = Near(_PRINTED_SAVING[name], POINTS, "the mean saving", "%", 100)
    means_text = f"{saving.text('.1f', 100)} % ({plans.means_text('memory_gb')} GB)"
    return statement.judge(rule, saving, means_text, _failures(tables))


def _losses(tables: Tables) -> list[Verdict]:
    """Judge the loss of an estimation with a single task: All-Ckpt against Mem-All-Ckpt."""
    most = sizes(tables)[-1]
    plans = _Plans(tables, most)
    verdicts = []
    for name, (title, bound) in _LOSSES.items():
        pair = ("mem-all-ckpt", "all-ckpt") if name == "utilization" else ("all-ckpt", "mem-all-ckpt")
        loss = plans.longer(name, *pair)
        statement = Statement(
            f"with a single task (All-Ckpt) the loss in {title} is within {100 * bound:.0f} % at k = {most}",
            f"{100 * bound:.0f} %", text("4.2.2"),
        )  # fmt: skip
        rule = AtMost(bound + ROUNDING, "the paired relative loss", "%", 100)
        verdicts.append(statement.judge(rule, loss, f"{_per_cent(loss)} ({plans.means_text(name, '.4g')})"))
    return verdicts


def judge_fig13(tables: Tables) -> Sequence[Verdict]:
    """Judge the statements on figure 13."""
    few, most = sizes(tables)[0], sizes(tables)[-1]
    early, plans = _Plans(tables, few), _Plans(tables, most)
    same = plans.longer("reservation_min", "neuro-avg", "neuro")
    more = ratio(plans.values("reservation_min", "neuro"), early.values("reservation_min", "neuro"))
    alike = Statement("Neuro-Avg takes about as long as Neuro", "similar results", text("4.3"))
    contrary = Statement("more data does not help Neuro (on the contrary)", "on the contrary", text("4.2.2"))
    verdicts = [
        *_common(tables, "4.2.2"),
        *_minutes(tables, ("mem-all-ckpt", "all-ckpt", "neuro", "neuro-avg")),
        alike.judge(
            Near(0.0, SHARE, "the paired relative difference", "%", 100), same, f"longer by {_per_cent(same)}"
        ),
        contrary.judge(
            Above(quantity=f"the relative difference of the reservation times of k = {most} and {few}"), more,
            f"longer by {_per_cent(more)} with k = {most} than with {few}",
        ),
        _saving_verdict(tables, "mem-all-ckpt", text("4.2.2")),
        *_losses(tables),
    ]  # fmt: skip
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def judge_fig14(tables: Tables) -> Sequence[Verdict]:
    """Judge the statements on figure 14."""
    most = sizes(tables)[-1]
    plans = _Plans(tables, most)
    longer = plans.longer("reservation_min", "mem-all-ckpt-v2", "all-ckpt")
    cost = Statement("V2 saves memory at no cost in reservation time against All-Ckpt", "no cost", text("4.2.3"))
    earliest = tables["settings"][0]["earliest_start_min"]
    before = Statement(
        f"a reservation of {_FIRST:g} min ends before the task with the peak memory begins", "guaranteed", text("4.2.3")
    )
    verdicts = [
        *_minutes(tables, ("mem-all-ckpt-v2",)),
        _saving_verdict(tables, "mem-all-ckpt-v2", text("4.2.3")),
        cost.judge(
            AtMost(_NO_COST, "the paired relative difference", "%", 100), longer,
            f"longer by {_per_cent(longer)} ({plans.means_text('reservation_min')} min)",
        ),
        _first(tables, most),
        before.exact_verdict(
            earliest >= _FIRST, f"holds if it begins after {_FIRST:g} min in all runs",
            f"the earliest begins at {earliest:.1f} min",
        ),
    ]  # fmt: skip
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _first(tables: Tables, samples: int) -> Verdict:
    tau = tables["settings"][0]["tau"]
    starts = rows_where(tables["starts"], samples=samples)
    levels = list(dict.fromkeys(row["tau"] for row in starts))
    first = {level: column(rows_where(starts, tau=level), "start_min") for level in levels}
    others = ", ".join(f"{minutes.mean():.1f} min for tau = {level:g}" for level, minutes in first.items())
    found = interval(first[tau])
    statement = Statement(
        f"the first reservation of V2, computed with tau = {tau:g}, the M_tau of the paper",
        f"{_FIRST:g} min",
        text("4.2.3"),
    )
    rule = Near(_FIRST, 0.1 * _FIRST, "the mean first reservation", "min")
    return statement.judge(rule, found, f"{found.text('.1f')} min", f"from the chains of {samples} runs: {others}")


def judge_fig16(tables: Tables) -> Sequence[Verdict]:
    """Judge the statements on figure 16."""
    plans = _Plans(tables, sizes(tables)[-1])
    gain = plans.longer("reservation_min", "all-ckpt", "mem-all-ckpt")
    less = plans.longer("memory_gb", "all-ckpt", "mem-all-ckpt")
    slight = Statement("Mem-All-Ckpt is not much faster than All-Ckpt", "not significantly better", text("4.3"))
    memory = Statement("Mem-All-Ckpt asks for less memory than All-Ckpt", "the trend of SLANT", text("4.3"))
    verdicts = [
        *_common(tables, "4.3"),
        slight.judge(AtMost(_SLIGHT, "the paired relative gain", "%", 100), gain, f"by {_per_cent(gain)}"),
        memory.judge(
            Above(quantity="the paired relative difference"), less,
            f"All-Ckpt asks for {_per_cent(less)} more ({plans.means_text('memory_gb')} GB)", _failures(tables),
        ),
    ]  # fmt: skip
    # Figure 13 has the same statement about SLANT.
    return [restrict_verdict(tables, replace(verdict, claim=f"MaCRUISE: {verdict.claim}")) for verdict in verdicts]
