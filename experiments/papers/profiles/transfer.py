"""Experiment for figure 18 of the profiles paper: reservations made for one machine, scaled and executed on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.profiles.machines import DRAWN, HERE, THERE, V2, Machines, TwoMachines, move_plan
from holdfast.experiments.papers.profiles.plans import plan_from
from holdfast.experiments.papers.profiles.shared_data import data_row, mark_figure, restrict_verdict
from holdfast.experiments.statistics import Interval, interval, paired_interval, ratio
from holdfast.experiments.study.equivalence import ROUNDING, SHARE
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.measurement_table import column, rows_where
from holdfast.experiments.study.rules import Above, AtMost, Near
from holdfast.experiments.study.verdicts import Statement, Verdict, text
from holdfast.policies.planning.memory_execution import execute
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_ALL = "all-ckpt"
#: Value of the column ``scale`` for the machine for which the plan was made.
_OWN = "none"


@dataclass(frozen=True)
class Transfer(TwoMachines):
    """Parameters.

    Attributes
    ----------
    repetitions
        Number of samples of each size, two or more.
    new_runs
        Number of runs executed on both machines for each repetition.
    bounds
        Minimum memory requests without and with the segmentation [GB].
    """

    repetitions: int = 10
    new_runs: int = 10
    bounds: tuple[float, ...] = (15.0, 51.0)


def _raise_memory(plan: ReservationPlan, peak: float, bounds: tuple[float, ...]) -> ReservationPlan:
    """Raise memory requests to the bounds; a reservation that includes the segmentation requests the peak."""
    asked = np.asarray(plan.memory, dtype=float)
    return replace(plan, memory=np.maximum(asked, np.where(asked >= peak, bounds[1], bounds[0])))


def _measure(parameters: Transfer, seed: int) -> Tables:
    machines = Machines(parameters, seed)
    if parameters.repetitions < 2:
        raise ParameterError("repetitions", "at least 2", parameters.repetitions)
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
            there = machines.slow_down(here, "new", samples, repetition)
            for strategy in (_ALL, V2):
                plan = _raise_memory(plan_from(strategy, past, model, parameters.n), model.peak, parameters.bounds)
                label = {"samples": samples, "repetition": repetition, "strategy": strategy}
                rows.append({**label, "machine": HERE, "scale": _OWN, **_execute(plan, here, machines)})
                for scale in parameters.scales:
                    scaling = machines.scaling(scale, samples, repetition)
                    found = _execute(move_plan(plan, scaling), there, machines)
                    # Result if only work is scaled, without checkpoints and restarts.
                    spared = _execute(move_plan(plan, scaling, overheads=False), there, machines)
                    own = {"factor": scaling.factor, "first": scaling.first if strategy == V2 else scaling.factor}
                    unscaled = {"unscaled_overheads_min": spared["reservation_min"]}
                    rows.append({**label, "machine": THERE, "scale": scale, **found, **own, **unscaled})
    return {"": rows, **data_row(bool(parameters.tasks), len(machines.runs))}


def _execute(plan: ReservationPlan, runs: TaskRuns, machines: Machines) -> dict[str, Any]:
    done = execute(plan, runs, machines.device, stopping=int(plan.strategy == V2))
    asked = np.asarray(plan.memory, dtype=float)
    covered = float(plan.milestones[asked >= asked.max()][-1])
    return {
        # Number of runs with a segmentation that lasts beyond the last reservation with sufficient memory.
        "segmentations_cut": int(np.count_nonzero(runs.ends[:, machines.heavy] > covered)),
        "walltime_min": float(done.walltime.mean()) / 60,
        "reservation_min": float(done.reserved.mean()) / 60,
        "memory_gb": float(done.memory.mean()),
        "reservations": float(done.reservations.mean()),
        "short_checkpoints": int(done.short_checkpoints.sum()),
        "memory_failures": int(done.memory_failures.sum()),
        "runs": len(runs),
    }


#: Printed saving "20%-25%", with its rounding.
_SAVING = Near(0.225, 0.025 + ROUNDING, "the mean paired saving", "%", 100)
_INCREASE = 0.05
#: Upper bound of "a few minutes", and lower bound of "more than 3 hours" [min].
_FEW, _LONG = 10.0, 180.0
#: Printed factors, of all reservations and of the first.
_FACTOR, _FIRST = 1.7, 1.1
_PLACE = text("4.4")


def _values(tables: Tables, name: str, **values: Any) -> Any:
    """Values of a column, by number of past runs and repetition."""
    rows = sorted(rows_where(tables[""], **values), key=lambda row: (int(row["samples"]), int(row["repetition"])))
    return column(rows, name)


def _per_size(found: Mapping[str, Interval], pattern: str = ".1f") -> str:
    return "; ".join(f"{name} {item.text(pattern, 100)} %" for name, item in found.items())


def _judge(tables: Tables) -> Sequence[Verdict]:
    scales = list(dict.fromkeys(row["scale"] for row in rows_where(tables[""], machine=THERE)))
    verdicts: list[Verdict] = []
    for scale in scales:
        verdicts += [
            _saving_verdict(tables, scale),
            *_increase(tables, scale),
            _overlap(tables, scale),
            _minutes(tables, scale),
        ]
    verdicts.append(_hours(tables, scales[0]))
    if "measured" in scales:
        verdicts += _factors(tables)
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _sizes(tables: Tables) -> list[int]:
    return sorted({row["samples"] for row in tables[""]})


def _saving_verdict(tables: Tables, scale: str) -> Verdict:
    there = {"machine": THERE, "scale": scale}
    savings = {
        f"k = {k}": interval(
            1.0
            - _values(tables, "memory_gb", samples=k, strategy=V2, **there)
            / _values(tables, "memory_gb", samples=k, strategy=_ALL, **there)
        )
        for k in _sizes(tables)
    }
    claim = f"{scale} factors: V2 asks for 20 to 25 % less memory on KNL than All-Ckpt"
    statement = Statement(claim, "20 % - 25 %", _PLACE)
    return statement.each(_SAVING, savings, _per_size(savings), f"{DRAWN}; {_failures(tables[''], scale)}")


def _failures(rows: Sequence[Row], scale: str) -> str:
    found = rows_where(rows, machine=THERE, scale=scale, strategy=V2)
    short, exceeded = (int(column(found, name).sum()) for name in ("short_checkpoints", "memory_failures"))
    runs = int(column(found, "runs").sum())
    return f"V2: {short} checkpoints too small, memory exceeded {exceeded} times in {runs} runs"


def _increase(tables: Tables, scale: str) -> list[Verdict]:
    more = {
        f"k = {k}": ratio(
            _values(tables, "memory_gb", samples=k, strategy=V2, machine=THERE, scale=scale),
            _values(tables, "memory_gb", samples=k, strategy=V2, machine=HERE),
        )
        for k in _sizes(tables)
    }
    higher = Statement(f"{scale} factors: V2 asks for more memory on KNL than on Haswell", "higher", _PLACE)
    worst = Statement(f"{scale} factors: it asks for at most 5 % more", "5 % in the worst case", _PLACE)
    bound = AtMost(_INCREASE + ROUNDING, "the mean paired increase", "%", 100)
    measured = _per_size(more, "+.1f")
    return [
        higher.each(Above(quantity="the mean paired increase"), more, measured, DRAWN),
        worst.each(bound, more, measured, DRAWN),
    ]


def _overlap(tables: Tables, scale: str) -> Verdict:
    counts = {}
    for machine, name in ((HERE, _OWN), (THERE, scale)):
        rows = rows_where(tables[""], machine=machine, scale=name, strategy=V2)
        counts[machine] = sum(row["segmentations_cut"] for row in rows), sum(row["runs"] for row in rows)
    measured = ", ".join(f"{machine} {cut} of {runs} runs" for machine, (cut, runs) in counts.items())
    claim = f"{scale} factors: no reservation of V2 without the memory for it overlaps the segmentation"
    statement = Statement(claim, "factors are chosen so", _PLACE)
    rule = "holds if the segmentation of no run on KNL outlives the reservations for it"
    return statement.exact_verdict(counts[THERE][0] == 0, rule, f"it does in {measured}", DRAWN)


def _minutes(tables: Tables, scale: str) -> Verdict:
    there = {"machine": THERE, "scale": scale, "strategy": V2}
    asked = _values(tables, "reservation_min", **there)
    gap = paired_interval(asked, _values(tables, "unscaled_overheads_min", **there))
    flat = _values(tables, "reservation_min", **{**there, "strategy": _ALL}).mean()
    claim = f"{scale} factors: scaling checkpoints and restarts, too, costs V2 a few minutes"
    measured = f"{gap.text('.1f')} min of {asked.mean():.0f} min (All-Ckpt {flat:.0f} min)"
    rule = AtMost(_FEW, "the mean paired difference", "min")
    return Statement(claim, "a few minutes", _PLACE).judge(rule, gap, measured, DRAWN)


def _hours(tables: Tables, scale: str) -> Verdict:
    """Judge the walltimes, which do not depend on the factors."""
    found = interval(_values(tables, "walltime_min", machine=THERE, scale=scale, strategy=V2))
    statement = Statement("the walltime on KNL is more than 3 hours", "> 3 h", _PLACE)
    return statement.judge(Above(_LONG, "the mean walltime", "min"), found, f"{found.text('.0f')} min", DRAWN)


def _factors(tables: Tables) -> list[Verdict]:
    rows = rows_where(tables[""], scale="measured", strategy=V2)
    verdicts = []
    for name, printed, title, remark in (
        ("factor", _FACTOR, "the factor of all reservations", "the slowdown of the walltimes"),
        ("first", _FIRST, "the factor of the first reservation", "the least slowdown before task 5"),
    ):
        values = column(rows, name)
        found = interval(values)
        statement = Statement(f"{title}, computed from a few runs", f"{printed:g}", _PLACE)
        rule = Near(printed, SHARE * printed, "the mean factor")
        measured = f"{found.text('.2f')}, {values.min():.2f} to {values.max():.2f}"
        verdicts.append(statement.judge(rule, found, measured, f"{remark}; {DRAWN}"))
    return verdicts


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import COLUMN, new_figure, subplots
    from holdfast.experiments.figures.style import dress, legend_above

    rows = tables[""]
    sizes = sorted({row["samples"] for row in rows})
    kinds = list(dict.fromkeys((row["strategy"], row["machine"], row["scale"]) for row in rows))
    shades = {_ALL: ("#0072B2", "#56B4E9", "#A9D8F2"), V2: ("#B36B00", "#E69F00", "#F5D38C")}
    figure = new_figure(COLUMN * 1.6, 3.2)
    axes = subplots(figure)
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
    dress(axes, x="past runs", y="requested memory (GB)", grid="y")
    legend_above(figure, list(handles.values()), list(handles), columns=2)
    return mark_figure(figure, tables)


_QUICK = Transfer(runs=30, samples=(5, 20), repetitions=3, n=300)

EXPERIMENTS = (
    Experiment("profiles-fig18", "SLANT: memory requests of reservations scaled to another machine",
               "Does a plan from another machine still save memory?", Transfer(), _QUICK, _measure,
               _judge, _draw),
)  # fmt: skip
