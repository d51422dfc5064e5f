"""Times of jobs and passes in slurmctld's log, and jobs as scontrol prints them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import Any

from holdfast.workloads.machines.host_list import expand

__all__ = ["allocated_cores", "are_dense", "job_owner", "log_times", "parse_jobs", "pass_times", "time_of_slurm"]

#: Events in slurmctld's log, with millisecond times: kind, and pattern of the line.
_EVENTS = (
    ("submit", re.compile(r"_slurm_rpc_submit_batch_job: JobId=(?P<job>\d+)")),
    ("start", re.compile(r"sched/(?P<by>backfill): _start_job: Started JobId=(?P<job>\d+)")),
    ("start", re.compile(r"(?P<by>sched): (?:Allocate JobId=(?P<job>\d+)|JobId=(?P<other>\d+) initiated)")),
    ("end", re.compile(r"_job_complete: JobId=(?P<job>\d+) done")),
    ("end", re.compile(r"Time limit exhausted for JobId=(?P<job>\d+)")),
    ("cancel", re.compile(r"_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=(?P<job>\d+)")),
)
#: Nodes of a job took long to complete; Slurm logs it from a minute on.
_COMPLETED = re.compile(r"cleanup_completing: JobId=(?P<job>\d+) completion process took (?P<seconds>\d+) seconds")
_PASS = "sched/backfill: _attempt_backfill: beginning"
#: With passes further apart than this, the next one does not show when nodes had completed [s].
_DENSE = 3.0
_STAMP = re.compile(r"\[(\S+?)\] (.*)")


def log_times(text: str) -> dict[int, dict[str, Any]]:
    """Times of each job in slurmctld's log: submission, start, end and cancel [s since 1970], and what started it.

    ``completing`` is the time from its end until its nodes could be used [s], if that was long.
    """
    found: dict[int, dict[str, Any]] = {}
    for line in text.splitlines():
        stamp = _STAMP.match(line)
        for kind, pattern in _EVENTS:
            match = pattern.search(stamp[2]) if stamp else None
            if stamp and match:
                fields = match.groupdict()
                job = found.setdefault(int(fields["job"] or fields.get("other") or 0), {})
                job.setdefault(kind, time_of_slurm(stamp[1]))
                if kind == "start":
                    job.setdefault("by", "backfill" if fields["by"] == "backfill" else "main")
                break
        long = _COMPLETED.search(stamp[2]) if stamp else None
        if long:
            found.setdefault(int(long["job"]), {})["completing"] = float(long["seconds"])
    return found


def pass_times(text: str) -> list[float]:
    """Times of the passes of the backfill thread in slurmctld's log [s since 1970]."""
    stamps = (_STAMP.match(line) for line in text.splitlines() if _PASS in line)
    return [time_of_slurm(stamp[1]) for stamp in stamps if stamp]


def are_dense(passes: Sequence[float]) -> bool:
    """Whether passes follow one another so closely that the next one shows when nodes had completed."""
    gaps = [after - before for before, after in pairwise(passes)]
    return bool(gaps) and median(gaps) <= _DENSE


def parse_jobs(text: str) -> dict[int, dict[str, str]]:
    """Fields of each job that ``scontrol -o show job`` prints."""
    jobs = {}
    for line in text.splitlines():
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if fields.get("JobId", "").isdecimal():
            jobs[int(fields["JobId"])] = fields
    return jobs


def job_owner(fields: Mapping[str, str]) -> dict[str, str]:
    """User, account and QOS of a job from its fields; without a database, the user alone.

    >>> job_owner({"UserId": "ada(1001)", "Account": "chem", "QOS": "high"}), job_owner({"Account": "(null)"})
    ({'user': 'ada', 'account': 'chem', 'qos': 'high'}, {})
    """
    found = {"user": fields.get("UserId", "").partition("(")[0]}
    found |= {name.lower(): fields.get(name, "") for name in ("Account", "QOS")}
    return {name: value for name, value in found.items() if value not in ("", "(null)", "N/A")}


def allocated_cores(text: str) -> dict[int, dict[str, int]]:
    """Cores of each job on each of its nodes, by name, that ``scontrol -d -o show job`` prints.

    >>> allocated_cores("JobId=7 NodeList=n[1-3]   Nodes=n[1-2] CPU_IDs=0-2,5 Mem=0   Nodes=n3 CPU_IDs=4 Mem=0")
    {7: {'n1': 4, 'n2': 4, 'n3': 1}}
    """
    found: dict[int, dict[str, int]] = {}
    for line in text.splitlines():
        words = re.match(r"JobId=(\d+) ", line)
        if words is None:
            continue
        for nodes, cores in re.findall(r" Nodes=(\S+) CPU_IDs=([\d,-]+) ", line):
            spans = [span.partition("-") for span in cores.split(",")]
            count = sum(int(last or first) - int(first) + 1 for first, _, last in spans)
            found.setdefault(int(words[1]), {}).update(dict.fromkeys(expand(nodes), count))
    return found


def time_of_slurm(text: str) -> float:
    """Parse a time of Slurm to seconds since 1970; 0 if it is not a time."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
