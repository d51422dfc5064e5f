"""Reading of untrusted JSON and TOML as plain values, with a limit on the nesting depth."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import read_text

__all__ = ["DEEPEST", "parse_json", "parse_toml", "read_json", "read_toml"]

#: Maximum nesting depth of tables and lists; no file of Holdfast has more than six levels.
DEEPEST = 32

_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)
_TOO_DEEP = f"is nested more than {DEEPEST} levels deep"
_TOO_LONG = "holds a whole number of more than 4,300 digits, or a date that does not exist"


def read_json(path: str | Path) -> Any:
    """Parse a JSON file; see :func:`parse_json` and :func:`holdfast.workloads.ground.files.read_text`."""
    return parse_json(read_text(path), path)


def read_toml(path: str | Path) -> dict[str, Any]:
    """Parse a TOML file; see :func:`parse_toml` and :func:`holdfast.workloads.ground.files.read_text`."""
    return parse_toml(read_text(path), path)


def parse_json(text: str, path: str | Path | None = None) -> Any:
    """Parse JSON text.

    Parameters
    ----------
    text
        The document.
    path
        File of the document, for messages; None: no file.

    Raises
    ------
    InputError
        If it is not JSON, or nested too deeply; names file, line and column.
    """
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise _fault(path, error.lineno, f"is not JSON from column {error.colno} on") from None
    except RecursionError:
        raise _fault(path, None, _TOO_DEEP) from None
    except ValueError:
        raise _fault(path, None, _TOO_LONG) from None
    return _shallow(parsed, path)


def parse_toml(text: str, path: str | Path | None = None) -> dict[str, Any]:
    """Parse TOML text; parameters and errors as in :func:`parse_json`."""
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _PLACE.fullmatch(str(error))
        line, reason = (int(match[2]), f"{match[1]} in column {match[3]}") if match else (None, str(error))
        raise _fault(path, line, f"is not TOML: {reason}") from None
    except RecursionError:
        raise _fault(path, None, _TOO_DEEP) from None
    except ValueError:
        raise _fault(path, None, _TOO_LONG) from None
    table: dict[str, Any] = _shallow(parsed, path)
    return table


def _fault(path: str | Path | None, line: int | None, message: str) -> InputError:
    if path is not None:
        return TraceError(path, line, message)
    return InputError(message if line is None else f"line {line} {message}")


def _shallow(parsed: Any, path: str | Path | None) -> Any:
    """Return a document, or raise an error if it is nested too deeply."""
    level, depth = [parsed], 0
    while level:
        if depth > DEEPEST:
            raise _fault(path, None, _TOO_DEEP)
        holders = [item for item in level if isinstance(item, dict | list)]
        level = [part for item in holders for part in (item.values() if isinstance(item, dict) else item)]
        depth += 1
    return parsed
