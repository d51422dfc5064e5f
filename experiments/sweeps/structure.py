"""From TOML or keywords to a configuration; what is wrong is said in one sentence with its place and what is legal."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.replay import Measurement, parse_mechanisms
from experiments.sweeps.configuration import VARY, AssignmentAxes, OptionAxes, Sweep, TraceFile, Workload
from simulator.options import Options
from workloads.assignment import Assignment
from workloads.errors import InputError, ParameterError, UnknownNameError
from workloads.files import read_text
from workloads.readers import READERS
from workloads.units import parse_duration

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = ["DURATIONS", "make_sweep", "read_sweep"]

#: Parameters that are durations, and so may carry a unit.
DURATIONS = frozenset({"notice_lead", "lateness", "node_mtbf", "warning", "timeout"})

#: What a value is turned into, or a sentence that says why not.
_Hook = Callable[[Any, Any], Any]


def read_sweep(path: str | Path, settings: Sequence[str] = ()) -> Sweep:
    """The sweep of a TOML file.

    Parameters
    ----------
    path
        The file; relative paths of traces are relative to its directory.
    settings
        Changes as ``key=value``, e.g. ``assignment.notice_mix=["W1", "W5"]``; a value that is not TOML is a text.

    Raises
    ------
    InputError
        If the file cannot be read, or a key or value is not legal: says its path and what is legal.
    """
    text = read_text(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not TOML: {error}") from None
    for setting in settings:
        _set(raw, setting)
    return _structured(raw, f"{path}: ", str(Path(path).resolve().parent))


def make_sweep(**tables: Any) -> Sweep:
    """The sweep of keyword arguments that are as the TOML file has them.

    Raises
    ------
    InputError
        If a key or value is not legal.

    Examples
    --------
    >>> sweep = make_sweep(workload={"seeds": "0:3"}, mechanisms="baseline", assignment={"node_mtbf": ["1y", "5y"]})
    >>> sweep.workload.seeds, sweep.assignment.values
    ((0, 1, 2), {'node_mtbf': (31536000.0, 157680000.0)})
    >>> make_sweep(workload={"seed": 0})
    Traceback (most recent call last):
    workloads.errors.InputError: workload: unknown key 'seed': did you mean seeds? known are seeds, jobs, traces, \
