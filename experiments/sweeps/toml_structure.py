"""Conversion of TOML or keywords to a sweep configuration; an error names the key and the legal values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, make_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.experiments.paper_readings import find_reading, sweep_tables
from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.sweeps.configuration import AssignmentAxes, OptionAxes, Sweep, TraceFile, Workload
from holdfast.experiments.sweeps.option_values import (
    Hook,
    axis,
    column_names,
    conditions,
    flag,
    format_name,
    lengths,
    mechanisms,
    placement,
    positive,
    presets,
    seeds,
    several,
    text,
    unit,
    vary,
)
from holdfast.simulator.options import Options
from holdfast.workloads.ground.documents import DEEPEST, parse_toml, read_toml
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.trust import admit
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.hybrid.parameter_parsing import duration, wrong

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = ["PLUGIN_KEYS", "make_sweep", "read_sweep"]

#: Attributes that are not keys.
_HIDDEN: dict[type, tuple[str, ...]] = {TraceFile: ("directory",)}
#: Keys that name plug-ins, with the kind, at any place of the document.
PLUGIN_KEYS = {
    "mechanisms": "mechanism",
    "order": "order",
    "backfilling": "backfilling rule",
    "tenants": "tenants rule",
    "expansion": "expansion",
    "plan": "planning strategy",
    "format": "format",
}


def read_sweep(path: str | Path, settings: Sequence[str] = ()) -> Sweep:
    """Read a sweep from a TOML file.

    Parameters
    ----------
    path
        The file; relative paths of traces are relative to its directory.
    settings
        Changes as ``key=value``, e.g. ``assignment.notice_mix=["W1", "W5"]``; a value that is not TOML is a text.
        They come from the user and may name code.

    Raises
    ------
    InputError
        If the file cannot be read, a key or value is not legal, or names code and is not trusted
        (:func:`holdfast.workloads.ground.trust.trust`): says its path and what is legal.
    """
    raw = read_toml(path)
    for key, kind, name in _plugin_names(raw):
        admit(kind, name, path, key=key)
    for setting in settings:
        _set(raw, setting)
    return _structure(raw, f"{path}: ", str(Path(path).resolve().parent))


def make_sweep(**tables: Any) -> Sweep:
    """Make a sweep from keyword arguments with the structure of the TOML file.

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
    holdfast.workloads.ground.errors.InputError: workload: unknown key 'seed': did you mean seeds? known are seeds, \
jobs, \
presets, traces, nodes, format, procs_per_node, where, unit, columns, lenient, machine, placement
    """
    return _structure(tables, "", ".")


def _plugin_names(raw: Any, where: str = "", kind: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, kind and name of each plug-in that a document names."""
    if isinstance(raw, Mapping):
        for key, value in raw.items():
            yield from _plugin_names(value, f"{where}.{key}".removeprefix("."), kind or PLUGIN_KEYS.get(key, ""))
    elif isinstance(raw, list):
        for place, value in enumerate(raw):
            yield from _plugin_names(value, f"{where}[{place}]", kind)
    elif kind and isinstance(raw, str):
        yield where, kind, raw


def _set(raw: dict[str, Any], setting: str) -> None:
    """Change one value of the raw tables."""
    key, equals, value = setting.partition("=")
    *tables, name = key.strip().split(".")
    if not equals or not name or len(tables) > DEEPEST:
        raise ParameterError("--set", "key=value, e.g. workload.seeds=0:10", setting)
    place = raw
    for table in tables:
        place = place.setdefault(table, {})
        if not isinstance(place, dict):
            raise ParameterError("--set", f"a key of the file ({table[:60]} is not a table)", setting)
    try:
        given = parse_toml(f"value = {value}")["value"]
    except InputError:
        given = None
    # A range of seeds may look like a time of day.
    place[name] = given if isinstance(given, str | int | float | list | dict) else value.strip()


def _structure(raw: Any, source: str, directory: str) -> Sweep:
    from cattrs import BaseValidationError

    try:
        if isinstance(raw, Mapping) and "reading" in raw:
            raw = sweep_tables(raw)
        sweep: Sweep = _converter().structure(raw, Sweep)
    except BaseValidationError as error:
        raise InputError(f"{source}{_explain(error, '')}") from None
    except InputError as error:
        raise InputError(f"{source}{error}") from None
    reading = find_reading(sweep.reading)
    sweep = replace(sweep, mechanisms=tuple(map(reading.mechanism, sweep.mechanisms)))
    traces = tuple(_complete(trace, sweep.workload, directory) for trace in sweep.workload.traces)
    return replace(sweep, workload=replace(sweep.workload, traces=traces))


