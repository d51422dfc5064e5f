"""Machine descriptions in TOML: reading, writing, and the same tables as keyword arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from holdfast.workloads.ground.documents import parse_toml
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError, format_value
from holdfast.workloads.ground.files import atomic_open, read_text
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.ground.units import parse_duration
from holdfast.workloads.machines.amounts import ANY_GPU, gpus_by_kind, mebibytes, memory_text
from holdfast.workloads.machines.host_list import expand, fold
from holdfast.workloads.machines.machine import LARGEST_COUNT, SCOPES, Limit, Machine, NodeKind, Partition, Quota

__all__ = ["machine_text", "make_machine", "one_pool", "read_machine", "write_machine"]

_Made = TypeVar("_Made")
_DURATION = "a duration such as 90s, 30m, 12h, 1h30m, 5y, 04:30:00"


def read_machine(path: str | Path) -> Machine:
    """The machine that a TOML file describes.

    Parameters
    ----------
    path
        TOML file; docs/reference/machines.md describes its keys.

    Raises
    ------
    InputError
        If the file cannot be read, or its machine is not legal; the message names the file, the key and the legal
        values.
    """
    text = read_text(path)
    try:
        raw = parse_toml(text, path)
    except InputError as error:
        advice = "a machine is a TOML file, which 'holdfast machine SOURCE -o FILE.toml' writes for slurm.conf or a log"
        raise InputError(f"{error}; {advice}") from None
    try:
        return make_machine(**{str(key): value for key, value in raw.items()})
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def make_machine(**tables: Any) -> Machine:
    """The machine that keyword arguments describe, with the keys of the TOML file.

    Parameters
    ----------
    **tables
        ``nodes``, ``partitions`` and ``limits``: lists of tables; ``qos``: list of all QOS; ``origin`` and
        ``estimated``: source of the description. Without ``partitions``, all nodes are in one, named ``all``.

    Raises
    ------
    InputError
        If a key or a value is not legal.

    Examples
    --------
    >>> machine = make_machine(nodes=[{"names": "n[1-4]", "cores": 32, "memory": "187G", "gpus": {"v100": 2}}])
    >>> machine.size, machine.partitions[0].name, machine.kinds[0].memory
    (4, 'all', 191488)
    >>> make_machine(nodes=[{"names": "n[1-4]", "core": 32}])
    Traceback (most recent call last):
    holdfast.workloads.ground.errors.InputError: nodes[0]: unknown key 'core': did you mean cores? known are names, \
