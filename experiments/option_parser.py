"""Command-line parser built from the dataclasses that declare the parameters
(``holdfast.workloads.ground.parameters``).

argparse converts each word by the type of its field; the values are then assembled into the dataclasses of a command.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Any, TypeVar, get_origin

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.ground.parameters import (
    Declared,
    Parameter,
    declared_parameters,
    field_types,
    read_choice,
    type_parts,
)
from holdfast.workloads.ground.units import parse_duration

__all__ = ["Reader", "Word", "add_options", "bare_times", "read_arguments"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the command line and its value."""

    text: str
    value: Any

    def __str__(self) -> str:
        return self.text


class Reader:
    """Converter for the word of an option: the ``type=`` of argparse.

    Parameters
    ----------
    item
        The parameter.
    split
        Function that splits a list of values; None: a single value.
    """

    def __init__(self, item: Declared, split: Callable[[str, str], list[str]] | None) -> None:
        self.item = item
        self._split = split

    def __call__(self, text: str) -> Word | tuple[Word, ...]:
        if self._split is None:
            return Word(text, self.read(text))
        return tuple(Word(one, self.read(one)) for one in self._split(text, self.item.option))

    def read(self, text: str) -> Any:
        """The value of one word.

        Raises
        ------
        ParameterError
            With the option, the legal values and the word.
        """
        item = self.item
        try:
            if item.values is not None and not (item.checked and get_origin(item.type) is tuple):
                value = item.values.read(text)
                if not item.checked:
                    return value
            if item.checked:
                from holdfast.workloads.hybrid.parameter_parsing import option_value

                return option_value(item.owner, item.name, text)
            return read_choice(item.choices, text) if item.choices else text
        except ParameterError as error:
            if error.parameter:
                raise
            raise ParameterError(item.option, error.legal, error.received) from None


class _Names:
    """The names in a mapping, which is imported only when they are printed.

    Parameters
    ----------
    place
        The mapping, as ``module:name``.
    """

    def __init__(self, place: str) -> None:
        self._place = place

    def __str__(self) -> str:
        *names, last = resolve_name(self._place)
        return f"{', '.join(names)} or {last}"


def add_options(
    parser: argparse.ArgumentParser,
    kind: type[Any],
    lists: Mapping[str, Callable[[str, str], list[str]]] | None = None,
) -> None:
    """Add an option for each declared parameter of a dataclass.

    Parameters
    ----------
    parser
        Parser of the command.
    kind
        The dataclass.
    lists
        Functions that split the words of parameters with several values, by name; None: there are none.
    """
    groups: dict[str, Any] = {"": parser}
    for item in declared_parameters(kind):
        parameter = item.parameter
        if parameter.group not in groups:
            groups[parameter.group] = parser.add_argument_group(parameter.group)
        names = [*([parameter.short] if parameter.short else []), *(parameter.names or (f"--{item.option[2:]}",))]
        how: dict[str, Any] = {}
        if item.type is bool:
            how["action"] = "store_true"
        else:
            how |= {"metavar": item.metavar, "type": Reader(item, (lists or {}).get(item.name))}
        required = item.required
        if parameter.positional:
            names = [item.name]
            if parameter.repeated or not required:
                how["nargs"] = "?" if not parameter.repeated else "+" if required else "*"
        else:
            how |= {"dest": item.name} | ({"required": True} if required else {})
            how |= {"action": "append"} if parameter.repeated else {}
            how |= {"nargs": "?", "const": parameter.bare} if parameter.bare else {}
        action = groups[parameter.group].add_argument(*names, **how)
        if parameter.names_in:
            action.names = _Names(parameter.names_in)  # argparse puts it into the help
        # add_argument of Python 3.14 formats a help text at once, before the names are set.
        action.help = item.help


def read_arguments(kind: type[_T], parsed: argparse.Namespace) -> _T:
    """Make a dataclass from the parsed words.

    Parameters
    ----------
    kind
        The dataclass that declared the options of the parser.
    parsed
        Result of argparse. The first value of a list is taken; a field of this type gets the result itself.

    Raises
    ------
    ParameterError
        If the class refuses its values; with the option.
    """
    options = {item.name: item for item in declared_parameters(kind)}
    try:
        return kind(**dict(_values(kind, parsed, options)))
    except ParameterError as error:
        if error.parameter not in options:
            raise
        raise ParameterError(options[error.parameter].option, error.legal, error.received) from None


def bare_times(kind: type[Any], parsed: argparse.Namespace) -> str:
    """Hint at times without a unit beside times with one, as in ``--mean 21 --checkpoint 10m``; empty if none.

    Numbers alone are no slip: a user of seconds writes all times so.

    Parameters
    ----------
    kind
        The dataclass that declared the options of the parser.
    parsed
        Result of argparse.
    """
    bare: list[str] = []
    units, elsewhere = False, ""
    for item in declared_parameters(kind):
        given = getattr(parsed, item.name)
        if item.metavar == "UNIT" and _duration(f"1{given}") not in (None, 1.0):
            units, elsewhere = True, f", as {item.option} does not apply to options"
        if not item.metavar.startswith("TIME"):
            continue
        # What may follow behind a bracket is no time.
        times, bracket, _ = item.metavar.partition("[")
        count = times.count(",") + 1 if bracket else None
        for word in given if isinstance(given, tuple | list) else [given]:
            for text in () if word is None else str(word).replace("/", ",").split(",")[:count]:
                if _is_number(text):
                    bare += [f"{item.option} {text.strip()}"] * (float(text) > 0)
                else:
                    units = units or _duration(text) is not None
    if not (bare and units):
        return ""
    number = bare[0].rpartition(" ")[2]
    named = (
        f"{', '.join(bare[:-1])} and {bare[-1]} have no unit and are" if bare[1:] else f"{bare[0]} has no unit and is"
    )
    return f"{named} in seconds{elsewhere}; other units are written as {number}m, {number}h or {number}d"


def _is_number(text: str) -> bool:
    try:
        decimal(text)
    except ValueError:
        return False
    return True


def _duration(text: str) -> float | None:
    """A duration [s]; None: the text is a date, or a word."""
    try:
        return parse_duration(text)
    except ParameterError:
        return None


def _values(kind: type[Any], parsed: argparse.Namespace, options: Mapping[str, Declared]) -> Iterator[tuple[str, Any]]:
    for name, source in _sources(kind):  # type: ignore[arg-type]  # a class is hashable
        if source is argparse.Namespace:
            yield name, parsed
        elif source is not None:
            yield name, read_arguments(source, parsed)
        else:
            given = getattr(parsed, name)
            repeated = options[name].parameter.repeated
            if isinstance(given, bool):
                yield name, given
            elif given is not None and not (repeated and not given):
                yield name, _value(given, repeated=repeated)


@cache
def _sources(kind: type[Any]) -> tuple[tuple[str, type[Any] | None], ...]:
    """Name of each field, and the class that its value is made of; None: its value is that of an option.

    Python compiles the annotations at each request, which took 13 % of the time of the tests of commands.
    """
    found: list[tuple[str, type[Any] | None]] = []
    for field in fields(kind):
        plain, notes = type_parts(field_types(kind)[field.name])
        if any(isinstance(note, Parameter) for note in notes):
            found.append((field.name, None))
        elif isinstance(plain, type) and (plain is argparse.Namespace or is_dataclass(plain)):
            found.append((field.name, plain))
    return tuple(found)


def _value(given: Any, *, repeated: bool) -> Any:
    if repeated:
        return tuple(word.value for word in given)
    return (given[0] if isinstance(given, tuple) else given).value
