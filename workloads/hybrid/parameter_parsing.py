"""Parsing of parameter values from configuration files and command options."""

from __future__ import annotations

from functools import cache
from typing import Any

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import decimal, integer, is_number, is_whole
from holdfast.workloads.ground.parameters import Values, field_types, type_parts
from holdfast.workloads.ground.units import LARGEST_TIME, parse_duration

__all__ = ["duration", "is_duration", "is_mix", "number", "option_value", "parameter_value", "whole", "wrong"]

#: Parameters that accept either a name or numbers.
_NAMED = frozenset({"notice_mix"})
#: The largest whole number: integers of the tables have 64 bits.
_LARGEST = 2**63 - 1


def wrong(legal: str, raw: Any) -> ParameterError:
    """The error about a value; the caller adds the name of the parameter."""
    return ParameterError("", legal, raw)


def whole(raw: Any, least: int = 0, most: int = _LARGEST) -> int:
    """A whole number from ``least`` to ``most``."""
    if not is_whole(raw, least):
        raise wrong(f"a whole number of at least {least}", raw)
    if raw > most:
        raise wrong(f"a whole number of at most {most:,}", raw)
    return int(raw)


def number(raw: Any) -> float:
    """A number."""
    if not is_number(raw):
        raise wrong("a number", raw)
    try:
        return float(raw)
    except OverflowError:
        raise wrong("a number below 1e308", raw) from None


def duration(raw: Any) -> float:
    """A duration [s]: a number, or a text with a unit."""
    value = parse_duration(raw, "") if isinstance(raw, str) else number(raw)
    if not 0 <= value < float("inf"):
        raise wrong("a duration of at least 0, such as 90s, 12h or 5y", raw)
    if value > LARGEST_TIME:
        raise wrong(f"a duration of at most {LARGEST_TIME:,.0f} s", raw)
    return value


def parameter_value(kind: type[Any], name: str, raw: Any) -> Any:
    """Parse the value of a parameter.

    Parameters
    ----------
    kind
        Class of parameters with defaults, such as :class:`~holdfast.workloads.hybrid.type_mix.Assignment`; the class
        checks its values.
    name
        Name of a parameter. The type of its default decides between text and numbers; its annotation decides whether
        numbers are durations.
    raw
        Value as in a configuration file.

    Returns
    -------
    object
        Numbers as float, lists as tuples, durations in seconds.

    Raises
    ------
    ParameterError
        If the value is not legal; the error does not have the name of the parameter.
    UnknownNameError
        If the value is an unknown name.

    Examples
    --------
    >>> from holdfast.workloads.hybrid.assignment import Assignment
    >>> parameter_value(Assignment, "notice_lead", ["15m", 3600])
    (900.0, 3600.0)
    """
    default = getattr(kind(), name)
    of_part = duration if is_duration(kind, name) else number
    value: Any
    if isinstance(default, tuple):
        if not isinstance(raw, list | tuple) or len(raw) != len(default):
            raise wrong(f"{len(default)} numbers", raw)
        value = tuple(of_part(part) for part in raw)
    elif isinstance(default, int):
        value = whole(raw)
    elif isinstance(default, str):
        if is_mix(name, raw):
            value = tuple(number(part) for part in raw)
        elif isinstance(raw, str):
            value = raw
        else:
            raise wrong("a text", raw)
    else:
        value = of_part(raw)
    try:
        kind(**{name: value})
    except ParameterError as error:
        if error.parameter != name:  # a parameter of the plug-in that it names
            raise
        raise wrong(error.legal, raw) from None  # what was written, not what it was turned into
    return value


def is_duration(kind: type[Any], name: str) -> bool:
    """Whether a parameter of a class is a duration or a list of durations."""
    return name in _durations(kind)  # type: ignore[arg-type]  # a class is hashable


@cache
def _durations(kind: type[Any]) -> frozenset[str]:
    """Names of the parameters of a class that are durations or lists of durations."""
    notes = {name: type_parts(hint)[1] for name, hint in field_types(kind).items()}
    return frozenset(
        name for name, own in notes.items() if any(isinstance(note, Values) and note.unit == "s" for note in own)
    )


def is_mix(name: str, raw: Any) -> bool:
    """Whether a value is the four shares of one notice mix."""
    return name in _NAMED and isinstance(raw, list | tuple) and not any(isinstance(part, str) for part in raw)


def option_value(kind: type[Any], name: str, text: str) -> Any:
    """Parse the value of a parameter from its option, such as ``--notice-lead`` for ``notice_lead``.

    Parameters
    ----------
    kind, name
        As in :func:`parameter_value`.
    text
        A word of the command line, with commas between several numbers.

    Raises
    ------
    ParameterError
        If the value is not legal; names the option.
    UnknownNameError
        If the value is an unknown name.

    Examples
    --------
    >>> from holdfast.workloads.hybrid.assignment import Assignment
    >>> option_value(Assignment, "notice_mix", "0.4,0.3,0.2,0.1"), option_value(Assignment, "notice_mix", "W1")
    ((0.4, 0.3, 0.2, 0.1), 'W1')
    """
    default, timed = getattr(kind(), name), is_duration(kind, name)
    several = isinstance(default, tuple) or (name in _NAMED and "," in text)
    raw: Any = text
    if several:
        raw = [_parse_word(part, timed=timed) for part in text.split(",")]
    elif not isinstance(default, str):
        raw = _parse_word(text, timed=timed)
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    option = f"--{name.replace('_', '-')}"
    try:
        return parameter_value(kind, name, raw)
    except ParameterError as error:
        if error.parameter:
            raise
        how = ", separated by commas" if several and error.legal.endswith("numbers") else ""
        raise ParameterError(option, f"{error.legal}{how}", shown) from None


def _parse_word(text: str, *, timed: bool) -> Any:
    """Parse a number or a duration in a word of the command line to the value that a configuration file would have."""
    if timed:
        return text.strip()
    try:
        return integer(text)
    except ValueError:  # also of thousands of digits
        pass
    try:
        return decimal(text)
    except ValueError:
        return text
