"""Figure 18 of the profiles paper: reservations made on one machine, scaled and carried out on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.experiment import Experiment, Row, Tables
from experiments.papers.profiles_data import column, data_row, judged, marked, rows_where
from experiments.papers.profiles_machines import DRAWN, HERE, THERE, V2, Machines, TwoMachines, moved
from experiments.papers.profiles_plans import plan_from
from experiments.verdicts import Verdict
from policies.planning.execution import execute
from policies.planning.plan import ReservationPlan
from workloads.chains.runs import TaskRuns
from workloads.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_ALL = "all-ckpt"
#: In the column ``scale``: on the machine that the plan was made for.
_OWN = "none"


@dataclass(frozen=True)
class Transfer(TwoMachines):
    """Parameters.

    Attributes
    ----------
    repetitions
        Samples of each size.
    new_runs
        Carried out on both machines, for each of them.
    bounds
        Memory to ask for at least, without and with the segmentation [GB].
    """

    repetitions: int = 10
    new_runs: int = 10
    bounds: tuple[float, ...] = (15.0, 51.0)


def _bounded(plan: ReservationPlan, peak: float, bounds: tuple[float, ...]) -> ReservationPlan:
    """The plan with memory requests of at least the bounds; one that includes the segmentation asks for the peak."""
    asked = np.asarray(plan.memory, dtype=float)
    return replace(plan, memory=np.maximum(asked, np.where(asked >= peak, bounds[1], bounds[0])))


def _measure(parameters: Transfer, seed: int) -> Tables:
    machines = Machines(parameters, seed)
    if parameters.repetitions < 1:
        raise ParameterError("repetitions", "at least 1", parameters.repetitions)
    if not 1 <= parameters.new_runs <= len(machines.runs):
        raise ParameterError("new_runs", f"within 1..{len(machines.runs)}, the runs there are", parameters.new_runs)
    if len(parameters.bounds) != 2 or min(parameters.bounds) < 0:
        raise ParameterError("bounds", "two numbers >= 0 [GB]", parameters.bounds)
    rows: list[Row] = []
    for samples in parameters.samples:
        for repetition in range(parameters.repetitions):
            past, model = machines.past(samples, repetition)
            rng = machines.stream("new", samples, repetition)
            here = machines.runs.take(rng.choice(len(machines.runs), parameters.new_runs, replace=False))
            there = machines.slowed(here, "new", samples, repetition)
            for strategy in (_ALL, V2):
                plan = _bounded(plan_from(strategy, past, model, parameters.n), model.peak, parameters.bounds)
                told = {"samples": samples, "repetition": repetition, "strategy": strategy}
                rows.append({**told, "machine": HERE, "scale": _OWN, **_carried_out(plan, here, machines)})
                for scale in parameters.scales:
                    scaling = machines.scaling(scale, samples, repetition)
                    found = _carried_out(moved(plan, scaling), there, machines)
                    # Had the user scaled the work alone, and not the checkpoints and restarts.
                    spared = _carried_out(moved(plan, scaling, overheads=False), there, machines)
                    own = {"factor": scaling.factor, "first": scaling.first if strategy == V2 else scaling.factor}
                    unscaled = {"unscaled_overheads_min": spared["reservation_min"]}
                    rows.append({**told, "machine": THERE, "scale": scale, **found, **own, **unscaled})
    return {"": rows, **data_row(bool(parameters.tasks), len(machines.runs))}


def _carried_out(plan: ReservationPlan, runs: TaskRuns, machines: Machines) -> dict[str, Any]:
    done = execute(plan, runs, machines.device, stopping=int(plan.strategy == V2))
    asked = np.asarray(plan.memory, dtype=float)
    covered = float(plan.milestones[asked >= asked.max()][-1])
    return {
        # Runs whose segmentation goes on after the last reservation that has the memory for it.
        "segmentations_cut": int(np.count_nonzero(runs.ends[:, machines.heavy] > covered)),
        "walltime_min": float(done.walltime.mean()) / 60,
        "reservation_min": float(done.reserved.mean()) / 60,
        "memory_gb": float(done.memory.mean()),
        "reservations": float(done.reservations.mean()),
        "short_checkpoints": int(done.short_checkpoints.sum()),
        "memory_failures": int(done.memory_failures.sum()),
        "runs": len(runs),
    }


def _mean(tables: Tables, name: str, **values: Any) -> float:
    return float(column(rows_where(tables[""], **values), name).mean())


def _judge(tables: Tables) -> Sequence[Verdict]:
    rows = tables[""]
    sizes = sorted({row["samples"] for row in rows})
    scales = list(dict.fromkeys(row["scale"] for row in rows_where(rows, machine=THERE)))
    verdicts = []
    for scale in scales:
        there = {"machine": THERE, "scale": scale}
        with_scale = f"{scale} factors"
        savings = {
            k: 1 - _mean(tables, "memory_gb", samples=k, strategy=V2, **there)
            / _mean(tables, "memory_gb", samples=k, strategy=_ALL, **there)
            for k in sizes
        }  # fmt: skip
        told = ", ".join(f"{100 * saving:.1f} % (k = {k})" for k, saving in savings.items())
        holds = all(0.195 <= saving <= 0.255 for saving in savings.values())
        claim = f"{with_scale}: memory that V2 asks for on KNL is 20 to 25 % less than that of All-Ckpt"
        verdicts.append(judged(tables, claim, "20 % - 25 %", told, holds, f"{DRAWN}; {_failures(rows, scale)}"))
        verdicts.append(_judge_increase(tables, sizes, scale, with_scale))
        verdicts.append(_judge_overlap(tables, scale, with_scale))
        verdicts.append(_judge_minutes(tables, scale, with_scale))
    if "measured" in scales:
        verdicts.append(_judge_factors(tables))
    return verdicts


def _failures(rows: Sequence[Row], scale: str) -> str:
    found = rows_where(rows, machine=THERE, scale=scale, strategy=V2)
    short, exceeded = (int(column(found, name).sum()) for name in ("short_checkpoints", "memory_failures"))
    runs = int(column(found, "runs").sum())
    return f"V2: {short} checkpoints too small, memory exceeded {exceeded} times in {runs} runs"


def _judge_increase(tables: Tables, sizes: Sequence[int], scale: str, with_scale: str) -> Verdict:
    more = {}
    for k in sizes:
        here = _mean(tables, "memory_gb", samples=k, strategy=V2, machine=HERE)
        more[k] = _mean(tables, "memory_gb", samples=k, strategy=V2, machine=THERE, scale=scale) / here - 1
    told = ", ".join(f"{100 * value:+.1f} % (k = {k})" for k, value in more.items())
    claim = f"{with_scale}: V2 asks for more memory on KNL than on Haswell, at most 5 % more"
    holds = 0 <= max(more.values()) <= 0.055
    return judged(tables, claim, "5 % in the worst case", told, holds, DRAWN)


def _judge_overlap(tables: Tables, scale: str, with_scale: str) -> Verdict:
    counts = {}
    for machine, name in ((HERE, _OWN), (THERE, scale)):
        rows = rows_where(tables[""], machine=machine, scale=name, strategy=V2)
        counts[machine] = sum(row["segmentations_cut"] for row in rows), sum(row["runs"] for row in rows)
    told = ", ".join(f"{machine} {cut} of {runs} runs" for machine, (cut, runs) in counts.items())
    claim = f"{with_scale}: no reservation of V2 without the memory for it overlaps the segmentation"
    measured = f"the segmentation outlives the reservations for it in {told}"
    return judged(tables, claim, "factors are chosen so", measured, counts[THERE][0] == 0, DRAWN)


def _judge_minutes(tables: Tables, scale: str, with_scale: str) -> Verdict:
    there = {"machine": THERE, "scale": scale, "strategy": V2}
    asked = _mean(tables, "reservation_min", **there)
    gap = asked - _mean(tables, "unscaled_overheads_min", **there)
    walltime = _mean(tables, "walltime_min", **there)
    claim = f"{with_scale}: scaling checkpoints and restarts too costs V2 only a few minutes (below 10) of over 3 hours"
    flat = _mean(tables, "reservation_min", **{**there, "strategy": _ALL})
    told = f"{gap:.1f} min of {asked:.0f} min (All-Ckpt {flat:.0f} min), for a walltime of {walltime:.0f} min"
    return judged(tables, claim, "a few minutes, more than 3 hours", told, abs(gap) < 10 and walltime > 180, DRAWN)


def _judge_factors(tables: Tables) -> Verdict:
    rows = rows_where(tables[""], scale="measured", strategy=V2)
    factor, first = column(rows, "factor"), column(rows, "first")
    told = (
        f"{factor.mean():.2f} ({factor.min():.2f} to {factor.max():.2f}), first {first.mean():.2f} "
        f"({first.min():.2f} to {first.max():.2f})"
    )
    holds = abs(factor.mean() / 1.7 - 1) <= 0.05 and abs(first.mean() / 1.1 - 1) <= 0.05
    claim = "the factors computed from a few runs are the printed ones (within 5 %)"
    return judged(tables, claim, "1.7, first 1.1", told, holds, f"first: the least slowdown before task 5; {DRAWN}")


def _draw(tables: Tables) -> Figure:
    from experiments.figures.style import COLUMN, dress, legend_above, new_figure

    rows = tables[""]
    sizes = sorted({row["samples"] for row in rows})
    kinds = list(dict.fromkeys((row["strategy"], row["machine"], row["scale"]) for row in rows))
    shades = {_ALL: ("#0072B2", "#56B4E9", "#A9D8F2"), V2: ("#B36B00", "#E69F00", "#F5D38C")}
    figure = new_figure(COLUMN * 1.6, 3.2)
    axes = figure.subplots()
    width = 0.86 / len(kinds)
    handles: dict[str, Any] = {}
    for place, (strategy, machine, scale) in enumerate(kinds):
        found = rows_where(rows, strategy=strategy, machine=machine, scale=scale)
        values = [column(rows_where(found, samples=k), "memory_gb") for k in sizes]
        at = np.arange(len(sizes)) + (place - (len(kinds) - 1) / 2) * width
        own = [kind for kind in kinds if kind[0] == strategy]
        color = shades[strategy][own.index((strategy, machine, scale))]
        means, spreads = [item.mean() for item in values], [item.std() for item in values]
        style = {"linewidth": 0.7, "ecolor": "#333333"}
        label = f"{strategy}, {machine}" + ("" if scale == _OWN else f", {scale} factors")
        handles[label] = axes.bar(at, means, width, color=color, yerr=spreads, error_kw=style)
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    dress(axes, x="past runs", y="requested memory [GB]", grid="y")
    legend_above(figure, list(handles.values()), list(handles), columns=2)
    return marked(figure, tables)


_QUICK = Transfer(runs=30, samples=(5, 20), repetitions=3, n=300)

EXPERIMENTS = (
    Experiment("profiles-fig18", "SLANT: memory requests of reservations scaled to another machine",
               "Does a plan that was learned elsewhere still save memory?", Transfer(), _QUICK, _measure,
               _judge, _draw),
)  # fmt: skip
