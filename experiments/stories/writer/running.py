"""Sentences on a run, from its start to its end or preemption."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.experiments.stories.facts.lifetime import Cause, Facts, Resize, RunFacts, Stop
from holdfast.experiments.stories.facts.queueing import Wait
from holdfast.experiments.stories.writer import queued
from holdfast.experiments.stories.writer.on_demand import return_sentence
from holdfast.experiments.stories.writer.phrases import amount, count, duration, join_items
from holdfast.workloads.ground.job_ids import job_id_text

__all__ = ["run_lines"]

#: Changes of the size that are listed for one run, at its beginning and at its end.
_SIZES = 2


def run_lines(facts: Facts, number: int, wait: Wait | None, most: int | None) -> Iterator[tuple[int, str]]:
    """Sentences on a run, each with its time.

    Parameters
    ----------
    facts
        Facts of the job.
    number
        Which of its runs.
    wait
        The wait before it; None: there was none.
    most
        Names in a list; None: all.
    """
    run = facts.runs[number]
    yield run.start, _start_sentence(facts, number, wait, most)
    sizes = run.resizes
    cut = most is not None and len(sizes) > 2 * _SIZES + 1
    for resize in sizes[:_SIZES] if cut else sizes:
        yield resize.time, _resize_sentence(resize)
    if cut:
        hidden = [resize.after for resize in sizes[_SIZES:-_SIZES]]
        sentence = f"Its size then changed {len(hidden)} more times, between {min(hidden):,} and {max(hidden):,} nodes."
        yield sizes[_SIZES].time, sentence
        for resize in sizes[-_SIZES:]:
            yield resize.time, _resize_sentence(resize)
    if run.ending == "cancel":
        if run.stop is not None:
            yield from _stop_sentences(facts, run, run.stop)
        yield run.end, f"Its user cancelled it{'' if run.stop else ' while it ran'}."
    elif run.stop is not None:
        yield from _stop_sentences(facts, run, run.stop)
    elif run.slot is not None:
        yield run.end, _slot_over(run)
    else:
        yield run.end, _end_sentence(facts, run, most)


def _start_sentence(facts: Facts, number: int, wait: Wait | None, most: int | None) -> str:
    run = facts.runs[number]
    size = count(run.nodes, "node")
    if run.nodes < facts.nodes:
        size += f" (it can use {facts.nodes:,})"
    again = " again" if number and run.slot is None else ""
    again += " at once" if wait is not None and wait.since == wait.until else ""
    kind = run.cause.kind
    if kind == "in order":
        sentence = f"It started{again} on {size}, in its turn"
    elif kind == "backfilled":
        sentence = f"It was backfilled: it started{again} on {size}, before its turn"
    elif kind == "tenant":
        owners = [f"{nodes} of job {job_id_text(job_id)}" for job_id, nodes in run.tenant_of]
        lenders = f" ({join_items(owners, most)})" if owners else ""
        sentence = f"It started{again} as a tenant, on {size} reserved for on-demand jobs{lenders}"
    elif kind == "returned":
        part = f"{run.returned} of which" if 0 < run.returned < run.nodes else "which"
        part = part if facts.has_decisions else "some of which"
        sentence = f"It started{again} on {size}, {part} on-demand job {_beneficiary(run.cause)} gave back"
    elif kind == "resumes":
        sentence = f"It started{again} on {size}, some of which had come back to it and were held for it"
    elif kind == "runs already":
        sentence = f"It was already running on {size} when the replay began"
    elif kind == "arrival":
        sentence = f"It started on its {size}{_instantly(facts)}"
    else:
        sentence = f"It started{again} on {size}" + (f" ({run.cause.text})" if run.cause.text else "")
    return f"{sentence}{queued.compare_promises(wait) if wait is not None else ''}.{_words(run.cause)}"


def _instantly(facts: Facts) -> str:
    service, late = facts.on_demand, facts.wait
    if service is None or late is None:
        return ""
    when = "at its arrival" if not late else f"{duration(late)} after its arrival"
    return f", {when}: {'an instant start' if service.instant else 'no instant start'}"


def _resize_sentence(resize: Resize) -> str:
    cause, change = resize.cause, count(abs(resize.after - resize.before), "node")
    verb = "shrank" if resize.after < resize.before else "expanded"
    sentence = f"It {verb} from {resize.before:,} to {count(resize.after, 'node')}"
    if cause.kind == "made room":
        sentence += f": {change} went to on-demand job {_beneficiary(cause)}, which had arrived"
    elif cause.kind == "returned":
        sentence += f": on-demand job {_beneficiary(cause)} gave {change} back"
    elif cause.text:
        sentence += f" ({cause.text})"
    return f"{sentence}.{_words(cause)}"


def _stop_sentences(facts: Facts, run: RunFacts, stop: Stop) -> Iterator[tuple[int, str]]:
    nodes = count(run.resizes[-1].after if run.resizes else run.nodes, "node")
    lost = f" It lost {amount(stop.lost)}" if stop.lost else " It lost nothing"
    if facts.type == "malleable":
        lost += " (its setup) and kept its work" if stop.lost else " and kept its work"
    elif stop.checkpoints:
        written = f"{count(stop.checkpoints, 'checkpoint')} of this run"
        lost += f"; {written} had secured {duration(stop.secured)} of work"
    elif facts.type == "rigid":
        lost += ", as this run had written no checkpoint"
    why = f"{lost}.{_why_that_one(facts, stop)}{_words(stop.cause)}"
    if stop.vacated > stop.time or stop.lost_to_warning:
        warning = duration(stop.vacated - stop.time)
        yield stop.time, f"It was warned {_why(stop.cause)}: {warning} to leave its {nodes}.{why}"
        also = f", another {amount(stop.lost_to_warning)} lost to the warning" if stop.lost_to_warning else ""
        yield stop.vacated, f"It gave up its nodes{also}."
    else:
        yield stop.time, f"It was preempted on {nodes} {_why(stop.cause)}.{why}"


def _beneficiary(cause: Cause) -> str:
    """The on-demand job that a cause names."""
    return "" if cause.job_id is None else job_id_text(cause.job_id)


def _why(cause: Cause) -> str:
    if cause.kind == "made room":
        return f"to make room for on-demand job {_beneficiary(cause)}, which had arrived"
    if cause.kind == "planned":
        return f"by the plan for on-demand job {_beneficiary(cause)}"
    if cause.kind == "dismissed":
        return f"as a tenant of on-demand job {_beneficiary(cause)}, which had arrived"
    return f"({cause.text})" if cause.text else "for a reason that the log does not give"


def _why_that_one(facts: Facts, stop: Stop) -> str:
    """Why it and not another, as far as that was recorded."""
    if stop.overhead is None:
        return ""
    seen = "" if stop.overhead == stop.lost else f" It was expected to lose {amount(stop.overhead)}."
    if stop.cause.kind == "planned":
        return f"{seen} The plan takes the jobs that would lose least." if facts.mechanism.startswith("CUP-") else seen
    if stop.spared is None or stop.spared_overhead is None:
        return f"{seen} No other job could have been preempted instead."
    least = amount(stop.spared_overhead)
    if stop.overhead <= stop.spared_overhead:
        return f"{seen} The next best choice, job {job_id_text(stop.spared)}, would have lost {least}."
    return f"{seen} Job {stop.spared}, which was spared, would have lost less: {least}."


def _end_sentence(facts: Facts, run: RunFacts, most: int | None) -> str:
    back = return_sentence(facts.on_demand, most) if facts.on_demand is not None else ""
    checkpoints = f" Its last run had written {count(run.checkpoints, 'checkpoint')}." if run.checkpoints else ""
    if run.ending == "kill":
        return f"It was killed at its walltime.{checkpoints}{back}"
    if run.ending == "complete":
        early = f", {duration(run.early)} before its walltime was over" if run.early else ""
        return f"It completed{early}.{checkpoints}{back}"
    return f"Its run ended ({run.ending}).{checkpoints}{back}"


def _slot_over(run: RunFacts) -> str:
    """The end of a reservation of a stochastic job."""
    slot = run.slot
    if slot is None:
        return ""
    outcome = {
        "completed": "was long enough: the job completed",
        "saved": f"ended with a checkpoint: {duration(slot.saved)} of its work is saved",
        "expired": "ended before the job did, and had no checkpoint to save its work",
        "checkpoint lost": "ended before its checkpoint was written",
        "memory exceeded": "ended because the job needed more memory than it had asked for",
    }.get(slot.ending, f"ended ({slot.ending})")
    lost = f" It lost {amount(run.lost)}." if run.lost else ""
    return f"Reservation {slot.number}, of {duration(slot.length)}, {outcome}.{lost}"


def _words(cause: Cause) -> str:
    """What the policy itself says."""
    return f" The policy says: {cause.reason}." if cause.reason else ""
