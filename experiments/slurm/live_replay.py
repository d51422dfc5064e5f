"""Replay of a workload on a real Slurm: submits the jobs at their times and records the outcome."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from holdfast.experiments.slurm.accounting import query_accounting
from holdfast.experiments.slurm.client import call
from holdfast.experiments.slurm.controller_log import (
    allocated_cores,
    are_dense,
    job_owner,
    log_times,
    parse_jobs,
    pass_times,
    time_of_slurm,
)
from holdfast.experiments.slurm.job_chain import MINUTE
from holdfast.experiments.slurm.lab import Lab
from holdfast.experiments.slurm.submitted_jobs import Submit
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.numbers import integer
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.machines.slurm_limits import LIMIT_TABLES, enforces_limits
from holdfast.workloads.machines.slurm_tables import parse_amounts

__all__ = ["LabSlurm", "SiteSlurm", "SomeSlurm", "ask_limits", "patiently", "replay_on"]

#: Pauses between attempts of a command [s, real]: its time-out is short on a fast clock, and the machine may be busy.
_PAUSES = (0.2, 0.4, 0.8, 1.6)
#: What Slurm says of a job that it will never have room for, or that is too long for its partitions.
_REFUSED = ("Requested node configuration is not available", "Requested time limit is invalid")
#: Reasons of jobs that wait for ever.
_NEVER = frozenset({"DependencyNeverSatisfied", "PartitionNodeLimit", "PartitionTimeLimit"})
#: A job that is eligible so much later than its submission was held; the clock may be fast [s].
_HELD = 10.0
#: Seconds of the Slurm's clock before the first submit.
_LEAD = 30.0


class SomeSlurm(Protocol):
    """A Slurm that jobs can be submitted to."""

    speed: float

    def call(self, words: Sequence[str]) -> str:
        """What a command prints."""

    def now(self) -> float:
        """Seconds since 1970 on its clock."""

    def outcomes(self, jobs: Mapping[int, Submit]) -> list[dict[str, Any]]:
        """Outcomes of jobs by id, as rows of ``actual.csv`` with times since 1970."""


class LabSlurm:
    """The Slurm of a lab."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.speed = lab.speed
        now = float(self.call(["date", "+%s.%N"]))
        self._origin, self._start = time.monotonic(), now

    def call(self, words: Sequence[str]) -> str:
        """What a command prints."""
        return self._lab.call(words)

    def now(self) -> float:
        """Its clock, extrapolated from one reading, because each reading starts a process."""
        return self._start + (time.monotonic() - self._origin) * self.speed

    def outcomes(self, jobs: Mapping[int, Submit]) -> list[dict[str, Any]]:
        """Outcomes of jobs, with millisecond times from slurmctld's log where available."""
        text = (self._lab.place / "log" / "slurmctld.log").read_text(errors="replace")
        logged, passes = log_times(text), pass_times(text)
        passes = passes if are_dense(passes) else []
        text = patiently(self, ["scontrol", "-d", "-o", "show", "job"])
        shown, allocated = parse_jobs(text), allocated_cores(text)
        rows = []
        for number, submit in jobs.items():
            fields, log = shown.get(number, {}), logged.get(number, {})
            state, nodes = fields.get("JobState", ""), fields.get("NodeList", "").replace("(null)", "")
            if state.startswith("CANCELLED"):
                log = {"end": log.get("cancel", 0.0), **log}
            names = (("submit", "SubmitTime"), ("start", "StartTime"), ("end", "EndTime"))
            times = {kind: log.get(kind) or time_of_slurm(fields.get(name, "")) for kind, name in names}
            # A job may start while it is being submitted, which is logged afterwards.
            times["submit"] = min(times["submit"], times["start"] or times["submit"])
            # For a killed job the log contains only the beginning of its end.
            times["end"] = max(times["end"], time_of_slurm(fields.get("EndTime", ""))) if fields else times["end"]
            eligible = time_of_slurm(fields.get("EligibleTime", ""))
            if state.startswith("CANCELLED") and not (nodes or "start" in log):
                if not eligible:
                    continue
                # Slurm shows its end as its start.
                del times["start"]
            if eligible > times["submit"] + _HELD:
                times["eligible"] = min(eligible, times.get("start", times["end"]))
            row = _row(submit, number, times, state, str(log.get("by", "")), nodes)
            amounts = parse_amounts("scontrol show job", fields.get("TRES", ""))
            row |= {"cpus": amounts.get("cpu", 0), "memory": amounts.get("mem", 0)}
            row |= job_owner(fields)
            row["node_cores"] = allocated.get(number, {})
            # A lab makes no pass while nodes complete (CompleteWait).
            place = bisect_right(passes, times["end"]) if "start" in times else len(passes)
            unused = passes[place] - times["end"] if place < len(passes) else 0.0
            rows.append(row | {"completing": round(max(unused, log.get("completing", 0.0)), 3)})
        return rows

    def rare_passes(self, begin: float, end: float) -> list[float]:
        """Passes of the backfill thread between two times [s since 1970]; empty if they are dense."""
        text = (self._lab.place / "log" / "slurmctld.log").read_text(errors="replace")
        found = [time for time in pass_times(text) if begin <= time <= end]
        return [] if are_dense(found) else found


