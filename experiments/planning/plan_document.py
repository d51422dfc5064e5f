"""Output of ``holdfast plan``: JSON document, table of reservations, and comparison of strategies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.tables import render
from holdfast.experiments.terminal import WIDTH
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.units import walltime_text
from holdfast.workloads.ground.wording import join_words

if TYPE_CHECKING:
    from holdfast.policies.planning.plan import ReservationPlan
    from holdfast.workloads.distributions.distribution import Distribution

__all__ = [
    "comparison_row",
    "comparison_table",
    "document",
    "fit_table",
    "outcome",
    "plan_table",
    "request_sentence",
]


def document(plan: ReservationPlan, distribution: Distribution) -> dict[str, Any]:
    """JSON document of a plan for ``--json``; times and costs in seconds.

    Parameters
    ----------
    plan
        The plan.
    distribution
        Distribution of the runtime, for expected cost and probabilities.
    """
    columns = {
        "milestone": plan.milestones,
        "checkpointed": plan.checkpointed,
        "length": plan.length,
        "restart": plan.restart,
        "work": plan.work,
        "checkpoint": plan.checkpoint,
        "probability": plan.probabilities(distribution),
    }
    values = {name: column.tolist() for name, column in columns.items()}
    return {
        "strategy": plan.strategy,
        "expected_cost": float(plan.expected_cost(distribution)),
        "omniscient_cost": float(plan.omniscient_cost(distribution)),
        "costs": plan.costs.to_dict(plan.milestones),
        "extension": plan.extension,
        "extension_checkpointed": plan.extension_checkpointed,
        **({"growth": plan.growth.to_dict()} if plan.growth is not None else {}),
        "reservations": [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)],
    }


_RESERVATIONS = (
    Quantity("number", "#"),
    Quantity("length", "ask for", "s"),
    Quantity("clock", " ", "HH:MM:SS"),
    Quantity("restart", unit="s", digits=0),
    Quantity("work", unit="s", digits=0),
    Quantity("checkpoint", unit="s", digits=0),
    Quantity("milestone", "work done", "HH:MM:SS"),
    Quantity("probability", "needed", "%", scale=100),
)
#: Most reservations after the first that a sentence names.
_NAMED = 4
#: Legend of a choice that is not the cheapest.
_NOT_CHEAPEST = (
    "* chosen: the nearest to the runs (least error) of the usual distributions within 2 standard errors of the least "
    "cost"
)
#: Columns omitted for a plan without checkpoints.
_OF_CHECKPOINTS = ("restart", "work", "checkpoint", "milestone")


def plan_table(document: Mapping[str, Any], most: int | None = 20) -> str:
    """The reservations of a document of :func:`document`, for a terminal.

    Parameters
    ----------
    document
        The plan.
    most
        Largest number of reservations shown, always including the last; None: all.
    """
    rows: list[dict[str, Any]] = [
        {
            **row,
            "number": number,
            "length": math.ceil(row["length"] - 1e-6),
            "clock": walltime_text(row["length"]),
            "checkpoint": row["checkpoint"] if row["checkpointed"] else "no",
            "milestone": walltime_text(row["milestone"]),
        }
        for number, row in enumerate(document["reservations"], 1)
    ]
    # Without checkpoints every reservation starts from the beginning.
    saves = any(row["checkpointed"] for row in document["reservations"])
    columns = [column for column in _RESERVATIONS if saves or column.name not in _OF_CHECKPOINTS]
    if most is None or len(rows) <= most:
        return render(rows, columns)
    shown = [*rows[: most - 2], {"number": "...", "clock": "..."}, rows[-1]]
    left_out = len(rows) - most + 1
    return f"{render(shown, columns)}\n{left_out} before the last one are left out here; --json writes them all"


def outcome(plan: Mapping[str, Any], needed: float) -> str:
    """Sentence on the cost of a plan.

    Parameters
    ----------
    plan
        The plan.
    needed
        Expected number of reservations.
    """
    cost, least = plan["expected_cost"], plan["omniscient_cost"]
    return (
        f"{plan['strategy']}: expected cost {cost:,.0f} s ({walltime_text(cost)}), {cost / least:.3f} x that of an "
        f"omniscient user ({least:,.0f} s); {needed:.2f} reservations on average"
    )


def request_sentence(plan: Mapping[str, Any]) -> str:
    """Say what to ask for, one reservation after the other.

    >>> plan = {"reservations": [{"length": 3600.0, "checkpointed": True}, {"length": 7200.0, "checkpointed": False}]}
    >>> request_sentence(plan)
    'Ask for 01:00:00; if the job has not ended then, for 02:00:00, from its last checkpoint.'
    """
    rows = plan["reservations"]
    first, *rest = (walltime_text(row["length"]) for row in rows)
    if not rest:
        return f"Ask for {first}."
    named = join_words(rest) if len(rest) <= _NAMED else f"{', '.join(rest[:_NAMED])} and so on"
    saves = [row["checkpointed"] for row in rows[:-1]]
    where = "from its last checkpoint" if all(saves) else "from the beginning"
    if any(saves) and not all(saves):
        where = "from its last checkpoint, if it has one"
    return f"Ask for {first}; if the job has not ended then, for {named}, {where}."


def comparison_row(plan: ReservationPlan, distribution: Distribution, runs: Any = None) -> dict[str, Any]:
    """A strategy's line in :func:`comparison_table`; ``runs``: runtimes of past runs, for their mean cost."""
    cost = float(plan.expected_cost(distribution))
    return {
        "strategy": plan.strategy,
        "cost": cost,
        "clock": walltime_text(cost),
        "normalised": cost / float(plan.omniscient_cost(distribution)),
        "past": None if runs is None else float(plan.paid_cost(runs).mean()),
        "reservations": len(plan.milestones),
        "expected": float(plan.expected_reservations(distribution)),
        "first": walltime_text(float(plan.length[0])),
    }


