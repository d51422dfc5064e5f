"""Jobs on a machine of named nodes with partitions, GPUs, memory, features and limits, as plainly as it gets.

One list of nodes, no arrays, nothing kept from pass to pass but what runs. It follows docs/reference/machines.md:

1. The free amounts of a node are never negative; an exclusive job needs idle nodes and takes all of them.
2. ``pack`` takes nodes by lowest weight, then fewest free cores, then order; ``spread`` by lowest weight, then most
   free cores, then order; ``slurm`` takes the run of nodes that follow each other by name.
3. Jobs are in the order of the tier of their partition, then of the key, then of the table.
4. In each partition the first job that cannot start is its head; jobs that a limit stops neither become heads nor
   block others.
5. A head gets the earliest time at which it can be placed for its whole walltime beside running jobs and earlier heads.
   A job starts if it can be placed now and all heads before it can still be placed, in order, at their times.
6. With ``depth`` k the first k jobs of each partition are heads, with ``depth=None`` all; with 0 the first that cannot
   start blocks its partition.
8. Limits count running jobs.
9. Stranded is what is free on the nodes that the first waiting job may have, while it would in all suffice for the job,
   no limit stops it and it cannot be placed.
10. A cancelled job leaves the queue, or ends; a completion in the same instant comes first. A dependent job is
    submitted its think time after the other has ended in whatever way, without one not before that end; its
    cancellation moves with its submit.

It shares no code with the package: of machines and requests it reads the attributes alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["Placed", "PlainJob", "Shut", "replay_resources"]

#: Memory of a node on which it is not counted.
_PLENTY = 10**15


class PlainJob(NamedTuple):
    """A job: times in any unit, what it asks for, and its user."""

    submit: float
    walltime: float
    runtime: float
    request: Any
    user: str = ""
    patience: float | None = None  # it is cancelled so long after its submit
    preceding: int | None = None  # place of the job that it depends on
    think: float | None = None  # between the end of that and its submit
    tickets: frozenset[int] = frozenset()  # windows (by place) that are open to it


class Shut(NamedTuple):
    """Nodes that are closed from a time on until another; it is known from ``known`` on.

    ``mode`` is ``preempt`` (running jobs are preempted, unless their walltime ends just then), ``wait`` (they go on) or
    ``failure`` (all are preempted).
    """

    begin: float
    end: float
    known: float
    nodes: frozenset[int]
    mode: str


class Placed(NamedTuple):
    """Start of a job, its partition, and the amounts that it takes of each of its nodes, by place."""

    start: float
    partition: str
    taken: dict[int, dict[str, int]]


class _Busy(NamedTuple):
    """Nodes that are occupied from one time to another."""

    begin: float
    end: float
    taken: dict[int, dict[str, int]]


def replay_resources(
    machine: Any,
    jobs: Sequence[PlainJob],
    *,
    placement: str = "pack",
    depth: int | None = 1,
    key: Callable[[int, float, dict[int, Placed]], Any] | None = None,
    tolerance: float = 0,
    watch: Callable[[float, list[tuple[int, float]], dict[str, int]], None] | None = None,
    submitted: dict[int, float] | None = None,
    left: dict[int, float] | None = None,
    site_class: type[_Site] | None = None,
    windows: Sequence[Shut] = (),
    former: list[tuple[int, Placed, float]] | None = None,
) -> list[Placed | None]:
    """Where and when each job starts; None: it would not fit the empty machine.

    Parameters
    ----------
    machine
        Kinds of nodes, partitions and limits, as of :class:`holdfast.workloads.machines.machine.Machine`.
    jobs
        In the order of the table.
    placement, depth
        See above.
    key
        Order of the queue within a tier, of a job's number, the time, and all jobs that have started by then; None: by
        submit.
    tolerance
        How much later an occupation may end and still count as ended at a time that was found.
    watch
        Is given each instant with a pass, the heads with their times, and what is stranded from then on (rule 9).
    site_class
        The machine with other rules; None: those above.
    submitted, left
        Get the submit of each job that has one, and the time at which a job was cancelled while it waited.
    windows
        Spans in which nodes are closed.
    former
        Gets the runs that windows ended: number of the job, its start, and the end.
    """
    site = (site_class or _Site)(machine, placement, tolerance)
    former = [] if former is None else former
    options = [site.options(job) for job in jobs]
    tiers = [max((site.tier[name] for name in option), default=0) for option in options]

    def place(number: int, now: float) -> tuple[int, Any, int]:
        return -tiers[number], submitted[number] if key is None else key(number, now, placed), number

    alive = [number for number in range(len(jobs)) if options[number]]
    submitted = {} if submitted is None else submitted
    left = {} if left is None else left
    placed: dict[int, Placed] = {}
    for number in alive:
        if jobs[number].preceding not in alive:
            submitted[number] = jobs[number].submit

    def cancel(number: int) -> float:
        patience = jobs[number].patience
        return float("inf") if patience is None else submitted[number] + patience

    def over(number: int) -> float:
        if number in placed:
            return min(placed[number].start + min(jobs[number].runtime, jobs[number].walltime), cancel(number))
        return left.get(number, float("inf"))

    def arrival(number: int) -> float:
        return max(submitted[number], jobs[number].request.begin or 0)

    done = -float("inf")
    origin = min((max(jobs[n].submit, jobs[n].request.begin or 0) for n in alive), default=0)
    windows = [shut._replace(begin=max(shut.begin, origin), known=max(shut.known, origin)) for shut in windows]
    events = {time for w in windows if w.end > origin for time in (w.begin, w.end, min(w.begin, w.known))}
    while True:
        coming = [over(number) for number in placed]
        coming += [min(arrival(n), cancel(n)) for n in submitted if n not in left and n not in placed]
        coming += [cancel(n) for n in submitted if n not in left and n not in placed]
        coming = [time for time in coming if done < time < float("inf")]
        if coming or any(n not in placed and n not in left and arrival(n) <= done for n in submitted):
            coming += [time for time in events if time > done]
        if not coming:
            break
        now = done = min(coming)
        for place_of_window, shut in enumerate(windows):
            if shut.begin == now < shut.end:
                for number in [number for number in placed if over(number) > now]:
                    limit = placed[number].start + jobs[number].walltime
                    spared = shut.mode == "wait" or (shut.mode == "preempt" and limit <= now + tolerance)
                    spared = spared or place_of_window in jobs[number].tickets
                    if shut.nodes & set(placed[number].taken) and not spared:
                        former.append((number, placed.pop(number), now))
        site.shut = [
            (place_of_window, shut)
            for place_of_window, shut in enumerate(windows)
            if min(shut.known, shut.begin) <= now < shut.end
        ]
        changed = True
        while changed:
            changed = False
            for number in list(submitted):
                if number not in placed and number not in left and cancel(number) <= now:
                    left[number] = now
                    changed = True
            for number in alive:
                before = jobs[number].preceding
                if number not in submitted and before is not None and over(before) <= now:
                    think = jobs[number].think
                    end = over(before)
                    submitted[number] = max(end, jobs[number].submit) if think is None else end + think
                    changed = True
        running = {number: place for number, place in placed.items() if over(number) > now}
        queue = [n for n in submitted if n not in placed and n not in left and arrival(n) <= now]
        queue.sort(key=lambda number: place(number, now))
        started, heads = site.schedule(now, jobs, options, queue, running, depth)
        placed |= started
        if watch is not None:
            waiting = [number for number in queue if number not in started]
            watch(now, heads, site.stranded_amounts(now, jobs, options, waiting, running | started))
    return [placed.get(number) for number in range(len(jobs))]


class _Site:
    """The machine as a list of nodes."""

    def __init__(self, machine: Any, placement: str, tolerance: float) -> None:
        self.tolerance = tolerance
        self.nodes: list[dict[str, int]] = []
        self.features: list[frozenset[str]] = []
        self.weight: list[int] = []
        names: list[str] = []
        for kind in machine.kinds:
            for name in kind.names:
                names.append(name)
                have = {"cores": kind.cores, "memory": _PLENTY if kind.memory is None else kind.memory}
                have["gpus"] = sum(kind.gpus.values())
                have |= {f"gpus.{gpu}": count for gpu, count in kind.gpus.items() if gpu != "gpu"}
                self.nodes.append(have)
                self.features.append(frozenset(kind.features))
                self.weight.append(kind.weight)
        self.members = {p.name: [names.index(name) for name in p.nodes] for p in machine.partitions}
        self.partition = {p.name: p for p in machine.partitions}
        self.tier = {p.name: p.priority for p in machine.partitions}
        self.default = next((p.name for p in machine.partitions if p.default), machine.partitions[0].name)
        self.limits = machine.limits
        self.placement = placement
        self.shut: list[tuple[int, Shut]] = []
        natural = [
            [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)] for name in names
        ]
        by_name = sorted(range(len(names)), key=lambda node: natural[node])
        self.by_name = {node: place for place, node in enumerate(by_name)}

    def options(self, job: PlainJob) -> list[str]:
        """Partitions that the job fits on the empty machine."""
        found = []
        for name in job.request.partitions or (self.default,):
            if name in self.partition and name not in found:
                longest = self.partition[name].max_time
                if (longest is None or job.walltime <= longest) and self.place(job, name, 0, [], 0) is not None:
                    found.append(name)
        return found

    # Rule 1: what is free of a node over an interval.

    def free(self, node: int, begin: float, end: float, busy: list[_Busy], slack: float) -> dict[str, int]:
        """The least over the interval; what ends up to ``slack`` after its begin counts as ended then."""
        later = {other.begin for other in busy if begin < other.begin and other.begin + self.tolerance < end}
        least = dict(self.nodes[node])
        for time in [begin, *later]:
            here = dict(self.nodes[node])
            over = slack if time == begin else self.tolerance
            for other in busy:
                if other.begin <= time and time + over < other.end:
                    for name, amount in other.taken.get(node, {}).items():
                        here[name] = here.get(name, 0) - amount
            least = {name: min(least[name], here[name]) for name in least}
        return least

    def is_open(self, job: PlainJob, node: int, begin: float) -> bool:
        """Whether no known window keeps the job off the node for its walltime."""
        return not any(
            node in shut.nodes
            and place not in job.tickets
            and shut.begin + self.tolerance < begin + job.walltime
            and begin < shut.end
            for place, shut in self.shut
        )

    def place(
        self, job: PlainJob, partition: str, begin: float, busy: list[_Busy], slack: float
    ) -> dict[int, dict[str, int]] | None:
        """The nodes that a job gets from a time on, and what it takes of each; None: it cannot be placed."""
        request, site = job.request, self.partition[partition]
        exclusive = request.exclusive or site.exclusive
        free: dict[int, dict[str, int]] = {}
        for node in self.members[partition]:
            if self._is_suitable(job, partition, node) and self.is_open(job, node, begin):
                left = self.free(node, begin, begin + job.walltime, busy, slack)
                if not exclusive or left["cores"] == self.nodes[node]["cores"]:
                    free[node] = left

        def holds(node: int, tasks: int) -> bool:
            needed = self.amounts(request, site, tasks)
            return all(free[node].get(name, 0) >= amount for name, amount in needed.items())

        counts = self.layout(request)
        taken: dict[int, int] = {}
        if counts is None:
            left = request.tasks
            for node in self.order(
                free, 0, request.tasks, lambda node: self.most(request.tasks, lambda n: holds(node, n))
            ):
                fitting = self.most(left, lambda tasks, node=node: holds(node, tasks))
                if fitting:
                    taken[node] = fitting
                    left -= fitting
                if not left:
                    break
            if left:
                return None
        else:
            *full, last = counts
            fitting_nodes = {node: free[node] for node in free if holds(node, last)}
            order = self.order(fitting_nodes, len(counts), 0, lambda node: 1)
            for tasks in full:
                node = next((node for node in order if node not in taken and holds(node, tasks)), -1)
                if node < 0:
                    return None
                taken[node] = tasks
            node = next((node for node in order if node not in taken), -1)
            if node < 0:
                return None
            taken[node] = last
        if exclusive:
            return {node: dict(self.nodes[node]) for node in taken}
        return {node: self.amounts(request, site, tasks) for node, tasks in taken.items()}

    @staticmethod
    def most(tasks: int, holds: Callable[[int], bool]) -> int:
        return max((count for count in range(1, tasks + 1) if holds(count)), default=0)

    @staticmethod
    def layout(request: Any) -> list[int] | None:
        """Tasks on each node (a node without tasks counts as one task); None: tasks fill nodes."""
        tasks, per_node, nodes = request.tasks, request.tasks_per_node, request.nodes
        if tasks is None and per_node is None:
            return [1] * (nodes or 1)
        if tasks is None:
            tasks = per_node * (nodes or 1)
        if per_node is None:
            if nodes is None:
                return None
            per_node = -(-tasks // nodes)
        counts = [per_node] * (tasks // per_node)
        return counts + ([tasks % per_node] if tasks % per_node else [])

    @staticmethod
    def amounts(request: Any, site: Any, tasks: int) -> dict[str, int]:
        """What tasks on one node take."""
        cores = tasks * request.cores
        memory = request.memory
        if memory is None:
            memory = (site.memory_per_core or 0) * cores
        elif request.memory_per_core:
            memory *= cores
        needed = {"cores": cores, "memory": memory, "gpus": sum(request.gpus.values())}
        return needed | {f"gpus.{kind}": count for kind, count in request.gpus.items() if kind != "gpu"}

    # Rule 2.

    def order(self, free: dict[int, dict[str, int]], nodes: int, tasks: int, takes: Callable[[int], int]) -> list[int]:
        """Nodes in the order in which they are taken, for a number of nodes, or of tasks that fill nodes."""
        if self.placement == "pack":
            return sorted(free, key=lambda node: (self.weight[node], free[node]["cores"], node))
        if self.placement == "spread":
            return sorted(free, key=lambda node: (self.weight[node], -free[node]["cores"], node))
        useful = [node for node in free if takes(node)]
        found: list[int] = []
        for weight in sorted({self.weight[node] for node in useful}):
            runs: list[list[int]] = []
            for node in sorted((n for n in useful if self.weight[n] == weight), key=self.by_name.__getitem__):
                if runs and self.by_name[runs[-1][-1]] + 1 == self.by_name[node]:
                    runs[-1].append(node)
                else:
                    runs.append([node])
            while runs:
                got = sum(takes(node) for node in found)
                left = (nodes or tasks) - got
                sums = [sum(takes(node) for node in run) for run in runs]
                cores = [sum(free[node]["cores"] for node in run) for run in runs]
                enough = [place for place in range(len(runs)) if sums[place] >= left]
                if enough:
                    best = min(enough, key=lambda place: (cores[place], place))
                else:
                    best = min(range(len(runs)), key=lambda place: (-sums[place], place))
                found += sorted(runs.pop(best), key=lambda node: (free[node]["cores"], self.by_name[node]))
        return found

    # Rule 8.

    def is_stopped(
        self, job: PlainJob, partition: str, amounts: dict[str, int], users: list[tuple[Any, str, dict[str, int]]]
    ) -> bool:
        """Whether a limit forbids these amounts beside those of running jobs (job, partition, amounts)."""
        scopes = {"qos": job.request.qos, "account": job.request.account, "user": job.user, "partition": partition}
        for limit in self.limits:
            if scopes[limit.scope] != limit.name:
                continue
            members = [
                (other, held)
                for other, where, held in users
                if {"qos": other.request.qos, "account": other.request.account, "user": other.user, "partition": where}[
                    limit.scope
                ]
                == limit.name
            ]
            for quota, chosen in (
                (limit.per_user, [held for other, held in members if other.user == job.user]),
                (limit.together, [held for _, held in members]),
            ):
                for name in ("running", "nodes", "cores", "memory", "gpus"):
                    most = getattr(quota, name)
                    if most is not None and sum(held[name] for held in chosen) + amounts[name] > most:
                        return True
        return False

    def requested_amounts(self, job: PlainJob, partition: str) -> dict[str, int]:
        """What a job asks for in all, on the fewest nodes that hold it."""
        counts = self.layout(job.request)
        site = self.partition[partition]
        if counts is None:
            empty = [self.most(job.request.tasks, lambda n, node=node: all(
                self.nodes[node].get(name, 0) >= amount
                for name, amount in self.amounts(job.request, site, n).items()))
                for node in self.members[partition] if self._is_suitable(job, partition, node)]  # fmt: skip
            counts, left = [], job.request.tasks
            for most in sorted(empty, reverse=True):
                if left:
                    counts.append(min(most, left))
                    left -= counts[-1]
        parts = [self.amounts(job.request, site, tasks) for tasks in counts]
        return {"running": 1, "nodes": len(parts)} | {
            name: sum(part[name] for part in parts) for name in ("cores", "memory", "gpus")
        }

    def _is_suitable(self, job: PlainJob, partition: str, node: int) -> bool:
        """Whether a node has the features, and for a job that gets whole nodes memory for all its cores."""
        request, site = job.request, self.partition[partition]
        each = site.memory_per_core if request.memory is None else request.memory if request.memory_per_core else 0
        whole = (request.exclusive or site.exclusive) and each
        fits = not whole or self.nodes[node]["cores"] * each <= self.nodes[node]["memory"]
        return fits and self._has_features(job, node)

    def _has_features(self, job: PlainJob, node: int) -> bool:
        choices = [{word.strip() for word in part.split("&")} for part in job.request.features.split("|")]
        return not job.request.features or any(choice <= self.features[node] for choice in choices)

    def taken_amounts(self, taken: dict[int, dict[str, int]]) -> dict[str, int]:
        """What a placed job takes in all; of nodes whose memory is not counted, none."""
        return {"running": 1, "nodes": len(taken)} | {
            name: sum(
                part[name] for node, part in taken.items() if name != "memory" or self.nodes[node][name] < _PLENTY
            )
            for name in ("cores", "memory", "gpus")
        }

    # Rule 9.

    def stranded_amounts(
        self,
        now: float,
        jobs: Sequence[PlainJob],
        options: list[list[str]],
        waiting: list[int],
        running: dict[int, Placed],
    ) -> dict[str, int]:
        """Free amounts of each resource that the first such job asks for; empty if there is none."""
        busy = [_Busy(p.start, p.start + jobs[n].walltime, p.taken) for n, p in running.items()]
        users = [(jobs[n], p.partition, self.taken_amounts(p.taken)) for n, p in running.items()]
        for number in waiting:
            job = jobs[number]
            for partition in options[number]:
                asked = self.requested_amounts(job, partition)
                if self.is_stopped(job, partition, asked, users):
                    continue
                if self.place(job, partition, now, busy, 0) is not None:
                    continue
                wanted = {name: asked[name] for name in ("cores", "memory", "gpus")}
                for kind, count in job.request.gpus.items():
                    if kind != "gpu":
                        wanted[f"gpus.{kind}"] = count * asked["nodes"]
                free = dict.fromkeys(wanted, 0)
                for node in self.members[partition]:
                    if self._is_suitable(job, partition, node) and self.is_open(job, node, now):
                        left = self.free(node, now, now, busy, 0)
                        free = {name: amount + left.get(name, 0) for name, amount in free.items()}
                if all(free[name] >= amount for name, amount in wanted.items()):
                    return {name: amount for name, amount in free.items() if wanted[name]}
        return {}

    # Rules 3 to 6.

    def schedule(
        self,
        now: float,
        jobs: Sequence[PlainJob],
        options: list[list[str]],
        queue: list[int],
        running: dict[int, Placed],
        depth: int | None,
    ) -> tuple[dict[int, Placed], list[tuple[int, float]]]:
        """One pass: the jobs that start, and the heads with their times."""
        started: dict[int, Placed] = {}
        heads: list[tuple[int, str, float]] = []
        plans: list[_Busy] = []
        waiting_heads = dict.fromkeys(self.partition, 0)

        def busy_parts() -> list[_Busy]:
            every = running | started
            return [_Busy(p.start, p.start + jobs[n].walltime, p.taken) for n, p in every.items()]

        def users() -> list[tuple[Any, str, dict[str, int]]]:
            return [(jobs[n], p.partition, self.taken_amounts(p.taken)) for n, p in (running | started).items()]

        def plan_again(busy: list[_Busy]) -> list[_Busy] | None:
            """The heads in order at their times, beside what runs; None: one of them has no place."""
            found: list[_Busy] = []
            for number, partition, time in heads:
                taken = self.place(jobs[number], partition, time, [*busy, *found], self.tolerance)
                if taken is None:
                    return None
                found.append(_Busy(time, time + jobs[number].walltime, taken))
            return found

        for number in queue:
            job = jobs[number]
            waits_in = []
            for partition in options[number]:
                if self.is_stopped(job, partition, self.requested_amounts(job, partition), users()):
                    continue
                if depth == 0 and waiting_heads[partition]:
                    continue
                taken = self.place(job, partition, now, busy_parts(), 0)
                if taken is not None:
                    if self.is_stopped(job, partition, self.taken_amounts(taken), users()):
                        continue
                    again = plan_again([*busy_parts(), _Busy(now, now + job.walltime, taken)])
                    if again is not None:
                        started[number] = Placed(now, partition, taken)
                        plans = again
                        break
                waits_in.append(partition)
            if number in started:
                continue
            waits_in = [name for name in waits_in if depth is None or waiting_heads[name] < max(depth, 1)]
            best: tuple[float, str] | None = None
            for partition in waits_in:
                if depth == 0:
                    break
                busy = busy_parts()
                ends = {other.end for other in [*busy, *plans]} | {shut.end for _, shut in self.shut}
                times = sorted({now, *(end for end in ends if end > now)})
                time = next(t for t in times if self.place(job, partition, t, [*busy, *plans], 0) is not None)
                if best is None or time < best[0]:
                    best = time, partition
            if best is not None:
                time, partition = best
                slack = self.tolerance if time > now else 0
                taken = self.place(job, partition, time, [*busy_parts(), *plans], slack)
                assert taken is not None
                if time == now:
                    # On nodes beside those of the heads it can start at once.
                    if self.is_stopped(job, partition, self.taken_amounts(taken), users()):
                        continue
                    again = plan_again([*busy_parts(), _Busy(now, now + job.walltime, taken)])
                    if again is not None:
                        started[number] = Placed(now, partition, taken)
                        plans = again
                        continue
                heads.append((number, partition, time))
                plans.append(_Busy(time, time + job.walltime, taken))
            for name in waits_in:
                waiting_heads[name] += 1
        return started, [(number, time) for number, _, time in heads]
