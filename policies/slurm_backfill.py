"""Slurm's backfill scheduler, which plans each job on particular nodes.

Other rules count free nodes. Slurm plans on particular nodes: a job may have to wait although enough nodes are free at
every time, because no set of nodes stays free for the length of the job. Sources: slurm.schedmd.com, sched_config and
slurm.conf (``SchedulerParameters``); select/cons_tres and sched/backfill of Slurm 22.05, and the plans that it logs
(``DebugFlags=Backfill``). Nodes are numbered, and a set of nodes is an integer with one bit for each node.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.policies.node_space import NodeSpace, Taken
from holdfast.policies.port import Start, SystemView, WaitingJob
from holdfast.policies.reservation_depth import Outlook, plan_queue
from holdfast.workloads.ground.ranges import Range, legal
from holdfast.workloads.ground.units import LARGEST_SIZE, SECOND

__all__ = ["NamedMachine", "NamedStart", "SlurmBackfill", "Wish", "best_fit", "named_plan", "named_starts"]

#: Maximum number of times at which a job is planned, if its nodes overlap with those of other reservations.
_TRIES = 1000
#: A number of jobs; 0: all.
_JOBS = Range(0, LARGEST_SIZE, whole=True, unit="jobs")


class Wish(NamedTuple):
    """A waiting job: its id, its nodes, its walltime [ticks], and the most nodes of a plan for it; 0: any number.

    A plan may have an idle node more than the job. If a limit forbids that, Slurm makes no plan.
    """

    job_id: int
    nodes: int
    walltime: int
    most: int = 0


class NamedStart(NamedTuple):
    """A job to start, and its nodes."""

    job_id: int
    nodes: int


@dataclass(frozen=True)
@legal(
    depth=_JOBS,
    most=Range(1, LARGEST_SIZE, whole=True, unit="jobs"),
    user=_JOBS,
    busy=Range(0, 1, whole=True),
    **dict.fromkeys(("lag", "precision", "window", "resolution"), Range(0, 1e9, unit="seconds")),
)
class SlurmBackfill:
    """Slurm's plan on named nodes: the main scheduler, then the backfill thread.

    The main scheduler starts jobs in queue order until one must wait. The backfill thread then plans one job after the
    other at the first time at which running jobs have released enough nodes that are not reserved for earlier jobs. A
    job that can start at once gets the smallest block of neighbouring nodes that is large enough. Plans prefer nodes
    in use, and reserve one additional idle node if there is one (``bf_busy_nodes``).

    Attributes
    ----------
    depth
        Number of waiting jobs with a reservation; 0: all (``bf_job_part_count_reserve``).
    most
        Maximum number of waiting jobs that are considered (``bf_max_job_test``).
    lag
        Time that Slurm needs between two starts [s]; a job that would end exactly when a reservation begins starts only
        if it is the first to start.
    precision
        Running jobs that end within this time of the first end are treated as ending together, at the last of their
        ends [s]. The time doubles for later groups, so that distant ends are coarser.
    busy
        Whether plans prefer nodes in use (1: ``bf_busy_nodes``), or the best fit (0).
    window
        Latest start of a reservation from now [s]; 0: no limit (``bf_window``).
    resolution
        Times of reservations are rounded down to multiples of this time [s]; 0: exact (``bf_resolution``).
    user
        Maximum number of waiting jobs of a user that are considered; 0: all (``bf_max_job_user``).

    Notes
    -----
    The rule applies to rigid jobs on a machine on which all nodes are free or in use. If nodes are reserved for
    on-demand jobs, unavailable or held, or if malleable jobs wait, the rule is ``conservative``.
    """

    depth: int = 0
    most: int = 500
    lag: float = 1.0
    precision: float = 30.0
    busy: int = 1
    window: float = 0.0
    resolution: float = 0.0
    user: int = 0

    def __call__(self, view: SystemView) -> list[Start]:
        """The jobs to start now, in this order; running jobs have the first nodes."""
        return self.begin()(view)

    def begin(self) -> NamedMachine:
        """The rule for one simulation, which stores the nodes of running jobs."""
        return NamedMachine(self)


class NamedMachine:
    """The rule in one simulation; it stores the nodes of running jobs between passes.

    Parameters
    ----------
    rule
        Parameters of the plan.

    Attributes
    ----------
    placements
        Nodes of the last run of each job, by job id.
    """

    def __init__(self, rule: SlurmBackfill) -> None:
        self._rule = rule
        self._places: dict[int, int] = {}
        self.placements: dict[int, int] = {}

    def inherit(self, places: Mapping[int, int]) -> None:
        """Begin with running jobs on these nodes, by job id; jobs that do not fit the machine get other nodes."""
        self._places = dict(places)
        self.placements.update(places)

    def __call__(self, view: SystemView) -> list[Start]:
        """The jobs to start now, in this order."""
        running = view.running
        in_use = sum(run.nodes for run in running)
        if view.reservations or view.windows or in_use + view.free != view.nodes:
            return plan_queue(view, _COUNTED)
        if not view.free:
            return []
        queue: Sequence[WaitingJob] = view.queue[: self._rule.most]
        if self._rule.user:
            queue = _limit_per_user(queue, view.free, self._rule.user)
        if all(job.min_nodes > view.free for job in queue):
            return []
        if any(job.min_nodes < job.nodes for job in queue):
            return plan_queue(view, _COUNTED)
        self._settle({run.job_id: run.nodes for run in running}, view.nodes)
        wishes = [Wish(job.job_id, job.nodes, job.walltime) for job in queue]
        ends = [(run.expected_end, self._places[run.job_id]) for run in running]
        found = named_starts(self._rule, view.now, view.nodes, wishes, ends)
        self._places.update(found)
        self.placements.update(found)
        heads = 0
        while heads < len(found) and found[heads].job_id == wishes[heads].job_id:
            heads += 1
        return [
            Start(start.job_id, start.nodes.bit_count(), "in order" if place < heads else "backfilled")
            for place, start in enumerate(found)
        ]

    def _settle(self, running: dict[int, int], nodes: int) -> None:
        """Remove jobs that have ended, and assign nodes to those that other rules have started or resized."""
        free = (1 << nodes) - 1
        places = {}
        for job, count in running.items():
            place = self._places.get(job, 0)
            # Between two passes of this rule, a job may have ended and started again, and other jobs in between.
            if place.bit_count() == count and place & free == place:
                places[job] = place
                free &= ~place
        for job, count in running.items():
            if job not in places:
                places[job] = self.placements[job] = best_fit(free, count)
                free &= ~places[job]
        self._places = places


def _limit_per_user(queue: Sequence[WaitingJob], free: int, most: int) -> list[WaitingJob]:
    """The jobs that start in queue order, and the first ``most`` jobs of each user."""
    kept: list[WaitingJob] = []
    known: dict[str, int] = {}
    for job in queue:
        free -= job.nodes
        known[job.user] = known.get(job.user, 0) + 1
        if free >= 0 or known[job.user] <= most:
            kept.append(job)
        if free < 0:
            free = -1  # no later job starts in queue order
    return kept


_COUNTED = Outlook(None, largest=True)


def named_starts(
    rule: SlurmBackfill, now: int, nodes: int, queue: Sequence[Wish], running: Iterable[tuple[int, int]]
) -> list[NamedStart]:
    """The jobs to start now, with their nodes.

    Parameters
    ----------
    rule
        Parameters of the plan.
    now
        Current time [ticks].
    nodes
        Number of nodes of the machine.
    queue
        Waiting jobs in their order.
    running
        Expected end [ticks] and nodes of each running job.

    Returns
    -------
    list of NamedStart
        Starts of several passes, each in queue order. Slurm makes a new plan a second later. Nodes of jobs that have
        just started are then in use, and preferred by plans; thus other nodes may become free for a job that had to
        wait.
    """
    ends, left, starts = list(running), list(queue), list[NamedStart]()
    while True:
        found, _ = named_plan(rule, now, nodes, left, ends, all_jobs=False, again=bool(starts))
        if not found:
            return starts
        starts += found
        chosen = {start.job_id: start.nodes for start in found}
        ends += [(now + wish.walltime, chosen[wish.job_id]) for wish in left if wish.job_id in chosen]
        left = [wish for wish in left if wish.job_id not in chosen]


def named_plan(
    rule: SlurmBackfill,
    now: int,
    nodes: int,
    queue: Sequence[Wish],
    running: Iterable[tuple[int, int]],
    *,
    all_jobs: bool = True,
    again: bool = False,
) -> tuple[list[NamedStart], dict[int, Taken]]:
    """The jobs to start now, and the reservations of other jobs.

    Parameters
    ----------
    rule, now, nodes, queue, running
        As in :func:`named_starts`.
    all_jobs
        Whether every job is planned; otherwise planning ends when no further job can start now.
    again
        Whether jobs have just started in an earlier pass.

    Returns
    -------
    starts, kept
        Starts in queue order, and reservations by job.
    """
    everything = (1 << nodes) - 1
    # Runs that end now have not released their nodes yet.
    ends = sorted((max(end, now + 1), place) for end, place in running)
    in_use = 0
    for _, place in ends:
        in_use |= place
    starts: list[NamedStart] = []
    kept: dict[int, Taken] = {}
    table = NodeSpace(now, everything, round(rule.resolution * SECOND))
    last = now + round(rule.window * SECOND) if rule.window else None
    lag = max(1, round(rule.lag * SECOND))
    able = (
        range(len(queue))
        if all_jobs
        else _remaining_candidates(table, queue, now, everything & ~in_use, range(len(queue)))
    )
    for number, wish in enumerate(queue):
        if not able or able[-1] < number:
            break
        found = _find_place(wish, now, everything, in_use, ends, table, lag if starts or again else 0, rule)
        if found is None:
            continue
        if found.start <= now:
            starts.append(NamedStart(wish.job_id, found.nodes))
            in_use |= found.nodes
            insort(ends, (now + wish.walltime, found.nodes))
        elif wish.most and found.nodes.bit_count() > wish.most:
            continue
        elif (last is None or found.start <= last) and (not rule.depth or len(kept) < rule.depth):
            kept[wish.job_id] = found
            table.keep(found)
        else:
            continue
        if not all_jobs:
            able = _remaining_candidates(table, queue, now, everything & ~in_use, able)
    return starts, kept


def _remaining_candidates(
    table: NodeSpace, queue: Sequence[Wish], now: int, idle: int, able: Sequence[int]
) -> Sequence[int]:
    """Drop jobs behind the last one that can still start now; reserved nodes only become more during a plan."""
    count = len(able)
    while count:
        wish = queue[able[count - 1]]
        if (idle & table.free(now, now + wish.walltime)).bit_count() >= wish.nodes:
            break
        count -= 1
    return able[:count]


def _find_place(
    wish: Wish,
    now: int,
    everything: int,
    in_use: int,
    ends: Sequence[tuple[int, int]],
    table: NodeSpace,
    lag: int,
    rule: SlurmBackfill,
) -> Taken | None:
    """Find time and nodes for a whole run of a job beside the reservations of others; None: not found."""
    earliest = now
    releases: dict[int, tuple[int, int]] = {}
    for _ in range(_TRIES):
        until = earliest + wish.walltime + (lag if earliest == now else 0)
        allowed, later = table.try_interval(earliest, until)
        if allowed.bit_count() < wish.nodes:
            if not later:
                return None
            earliest = later
            continue
        if allowed not in releases:
            releases[allowed] = _first_release(wish.nodes, now, allowed, in_use, ends, rule)
        at, place = releases[allowed]
        if not place:
            if not later:
                return None
            earliest = later
            continue
        at = max(at, earliest)
        if later and at > later:
            earliest = later
            continue
        taken = Taken(at, at + wish.walltime, place)
        if at <= now or table.is_free(taken):
            return taken
        # The nodes were chosen without regard to reservations of other jobs at that time.
        earliest = at if at > earliest else at + max(SECOND, round(rule.resolution * SECOND))
    return None


def _first_release(
    count: int, now: int, allowed: int, in_use: int, ends: Sequence[tuple[int, int]], rule: SlurmBackfill
) -> tuple[int, int]:
    """The time at which ``count`` of the nodes are released, and the chosen nodes; no nodes: never.

    Ends are grouped in windows from the first end; a window doubles until it contains the next end, so that distant
    ends are coarser.
    """
    free = allowed & ~in_use
    if free.bit_count() >= count:
        return now, best_fit(free, count)
    width = round(rule.precision * SECOND)
    barrier = at = 0
    last = len(ends) - 1
    for place, (end, held) in enumerate(ends):
        given = held & allowed
        if not given:
            continue
        if not barrier:
            barrier = end + width - (end % width if width else 0)
        free |= given
        at = end
        if place == last:
            break
        following = ends[place + 1][0]
        if following <= barrier + width:
            continue
        if free.bit_count() >= count:
            break
        while width and following > barrier + width:
            width *= 2
    if free.bit_count() < count:
        return now, 0
    return at, _busy_first(free, count, in_use) if rule.busy else best_fit(free, count)


def best_fit(free: int, count: int) -> int:
    """The smallest block of neighbouring nodes that is large enough; if there is none, the largest blocks in turn.

    Parameters
    ----------
    free
        Free nodes, at least ``count``.
    count
        Number of nodes to choose.

    Examples
    --------
    >>> bin(best_fit(0b111100110, 2)), bin(best_fit(0b111100110, 3)), bin(best_fit(0b1100101, 3))
    ('0b110', '0b11100000', '0b1100001')
    """
    chosen = 0
    while count:
        blocks = _blocks(free)
        enough = [block for block in blocks if block[0] >= count]
        size, first = min(enough) if enough else max(blocks, key=lambda block: (block[0], -block[1]))
        taken = ((1 << min(size, count)) - 1) << first
        chosen |= taken
        free &= ~taken
        count -= min(size, count)
    return chosen


def _blocks(free: int) -> list[tuple[int, int]]:
    """Size and first node of each block of neighbouring nodes."""
    blocks = []
    begin = 0
    while free:
        skipped = (free & -free).bit_length() - 1
        free >>= skipped
        size = (~free & (free + 1)).bit_length() - 1
        blocks.append((size, begin + skipped))
        free >>= size
        begin += skipped + size
    return blocks


def _busy_first(free: int, count: int, in_use: int) -> int:
    """The first nodes in use and one additional idle node; if they do not suffice, as many idle nodes as needed."""
    busy, idle = free & in_use, free & ~in_use
    if busy.bit_count() >= count:
        return _lowest(busy, count) | (idle & -idle)
    return busy | _lowest(idle, count - busy.bit_count())


def _lowest(nodes: int, count: int) -> int:
    """The ``count`` nodes with the lowest numbers."""
    low, high = 0, nodes.bit_length()
    while low < high:
        middle = (low + high) // 2
        if (nodes & ((1 << middle) - 1)).bit_count() < count:
            low = middle + 1
        else:
            high = middle
    return nodes & ((1 << low) - 1)
