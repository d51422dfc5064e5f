"""Limits on recorded parameters, so that an archive from another user cannot request unreasonably large experiments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.numbers import is_number
from holdfast.workloads.ground.trust import admit

__all__ = ["FACTOR", "check_parameters"]

#: Largest ratio, in either direction, between a number and its value in the paper's sizes or in the small sizes.
FACTOR = 100
#: The largest legal number for parameters that are 0 in all of these sizes, which means none or all.
_FROM_ZERO = 1_000_000
#: Maximum length of a text, and of a list unless the paper's list is longer.
_LONGEST = 200


def check_parameters(paper: Any, quick: Any, given: Mapping[str, Any], path: Path) -> None:
    """Refuse recorded parameters that differ in type from those of the experiment or are unreasonably large.

    Parameters
    ----------
    paper, quick
        Parameters of the experiment in the paper's sizes and in small sizes.
    given
        Parameters in the file; unknown keys are ignored.
    path
        File of the record.

    Raises
    ------
    TraceError
        If a parameter is not legal, or names code without trust; the message names the parameter and the legal values.
    """
    known = [asdict(item) for item in (paper, quick) if is_dataclass(item) and not isinstance(item, type)]
    for name, value in given.items():
        own = [item[name] for item in known if name in item]
        if own:
            _check(own, value, f"parameters.{name}", path)


def _check(own: Sequence[Any], value: Any, name: str, path: Path) -> None:
    first = own[0]
    if isinstance(first, Mapping):
        if not isinstance(value, Mapping):
            raise _refusal(path, name, "a table", value)
        for key, part in value.items():
            inner = [item[key] for item in own if key in item]
            if inner:
                _check(inner, part, f"{name}.{key}", path)
    elif isinstance(first, tuple | list):
        _check_list(own, value, name, path)
    elif isinstance(first, bool):
        if not isinstance(value, bool):
            raise _refusal(path, name, "true or false", value)
    elif isinstance(first, int | float):
        _check_number(own, value, name, path)
    elif isinstance(first, str):
        if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
            raise _refusal(path, name, f"a text of at most {_LONGEST} characters", value)
        if value not in own:
            admit("parameter", value, path, key=name)


def _check_list(own: Sequence[Any], value: Any, name: str, path: Path) -> None:
    longest = max(_LONGEST, *(len(item) for item in own))
    if not isinstance(value, list) or len(value) > longest:
        raise _refusal(path, name, f"a list of at most {longest} values", value)
    parts = [part for item in own for part in item]
    for place, part in enumerate(value):
        # Items of lists that are empty in all sizes are names.
        _check(parts or [""], part, f"{name}[{place}]", path)


def _check_number(own: Sequence[float], value: Any, name: str, path: Path) -> None:
    sizes = [abs(number) for number in own if number and math.isfinite(number)]
    most = FACTOR * max(sizes) if sizes else _FROM_ZERO
    least = min(sizes) / FACTOR if sizes else 0.0
    whole = all(isinstance(number, int) for number in own)
    legal = f"{'a whole number' if whole else 'a number'} of at most {most:,.12g}, and 0 or at least {least:,.12g}"
    right = isinstance(value, int) if whole else is_number(value)
    if not right or isinstance(value, bool) or not (value == 0 or least <= abs(value) <= most):
        raise _refusal(path, name, legal, value)


def _refusal(path: Path, name: str, legal: str, value: Any) -> TraceError:
    return TraceError(path, None, f"{name} must be {legal}, not {format_value(value)}")
