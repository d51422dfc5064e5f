"""What each job did by the event log alone: its runs and their sizes, and what their node-time went into."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.simulator import Result
from holdfast.simulator.machine.stochastic import ReservationRecord
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import Job, JobType

__all__ = ["ENDS", "Stint", "node_tick_uses", "stints_of"]

#: Events after which a job has no nodes.
ENDS = ("preempt", "expire", "complete", "kill", "cancel")
_GOOD = ("complete", "kill", "cancel")


@dataclass
class Stint:
    """A run.

    Attributes
    ----------
    start, end
        Ticks of the simulated clock; ``start`` lies before the replay where the job ran already.
    begin
        From when on it is accounted for.
    pieces
        (from, to, nodes, whether under warning) of constant size.
    warned
        When its warning began; None: there was none.
    ending
        The event that ended it; empty while it goes on.
    """

    start: int
    begin: int
    end: int = 0
    pieces: list[tuple[int, int, int, bool]] = field(default_factory=list)
    warned: int | None = None
    ending: str = ""

    @property
    def nodes(self) -> int:
        """At the start."""
        return self.pieces[0][2]

    def node_ticks(self) -> int:
        """Occupied from ``begin`` on."""
        return sum(nodes * (end - max(start, self.begin)) for start, end, nodes, _ in self.pieces if end > self.begin)


def stints_of(result: Result, jobs: Mapping[int, Job]) -> dict[int, list[Stint]]:
    """The runs of each job, in order."""
    found: dict[int, list[Stint]] = defaultdict(list)
    at: dict[int, tuple[int, int]] = {}
    for entry in result.entries:
        job_id, now = entry.job_id, entry.time
        if entry.event == "start":
            since = jobs[job_id].running_since
            early = since is not None and not found[job_id]
            start = to_ticks(since) - result.origin if early and since is not None else now
            found[job_id].append(Stint(start, now))
            at[job_id] = start, entry.after
        elif job_id in at and entry.event in ("shrink", "expand", "warn", *ENDS):
            stint = found[job_id][-1]
            since, nodes = at[job_id]
            stint.pieces.append((since, now, nodes, stint.warned is not None))
            at[job_id] = now, entry.after
            if entry.event == "warn":
                stint.warned = now
            elif entry.event in ENDS:
                stint.end, stint.ending = now, entry.event
                del at[job_id]
    return found


def node_tick_uses(
    job: Job, stints: Sequence[Stint], reservations: Sequence[ReservationRecord], *, baseline: bool, strict: bool
) -> Iterator[str | tuple[str, int]]:
    """What the node-ticks of a job went into, as (use, node-ticks); and a sentence for each law that it breaks.

    Parameters
    ----------
    job
        Its row.
    stints
        Its runs, all over.
    reservations
        Of a stochastic job.
    baseline
        Whether all others are rigid.
    strict
        Whether the work of every run has to be done: the last one completed.
    """
    if job.type is JobType.STOCHASTIC:
        yield from _stochastic(job, stints, reservations)
    elif job.type is JobType.MALLEABLE and not baseline:
        yield from _malleable(job, stints, done=strict)
    else:
        yield from _rigid_uses(job, stints, baseline=baseline)


def _rigid_uses(job: Job, stints: Sequence[Stint], *, baseline: bool) -> Iterator[str | tuple[str, int]]:
    runtime = job.runtime if not baseline or job.trace_runtime is None else job.trace_runtime
    walltime = to_ticks(job.walltime if not baseline or job.trace_walltime is None else job.trace_walltime)
    compute, setup, interval, cost, dumps = to_ticks(runtime), 0, 0, 0, 0
    if not baseline and job.type is JobType.RIGID:
        setup = to_ticks(job.setup)
        if job.checkpoint_interval is not None:
            interval, cost = to_ticks(job.checkpoint_interval), to_ticks(job.checkpoint_cost)
            dumps = max(0, -(-(compute - setup) // (interval + cost)) - 1)
        compute -= setup + dumps * cost

    def use_until(elapsed: int) -> Counter[str]:
        """Setup, then (compute, dump) in turns, and compute to the end."""
        parts: Counter[str] = Counter(setup=min(elapsed, setup))
        left = elapsed - parts["setup"]
        cycles = min(left // (interval + cost), dumps) if dumps else 0
        left -= cycles * (interval + cost)
        now = min(left, interval) if cycles < dumps else left
        parts.update(compute=cycles * interval + now, checkpoint=cycles * cost + left - now)
        return parts

    for stint in stints:
        if {piece[2] for piece in stint.pieces} != {job.nodes}:
            yield f"runs on {[piece[2] for piece in stint.pieces]} nodes"
        elapsed = stint.end - stint.start
        if elapsed > walltime + 1:
            yield f"runs for {elapsed} ticks, longer than its walltime of {walltime}"
        whole = setup + compute + dumps * cost
        if elapsed > whole or (stint.ending in ("complete", "kill") and elapsed != whole):
            yield f"runs for {elapsed} of {whole} ticks ({stint.ending})"
        before, now = use_until(stint.begin - stint.start), use_until(elapsed)
        if stint.ending in _GOOD:
            for use in ("setup", "compute", "checkpoint"):
                yield use, (now[use] - before[use]) * job.nodes
            continue
        cycles = min(max(0, elapsed - setup) // (interval + cost), dumps) if dumps else 0
        done = max(0, cycles * interval - before["compute"]), max(0, cycles * cost - before["checkpoint"])
        yield "compute", done[0] * job.nodes
        yield "checkpoint", done[1] * job.nodes
        yield "lost", (stint.end - stint.begin - sum(done)) * job.nodes
        compute, dumps, walltime = compute - cycles * interval, dumps - cycles, walltime - cycles * interval


def _malleable(job: Job, stints: Sequence[Stint], *, done: bool) -> Iterator[str | tuple[str, int]]:
    setup = to_ticks(job.setup)
    work, most = ((to_ticks(time) - setup) * job.nodes for time in (job.runtime, job.walltime))
    for stint in stints:
        ready = stint.start + setup
        parts: Counter[str] = Counter()
        for start, end, nodes, warned in stint.pieces:
            if not warned and not (job.min_nodes or 1) <= nodes <= job.nodes:
                yield f"runs on {nodes} nodes, and has from {job.min_nodes} to {job.nodes}"
            if warned and not 0 < nodes <= job.nodes and end > start:
                yield f"is under warning on {nodes} nodes"
            computed = max(0, end - max(start, ready)) if not warned else 0
            work, most = work - computed * nodes, most - computed * nodes
            start = max(start, stint.begin)
            if end <= start:
                continue
            if warned:
                parts["warning"] += (end - start) * nodes
            else:
                parts["setup"] += max(0, min(end, ready) - start) * nodes
                parts["compute"] += max(0, end - max(start, ready)) * nodes
        if stint.warned is not None or stint.ending not in _GOOD:
            parts["lost"] = parts.pop("setup", 0)
        yield from parts.items()
        # The end of a run is rounded to a tick.
        if work < -job.nodes or most < -job.nodes:
            yield f"does {-work} node-ticks more than its work, and {-most} more than its walltime allows"
        if stint.ending in ("complete", "kill") and stint.end < ready:
            yield "completes in its setup"
    if done and abs(work) > job.nodes:
        yield f"completes with {work} node-ticks of work to do"


def _stochastic(
    job: Job, stints: Sequence[Stint], reservations: Sequence[ReservationRecord]
) -> Iterator[str | tuple[str, int]]:
    truth = to_ticks(job.runtime if job.true_runtime is None else job.true_runtime)
    if len(stints) != len(reservations):
        yield f"has {len(reservations)} reservations and {len(stints)} runs"
    saved = 0
    for stint, record in zip(stints, reservations, strict=False):
        used = stint.end - stint.start
        parts = {"setup": record.restart, "compute": record.work, "checkpoint": record.checkpoint}
        if {piece[2] for piece in stint.pieces} != {job.nodes}:
            yield f"runs on {[piece[2] for piece in stint.pieces]} nodes"
        if used > record.length or sum(parts.values()) != used or min(parts.values()) < 0:
            yield f"uses {used} of {record.length} ticks for {parts}"
        if record.ending in ("completed", "saved", "cancelled"):
            for use, ticks in parts.items():
                yield use, ticks * job.nodes
        else:
            yield "lost", used * job.nodes
        expected = {"saved": saved + record.work}.get(record.ending, saved)
        if record.saved != expected or (record.ending == "completed" and saved + record.work != truth):
            yield f"has saved {saved}, works {record.work} of {truth} ({record.ending}) and has {record.saved}"
        saved = record.saved
        ends = {"completed": ("complete", "kill"), "preempted": ("preempt",), "cancelled": ("cancel",)}
        if stint.ending not in ends.get(record.ending, ("expire",)):
            yield f"ends with {stint.ending} where its reservation is {record.ending}"
