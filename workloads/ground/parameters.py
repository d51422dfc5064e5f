"""Declared parameters: the field of a dataclass carries the type, unit, legal values and help text of its parameter.

A field is annotated with a :class:`Parameter`, and with :class:`Values` if its type does not define the notation of
values. ``holdfast.experiments.option_parser`` derives the options of commands from these declarations alone:

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Notice:
...     lead: Annotated[Seconds, Parameter("time from the notice to the arrival")] = 900.0
>>> [(item.name, item.help) for item in declared_parameters(Notice)]
[('lead', 'time from the notice to the arrival [s] (default 15m)')]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import decimal, integer
from holdfast.workloads.ground.text_cells import LARGEST_WHOLE
from holdfast.workloads.ground.units import LARGEST_SIZE, LARGEST_TIME, duration_text, parse_duration

__all__ = [
    "Declared",
    "Group",
    "Nodes",
    "NonNegative",
    "Parameter",
    "Positive",
    "Seconds",
    "SecondsAbove0",
    "Seed",
    "Share",
    "Values",
    "Walltime",
    "changed_parameters",
    "check_choices",
    "choices",
    "declared_parameters",
    "duration",
    "field_types",
    "number",
    "read_choice",
    "share",
    "shorten",
    "times",
    "type_parts",
    "walltime",
    "whole",
    "wholes",
]


@dataclass(frozen=True)
class Values:
    """The notation of the values of a parameter.

    Attributes
    ----------
    metavar
        Placeholder of a value in the help, such as ``TIME``.
    read
        Converts a word to a value; its :class:`~holdfast.workloads.ground.errors.ParameterError` names no parameter.
    write
        Converts a value to a word, for the default in the help.
    unit
        Unit of bare numbers; empty: none.
    """

    metavar: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str
    unit: str = ""


@dataclass(frozen=True)
class Parameter:
    """Help text of a parameter, and the form of its option.

    Attributes
    ----------
    about
        Noun phrase or imperative, without unit and default.
    default
        If the default is None: a description of the behaviour without the option, or ``=`` and the effective value.
        Otherwise text that follows the default, including the comma or colon.
    metavar
        Placeholder of a value; empty: that of its :class:`Values`.
    names
        Option strings; empty: ``--name`` of the field.
    short
        Additional short option string, such as ``-o``.
    group
        Title of the group of options in the help.
    positional
        Whether the parameter is given without an option string.
    repeated
        Whether the option may be repeated; the field is then a tuple of values.
    names_in
        Mapping with the legal names, as ``module:name``; the help lists them. It is imported when the help is printed.
    bare
        Value of the option where no word follows it; empty: a word must follow.
    """

    about: str
    default: str = ""
    metavar: str = ""
    names: tuple[str, ...] = ()
    short: str = ""
    group: str = ""
    positional: bool = False
    repeated: bool = False
    names_in: str = ""
    bare: str = ""


@dataclass(frozen=True)
class Group:
    """Group title of a parameter, or, on a field with a dataclass, of its parameters that have no group."""

    title: str


@dataclass(frozen=True)
class Declared:
    """A declared parameter.

    Attributes
    ----------
    name
        Name of the field.
    owner
        Class of the field.
    parameter, values
        Annotations of the field; without :class:`Values`, the type defines how a word is read.
    type
        Type of the field without None.
    default
        Default of the field; :data:`dataclasses.MISSING`: the parameter is required.
    """

    name: str
    owner: type[Any]
    parameter: Parameter
    values: Values | None
    type: Any
    default: Any

    @property
    def option(self) -> str:
        """The longest option string; for a positional, its metavar."""
        if self.parameter.positional:
            return self.parameter.metavar
        return self.parameter.names[-1] if self.parameter.names else f"--{self.name.replace('_', '-')}"

    @property
    def checked(self) -> bool:
        """Whether the class of the field checks its values."""
        return hasattr(self.owner, "__post_init__") and self.default is not None

    @property
    def required(self) -> bool:
        """Whether the parameter has no default."""
        return self.default is MISSING

    @property
    def choices(self) -> tuple[str, ...]:
        """Legal values, if the type lists them."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def metavar(self) -> str:
        """Placeholder of a value in the help."""
        if self.parameter.metavar:
            return self.parameter.metavar
        if self.values is not None:
            return self.values.metavar
        return f"{{{','.join(self.choices)}}}" if self.choices else "NAME"

    @property
    def help(self) -> str:
        """Help text with unit and default; ``%(names)s`` is the placeholder for the names of ``names_in``."""
        parameter, values = self.parameter, self.values
        text = parameter.about
        if parameter.names_in:
            text += ": %(names)s"
        if values is not None and values.unit and f"[{values.unit}" not in text:
            text += f" [{values.unit}]"
        if self.type is bool or (parameter.positional and not parameter.default) or self.required:
            return text
        if self.default in (None, "", ()):
            words = parameter.default
            return f"{text} (default {words[1:]})" if words.startswith("=") else f"{text} (default: {words})"
        return f"{text} (default {self.write(self.default)}{parameter.default})"

    def write(self, value: Any) -> str:
        """Format a value in the notation of users."""
        if isinstance(value, tuple):
            return ",".join(map(self.write, value))
        if self.values is not None:
            return self.values.write(value)
        return f"{value:g}" if isinstance(value, float) else str(value)


