"""Control loop that serves on-demand jobs on a Slurm: read its state, compare it with the desired one, act, read again.

Every reading that changes something is written to a journal before anything is done about it. A controller that was
killed reads the journal, so that it is where it was, and goes on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from holdfast.experiments.slurm.actuator import Actuator
from holdfast.experiments.slurm.controller import Controller, Refusal
from holdfast.experiments.slurm.live_replay import SomeSlurm
from holdfast.experiments.slurm.reconciliation import Reconciliation
from holdfast.experiments.slurm.slurm_state import Seen, SlurmState, parse_seen_job, read_state, read_unusable
from holdfast.policies.mechanism import Mechanism
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.numbers import is_number
from holdfast.workloads.ground.units import SECOND, to_seconds
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.table.job import Job

__all__ = ["serve"]

#: Polling interval of Slurm in real seconds, and time on its clock before the first event.
_POLL, _LEAD = 0.25, 60.0
#: Wait of an ordered job after which the states of its nodes are read, and after which it is reported, time and again.
_PATIENCE, _REPORT = 60 * SECOND, 600 * SECOND
#: Number of readings that may fail one after the other.
_READS = 60
_JOURNAL = "journal"


def serve(
    slurm: SomeSlurm,
    actuator: Actuator,
    jobs: Sequence[Job],
    nodes: int,
    mechanism: Mechanism,
    options: Options,
    *,
    grace: float,
    log: Callable[[str], None],
    record: Callable[[list[Entry]], None],
) -> list[Entry]:
    """Replay a job table on a Slurm and serve its on-demand jobs.

    Parameters
    ----------
    slurm, actuator
        The Slurm, and its commands. The directory of the actuator holds the journal; where it has one of the same
        table and options, the replay goes on from there.
    jobs
        Rigid, malleable and on-demand jobs; checked.
    nodes
        Size of the machine, which must be idle but for these jobs.
    mechanism
        Notice and arrival strategy.
    options
        Warning, time-out and tenants; the order and the backfilling are Slurm's.
    grace
        Time from the checkpoint signal until a preempted rigid job is requeued [s].
    log
        Called with a line for each event, each command, and each difference that Slurm did not let resolve.
    record
        Called with all events so far, whenever there are more.

    Returns
    -------
    list of Entry
        Events in the format of the simulator's event log; times in ticks from the first event of the table.

    Raises
    ------
    InputError
        If the journal is of another table or other options, or Slurm does not answer. On an interrupt (Ctrl-C), all
        jobs are cancelled.
    """
    head = {"mechanism": mechanism.name, "options": repr(options), "grace": grace, "nodes": nodes, "jobs": repr(jobs)}
    journal = actuator.folder / _JOURNAL
    begin, ticks = _read(journal, head)
    if begin is None:
        begin = float(ceil(slurm.now() + _LEAD))
        journal.write_text(json.dumps({"begin": begin, **head}) + "\n")
    controller = Controller(jobs, nodes, mechanism, options, grace=grace, begin=begin)
    loop = _Loop(slurm, actuator, controller, journal, log, record)
    loop.recover(ticks)
    return loop.run()


class _Loop:
    """Readings, journal and commands around a controller."""

    def __init__(
        self,
        slurm: SomeSlurm,
        actuator: Actuator,
        controller: Controller,
        journal: Path,
        log: Callable[[str], None],
        record: Callable[[list[Entry]], None],
    ) -> None:
        self._slurm, self._actuator, self._controller = slurm, actuator, controller
        self._journal, self._report, self._record = journal, log, record
        self._reconciliation = Reconciliation(controller, actuator)
        self._seen: dict[int, Seen] = {}
        self._refused: list[Refusal] = []
        self._shown = self._recorded = 0
        self._waits: dict[int, int] = {}

    def recover(self, ticks: Iterator[dict[str, Any]]) -> None:
        """Enter what a journal holds."""
        for tick in ticks:
            self._seen |= {int(number): parse_seen_job(fields) for number, fields in tick["seen"].items()}
            refused = [(job_id, what) for job_id, what in tick["refused"]]
            self._controller.advance(tick["now"], self._seen, refused, tick["unusable"])
        self._shown = len(self._controller.entries)
        self._controller.reports.clear()
        if self._seen:
            self._report(f"goes on with {count_text(len(self._controller.left), 'jobs')}")

    def run(self) -> list[Entry]:
        """Run until all jobs have ended, and nothing is reserved."""
        state = SlurmState({}, None)
        try:
            while True:
                state = self._state()
                self._once(state)
                if not self._controller.left and state.held is None:
                    break
                time.sleep(_POLL)
        except KeyboardInterrupt:
            self._actuator.end(reserved=state.held is not None)
            raise
        return self._controller.events()

    def _state(self) -> SlurmState:
        """Read Slurm; while it does not answer, as during a restart, try again."""
        for left in reversed(range(_READS)):
            try:
                return read_state(self._slurm, self._actuator.folder)
            except InputError as error:
                if not left:
                    raise InputError(f"{error}; the jobs go on, and the same command goes on with them") from None
                if left == _READS - 1:
                    self._report(f"{error}; tries again")
                time.sleep(4 * _POLL)
        raise AssertionError

    def _once(self, state: SlurmState) -> None:
        """Enter a reading, decide, and act."""
        controller = self._controller
        seconds = self._slurm.now()
        now, seen = controller.ticks(seconds), self._add_lost_jobs(state.jobs, seconds)
        changed = {number: shown for number, shown in seen.items() if self._seen.get(number) != shown}
        self._seen |= changed
        unusable = read_unusable(self._slurm) if self._is_stuck(now) else frozenset()
        refused, self._refused = self._refused, []
        before, news = len(controller.entries), bool(changed or refused or unusable or controller.is_due(now))
        controller.advance(now, self._seen, refused, unusable)
        if news or len(controller.entries) > before:
            line = {
                "now": now,
                "seen": {number: shown.to_list() for number, shown in changed.items()},
                "refused": refused,
                "unusable": sorted(unusable),
            }
            with self._journal.open("a") as file:
                file.write(json.dumps(line) + "\n")
        self._refused = self._reconciliation.act(SlurmState(self._seen, state.held), seconds)
        self._tell()

    def _add_lost_jobs(self, jobs: Mapping[int, Seen], now: float) -> dict[int, Seen]:
        """The jobs, with those that Slurm has forgotten since they were last seen as ended."""
        lost = {number: shown for number, shown in self._seen.items() if number not in jobs and not shown.ended}
        return {
            **jobs,
            **{number: shown._replace(state="COMPLETED", end=shown.end or now) for number, shown in lost.items()},
        }

    def _is_stuck(self, now: int) -> bool:
        """Whether an ordered job has waited too long; reported at times."""
        stuck = False
        shadow = self._controller.shadow
        for job_id, (run, _) in shadow.awaited.items():
            if now - run.start < _PATIENCE:
                continue
            stuck = True
            if now - self._waits.get(job_id, run.start) >= _REPORT:
                self._waits[job_id] = now
                nodes = ", ".join(f"n{number}" for number in sorted(shadow.named.numbers(run)))
                self._report(f"job {job_id} has waited for {to_seconds(now - run.start) / 60:.0f} min for {nodes}")
        return stuck

    def _tell(self) -> None:
        controller = self._controller
        for entry in controller.entries[self._shown :]:
            self._report(_line(entry))
        self._shown = len(controller.entries)
        for report in controller.reports:
            self._report(report)
        controller.reports.clear()
        events = controller.events()
        if len(events) > self._recorded:
            self._recorded = len(events)
            self._record(events)


def _read(journal: Path, head: Mapping[str, Any]) -> tuple[float | None, Iterator[dict[str, Any]]]:
    """Time of the first event, and the readings of a journal; a line that was cut off is none."""
    text = read_text(journal) if journal.exists() else ""
    lines = [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
    if not lines:
        return None, iter(())
    try:
        documents = [json.loads(line) for line in lines]
        begin = documents[0].pop("begin")
        if not is_number(begin):
            raise TypeError("begin")
    except (ValueError, LookupError, TypeError, AttributeError):
        raise InputError(f"{journal}: is not the journal of serve-on-demand") from None
    if documents[0] != json.loads(json.dumps(head)):
        raise InputError(f"{journal}: is of another job table, mechanism or options; take a new directory")
    # What was cut off is not continued.
    journal.write_text("".join(lines))
    return begin, iter(documents[1:])


def _line(entry: Entry) -> str:
    return (
        f"{to_seconds(entry.time) / 60:8.2f} min  {entry.event} of job {entry.job_id}: {entry.before} to {entry.after} "
        f"nodes{', ' if entry.cause else ''}{entry.cause}"
    )
