"""Figures 13, 14 and 16 of the profiles paper: reservation plans made from few past runs, carried out on all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.experiment import Experiment, Row, Tables, Verdict
from experiments.papers.profiles_data import column, data_row, judged, marked, rows_where, task_runs
from policies.planning.costs import CostModel
from policies.planning.execution import execute
from policies.planning.memory import MemoryModel, flat_costs, mem_all_ckpt, mem_all_ckpt_v2, with_flat_memory
from policies.planning.plan import ReservationPlan
from policies.planning.strategies import STRATEGIES
from workloads.chains.chain import TaskChain
from workloads.chains.device import CheckpointDevice
from workloads.chains.fits import fit_law
from workloads.chains.runs import TaskRuns
from workloads.chains.standin import macruise_like
from workloads.streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: Reservation time [min] at k = 50 and memory against All-Ckpt's, read off figures 13 and 14 of [P].
_PRINTED_MINUTES = {
    "mem-all-ckpt": 129.0,
    "mem-all-ckpt-v2": 132.0,
    "all-ckpt": 136.0,
    "neuro": 154.0,
    "neuro-avg": 154.0,
}
_PRINTED_SAVING = {"mem-all-ckpt": 0.09, "mem-all-ckpt-v2": 0.23}
_COLORS = {
    "all-ckpt": "#0072B2",
    "mem-all-ckpt": "#009E73",
    "mem-all-ckpt-v2": "#E69F00",
    "neuro": "#D55E00",
    "neuro-avg": "#CC79A7",
}
_TAUS = (0.01, 0.025, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class Plans:
    """Parameters.

    Attributes
    ----------
    tasks
        A CSV file of measured runs (:func:`workloads.chains.runs.read_slant_tasks`); empty: drawn runs.
    runs
        How many are drawn.
    strategies
        Of figure 13 or 14.
    samples
        Sizes of the samples of past runs, drawn with replacement.
    repetitions
        Samples of each size.
    tau
        Of M_tau, and of the first reservation of V2.
    n
        Values of the discretised walltime.
    granularity
        Memory is asked for in multiples of this [GB].
    """

    tasks: str = ""
    runs: int = 88
    strategies: tuple[str, ...] = ("all-ckpt", "mem-all-ckpt", "mem-all-ckpt-v2", "neuro", "neuro-avg")
    samples: tuple[int, ...] = (5, 10, 20, 50)
    repetitions: int = 10
    tau: float = 0.1
    n: int = 1000
    granularity: float = 1.0


def _plan(name: str, past: TaskRuns, model: MemoryModel, n: int) -> ReservationPlan:
    """The plan of a strategy, made from past runs as in section 4.1.1 of [P]."""
    # The plans that minimise are made from a normal fit, the rules of thumb from the walltimes themselves.
    grid: dict[str, Any] = {"n": n, "grid": "equal-time"}
    known: dict[str, Any] = {"chain": model.chain, "device": model.device, "tau": model.tau,
                             "granularity": model.granularity}  # fmt: skip
    if name == "mem-all-ckpt":
        return mem_all_ckpt(fit_law(past.walltimes), CostModel(), **known, **grid)
    if name == "mem-all-ckpt-v2":
        return mem_all_ckpt_v2(fit_law(past.walltimes), CostModel(), **known, **grid)
    costs = flat_costs(model)
    if name.startswith("neuro"):
        return with_flat_memory(STRATEGIES[name](past.walltimes, costs), model)
    return with_flat_memory(STRATEGIES[name](fit_law(past.walltimes), costs, **grid), model)


def _measure(parameters: Plans, seed: int, runs: TaskRuns, name: str) -> dict[str, list[Row]]:
    device = CheckpointDevice()
    rows: list[Row] = []
    plans: list[Row] = []
    starts: list[Row] = []
    for samples in parameters.samples:
        for repetition in range(parameters.repetitions):
            past = runs.draw(samples, stream(seed, name, samples, repetition))
            model = MemoryModel(TaskChain.from_runs(past), device, parameters.tau, parameters.granularity)
            for strategy in parameters.strategies:
                plan = _plan(strategy, past, model, parameters.n)
                done = execute(plan, runs, device, stopping=int(strategy == "mem-all-ckpt-v2"))
                rows.append(
                    {
                        "samples": samples,
                        "repetition": repetition,
                        "strategy": strategy,
                        "reservation_min": float(done.reserved.mean()) / 60,
                        "utilization": float(done.utilization.mean()),
                        "memory_gb": float(done.memory.mean()),
                        "peak_request_gb": model.peak,
                        "reservations": float(done.reservations.mean()),
                        "short_checkpoints": int(done.short_checkpoints.sum()),
                        "memory_failures": int(done.memory_failures.sum()),
                        "runs": len(runs),
                    }
                )
                if repetition == 0:
                    plans += [
                        {"samples": samples, "strategy": strategy, "reservation": place, **row}
                        for place, row in enumerate(plan.rows(), 1)
                    ]
            heavy = model.chain.peak_task
            starts += [
                {"samples": samples, "repetition": repetition, "tau": tau, "task": heavy + 1,
                 "start_min": model.chain.start_quantile(heavy, tau) / 60}
                for tau in sorted({*_TAUS, parameters.tau})
            ]  # fmt: skip
    heavy = int(runs.peaks.mean(axis=0).argmax())
    begins = runs.ends[:, heavy] - runs.durations[:, heavy]
    settings: list[Row] = [{"tau": parameters.tau, "earliest_start_min": float(begins.min()) / 60}]
    return {"": rows, "plans": plans, "starts": starts, "settings": settings}


def _measure_slant(parameters: Plans, seed: int) -> Tables:
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    # One name for both figures: they show the same plans.
    measured = _measure(parameters, seed, runs, "profiles-fig13")
    return {**measured, **data_row(bool(parameters.tasks), len(runs))}


def _measure_macruise(parameters: Plans, seed: int) -> Tables:
    runs = macruise_like(parameters.runs, stream(seed, "profiles", "macruise"))
    measured = _measure(parameters, seed, runs, "profiles-fig16")
    return {**measured, **data_row(False, len(runs), "MaCRUISE runs are not public; runs drawn from table 3 stand in")}


def _means(tables: Tables, samples: int, name: str) -> Mapping[str, float]:
    """Mean over the repetitions, by strategy."""
    rows = rows_where(tables[""], samples=samples)
    strategies = dict.fromkeys(row["strategy"] for row in rows)
    return {strategy: float(column(rows_where(rows, strategy=strategy), name).mean()) for strategy in strategies}


def _sizes(tables: Tables) -> list[int]:
    return sorted({row["samples"] for row in tables[""]})


def _told(values: Mapping[str, float], form: str = "{:.1f}") -> str:
    return ", ".join(f"{name} {form.format(value)}" for name, value in values.items())


def _rank(values: Mapping[str, float]) -> str:
    return " < ".join(f"{name} {value:.1f}" for name, value in sorted(values.items(), key=lambda item: item[1]))


def _judge_common(tables: Tables) -> list[Verdict]:
    few, most = _sizes(tables)[0], _sizes(tables)[-1]
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
    most = _sizes(tables)[-1]
    minutes = _means(tables, most, "reservation_min")
    return [
        judged(tables, f"reservation time of {name} at k = {most} (within 5 %)", f"{_PRINTED_MINUTES[name]:g} min",
               f"{minutes[name]:.1f} min", abs(minutes[name] / _PRINTED_MINUTES[name] - 1) <= 0.05)
        for name in names
        if name in minutes
    ]  # fmt: skip


def _judge_saving(tables: Tables, names: Sequence[str]) -> list[Verdict]:
    most = _sizes(tables)[-1]
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


def _judge_fig13(tables: Tables) -> Sequence[Verdict]:
    few, most = _sizes(tables)[0], _sizes(tables)[-1]
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


def _judge_fig14(tables: Tables) -> Sequence[Verdict]:
    most = _sizes(tables)[-1]
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


def _judge_fig16(tables: Tables) -> Sequence[Verdict]:
    most = _sizes(tables)[-1]
    minutes, memory = _means(tables, most, "reservation_min"), _means(tables, most, "memory_gb")
    gain = 1 - minutes["mem-all-ckpt"] / minutes["all-ckpt"]
    return [
        *_judge_common(tables),
        judged(tables, "Mem-All-Ckpt is not much faster than All-Ckpt: memory costs little (gain below 3 %)",
               "not significantly better", f"{100 * gain:.1f} %", gain < 0.03),
        judged(tables, "Mem-All-Ckpt asks for less memory", "less", f"{_told(memory)} GB",
               memory["mem-all-ckpt"] < memory["all-ckpt"], _failures(tables)),
    ]  # fmt: skip


_METRICS = (
    ("reservation_min", "reservation time [min]"),
    ("utilization", "utilization"),
    ("memory_gb", "requested memory [GB]"),
)


def _draw(tables: Tables, metrics: Sequence[tuple[str, str]] = _METRICS) -> Figure:
    from experiments.figures.style import PAGE, dress, legend_above, new_figure, panel_letters

    figure = new_figure(PAGE, 2.6)
    panels = figure.subplots(1, len(metrics))
    sizes = _sizes(tables)
    strategies = list(dict.fromkeys(row["strategy"] for row in tables[""]))
    handles: dict[str, Any] = {}
    width = 0.8 / len(strategies)
    for axes, (metric, label) in zip(panels, metrics, strict=True):
        for place, strategy in enumerate(strategies):
            rows = rows_where(tables[""], strategy=strategy)
            values = [column(rows_where(rows, samples=size), metric) for size in sizes]
            at = np.arange(len(sizes)) + (place - (len(strategies) - 1) / 2) * width
            means, spreads = [found.mean() for found in values], [found.std() for found in values]
            style = {"linewidth": 0.7, "ecolor": "#333333"}
            color = _COLORS.get(strategy, "#777777")
            handles[strategy] = axes.bar(at, means, width, color=color, yerr=spreads, error_kw=style)
        if metric == "utilization":
            axes.set_ylim(0, 1)
        axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
        dress(axes, x="past runs", y=label, grid="y")
    panel_letters(panels)
    legend_above(figure, list(handles.values()), list(handles))
    return marked(figure, tables)


def _draw_fig14(tables: Tables) -> Figure:
    return _draw(tables, (_METRICS[0], _METRICS[2]))


_PAIR = ("all-ckpt", "mem-all-ckpt-v2")
_MACRUISE = ("all-ckpt", "mem-all-ckpt", "neuro")

EXPERIMENTS = (
    Experiment("profiles-fig13", "SLANT: reservation time, utilization and memory of the strategies",
               "Which plan reserves least time and memory, made from how few runs?", Plans(),
               Plans(runs=30, samples=(5, 20), repetitions=2, n=200), _measure_slant, _judge_fig13, _draw),
    Experiment("profiles-fig14", "SLANT: a first reservation without the heavy task",
               "What does Mem-All-Ckpt V2 save against All-Ckpt?", Plans(strategies=_PAIR),
               Plans(runs=30, strategies=_PAIR, samples=(5, 20), repetitions=2, n=200), _measure_slant, _judge_fig14,
               _draw_fig14),
    Experiment("profiles-fig16", "MaCRUISE: reservation time, utilization and memory of the strategies",
               "Does the same hold for another application?", Plans(runs=46, strategies=_MACRUISE),
               Plans(runs=20, strategies=_MACRUISE, samples=(5, 20), repetitions=2, n=200), _measure_macruise,
               _judge_fig16, _draw),
)  # fmt: skip
