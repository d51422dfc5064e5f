"""The writer: facts of a job in plain sentences, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.experiments.stories.facts.lifetime import Facts, Loan
from holdfast.experiments.stories.facts.quantities import moments
from holdfast.experiments.stories.facts.queueing import Wait
from holdfast.experiments.stories.writer import queued, running
from holdfast.experiments.stories.writer.on_demand import on_demand_lines
from holdfast.experiments.stories.writer.phrases import Clock, amount, count, duration, jobs, join_items, wrap
from holdfast.workloads.ground.job_ids import job_id_text

__all__ = ["wait_reasons", "write_story"]

#: Names in a list.
_SHORT = 5


def write_story(
    facts: Facts,
    first: int,
    epoch: float | None,
    *,
    zone: str = "UTC",
    unit: str = "nodes",
    everything: bool = False,
) -> str:
    """The story of a job.

    Parameters
    ----------
    facts
        Facts of the job.
    first
        First submit of the simulation [ticks of the job table's clock].
    epoch
        Seconds since 1970 at which that clock stands at 0; None: not known.
    zone
        What dates are in.
    unit
        What sizes count: ``nodes`` or ``processors``.
    everything
        Whether long lists are shown to their end.

    Returns
    -------
    str
        Lines of at most 80 characters, without a line end after the last.
    """
    most = None if everything else _SHORT
    clock = Clock(first, epoch, list(moments(facts)), zone)
    head = [*wrap(f"{_job_phrase(facts)} {_summary(facts)}", unit=unit), *wrap(clock.about)]
    # Sorted by time alone: sentences of one instant keep their order.
    lines = sorted(_lines(facts, clock, most), key=lambda line: line[0])
    width = max((len(clock.at(time)) for time, _ in lines), default=0)
    margin = " " * (width + 2)
    story = [line for time, text in lines for line in wrap(text, f"{clock.at(time):>{width}}  ", margin, unit=unit)]
    blocks = [head, story, *_sections(facts, clock, most, unit)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def wait_reasons(facts: Facts, first: int, epoch: float | None) -> list[tuple[str, str]]:
    """Reasons of all waits of a job: pairs of a duration and a reason; headings have no duration."""
    clock = Clock(first, epoch, list(moments(facts)))
    return [pair for wait in facts.waits for pair in queued.reasons(wait, facts, clock, _SHORT)]


def _job_phrase(facts: Facts) -> str:
    sizes = f"{facts.min_nodes:,} to {facts.nodes:,}" if facts.min_nodes < facts.nodes else f"{facts.nodes:,}"
    kind = facts.type
    if facts.mechanism == "baseline" and kind not in ("rigid", "stochastic"):
        kind += ", here rigid"
    asks = "" if facts.type == "stochastic" else f", asks for {duration(facts.walltime)}"
    return f"Job {job_id_text(facts.job_id)} ({kind}, {sizes} of {facts.machine:,} nodes{asks}; {facts.mechanism})"


def _summary(facts: Facts) -> str:
    if facts.submit is None or facts.end is None:
        return "never arrived." if facts.status == "no_show" else f"never came to its end ({facts.status})."
    if facts.start is None or facts.wait is None:
        waited = duration(facts.end - facts.submit)
        return f"was cancelled {waited} after its submit, before it started."
    clauses = [f"waited {duration(facts.wait)}" if facts.wait else "started at once"]
    if 0 < facts.wait < queued.LITTLE:
        clauses = [f"waited only {duration(facts.wait)}"]
    if facts.eligible is not None:
        clauses.insert(0, f"was held for {duration(facts.eligible - facts.submit)}")
    if facts.preemptions:
        clauses.append(f"was preempted {_times_over(facts.preemptions)}")
    if facts.shrinks:
        clauses.append(f"shrank {_times_over(facts.shrinks)}")
    endings = {"completed": "completed", "killed": "was killed at its walltime", "cancelled": "was cancelled"}
    ended = endings.get(facts.status, f"was {facts.status}")
    clauses.append(f"{ended} {duration(facts.end - facts.submit)} after its submit")
    return f"{join_items(clauses, None)}." + (f" It lost {amount(facts.lost)}." if facts.lost else "")


def _times_over(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _lines(facts: Facts, clock: Clock, most: int | None) -> Iterator[tuple[int, str]]:
    """Sentences with their times, roughly in the order of time."""
    if facts.on_demand is not None:
        yield from on_demand_lines(facts, facts.on_demand, clock, most)
    written = 0
    for number, run in enumerate(facts.runs):
        wait = None
        if run.wait is not None:
            wait = facts.waits[run.wait]
            yield from _wait_sentences(wait, clock, most)
            written = run.wait + 1
        yield from running.run_lines(facts, number, wait, most)
    for wait in facts.waits[written:]:
        yield from _wait_sentences(wait, clock, most)
    for other in facts.others:
        cause = f" ({other.cause})" if other.cause else ""
        if other.event == "cancel":
            yield other.time, f"Its user cancelled it{cause}."
            continue
        if other.event == "hold":
            until = "" if facts.eligible is None else f" until {clock.at(facts.eligible)}"
            yield other.time, f"It was submitted{cause}, and held{until}."
            continue
        yield other.time, f"The log says: {other.event}, {other.before} to {other.after} nodes{cause}."


def _wait_sentences(wait: Wait, clock: Clock, most: int | None) -> Iterator[tuple[int, str]]:
    eligible = wait.why == "submit" and wait.cause == "eligible"
    began = {
        "submit": "It became eligible" if eligible else "It was submitted",
        "requeue": "It was queued again",
        "next": "Its next reservation was submitted",
        "wait": "It was queued ahead of all jobs but earlier on-demand jobs",
    }.get(wait.why, wait.why)
    if wait.until == wait.since:
        yield wait.since, f"{began}."
        return
    began += f" ({wait.cause})" if wait.why == "submit" and wait.cause and not eligible else ""
    free = f"{count(wait.free, 'node') if wait.free else 'no nodes'} {'was' if wait.free == 1 else 'were'} free"
    if wait.first and wait.first[0].since == wait.since:
        yield wait.since, f"{began} and was first in the queue; {free}{queued.first_promise(wait, clock)}."
    elif len(wait.ahead) == 1:
        yield (
            wait.since,
            f"{began} behind job {job_id_text(wait.ahead[0])}, which asked for "
            f"{count(wait.ahead_nodes, 'node')}; {free}.",
        )
    else:
        names = join_items([job_id_text(job_id) for job_id in wait.ahead], most)
        asked = f"which asked for {count(wait.ahead_nodes, 'node')} together"
        yield wait.since, f"{began} behind {count(len(wait.ahead), 'job')} ({names}), {asked}; {free}."
    yield from queued.head_sentences(wait, clock, most)


def _sections(facts: Facts, clock: Clock, most: int | None, unit: str) -> Iterator[list[str]]:
    """Remarks after the story."""
    for wait in facts.waits:
        yield queued.section(wait, facts, clock, most, unit)
    yield [line for loan in facts.loans for line in wrap(_loan(loan, clock), "", "  ", unit=unit)]
    if not facts.has_decisions:
        yield wrap(
            "Promises, loans and expected losses were not recorded with this run; 'holdfast run --events' records them."
        )


def _loan(loan: Loan, clock: Clock) -> str:
    sentence = f"It lent {count(loan.nodes, 'node')} to on-demand {jobs([loan.borrower])} at {clock.at(loan.time)}"
    if not loan.returned or loan.returned_at is None:
        return f"{sentence}; none came back to it."
    part = f"{loan.returned} came" if loan.returned < loan.nodes else "all came" if loan.nodes > 1 else "it came"
    return f"{sentence}; {part} back to it at {clock.at(loan.returned_at, loan.time)}."
