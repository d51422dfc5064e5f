"""Scheduling decisions of a replay, compared with the starts that a rule of the simulator would have made.

One difference changes all later states. Each decision is therefore compared separately, in the state that Slurm was in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from types import MappingProxyType

from holdfast.experiments.slurm.queue_limits import QueueLimits
from holdfast.experiments.slurm.recorded_replay import Replay, ReplayedJob
from holdfast.policies.backfilling import Backfilling
from holdfast.policies.order import Order
from holdfast.policies.orders.fairshare import account_name
from holdfast.policies.port import Reservation, RunningJob, Window
from holdfast.policies.slurm_backfill import SlurmBackfill, Wish, best_fit, named_starts
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.table.job import JobType

__all__ = ["LONGEST_STOP", "InstantDecision", "decayed_usage", "decisions", "find_starts", "queue_in_order"]

#: Longest time for which nodes that complete stop all passes [s]: CompleteWait of a lab.
LONGEST_STOP = 32.0


@dataclass(frozen=True)
class InstantDecision:
    """Decision at one instant.

    Attributes
    ----------
    at
        On the replay's clock [s].
    did
        Jobs that Slurm started.
    would
        Jobs that the rule would have started.
    soon
        Jobs that Slurm started later, but within the time that a node needs to complete.
    """

    at: float
    did: frozenset[int]
    would: frozenset[int]
    soon: frozenset[int] = frozenset()

    @property
    def equal(self) -> bool:
        """Whether Slurm and the rule start the same jobs."""
        return self.did == self.would

    @property
    def late(self) -> bool:
        """Whether Slurm starts the same jobs, but some only when nodes have completed."""
        return not self.equal and self.did <= self.would <= self.did | self.soon


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A queued job in the interface of policies; times in ticks."""

    job_id: int
    submit: int
    eligible: int
    nodes: int
    walltime: int
    type: JobType = JobType.RIGID
    user: str = ""
    project: str = ""
    kept: int = 0

    @property
    def min_nodes(self) -> int:
        return self.nodes

    def limit(self, nodes: int) -> int:
        return self.walltime

    def duration(self, nodes: int) -> int:
        return self.walltime


@dataclass(frozen=True)
class _View:
    """A machine of rigid jobs in the interface of policies; times in ticks."""

    now: int
    nodes: int
    free: int
    queue: Sequence[_Waiting]
    releases: Sequence[tuple[int, int, int]]
    warning: int = 0
    on_demand_waits: bool = False
    running: Sequence[RunningJob] = ()
    reservations: Sequence[Reservation] = ()
    windows: Sequence[Window] = ()
    kept: Sequence[int] = ()
    usage: Mapping[str | None, float] = field(default_factory=dict)

    def group_usage(self, group: str | None) -> float:
        return self.usage.get(group, 0.0)


def decisions(
    replay: Replay, rule: Backfilling, lag: float, completing: float = 0.0, order: Order | None = None
) -> Iterator[InstantDecision]:
    """All decisions of a replay: one at each instant at which a job arrived or released its nodes while jobs waited.

    Parameters
    ----------
    replay
        What Slurm did.
    rule
        The backfilling rule.
    lag
        Largest delay of a decision by Slurm [s]; events closer together form one instant.
    completing
        Longest time from the end of a job until its nodes are free [s].
    order
        Order of the queue in the state that Slurm was in, with usage from the replay alone; None: by submit.
    """
    jobs = replay.jobs
    waiting = (*jobs, *replay.cancelled)
    places = {job.job_id: job.place for job in jobs if job.place}
    if replay.cancelled:
        waiting = tuple(sorted(waiting, key=lambda job: (job.submit, job.job_id)))
    cancelled = {job.job_id for job in replay.cancelled}
    for first, now in event_groups([time for job in waiting for time in (job.queued, job.nodes_free_at)], lag):
        # A job that is cancelled just now is not looked at any more.
        queue = [
            job
            for job in waiting
            if job.queued <= now and (job.start > now if job.job_id in cancelled else job.start >= first)
        ]
        if not queue:
            continue
        if order is not None:
            queue = queue_in_order(order, now, queue, jobs, replay.nodes)
        running = [job for job in jobs if job.start < first and job.nodes_free_at > now]
        # Slurm makes no pass while nodes complete, if the record has these times.
        if any(job.end <= now < job.end + LONGEST_STOP for job in running):
            continue
        did = frozenset(job.job_id for job in queue if job.start <= now + lag and job.job_id not in cancelled)
        within = now + lag + completing
        soon = frozenset(job.job_id for job in queue if now + lag < job.start <= within and job.job_id not in cancelled)
        would, places = find_starts(rule, now, queue, running, replay, places)
        yield InstantDecision(now, did, would, soon)


def find_starts(
    rule: Backfilling,
    now: float,
    queue: Sequence[ReplayedJob],
    running: Sequence[ReplayedJob],
    replay: Replay,
    places: Mapping[int, int],
) -> tuple[frozenset[int], dict[int, int]]:
    """The jobs that a rule starts at a time under the limits of the site.

    Parameters
    ----------
    rule
        The backfilling rule.
    now
        The time [s].
    queue
        Waiting jobs in their order.
    running
        Jobs that run or whose nodes complete.
    replay
        Size of the machine, and limits.
    places
        Nodes of jobs as bits, where known.

    Returns
    -------
    starts, places
        Ids of the jobs; nodes of jobs as bits, those of the starts under a rule with named nodes included.
    """
    limits = replay.limits
    over = frozenset(job.job_id for job in queue if limits.excess([job], running))
    while True:
        allowed = [job for job in queue if job.job_id not in over]
        known = dict(places)
        if isinstance(rule, SlurmBackfill):
            found = _placed_starts(rule, now, allowed, running, replay, known)
        else:
            found = _rule_starts(rule, now, allowed, running, replay.nodes)
        more = limits.excess([job for job in allowed if job.job_id in found], running)
        if not more:
            return found, known
        over |= more


