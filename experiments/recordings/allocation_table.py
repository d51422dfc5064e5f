"""The table ``allocations-*.csv``: nodes of each run on a machine with partitions, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from holdfast.experiments.recordings.allocations import Allocation, result_allocations
from holdfast.experiments.recordings.archive import table_rows
from holdfast.simulator.resources.machine_jobs import JobWait
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.text_cells import number, whole
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.machines.host_list import expand, fold
from holdfast.workloads.machines.machine import Machine

__all__ = ["allocation_rows", "read_allocation_table"]

#: Columns of durations [s], and the field of :class:`~holdfast.simulator.resources.machine_jobs.JobWait` of each.
_DURATIONS = {"waited_limit": "limit", "waited_nodes": "nodes", "waited_reservation": "reservation"}
#: Columns of times on the table's clock [s], which are named as the fields.
_INSTANTS = ("limited_until", "promised", "promised_at")
#: Columns where outages preempted runs: the start of each run of such a job, and the end of a preempted one [s].
_RUNS = ("start", "preempted_at")
#: Columns of mechanisms: why a run got its nodes, and why it left them.
_CAUSES = ("cause", "ending")


def allocation_rows(result: Result) -> Iterator[dict[str, Any]]:
    """The rows of ``allocations-*.csv``: one for each job, in the order of the job table; none on one pool.

    Then one for each run that an outage ended. Amounts of nodes follow the order of their names; ``2*4 1`` is 4 on each
    of the first two and 1 on the last.
    """
    found = result_allocations(result)
    if found is None or result.on_machine is None:
        return
    all_runs = [*found.jobs.values(), *found.past]
    resources = result.on_machine.table.resources
    run_columns = _RUNS if found.past else ()
    cause_columns = _CAUSES if any(run.cause or run.ending for run in all_runs) else ()
    columns = (
        *("job_id", "partition", "nodes", "limit", "features", *resources, "place"),
        *(*_DURATIONS, *_INSTANTS, "other", *run_columns, *cause_columns),
    )
    # Many jobs have the same nodes.
    host_list = cache(lambda nodes: fold(found.machine.names[node] for node in nodes))
    last_runs = [(job_id, found.jobs.get(job_id)) for job_id in result.records.columns["job_id"].tolist()]
    for job_id, run in [*last_runs, *((run.job_id, run) for run in found.past)]:
        row: dict[str, Any] = dict.fromkeys(columns)
        row["job_id"] = job_id
        if run is not None:
            row |= {"partition": run.partition, "nodes": host_list(run.nodes), "place": run.place}
            row |= {"limit": run.limit or None, "features": run.features or None, "other": run.wait.other}
            row |= {name: _amounts_text(run.taken[name]) for name in resources}
            row |= {name: _seconds(getattr(run.wait, field)) for name, field in _DURATIONS.items()}
            row |= {name: _seconds(getattr(run.wait, name)) for name in _INSTANTS}
            row |= {name: _seconds(getattr(run, name)) for name in run_columns}
            row |= {name: getattr(run, name) or None for name in cause_columns}
        yield row


def read_allocation_table(path: Path, machine: Machine) -> tuple[dict[int, Allocation], list[Allocation]]:
    """Read ``allocations-*.csv``: the last run of each job that started, by id, and the runs that outages ended.

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
    header = read_text(path).partition("\n")[0].split(",")
    gpu_kinds = dict.fromkeys(f"gpus.{kind}" for node in machine.kinds for kind in node.gpus)
    resources = [name for name in ("cores", "memory", "gpus", *gpu_kinds) if name in header]
    run_columns = [name for name in _RUNS if name in header]
    cause_columns = [name for name in _CAUSES if name in header]
    numbers: dict[str, Callable[[str, str], float]] = dict.fromkeys(("job_id", "place", "other"), whole)
    numbers |= dict.fromkeys((*_DURATIONS, *_INSTANTS, *run_columns), number)
    texts = ("partition", "nodes", "limit", "features", *resources, *cause_columns)
    jobs: dict[int, Allocation] = {}
    past: list[Allocation] = []
    for line, row in table_rows(path, numbers, *texts):
        if not row["nodes"]:
            continue
        if row["partition"] not in partitions:
            raise TraceError(path, line, f"the machine has no partition {row['partition']!r}")
        try:
            nodes = tuple(places[name] for name in expand(row["nodes"]))
            taken = {name: tuple(_amounts(row[name], len(nodes))) for name in resources}
        except KeyError as error:
            raise TraceError(path, line, f"the machine has no node {error.args[0]}") from None
        except ValueError as error:
            raise TraceError(path, line, str(error)) from None
        durations = {field: _ticks(row[name]) or 0 for name, field in _DURATIONS.items()}
        wait = JobWait(
            **durations,
            limited_until=_ticks(row["limited_until"]),
            other=row["other"],
            promised=_ticks(row["promised"]),
            promised_at=_ticks(row["promised_at"]),
        )
        run = Allocation(
            row["job_id"],
            row["partition"],
            nodes,
            taken,
            row["limit"],
            row["features"],
            row["place"] or 0,
            wait,
            start=_ticks(row.get("start")),
            preempted_at=_ticks(row.get("preempted_at")),
            cause=row.get("cause") or "",
            ending=row.get("ending") or "",
        )
        if run.preempted_at is None:
            jobs[run.job_id] = run
        else:
            past.append(run)
    return jobs, past


def _seconds(ticks: int | None) -> float | None:
    return None if ticks is None else ticks / SECOND


def _ticks(seconds: float | None) -> int | None:
    return None if seconds is None else to_ticks(seconds)


def _amounts_text(amounts: Sequence[int]) -> str:
    if amounts.count(amounts[0]) == len(amounts):
        # Most jobs get the same of each node: 20,000 jobs on 280 nodes each are written 1 s sooner.
        return str(amounts[0]) if len(amounts) == 1 else f"{len(amounts)}*{amounts[0]}"
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
