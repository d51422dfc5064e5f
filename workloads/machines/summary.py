"""A one-screen summary of a machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.machines.amounts import ANY_GPU, memory_text
from holdfast.workloads.machines.host_list import fold
from holdfast.workloads.machines.machine import Limit, Machine, NodeKind, Partition, Quota

__all__ = ["machine_summary"]

#: Maximum number of rows of a table, so that all tables fit on one screen; a last line has the number of the others.
_MOST_ROWS = 10
_WIDEST = 30


def machine_summary(machine: Machine) -> str:
    """Summarise a machine as text for a terminal.

    Parameters
    ----------
    machine
        The machine.

    Returns
    -------
    str
        The size of the machine, and tables of kinds of nodes, partitions and limits with at most ten rows each.

    Examples
    --------
    >>> from holdfast.workloads.machines.machine_file import make_machine
    >>> print(machine_summary(make_machine(nodes=[{"names": "n[1-4]", "cores": 32, "gpus": {"v100": 2}}])))
    4 nodes, 128 cores, 8 GPUs
    <BLANKLINE>
    nodes   count  cores  memory    GPUs  features  weight
    n[1-4]      4     32       -  2 v100         -       1
    <BLANKLINE>
    partition  nodes  cores  GPUs  tier  jobs share  longest  overlaps with
    all *          4    128     8     1         yes        -              -
    """
    blocks = ["\n".join(_head(machine)), _table(*_kinds(machine)), _table(*_partitions(machine))]
    if machine.limits:
        blocks.append(_table(*_limits(machine)))
    return "\n\n".join(blocks)


def _head(machine: Machine) -> Iterator[str]:
    words = [count_text(machine.size, "nodes"), count_text(machine.total("cores"), "cores")]
    if machine.total("gpus"):
        words.append(count_text(machine.total("gpus"), "GPUs"))
    if machine.total("memory"):
        words.append(f"{_round_memory(machine.total('memory'))} of memory")
    yield ", ".join(words)
    if machine.estimated:
        yield f"estimated from {machine.origin}: what its jobs never used is missing"
    elif machine.origin:
        yield f"from {machine.origin}"
    if machine.unused_node_count:
        yield f"nodes in no partition, which run no jobs: {machine.unused_node_count:,}"


def _kinds(machine: Machine) -> tuple[Sequence[str], list[Sequence[str]]]:
    rows = [
        (
            fold(kind.names),
            f"{len(kind.names):,}",
            f"{kind.cores:,}",
            "-" if kind.memory is None else memory_text(kind.memory),
            _gpus(kind),
            ",".join(kind.features) or "-",
            str(kind.weight),
        )
        for kind in machine.kinds
    ]
    return ("nodes", "count", "cores", "memory", "GPUs", "features", "weight"), [*rows]


def _partitions(machine: Machine) -> tuple[Sequence[str], list[Sequence[str]]]:
    sets = {partition.name: frozenset(partition.nodes) for partition in machine.partitions}

    def row(partition: Partition) -> Sequence[str]:
        others = [name for name, nodes in sets.items() if name != partition.name and nodes & sets[partition.name]]
        return (
            f"{partition.name} *" if partition is machine.default else partition.name,
            f"{len(partition.nodes):,}",
            f"{machine.total('cores', partition.nodes):,}",
            f"{machine.total('gpus', partition.nodes):,}",
            str(partition.priority),
            "no" if partition.exclusive else "yes",
            "-" if partition.max_time is None else _hours(partition.max_time),
            ", ".join(others) or "-",
        )

    heads = ("partition", "nodes", "cores", "GPUs", "tier", "jobs share", "longest", "overlaps with")
    return heads, [row(partition) for partition in machine.partitions]


def _limits(machine: Machine) -> tuple[Sequence[str], list[Sequence[str]]]:
    def row(limit: Limit) -> Sequence[str]:
        return f"{limit.scope} {limit.name}", _amounts(limit.per_user), _amounts(limit.together)

    return ("limit", "of each user", "together"), [row(limit) for limit in machine.limits]


def _amounts(quota: Quota) -> str:
    words = [
        f"{name} {memory_text(value) if name == 'memory' else f'{value:,}'}" for name, value in quota.amounts().items()
    ]
    return ", ".join(words) or "-"


def _gpus(kind: NodeKind) -> str:
    words = [str(count) if name == ANY_GPU else f"{count} {name}" for name, count in kind.gpus.items()]
    return ", ".join(words) or "-"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.4g} h"


def _round_memory(amount: int) -> str:
    for unit, size in (("PiB", 1024**3), ("TiB", 1024**2), ("GiB", 1024)):
        if amount >= 10 * size:
            return f"{amount / size:,.0f} {unit}"
    return f"{amount:,} MiB"


def _table(heads: Sequence[str], rows: list[Sequence[str]]) -> str:
    """Format rows as columns, the first aligned left and the others right."""
    shown = [
        [cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 3]}..." for cell in row] for row in rows[:_MOST_ROWS]
    ]
    widths = [max(len(cell) for cell in column) for column in zip(heads, *shown, strict=True)]
    lines = []
    for row in (heads, *shown):
        cells = [cell.ljust(width) if place == 0 else cell.rjust(width)
                 for place, (cell, width) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        lines.append("  ".join(cells).rstrip())
    if len(rows) > _MOST_ROWS:
        lines.append(f"... and {len(rows) - _MOST_ROWS:,} more")
    return "\n".join(lines)