def declared_parameters(kind: type[Any], group: str = "") -> tuple[Declared, ...]:
    """The declared parameters of a dataclass, including those of nested dataclasses.

    Parameters
    ----------
    kind
        A dataclass; fields without a :class:`Parameter` are skipped.
    group
        Group of parameters without one.
    """
    return _find_parameters(kind, group)  # type: ignore[arg-type]  # a class is hashable


@cache
def _find_parameters(kind: type[Any], group: str) -> tuple[Declared, ...]:
    found: list[Declared] = []
    for _, part, own in _parts(kind):  # type: ignore[arg-type]
        if not isinstance(part, Declared):
            found += declared_parameters(part, own or group)
        elif part.parameter.group:
            found.append(part)
        else:
            found.append(replace(part, parameter=replace(part.parameter, group=own or group)))
    return tuple(found)


def changed_parameters(instance: Any) -> Iterator[Declared]:
    """Iterate over the declared parameters of a dataclass, including nested ones, that differ from their defaults."""
    for name, part, _ in _parts(type(instance)):  # type: ignore[arg-type]
        value = getattr(instance, name)
        if not isinstance(part, Declared):
            yield from changed_parameters(value)
        elif value != part.default:
            yield part


def field_types(kind: type[Any]) -> Mapping[str, Any]:
    """The annotations of a class by field, with their notes; Python would compile their texts at each request."""
    return _hints(kind)  # type: ignore[arg-type]  # a class is hashable


@cache
def _hints(kind: type[Any]) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _parts(kind: type[Any]) -> tuple[tuple[str, Any, str], ...]:
    """Name, declared parameter or dataclass, and group of each field that is one of these."""
    found: list[tuple[str, Any, str]] = []
    for field in fields(kind):
        plain, notes = type_parts(field_types(kind)[field.name])
        parameter = next((note for note in notes if isinstance(note, Parameter)), None)
        group = next((note.title for note in notes if isinstance(note, Group)), "")
        if parameter is not None:
            values = next((note for note in notes if isinstance(note, Values)), None)
            default = field.default if field.default_factory is MISSING else field.default_factory()
            found.append((field.name, Declared(field.name, kind, parameter, values, plain, default), group))
        elif isinstance(plain, type) and is_dataclass(plain):
            found.append((field.name, plain, group))
    return tuple(found)


@cache
def choices(kind: type[Any]) -> dict[str, tuple[str, ...]]:
    """Legal values of each field of a dataclass that is annotated with a list of values."""
    plain = {name: type_parts(hint)[0] for name, hint in field_types(kind).items()}
    return {name: get_args(hint) for name, hint in plain.items() if get_origin(hint) is Literal}


def check_choices(instance: Any) -> None:
    """Check the fields of a dataclass that list their legal values.

    Raises
    ------
    ParameterError
        If a value is not legal; names the field and the legal values.
    """
    for name, legal in choices(type(instance)).items():  # type: ignore[arg-type]
        if getattr(instance, name) not in legal:
            raise ParameterError(name, _either(legal), getattr(instance, name))


