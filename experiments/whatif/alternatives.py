"""Alternatives to today's rule, each declared by one word of the command line or one argument of ``hf.whatif``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated

from holdfast.experiments.whatif.operation import OnDemandProjects, Operation
from holdfast.policies.mechanism import BASELINE, parse_mechanism
from holdfast.simulator.machine_rules import check_machine_replay
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.ground.parameters import Parameter, whole
from holdfast.workloads.ground.units import LARGEST_SIZE, parse_duration
from holdfast.workloads.hybrid.groups import resolve_grouping
from holdfast.workloads.logs.clock import LogClock
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.machines.machine import Quota
from holdfast.workloads.machines.machine_file import read_machine
from holdfast.workloads.machines.machine_workload import machine_size
from holdfast.workloads.outages.file import read_outages
from holdfast.workloads.outages.outage import Outage, OutageKind

__all__ = ["Alternatives", "alternatives"]

#: Options that take several values separated by commas; the values of the others contain commas.
_LISTS = ("order", "backfilling", "nodes", "machine", "mechanism")
#: Changes of one pool of equal nodes.
_OF_POOLS = ("nodes", "maintenance", "outages", "mechanism", "limit")
_GROUP = "alternatives to today's rule; each may be repeated"
_SIZE = "a number of nodes such as 5000, or a change such as +200, -200, +10% or -10%"
_RELATIVE = re.compile(r"([+-])([0-9]+(?:\.[0-9]+)?)(%?)")
_WINDOW = "START,LENGTH or START,LENGTH,NODES, such as 2026-01-12T08:00,12h or 20d,12h,512"
_QUOTA = "nodes=N, jobs=N or both, separated by a comma"


@dataclass(frozen=True, kw_only=True)
class Alternatives:
    """What is to be changed.

    Attributes
    ----------
    order, backfilling
        Queue orders and backfilling rules.
    nodes
        Sizes of the machine, or changes of today's.
    machine
        Files of machines with partitions, in the place of today's.
    maintenance
        Windows of maintenance, each an alternative: begin, length, and nodes where not all are down.
    outages
        Files of outages.
    mechanism
        Mechanisms for on-demand jobs.
    on_demand_projects
        Share of the projects that have them, or their names, separated by commas.
    limit
        Most that the running jobs of one user may have.
    together
        Whether one more alternative has all changes at once.
    """

    order: Annotated[
        tuple[str, ...],
        Parameter("queue order, or several separated by commas", group=_GROUP, repeated=True, default="none"),
    ] = ()
    backfilling: Annotated[
        tuple[str, ...], Parameter("backfilling rule, or several", group=_GROUP, repeated=True, default="none")
    ] = ()
    nodes: Annotated[
        tuple[str, ...],
        Parameter(
            "size of the machine: a number, or a change such as +200 or -10%%", group=_GROUP, repeated=True,
            default="none", metavar="N",
        ),
    ] = ()  # fmt: skip
    machine: Annotated[
        tuple[str, ...],
        Parameter(
            "machine with other nodes, partitions or limits, beside that of --today machine=FILE", group=_GROUP,
            repeated=True, default="none", metavar="FILE.toml",
        ),
    ] = ()  # fmt: skip
    maintenance: Annotated[
        tuple[str, ...],
        Parameter(
            "maintenance window: its begin, as a date or a time after the first submit, and its length; the number of "
            "nodes that are down may follow",
            group=_GROUP, repeated=True, default="none", metavar="TIME,TIME[,N]",
        ),
    ] = ()  # fmt: skip
    outages: Annotated[
        tuple[str, ...],
        Parameter(
            "CSV file of maintenance, failures and advance reservations", group=_GROUP, repeated=True, default="none",
            metavar="FILE",
        ),
    ] = ()  # fmt: skip
    mechanism: Annotated[
        tuple[str, ...],
        Parameter(
            "mechanism that serves on-demand jobs, such as N-PAA or CUA-SPAA", group=_GROUP, repeated=True,
            default="none",
        ),
    ] = ()  # fmt: skip
    on_demand_projects: Annotated[
        str,
        Parameter(
            "projects with on-demand jobs under these mechanisms: a share, drawn for each seed, or names separated by "
            "commas",
            group=_GROUP, metavar="SHARE",
        ),
    ] = "0.1"  # fmt: skip
    limit: Annotated[
        tuple[str, ...],
        Parameter(
            f"most that the running jobs of one user have: {_QUOTA}", group=_GROUP, repeated=True, default="none",
            metavar="NAME=VALUE",
        ),
    ] = ()  # fmt: skip
    together: Annotated[
        bool, Parameter("one more alternative, with all of these changes at once (one value each)", group=_GROUP)
    ] = False

    @classmethod
    def of(cls, **given: object) -> Alternatives:
        """Alternatives of keyword arguments: a single value may stand for a sequence of one.

        Raises
        ------
        InputError
            If a name is unknown, or a value is of a wrong kind.
        """
        known = {item.name: item for item in fields(cls)}
        made = {}
        for name, value in given.items():
            if name not in known:
                raise UnknownNameError("change", name, list(known))
            if name == "together":
                made[name] = value
            elif name == "on_demand_projects":
                made[name] = str(value) if isinstance(value, str | int | float) else ",".join(map(str, value))  # type: ignore[call-overload]
            else:
                several = value if isinstance(value, list | tuple) else (value,)
                made[name] = tuple(str(one) for one in several)
        return cls(**made)  # type: ignore[arg-type]


def alternatives(today: Operation, changes: Alternatives, trace: Trace) -> list[Operation]:
    """The alternatives, each with one change of today's rule, and perhaps one with all of them.

    Parameters
    ----------
    today
        Today's rule.
    changes
        What is to be changed.
    trace
        The log.

    Raises
    ------
    InputError
        If a value is not legal, changes nothing, is given twice, or there is none.
    """
    changes = _split_lists(changes)
    found = list(_each(today, changes, trace))
    if not found:
        options = ", ".join(f"--{item.name}" for item in fields(Alternatives) if item.default == ())
        raise InputError(f"name at least one alternative: {options}")
    for operation in found:
        if replace(operation, name=today.name) == today:
            raise InputError(f"{operation.name} is today's rule: name another alternative")
        if [other.name for other in found].count(operation.name) > 1:
            raise InputError(f"{operation.name} is given twice: give each alternative once")
    if changes.together:
        found.append(_together(today, changes, found))
    return found


def _split_lists(changes: Alternatives) -> Alternatives:
    """The changes, with a value for each word between commas."""
    lists = {name: tuple(word for text in getattr(changes, name) for word in text.split(",")) for name in _LISTS}
    return replace(changes, **lists)  # type: ignore[arg-type]  # each of these fields is such a tuple


def _each(today: Operation, changes: Alternatives, trace: Trace) -> Iterator[Operation]:
    clock = LogClock.of_trace(trace)
    _check_machines(today, changes)
    for order in changes.order:
        yield _legal(replace(today, name=f"order {order}", order=order))
    for rule in changes.backfilling:
        yield _legal(replace(today, name=f"backfilling {rule}", backfilling=rule))
    for text in changes.nodes:
        size = _size(text, today.nodes)
        yield replace(today, name=f"{size:,} nodes" + (f" ({text})" if text[:1] in "+-" else ""), nodes=size)
    for path in changes.machine:
        size = machine_size(read_machine(path))
        yield replace(today, name=f"machine {Path(path).stem}", nodes=size, machine=path)
    for text in changes.maintenance:
        yield replace(today, name=f"maintenance {text}", outages=(*today.outages, _window(text, today.nodes, clock)))
    for path in changes.outages:
        read = read_outages(path, nodes=today.nodes, clock=clock)
        yield replace(today, name=f"outages {Path(path).stem}", outages=(*today.outages, *read))
    for text in changes.mechanism:
        mechanism = parse_mechanism(text)
        if mechanism is None:
            raise ParameterError("mechanism", f"one for on-demand jobs, such as CUA-SPAA, not the {BASELINE}", text)
        chosen = _on_demand(changes.on_demand_projects, trace)
        yield replace(today, name=f"{mechanism.name}, {chosen}", mechanism=mechanism.name, on_demand=chosen)
    if changes.limit and not trace.jobs.has("user"):
        raise InputError("limit: the log names no users, so that no user has a limit")
    for text in changes.limit:
        yield replace(today, name=f"limit of each user {text}", per_user=_quota(text))


def _check_machines(today: Operation, changes: Alternatives) -> None:
    """Refuse changes of one pool for a machine with partitions, and the other way round."""
    if today.machine is None:
        if changes.machine:
            legal = "left out, or given with today's machine: --today machine=FILE.toml"
            raise ParameterError("machine", legal, changes.machine[0])
        return
    for name in _OF_POOLS:
        if getattr(changes, name):
            legal = (
                "left out with today's machine: copy its file, change nodes or limits there, and give the copy as "
                "--machine COPY.toml"
            )
            raise ParameterError(name, legal, getattr(changes, name)[0])


def _legal(operation: Operation) -> Operation:
    """The operation, if its order and its backfilling rule exist."""
    options = operation.options
    if operation.machine is not None:
        check_machine_replay(options)
    return operation


def _together(today: Operation, changes: Alternatives, found: Sequence[Operation]) -> Operation:
    """All changes at once."""
    several = [
        item.name for item in fields(Alternatives) if item.default == () and len(getattr(changes, item.name)) > 1
    ]
    if several:
        raise ParameterError(several[0], "one value with --together", ", ".join(getattr(changes, several[0])))
    if any(operation.per_user for operation in found) and any(s.mechanism != BASELINE or s.outages for s in found):
        raise InputError("--together cannot join --limit with --mechanism, --maintenance or --outages")
    merged = replace(today, name="all changes together")
    for operation in found:
        changed = {
            item.name: getattr(operation, item.name)
            for item in fields(Operation)
            if item.name != "name" and getattr(operation, item.name) != getattr(today, item.name)
        }
        if "outages" in changed:
            changed["outages"] = (*merged.outages, *changed["outages"])
        merged = replace(merged, **changed)
    return merged


def _size(text: str, today: int) -> int:
    """Size of the machine.

    >>> _size("+10%", 4392), _size("-200", 4392), _size("5000", 4392)
    (4831, 4192, 5000)
    """
    relative = _RELATIVE.fullmatch(text.strip())
    if relative is None:
        try:
            return whole(text.strip(), "nodes", 1, LARGEST_SIZE)
        except InputError:
            raise ParameterError("nodes", _SIZE, text) from None
    amount = decimal(relative[2]) * (today / 100 if relative[3] else 1)
    size = round(today + amount if relative[1] == "+" else today - amount)
    if not 1 <= size <= LARGEST_SIZE:
        raise ParameterError("nodes", f"a change that leaves 1 to {LARGEST_SIZE:,} of {today:,} nodes", text)
    return size


def _window(text: str, nodes: int, clock: LogClock) -> Outage:
    """A window of maintenance."""
    parts = [part.strip() for part in text.split(",")]
    if not 2 <= len(parts) <= 3:
        raise ParameterError("maintenance", _WINDOW, text)
    start = clock.time(parts[0], "maintenance")
    length = parse_duration(parts[1], "maintenance")
    size = nodes if len(parts) == 2 or parts[2] == "all" else whole(parts[2], "maintenance", 1, nodes)
    if not length > 0:
        raise ParameterError("maintenance", _WINDOW, text)
    return Outage(OutageKind.MAINTENANCE, start, start + length, size, name="maintenance")


def _on_demand(text: str, trace: Trace) -> OnDemandProjects:
    """Projects with on-demand jobs: a share of them, or their names."""
    known = set(trace.jobs.texts("project")) - {""}
    try:
        share = decimal(text)
    except ValueError:
        share = None
    if share is not None and text not in known:
        if not 0 < share <= 1:
            raise ParameterError("on_demand_projects", "a share above 0 and up to 1, or names of projects", text)
        return OnDemandProjects(share, grouping=resolve_grouping(trace, "auto"))
    names = tuple(name.strip() for name in text.split(","))
    if not known:
        raise ParameterError("on_demand_projects", "a share above 0 and up to 1: the log names no projects", text)
    for name in names:
        if name not in known:
            raise UnknownNameError("project", name, sorted(known))
    return OnDemandProjects(0.0, names)


def _quota(text: str) -> Quota:
    """Most that the running jobs of one user have."""
    amounts: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if name not in ("nodes", "jobs") or name in amounts:
            raise ParameterError("limit", _QUOTA, text)
        try:
            amounts[name] = whole(number, "limit", 1, LARGEST_SIZE)
        except InputError:
            raise ParameterError("limit", _QUOTA, text) from None
    return Quota(running=amounts.get("jobs"), nodes=amounts.get("nodes"))