cores, \
memory, gpus, features, weight
    """
    keys = _Keys("", tables, ("nodes", "partitions", "limits", "qos", "origin", "estimated"))
    kinds = tuple(keys.tables("nodes", _node_kind))
    if "partitions" in tables:
        every = tuple(name for kind in kinds for name in kind.names)
        partitions = tuple(keys.tables("partitions", lambda table: _partition(table, every)))
    else:
        partitions = (Partition("all", tuple(name for kind in kinds for name in kind.names), default=True),)
    limits = tuple(keys.tables("limits", _limit))
    return Machine(
        kinds,
        partitions,
        limits,
        keys.get("qos", _words, ()),
        keys.get("origin", _text, ""),
        keys.get("estimated", _flag, False),
    )


def one_pool(nodes: int, cores: int = 1) -> Machine:
    """A machine of equal nodes that jobs use exclusively; equivalent to a simulation without a description.

    Parameters
    ----------
    nodes
        Number of nodes.
    cores
        Cores of each node.

    Examples
    --------
    >>> one_pool(64).size
    64
    """
    kind = NodeKind(expand(f"n[1-{nodes}]"), cores)
    return Machine((kind,), (Partition("all", kind.names, exclusive=True, default=True),))


def write_machine(machine: Machine, path: str | Path) -> None:
    """Write a machine as TOML; :func:`read_machine` returns the same machine.

    Raises
    ------
    OutputError
        If the file cannot be written; no partial file remains.
    """
    with atomic_open(path) as file:
        file.write(machine_text(machine))


def machine_text(machine: Machine) -> str:
    """A machine as TOML.

    Examples
    --------
    >>> print(machine_text(one_pool(4)), end="")
    [[nodes]]
    names = "n[1-4]"
    cores = 1
    <BLANKLINE>
    [[partitions]]
    name = "all"
    nodes = "ALL"
    exclusive = true
    default = true
    """
    blocks = [list(_head_lines(machine))]
    blocks += [["[[nodes]]", *_node_lines(kind)] for kind in machine.kinds]
    blocks += [["[[partitions]]", *_partition_lines(partition, machine.names)] for partition in machine.partitions]
    blocks += [["[[limits]]", *_limit_lines(limit)] for limit in machine.limits]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


# Reading.


class _Keys:
    """A table of the file: refuses unknown keys, and reads each value with the function for its key."""

    def __init__(self, where: str, raw: object, known: Sequence[str]) -> None:
        if not isinstance(raw, Mapping):
            raise InputError(f"{where} must be a table, not {format_value(raw)}")
        self.where = where
        self.raw = raw
        for key in raw:
            if key not in known:
                raise InputError(f"{where}: {UnknownNameError('key', str(key), known)}".removeprefix(": "))

    def get(self, key: str, read: Callable[[Any], _Made], *default: _Made) -> _Made:
        """The value of a key; the key is required if no default is given."""
        if key not in self.raw:
            if default:
                return default[0]
            raise InputError(f"{self._place(key)} is missing")
        try:
            return read(self.raw[key])
        except ParameterError as error:
            raise InputError(self._error_with_place(key, error)) from None
        except ValueError as error:
            raise InputError(f"{self._place(key)}: {error}") from None

    def tables(self, key: str, read: Callable[[_Keys], _Made]) -> Iterator[_Made]:
        """Convert each table of a list."""
        tables = self.raw.get(key, [])
        if not isinstance(tables, list | tuple):
            raise ParameterError(key, f"a list of tables [[{key}]]", tables)
        for place, table in enumerate(tables):
            where = f"{key}[{place}]"
            try:
                yield read(_Keys(where, table, _KNOWN[key]))
            except ParameterError as error:
                # The error names a field of a machine class; fields are named like the keys.
                raise InputError(f"{where}.{error}") from None
            except InputError as error:
                raise error if str(error).startswith(where) else InputError(f"{where} {error}") from None

    def _place(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def _error_with_place(self, key: str, error: ParameterError) -> str:
        """The message of an error, with the full path of the key in place of the parameter."""
        sentence = str(error)
        begin = f"{error.parameter} must be"
        path = error.parameter if error.parameter.startswith(f"{key}.") else key
        return f"{self._place(path)} must be{sentence[len(begin) :]}" if sentence.startswith(begin) else sentence


_KNOWN = {
    "nodes": ("names", "cores", "memory", "gpus", "features", "weight"),
    "partitions": ("name", "nodes", "priority", "exclusive", "max_time", "default", "memory_per_core"),
    "limits": (*SCOPES, "per_user", "together"),
}


def _node_kind(keys: _Keys) -> NodeKind:
    return NodeKind(
        keys.get("names", _node_names),
        keys.get("cores", _same),
        keys.get("memory", mebibytes, None),
        keys.get("gpus", gpus_by_kind, {}),
        keys.get("features", _words, ()),
        keys.get("weight", _same, 1),
    )


def _partition(keys: _Keys, every: tuple[str, ...]) -> Partition:
    def nodes(raw: Any) -> tuple[str, ...]:
        return every if raw == "ALL" else _node_names(raw)

    return Partition(
        keys.get("name", _text),
        keys.get("nodes", nodes),
        keys.get("priority", _same, 1),
        keys.get("exclusive", _flag, False),
        keys.get("max_time", _seconds, None),
        keys.get("default", _flag, False),
        keys.get("memory_per_core", mebibytes, None),
    )


def _limit(keys: _Keys) -> Limit:
    scopes = [scope for scope in SCOPES if scope in keys.raw]
    if len(scopes) != 1:
        raise InputError(
            f"{keys.where} must be for one of {', '.join(SCOPES)}, not for {len(scopes) or 'none'} of them"
        )

    made = {name: _quota(f"{keys.where}.{name}", keys.raw.get(name, {})) for name in ("per_user", "together")}
    return Limit(scopes[0], keys.get(scopes[0], _text), **made)


def _quota(where: str, raw: Any) -> Quota:
    keys = _Keys(where, raw, ("running", "submitted", "nodes", "cores", "memory", "gpus"))
    return Quota(**{str(name): keys.get(str(name), mebibytes if name == "memory" else _count) for name in raw})


def _count(raw: Any) -> int:
    if not is_whole(raw, 0) or raw > LARGEST_COUNT:
        raise ParameterError("", f"a whole number from 0 to {LARGEST_COUNT:,}", raw)
    return raw


def _same(raw: Any) -> Any:
    return raw


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise ParameterError("", "a text", raw)
    return raw


def _flag(raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise ParameterError("", "true or false", raw)
    return raw


def _words(raw: Any) -> tuple[str, ...]:
    if not isinstance(raw, list | tuple) or not all(isinstance(word, str) for word in raw):
        raise ParameterError("", 'a list of texts, such as ["a", "b"]', raw)
    return tuple(raw)


def _node_names(raw: Any) -> tuple[str, ...]:
    """Node names from a host list in Slurm's syntax, or from several of them."""
    parts = [raw] if isinstance(raw, str) else raw
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ParameterError("", 'names in Slurm\'s syntax, such as "n[1-4],login"', raw)
    if not any(part.strip() for part in parts):
        raise ParameterError("", "at least one node", raw)
    return tuple(name for part in parts for name in expand(part))