nodes, format, procs_per_node, lenient
    """
    return _structured(tables, "", ".")


def _set(raw: dict[str, Any], setting: str) -> None:
    """Change one value of the raw tables."""
    key, equals, text = setting.partition("=")
    *tables, name = key.strip().split(".")
    if not equals or not name:
        raise ParameterError("--set", "key=value, e.g. workload.seeds=0:10", setting)
    place = raw
    for table in tables:
        place = place.setdefault(table, {})
        if not isinstance(place, dict):
            raise ParameterError("--set", f"a key of the file ({table} is not a table)", setting)
    try:
        place[name] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        place[name] = text.strip()


def _structured(raw: Any, source: str, directory: str) -> Sweep:
    from cattrs import BaseValidationError

    try:
        sweep: Sweep = _converter().structure(raw, Sweep)
    except BaseValidationError as error:
        raise InputError(f"{source}{_told(error, '')}") from None
    traces = tuple(_completed(trace, sweep.workload, directory) for trace in sweep.workload.traces)
    return replace(sweep, workload=replace(sweep.workload, traces=traces))


def _completed(trace: TraceFile, workload: Workload, directory: str) -> TraceFile:
    """The trace with what is said for all traces."""
    return replace(
        trace,
        nodes=trace.nodes or workload.nodes,
        format=trace.format or workload.format,
        procs_per_node=trace.procs_per_node or workload.procs_per_node,
        lenient=trace.lenient or bool(workload.lenient),
        directory=directory,
    )


# What is wrong, and where.


def _told(error: BaseException, path: str) -> str:
    """The first fault as a sentence."""
    from cattrs import AttributeValidationNote, BaseValidationError, ForbiddenExtraKeysError, IterableValidationNote

    if isinstance(error, BaseValidationError):
        # Unknown keys first: that something else is missing may come from them.
        inner = min(error.exceptions, key=lambda fault: not isinstance(fault, ForbiddenExtraKeysError))
        for note in getattr(inner, "__notes__", ()):
            if isinstance(note, AttributeValidationNote):
                path = f"{path}.{note.name}" if path else note.name
            elif isinstance(note, IterableValidationNote):
                path = f"{path}[{note.index}]"
        return _told(inner, path)
    if isinstance(error, ForbiddenExtraKeysError):
        known = [item.name for item in fields(error.cl) if item.name not in _HIDDEN.get(error.cl, ())]
        return _at(path, UnknownNameError("key", min(error.extra_fields), known))
    if isinstance(error, ParameterError) and str(error).startswith(error.parameter):
        return f"{path}{str(error).removeprefix(error.parameter)}"
    if isinstance(error, KeyError):
        return f"{path} is missing"
    if isinstance(error, InputError):
        return _at(path, error)
    raise error


def _at(path: str, error: InputError) -> str:
    return f"{path}: {error}" if path else str(error)


#: Attributes that are no keys.
_HIDDEN: dict[type, tuple[str, ...]] = {TraceFile: ("directory",)}


# What values are legal. The name that a ParameterError carries is replaced by the path.


def _wrong(legal: str, raw: Any) -> ParameterError:
    return ParameterError("", legal, raw)


def _text(raw: Any, _: Any = None) -> str:
    if not isinstance(raw, str):
        raise _wrong("a text", raw)
    return raw


def _flag(raw: Any, _: Any = None) -> bool:
    if not isinstance(raw, bool):
        raise _wrong("true or false", raw)
    return raw


def _positive(raw: Any, _: Any = None) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or raw < 1:
        raise _wrong("a whole number of at least 1", raw)
    return raw


def _number(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise _wrong("a number", raw)
    return float(raw)


def _duration(raw: Any, _: Any = None) -> float:
    value = parse_duration(raw, "") if isinstance(raw, str) else _number(raw)
    if not 0 <= value < float("inf"):
        raise _wrong("a duration of at least 0, such as 90s, 12h or 5y", raw)
    return value


def _several(raw: Any) -> list[Any]:
    """A list that is not empty, or one value as a list."""
    if not isinstance(raw, list | tuple):
        return [raw]
    if not raw:
        raise _wrong("a value, or a list of at least one", raw)
    return list(raw)


def _seeds(raw: Any, _: Any = None) -> tuple[int, ...]:
    legal = 'a whole number of at least 0, a list of such, or a range such as "0:10"'
    if isinstance(raw, str):
        first, colon, end = raw.partition(":")
        if not (colon and first.strip().isdigit() and end.strip().isdigit() and int(first) < int(end)):
            raise _wrong(legal, raw)
        return tuple(range(int(first), int(end)))
    seeds = _several(raw)
    if any(isinstance(seed, bool) or not isinstance(seed, int) or seed < 0 for seed in seeds):
        raise _wrong(legal, raw)
    return tuple(seeds)


def _lengths(raw: Any, _: Any) -> tuple[int, ...]:
    return tuple(_positive(length) for length in _several(raw))


def _mechanisms(raw: Any, _: Any) -> tuple[str, ...]:
    return tuple(parse_mechanisms(",".join(_text(name) for name in _several(raw))))


def _format(raw: Any, _: Any) -> str:
    known = [name for name in READERS if name != "job-table"]
    if _text(raw) not in known:
        raise UnknownNameError("format", raw, known)
    return str(raw)


def _vary(raw: Any, _: Any) -> str:
    if raw not in VARY:
        raise _wrong(" or ".join(VARY), raw)
    return str(raw)


def _value(kind: type[Assignment] | type[Options], name: str, default: Any, raw: Any) -> Any:
    """One legal value of a parameter."""
    number = _duration if name in DURATIONS else _number
    if isinstance(default, tuple):
        if not isinstance(raw, list | tuple) or len(raw) != len(default):
            raise _wrong(f"{len(default)} numbers", raw)
        value: Any = tuple(number(part) for part in raw)
    elif isinstance(default, str):
        value = tuple(_number(part) for part in raw) if _is_mix(name, raw) else _text(raw)
    else:
        value = number(raw)
    try:
        kind(**{name: value})
    except ParameterError as error:
        raise _wrong(error.legal, raw) from None  # what was written, not what it was turned into
    return value


def _is_mix(name: str, raw: Any) -> bool:
    """Whether it is the four shares of one notice mix."""
    return name == "notice_mix" and isinstance(raw, list | tuple) and not any(isinstance(part, str) for part in raw)


def _values(kind: type[Assignment] | type[Options], name: str) -> _Hook:
    """Reads the values that a parameter takes: one, or a list."""
    default = getattr(kind(), name)

    def values(raw: Any, _: Any) -> tuple[Any, ...]:
        numbers = isinstance(default, tuple) or _is_mix(name, raw)
        if numbers and isinstance(raw, list | tuple) and raw and not isinstance(raw[0], list | tuple):
            return (_value(kind, name, default, raw),)
        return tuple(_value(kind, name, default, part) for part in _several(raw))

    return values


def _converter() -> Converter:
    """Structures the tables; cattrs knows unknown and missing keys and the place of a fault."""
    from cattrs import Converter
    from cattrs.gen import make_dict_structure_fn, override

    converter = Converter(forbid_extra_keys=True)

    def table(kind: type, build: _Hook) -> None:
        def structure(raw: Any, target: Any) -> Any:
            if not isinstance(raw, Mapping):
                raise _wrong("a table", raw)
            return build(raw, target)

        converter.register_structure_hook(kind, structure)

    def hooked(kind: type, **hooks: _Hook) -> _Hook:
        overrides = {name: override(struct_hook=hook) for name, hook in hooks.items()}
        overrides |= {name: override(omit=True) for name in _HIDDEN.get(kind, ())}
        structure: _Hook = make_dict_structure_fn(kind, converter, **overrides)  # type: ignore[arg-type]  # by name
        return structure

    log: dict[str, _Hook] = {"nodes": _positive, "format": _format, "procs_per_node": _positive, "lenient": _flag}
    of_file = hooked(TraceFile, path=_text, **log)

    def traces(raw: Any, _: Any) -> Any:
        listed = [{"path": item} if isinstance(item, str) else item for item in _several(raw)]
        return converter.structure(listed, tuple[TraceFile, ...])

    table(TraceFile, of_file)
    table(Workload, hooked(Workload, seeds=_seeds, jobs=_lengths, traces=traces, **log))
    table(Measurement, hooked(Measurement, **{item.name: _duration for item in fields(Measurement)}))
    for axes, kind in ((AssignmentAxes, Assignment), (OptionAxes, Options)):
        table(axes, _axes(axes, kind, hooked))
    table(Sweep, hooked(Sweep, mechanisms=_mechanisms, vary=_vary))
    return converter


def _axes(
    axes: type[AssignmentAxes] | type[OptionAxes],
    kind: type[Assignment] | type[Options],
    hooked: Callable[..., _Hook],
) -> _Hook:
    """Reads a table with a key for each parameter of a class."""
    hooks = {item.name: _values(kind, item.name) for item in fields(kind)}
    own: dict[str, _Hook] = {"seeds": _seeds} if axes is AssignmentAxes else {}
    # A class of these keys, so that they are refused and named like all others.
    keys = make_dataclass(axes.__name__, [(name, Any, None) for name in (*own, *hooks)])
    structure = hooked(keys, **own, **hooks)

    def build(raw: Any, _: Any) -> Any:
        given = vars(structure(raw, keys))
        values = {name: given[name] for name in hooks if given[name] is not None}
        return axes(values=values, **{name: given[name] for name in own})

    return build
