"""The description of a machine: kinds of nodes, partitions, and limits on running jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError, format_value
from holdfast.workloads.ground.numbers import is_number, is_whole
from holdfast.workloads.ground.units import LARGEST_TIME
from holdfast.workloads.machines.amounts import LARGEST_AMOUNT, gpus_by_kind
from holdfast.workloads.machines.host_list import MOST_NODES, fold

__all__ = ["LARGEST_COUNT", "SCOPES", "Limit", "Machine", "NodeKind", "Partition", "Quota"]

#: Subjects of limits, in the order in which limits are checked.
SCOPES = ("qos", "account", "user", "partition")
#: Maximum number of kinds of nodes, of partitions, and of limits of a machine.
_MOST_ENTRIES = 10_000
#: Names of partitions, features, accounts and users: without the separators of Slurm's lists and conditions.
_NAME = re.compile(r"[^\s,&|\[\]()=#\"']{1,100}")
_HEAVIEST = 2**32 - 1
#: The largest amount of a limit: integers in the tables have 64 bits.
LARGEST_COUNT = 2**62


@dataclass(frozen=True, slots=True)
class NodeKind:
    """Nodes with equal resources and features.

    Attributes
    ----------
    names
        Names of the nodes, in order.
    cores
        Cores of each node (what Slurm calls CPUs).
    memory
        Memory of each node [MiB]; None: memory is not counted.
    gpus
        Number of GPUs of each node, by kind; an unknown kind is ``gpu``.
    features
        Features that jobs may request.
    weight
        Nodes of lower weight are used first.
    """

    names: tuple[str, ...]
    cores: int
    memory: int | None = None
    gpus: Mapping[str, int] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    weight: int = 1

    def __post_init__(self) -> None:
        if not self.names:
            raise ParameterError("names", "at least one node", list(self.names))
        for name in self.names:
            _check_name("names", name)
        _check_whole("cores", self.cores, 1, LARGEST_AMOUNT)
        if self.memory is not None:
            _check_whole("memory", self.memory, 0, LARGEST_AMOUNT)
        gpus_by_kind(self.gpus)
        for feature in self.features:
            _check_name("features", feature)
        _check_whole("weight", self.weight, 0, _HEAVIEST)


@dataclass(frozen=True, slots=True)
class Partition:
    """A named set of nodes to which jobs are submitted.

    Attributes
    ----------
    name
        Name of the partition.
    nodes
        Names of its nodes; partitions may overlap.
    priority
        Priority tier: in every queue order, jobs of a higher tier come first.
    exclusive
        Whether each job gets whole nodes.
    max_time
        Longest walltime of a job [s]; None: no limit.
    default
        Whether jobs that name no partition run in this one.
    memory_per_core
        Memory per core for jobs that do not request memory [MiB]; None: such jobs get no memory.
    """

    name: str
    nodes: tuple[str, ...]
    priority: int = 1
    exclusive: bool = False
    max_time: float | None = None
    default: bool = False
    memory_per_core: int | None = None

    def __post_init__(self) -> None:
        _check_name("name", self.name)
        if not self.nodes:
            raise ParameterError("nodes", "at least one node", list(self.nodes))
        _check_whole("priority", self.priority, 0, _HEAVIEST)
        for name in ("exclusive", "default"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(name, "true or false", getattr(self, name))
        if self.max_time is not None and not (is_number(self.max_time) and 0 < self.max_time <= LARGEST_TIME):
            raise ParameterError("max_time", f"a duration above 0 and up to {LARGEST_TIME:,.0f} s", self.max_time)
        if self.memory_per_core is not None:
            _check_whole("memory_per_core", self.memory_per_core, 0, LARGEST_AMOUNT)


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits on the resources that jobs hold at the same time; None: no limit.

    Attributes
    ----------
    running
        Number of running jobs.
    submitted
        Number of jobs that wait or run. It is stored and shown; a replay does not apply it, because the jobs of a log
        were admitted.
    nodes, cores, memory, gpus
        Nodes, cores, memory [MiB] and GPUs of running jobs.
    """

    running: int | None = None
    submitted: int | None = None
    nodes: int | None = None
    cores: int | None = None
    memory: int | None = None
    gpus: int | None = None

    def __post_init__(self) -> None:
        for name, value in self.amounts().items():
            _check_whole(name, value, 0, LARGEST_COUNT)

    def amounts(self) -> dict[str, int]:
        """Amount of each limit that is set, by field name."""
        names = ("running", "submitted", "nodes", "cores", "memory", "gpus")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit for the jobs of a QOS, an account, a user or a partition.

    Attributes
    ----------
    scope
        One of :data:`SCOPES`.
    name
        Name of the QOS, account, user or partition.
    per_user
        Limits on the jobs of each user.
    together
        Limits on all jobs in the scope together.
    """

    scope: str
    name: str
    per_user: Quota = Quota()
    together: Quota = Quota()

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise UnknownNameError("scope of a limit", str(self.scope), SCOPES)
        _check_name(self.scope, self.name)
        if not (self.per_user.amounts() or self.together.amounts()):
            raise InputError("must limit something: per_user or together needs at least one amount")


@dataclass(frozen=True)
class Machine:
    """A machine of several kinds of nodes.

    Attributes
    ----------
    kinds
        Kinds of nodes. The order of the kinds, and of the names in each kind, is the order of the nodes.
    partitions
        At least one partition; nodes in no partition run no jobs. Without a partition marked ``default``, the first one
        is the default.
    limits
        Limits on running jobs.
    qos
        All QOS of the site; empty: not known.
    origin
        Source of the description, as a text for users.
    estimated
        Whether the machine is estimated from a log, so that resources which no job used are missing.

    Raises
    ------
    InputError
        If names occur twice, or a partition or limit refers to an unknown node, partition or QOS.

    Examples
    --------
    >>> kind = NodeKind(("n1", "n2"), cores=8, gpus={"v100": 2})
    >>> machine = Machine((kind,), (Partition("all", ("n1", "n2")),))
    >>> machine.size, machine.total("cores"), machine.total("gpus"), machine.default.name
    (2, 16, 4, 'all')
    """

    kinds: tuple[NodeKind, ...]
    partitions: tuple[Partition, ...]
    limits: tuple[Limit, ...] = ()
    qos: tuple[str, ...] = ()
    origin: str = ""
    estimated: bool = False

    def __post_init__(self) -> None:
        for name, entries in (("nodes", self.kinds), ("partitions", self.partitions), ("limits", self.limits)):
            if len(entries) > _MOST_ENTRIES:
                raise ParameterError(name, f"at most {_MOST_ENTRIES:,} entries", len(entries))
        if not self.kinds:
            raise InputError("a machine must have nodes: add a table [[nodes]]")
        if not self.partitions:
            raise InputError("a machine must have a partition: add a table [[partitions]]")
        if self.size > MOST_NODES:
            raise InputError(f"a machine must have at most {MOST_NODES:,} nodes, not {self.size:,}")
        self._check_names()
        self._check_limits()

    def _check_names(self) -> None:
        seen: dict[str, int] = {}
        for place, kind in enumerate(self.kinds):
            for name in kind.names:
                if name in seen:
                    where = (
                        f"nodes[{seen[name]}] and nodes[{place}]" if seen[name] != place else f"nodes[{place}] twice"
                    )
                    raise InputError(f"each node must have one description, and {format_value(name)} is in {where}")
                seen[name] = place
        names: set[str] = set()
        defaults = [partition.name for partition in self.partitions if partition.default]
        if len(defaults) > 1:
            raise InputError(f"one partition must be the default, not {len(defaults)}: {_some(defaults)}")
        for place, partition in enumerate(self.partitions):
            where = f"partitions[{place}]"
            if partition.name in names:
                raise InputError(f"{where}: two partitions have the name {format_value(partition.name)}")
            names.add(partition.name)
            missing = [name for name in partition.nodes if name not in seen]
            if missing:
                more = f" and {len(missing) - 1:,} others" if len(missing) > 1 else ""
                raise InputError(
                    f"{where}: partition {format_value(partition.name)} names {format_value(missing[0])}{more}, "
                    f"but the nodes are {_short(fold(seen))}"
                )
            if len(set(partition.nodes)) < len(partition.nodes):
                raise InputError(f"{where}: partition {format_value(partition.name)} names a node twice")

    def _check_limits(self) -> None:
        names = [partition.name for partition in self.partitions]
        seen: set[tuple[str, str]] = set()
        for place, limit in enumerate(self.limits):
            known = names if limit.scope == "partition" else self.qos if limit.scope == "qos" else ()
            if known and limit.name not in known:
                what = "QOS" if limit.scope == "qos" else limit.scope
                raise InputError(f"limits[{place}]: {UnknownNameError(what, limit.name, known)}")
            if (limit.scope, limit.name) in seen:
                raise InputError(
                    f"limits[{place}]: two limits are for the {limit.scope} {format_value(limit.name)}; join them"
                )
            seen.add((limit.scope, limit.name))

    @property
    def size(self) -> int:
        """Number of nodes."""
        return sum(len(kind.names) for kind in self.kinds)

    @cached_property
    def unused_node_count(self) -> int:
        """Number of nodes in no partition."""
        return self.size - len({name for partition in self.partitions for name in partition.nodes})

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes, in order."""
        return tuple(name for kind in self.kinds for name in kind.names)

    @cached_property
    def kind_of_nodes(self) -> tuple[int, ...]:
        """Index of the kind of each node."""
        return tuple(place for place, kind in enumerate(self.kinds) for _ in kind.names)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def default(self) -> Partition:
        """The partition of jobs that do not name a partition."""
        return next((partition for partition in self.partitions if partition.default), self.partitions[0])

    def partition(self, name: str) -> Partition:
        """A partition by its name.

        Raises
        ------
        UnknownNameError
            If the name is unknown.
        """
        for partition in self.partitions:
            if partition.name == name:
                return partition
        raise UnknownNameError("partition", name, [partition.name for partition in self.partitions])

    def places(self, partition: Partition) -> tuple[int, ...]:
        """Indices of a partition's nodes among all nodes, ascending."""
        return tuple(sorted(self._places[name] for name in partition.nodes))

    def total(self, resource: str, nodes: Sequence[str] | None = None) -> int:
        """Total amount of a resource on some nodes.

        Parameters
        ----------
        resource
            ``cores``, ``memory`` [MiB] or ``gpus``.
        nodes
            Names of the nodes; None: all nodes.
        """
        chosen = None if nodes is None else set(nodes)
        total = 0
        for kind in self.kinds:
            count = len(kind.names) if chosen is None else sum(name in chosen for name in kind.names)
            amounts = {"cores": kind.cores, "memory": kind.memory or 0, "gpus": sum(kind.gpus.values())}
            total += count * amounts[resource]
        return total


def _check_name(parameter: str, name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError(parameter, "a name without blanks, commas, brackets, quotes, '&' and '|'", name)


def _check_whole(parameter: str, value: object, least: int, most: int) -> None:
    if not is_whole(value, least) or value > most:
        raise ParameterError(parameter, f"a whole number from {least} to {most:,}", value)


def _some(names: Sequence[str]) -> str:
    return ", ".join(name[:40] for name in names[:5]) + (", ..." if len(names) > 5 else "")


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
