"""Nodes of each job on a machine with partitions, what it took of them and what it waited for, as a table and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from experiments.output.filenames import table_name
from experiments.recordings.archive import table_rows
from experiments.recordings.run_file import RUN, open_run
from experiments.recordings.variants import chosen_variant
from simulator.resources.machine_jobs import JobWait
from simulator.resources.machine_replay import PLACEMENTS
from simulator.results.recording import Recording
from simulator.results.result import Result
from workloads.ground.errors import TraceError, UnknownNameError
from workloads.ground.fields import number, whole
from workloads.ground.files import read_text
from workloads.ground.units import SECOND, to_ticks
from workloads.machines.host_list import expand, fold
from workloads.machines.machine import Machine
from workloads.machines.machine_file import read_machine

__all__ = [
    "Allocation",
    "Allocations",
    "allocation_rows",
    "has_pools",
    "machine_file_name",
    "read_allocation_table",
    "read_allocations",
    "result_allocations",
]

#: Columns of times on the table's clock and of durations [s].
_TIMES = ("waited_limit", "waited_nodes", "waited_reservation", "limited_until", "promised", "promised_at")


@dataclass(frozen=True)
class Allocation:
    """Nodes of one job.

    Attributes
    ----------
    job_id
        The job.
    partition
        Its partition.
    nodes
        Places of its nodes on the machine, ascending.
    taken
        By resource what it took of each of them.
    limit
        The last limit that stopped it, as ``user=ada``; empty: none did.
    features
        Features that it asked for; empty: none.
    place
        Place among all starts, from 0.
    wait
        What it waited for.
    """

    job_id: int
    partition: str
    nodes: tuple[int, ...]
    taken: Mapping[str, tuple[int, ...]]
    limit: str
    features: str
    place: int
    wait: JobWait


@dataclass(frozen=True)
class Allocations:
    """Nodes of all jobs of a run.

    Attributes
    ----------
    machine
        The machine.
    placement
        How nodes were chosen.
    jobs
        Those that started, by id.
    """

    machine: Machine
    placement: str
    jobs: Mapping[int, Allocation]


def result_allocations(result: Recording) -> Allocations | None:
    """The allocations of a simulation in memory; None on one pool.

    Parameters
    ----------
    result
        Its result.
    """
    replay = result.on_machine
    if replay is None:
        return None
    jobs: dict[int, Allocation] = {}
    for record, job, start in zip(result.records, replay.jobs, replay.starts, strict=True):
        if start is not None:
            order = sorted(range(len(start.nodes)), key=start.nodes.__getitem__)
            taken = {
                name: tuple(start.taken[entry][place] for entry in order)
                for place, name in enumerate(replay.table.resources)
            }
            limit = "" if start.limit is None else f"{start.limit.scope}={start.limit.name}"
            jobs[record.job_id] = Allocation(
                record.job_id,
                start.partition,
                tuple(start.nodes[entry] for entry in order),
                taken,
                limit,
                job.request.features,
                start.place,
                start.wait,
            )
    return Allocations(replay.table.machine, replay.placement, jobs)


def allocation_rows(result: Result) -> Iterator[dict[str, Any]]:
    """The rows of ``allocations-*.csv``: one for each job, in the order of the job table; none on one pool.

    Amounts of nodes follow the order of their names; ``2*4 1`` is 4 on each of the first two and 1 on the last.
    """
    found = result_allocations(result)
    if found is None or result.on_machine is None:
        return
    names, known = found.machine.names, dict[tuple[int, ...], str]()
    resources = result.on_machine.table.resources
    for record in result.records:
        job = found.jobs.get(record.job_id)
        if job is None:
            empty = ("partition", "nodes", "limit", "features", *resources, "place", *_TIMES, "other")
            yield {"job_id": record.job_id, **dict.fromkeys(empty)}
            continue
        if job.nodes not in known:
            known[job.nodes] = fold(names[node] for node in job.nodes)
        wait = job.wait
        times = (wait.limit, wait.nodes, wait.reservation, wait.limited_until, wait.promised, wait.promised_at)
        yield {
            "job_id": record.job_id,
            "partition": job.partition,
            "nodes": known[job.nodes],
            "limit": job.limit or None,
            "features": job.features or None,
            **{name: _amounts_text(job.taken[name]) for name in resources},
            "place": job.place,
            **{name: None if time is None else time / SECOND for name, time in zip(_TIMES, times, strict=True)},
            "other": wait.other,
        }


def read_allocations(directory: str | Path, run: str | None = None) -> Allocations | None:
    """The allocations of one run of a directory of ``holdfast run``.

    Parameters
    ----------
    directory
        The directory.
    run
        Run to read, if there are several.

    Returns
    -------
    Allocations or None
        None if the machine is one pool, or its partitions were simulated as pools, which count nodes.

    Raises
    ------
    InputError
        If a file was changed, is missing, or names nodes that the machine does not have.
    """
    folder = Path(directory)
    result = open_run(folder)
    variant = chosen_variant(folder, result.content, run)
    described = variant.content.get("machine")
    if not isinstance(described, dict):
        return None
    path = result.find(table_name("allocations", variant.label))
    if path is None:
        return None
    machine = read_machine(
        result.need(machine_file_name(str(variant.content.get("job_table", "jobs.csv"))), "the machine: run it again")
    )
    placement = str(described.get("placement", "pack"))
    if placement not in PLACEMENTS:
        raise TraceError(folder / RUN, None, str(UnknownNameError("placement", placement, PLACEMENTS)))
    return Allocations(machine, placement, read_allocation_table(path, machine))


def read_allocation_table(path: Path, machine: Machine) -> dict[int, Allocation]:
    """Read ``allocations-*.csv``: the jobs that started, by id.

    Parameters
    ----------
    path
        The table.
    machine
        The machine.

    Raises
    ------
    TraceError
        If a row is broken, or names a node or a partition that the machine does not have.
    """
    places = {name: place for place, name in enumerate(machine.names)}
    partitions = {partition.name for partition in machine.partitions}
    kinds = [f"gpus.{kind}" for kind in dict.fromkeys(name for nodes in machine.kinds for name in nodes.gpus)]
    header = read_text(path).partition("\n")[0].split(",")
    resources = [name for name in ("cores", "memory", "gpus", *kinds) if name in header]
    numbers = {"job_id": whole, "place": whole, "other": whole, **dict.fromkeys(_TIMES, number)}
    jobs: dict[int, Allocation] = {}
    for line, row in table_rows(path, numbers, "partition", "nodes", "limit", "features", *resources):
        if not row["nodes"]:
            continue
        if row["partition"] not in partitions:
            raise TraceError(path, line, f"the machine has no partition {row['partition']!r}")
        try:
            names = expand(row["nodes"])
            nodes = [places[name] for name in names]
            amounts = {name: _amounts(row[name], len(nodes)) for name in resources}
        except KeyError as error:
            raise TraceError(path, line, f"the machine has no node {error.args[0]}") from None
        except ValueError as error:
            raise TraceError(path, line, str(error)) from None
        times = [None if row[name] is None else to_ticks(row[name]) for name in _TIMES]
        jobs[row["job_id"]] = Allocation(
            row["job_id"],
            row["partition"],
            tuple(nodes),
            {name: tuple(values) for name, values in amounts.items()},
            row["limit"],
            row["features"],
            row["place"] or 0,
            JobWait(times[0] or 0, times[1] or 0, times[2] or 0, times[3], row["other"], times[4], times[5]),
        )
    return jobs


def has_pools(directory: str | Path, run: str | None = None) -> bool:
    """Whether a run is of a machine whose partitions were simulated as pools."""
    folder = Path(directory)
    result = open_run(folder)
    variant = chosen_variant(folder, result.content, run)
    has_machine = isinstance(variant.content.get("machine"), dict)
    return has_machine and result.find(table_name("allocations", variant.label)) is None


def machine_file_name(table: str) -> str:
    """The file of the machine of a job table.

    >>> machine_file_name("jobs.csv"), machine_file_name("table-seed_3.csv")
    ('machine.toml', 'machine-seed_3.toml')
    """
    return "machine.toml" if table == "jobs.csv" else f"machine-{Path(table).stem.removeprefix('table-')}.toml"


def _amounts_text(amounts: Sequence[int]) -> str:
    runs = [(amount, sum(1 for _ in same)) for amount, same in groupby(amounts)]
    return " ".join(str(amount) if count == 1 else f"{count}*{amount}" for amount, count in runs)


def _amounts(text: str, count: int) -> list[int]:
    found: list[int] = []
    for word in text.split():
        times, star, amount = word.rpartition("*")
        if not amount.isdecimal() or (star and not times.isdecimal()) or len(word) > 40:
            raise ValueError(f"amounts of nodes must be whole numbers, as in '2*4 1', not {text!r}")
        found += [int(amount)] * min(int(times) if star else 1, count + 1)
    if len(found) != count:
        raise ValueError(f"there must be one amount for each of the {count:,} nodes, not {len(found):,}")
    return found
