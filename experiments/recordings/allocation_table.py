"""The table ``allocations-*.csv``: nodes of each run on a machine with partitions, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

#: Columns of times on the table's clock and of durations [s].
_TIMES = ("waited_limit", "waited_nodes", "waited_reservation", "limited_until", "promised", "promised_at")
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
    names, known = found.machine.names, dict[tuple[int, ...], str]()
    resources = result.on_machine.table.resources
    again = _RUNS if found.past else ()
    causes = _CAUSES if any(run.cause or run.ending for run in (*found.jobs.values(), *found.past)) else ()
    runs = [(job_id, found.jobs.get(job_id)) for job_id in result.records.columns["job_id"].tolist()]
    for job_id, job in [*runs, *((run.job_id, run) for run in found.past)]:
        if job is None:
            empty = ("partition", "nodes", "limit", "features", *resources, "place", *_TIMES, "other", *again, *causes)
            yield {"job_id": job_id, **dict.fromkeys(empty)}
            continue
        if job.nodes not in known:
            known[job.nodes] = fold(names[node] for node in job.nodes)
        wait = job.wait
        times = (wait.limit, wait.nodes, wait.reservation, wait.limited_until, wait.promised, wait.promised_at)
        yield {
            "job_id": job_id,
            "partition": job.partition,
            "nodes": known[job.nodes],
            "limit": job.limit or None,
            "features": job.features or None,
            **{name: _amounts_text(job.taken[name]) for name in resources},
            "place": job.place,
            **{name: None if time is None else time / SECOND for name, time in zip(_TIMES, times, strict=True)},
            "other": wait.other,
            **{
                name: None if time is None else time / SECOND
                for name, time in zip(again, (job.start, job.preempted_at), strict=False)
            },
            **{name: text or None for name, text in zip(causes, (job.cause, job.ending), strict=False)},
        }


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
    kinds = [f"gpus.{kind}" for kind in dict.fromkeys(name for nodes in machine.kinds for name in nodes.gpus)]
    header = read_text(path).partition("\n")[0].split(",")
    resources = [name for name in ("cores", "memory", "gpus", *kinds) if name in header]
    numbers: dict[str, Callable[[str, str], float]] = {"job_id": whole, "place": whole, "other": whole}
    numbers |= dict.fromkeys(_TIMES, number)
    again = [name for name in _RUNS if name in header]
    numbers |= dict.fromkeys(again, number)
    causes = [name for name in _CAUSES if name in header]
    jobs: dict[int, Allocation] = {}
    past: list[Allocation] = []
    for line, row in table_rows(path, numbers, "partition", "nodes", "limit", "features", *resources, *causes):
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
        start, preempted_at = (None if row.get(name) is None else to_ticks(row[name]) for name in _RUNS)
        run = Allocation(
            row["job_id"],
            row["partition"],
            tuple(nodes),
            {name: tuple(values) for name, values in amounts.items()},
            row["limit"],
            row["features"],
            row["place"] or 0,
            JobWait(times[0] or 0, times[1] or 0, times[2] or 0, times[3], row["other"], times[4], times[5]),
            start,
            preempted_at,
            *(row.get(name) or "" for name in _CAUSES),
        )
        if preempted_at is None:
            jobs[run.job_id] = run
        else:
            past.append(run)
    return jobs, past


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
