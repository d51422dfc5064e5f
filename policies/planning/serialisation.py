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
