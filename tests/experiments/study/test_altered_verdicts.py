"""Every judge, fed altered results: its verdicts must change, or they were never computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.beyond.gpu_victims import TODAY
from holdfast.experiments.beyond.sensitivity import FACTORS, METRICS
from holdfast.experiments.papers.hybrid.designs import resolution_five, year_blocks
from holdfast.experiments.papers.hybrid.factors import CROSSED, crossed_choices
from holdfast.experiments.papers.hybrid.fidelity import checkpoint_stage
from holdfast.experiments.papers.hybrid.readings import PAPER
from holdfast.experiments.study.experiment import Experiment, Tables, all_experiments
from holdfast.experiments.study.simulation_cache import ALL, COLUMNS, MIXES, SIX
from tests.experiments.papers.hybrid.test_hybrid_experiments import published_world, world
from tests.support.alterations import never_flips, outcome_text

#: Verdicts that no altered number changes: experiment, beginning of the claim, and why that is right.
EXCEPTIONS: Mapping[tuple[str, str], str] = {
    (
        "hybrid-readings",
        "One reading gives all",
    ): "it holds only if some forty claims hold at once, which no single change brings",
}


def stubborn(experiment: Experiment, tables: Tables) -> list[str]:
    """The claims that stay, without the exceptions."""
    own = tuple(words for name, words in EXCEPTIONS if experiment.id == name)
    return never_flips(experiment, tables, lambda claim: claim.startswith(own))


# Made-up tables of experiments with simulations: nothing is simulated.


def cells(**axes: tuple[Any, ...]) -> list[dict[str, Any]]:
    """A row for each trace and combination; metrics differ by trace, and a little by cell."""
    rows: list[dict[str, Any]] = [{"trace": trace} for trace in range(4)]
    for name, values in axes.items():
        rows = [{**row, name: value} for row in rows for value in values]
    return [
        {
            **row,
            **{
                column: (30.0 if column.endswith("_h") else 1.0)
                * (0.5 + 0.01 * row["trace"] + 0.002 * ((7 * number + 3 * place + row["trace"]) % 11))
                for place, column in enumerate(COLUMNS)
            },
        }
        for number, row in enumerate(rows)
    ]


def _observations() -> Tables:
    checkpoints = cells(checkpoint_factor=(0.5, 1.0), node_mtbf_years=(5.0,), mechanism=SIX, mix=("W5",))
    times = [{"mechanism": name, "p99_worst_run_ms": 2.0, "max_ms": 5.0, "runs": 4, "runs_below_10_ms": 4}
             for name in SIX]  # fmt: skip
    return {"": cells(mechanism=ALL, mix=MIXES), "checkpoints": checkpoints, "decisions": times}


def _readings() -> Tables:
    names = ("default", "tenants=fits")
    tables: dict[str, Any] = {}
    start = ("default", PAPER.name, f"{PAPER.name} shrink=minimum")
    for stage, own in {"finalists": names, "confirmation": names[1:], "": start}.items():
        tables[stage] = cells(reading=own, mechanism=ALL, mix=("W2", "W4"))
        tables[checkpoint_stage(stage)] = cells(reading=own, checkpoint_factor=(0.5, 1.0), mechanism=SIX, mix=("W5",))
    design = dict(
        zip((choice.name for choice in crossed_choices(CROSSED[:4], resolution_five(4))), year_blocks(4), strict=True)
    )
    for stage, axes in (
        ("screening", {"mechanism": ALL, "mix": ("W2", "W4")}),
        ("screening-checkpoints", {"checkpoint_factor": (0.5, 1.0), "mechanism": SIX, "mix": ("W4",)}),
    ):
        rows = cells(reading=tuple(design), **axes)
        tables[stage] = [row for row in rows if row["trace"] == design[row["reading"]]]
    return tables


def _sensitivity() -> Tables:
    rng = np.random.default_rng(5)
    rows = []
    for trajectory in range(5):
        place = rng.integers(0, 2, len(FACTORS))
        for step, moved in enumerate([-1, *rng.permutation(len(FACTORS)).tolist()]):
            if moved >= 0:
                place[moved] = 1 - place[moved]
            for mechanism in SIX:
                own = {f"place_{name}": float(at) for name, at in zip(FACTORS, place, strict=True)}
                metrics = {name: float(rng.uniform(1, 2)) for name in METRICS}
                rows.append(
                    {"trajectory": trajectory, "step": step, "trace": 0, **own, "mechanism": mechanism} | metrics
                )
    return {"": rows}


def _honesty() -> Tables:
    rows = cells(mechanism=("CUA-PAA", "CUP-PAA"), variant=("daly", "bare"), project=("x", "y"))
    names = ("lost_h", "longer_share", "preempted_more_share", "others_lost_minutes")
    return {"": [{**row, **dict.fromkeys(names, row["wait_h"] - 0.5)} for row in rows]}


def _front() -> Tables:
    options = ("default", "tenants=none", "notice_mix=W2", "backfill_length=runtime")
    rows = cells(mechanism=ALL, option=options)
    return {"": [row for row in rows if row["mechanism"] != "baseline" or row["option"] == "default"]}


def _theta() -> Tables:
    names = ("year", "year-generated", "year-generated-projects", "sample", "sample-generated")
    rows = cells(dataset=names, mechanism=ALL, mix=("W2", "W4"))
    return {"": rows, "data": [{"dataset": name, "real": 1} for name in names]}


def _orders() -> Tables:
    names = ("fcfs", "f1", "f2", "f3", "f4", "saf", "laf", "wfp3", "fairshare")
    rules = ("easy", "none", "conservative", "easy depth=8")
    sizes = ("all", "over 1,024 nodes")
    rows = cells(dataset=("generated", "theta-2022"), order=names, rule=rules, sizes=sizes)
    return {"": [{**row, "wait_p95_h": 2 * row["wait_h"]} for row in rows]}


def _advice() -> Tables:
    rng = np.random.default_rng(4)
    requests = ("own_h", "advice_h", "planner_h", "reserved_h", "omniscient_h")
    return {
        "": [
            {"log": log, "week": week, "job": job} | {name: float(rng.uniform(5, 9)) for name in requests}
            for log in ("generated", "kth", "theta")
            for week in range(8)
            for job in range(3)
        ]
    }


def _gpu() -> Tables:
    own = cells(dataset=("generated", "pooled", "helios"), mechanism=(*TODAY.values(), *SIX))
    return {"": [{**row, "lost_gpu_share": row["utilization"] / 4} for row in own]}


MADE_UP: Mapping[str, Callable[[], Tables]] = {
    "beyond-advice": _advice,
    "hybrid-table2": lambda: {"": cells(mechanism=("baseline",), mix=("W5",))},
    "hybrid-fig6": lambda: {"": cells(mechanism=ALL, mix=MIXES)},
    "hybrid-fig7": lambda: {"": _observations()["checkpoints"]},
    "hybrid-obs": _observations,
    "hybrid-latency": lambda: {"": _observations()["decisions"]},
    "hybrid-readings": _readings,
    "beyond-sensitivity": _sensitivity,
    "beyond-front": _front,
    "beyond-honesty": _honesty,
    "beyond-min-size": lambda: {"": cells(mechanism=SIX, min_share=(0.05, 0.2, 1.0))},
    "beyond-notice": lambda: {"": cells(mechanism=SIX, mix=("accurate",), notice_lead=(0.0, 0.5, 4.0))},
    "beyond-on-demand": lambda: {
        "": cells(mechanism=SIX, share=(0.05, 0.1, 0.2, 0.4)), "bearable": [{"level": 0.95}],
    },
    "beyond-gpu": _gpu,
    "beyond-machines": lambda: {
        "": cells(dataset=("generated", "kth"), order=("fcfs", "f1", "saf", "wfp3")),
        "mechanisms": cells(dataset=("generated", "kth"), mechanism=ALL),
    },
    "beyond-orders": _orders,
    "beyond-theta": _theta,
}  # fmt: skip


#: Less than half a second each; the others take longer.
QUICK = ("hybrid-table2", "hybrid-latency", "hybrid-fig7", "beyond-advice", "beyond-front", "beyond-honesty",
         "beyond-notice")  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MADE_UP]
)
def test_altered_numbers_change_the_verdicts(name: str) -> None:
    experiment = all_experiments()[name]
    tables = MADE_UP[name]()
    assert any(map(outcome_text, experiment.judge(tables)))
    assert stubborn(experiment, tables) == []


def test_turnaround_times_three_and_no_instant_starts_are_noticed() -> None:
    rows = [dict(row) for row in world(published_world, 1e-5)._rows]
    other = [
        {**row, **{name: 3 * row[name] for name in row if "turnaround" in name}, "instant_start_ratio": 0.0}
        for row in rows
    ]
    obs = all_experiments()["hybrid-obs"]
    before, after = (
        {verdict.claim.partition(":")[0]: verdict.outcome for verdict in obs.judge({**_observations(), "": own})}
        for own in (rows, other)
    )
    changed = {claim.removeprefix("Observation ") for claim in before if before[claim] != after[claim]}
    assert {"1c", "1e", "7b", "9a", "12b"} <= changed


CHEAP = ("hybrid-table1",)


@pytest.mark.parametrize("name", CHEAP)
def test_altered_measurements_change_the_verdicts(name: str, quick_tables: Callable[[str], Tables]) -> None:
    assert stubborn(all_experiments()[name], quick_tables(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(all_experiments()) - set(CHEAP)))
def test_altered_measurements_of_all_experiments_change_the_verdicts(
    name: str, quick_tables: Callable[[str], Tables]
) -> None:
    assert stubborn(all_experiments()[name], quick_tables(name)) == []
