"""Limits that a Slurm had during a replay on a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from holdfast.experiments.slurm.lab_machine import partition_qos
from holdfast.simulator.resources.limit_columns import Owner
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.machines.machine import Limit, Machine
from holdfast.workloads.machines.slurm_limits import LIMIT_TABLES, SlurmLimits, limits_from_tables

__all__ = ["limit_remarks", "read_limits", "with_recorded_limits", "write_limits"]


def write_limits(directory: Path, tables: Mapping[str, str]) -> None:
    """Write tables of limits, by the name of their file, beside the table of a replay."""
    for name, text in tables.items():
        (directory / name).write_text(text)


def read_limits(directory: Path) -> SlurmLimits | None:
    """The limits in the tables of a directory; None: it has no table.

    Raises
    ------
    TraceError
        If a table cannot be read.
    """
    tables: dict[str | Path, str] = {
        directory / name: read_text(directory / name) for name in LIMIT_TABLES if (directory / name).is_file()
    }
    return limits_from_tables(tables) if tables else None


def with_recorded_limits(machine: Machine, path: str | Path) -> tuple[Machine, tuple[str, ...]]:
    """A machine with the limits that a replay records instead of its own, and remarks about them.

    Limits of partitions stay, unless the tables have those of a lab. A replay without tables of limits leaves the
    machine as it is.

    Raises
    ------
    TraceError
        If a table cannot be read.
    """
    place = Path(path)
    found = read_limits(place if place.is_dir() else place.parent)
    if found is None:
        return machine, ()
    partitions = {partition_qos(each.name): each.name for each in machine.partitions}
    limits = [
        replace(limit, scope="partition", name=partitions[limit.name])
        if limit.scope == "qos" and limit.name in partitions
        else limit
        for limit in found.limits
    ]
    recorded = {limit.name for limit in limits if limit.scope == "partition"}
    limits += [limit for limit in machine.limits if limit.scope == "partition" and limit.name not in recorded]
    return replace(machine, limits=tuple(limits), qos=()), found.remarks


def limit_remarks(limits: Sequence[Limit], owners: Iterable[Owner]) -> tuple[str, ...]:
    """Sentences about limits in a replay, by the owners of its jobs: which count, and which have no effect."""
    jobs = list(owners)
    known = {scope: any(getattr(owner, scope) for owner in jobs) for scope in Owner._fields}
    names = {scope: [limit.name for limit in limits if limit.scope == scope] for scope in known}
    found = []
    counted = [
        f"{'QOS' if scope == 'qos' else scope} {name}" for scope in known if known[scope] for name in names[scope]
    ]
    if counted:
        found.append(f"limits count: {', '.join(counted[:10])}{', ...' if len(counted) > 10 else ''}")
    for scope, title in (("qos", "QOS"), ("account", "account"), ("user", "user")):
        if names[scope] and not known[scope]:
            found.append(f"the replay records no {title} of jobs: limits by {title} do not count")
    if not known["user"] and any(limit.per_user.amounts() for limit in limits):
        found.append("the replay records no user of jobs: limits of each user count for all jobs together")
    return tuple(found)