def _complete(trace: TraceFile, workload: Workload, directory: str) -> TraceFile:
    """Fill in the settings that apply to all traces."""
    return replace(
        trace,
        nodes=trace.nodes or workload.nodes,
        format=trace.format or workload.format,
        procs_per_node=trace.procs_per_node or workload.procs_per_node,
        where=trace.where or workload.where,
        unit=trace.unit or workload.unit,
        columns=trace.columns or workload.columns,
        lenient=bool(workload.lenient) if trace.lenient is None else trace.lenient,
        machine=trace.machine or workload.machine,
        placement=trace.placement or workload.placement,
        directory=directory,
    )


# Errors with their places.


def _explain(error: BaseException, path: str) -> str:
    """The first fault as a sentence."""
    from cattrs import AttributeValidationNote, BaseValidationError, ForbiddenExtraKeysError, IterableValidationNote

    if isinstance(error, BaseValidationError):
        # Unknown keys first, because a misspelt key also causes a missing one.
        inner = min(error.exceptions, key=lambda fault: not isinstance(fault, ForbiddenExtraKeysError))
        for note in getattr(inner, "__notes__", ()):
            if isinstance(note, AttributeValidationNote):
                path = f"{path}.{note.name}" if path else note.name
            elif isinstance(note, IterableValidationNote):
                path = f"{path}[{note.index}]"
        return _explain(inner, path)
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


@cache
def _converter() -> Converter:
    """Converter of the tables; cattrs reports unknown and missing keys and the place of an error."""
    from cattrs import Converter
    from cattrs.gen import make_dict_structure_fn, override

    converter = Converter(forbid_extra_keys=True)

    def table(kind: type, build: Hook) -> None:
        def structure(raw: Any, target: Any) -> Any:
            if not isinstance(raw, Mapping):
                raise wrong("a table", raw)
            return build(raw, target)

        converter.register_structure_hook(kind, structure)

    def make_hook(kind: type, **hooks: Hook) -> Hook:
        overrides = {name: override(struct_hook=hook) for name, hook in hooks.items()}
        overrides |= {name: override(omit=True) for name in _HIDDEN.get(kind, ())}
        structure: Hook = make_dict_structure_fn(kind, converter, **overrides)  # type: ignore[arg-type]  # by name
        return structure

    log: dict[str, Hook] = {
        **{"nodes": positive, "format": format_name, "procs_per_node": positive, "where": conditions, "unit": unit},
        **{"columns": column_names, "lenient": flag, "machine": text, "placement": placement},
    }
    of_file = make_hook(TraceFile, path=text, **log)

    def traces(raw: Any, _: Any) -> Any:
        listed = [{"path": item} if isinstance(item, str) else item for item in several(raw)]
        return converter.structure(listed, tuple[TraceFile, ...])

    table(TraceFile, of_file)
    table(Workload, make_hook(Workload, seeds=seeds, jobs=lengths, presets=presets, traces=traces, **log))
    table(Measurement, make_hook(Measurement, **{item.name: _seconds for item in fields(Measurement)}))
    for axes, kind in ((AssignmentAxes, Assignment), (OptionAxes, Options)):
        table(axes, _axes(axes, kind, make_hook))
    table(Sweep, make_hook(Sweep, mechanisms=mechanisms, vary=vary, reading=text))
    return converter


def _seconds(raw: Any, _: Any) -> float:
    return duration(raw)


def _axes(
    axes: type[AssignmentAxes] | type[OptionAxes],
    kind: type[Assignment] | type[Options],
    make_hook: Callable[..., Hook],
) -> Hook:
    """Hook for a table with a key for each parameter of a class."""
    hooks = {item.name: axis(kind, item.name) for item in fields(kind)}
    own: dict[str, Hook] = {"seeds": seeds} if axes is AssignmentAxes else {}
    # A class with these keys, so that unknown ones are reported like all others.
    keys = make_dataclass(axes.__name__, [(name, Any, None) for name in (*own, *hooks)])
    structure = make_hook(keys, **own, **hooks)

    def build(raw: Any, _: Any) -> Any:
        given = vars(structure(raw, keys))
        values = {name: given[name] for name in hooks if given[name] is not None}
        return axes(values=values, **{name: given[name] for name in own})

    return build
