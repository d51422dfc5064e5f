"""Story of a job on a machine with partitions: its nodes and why those, and what it waited for.

Everything follows from the table of allocations, in which the replay noted causes; nothing is scheduled again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

from holdfast.experiments.recordings.allocations import Allocation, Allocations
from holdfast.experiments.stories.machine_facts import MachineFacts, PreemptedRun
from holdfast.experiments.stories.room_on_nodes import RoomFinder
from holdfast.experiments.stories.writer.phrases import Clock, duration, jobs, join_items, wrap
from holdfast.simulator.results.recording import Recording
from holdfast.simulator.results.records import JobRecord
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.logs.trace import trace_epoch
from holdfast.workloads.machines.host_list import fold

__all__ = ["MachineStories", "MachineStory"]

_SHORT, _NEAR = 5, 3
_RULES = {
    "pack": "pack takes nodes by lowest weight, then fewest free cores, then order in the file",
    "spread": "spread takes nodes by lowest weight, then most free cores, then order in the file",
    "slurm": "slurm takes, among the nodes of lowest weight, the run of consecutive names that suffices with the "
    "fewest free cores",
}


@dataclass(frozen=True)
class MachineStory:
    """A job's story; ``str`` gives its text."""

    facts: MachineFacts
    clock: Clock

    def as_json(self) -> dict[str, Any]:
        """The facts in JSON types."""
        facts = asdict(self.facts)
        if not self.facts.preempted:
            del facts["preempted"], facts["last_start"]
        if not self.facts.cause:
            del facts["cause"]
        return facts

    def __str__(self) -> str:
        return self._text(_SHORT)

    def at_length(self) -> str:
        """The story with all ids."""
        return self._text(None)

    def reasons(self) -> list[tuple[str, str]]:
        """Reasons of its wait: a heading without a duration, then pairs of a duration and a reason."""
        facts = self.facts
        if facts.start == facts.queued and not facts.preempted:
            return []
        return [("", f"Waited {_time(facts.start - facts.queued)}:"), *self._waits()]

    @property
    def _last_start(self) -> float:
        return self.facts.start if self.facts.last_start is None else self.facts.last_start

    def _text(self, most: int | None) -> str:
        blocks = [wrap(self._summary()), self._course()]
        waits = self._waits()
        if waits:
            heading = "Its waits:" if self.facts.preempted else "Its wait:"
            blocks.append([heading, *_wrap_each((f"{time}  {reason}" for time, reason in waits), "  ")])
            blocks.append(_wrap_each(self._remarks(most)))
        blocks.append(_wrap_each([self._choice()]))
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def _summary(self) -> str:
        """The wait and the runs in a sentence."""
        facts = self.facts
        job = f"Job {job_id_text(facts.job_id)} ({self._size()} in partition {facts.partition}, tier {facts.tier})"
        wait = facts.start - facts.queued
        waited = f"waited {_time(wait)}" if wait else "started at once"
        by_outages = sum(bool(run.by) for run in facts.preempted)
        by_others = len(facts.preempted) - by_outages
        earlier_runs = f"; outages ended {by_outages:,} of its runs" if by_outages else ""
        earlier_runs += f"; it left or changed its nodes {count_text(by_others, 'times')}" if by_others else ""
        ran = "its last run took" if facts.preempted else "it ran for"
        return f"{job} {waited}{earlier_runs}; {ran} {_time(facts.end - self._last_start)}. {self.clock.about}"

    def _course(self) -> list[str]:
        """Lines with the times of its submit, its starts and its ends."""
        facts, at = self.facts, self._at
        events = [f"{at(facts.submit)}  It was submitted."]
        if facts.queued > facts.submit:
            events.append(f"{at(facts.queued)}  It became eligible.")
        for run in facts.preempted:
            events += self._past(run)
        events.append(f"{at(self._last_start)}  It started on {facts.nodes}.")
        events.append(f"{at(facts.end)}  {'Its user cancelled it.' if facts.cancelled else 'It ended.'}")
        return _wrap_each(events)

    def _past(self, run: PreemptedRun) -> tuple[str, str]:
        """Start and end of a run before the last one."""
        started = f"{self._at(run.start)}  It started on {run.nodes}{_because(run.cause)}."
        if run.by:
            return started, f"{self._at(run.end)}  It was preempted by {run.by} and lost its work."
        return started, f"{self._at(run.end)}  It left these nodes: {run.ending}."

    def _waits(self) -> list[tuple[str, str]]:
        facts = self.facts
        came = "last began to wait" if facts.preempted else "came"
        found = []
        if facts.waited_limit and facts.limit is not None and facts.limited_until is not None:
            text = f"The limit of {facts.limit} stopped it, for the last time until {self._at(facts.limited_until)}."
            found.append((_time(facts.waited_limit), text))
        if facts.waited_nodes:
            found.append(
                (_time(facts.waited_nodes), f"Too few nodes had room: when it {came}, {facts.at_queue.sentence()}.")
            )
        if facts.waited_reservation:
            other = "" if facts.delayed is None else f", at last {jobs([facts.delayed])}"
            why = (
                "It would have delayed a job before it"
                if facts.backfills
                else "It stood behind a job that could not start"
            )
            found.append((_time(facts.waited_reservation), f"{why}{other}."))
        return found

    def _remarks(self, most: int | None) -> Iterator[str]:
        facts, at = self.facts, self._at
        if facts.promised is not None and facts.promised_at is not None:
            starts = [*(run.start for run in facts.preempted), self._last_start]
            start = next((start for start in starts if start >= facts.promised_at), facts.start)
            early = facts.promised - start
            how = f"{_time(abs(early))} {'earlier' if early > 0 else 'later'} than that" if early else "just then"
            made = at(facts.promised_at)
            yield f"Its first reservation, made at {made}, was for {at(facts.promised)}; it started {how}."
        if facts.freed_by:
            yield f"It started as {jobs(facts.freed_by, most)} ended on its nodes."
        if facts.higher_tier:
            yield f"Later {jobs(facts.higher_tier, most)} of a higher tier started before it."
        if facts.passed_by:
            yield f"Later {jobs(facts.passed_by, most)} started before it on nodes of its partition."

    def _choice(self) -> str:
        facts = self.facts
        if facts.cause:
            return f"Why these nodes: {facts.cause}."
        return f"Why these nodes: {facts.at_start.sentence()} as it started; {facts.rule}."

    def _size(self) -> str:
        facts = self.facts
        count = len(next(iter(facts.taken.values())))
        most = {name: max(amounts) for name, amounts in facts.taken.items() if max(amounts) and "." not in name}
        kinds = [
            f"{amount / 1024:,.3g} GiB of memory" if name == "memory" else f"{amount:,} {_unit(name, amount)}"
            for name, amount in most.items()
        ]
        each = " each" if count > 1 else ""
        same = all(len(set(amounts)) == 1 for amounts in facts.taken.values())
        return (
            f"{count:,} node{'s' if count > 1 else ''} with {'' if same else 'up to '}{join_items(kinds, None)}{each}"
        )

    def _at(self, seconds: float) -> str:
        return self.clock.at(round(seconds * SECOND))


