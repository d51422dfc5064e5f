"""Data that a log provides about the time before a state: past usage by account, and nodes of running jobs.

Source: docs/forecast.md, "The state".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from holdfast.policies.orders.fairshare import account_name
from holdfast.simulator.machine.prior_state import PastUsage, PriorState
from holdfast.simulator.resources.replay_columns import node_equivalents
from holdfast.workloads.logs.node_names import NamedNodes, NodeNumbers
from holdfast.workloads.logs.starting_state import find_starting_state
from holdfast.workloads.logs.trace import Trace, TraceJob, TraceJobs
from holdfast.workloads.machines.fitted_requests import NodeTable
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest

__all__ = ["machine_prior_state", "node_names", "past_usage", "prior_state", "usage_by_runs", "usage_on_machine"]


class _Holder(Protocol):
    """A job of an account that holds nodes."""

    @property
    def nodes(self) -> int: ...
    @property
    def user(self) -> str: ...
    @property
    def project(self) -> str: ...


def past_usage(jobs: TraceJobs) -> PastUsage:
    """Usage of the jobs of a log with a recorded start, by account."""
    started = jobs.select(np.isfinite(jobs.starts))
    names = zip(started.texts("project"), started.texts("user"), strict=True)
    starts = started.starts
    return PastUsage.from_runs(
        (project or user for project, user in names),
        started.column("nodes"),
        starts,
        starts + started.column("runtime"),
    )


def usage_by_runs(runs: Iterable[tuple[_Holder, float, float]]) -> PastUsage:
    """Usage of jobs with their starts and ends [s]."""
    held = list(runs)
    columns = ([job.nodes for job, _, _ in held], [start for _, start, _ in held], [end for _, _, end in held])
    return PastUsage.from_runs((account_name(job) for job, _, _ in held), *columns)


def node_names(jobs: TraceJobs) -> frozenset[str]:
    """Names of the nodes that jobs of a log ran on; empty if it names none."""
    if not jobs.has("node_list"):
        return frozenset()
    nodes, texts = NamedNodes(), jobs.names
    for number in np.unique(jobs.column("node_list")).tolist():
        nodes.add(texts[number])
    return nodes.names


def prior_state(trace: Trace) -> PriorState | None:
    """Data of a log about the time before a starting state.

    Parameters
    ----------
    trace
        Of :func:`holdfast.workloads.logs.starting_state.starting_state`, on a machine of known size.

    Returns
    -------
    PriorState or None
        Usage of the jobs that had ended and of those that run, the nodes of these where the log names them, and the
        first submit; None: no job runs.
    """
    state = find_starting_state(trace.jobs)
    if state is None or trace.nodes is None:
        return None
    running = [job for job in trace.jobs if job.running_since is not None]
    numbers = NodeNumbers(node_names(TraceJobs((*trace.ended, *trace.jobs))), trace.nodes)
    places = {job.job_id: bits for job in running if (bits := numbers.bits(job.node_list, job.nodes))}
    first = min(job.submit for job in (*trace.ended, *trace.jobs))
    return PriorState(past_usage(TraceJobs((*trace.ended, *running))).until(state.begin), places, first)


def machine_prior_state(
    trace: Trace, workload: MachineWorkload, requests: Mapping[int, ResourceRequest]
) -> PriorState | None:
    """The same on a machine with partitions, where usage counts node equivalents and nodes are chosen anew.

    Parameters
    ----------
    trace
        As of :func:`prior_state`.
    workload
        The machine.
    requests
        Requests of all jobs of the log that fit the machine, by id.
    """
    state = find_starting_state(trace.jobs)
    if state is None:
        return None
    running = [job for job in trace.jobs if job.running_since is not None]
    usage = usage_on_machine(((job, requests[job.job_id]) for job in (*trace.ended, *running)), workload.table)
    first = min(job.submit for job in (*trace.ended, *trace.jobs))
    return PriorState(usage.until(state.begin), {}, first)


def usage_on_machine(jobs: Iterable[tuple[TraceJob, ResourceRequest]], table: NodeTable) -> PastUsage:
    """Usage of the jobs with a recorded start, with their requests, by account, in node equivalents."""
    held = []
    for job, request in jobs:
        if job.start is not None:
            need = table.needs(request, job.walltime)[0]
            account = request.account or account_name(job)
            held.append((account, node_equivalents(table, need), job.start, job.start + job.runtime))
    accounts, sizes, starts, ends = zip(*held, strict=True) if held else ((), (), (), ())
    return PastUsage.from_runs(accounts, sizes, starts, ends)
