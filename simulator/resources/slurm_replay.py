"""Replays under Slurm's backfilling on a machine with partitions, shared nodes, GPUs, memory and features.

A loop in plain Python: each pass plans all jobs anew, as Slurm does.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import cast

import numpy as np

from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources.loop_outcome import LoopOutcome, job_wait
from holdfast.simulator.resources.machine_jobs import JobStart
from holdfast.simulator.resources.node_order import natural_places
from holdfast.simulator.resources.replay_columns import ReplayColumns
from holdfast.simulator.resources.slurm_choice import suffices
from holdfast.simulator.resources.slurm_limits import RunningAmounts
from holdfast.simulator.resources.slurm_nodes import NodeState, PlannedRun, node_set
from holdfast.simulator.resources.slurm_plan import Request, SlurmPass
from holdfast.simulator.resources.wait_causes import (
    BACKFILLED,
    CAUSES,
    LIMIT,
    NODES,
    OTHER,
    PROMISED,
    PROMISED_AT,
    RESERVATION,
    end_wait,
    note_promise,
    note_wait,
)
from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["run_slurm"]

#: Events in the order in which they happen at one instant.
_END, _CANCEL, _ARRIVAL = range(3)


def run_slurm(columns: ReplayColumns, rule: SlurmBackfill) -> LoopOutcome:
    """Replay jobs.

    Parameters
    ----------
    columns
        The jobs.
    rule
        Parameters of the plan.
    """
    return _Replay(columns, rule).outcome()


class _Replay:
    def __init__(self, columns: ReplayColumns, rule: SlurmBackfill) -> None:
        self.columns = columns
        self.rule = rule
        table, count = columns.table, len(columns.jobs)
        self.places = natural_places(table.machine.names)
        self.order = sorted(range(len(self.places)), key=self.places.__getitem__)
        self.state = NodeState(
            [table.capacities[node] for node in self.order], [table.weights[node] for node in self.order]
        )
        self.considered = {id(need): self._node_mask(need.considered) for need in columns.distinct}
        self.partitions = [self._node_mask(table.machine.places(each)) for each in table.machine.partitions]
        self.limits = RunningAmounts(
            columns.limits,
            [columns.distinct[number] for number, _ in columns.options],
            [table.counts_memory[node] for node in self.order],
        )
        self.submits = list(columns.submits)
        self.queued = list(columns.begins)
        self.events: list[tuple[int, int, int]] = []
        self.followers: dict[int, list[int]] = {}
        self.waiting: set[int] = set()
        self.running: dict[int, PlannedRun] = {}
        self.starts: dict[int, tuple[int, PlannedRun]] = {}
        self.ends: dict[int, int] = {}
        self.gone: dict[int, int] = {}
        self.causes = [0] * (count * CAUSES)
        for job in range(count):
            self.causes[job * CAUSES] = -1
            for place in (OTHER, PROMISED, PROMISED_AT):
                self.causes[job * CAUSES + place] = -1
            if columns.preceding[job] < 0:
                self._submit(job)
            else:
                self.followers.setdefault(columns.preceding[job], []).append(job)

    def outcome(self) -> LoopOutcome:
        """Everything that happens."""
        columns, instants, stranded = self.columns, [], []
        queue = columns.queue.fresh()
        # Jobs that depend on others are submitted later than the table says, and have another place then.
        moving = not columns.queue.static or bool(self.followers)
        while self._drop_stale():
            now = self.events[0][0]
            for job in self._happen(now):
                if columns.preceding[job] >= 0:
                    queue.submit(job, self.submits[job] - columns.origin, self.queued[job] - columns.origin)
            instants.append(now)
            if moving:
                ranked = queue.sort(sorted(self.waiting), now - columns.origin)
            else:
                ranked = sorted(self.waiting, key=columns.ranks.__getitem__)
            started = self._pass(now, ranked)
            if moving:
                for job in started:
                    queue.start(job, now - columns.origin, self.ends[job] - columns.origin)
            stranded.append(self._stranded_amounts([job for job in ranked if job in self.waiting]))
        return self._outcome(instants, stranded)

    def _node_mask(self, nodes: Sequence[int]) -> int:
        return node_set([self.places[node] for node in nodes])

    def _submit(self, job: int) -> None:
        columns = self.columns
        heappush(self.events, (self.queued[job], _ARRIVAL, job))
        if columns.patiences[job] >= 0:
            heappush(self.events, (self.submits[job] + columns.patiences[job], _CANCEL, job))

    def _drop_stale(self) -> bool:
        """Whether anything is to come; cancellations of jobs that have started, and arrivals of those that left, go."""
        while self.events:
            _, kind, job = self.events[0]
            if (kind == _CANCEL and job in self.starts) or (kind == _ARRIVAL and job in self.gone):
                heappop(self.events)
            else:
                return True
        return False

    def _happen(self, now: int) -> list[int]:
        """All events of an instant, those that follow from others too; the jobs that arrive."""
        arrived = []
        while self.events and self.events[0][0] <= now:
            _, kind, job = heappop(self.events)
            if kind == _END and job in self.running:
                self._end(job, now)
            elif kind == _CANCEL and job not in self.starts:
                if job in self.waiting:
                    self.waiting.remove(job)
                    end_wait(job, now, self.causes)
                self.gone[job] = now
                self._follow(job, now)
            elif kind == _ARRIVAL and job not in self.gone:
                self.waiting.add(job)
                arrived.append(job)
        return arrived

    def _end(self, job: int, now: int) -> None:
        run = self.running.pop(job)
        self.state.end(run)
        self.limits.count(run, -1)
        self._follow(job, now)

    def _follow(self, job: int, over: int) -> None:
        """Submit the jobs that depend on one that is over."""
        columns = self.columns
        for other in self.followers.get(job, ()):
            think = columns.thinks[other]
            self.submits[other] = over + think if think >= 0 else max(over, self.submits[other])
            self.queued[other] = max(self.submits[other], columns.earliest[other])
            self._submit(other)

    def _pass(self, now: int, ranked: Sequence[int]) -> list[int]:
        columns = self.columns
        requests = [
            Request(
                job,
                option,
                columns.distinct[columns.options[option][0]],
                columns.walltimes[job],
                columns.jobs[job].user,
            )
            for job in ranked
            for option in range(columns.first[job], columns.first[job] + len(columns.needs[job]))
        ]
        tiers = columns.table.machine.partitions
        requests.sort(key=lambda request: -tiers[request.need.partition].priority)
        running = list(self.running.values())
        plan = SlurmPass(
            self.rule, now, self.state, running, lambda need: self.considered[id(need)], self.partitions, self.limits
        )
        started = []
        for request, run in plan.starts_now(requests):
            job = request.job
            end_wait(job, now, self.causes)
            self.waiting.remove(job)
            self.running[job] = run
            self.starts[job] = now, run
            until = now + columns.runtimes[job]
            if columns.patiences[job] >= 0:
                until = min(until, self.submits[job] + columns.patiences[job])
            self.ends[job] = until
            heappush(self.events, (until, _END, job))
            started.append(job)
        passed = set[int]()
        for request in requests:
            job = request.job
            if job not in self.waiting:
                if self.starts[job][1].option == request.option:
                    self.causes[job * CAUSES + BACKFILLED] = int(request.need.partition in passed)
                continue
            taken = plan.reserved.get((job, request.option))
            if taken is not None:
                note_promise(job, taken.start, now, self.causes)
            limited = self.limits.would_stop(request.option, request.need)
            if not limited:
                passed.add(request.need.partition)
            cause = LIMIT if limited else RESERVATION if self._has_room(request.need) else NODES
            note_wait(job, cause, -1, now, self.causes)
        return started

    def _has_room(self, need: Need) -> bool:
        return suffices(need, list(self.state.rooms(need, self.considered[id(need)]).values()))

    def _stranded_amounts(self, waiting: Sequence[int]) -> list[int]:
        """Free amounts that in all suffice for the first waiting job that has no room, and that no limit stops."""
        columns = self.columns
        for job in waiting:
            for option in range(columns.first[job], columns.first[job] + len(columns.needs[job])):
                need = columns.distinct[columns.options[option][0]]
                if self.limits.would_stop(option, need) or self._has_room(need):
                    continue
                free = [
                    sum(self.state.free[self.places[node]][kind] for node in need.eligible)
                    for kind in range(len(need.vector))
                ]
                if all(have >= amount for have, amount in zip(free, need.total, strict=True)):
                    return [
                        have if one + base > 0 else 0
                        for have, one, base in zip(free, need.vector, need.base, strict=True)
                    ]
        return [0] * len(columns.table.resources)

    def _outcome(self, instants: list[int], stranded: list[list[int]]) -> LoopOutcome:
        columns, count = self.columns, len(self.columns.jobs)
        machine = columns.table.machine
        found: list[JobStart | None] = [None] * count
        for place, (job, (start, run)) in enumerate(self.starts.items()):
            limit = self.limits.stopped.get(job)
            found[job] = JobStart(
                start,
                self.ends[job],
                machine.partitions[columns.distinct[columns.options[run.option][0]].partition].name,
                tuple(self.order[node] for node in run.nodes),
                tuple(
                    columns.table.known_amounts(self.order[node], tuple(amounts))
                    for node, amounts in zip(run.nodes, run.taken, strict=True)
                ),
                None if limit is None else columns.limits.limits[limit],
                job_wait(columns, range(count), self.causes[job * CAUSES : (job + 1) * CAUSES]),
                place,
                backfilled=bool(self.causes[job * CAUSES + BACKFILLED]),
            )
        return LoopOutcome(
            found,
            self.submits,
            self.queued,
            cast("list[int | None]", [self.gone.get(job) for job in range(count)]),
            [],
            np.array(instants, np.int64),
            np.array(stranded, np.int64).reshape(len(instants), len(columns.table.resources)),
        )
