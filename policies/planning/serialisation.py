"""Plans as rows, as plain values for JSON, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from policies.planning.costs import CostModel
from workloads.errors import InputError

if TYPE_CHECKING:
    from policies.planning.plan import ReservationPlan
    from workloads.laws import Law

__all__ = ["arguments", "rows", "to_dict"]


def rows(plan: ReservationPlan, law: Law | None) -> list[dict[str, Any]]:
    """One row for each reservation."""
    columns: dict[str, list[Any]] = {
        "milestone": plan.milestones.tolist(),
        "checkpointed": plan.checkpointed.tolist(),
        "length": plan.length.tolist(),
        "restart": plan.restart.tolist(),
        "work": plan.work.tolist(),
        "checkpoint": plan.checkpoint.tolist(),
    }
    if law is not None:
        columns["probability"] = plan.probabilities(law).tolist()
    if plan.memory is not None:
        columns["memory"] = plan.memory.tolist()
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def to_dict(plan: ReservationPlan, law: Law | None) -> dict[str, Any]:
    """The plan, what is expected of it where a law is given, its costs and its rows."""
    shown: dict[str, Any] = {"strategy": plan.strategy}
    if law is not None:
        shown |= {
            "expected_cost": plan.expected_cost(law),
            "omniscient_cost": plan.omniscient_cost(law),
            "expected_reservations": plan.expected_reservations(law),
        }
    shown["costs"] = plan.costs.to_dict(plan.milestones)
    shown |= {"extension": plan.extension, "extension_checkpointed": plan.extension_checkpointed}
    shown["reservations"] = rows(plan, law)
    return shown


def arguments(text: str) -> dict[str, Any]:
    """The arguments of the plan that JSON text holds.

    Raises
    ------
    InputError
        If the text is no plan.
    """
    try:
        shown = json.loads(text)
        reservations = shown["reservations"]
        return {
            "milestones": [row["milestone"] for row in reservations],
            "checkpointed": [row["checkpointed"] for row in reservations],
            "costs": CostModel.from_dict(shown["costs"]),
            "strategy": shown["strategy"],
            "memory": [row["memory"] for row in reservations] if "memory" in reservations[0] else None,
            "extension": shown["extension"],
            "extension_checkpointed": shown["extension_checkpointed"],
        }
    except (KeyError, IndexError, TypeError, json.JSONDecodeError) as error:
        raise InputError(f"this is no reservation plan in JSON: {type(error).__name__}: {error}") from error
