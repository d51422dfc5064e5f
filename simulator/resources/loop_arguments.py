"""Arguments of the loop of a replay on named nodes: numbers and arrays, grouped by what they describe.

Arrays are one-dimensional. Where an element has several numbers, they follow each other. Plain loops take lists in
place of arrays, which Python reads in half the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Accounts",
    "Choice",
    "Jobs",
    "Lives",
    "LoopArguments",
    "LoopRecords",
    "Needs",
    "Nodes",
    "Plan",
    "Rule",
    "Runs",
    "WaitingRing",
    "Windows",
]

Ints = npt.NDArray[np.int64]


class Rule(NamedTuple):
    """The rule of the replay.

    Attributes
    ----------
    depth
        Number of waiting jobs of a partition that hold reservations: 0, and the first that cannot start blocks its
        partition.
    placement
        Number of the placement (:mod:`holdfast.simulator.resources.node_choice`).
    tolerance
        Resources that are released within this time count as released at once.
    pauses
        Whether the loop returns before each pass, for the queue to be sorted.
    """

    depth: int
    placement: int
    tolerance: int
    pauses: int


class Nodes(NamedTuple):
    """The machine.

    Attributes
    ----------
    total, resources, partitions
        Number of nodes, resources and partitions.
    capacities
        Vector of each node.
    weights, by_name
        Weight of each node, and its place where names are sorted.
    memories
        1 for each node whose memory is counted.
    """

    total: int
    resources: int
    partitions: int
    capacities: Ints
    weights: Ints
    by_name: Ints
    memories: Ints


class Needs(NamedTuple):
    """What jobs need; equal jobs share a need.

    Attributes
    ----------
    total
        Number of needs.
    partition
        Partition of each.
    first, eligible, places
        The ``eligible`` nodes of a need stand in ``places``, from ``first`` on.
    nodes, tasks
        Number of nodes, or 0 and the number of tasks.
    exclusive
        1 if the job takes whole nodes.
    vector, last, base
        Amounts of each node or task; of the last node; of each node beside its tasks.
    wanted
        Amounts that the job asks for in all.
    sums
        Least amounts in all, in the order of :class:`Accounts`.
    """

    total: int
    partition: Ints
    first: Ints
    eligible: Ints
    places: Ints
    nodes: Ints
    tasks: Ints
    exclusive: Ints
    vector: Ints
    last: Ints
    base: Ints
    wanted: Ints
    sums: Ints


class Jobs(NamedTuple):
    """The jobs, in the order of their arrivals.

    Attributes
    ----------
    total
        Number of jobs.
    walltimes, runtimes, ranks
        Of each job, with its place in queue order.
    first, options
        A job has ``options`` options from ``first`` on, one for each partition.
    need
        Need of each option.
    """

    total: int
    walltimes: Ints
    runtimes: Ints
    ranks: Ints
    first: Ints
    options: Ints
    need: Ints


class Accounts(NamedTuple):
    """Accounts of limits: running jobs, nodes, cores, memory and GPUs.

    Attributes
    ----------
    first, members
        The accounts of an option, from ``first`` to that of the next option.
    most
        Limits of each account; -1 is none.
    used
        Buffer: what running jobs hold.
    """

    first: Ints
    members: Ints
    most: Ints
    used: Ints


class Lives(NamedTuple):
    """Submits and cancellations.

    Attributes
    ----------
    submits, arrivals, begins
        When a job is submitted, begins to wait, and may begin to wait at the earliest.
    followers, next_follower
        The jobs that depend on job j are ``followers[j]``, ``next_follower`` of that, and so on (-1: no more).
    thinks
        Time from the end of the other job to the submit (-1: the submit is known, but waits for that end).
    patiences, cancels
        Time from the submit to the cancellation (-1: never), and when that is.
    coming, leaving
        Jobs that are known to come and to be cancelled, the latest first.
    gone
        Gets when a job was cancelled before its start (-1: it was not).
    """

    submits: Ints
    arrivals: Ints
    begins: Ints
    followers: Ints
    next_follower: Ints
    thinks: Ints
    patiences: Ints
    cancels: Ints
    coming: Ints
    leaving: Ints
    gone: Ints


class WaitingRing(NamedTuple):
    """Waiting jobs, as a ring whose head is the number of jobs.

    Attributes
    ----------
    after, before
        The next and the former job of each.
    linked
        1 for each job that has come.
    arrived
        Gets the jobs that came, in that order.
    stopped
        Gets the account that last stopped a job (-1: none).
    causes
        Gets what each job waited for (:mod:`holdfast.simulator.resources.wait_causes`).
    blocked, blocker
        Buffers: waiting jobs before the present one in each partition, and the last of them.
    """

    after: Ints
    before: Ints
    linked: Ints
    arrived: Ints
    stopped: Ints
    causes: Ints
    blocked: Ints
    blocker: Ints


class Runs(NamedTuple):
    """Runs of jobs, by the number of the job.

    Attributes
    ----------
    starts, option
        Get when and by which option a job started.
    first, size, node, amount
        The nodes of a job stand in ``node``, from ``first`` on, ``size`` of them, and what it takes in ``amount``.
    ends, limits
        End, and end of the walltime.
    by_end, by_limit
        Running jobs by descending end and by ascending end of the walltime.
    """

    starts: Ints
    option: Ints
    first: Ints
    size: Ints
    node: Ints
    amount: Ints
    ends: Ints
    limits: Ints
    by_end: Ints
    by_limit: Ints


class Plan(NamedTuple):
    """Free amounts and reservations ("heads"); buffers.

    Attributes
    ----------
    most
        Number of reservations for which there is room.
    frees
        Row 0 has what is free now, row ``head + 1`` what running jobs leave free at the begin of a reservation.
    time, end, job, option, need
        Of each reservation.
    first, size, node, amount
        Nodes of a reservation, as in :class:`Runs`, with room for a second plan.
    nets
        What reservations leave of ``frees``, with room for a second plan.
    twins
        1 for each reservation that begins at the same time as an earlier one.
    """

    most: int
    frees: Ints
    time: Ints
    end: Ints
    job: Ints
    option: Ints
    need: Ints
    first: Ints
    size: Ints
    node: Ints
    amount: Ints
    nets: Ints
    twins: Ints


class Choice(NamedTuple):
    """Choice of nodes; buffers.

    Attributes
    ----------
    least
        Least free amounts over an interval.
    load
        Tasks that a node can hold.
    fitting
        Nodes that fit.
    node, amount
        Chosen nodes, and what the job takes of each.
    held
        Amounts of a run in all, in the order of :class:`Accounts`.
    failed, judged, judged_stranded, tried, refused
        What is known about each need, and the version of the plan for which it is true.
    """

    least: Ints
    load: Ints
    fitting: Ints
    node: Ints
    amount: Ints
    held: Ints
    failed: Ints
    judged: Ints
    judged_stranded: Ints
    tried: Ints
    refused: Ints


class Windows(NamedTuple):
    """Windows in which nodes are closed (:mod:`holdfast.simulator.resources.window_checks`).

    Attributes
    ----------
    total, tickets, events
        Number of windows, of advance reservations among them, and of events.
    window
        The windows.
    node_first, node_window
        The windows of each node.
    admits
        1 for each need and advance reservation that it may use.
    event_time, event_window, event_kind
        What happens to windows, in order of time.
    """

    total: int
    tickets: int
    events: int
    window: Ints
    node_first: Ints
    node_window: Ints
    admits: Ints
    event_time: Ints
    event_window: Ints
    event_kind: Ints


class LoopRecords(NamedTuple):
    """Passes, preempted runs and the state.

    Attributes
    ----------
    most_past
        Number of preempted runs for which there is room.
    past
        Gets the runs that windows ended (:mod:`holdfast.simulator.resources.preemptions`).
    instants, stranded
        Get the time of each pass, and the amounts that are stranded from it on.
    state
        How the replay ended, and its numbers (:mod:`holdfast.simulator.resources.loop_state`).
    """

    most_past: int
    past: Ints
    instants: Ints
    stranded: Ints
    state: Ints


class LoopArguments(NamedTuple):
    """All arguments of :func:`holdfast.simulator.resources.resource_loop.replay_resources`."""

    rule: Rule
    nodes: Nodes
    needs: Needs
    jobs: Jobs
    accounts: Accounts
    lives: Lives
    queue: WaitingRing
    runs: Runs
    plan: Plan
    choice: Choice
    windows: Windows
    records: LoopRecords
