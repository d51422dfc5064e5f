"""Sentences on an on-demand job, from its notice to its arrival, and on the jobs that made room."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.experiments.stories.facts.lifetime import Facts
from holdfast.experiments.stories.facts.service import Gain, Helper, OnDemand, Plan
from holdfast.experiments.stories.writer.phrases import Clock, amount, count, duration, jobs, join_items
from holdfast.workloads.ground.job_ids import job_id_text

__all__ = ["on_demand_lines", "return_sentence"]


def on_demand_lines(facts: Facts, service: OnDemand, clock: Clock, most: int | None) -> Iterator[tuple[int, str]]:
    """Notice, reservation, plan, time-out, arrival."""
    if service.notice is not None:
        announced = ""
        if service.estimated is not None:
            announced = f", announcing its arrival for {clock.at(service.estimated, service.notice)}"
        ignored = "" if service.heard else f"; {facts.mechanism} ignores notices"
        yield service.notice, f"It gave notice{announced}{ignored}."
    yield from _reservation_sentences(facts, service.reserved, clock, most)
    if service.plan and service.notice is not None:
        yield service.notice, _plan(service.plan, service.notice, clock, most)
    if service.timed_out is not None:
        yield service.timed_out, "It had not arrived in time, and its reservation was released."
    if service.withdrawn is not None:
        yield service.withdrawn, "Its notice was withdrawn, and its reservation was released."
    if facts.arrival is None:
        return
    yield facts.arrival, _arrival(facts, service, most)
    lacked = f"It lacked {count(service.lacking or 0, 'node')} beyond its own and the free ones"
    helpers = _helpers(service.helpers, facts.arrival, most)
    if service.lacking and not helpers:
        yield facts.arrival, f"{lacked}; others could give up only {service.room or 0}, so none of them had to."
    elif helpers:
        yield (
            facts.arrival,
            f"{lacked}: {helpers} made room." if service.lacking else f"{helpers[0].upper()}{helpers[1:]} made room.",
        )
    for gathering in service.gatherings:
        if gathering.until > gathering.since:
            awaited = (
                f"nodes of {jobs(gathering.jobs, most)}, under warning" if gathering.jobs else "nodes under warning"
            )
            yield gathering.since, f"It waited for {awaited}."


def return_sentence(service: OnDemand, most: int | None) -> str:
    """Nodes that its end gave back to their lenders; empty without lenders."""
    clauses: list[str] = []
    for helper in service.helpers:
        if helper.how != "tenant" and helper.nodes:
            unit = "" if clauses else " node" if helper.nodes == 1 else " nodes"
            clauses.append(f"{helper.returned} of {helper.nodes}{unit} to job {job_id_text(helper.job_id)}")
    return f" It gave back {join_items(clauses, most)}." if clauses else ""


def _reservation_sentences(
    facts: Facts, gains: tuple[Gain, ...], clock: Clock, most: int | None
) -> Iterator[tuple[int, str]]:
    few = most is None or len(gains) <= most + 1
    cut = len(gains) if few or most is None else most - 1
    for gain in gains[:cut]:
        yield gain.time, _gain(facts, gain)
    if cut < len(gains):
        hidden = gains[cut:-1]
        nodes = sum(item.nodes for item in hidden)
        parts = f"in {len(hidden)} parts until {clock.at(hidden[-1].time, hidden[0].time)}"
        yield hidden[0].time, f"Another {nodes} nodes were reserved for it {parts}."
        yield gains[-1].time, _gain(facts, gains[-1])


def _gain(facts: Facts, gain: Gain) -> str:
    noun, verb = ("node", "was") if abs(gain.nodes) == 1 else ("nodes", "were")
    if gain.nodes < 0:
        left = f"{gain.total:,} of {facts.nodes:,} are left"
        return f"{-gain.nodes:,} {noun} reserved for it {verb} taken ({gain.cause}): {left}."
    giver = "" if gain.job_id is None else job_id_text(gain.job_id)
    owner = {
        "free": f"free {noun}",
        "ended": f"{noun} of job {giver}, which ended,",
        "preempted": f"{noun} of job {giver}, which was preempted,",
        "left over": f"{noun} that on-demand job {giver} no longer held",
        "outage": f"{noun} that an outage gave back",
    }.get(gain.source, noun)
    return f"{gain.nodes:,} {owner} {verb} reserved for it: {gain.total:,} of {facts.nodes:,}."


def _plan(plan: tuple[Plan, ...], made: int, clock: Clock, most: int | None) -> str:
    clauses = []
    counted = [f"{job_id_text(item.job_id)} by {clock.at(item.at, made)}" for item in plan if item.what == "expect"]
    if counted:
        clauses.append(f"to count on the end of job{'s' if len(counted) > 1 else ''} {join_items(counted, most)}")
    outcomes = {"done": "done", "dropped": "not needed in the end", "void": "no longer possible"}
    for item in plan:
        if item.what == "preempt":
            cost = f", where it would lose {amount(item.overhead)}" if item.overhead is not None else ""
            reason = f" ({item.reason})" if item.reason else ""
            clauses.append(
                f"to preempt job {job_id_text(item.job_id)} at {clock.at(item.at, made)}{cost}{reason}: "
                f"{outcomes[item.outcome]}"
            )
    return f"For the rest the plan was {'; '.join(clauses)}."


def _arrival(facts: Facts, service: OnDemand, most: int | None) -> str:
    sentence = "It arrived" if service.notice is not None else "It arrived without notice"
    if service.estimated is not None and facts.arrival is not None:
        late = facts.arrival - service.estimated
        how = f"{duration(abs(late))} {'later' if late > 0 else 'earlier'} than announced" if late else "as announced"
        sentence += f" {how}" if not late else f", {how}"
    if service.heard and service.timed_out is None and service.withdrawn is None:
        sentence += f", with {service.own:,} of its {count(facts.nodes, 'node')} reserved"
        tenants = [helper for helper in service.helpers if helper.how == "tenant"]
        if tenants:
            lent = sum(helper.nodes or 0 for helper in tenants)
            what = f"{lent:,} of them" if lent else "some of them"
            sentence += f"; {what} were lent to {jobs([helper.job_id for helper in tenants], most)}, which had to leave"
    return f"{sentence}."


def _helpers(helpers: tuple[Helper, ...], at: int, most: int | None) -> str:
    names = []
    for helper in helpers:
        if helper.time == at and helper.how in ("shrunk", "preempted"):
            nodes = f", {helper.nodes}" if helper.nodes else ""
            names.append(f"job {job_id_text(helper.job_id)} ({helper.how}{nodes})")
    return join_items(names, most) if names else ""
