"""Plans read from JSON."""

from __future__ import annotations

import json
from typing import Any

from policies.planning.costs import CostModel
from workloads.errors import InputError

__all__ = ["arguments"]


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
        costs = CostModel.from_dict(shown["costs"])
        milestones = [_number(row["milestone"]) for row in reservations]
        # A table of durations is only looked at where it is needed; a broken one is refused here.
        costs.checkpoint_at(milestones)
        costs.restart_at(milestones)
        with_memory = any("memory" in row for row in reservations)
        return {
            "milestones": milestones,
            "checkpointed": [_flag(row["checkpointed"]) for row in reservations],
            "costs": costs,
            "strategy": str(shown["strategy"]),
            "memory": [_number(row["memory"]) for row in reservations] if with_memory else None,
            "extension": _number(shown["extension"]),
            "extension_checkpointed": _flag(shown["extension_checkpointed"]),
        }
    except InputError:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise InputError(f"this is no reservation plan in JSON: {type(error).__name__}: {error}") from error


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value