class MachineStories:
    """The stories of all jobs of a replay on a machine.

    Parameters
    ----------
    recording
        Result of the replay.
    allocations
        Its nodes and causes.
    """

    def __init__(self, recording: Recording, allocations: Allocations) -> None:
        self._recording = recording
        self._allocations = allocations
        self._known: Mapping[int, JobRecord] = recording.record
        if not set(allocations.jobs) <= set(self._known):
            raise InputError("the tables of jobs and of allocations do not belong together: run it again")
        self._room = RoomFinder(allocations, self._known)
        submits = [record.submit for record in recording.records if record.submit is not None]
        self._first = min(submits, default=recording.origin)
        guessed = trace_epoch({}, self._first / SECOND)
        self._epoch = guessed if recording.epoch is None else recording.epoch

    def story(self, job_id: int) -> MachineStory:
        """The story of a job.

        Raises
        ------
        InputError
            If there is no such job, or it never started.
        """
        if job_id not in self._known:
            near = sorted(sorted(self._known, key=lambda known: (abs(known - job_id), known))[:_NEAR])
            ids = ", ".join(map(job_id_text, near))
            raise InputError(f"there is no job {job_id_text(job_id)}; the nearest ids are {ids}")
        job, record = self._allocations.jobs.get(job_id), self._known[job_id]
        if job is None or record.start is None or record.end is None or record.submit is None:
            never = f"job {job_id_text(job_id)} never started: "
            if record.status == "cancelled" and record.start is not None:
                raise InputError(
                    f"job {job_id_text(job_id)} has no last run: its user cancelled it while it waited again, "
                    "or a limit never allowed the nodes that it would get"
                )
            if record.status == "cancelled":
                raise InputError(f"{never}its user cancelled it while it waited")
            raise InputError(
                f"{never}a limit never allows the nodes that it would get, or it depends on a job that never started"
            )
        facts = self._facts(job, record, record.submit, record.start, record.end)
        times = [facts.submit, facts.queued, facts.start, facts.end, facts.limited_until, facts.promised]
        times += [time for run in facts.preempted for time in (run.start, run.end)] + [facts.last_start]
        ticks = [round(time * SECOND) for time in times if time is not None]
        return MachineStory(facts, Clock(self._first, self._epoch, ticks, self._recording.zone))

    def _facts(self, job: Allocation, record: JobRecord, submit: int, start: int, end: int) -> MachineFacts:
        machine, wait = self._allocations.machine, job.wait
        past = [run for run in self._allocations.past if run.job_id == job.job_id]
        last_start = start if job.start is None else job.start
        waits_since = (past[-1].preempted_at if past else None) or record.queued
        tier = machine.partition(job.partition).priority
        overtaking = self._overtaking_jobs(job, record.queued, start)
        higher_tier = [other.job_id for other in overtaking if machine.partition(other.partition).priority > tier]
        waited_for_room = wait.nodes > 0 or wait.reservation > 0
        return MachineFacts(
            job_id=job.job_id,
            partition=job.partition,
            tier=tier,
            nodes=self._node_names(job),
            taken=dict(job.taken),
            placement=self._allocations.placement,
            rule=_RULES[self._allocations.placement],
            backfills=self._recording.options.backfilling != "none",
            submit=submit / SECOND,
            queued=record.queued / SECOND,
            start=start / SECOND,
            end=end / SECOND,
            waited_limit=wait.limit / SECOND,
            waited_nodes=wait.nodes / SECOND,
            waited_reservation=wait.reservation / SECOND,
            limit=job.limit or None,
            limited_until=_seconds(wait.limited_until),
            delayed=wait.other,
            promised=_seconds(wait.promised),
            promised_at=_seconds(wait.promised_at),
            at_queue=self._room.room(job, waits_since),
            at_start=self._room.room(job, last_start),
            freed_by=self._freeing_jobs(job, last_start) if waited_for_room else (),
            higher_tier=tuple(higher_tier),
            passed_by=tuple(other.job_id for other in overtaking if other.job_id not in higher_tier),
            cancelled=record.status == "cancelled",
            preempted=tuple(self._preempted_run(run) for run in past),
            last_start=last_start / SECOND if past else None,
            cause=job.cause,
        )

    def _preempted_run(self, run: Allocation) -> PreemptedRun:
        return PreemptedRun(
            start=(run.start or 0) / SECOND,
            end=(run.preempted_at or 0) / SECOND,
            nodes=self._node_names(run),
            by="" if run.ending else self._allocations.cause(run),
            cause=run.cause,
            ending=run.ending,
        )

    def _node_names(self, run: Allocation) -> str:
        return fold(self._allocations.machine.names[node] for node in run.nodes)

    def _freeing_jobs(self, job: Allocation, start: int) -> tuple[int, ...]:
        """Other jobs that left nodes of a job as it started."""
        return tuple(
            other.job_id
            for other, _, end in self._allocations.runs(self._known)
            if end == start and other.job_id != job.job_id and not set(job.nodes).isdisjoint(other.nodes)
        )

    def _overtaking_jobs(self, job: Allocation, queued: int, start: int) -> list[Allocation]:
        """Jobs that came after it and started before it on nodes of its partition, in order of their starts."""
        machine = self._allocations.machine
        partition_nodes = set(machine.places(machine.partition(job.partition)))
        found = []
        for number, other in self._allocations.jobs.items():
            record = self._known[number]
            overtook = record.start is not None and record.queued > queued and record.start < start
            if overtook and not partition_nodes.isdisjoint(other.nodes):
                found.append(other)
        return sorted(found, key=attrgetter("place"))


def _wrap_each(texts: Iterable[str], indent: str = "") -> list[str]:
    """Lines of several texts; further lines of a text are indented by two more blanks."""
    return [line for text in texts for line in wrap(text, indent, f"{indent}  ")]


def _because(cause: str) -> str:
    """A cause in parentheses."""
    return f" ({cause})" if cause else ""


def _seconds(ticks: int | None) -> float | None:
    return None if ticks is None else ticks / SECOND


def _time(seconds: float) -> str:
    return duration(round(seconds * SECOND))


def _unit(name: str, amount: int) -> str:
    noun = {"cores": "core", "gpus": "GPU"}[name]
    return noun if amount == 1 else f"{noun}s"
