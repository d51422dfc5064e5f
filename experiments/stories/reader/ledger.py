"""The ledger: recorded decisions and named causes, by the job that they concern."""

from __future__ import annotations

from collections import defaultdict

from holdfast.experiments.stories.facts.lifetime import Cause
from holdfast.experiments.stories.reader.causes import parse_cause
from holdfast.experiments.stories.reader.timeline import Timeline
from holdfast.simulator.machine.decisions import Decision

__all__ = ["Ledger"]


class Ledger:
    """An index.

    Parameters
    ----------
    timeline
        What happened.

    Attributes
    ----------
    promises
        By job.
    given, returned
        Loans by lender: what it gave, what it got back.
    lenders, returns
        The same by borrower.
    named
        Places of the shrinks, warnings and preemptions of others that name a job as their cause.
    """

    def __init__(self, timeline: Timeline) -> None:
        found = timeline.decisions
        self.promises = _by(found["promise"], "job_id")
        self.given = _by(found["lend"], "job_id")
        self.returned = _by(found["return"], "job_id")
        self.lenders = _by(found["lend"], "other")
        self.returns = _by(found["return"], "other")
        self.plans = _by(sorted([*found["expect"], *found["plan"]], key=lambda item: item.decision), "other")
        self._dropped = {(item.job_id, item.other) for item in found["drop"]}
        self._lacking = {item.job_id: item.nodes for item in found["lacking"]}
        self._room = {item.job_id: item.nodes for item in found["room"]}
        self._victims = {(item.time, item.job_id, item.other): item for item in found["victim"]}
        self._planned = {(item.job_id, item.other): item for item in found["plan"]}
        self._spared = {(item.time, item.other): item for item in found["spared"]}
        self._reasons = {(item.time, item.job_id): item.why for item in found["reason"]}
        self.named: dict[int, list[int]] = defaultdict(list)
        for place, entry in enumerate(timeline.entries):
            if entry.event in ("shrink", "warn", "preempt"):
                other = parse_cause(entry.cause).job_id
                if other is not None:
                    self.named[other].append(place)

    def reason(self, time: int, job_id: int) -> str:
        """The policy's own words on an action."""
        return self._reasons.get((time, job_id), "")

    def is_dropped(self, job_id: int, other: int) -> bool:
        """Whether its planned preemption was not needed any more."""
        return (job_id, other) in self._dropped

    def arrival(self, job_id: int) -> tuple[int | None, int | None]:
        """What an on-demand job lacked at its arrival, and what could be got; None: nothing, or not recorded."""
        return self._lacking.get(job_id), self._room.get(job_id)

    def victim(self, time: int, job_id: int, cause: Cause) -> tuple[Decision | None, Decision | None]:
        """Why that job: the expected cost of its preemption, and the cheapest job that was spared."""
        if cause.kind == "planned":
            return self._planned.get((job_id, cause.job_id)), None
        if cause.kind != "made room":
            return None, None
        return self._victims.get((time, job_id, cause.job_id)), self._spared.get((time, cause.job_id))


def _by(decisions: list[Decision], name: str) -> dict[int, list[Decision]]:
    found: dict[int, list[Decision]] = defaultdict(list)
    for decision in decisions:
        found[getattr(decision, name)].append(decision)
    return found