def _seconds(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise ParameterError("", _DURATION, raw)
    return parse_duration(raw, "")


# Writing.


def _head_lines(machine: Machine) -> Iterator[str]:
    if machine.origin:
        yield f"origin = {_quote(machine.origin)}"
    if machine.estimated:
        yield "estimated = true"
    if machine.qos:
        yield f"qos = [{', '.join(map(_quote, machine.qos))}]"


def _node_lines(kind: NodeKind) -> Iterator[str]:
    yield f"names = {_quote(fold(kind.names))}"
    yield f"cores = {kind.cores}"
    if kind.memory is not None:
        yield f'memory = "{memory_text(kind.memory)}"'
    if kind.gpus:
        if set(kind.gpus) == {ANY_GPU}:
            yield f"gpus = {kind.gpus[ANY_GPU]}"
        else:
            yield f"gpus = {{{', '.join(f'{_key(name)} = {count}' for name, count in kind.gpus.items())}}}"
    if kind.features:
        yield f"features = [{', '.join(map(_quote, kind.features))}]"
    if kind.weight != 1:
        yield f"weight = {kind.weight}"


def _partition_lines(partition: Partition, every: tuple[str, ...]) -> Iterator[str]:
    yield f"name = {_quote(partition.name)}"
    # A node that is added to the file is then in the partition, too.
    yield f"nodes = {_quote('ALL' if partition.nodes == every else fold(partition.nodes))}"
    if partition.priority != 1:
        yield f"priority = {partition.priority}"
    if partition.exclusive:
        yield "exclusive = true"
    if partition.max_time is not None:
        yield f"max_time = {_duration_text(partition.max_time)}"
    if partition.default:
        yield "default = true"
    if partition.memory_per_core is not None:
        yield f'memory_per_core = "{memory_text(partition.memory_per_core)}"'


def _limit_lines(limit: Limit) -> Iterator[str]:
    yield f"{limit.scope} = {_quote(limit.name)}"
    for name, quota in (("per_user", limit.per_user), ("together", limit.together)):
        amounts = quota.amounts()
        if amounts:
            words = [f'{key} = "{memory_text(value)}"' if key == "memory" else f"{key} = {value}"
                     for key, value in amounts.items()]  # fmt: skip
            yield f"{name} = {{{', '.join(words)}}}"


def _duration_text(seconds: float) -> str:
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f'"{seconds / size:.0f}{unit}"'
    return repr(seconds)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)


def _quote(text: str) -> str:
    """Format a text as a TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
