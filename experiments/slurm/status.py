"""Status of a sequence: its reservations, the cost so far, and the plan's expectation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.experiments.slurm.accounting import AccountedJob
from holdfast.experiments.slurm.job_chain import MINUTE
from holdfast.experiments.slurm.reservation_sequence import Sequence
from holdfast.experiments.slurm.workdir import Record, Remains
from holdfast.experiments.tables import render
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.units import walltime_text
from holdfast.workloads.ground.wording import count_text

__all__ = ["SequenceStatus", "locate_sequence"]

_COLUMNS = (
    Quantity("number", "#"),
    Quantity("job"),
    Quantity("limit", "limit", "HH:MM:SS"),
    Quantity("state"),
    Quantity("outcome", "program"),
    Quantity("wait", unit="s", digits=0),
    Quantity("used", "used", "HH:MM:SS"),
)
_WAITING = ("PENDING", "CONFIGURING", "REQUEUED")


@dataclass(frozen=True)
class SequenceStatus:
    """Status of a sequence at one time.

    Attributes
    ----------
    name
        Of the sequence.
    state
        ``not submitted``, ``submitted in part``, ``waiting``, ``running``, ``done``, ``broken`` or ``used up`` (all
        reservations have ended and the program is not done).
    rows
        A row for each reservation that was submitted.
    ran
        Number of reservations that ran.
    asked, used, waited
        Total limits, elapsed time and waits of the reservations [s].
    paid
        Cost of the reservations by the plan's cost model.
    runtime
        Runtime of the finished run [s].
    planned
        Planned cost of this runtime or, until it is known, of the same number of fully used reservations.
    planned_number
        Number of reservations that the plan needs for this runtime; None until it is known.
    expected
        Expected cost of the plan; None: unknown.
    why
        Why it is broken.
    """

    name: str
    state: str
    rows: list[dict[str, Any]]
    ran: int
    asked: float
    used: float
    waited: float
    paid: float
    runtime: int | None
    planned: float
    planned_number: int | None
    expected: float | None
    why: str

    def document(self) -> dict[str, Any]:
        """JSON document for ``--json``; times and costs in seconds."""
        return dict(vars(self))

    def text(self) -> str:
        """For a terminal."""
        lines = [self._headline()]
        if self.rows:
            shown = [{**row, **{name: _clock(row[name]) for name in ("limit", "used")}} for row in self.rows]
            lines += ["", render(shown, _COLUMNS), ""]
        if self.ran:
            lines.append(
                f"paid {self.paid:,.0f} s: asked for {self.asked:,.0f} s, used {self.used:,.0f} s, "
                f"waited {self.waited:,.0f} s"
            )
            what = f"for this runtime, with {self.planned_number}" if self.planned_number else "for as many in full"
            lines.append(f"the plan pays {self.planned:,.0f} s {what}{self._average()}")
        return "\n".join(lines)

    def _headline(self) -> str:
        reservations = f"{self.ran} of {count_text(len(self.rows), 'reservations')} ran"
        if self.state == "done":
            return f"{self.name}: done after {walltime_text(self.runtime or 0)} of work; {reservations}"
        descriptions = {
            "not submitted": "not submitted; 'holdfast submit' with --go submits it",
            "submitted in part": "submitted in part, and held; 'bash submit.sh' in its directory goes on",
            "used up": f"not done, and no reservation is left; {reservations}",
            "broken": f"ended: {self.why}; {reservations}",
        }
        return f"{self.name}: {descriptions.get(self.state, f'{self.state}; {reservations}')}"

    def _average(self) -> str:
        return "" if self.expected is None else f", and {self.expected:,.0f} s on average over all runtimes"


def locate_sequence(sequence: Sequence, remains: Remains, entries: Mapping[int, AccountedJob]) -> SequenceStatus:
    """Determine the status of a sequence.

    Parameters
    ----------
    sequence, remains
        The sequence, and the records of its scripts.
    entries
        Accounting entries of its jobs, by id; missing jobs are taken from the records.
    """
    records = {record.job: record for record in remains.records}
    rows: list[dict[str, Any]] = []
    for link in sequence.links:
        job = remains.jobs.get(link.number)
        if job is None:
            continue
        record = records.get(job)
        entry = entries.get(job) or _recorded_entry(job, record)
        limit = entry.limit if entry.limit is not None else float(link.minutes * MINUTE)
        rows.append(
            {
                "number": link.number,
                "job": job,
                "limit": limit,
                "state": entry.state,
                "outcome": _outcome(entry, record),
                "wait": entry.waited,
                "used": entry.used if entry.ran else None,
            }
        )
    plan = sequence.reservations
    over = [row for row in rows if row["used"] is not None]
    asked, used = sum(row["limit"] for row in over), sum(row["used"] for row in over)
    paid = sum(float(plan.costs.price(row["limit"], row["used"])) for row in over)
    finished = remains.runtime
    if finished is not None:
        planned, number = float(plan.paid_cost([finished])[0]), int(plan.count_reservations([finished])[0])
    else:
        lengths = plan.extend(float(plan.milestones[-1]) * plan.extension ** len(over)).length[: len(over)]
        planned, number = float(plan.costs.price(lengths, lengths).sum()), None
    return SequenceStatus(
        name=sequence.name,
        state=_state(remains, rows),
        rows=rows,
        ran=len(over),
        asked=asked,
        used=used,
        waited=sum(row["wait"] or 0.0 for row in over),
        paid=paid,
        runtime=finished,
        planned=planned,
        planned_number=number,
        expected=sequence.expected_cost,
        why=remains.broken,
    )


def _recorded_entry(job: int, record: Record | None) -> AccountedJob:
    """Entry from the records for a job missing from the accounting."""
    if record is None:
        return AccountedJob(job, "-", None, None, None, None, 0.0, None)
    state = "COMPLETED" if record.outcome == "done" else "FAILED"
    return AccountedJob(job, state, None, None, None, float(record.start), float(record.end - record.start), None)


def _outcome(entry: AccountedJob, record: Record | None) -> str:
    """How the program ended, according to the script or else the accounting."""
    if record is not None:
        return record.outcome
    if entry.state in ("TIMEOUT", "NODE_FAIL", "PREEMPTED") or (entry.state == "CANCELLED" and entry.ran):
        return "stopped"
    if entry.state == "FAILED" and entry.ran:
        return "saved" if entry.status == 85 else "died"
    return "-"


def _state(remains: Remains, rows: list[dict[str, Any]]) -> str:
    if remains.runtime is not None:
        return "done"
    if not remains.submitted:
        return "submitted in part" if rows else "not submitted"
    states = {row["state"] for row in rows}
    if states & {"RUNNING", "COMPLETING"}:
        return "running"
    if remains.broken:
        return "broken"
    return "waiting" if states & {*_WAITING, "-"} else "used up"


def _clock(seconds: float | None) -> str | None:
    return None if seconds is None else walltime_text(seconds)
