"""Parameters of experiments: paths of data files, and ``name=value`` settings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import ParameterError, TraceError, UnknownNameError
from holdfast.workloads.ground.files import file_sha256

__all__ = [
    "data_digests",
    "data_file",
    "data_files",
    "describe_changes",
    "or_none",
    "with_data",
    "with_recorded_data",
    "with_settings",
]

#: Metadata key of a field: the public data file for it.
_DATA = "data"
#: Metadata key of a field: 0 is legal although the default is positive.
_OR_NONE = "or none"
#: Most characters of a value in a sentence.
_SHOWN = 40


def or_none(default: float) -> Any:
    """Make a dataclass field for a number that may be 0 although its default is positive."""
    return field(default=default, metadata={_OR_NONE: True})


def data_file(name: str) -> Any:
    """Make a dataclass field for the path of a public data file; empty by default, so that generated data are used.

    Parameters
    ----------
    name
        Path in the directory of ``holdfast reproduce --data``, e.g. ``slant/slant_makespan.csv``.

    Returns
    -------
    field
        Field of a dataclass.
    """
    return field(default="", metadata={_DATA: name})


def data_files(parameters: Any) -> dict[str, str]:
    """Names of public data files, by parameter."""
    return {item.name: item.metadata[_DATA] for item in fields(parameters) if _DATA in item.metadata}


def with_data(parameters: Any, directory: Path) -> Any:
    """Set the parameters for public data files that exist in a directory."""
    paths = {name: directory / file for name, file in data_files(parameters).items()}
    return replace(parameters, **{name: str(path) for name, path in paths.items() if path.is_file()})


def with_recorded_data(parameters: Any, directory: Path | None, recorded: Path) -> Any:
    """Replace recorded paths of data files by files in a directory.

    The recorded paths are never opened, because a record from another user may name any file of this machine.

    Parameters
    ----------
    parameters
        Recorded parameters.
    directory
        Directory of public data; None: no directory.
    recorded
        File of the record, for the message.

    Raises
    ------
    TraceError
        If a parameter names a file, and the directory does not have the file for it.
    """
    changes = {}
    for name, file in data_files(parameters).items():
        if getattr(parameters, name):
            path = None if directory is None else directory / file
            if path is None or not path.is_file():
                raise TraceError(
                    recorded,
                    None,
                    f"was measured with the data file parameters.{name}, but recorded paths are not opened: "
                    f"give a directory that contains {file} with --data",
                )
            changes[name] = str(path)
    return replace(parameters, **changes)


def describe_changes(parameters: Any, full: Any) -> str:
    """Name the parameters that differ from those at full size, with both values; empty if none does.

    Parameters
    ----------
    parameters, full
        Two instances of one dataclass.
    """
    names = [item.name for item in fields(full) if getattr(parameters, item.name) != getattr(full, item.name)]
    texts = [[_short(getattr(each, name)) for each in (parameters, full)] for name in names]
    return ", ".join(f"{name}={here} ({there})" for name, (here, there) in zip(names, texts, strict=True))


def _short(value: Any) -> str:
    """A value as ``--set`` takes it; of a long one the beginning."""
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def data_digests(parameters: Any) -> dict[str, str]:
    """SHA-256 of the data files, by parameter.

    Raises
    ------
    TraceError
        If a file cannot be read.
    """
    paths = {name: getattr(parameters, name) for name in data_files(parameters)}
    return {name: file_sha256(path) for name, path in paths.items() if path}


def with_settings(parameters: Any, settings: Iterable[str]) -> Any:
    """Apply ``name=value`` settings to parameters; a value is parsed as the type of the default.

    Raises
    ------
    ParameterError, UnknownNameError
        If there is no such parameter, or a value is not legal.
    """
    known = {item.name: getattr(parameters, item.name) for item in fields(parameters)}
    from_zero = {item.name for item in fields(parameters) if _OR_NONE in item.metadata}
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError("--set", "NAME=VALUE", setting)
        if name not in known:
            raise UnknownNameError("parameter", name, known)
        changes[name] = _read_as(known[name], text, name, name in from_zero)
    return replace(parameters, **changes)


def _read_as(default: Any, text: str, name: str, from_zero: bool = False) -> Any:
    """Parse a value as the type of the default; commas separate the items of a tuple."""
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int | float):
            return _in_range(default, type(default)(text), from_zero)
        if isinstance(default, tuple):
            return tuple(_read_as(default[0] if default else "", part.strip(), name) for part in text.split(","))
    except (ValueError, KeyError):
        raise ParameterError(name, f"{_legal_values(default, from_zero)}, such as {default!r}", text) from None
    return text


def _legal_values(default: Any, from_zero: bool) -> str:
    """Describe the legal values of a parameter with a given default; :func:`_in_range` checks them."""
    if isinstance(default, bool | tuple):
        return "values" if isinstance(default, tuple) else "true or false"
    number = "a whole number" if isinstance(default, int) else "a number"
    if from_zero or default == 0:
        return f"{number} of 0 or more"
    return f"{number} above 0" if default > 0 else number


def _in_range(default: float, value: float, from_zero: bool) -> float:
    """Check a number, which must be positive if the default is positive, otherwise not negative."""
    if not math.isfinite(value) or value < 0 <= default or (value == 0 < default and not from_zero):
        raise ValueError
    return value
