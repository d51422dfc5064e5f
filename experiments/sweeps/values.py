"""Values: what may stand behind a key of a sweep, and what it is turned into.

Each function takes the raw value (and the type, which it knows) as cattrs hands it over. The name that an error carries
is empty: the path of the key is put there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from experiments.recordings.replay import parse_mechanisms
from experiments.sweeps.configuration import VARY
from simulator.options import Options
from workloads.ground.errors import ParameterError, UnknownNameError
from workloads.ground.numbers import is_number, is_whole
from workloads.ground.units import LARGEST_TIME, parse_duration
from workloads.hybrid.assignment import Assignment
from workloads.logs.readers import READERS
from workloads.theta.year import LARGEST

__all__ = [
    "DURATIONS",
    "Hook",
    "axis",
    "duration",
    "flag",
    "format_name",
    "lengths",
    "mechanisms",
    "positive",
    "seeds",
    "several",
    "text",
    "vary",
    "whole",
    "wrong",
]

#: Parameters that are durations, and so may carry a unit.
DURATIONS = frozenset({"notice_lead", "lateness", "node_mtbf", "warning", "timeout"})

#: Seeds that a range may have.
_MOST_SEEDS = 100_000

#: The largest whole number: those of the tables have 64 bits.
_LARGEST = 2**63 - 1

#: Makes a value of what was written, or says why not.
Hook = Callable[[Any, Any], Any]


def wrong(legal: str, raw: Any) -> ParameterError:
    return ParameterError("", legal, raw)


def text(raw: Any, _: Any = None) -> str:
    if not isinstance(raw, str):
        raise wrong("a text", raw)
    return raw


def flag(raw: Any, _: Any = None) -> bool:
    if not isinstance(raw, bool):
        raise wrong("true or false", raw)
    return raw


def positive(raw: Any, _: Any = None) -> int:
    return _whole(raw, 1)


def whole(raw: Any, _: Any = None) -> int:
    return _whole(raw, 0)


def _whole(raw: Any, least: int, most: int = _LARGEST) -> int:
    if not is_whole(raw, least):
        raise wrong(f"a whole number of at least {least}", raw)
    if raw > most:
        raise wrong(f"a whole number of at most {most:,}", raw)
    return raw


def _number(raw: Any) -> float:
    if not is_number(raw):
        raise wrong("a number", raw)
    try:
        return float(raw)
    except OverflowError:
        raise wrong("a number below 1e308", raw) from None


def duration(raw: Any, _: Any = None) -> float:
    value = parse_duration(raw, "") if isinstance(raw, str) else _number(raw)
    if not 0 <= value < float("inf"):
        raise wrong("a duration of at least 0, such as 90s, 12h or 5y", raw)
    if value > LARGEST_TIME:
        raise wrong(f"a duration of at most {LARGEST_TIME:,.0f} s", raw)
    return value


def several(raw: Any) -> list[Any]:
    """A list that is not empty, or one value as a list."""
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
    return tuple(_whole(seed, 0) for seed in given)


def _is_seed(text: str) -> bool:
    """Whether a text is a whole number that is not beyond all measure."""
    return re.fullmatch(r"\s*[0-9]{1,100}\s*", text) is not None


def lengths(raw: Any, _: Any) -> tuple[int, ...]:
    return tuple(_whole(length, 1, LARGEST) for length in several(raw))


def mechanisms(raw: Any, _: Any) -> tuple[str, ...]:
    return tuple(parse_mechanisms(",".join(text(name) for name in several(raw))))


def format_name(raw: Any, _: Any) -> str:
    name = text(raw)
    logs = [known for known in READERS if known != "job-table"]
    if name == "job-table" or (":" not in name and name not in READERS and name not in READERS.listing()):
        raise UnknownNameError("format", name, logs)
    _ = READERS[name]
    return name


def vary(raw: Any, _: Any) -> str:
    if raw not in VARY:
        raise wrong(" or ".join(VARY), raw)
    return str(raw)


def _value(kind: type[Assignment] | type[Options], name: str, default: Any, raw: Any) -> Any:
    """One legal value of a parameter."""
    number = duration if name in DURATIONS else _number
    if isinstance(default, tuple):
        if not isinstance(raw, list | tuple) or len(raw) != len(default):
            raise wrong(f"{len(default)} numbers", raw)
        value: Any = tuple(number(part) for part in raw)
    elif isinstance(default, int):
        value = whole(raw)
    elif isinstance(default, str):
        value = tuple(_number(part) for part in raw) if _is_mix(name, raw) else text(raw)
    else:
        value = number(raw)
    try:
        kind(**{name: value})
        if name == "plan":
            _check_plan(value)
    except ParameterError as error:
        raise wrong(error.legal, raw) from None  # what was written, not what it was turned into
    return value


def _check_plan(name: str) -> None:
    """Refuse what is no planning strategy; a sweep gives no plans of its own."""
    from policies.planning.planbook import PlanBook

    PlanBook().check(name)


def _is_mix(name: str, raw: Any) -> bool:
    """Whether it is the four shares of one notice mix."""
    return name == "notice_mix" and isinstance(raw, list | tuple) and not any(isinstance(part, str) for part in raw)


def axis(kind: type[Assignment] | type[Options], name: str) -> Hook:
    """Reads the values that a parameter takes: one, or a list."""
    default = getattr(kind(), name)

    def values(raw: Any, _: Any) -> tuple[Any, ...]:
        numbers = isinstance(default, tuple) or _is_mix(name, raw)
        if numbers and isinstance(raw, list | tuple) and raw and not isinstance(raw[0], list | tuple):
            return (_value(kind, name, default, raw),)
        return tuple(_value(kind, name, default, part) for part in several(raw))

    return values
