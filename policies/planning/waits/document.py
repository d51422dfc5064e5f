"""Conversion of wait models to JSON, and reading of JSON, also from other tools."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.policies.planning.waits.lines import Line
from holdfast.policies.planning.waits.model import SizeClass, WaitFit, WaitModel
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.numbers import is_number, is_whole

__all__ = ["from_document", "to_document"]

#: Upper bound of prices, so that multiplying costs by them does not overflow.
_LARGEST = 1e100
_NUMBER = ("a finite number", -_LARGEST, _LARGEST)
_ABOVE = (f"a number above 0 and at most {_LARGEST:g}", math.ulp(0.0), _LARGEST)
_LEAST_0 = (f"a number from 0 to {_LARGEST:g}", 0.0, _LARGEST)
_SHARE = ("a number of at most 1", -_LARGEST, 1.0)

#: Required numbers of a fit. Optional numbers may be missing or null.
_PRICES = {"alpha": _ABOVE, "beta": _LEAST_0, "gamma": _LEAST_0}
_WORTH = {
    "walltime_from": _ABOVE,
    "walltime_to": _ABOVE,
    "alpha_error": _LEAST_0,
    "gamma_error": _LEAST_0,
    "r_squared": _SHARE,
    "r_squared_means": _SHARE,
    "spread": _LEAST_0,
}
_KEYS = (*_PRICES, "pairs", *_WORTH, "unconstrained")
#: Fields of the free line, by their names in the file.
_LINE = {
    "slope": "alpha",
    "intercept": "gamma",
    "slope_error": "alpha_error",
    "intercept_error": "gamma_error",
    "r_squared": "r_squared",
    "spread": "spread",
}


def to_document(model: WaitModel, **about: Any) -> dict[str, Any]:
    """Convert a model to plain Python values, in the format of ``holdfast fit-costs``; times in seconds.

    Parameters
    ----------
    model
        The fitted model.
    **about
        ``holdfast``: version of Holdfast; ``source``: description of the data.
    """
    return {
        **about,
        "unit": "s",
        "all": _fit_entry(model.all),
        "classes": [
            {
                "nodes_from": each.nodes_from,
                "nodes_to": each.nodes_to,
                "fallback": each.fallback,
                **_fit_entry(each.fit),
            }
            for each in model.classes
        ],
    }


def _fit_entry(fit: WaitFit) -> dict[str, Any]:
    shown = {name: getattr(fit, name) for name in _KEYS}
    if fit.unconstrained is not None:
        shown["unconstrained"] = {name: getattr(fit.unconstrained, field) for field, name in _LINE.items()}
    return shown


def from_document(data: object) -> WaitModel:
    """Convert a document of :func:`to_document` to a model, without the description of the data.

    Parameters
    ----------
    data
        Parsed JSON. Required keys are ``unit``, ``all`` with ``alpha``, ``beta`` and ``gamma``, and ``classes``; a
        class also needs ``nodes_from`` and ``nodes_to``.

    Raises
    ------
    InputError
        If a key is missing or unknown, or a value is illegal; names the key, the legal values and the value.
    """
    top = _object(data, "the document", ("holdfast", "source", "unit", "all", "classes"))
    if _require(top, "unit", "", "'s'") != "s":
        raise ParameterError("unit", "'s'", top["unit"])
    everyone = _fit(_object(_require(top, "all", "", "an object"), "all", _KEYS), "all")
    rows = _require(top, "classes", "", "a list")
    if not isinstance(rows, list):
        raise ParameterError("classes", "a list", rows)
    classes: list[SizeClass] = []
    for place, row in enumerate(rows):
        last = place == len(rows) - 1
        begin = 1 if not classes else (classes[-1].nodes_to or 0) + 1
        classes.append(_class(row, f"classes[{place}]", begin, last))
    return WaitModel(everyone, tuple(classes))


def _class(row: object, where: str, begin: int, last: bool) -> SizeClass:
    found = _object(row, where, ("nodes_from", "nodes_to", "fallback", *_KEYS))
    first = _require(found, "nodes_from", where, str(begin))
    if isinstance(first, bool) or first != begin:
        raise ParameterError(f"{where}.nodes_from", f"{begin}: classes begin at 1 and leave no gap", first)
    legal = "null in the last class" if last else f"a whole number of at least {begin}"
    end = _require(found, "nodes_to", where, legal)
    if last != (end is None) or (not last and not is_whole(end, begin)):
        raise ParameterError(f"{where}.nodes_to", legal, end)
    fallback = found.get("fallback", False)
    if not isinstance(fallback, bool):
        raise ParameterError(f"{where}.fallback", "true or false", fallback)
    return SizeClass(begin, end, _fit(found, where), fallback)


def _fit(found: Mapping[str, Any], where: str) -> WaitFit:
    values: dict[str, Any] = {
        name: _number(_require(found, name, where, distribution[0]), f"{where}.{name}", distribution)
        for name, distribution in _PRICES.items()
    }
    values |= {
        name: _optional_number(found.get(name), f"{where}.{name}", distribution)
        for name, distribution in _WORTH.items()
    }
    pairs, line = found.get("pairs"), found.get("unconstrained")
    if pairs is not None and not is_whole(pairs, 0):
        raise ParameterError(f"{where}.pairs", "a whole number of at least 0, or null", pairs)
    free = None if line is None else _line(line, f"{where}.unconstrained")
    return WaitFit(**values, pairs=pairs, unconstrained=free)


def _line(data: object, where: str) -> Line:
    found = _object(data, where, tuple(_LINE.values()))
    values: dict[str, Any] = {}
    for field, name in _LINE.items():
        if name in _PRICES:  # without the bounds that prices have
            value = _require(found, name, where, _NUMBER[0])
            values[field] = _number(value, f"{where}.{name}", _NUMBER)
        else:
            values[field] = _optional_number(found.get(name), f"{where}.{name}", _WORTH[name])
    return Line(**values)


def _object(data: object, where: str, known: Iterable[str]) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise ParameterError(where, "an object", data)
    legal = tuple(known)
    for name in data:
        if name not in legal:
            raise UnknownNameError(f"key of {where}", name, legal)
    return data


def _require(found: Mapping[str, Any], name: str, where: str, legal: str) -> Any:
    if name not in found:
        raise InputError(f"{where}.{name} must be {legal}, and is missing".removeprefix("."))
    return found[name]


def _optional_number(value: object, name: str, distribution: tuple[str, float, float]) -> float | None:
    return None if value is None else _number(value, name, distribution)


def _number(value: object, name: str, distribution: tuple[str, float, float]) -> float:
    legal, least, most = distribution
    # The comparison is written so that NaN fails it.
    if not (is_number(value) and least <= value <= most):
        raise ParameterError(name, legal, value)
    return float(value)