def read_choice(legal: tuple[str, ...], text: str) -> str:
    """Read one of several names."""
    if text not in legal:
        raise ParameterError("", _either(legal), shorten(text))
    return text


def _either(legal: tuple[str, ...]) -> str:
    return " or ".join(legal) if len(legal) < 3 else f"one of {', '.join(legal)}"


def type_parts(hint: Any) -> tuple[Any, list[Any]]:
    """Split an annotated type into the type without None, and its annotations."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        plain, others = type_parts(inner)
        return plain, [*reversed(notes), *others]  # the outermost first
    if get_origin(hint) in (Union, UnionType):
        some = [part for part in get_args(hint) if part is not NoneType]
        if len(some) == 1:
            return type_parts(some[0])
        return hint, [note for part in some for note in type_parts(part)[1]]
    if get_origin(hint) is tuple:
        return hint, type_parts(get_args(hint)[0])[1]  # all parts are alike
    return hint, []


def shorten(text: str) -> str:
    """Cut a long word of the command line for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def whole(text: str, option: str = "", least: int = 0, most: int = LARGEST_WHOLE) -> int:
    """Read a whole number from ``least`` to ``most``."""
    try:
        value = integer(text)
    except ValueError:  # also of thousands of digits
        value = most + 1 if text.isascii() and text.strip().isdecimal() else least - 1
    if value < least:
        raise ParameterError(option, f"a whole number of at least {least}", shorten(text))
    if value > most:
        raise ParameterError(option, f"a whole number of at most {most:,}", shorten(text))
    return value


def number(text: str, option: str = "") -> float:
    """Read a positive number."""
    try:
        value = decimal(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ParameterError(option, "a positive number", text)
    return value


def share(text: str, option: str = "") -> float:
    """Read a share from 0 to 1."""
    try:
        value = decimal(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ParameterError(option, "a share from 0 to 1", text)
    return value


def duration(text: str, option: str = "", most: float = LARGEST_TIME) -> float:
    """Read a duration from 0 to ``most`` [s]."""
    value = parse_duration(text, option, most)
    if value < 0:
        raise ParameterError(option, "a duration of at least 0", text)
    return value


def walltime(text: str) -> float:
    """Read a walltime above 0 [s]; Slurm reads bare numbers as minutes, which the message recalls."""
    try:
        value = parse_duration(text)
    except ParameterError:
        value = 0.0
    if not value > 0:
        raise ParameterError("", "seconds, or [D-]HH:MM:SS, or a duration such as 90m, above 0", text)
    return duration(text)


def _above_0(text: str) -> float:
    value = duration(text)
    if not value > 0:
        raise ParameterError("", "a positive duration", text)
    return value


def _or_0(text: str) -> float:
    return 0.0 if text.strip() in ("0", "0.0") else number(text)


def _format_number(value: float) -> str:
    return f"{value:g}"


def wholes(least: int = 0, most: int = LARGEST_WHOLE, metavar: str = "N") -> Values:
    """Whole numbers from ``least`` to ``most``."""
    return Values(metavar, lambda text: whole(text, least=least, most=most))


def times(most: float) -> Values:
    """Durations from 0 to ``most`` [s]."""
    return Values("TIME", lambda text: duration(text, most=most), duration_text, "s")


Seconds = Annotated[float, Values("TIME", duration, duration_text, "s")]
SecondsAbove0 = Annotated[float, Values("TIME", _above_0, duration_text, "s")]
#: The help of each says "seconds, or [D-]HH:MM:SS", since Slurm reads bare numbers as minutes.
Walltime = Annotated[float, Values("TIME", walltime, duration_text)]
Share = Annotated[float, Values("SHARE", share, _format_number)]
Positive = Annotated[float, Values("NUMBER", number, _format_number)]
NonNegative = Annotated[float, Values("NUMBER", _or_0, _format_number)]
Nodes = Annotated[int, wholes(1, LARGEST_SIZE)]
Seed = Annotated[int, wholes(metavar="SEED"), Parameter("seed of every random choice")]
