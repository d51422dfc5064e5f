"""Properties of a log that a pool of equal nodes does not model, each with its share of the work."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.logs.cleaning import NO_WALLTIME
from holdfast.workloads.logs.machine_size import named_nodes, occupancy
from holdfast.workloads.logs.swf_header import header_sizes
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.logs.work_shares import (
    GPU_SHARE,
    MEMORY_SHARE,
    NOT_RECORDED,
    PROPERTY_SHARE,
    QOS_SHARE,
    QUEUE_SHARE,
)

__all__ = ["RESULT", "caveats", "missing_requests"]

#: Smaller shares of the work or of the time are errors of a log.
_LEAST = 0.01
#: Format of a simulated schedule that is read as a log.
RESULT = "result"
#: Formats that may record sizes in nodes and in processors.
_EITHER_UNIT = ("alcf", "columns", "sacct", "swf")
_INTERRUPTED = (
    "jobs that were preempted or shrunk count as running on all their nodes from their first start to their end, so "
    "that answers at times with such jobs are wrong"
)
_REMEDY = "run, info, forecast and sweep model this with --machine FILE, which 'holdfast machine' writes"


class _Work(NamedTuple):
    """Work of a log [node-seconds]: all of it, and by partition."""

    total: float
    partitions: dict[str, float]


def caveats(trace: Trace, nodes: int | None = None, option: str = "--nodes") -> tuple[str, ...]:
    """Warnings about properties of a log that a simulation with one pool of equal nodes does not model.

    Parameters
    ----------
    trace
        The log, as it was read.
    nodes
        Size of the machine where the log does not record it.
    option
        Option of the command that gives the size of the machine.

    Returns
    -------
    tuple of str
        One on partitions, shared nodes, GPUs, memory, properties of nodes, QOS and queues; one on requests that are not
        recorded. Empty for a log that one pool models correctly.

    Examples
    --------
    >>> from holdfast.workloads.logs.trace import TraceJob
    >>> one = TraceJob(1, 0.0, 3, 100.0, 100.0, wait=0.0, partition="a")
    >>> two = TraceJob(2, 0.0, 1, 100.0, 100.0, wait=0.0, partition="b")
    >>> print(*caveats(Trace((one, two), nodes=4)))
    one pool of equal nodes is simulated, and waits will be wrong: the log has 2 partitions (25 % of the work outside \
the largest; --where partition=NAME --nodes N simulates one); run, info, forecast and sweep model this with --machine \
FILE, which 'holdfast machine' writes
    """
    if not trace.jobs:
        return ()
    found = []
    shared = _shared_nodes(trace, nodes)
    if trace.format == RESULT:
        return (f"{_INTERRUPTED}: they {shared[0]}",) if shared else ()
    parts = [*_partitions(trace, option), *(f"jobs {text}" for text in shared), *_resources(trace)]
    if parts:
        found.append(f"one pool of equal nodes is simulated, and waits will be wrong: {'; '.join([*parts, _REMEDY])}")
    return (*found, *missing_requests(trace))


def missing_requests(trace: Trace) -> tuple[str, ...]:
    """A sentence on jobs without a requested walltime; empty if there are few."""
    missing = min(1.0, trace.remarks.get(NO_WALLTIME, 0) / max(len(trace.jobs), 1))
    if missing < _LEAST:
        return ()
    return (
        f"{_percent(missing)} of the jobs have no requested walltime, and their runtimes are used as requests: "
        "backfilling and forecasts then use future knowledge",
    )


def _partitions(trace: Trace, option: str) -> list[str]:
    work = _work(trace)
    if len(work.partitions) < 2:
        return []
    outside = 1 - max(work.partitions.values()) / work.total
    if outside < _LEAST:
        return []
    return [
        f"the log has {len(work.partitions)} partitions ({_percent(outside)} of the work outside the largest; "
        f"--where partition=NAME {option} N simulates one)"
    ]


def _work(trace: Trace) -> _Work:
    jobs = trace.jobs
    work = jobs.column("nodes") * jobs.column("runtime")
    sums = np.bincount(jobs.column("partition"), weights=work)
    names = jobs.names
    return _Work(float(work.sum()), {names[code]: float(sums[code]) for code in np.flatnonzero(sums).tolist()})


def _shared_nodes(trace: Trace, nodes: int | None) -> list[str]:
    """Whether jobs held more nodes at once than there are."""
    named = named_nodes(trace)
    # Fewer names than the largest job has nodes are not all of them.
    recorded = trace.nodes or (named if named >= trace.jobs.column("nodes").max() else 0)
    size = recorded or nodes
    processors, counted = header_sizes(trace.header)
    # A node of one processor is not shared; sizes are then those of the other unit, whatever it is called.
    if trace.unit != "nodes" or not size or (processors and processors == counted):
        return []
    held, lengths = occupancy(trace)
    if not len(held) or not lengths.sum() or lengths[held > size].sum() < _LEAST * lengths.sum():
        return []
    beyond = float((np.maximum(held - size, 0) * lengths).sum() / (held * lengths).sum())
    many = f"occupied up to {int(held.max()):,} of {count_text(size, 'nodes')} at once"
    excess = f"{_percent(beyond)} of the work is more than the nodes could hold"
    if trace.format == RESULT:
        return [f"{many} ({excess})"]
    why = "so they share nodes" if recorded else "so they share nodes, or the machine is larger"
    # Readers of plug-ins take no unit.
    choosable = trace.format in _EITHER_UNIT and trace.header.get(NOT_RECORDED) != "processors"
    return [f"{many}, {why} ({excess}{'; try --unit processors' if choosable else ''})"]


def _resources(trace: Trace) -> list[str]:
    """Requests of jobs, QOS and queues that the reader has found."""
    found = []
    asked = (GPU_SHARE, "GPUs"), (MEMORY_SHARE, "memory requests"), (PROPERTY_SHARE, "requests for properties of nodes")
    for key, what in asked:
        share = _share(trace.header.get(key, ""))
        if share >= _LEAST:
            found.append(f"{_percent(share)} of the work has {what}, which are not modelled")
    for key, what in ((QOS_SHARE, "QOS"), (QUEUE_SHARE, "queues")):
        count, _, outside = trace.header.get(key, "").partition(" ")
        if count.isdecimal() and _share(outside) >= _LEAST:
            found.append(f"the log has {count} {what} ({_percent(_share(outside))} of the work outside the largest)")
    return found


def _share(text: str) -> float:
    """A share that a reader has written; a header of SWF may say anything, which counts as 0."""
    return float(text) if re.fullmatch(r"[01]\.[0-9]{1,9}", text) else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"
