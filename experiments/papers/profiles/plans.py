"""Experiments for figures 13, 14 and 16 of the profiles paper: plans made from few past runs, executed on all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.profiles.ranking import judge_fig13, judge_fig14, judge_fig16, sizes
from holdfast.experiments.papers.profiles.shared_data import data_row, mark_figure, task_runs
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.measurement_table import column, rows_where
from holdfast.experiments.study.metrics import PROFILES
from holdfast.experiments.study.parameters import data_file
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.memory_execution import execute
from holdfast.policies.planning.memory_plan import (
    MemoryModel,
    flat_costs,
    mem_all_ckpt,
    mem_all_ckpt_v2,
    with_flat_memory,
)
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.workloads.chains.chain import TaskChain
from holdfast.workloads.chains.checkpoint_device import CheckpointDevice
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.chains.synthetic import macruise_like
from holdfast.workloads.chains.task_fits import fit_distribution
from holdfast.workloads.ground.columns import Metric
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "plan_from"]

_COLORS = {
    "all-ckpt": "#0072B2",
    "mem-all-ckpt": "#009E73",
    "mem-all-ckpt-v2": "#E69F00",
    "neuro": "#D55E00",
    "neuro-avg": "#CC79A7",
}
_TAUS = (0.01, 0.025, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class PlanSizes:
    """Parameters of figure 16; its runs are not public.

    Attributes
    ----------
    runs
        Number of drawn runs.
    strategies
        Strategies to compare.
    samples
        Sizes of the samples of past runs, drawn with replacement.
    repetitions
        Number of samples of each size, two or more.
    tau
        Threshold of M_tau, and of the first reservation of V2.
    n
        Number of values of the discretised walltime.
    granularity
        Unit of memory requests [GB].
    """

    runs: int = 88
    strategies: tuple[str, ...] = ("all-ckpt", "mem-all-ckpt", "mem-all-ckpt-v2", "neuro", "neuro-avg")
    samples: tuple[int, ...] = (5, 10, 20, 50)
    repetitions: int = 10
    tau: float = 0.1
    n: int = 1000
    granularity: float = 1.0


@dataclass(frozen=True)
class SlantPlans(PlanSizes):
    """Parameters of figures 13 and 14.

    Attributes
    ----------
    tasks
        CSV file of measured runs (:func:`holdfast.workloads.chains.runs.read_slant_tasks`); empty: drawn runs.
    """

    tasks: str = data_file("slant/slant_drd_tasks.csv")


def plan_from(name: str, past: TaskRuns, model: MemoryModel, n: int) -> ReservationPlan:
    """Make the plan of a strategy from past runs, as in section 4.1.1 of [P].

    Parameters
    ----------
    name
        ``"mem-all-ckpt"``, ``"mem-all-ckpt-v2"``, or another strategy, which always requests the peak memory.
    past
        Past runs.
    model
        Memory model of these runs.
    n
        Number of values of the discretised walltime.
    """
    # Optimising strategies use a normal fit, heuristics the walltimes.
    grid: dict[str, Any] = {"n": n, "grid": "equal-time"}
    known: dict[str, Any] = {"chain": model.chain, "device": model.device, "tau": model.tau,
                             "granularity": model.granularity}  # fmt: skip
    if name == "mem-all-ckpt":
        return mem_all_ckpt(fit_distribution(past.walltimes), CostModel(), **known, **grid)
    if name == "mem-all-ckpt-v2":
        return mem_all_ckpt_v2(fit_distribution(past.walltimes), CostModel(), **known, **grid)
    costs = flat_costs(model)
    if name.startswith("neuro"):
        return with_flat_memory(STRATEGIES[name](past.walltimes, costs), model)
    return with_flat_memory(STRATEGIES[name](fit_distribution(past.walltimes), costs, **grid), model)


def _measure(parameters: PlanSizes, seed: int, runs: TaskRuns, name: str) -> dict[str, list[Row]]:
    if parameters.repetitions < 2:
        raise ParameterError("repetitions", "at least 2", parameters.repetitions)
    device = CheckpointDevice()
    rows: list[Row] = []
    plans: list[Row] = []
    starts: list[Row] = []
    for samples in parameters.samples:
        for repetition in range(parameters.repetitions):
            past = runs.draw(samples, stream(seed, name, samples, repetition))
            model = MemoryModel(TaskChain.from_runs(past), device, parameters.tau, parameters.granularity)
            for strategy in parameters.strategies:
                plan = plan_from(strategy, past, model, parameters.n)
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


def _measure_slant(parameters: SlantPlans, seed: int) -> Tables:
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    # Both figures use the same stream, because they show the same plans.
    measured = _measure(parameters, seed, runs, "profiles-fig13")
    return {**measured, **data_row(bool(parameters.tasks), len(runs))}


def _measure_macruise(parameters: PlanSizes, seed: int) -> Tables:
    runs = macruise_like(parameters.runs, stream(seed, "profiles", "macruise"))
    measured = _measure(parameters, seed, runs, "profiles-fig16")
    return {**measured, **data_row(False, len(runs), "MaCRUISE runs are not public; runs drawn from table 3 stand in")}


def _draw(tables: Tables, metrics: Sequence[Metric] = tuple(PROFILES.values())) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import dress, legend_above, panel_letters

    figure = new_figure(PAGE, 2.6)
    panels = subplots(figure, 1, len(metrics))
    chosen = sizes(tables)
    strategies = list(dict.fromkeys(row["strategy"] for row in tables[""]))
    handles: dict[str, Any] = {}
    width = 0.8 / len(strategies)
    for axes, metric in zip(panels, metrics, strict=True):
        for place, strategy in enumerate(strategies):
            rows = rows_where(tables[""], strategy=strategy)
            values = [column(rows_where(rows, samples=size), metric.name) for size in chosen]
            at = np.arange(len(chosen)) + (place - (len(strategies) - 1) / 2) * width
            means, spreads = [found.mean() for found in values], [found.std() for found in values]
            style = {"linewidth": 0.7, "ecolor": "#333333"}
            color = _COLORS.get(strategy, "#777777")
            handles[strategy] = axes.bar(at, means, width, color=color, yerr=spreads, error_kw=style)
        if metric.name == "utilization":
            axes.set_ylim(0, 1)
        axes.set_xticks(range(len(chosen)), [str(size) for size in chosen])
        dress(axes, x="past runs", y=metric.label, grid="y")
    panel_letters(panels)
    legend_above(figure, list(handles.values()), list(handles))
    return mark_figure(figure, tables)


def _draw_fig14(tables: Tables) -> Figure:
    return _draw(tables, (PROFILES["reservation_min"], PROFILES["memory_gb"]))


_PAIR = ("all-ckpt", "mem-all-ckpt-v2")
_MACRUISE = ("all-ckpt", "mem-all-ckpt", "neuro")

_CHOICES = (
    "Past runs are drawn from the runs with replacement.",
    "Optimal plans use normal distributions of the tasks; rules of thumb use the walltimes.",
    "Memory is requested in multiples of `granularity`.",
)

EXPERIMENTS = (
    Experiment("profiles-fig13", "SLANT: reservation time, utilisation and memory of the strategies",
               "Which plan reserves the least time and memory, and from how few runs?", SlantPlans(),
               SlantPlans(runs=30, samples=(5, 20), repetitions=2, n=200), _measure_slant, judge_fig13, _draw,
               choices=_CHOICES),
    Experiment("profiles-fig14", "SLANT: a first reservation without the heavy task",
               "What does Mem-All-Ckpt V2 save against All-Ckpt?", SlantPlans(strategies=_PAIR),
               SlantPlans(runs=30, strategies=_PAIR, samples=(5, 20), repetitions=2, n=200), _measure_slant,
               judge_fig14, _draw_fig14, choices=_CHOICES),
    Experiment("profiles-fig16", "MaCRUISE: reservation time, utilisation and memory of the strategies",
               "Do the results hold for another application?", PlanSizes(runs=46, strategies=_MACRUISE),
               PlanSizes(runs=20, strategies=_MACRUISE, samples=(5, 20), repetitions=2, n=200), _measure_macruise,
               judge_fig16, _draw, choices=_CHOICES),
)  # fmt: skip
