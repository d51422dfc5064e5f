"""What figures 13, 14 and 16 of the profiles paper say of the strategies, beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.experiment import Tables
from experiments.papers.profiles_data import column, judged, rows_where
from experiments.verdicts import Verdict

__all__ = ["judge_fig13", "judge_fig14", "judge_fig16", "sizes"]

#: Reservation time [min] at k = 50 and memory against All-Ckpt's, read off figures 13 and 14 of [P].
_PRINTED_MINUTES = {
    "mem-all-ckpt": 129.0,
    "mem-all-ckpt-v2": 132.0,
    "all-ckpt": 136.0,
    "neuro": 154.0,
    "neuro-avg": 154.0,
}
_PRINTED_SAVING = {"mem-all-ckpt": 0.09, "mem-all-ckpt-v2": 0.23}


def _means(tables: Tables, samples: int, name: str) -> Mapping[str, float]:
    """Mean over the repetitions, by strategy."""
    rows = rows_where(tables[""], samples=samples)
    strategies = dict.fromkeys(row["strategy"] for row in rows)
    return {strategy: float(column(rows_where(rows, strategy=strategy), name).mean()) for strategy in strategies}


def sizes(tables: Tables) -> list[int]:
    """The sizes of the samples of past runs, ascending."""
    return sorted({row["samples"] for row in tables[""]})


def _told(values: Mapping[str, float], form: str = "{:.1f}") -> str:
    return ", ".join(f"{name} {form.format(value)}" for name, value in values.items())


def _rank(values: Mapping[str, float]) -> str:
    return " < ".join(f"{name} {value:.1f}" for name, value in sorted(values.items(), key=lambda item: item[1]))


def _judge_common(tables: Tables) -> list[Verdict]:
    few, most = sizes(tables)[0], sizes(tables)[-1]
    minutes, early = _means(tables, most, "reservation_min"), _means(tables, few, "reservation_min")
    use = _means(tables, most, "utilization")
    neuro = max(minutes[name] for name in minutes if name.startswith("neuro"))
    return [
        judged(tables, f"reservation time at k = {most}: Mem-All-Ckpt < All-Ckpt < Neuro",
               "Mem-All-Ckpt < All-Ckpt < Neuro", f"{_rank(minutes)} min",
               minutes["mem-all-ckpt"] < minutes["all-ckpt"] < neuro),
        judged(tables, f"Mem-All-Ckpt has the best utilization at k = {most}", "best", _told(use, "{:.3f}"),
               max(use, key=lambda name: use[name]) == "mem-all-ckpt"),
        judged(tables, f"Mem-All-Ckpt needs few runs: k = {few} within 5 % of k = {most}", "almost as good",
               f"{early['mem-all-ckpt']:.1f} against {minutes['mem-all-ckpt']:.1f} min",
               early["mem-all-ckpt"] <= 1.05 * minutes["mem-all-ckpt"]),
    ]  # fmt: skip


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


def _judge_minutes(tables: Tables, names: Sequence[str]) -> list[Verdict]:
    most = sizes(tables)[-1]
    minutes = _means(tables, most, "reservation_min")
    return [
        judged(tables, f"reservation time of {name} at k = {most} (within 5 %)", f"{_PRINTED_MINUTES[name]:g} min",
               f"{minutes[name]:.1f} min", abs(minutes[name] / _PRINTED_MINUTES[name] - 1) <= 0.05)
        for name in names
        if name in minutes
    ]  # fmt: skip


def _judge_saving(tables: Tables, names: Sequence[str]) -> list[Verdict]:
    most = sizes(tables)[-1]
    memory = _means(tables, most, "memory_gb")
    verdicts = []
    for name in names:
        saving = 1 - memory[name] / memory["all-ckpt"]
        verdicts.append(
            judged(tables, f"memory that {name} asks for, against All-Ckpt, k = {most} (within 3 points)",
                   f"-{100 * _PRINTED_SAVING[name]:.0f} %",
                   f"-{100 * saving:.1f} % ({memory[name]:.1f} against {memory['all-ckpt']:.1f} GB)",
                   abs(saving - _PRINTED_SAVING[name]) <= 0.03, _failures(tables))
        )  # fmt: skip
    return verdicts


def judge_fig13(tables: Tables) -> Sequence[Verdict]:
    """The statements of figure 13."""
    few, most = sizes(tables)[0], sizes(tables)[-1]
    early, minutes = _means(tables, few, "reservation_min"), _means(tables, most, "reservation_min")
    close = minutes["neuro"] / minutes["neuro-avg"]
    return [
        *_judge_common(tables),
        *_judge_minutes(tables, ("mem-all-ckpt", "all-ckpt", "neuro", "neuro-avg")),
        judged(tables, "Neuro and Neuro-Avg take about the same time (within 5 %)", "154 and 154 min",
               f"{minutes['neuro']:.1f} and {minutes['neuro-avg']:.1f} min", abs(close - 1) <= 0.05),
        judged(tables, "more data does not help Neuro (on the contrary)", "on the contrary",
               f"{early['neuro']:.1f} min at k = {few}, {minutes['neuro']:.1f} at k = {most}",
               minutes["neuro"] >= early["neuro"]),
        *_judge_saving(tables, ("mem-all-ckpt",)),
    ]  # fmt: skip


def judge_fig14(tables: Tables) -> Sequence[Verdict]:
    """The statements of figure 14."""
    most = sizes(tables)[-1]
    minutes = _means(tables, most, "reservation_min")
    verdicts = [
        *_judge_minutes(tables, ("mem-all-ckpt-v2",)),
        *_judge_saving(tables, ("mem-all-ckpt-v2",)),
        judged(tables, "V2 saves memory at no cost in reservation time against All-Ckpt", "no cost",
               f"{_rank(minutes)} min", minutes["mem-all-ckpt-v2"] <= minutes["all-ckpt"]),
    ]  # fmt: skip
    tau = tables["settings"][0]["tau"]
    starts = rows_where(tables["starts"], samples=most)
    first = {level: float(column(rows_where(starts, tau=level), "start_min").mean())
             for level in dict.fromkeys(row["tau"] for row in starts)}  # fmt: skip
    told = ", ".join(f"{minute:.1f} min for tau = {level:g}" for level, minute in first.items())
    verdicts.append(
        judged(tables, f"the first reservation of V2, computed with tau = {tau:g} (within 10 %)", "25 min",
               f"{first[tau]:.1f} min", abs(first[tau] / 25 - 1) <= 0.1, f"from the chains of {most} runs: {told}")
    )  # fmt: skip
    earliest = tables["settings"][0]["earliest_start_min"]
    verdicts.append(
        judged(tables, "a reservation of 25 min ends before the task with the peak memory begins", "guaranteed",
               f"the earliest begins at {earliest:.1f} min", earliest >= 25)
    )  # fmt: skip
    return verdicts


def judge_fig16(tables: Tables) -> Sequence[Verdict]:
    """The statements of figure 16."""
    most = sizes(tables)[-1]
    minutes, memory = _means(tables, most, "reservation_min"), _means(tables, most, "memory_gb")
    gain = 1 - minutes["mem-all-ckpt"] / minutes["all-ckpt"]
    return [
        *_judge_common(tables),
        judged(tables, "Mem-All-Ckpt is not much faster than All-Ckpt: memory costs little (gain below 3 %)",
               "not significantly better", f"{100 * gain:.1f} %", gain < 0.03),
        judged(tables, "Mem-All-Ckpt asks for less memory", "less", f"{_told(memory)} GB",
               memory["mem-all-ckpt"] < memory["all-ckpt"], _failures(tables)),
    ]  # fmt: skip
