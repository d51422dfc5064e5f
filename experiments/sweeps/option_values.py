"""Conversion and validation of the values in a sweep configuration.

Each function takes the raw value (and the type, which it knows) from cattrs. Errors are raised with an empty name; the
caller inserts the path of the key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from holdfast.experiments.recordings.replay import parse_mechanisms
from holdfast.experiments.sweeps.configuration import VARY
from holdfast.simulator.options import Options
from holdfast.simulator.resources.machine_replay import PLACEMENTS
from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.hybrid.parameter_parsing import is_mix, parameter_value, whole, wrong
from holdfast.workloads.logs.column_roles import parse_roles
from holdfast.workloads.logs.filters import parse_conditions, parse_unit
from holdfast.workloads.logs.readers import READERS

__all__ = [
    "Hook",
    "axis",
    "column_names",
    "conditions",
    "flag",
    "format_name",
    "lengths",
    "mechanisms",
    "positive",
    "presets",
    "seeds",
    "several",
    "text",
    "unit",
    "vary",
]

#: Largest number of seeds in a range.
_MOST_SEEDS = 100_000

#: The largest seed, because integers of the tables have 64 bits.
_LARGEST = 2**63 - 1
#: Largest number of jobs of a generated year: 27 years of Theta, about two gigabytes in each worker.
_MOST_JOBS = 1_000_000

#: Converts a raw value, or raises an error that states the legal values.
Hook = Callable[[Any, Any], Any]


def text(raw: Any, _: Any = None) -> str:
    if not isinstance(raw, str):
        raise wrong("a text", raw)
    return raw


def flag(raw: Any, _: Any = None) -> bool:
    if not isinstance(raw, bool):
        raise wrong("true or false", raw)
    return raw


def positive(raw: Any, _: Any = None) -> int:
    return whole(raw, 1)


def several(raw: Any) -> list[Any]:
    """A non-empty list, or a single value as a list."""
    if not isinstance(raw, list | tuple):
        return [raw]
    if not raw:
        raise wrong("a value, or a list of at least one", raw)
    return list(raw)


def seeds(raw: Any, _: Any = None) -> tuple[int, ...]:
    legal = 'a whole number of at least 0, a list of such, or a range such as "0:10"'
    if isinstance(raw, str):
        first, colon, end = raw.partition(":")
        if not (colon and _is_seed(first) and _is_seed(end) and int(first) < int(end)):
            raise wrong(legal, raw)
        if int(end) - int(first) > _MOST_SEEDS or int(end) > _LARGEST:
            raise wrong(f"a range of at most {_MOST_SEEDS:,} seeds up to {_LARGEST:,}", raw)
        return tuple(range(int(first), int(end)))
    given = several(raw)
    if not all(is_whole(seed, 0) for seed in given):
        raise wrong(legal, raw)
    return tuple(whole(seed, 0) for seed in given)


def _is_seed(text: str) -> bool:
    """Whether a text is a whole number within the range of seeds."""
    return re.fullmatch(r"\s*[0-9]{1,100}\s*", text) is not None


def lengths(raw: Any, _: Any) -> tuple[int, ...]:
    return tuple(whole(length, 1, _MOST_JOBS) for length in several(raw))


def presets(raw: Any, _: Any) -> tuple[str, ...]:
    return tuple(text(item) for item in several(raw))


def mechanisms(raw: Any, _: Any) -> tuple[str, ...]:
    return tuple(parse_mechanisms(",".join(text(name) for name in several(raw))))


def format_name(raw: Any, _: Any) -> str:
    name = text(raw)
    known = ":" in name or name in READERS or name in READERS.listing()
    if not known or not READERS[name].log:
        raise UnknownNameError("format", name, [other for other in READERS if READERS[other].log])
    return name


def conditions(raw: Any, _: Any) -> tuple[str, ...]:
    given = tuple(text(part) for part in several(raw))
    parse_conditions(given)
    return given


def unit(raw: Any, _: Any) -> str:
    return str(parse_unit(text(raw)))


def column_names(raw: Any, _: Any) -> str:
    given = text(raw)
    parse_roles(given)
    return given


def placement(raw: Any, _: Any) -> str:
    if raw not in PLACEMENTS:
        raise wrong(" or ".join(PLACEMENTS), raw)
    return str(raw)


def vary(raw: Any, _: Any) -> str:
    if raw not in VARY:
        raise wrong(" or ".join(VARY), raw)
    return str(raw)


def _check_plan(name: str) -> None:
    """Refuse a text that is not a planning strategy; a sweep does not accept plans from files."""
    from holdfast.policies.planning.plan_book import PlanBook

    PlanBook().check(name)


def axis(kind: type[Assignment] | type[Options], name: str) -> Hook:
    """Converter for the values of a parameter: one, or a list."""
    default = getattr(kind(), name)

    def value(raw: Any) -> Any:
        chosen = parameter_value(kind, name, raw)
        if name == "plan":
            _check_plan(chosen)
        return chosen

    def values(raw: Any, _: Any) -> tuple[Any, ...]:
        numbers = isinstance(default, tuple) or is_mix(name, raw)
        if numbers and isinstance(raw, list | tuple) and raw and not isinstance(raw[0], list | tuple):
            return (value(raw),)
        return tuple(value(part) for part in several(raw))

    return values
