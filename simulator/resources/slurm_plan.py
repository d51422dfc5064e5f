"""One scheduling pass as Slurm makes it on a machine whose nodes have resources: the main scheduler, then backfill.

The rule is that of :class:`holdfast.policies.slurm_backfill.SlurmBackfill`; here nodes are shared, and jobs have needs.
Plans reserve whole nodes: two waiting jobs never have the same node at the same time, even where there is room for
both. A job has no plan on nodes that a limit forbids. Sources: ``_attempt_backfill`` of sched/backfill,
``_will_run_test`` of select/cons_common and ``can_job_run_on_node`` of select/cons_tres, Slurm 22.05.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple, Protocol

from holdfast.policies.node_space import NodeSpace, Taken
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources.slurm_choice import Room, choose_nodes, room_on, share_job, suffices, usual_nodes
from holdfast.simulator.resources.slurm_nodes import NodeState, PlannedRun, node_set, numbers
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["Limits", "Request", "SlurmPass"]

#: Maximum number of times at which a job is planned.
_TRIES = 1000
#: Steps of a weight, for the GPUs of a job on a node.
_STEPS = 256
#: Place of GPUs of any kind in the resources of a node.
_GPUS = 2


class Request(NamedTuple):
    """A waiting job in one of its partitions.

    Attributes
    ----------
    job, option
        Numbers of the job, and of the partition for it.
    need
        What it needs there.
    walltime
        [ticks].
    user
        Empty: unknown.
    """

    job: int
    option: int
    need: Need
    walltime: int
    user: str = ""


class Limits(Protocol):
    """Limits on running jobs."""

    def stops(self, request: Request, run: PlannedRun | None = None) -> bool:
        """Whether a limit stops a job, given what it would get; None: given what it asks for."""

    def would_stop(self, option: int, need: Need, run: PlannedRun | None = None) -> bool:
        """The same, without a note that it has waited for the limit."""

    def count(self, run: PlannedRun, sign: int) -> None:
        """Count a run that starts."""


class SlurmPass:
    """A scheduling pass.

    Parameters
    ----------
    rule
        Parameters of the plan.
    now
        The time [ticks].
    state
        Free resources, also of nodes that complete; a start takes them.
    running
        Running jobs.
    eligible
        Set of nodes (bits) that Slurm considers for a need.
    partitions
        Set of nodes of each partition.
    limits
        Limits on running jobs; None: there are none.
    completing
        Set of nodes on which a job has just ended, and which can be used only when they have completed.
    times
        Times of the starts that follow [ticks]: what comes after a start is planned from its time on. None: starts take
        no time.

    Attributes
    ----------
    starts
        Jobs that have started in this pass.
    reserved
        Reservations of the last plan, by job and option.
    """

    def __init__(
        self,
        rule: SlurmBackfill,
        now: int,
        state: NodeState,
        running: Sequence[PlannedRun],
        eligible: Callable[[Need], int],
        partitions: Sequence[int],
        limits: Limits | None = None,
        completing: int = 0,
        times: Iterator[int] | None = None,
    ) -> None:
        self.rule = rule
        self.now = now
        self.state = state
        self.eligible = eligible
        self.partitions = partitions
        self.limits = limits
        self.completing = completing
        self._times = iter(()) if times is None else times
        self._empty = NodeState(state.capacities, state.weights)
        # Nodes that a job has for itself.
        self._whole = node_set(sorted({node for run in running if run.exclusive for node in run.nodes}))
        self._weights = [_STEPS * weight for weight in state.weights]
        self._lowered = 0
        # Runs that end now have not released their nodes yet.
        self.ends = sorted((run._replace(end=max(run.end, now + 1)) for run in running), key=_by_end)
        self.starts: list[tuple[Request, PlannedRun]] = []
        self.reserved: dict[tuple[int, int], Taken] = {}

    def starts_now(
        self, queue: Sequence[Request], *, again: bool = True, in_order: bool = True
    ) -> list[tuple[Request, PlannedRun]]:
        """The jobs of a queue that start now, with their nodes.

        Slurm makes a new plan a second later, in which nodes of jobs that have just started are in use; ``again`` is
        false where something else happens by then, ``in_order`` where the main scheduler does not come before.
        """
        left = self.start_in_order(queue, able=in_order)
        while True:
            known = len(self.starts)
            self.backfill(left)
            if len(self.starts) == known or not again:
                return self.starts
            started = {request.job for request, _ in self.starts}
            left = self.start_in_order([request for request in left if request.job not in started])

    def start_in_order(self, queue: Sequence[Request], *, able: bool = True) -> list[Request]:
        """The main scheduler: jobs start in order; one that must wait keeps the nodes of its partition from others.

        Returns the jobs that wait. A job for which the nodes left would not suffice even if they were free keeps none
        from others. If the scheduler is not ``able`` to start jobs, it came before something happened, and only its
        weights of nodes are left.
        """
        closed = 0
        started: set[int] = set()
        for request in queue:
            if request.job in started:
                continue
            if self.limits is not None and self.limits.stops(request):
                continue
            need, partition = request.need, self.partitions[request.need.partition]
            if (partition & ~closed).bit_count() >= (1 if need.tasks else need.nodes):
                nodes = self.eligible(need) & ~closed
                if self._start(request, nodes, able=able):
                    started.add(request.job)
                    continue
                if not self._is_busy_for(need, nodes):
                    continue
            closed |= partition
        return [request for request in queue if request.job not in started]

    def backfill(self, queue: list[Request]) -> None:
        """The backfill thread: plans a queue, and starts the jobs that are planned for now."""
        self._plan(self._backfill_candidates(queue))

    def _backfill_candidates(self, queue: list[Request]) -> list[Request]:
        """The jobs that backfill considers: the first of the queue, up to the limits in total and per user."""
        jobs: dict[int, None] = {}
        users: dict[str, int] = {}
        for request in queue:
            if request.job in jobs:
                continue
            users[request.user] = users.get(request.user, 0) + 1
            if not self.rule.user or users[request.user] <= self.rule.user:
                jobs[request.job] = None
        seen = set(list(jobs)[: self.rule.most])
        return [request for request in queue if request.job in seen]

    def _is_busy_for(self, need: Need, nodes: int) -> bool:
        """Whether a job waits for these nodes: free, they have room for it, or one of them is another job's alone."""
        jobs, busy = self.state.jobs, self._whole | self.completing
        if nodes & busy or (need.exclusive and any(jobs[node] for node in numbers(nodes))):
            return True
        return suffices(need, list(self._empty.rooms(need, nodes).values()))

    def _start(self, request: Request, nodes: int, *, able: bool = True) -> bool:
        """Start a job on some of these nodes, if they have room for it now and limits allow it."""
        need = request.need
        rooms = self.state.rooms(need, nodes & ~self.completing)
        eligible = self.eligible(need)
        for node in numbers(eligible & self._lowered):
            self._weights[node] = _STEPS * self.state.weights[node]
        self._lowered &= ~eligible
        if not able or not suffices(need, list(rooms.values())):
            # Slurm tests whether it could start on these nodes, or on all, if they were empty.
            empty = self._empty.rooms(need, nodes)
            self._favour(need, empty if suffices(need, list(empty.values())) else self._empty.rooms(need, eligible))
            return False
        self._favour(need, rooms)
        chosen = choose_nodes(need, rooms, self._weights)
        taken = share_job(need, rooms, chosen, self.state.capacities)
        end = self.now + request.walltime
        run = PlannedRun(end, tuple(chosen), tuple(taken), request.job, need.exclusive, request.option)
        if self.limits is not None:
            if self.limits.stops(request, run):
                return False
            self.limits.count(run, 1)
        self.now = max(self.now, next(self._times, self.now))
        run = run._replace(end=self.now + request.walltime)
        self.state.start(run)
        if need.exclusive:
            self._whole |= node_set(chosen)
        insort(self.ends, run, key=_by_end)
        self.starts.append((request, run))
        return True

    def _plan(self, queue: list[Request]) -> None:
        """One job after the other starts, or reserves nodes at its first possible time."""
        rule, now = self.rule, self.now
        space = NodeSpace(now, (1 << len(self.state.jobs)) - 1, round(rule.resolution * SECOND))
        self.reserved = {}
        latest = now + round(rule.window * SECOND) if rule.window else None
        lag = max(1, round(rule.lag * SECOND))
        held: dict[int, int] = {}
        # Once no job that comes is able to start now, the plan is of no more use. If a job has started, another plan
        # follows, and depends on the weights of nodes on which jobs with GPUs are tested in this one.
        able = [place for place, request in enumerate(queue) if self._has_room(request, space)]
        tests = [place for place, request in enumerate(queue) if _count_gpus(request.need)]
        started: set[int] = set()
        for number, request in enumerate(queue):
            while able and (queue[able[-1]].job in started or not self._has_room(queue[able[-1]], space)):
                able.pop()
            if (not able or able[-1] < number) and not (started and tests and number <= tests[-1]):
                break
            if request.job in started or (self.limits is not None and self.limits.stops(request)):
                continue
            found = self._first_place(request, space, lag if self.starts else 1)
            if found is None:
                continue
            if found.start <= self.now:
                if self._start(request, found.nodes):
                    started.add(request.job)
                continue
            if (latest is not None and found.start > latest) or self._is_over_limit(request, found):
                continue
            partition = request.need.partition
            if not rule.depth or held.get(partition, 0) < rule.depth:
                held[partition] = held.get(partition, 0) + 1
                self.reserved[request.job, request.option] = found
                space.keep(found)

    def _is_over_limit(self, request: Request, found: Taken) -> bool:
        """Whether a limit forbids the nodes of a plan, which may be one more than the job asks for.

        Slurm looks at limits again before it keeps a plan, whether nodes are shared or not.
        """
        if self.limits is None:
            return False
        need, nodes = request.need, numbers(found.nodes)
        taken = share_job(need, self._empty.rooms(need, found.nodes), nodes, self.state.capacities)
        run = PlannedRun(found.end, tuple(nodes), tuple(taken), request.job, need.exclusive, request.option)
        return self.limits.would_stop(request.option, need, run)

    def _has_room(self, request: Request, space: NodeSpace) -> bool:
        """Whether a job has room now on nodes without a reservation during its run."""
        nodes = self.eligible(request.need) & space.free(self.now, self.now + request.walltime)
        return suffices(request.need, list(self.state.rooms(request.need, nodes).values()))

    def _first_place(self, request: Request, space: NodeSpace, lag: int) -> Taken | None:
        """Time and nodes of a job beside reservations; the nodes of a start are those that it may choose among."""
        need, now, at = request.need, self.now, self.now
        least = need.least_nodes if need.tasks else need.nodes
        eligible = self.eligible(need)
        releases: dict[int, tuple[int, int]] = {}
        for _ in range(_TRIES):
            # A reservation that begins just when the job would end is in its way.
            until = at + request.walltime + (lag if at == now else 1)
            free, later = space.try_interval(at, until, self.partitions[need.partition])
            free &= eligible
            if free.bit_count() >= least:
                if free not in releases:
                    releases[free] = self._first_release(need, free)
                time, nodes = releases[free]
                if nodes:
                    time = max(time, at)
                    if time <= now:
                        if not nodes & self.completing:
                            return Taken(now, now + request.walltime, free)
                        # These nodes are kept for the job until they have completed.
                        time, later = now + SECOND, 0
                    if not later or time <= later:
                        taken = Taken(time, time + request.walltime, nodes)
                        if space.is_free(taken):
                            return taken
                        # The nodes were chosen without regard to reservations of other jobs at that time.
                        later = time if time > at else time + max(SECOND, round(self.rule.resolution * SECOND))
            if not later:
                return None
            at = later
        return None

    def _first_release(self, need: Need, allowed: int) -> tuple[int, int]:
        """The time at which running jobs have released enough, and the nodes (bits) of a plan; no nodes: never."""
        rooms = self.state.rooms(need, allowed)
        if suffices(need, list(rooms.values())):
            self._favour(need, rooms)
            return self.now, node_set(choose_nodes(need, rooms, self._weights))
        at = self._add_releases(need, allowed, rooms)
        self._favour(need, rooms)
        if at is None:
            return self.now, 0
        if self.rule.busy:
            chosen = usual_nodes(need, rooms, self._weights, self._is_busy)
        else:
            chosen = choose_nodes(need, rooms, self._weights)
        return at, node_set(chosen)

    def _add_releases(self, need: Need, allowed: int, rooms: dict[int, Room]) -> int | None:
        """Add what running jobs release to the room of nodes until it suffices: the time; None: it never does."""
        state = self.state
        free: dict[int, list[int]] = {}
        for runs in self._runs_by_window(allowed):
            for node, vector in _amounts_on(allowed, runs):
                here = free.get(node, state.free[node])
                free[node] = [have + amount for have, amount in zip(here, vector, strict=True)]
                room = room_on(need, free[node], state.capacities[node])
                if room is not None:
                    rooms[node] = room
            if suffices(need, list(rooms.values())):
                return runs[-1].end
        return None

    def _runs_by_window(self, allowed: int) -> Iterator[list[PlannedRun]]:
        """Running jobs on nodes by their ends; the plan treats those of a window as ending together.

        Windows follow each other from the first end on; a window doubles until it contains the next end.
        """
        width = round(self.rule.precision * SECOND)
        barrier = None
        window: list[PlannedRun] = []
        for run, following in zip_longest(self.ends, islice(self.ends, 1, None)):
            # Slurm looks at the end of the next run, wherever it is, but skips it if it is on other nodes: the run
            # after it then belongs to the window, however late it ends.
            if not any(allowed >> node & 1 for node in run.nodes):
                continue
            if barrier is None:
                barrier = run.end + width - (run.end % width if width else 0)
            window.append(run)
            if following is not None and following.end <= barrier + width:
                continue
            yield window
            window = []
            while following is not None and width and following.end > barrier + width:
                width *= 2
        if window:
            yield window

    def _favour(self, need: Need, nodes: Iterable[int]) -> None:
        """Lower the weights of nodes on which a job with GPUs is tested, by its GPUs on each.

        Slurm keeps these weights until a scheduler tries to start a job on the nodes: other jobs prefer them meanwhile.
        """
        gpus = _count_gpus(need)
        if gpus:
            for node in nodes:
                held = self.state.capacities[node][_GPUS] if need.exclusive else gpus
                self._weights[node] = _STEPS * self.state.weights[node] - held
                self._lowered |= 1 << node

    def _is_busy(self, node: int) -> bool:
        """Whether a node is not idle: it is in use, or completes."""
        return self.state.jobs[node] > 0 or bool(self.completing >> node & 1)


def _amounts_on(allowed: int, runs: Iterable[PlannedRun]) -> Iterator[tuple[int, Sequence[int]]]:
    """What each run takes on each of these nodes (bits)."""
    for run in runs:
        for node, vector in zip(run.nodes, run.taken, strict=True):
            if allowed >> node & 1:
                yield node, vector


def _count_gpus(need: Need) -> int:
    """GPUs that a job needs on each node."""
    return need.vector[_GPUS] + need.base[_GPUS]


def _by_end(run: PlannedRun) -> tuple[int, int]:
    """Order of runs: by expected end, equal ones by submission."""
    return run.end, run.job
