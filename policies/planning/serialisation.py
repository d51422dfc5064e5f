"""Reading reservation plans from JSON."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from holdfast.policies.planning.costs import CostModel, Duration, Table
from holdfast.policies.planning.grid_refinement import Growth
from holdfast.workloads.ground.checksums import is_sealed
from holdfast.workloads.ground.documents import parse_json
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.numbers import is_number

__all__ = ["arguments"]

_PRICES = ("alpha", "beta", "gamma")
_TIMES = ("checkpoint", "restart")


def arguments(text: str) -> dict[str, Any]:
    """Parse the arguments of a plan from JSON.

    Raises
    ------
    InputError
        If the text is not a plan, or was changed after it was sealed; names the key, the legal values and the value.
    """
    shown = _object(parse_json(text), "this plan")
    is_sealed(text.encode(), shown)
    rows = _require(shown, "reservations", "")
    if not isinstance(rows, list) or not rows:
        raise ParameterError("reservations", "a list of at least one", rows)
    reservations = [_object(row, f"reservations[{place}]") for place, row in enumerate(rows)]

    def column(name: str, read: Any) -> list[Any]:
        places = [f"reservations[{place}]." for place in range(len(rows))]
        return [
            read(_require(row, name, where), f"{where}{name}") for row, where in zip(reservations, places, strict=True)
        ]

    milestones = column("milestone", _number)
    costs = _costs(_object(_require(shown, "costs", ""), "costs"))
    # Tables of durations are evaluated lazily; evaluating them here rejects illegal ones.
    costs.checkpoint_at(milestones)
    costs.restart_at(milestones)
    strategy = _require(shown, "strategy", "")
    if not isinstance(strategy, str):
        raise ParameterError("strategy", "a text", strategy)
    return {
        "milestones": milestones,
        "checkpointed": column("checkpointed", _flag),
        "costs": costs,
        "strategy": strategy,
        "memory": column("memory", _number) if any("memory" in row for row in reservations) else None,
        "extension": _number(_require(shown, "extension", ""), "extension"),
        "extension_checkpointed": _flag(_require(shown, "extension_checkpointed", ""), "extension_checkpointed"),
        "growth": _growth(_object(shown["growth"], "growth")) if "growth" in shown else None,
    }


def _growth(shown: dict[str, Any]) -> Growth:
    def read(name: str, reader: Any) -> Any:
        return reader(_require(shown, name, "growth."), f"growth.{name}")

    first, cells = int(read("first", _number)), int(read("cells", _number))
    return Growth(first, cells, read("gain", _number), read("settled", _flag))


def _costs(shown: dict[str, Any]) -> CostModel:
    unknown = next((name for name in shown if name not in (*_PRICES, *_TIMES)), None)
    if unknown is not None:
        raise UnknownNameError("key of costs", unknown, (*_PRICES, *_TIMES))
    readers: dict[str, Any] = {**dict.fromkeys(_PRICES, _number), **dict.fromkeys(_TIMES, _duration)}
    return CostModel(**{name: read(shown[name], f"costs.{name}") for name, read in readers.items() if name in shown})


def _duration(value: Any, name: str) -> Duration:
    """Read a duration, or a table of durations at milestones."""
    if not isinstance(value, dict):
        return _number(value, name)
    columns = [_require(value, key, f"{name}.") for key in ("milestones", "durations")]
    for key, column in zip(("milestones", "durations"), columns, strict=True):
        if not isinstance(column, list) or not column or len(column) != len(columns[0]):
            raise ParameterError(f"{name}.{key}", "a list of as many numbers as there are milestones", column)
    at, times = ([_number(each, name) for each in column] for column in columns)
    if any(later <= earlier for earlier, later in pairwise(at)):
        raise ParameterError(f"{name}.milestones", "ascending", at)
    return Table(at, times)


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ParameterError(name, "a JSON object", value)
    return value


def _require(shown: dict[str, Any], name: str, where: str) -> Any:
    if name not in shown:
        raise InputError(f"{where}{name} is missing: this is not a reservation plan")
    return shown[name]


def _number(value: Any, name: str) -> float:
    if not (is_number(value) and abs(value) < 1e300):
        raise ParameterError(name, "a finite number", value)
    return float(value)


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(name, "true or false", value)
    return value
