"""Slurm's scheduling on a machine with partitions and shared nodes, as plainly as it gets.

Sets of nodes, a list of reservations, nothing kept from pass to pass. The rules of docs/reference/machines.md, "Slurm's
backfilling":

1. The main scheduler starts jobs in order; one that must wait keeps the nodes of its partition from all that follow.
   It keeps none if the nodes that are left for it could not hold it even if they were empty, and no job has one of
   them for itself.
2. Backfilling then takes one job after the other. It looks at the nodes without a reservation from a time on for the
   whole walltime. If they have room now, the job starts, on runs of nodes by name; otherwise it is planned when enough
   runs have ended, ends in windows of 30 s that double, on nodes in use first and one idle node more. A window ends
   with the run before one that ends later; if that one is on other nodes, it is left out, and one run more is in it.
3. A plan is kept if its nodes have no other reservation; otherwise a later time is tried, when nodes come free. It is
   not kept if a limit forbids what the job would take on all of these nodes, the idle one more included.
4. While backfilling starts jobs, the main scheduler comes again, and everything is planned anew.
5. A test of a job with GPUs puts the nodes on which it has room before others of the same weight, the more GPUs of a
   node it would get, the further; runs consist of equals. The main scheduler tests a job that has no room as if the
   nodes that are left were empty, or all nodes, if these do not suffice. The nodes that Slurm considers for a job lose
   this place when it tries to start the job.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tests.reference.resources import Placed, PlainJob, _Site

__all__ = ["SlurmSite"]

_SECOND = 1_000_000


class _Kept(NamedTuple):
    begin: float
    end: float
    nodes: frozenset[int]


class _Span(NamedTuple):
    begin: float
    free: frozenset[int]


class SlurmSite(_Site):
    """The machine as a list of nodes, scheduled by Slurm."""

    def schedule(
        self,
        now: float,
        jobs: Sequence[PlainJob],
        options: list[list[str]],
        queue: list[int],
        running: dict[int, Placed],
        depth: int | None,
    ) -> tuple[dict[int, Placed], list[tuple[int, float]]]:
        self.now, self.jobs, self.running, self.started = now, jobs, running, dict[int, Placed]()
        entries = [(number, name) for number in queue for name in options[number]]
        entries.sort(key=lambda entry: -self.tier[entry[1]])
        self.favoured: dict[int, int] = {}
        count = -1
        kept: list[tuple[int, _Kept]] = []
        while count < len(self.started):
            self.start_in_order(entries)
            count = len(self.started)
            kept = []
            for number, name in entries:
                if number in self.started or self.stops(number, name, None):
                    continue
                plan = self.first(number, name, [each for _, each in kept])
                if plan is None:
                    continue
                if plan.begin <= now:
                    self.starts(number, name, plan.nodes)
                elif not self.stops(number, name, self.plan_amounts(number, name, plan.nodes)):
                    kept.append((number, plan))
        return self.started, [(number, plan.begin) for number, plan in kept]

    def start_in_order(self, entries: list[tuple[int, str]]) -> None:
        """The main scheduler."""
        closed: set[int] = set()
        for number, name in entries:
            if number in self.started or self.stops(number, name, None):
                continue
            job, members = self.jobs[number], frozenset(self.members[name])
            left = members - closed
            if len(left) < len(self.layout(job.request) or [1]):
                closed |= members
                continue
            nodes = frozenset(node for node in left if self.considers(job, name, node))
            if self.starts(number, name, nodes):
                continue
            empty = self.rooms(job, name, nodes, self.running | self.started)
            if self.enough(job, list(empty.values())) or self.has_busy(job, name, nodes):
                closed |= members

    def has_busy(self, job: PlainJob, name: str, nodes: frozenset[int]) -> bool:
        """Whether a job has one of these nodes for itself, or any job has one that this job wants for itself."""
        alone = self.has_whole_nodes(job, name)
        return any(
            nodes & set(place.taken)
            for number, place in (self.running | self.started).items()
            if alone or self.has_whole_nodes(self.jobs[number], place.partition)
        )

    def has_whole_nodes(self, job: PlainJob, name: str) -> bool:
        return job.request.exclusive or self.partition[name].exclusive

    def favour(self, job: PlainJob, name: str, nodes: Iterable[int]) -> None:
        """Put nodes on which a job with GPUs is tested before others."""
        gpus = sum(job.request.gpus.values())
        if gpus:
            for node in nodes:
                self.favoured[node] = self.nodes[node]["gpus"] if self.has_whole_nodes(job, name) else gpus

    def rank(self, node: int) -> tuple[int, int]:
        """Nodes of a lower rank are taken first."""
        return self.weight[node], -self.favoured.get(node, 0)

    def starts(self, number: int, name: str, nodes: frozenset[int]) -> bool:
        """Start a job on some of these nodes, if it has room there now and no limit stops it."""
        job = self.jobs[number]
        members = frozenset(self.members[name])
        for node in members:
            if self.considers(job, name, node):
                self.favoured.pop(node, None)
        rooms = self.rooms(job, name, nodes, {})
        if not self.enough(job, list(rooms.values())):
            for tested in (nodes, members):
                rooms = self.rooms(job, name, tested, self.running | self.started)
                if self.enough(job, list(rooms.values())):
                    break
            self.favour(job, name, rooms)
            return False
        self.favour(job, name, rooms)
        taken = self.layout_on(job, name, self.by_runs(job, rooms), rooms)
        if self.stops(number, name, taken):
            return False
        self.started[number] = Placed(self.now, name, taken)
        return True

    def plan_amounts(self, number: int, name: str, nodes: frozenset[int]) -> dict[int, dict[str, int]]:
        """What a job would take of each node of a plan, once all that runs there has ended."""
        rooms = self.rooms(self.jobs[number], name, nodes, self.running | self.started)
        return self.layout_on(self.jobs[number], name, sorted(nodes, key=self.by_name.__getitem__), rooms)

    def stops(self, number: int, name: str, taken: dict[int, dict[str, int]] | None) -> bool:
        job = self.jobs[number]
        users = [
            (self.jobs[n], p.partition, self.taken_amounts(p.taken)) for n, p in (self.running | self.started).items()
        ]
        return self.is_stopped(
            job, name, self.requested_amounts(job, name) if taken is None else self.taken_amounts(taken), users
        )

    # Room.

    def rooms(
        self, job: PlainJob, name: str, nodes: frozenset[int], ended: dict[int, Placed]
    ) -> dict[int, tuple[int, bool, int]]:
        """Tasks that fit on each node once some runs have ended, whether these are as many as on any node, and the free
        cores, as far as there is memory for them.
        """
        request, site = job.request, self.partition[name]
        busy = [place for number, place in (self.running | self.started).items() if number not in ended]
        counts = self.layout(request)
        found = {}
        for node in nodes:
            if node not in self.members[name] or not self._is_suitable(job, name, node):
                continue
            free = dict(self.nodes[node])
            for place in busy:
                for kind, amount in place.taken.get(node, {}).items():
                    free[kind] = free.get(kind, 0) - amount
            if (request.exclusive or site.exclusive) and free["cores"] != self.nodes[node]["cores"]:
                continue
            fit = [
                tasks
                for tasks in ({*counts} if counts is not None else range(1, request.tasks + 1))
                if all(free.get(kind, 0) >= amount for kind, amount in self.amounts(request, site, tasks).items())
            ]
            each = site.memory_per_core if request.memory is None else request.memory if request.memory_per_core else 0
            cores = min(free["cores"], free["memory"] // each) if each else free["cores"]
            cores -= cores % request.cores
            if request.gpus and counts is not None:
                cores = min(cores, counts[0] * request.cores)
            if fit:
                found[node] = max(fit), counts is None or max(fit) == counts[0], cores
        return found

    def considers(self, job: PlainJob, name: str, node: int) -> bool:
        """Whether Slurm waits for ends on a node: it has the features, and cores and memory for the last tasks."""
        request, site, counts = job.request, self.partition[name], self.layout(job.request)
        each = site.memory_per_core if request.memory is None else request.memory if request.memory_per_core else 0
        needed = self.amounts(request, site, 1 if counts is None else counts[-1])
        if each:
            needed["memory"] = each
        cores, memory = (needed.get(kind, 0) for kind in ("cores", "memory"))
        enough = self.nodes[node]["cores"] >= cores and self.nodes[node].get("memory", memory) >= memory
        return enough and self._has_features(job, node)

    def enough(self, job: PlainJob, rooms: Sequence[tuple[int, bool, int]]) -> bool:
        counts = self.layout(job.request)
        if counts is None:
            return sum(tasks for tasks, _, _ in rooms) >= job.request.tasks
        return len(rooms) >= len(counts) and sum(full for _, full, _ in rooms) >= len(counts) - 1

    def usable(self, job: PlainJob, rooms: dict[int, tuple[int, bool, int]]) -> list[int]:
        """Nodes by name; nodes for the last tasks alone only where they are needed."""
        full = [node for node in rooms if rooms[node][1]]
        chosen = full if self.enough(job, [rooms[node] for node in full]) else list(rooms)
        return sorted(chosen, key=self.by_name.__getitem__)

    # Choices.

    def by_runs(self, job: PlainJob, rooms: dict[int, tuple[int, bool, int]]) -> list[int]:
        counts = self.layout(job.request)
        more = 1 if counts is None else len(counts)
        missing = (job.request.tasks if counts is None else sum(counts)) * job.request.cores
        runs: list[list[int]] = []
        for node in self.usable(job, rooms):
            last = runs[-1][-1] if runs else None
            if last is not None and (self.by_name[last] + 1, self.rank(last)) == (self.by_name[node], self.rank(node)):
                runs[-1].append(node)
            else:
                runs.append([node])
        chosen: list[int] = []
        while runs and not self.enough(job, [rooms[node] for node in chosen]):
            lightest = min(self.rank(run[0]) for run in runs)
            best: list[int] | None = None
            for run in runs:
                if self.rank(run[0]) != lightest:
                    continue
                total, most = (sum(rooms[node][2] for node in each) for each in (run, best or []))
                fits, fitted = (
                    len(each) >= more and sum(rooms[node][2] for node in each) >= missing for each in (run, best or [])
                )
                if best is None or (fits and (not fitted or total < most)) or (not fits and total > most):
                    best = run
            assert best is not None
            runs.remove(best)
            single = [node for node in best if rooms[node][2] >= missing]
            if more <= 1 and single:
                best = [min(single, key=lambda node: (rooms[node][2], self.by_name[node]))]
            for node in best:
                if not self.enough(job, [rooms[node] for node in chosen]):
                    chosen.append(node)
                    # Each node that is still to come gets a core at least.
                    missing -= min(rooms[node][2], max(1, missing - max(0, more - 1)))
                    more -= 1
        return chosen

    def by_use(self, job: PlainJob, rooms: dict[int, tuple[int, bool, int]]) -> list[int]:
        in_use = {node for place in (self.running | self.started).values() for node in place.taken}
        chosen: list[int] = []
        nodes = self.usable(job, rooms)
        for rank in sorted({self.rank(node) for node in nodes}):
            for used in (True, False):
                for node in nodes:
                    if self.rank(node) == rank and (node in in_use) == used:
                        chosen.append(node)
                        if self.enough(job, [rooms[node] for node in chosen]):
                            break
            if self.enough(job, [rooms[node] for node in chosen]):
                break
        return chosen

    def layout_on(
        self, job: PlainJob, name: str, nodes: list[int], rooms: dict[int, tuple[int, bool, int]]
    ) -> dict[int, dict[str, int]]:
        request, site = job.request, self.partition[name]
        if request.exclusive or site.exclusive:
            return {node: dict(self.nodes[node]) for node in nodes}
        counts = self.layout(request)
        if counts is None:
            left, taken = request.tasks, {}
            for node in nodes:
                taken[node] = self.amounts(request, site, min(left, rooms[node][0]))
                left -= min(left, rooms[node][0])
            return taken
        last = next((node for node in nodes if not rooms[node][1]), nodes[-1])
        return {node: self.amounts(request, site, counts[-1] if node == last else counts[0]) for node in nodes}

    # Plans.

    def first(self, number: int, name: str, kept: list[_Kept]) -> _Kept | None:
        """The first time of a job and its nodes; for one that starts now, the nodes that it may choose among."""
        job = self.jobs[number]
        at = self.now
        for _ in range(1000):
            late = _SECOND if self.started and at == self.now else 1
            nodes, later = self.look(name, at, at + job.walltime + late, kept)
            time, chosen = self.release(job, name, nodes)
            if chosen:
                time = max(time, at)
                if time <= self.now:
                    return _Kept(time, time + job.walltime, nodes)
                if later is None or time <= later:
                    plan = _Kept(time, time + job.walltime, frozenset(chosen))
                    if not any(
                        each.begin < plan.end and plan.begin < each.end and each.nodes & plan.nodes for each in kept
                    ):
                        return plan
                    later = time if time > at else time + _SECOND
            if later is None:
                return None
            at = later
        return None

    def look(self, name: str, begin: float, end: float, kept: list[_Kept]) -> tuple[frozenset[int], float | None]:
        """Nodes without a reservation from one time to another, and when to look again: as nodes of the partition come
        free.
        """
        members = frozenset(self.members[name])
        spans = [_Span(span.begin, span.free & members) for span in self.spans(kept)]
        spans = spans[max(n for n, span in enumerate(spans) if span.begin <= begin) :]
        free, later = spans[0].free, None
        for span, following in zip(spans, [*spans[1:], None], strict=True):
            if span is not spans[0] and span.begin >= end:
                if later is None and following is not None and following.free - (free & span.free):
                    later = following.begin
                break
            free &= span.free
            if later is None and following is not None and following.free - free:
                later = following.begin
        return free, later

    def spans(self, kept: list[_Kept]) -> list[_Span]:
        """Free nodes between the begins and ends of reservations; after each, the first two equal spans become one."""
        spans = [_Span(self.now, frozenset(range(len(self.nodes))))]
        for each in kept:
            for time in (each.begin, each.end):
                if all(span.begin != time for span in spans):
                    before = [span for span in spans if span.begin < time]
                    spans = [*before, _Span(time, before[-1].free), *spans[len(before) :]]
            spans = [
                _Span(span.begin, span.free - each.nodes) if each.begin <= span.begin < each.end else span
                for span in spans
            ]
            same = [n for n in range(1, len(spans)) if spans[n].free == spans[n - 1].free]
            if same:
                del spans[same[0]]
        return spans

    def release(self, job: PlainJob, name: str, nodes: frozenset[int]) -> tuple[float, list[int]]:
        """When runs have released enough of some nodes, and the nodes of a plan; none: never."""
        rooms = self.rooms(job, name, nodes, {})
        if self.enough(job, list(rooms.values())):
            self.favour(job, name, rooms)
            return self.now, self.by_runs(job, rooms)
        usable = {node for node in nodes if node in self.members[name] and self.considers(job, name, node)}
        ends: list[tuple[Any, int, Placed]] = sorted(
            (max(place.start + self.jobs[n].walltime, self.now + 1), n, place)
            for n, place in (self.running | self.started).items()
        )
        width, barrier = 30 * _SECOND, 0.0
        ended: dict[int, Placed] = {}
        at = self.now
        while ends:
            end, number, place = ends.pop(0)
            if not usable & set(place.taken):
                continue
            barrier = barrier or end + width - end % width
            ended[number], at = place, end
            if ends and ends[0][0] <= barrier + width:
                continue
            if self.enough(job, list(self.rooms(job, name, nodes, ended).values())):
                break
            while ends and ends[0][0] > barrier + width:
                width *= 2
        rooms = self.rooms(job, name, nodes, ended)
        self.favour(job, name, rooms)
        return (at, self.by_use(job, rooms)) if self.enough(job, list(rooms.values())) else (self.now, [])