def event_groups(events: Iterable[float], lag: float) -> Iterator[tuple[float, float]]:
    """First and last time of each group of events that are no further apart than the lag [s]."""
    times = sorted(set(events))
    first = last = times[0]
    for time in times[1:]:
        if time - last > lag:
            yield first, last
            first = time
        last = time
    yield first, last


def queue_in_order(
    order: Order,
    now: float,
    queue: Sequence[ReplayedJob],
    jobs: Sequence[ReplayedJob],
    nodes: int,
    past: Mapping[str | None, float] = MappingProxyType({}),
) -> list[ReplayedJob]:
    """The queue in an order; jobs that are equal stay by submit.

    Parameters
    ----------
    order
        The order.
    now
        The time [s].
    queue
        Waiting jobs.
    jobs
        Jobs that run or have run, for the usage.
    nodes
        Size of the machine.
    past
        Usage of earlier jobs at that time, as of :func:`decayed_usage`.
    """
    usage = decayed_usage(jobs, now, order.half_life, past) if order.half_life is not None else {}
    waiting = [_waiting_job(job) for job in queue]
    view = _View(to_ticks(now), nodes, nodes, waiting, (), usage=usage)
    key = order.at(view) if order.at is not None else lambda job: order.key(job, view.now)
    ranked = sorted(zip(waiting, queue, strict=True), key=lambda pair: (key(pair[0]), pair[1].submit, pair[1].job_id))
    return [job for _, job in ranked]


def decayed_usage(
    jobs: Iterable[ReplayedJob],
    now: float,
    half_life: float,
    past: Mapping[str | None, float] = MappingProxyType({}),
) -> dict[str | None, float]:
    """Decayed node-ticks by account at a time, and those of all (None).

    Parameters
    ----------
    jobs
        Jobs that run or have run.
    now
        The time [s].
    half_life
        Time after which a node-tick counts half [s].
    past
        Usage at that time to which that of the jobs is added.
    """
    rate = log(2) / half_life
    found: dict[str | None, float] = {None: 0.0, **past}
    for job in jobs:
        if job.start < now:
            ends = min(job.end, now)
            used = job.nodes * (exp(-rate * (now - ends)) - exp(-rate * (now - job.start))) / rate * SECOND
            for group in (account_name(_waiting_job(job)), None):
                found[group] = found.get(group, 0.0) + used
    return found


def _waiting_job(job: ReplayedJob) -> _Waiting:
    times = to_ticks(job.submit), to_ticks(job.queued)
    return _Waiting(job.job_id, *times, job.nodes, to_ticks(job.walltime), user=job.user, project=job.account)


def _placed_starts(
    rule: SlurmBackfill,
    now: float,
    queue: Sequence[ReplayedJob],
    running: Sequence[ReplayedJob],
    replay: Replay,
    places: dict[int, int],
) -> frozenset[int]:
    """The jobs that a rule with named nodes would start; ``places`` gives the nodes of jobs where known.

    Slurm rounds times of its own clock. Jobs with unknown nodes are placed where the rule placed them, or by best fit.
    """
    # An hour is a multiple of what it rounds to.
    shift = 0.0 if replay.origin is None else replay.origin % 3600.0
    free = (1 << replay.nodes) - 1
    for job in running:
        free &= ~places.get(job.job_id, 0)
    for job in running:
        if job.job_id not in places:
            places[job.job_id] = best_fit(free, job.nodes)
            free &= ~places[job.job_id]
    ends = [(to_ticks(shift + _expected_end(job, now)), places[job.job_id]) for job in running]
    wishes = [
        Wish(job.job_id, job.nodes, to_ticks(job.walltime), _most_nodes(replay.limits, job, running)) for job in queue
    ]
    found = named_starts(rule, to_ticks(shift + now), replay.nodes, wishes, ends)
    for start in found:
        places.setdefault(start.job_id, start.nodes)
    return frozenset(start.job_id for start in found)


def _most_nodes(limits: QueueLimits, job: ReplayedJob, running: Sequence[ReplayedJob]) -> int:
    """The nodes of a job if its limits allow no further one; else 0."""
    wider = replace(job, nodes=job.nodes + 1, cpus=-(-job.cpus * (job.nodes + 1) // job.nodes))
    return job.nodes if limits.excess([wider], running) else 0


def _rule_starts(
    rule: Backfilling,
    now: float,
    queue: Sequence[ReplayedJob],
    running: Sequence[ReplayedJob],
    nodes: int,
) -> frozenset[int]:
    """The jobs that the rule would start."""
    ends = sorted((to_ticks(_expected_end(job, now)), job.job_id, job.nodes) for job in running)
    view = _View(
        now=to_ticks(now),
        nodes=nodes,
        free=nodes - sum(job.nodes for job in running),
        queue=[_waiting_job(job) for job in queue],
        releases=ends,
    )
    return frozenset(start.job_id for start in rule(view))


def _expected_end(job: ReplayedJob, now: float) -> float:
    """When a job is expected to have released its nodes [s]."""
    # A job about to be killed at its limit ends within a second, and one whose nodes complete may release them soon.
    return now + 1.0 if job.end <= now else max(job.start + job.walltime, now + 1.0)