class SiteSlurm:
    """The Slurm of this machine; jobs are submitted with further options, such as a partition."""

    speed = 1.0

    def call(self, words: Sequence[str]) -> str:
        """What a command prints."""
        return call(words, environment={"TZ": "UTC"})

    def now(self) -> float:
        """Seconds since 1970 on the clock of this machine."""
        return time.time()

    def outcomes(self, jobs: Mapping[int, Submit]) -> list[dict[str, Any]]:
        """Outcomes of jobs from sacct."""
        entries = query_accounting(jobs)
        rows = []
        for number, submit in jobs.items():
            entry = entries.get(number)
            if entry is None or entry.eligible is None:
                continue
            submitted = entry.eligible if entry.submit is None else min(entry.submit, entry.eligible)
            if entry.ran and entry.start is not None:
                times = {"submit": submitted, "start": entry.start, "end": entry.start + entry.used}
            elif entry.state == "CANCELLED" and entry.end is not None:
                times = {"submit": submitted, "end": max(entry.end, entry.eligible)}
            else:
                continue
            if submitted < entry.eligible:
                times["eligible"] = entry.eligible
            rows.append(_row(submit, number, times, entry.state, "", ""))
        return rows


def replay_on(
    slurm: SomeSlurm, submits: Sequence[Submit], options: Sequence[str], log: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Submit jobs at their times, wait until all have ended, and collect what happened.

    Parameters
    ----------
    slurm
        The Slurm to submit to.
    submits
        The jobs, by time.
    options
        Further options of sbatch.
    log
        Called with occasional lines of progress.

    Returns
    -------
    list of dict
        Rows of ``actual.csv``, times from the first planned submit on [s]; without jobs that Slurm refuses because no
        node has what they ask for, or they are too long, and those that wait for ever. Jobs that were cancelled in the
        queue have no start.

    Raises
    ------
    InputError
        If a command keeps failing. Jobs that were submitted by then are cancelled.
    """
    begin = slurm.now() + _LEAD
    jobs: dict[int, Submit] = {}
    late, refused = 0.0, 0
    try:
        for submit in submits:
            pause = begin + submit.at - slurm.now()
            if pause > 0:
                time.sleep(pause / slurm.speed)
            late = max(late, -pause)
            words = ["sbatch", "--parsable", *submit.resources, "-t", str(submit.minutes), "-J", f"j{submit.number}"]
            owner = [f"--{'uid' if name == 'user' else name}={value}" for name, value in submit.owner.items()]
            words += ["-o", "/dev/null", *options, *owner, "--wrap", f"exec sleep {submit.runtime:g}"]
            try:
                jobs[int(patiently(slurm, words).split(";")[0])] = submit
            except InputError as error:
                if not _is_refusal(error):
                    raise
                refused += 1
        log(
            f"submitted {count_text(len(jobs), 'jobs')}, at most {late:.1f} s late"
            + f", {refused:,} refused" * bool(refused)
        )
        while not set((reasons := _queued_jobs(slurm, jobs)).values()) <= _NEVER:
            time.sleep(max(1.0, 30.0 / slurm.speed))
        if reasons:
            never = count_text(len(reasons), "jobs")
            log(f"cancelled {never} that could never start: {', '.join(sorted({*reasons.values()}))}")
            patiently(slurm, ["scancel", *map(str, reasons)])
            jobs = {number: submit for number, submit in jobs.items() if number not in reasons}
    except BaseException:
        if jobs:
            # What ended the replay is raised, not that a busy Slurm refuses this.
            with suppress(InputError):
                patiently(slurm, ["scancel", *map(str, jobs)])
        raise
    time.sleep(60.0 / slurm.speed)
    rows = slurm.outcomes(jobs)
    for row in rows:
        for name in ("submit", "eligible", "start", "end"):
            if name in row:
                row[name] = round(row[name] - begin, 3)
        row["origin"] = round(begin, 3)
    return sorted(rows, key=lambda row: row["id"])


def ask_limits(slurm: SomeSlurm) -> dict[str, str]:
    """Tables of limits by the name of their file, as sacctmgr prints them; none if Slurm does not enforce them."""
    try:
        if not enforces_limits(slurm.call(["scontrol", "show", "config"])):
            return {}
        return {name: slurm.call(["sacctmgr", "-P", "show", *words]) for name, words in LIMIT_TABLES.items()}
    except InputError:
        return {}


def _row(submit: Submit, number: int, times: Mapping[str, float], state: str, by: str, nodes: str) -> dict[str, Any]:
    return {
        "id": submit.number,
        **times,
        "nodes": submit.nodes,
        "walltime": submit.minutes * MINUTE,
        "state": state,
        "by": by,
        "slurm_id": number,
        "node_list": nodes,
        **submit.owner,
    }


def patiently(slurm: SomeSlurm, words: Sequence[str]) -> str:
    """Call a command, retrying if it fails as it does on a busy Slurm, and return its output."""
    for pause in _PAUSES:
        try:
            return slurm.call(words)
        except InputError as error:
            if _is_refusal(error):
                raise
            time.sleep(pause)
    return slurm.call(words)


def _is_refusal(error: InputError) -> bool:
    """Whether Slurm will never accept the job."""
    return any(words in str(error) for words in _REFUSED)


def _queued_jobs(slurm: SomeSlurm, jobs: Mapping[int, Submit]) -> dict[int, str]:
    """The jobs that are still in the queue, with the reasons why they wait."""
    lines = [line.split() for line in patiently(slurm, ["squeue", "-h", "-o", "%A %r"]).splitlines()]
    reasons = {integer(words[0]): words[-1] for words in lines if words}
    return {number: reason for number, reason in reasons.items() if number in jobs}