def comparison_table(rows: Sequence[Mapping[str, Any]], past: bool) -> str:
    """Table of strategies: expected cost, ratio to the omniscient cost, number and first of the reservations."""
    columns = [
        Quantity("strategy"),
        Quantity("cost", "expected cost", "s", digits=0),
        Quantity("clock", " ", "HH:MM:SS"),
        Quantity("normalised", "/ omniscient", digits=3),
        *([Quantity("past", "past runs", "s mean", digits=0)] if past else []),
        Quantity("reservations"),
        Quantity("expected", "needed", "mean", digits=2),
        Quantity("first", "first", "HH:MM:SS"),
    ]
    return render(rows, columns)


def fit_table(rows: Sequence[Mapping[str, Any]], most: int = 8) -> str:
    """Candidate distributions of past runs, best first: RMS error of the CDF, cost of their plans on unseen runs.

    Parameters
    ----------
    rows
        Rows of :meth:`holdfast.workloads.fits.FitReport.rows`.
    most
        Largest number of candidates shown, always including the chosen one.
    """
    chosen = next(row for row in rows if row["chosen"])
    listed = [*rows[:most]] if chosen in rows[:most] else [*rows[: most - 1], chosen]
    shown = [
        {
            "name": f"{'*' if row['chosen'] else ' '} {row['name']}",
            "error": None if row["error"] is None else math.sqrt(row["error"]),
            "cost": row["cost"],
            "parameters": row["reason"] or row["parameters"],
        }
        for row in listed
    ]
    columns = (
        Quantity("name", "fit"),
        Quantity("error", "error", "RMS", digits=4),
        Quantity("cost", "unseen runs", "s mean", digits=0),
        Quantity("parameters", "parameters, or why not"),
    )
    # A polynomial has more coefficients than a terminal has columns.
    table = render(shown, columns).splitlines()
    lines = [line[:WIDTH] if line[WIDTH:].strip("-") == "" else f"{line[: WIDTH - 4].rstrip()} ..." for line in table]
    least = min((row["cost"] for row in rows if row["cost"] is not None), default=None)
    if chosen["cost"] is not None and chosen["cost"] > least:
        lines.append(_NOT_CHEAPEST)
    return "\n".join(lines)
