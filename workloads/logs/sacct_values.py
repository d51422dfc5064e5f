"""Parsing of cells of an sacct export: times, sizes, states, and ids of jobs and array tasks."""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.workloads.ground.errors import format_value
from holdfast.workloads.ground.job_ids import LARGEST_JOB, LARGEST_TASK, component_id, task_id
from holdfast.workloads.ground.text_cells import number, seconds_of_date, whole

__all__ = [
    "ARRAY",
    "CUT_ARRAY",
    "STATES",
    "expand_tasks",
    "is_local",
    "is_missing",
    "is_part",
    "parse_clock",
    "parse_count",
    "parse_job_id",
    "parse_text",
    "parse_time",
    "state_of_job",
]

#: Texts that Slurm writes for missing values.
_MISSING = frozenset(
    {"", "unknown", "none", "n/a", "(null)", "invalid", "none assigned", "unlimited", "infinite", "partition_limit"}
    | {f"{'partition_limit'[:width]}+" for width in range(9, 15)}  # in a narrow column
)
#: Names of states; a narrow column cuts them.
STATES = (
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PENDING"),
    *("PREEMPTED", "REQUEUED", "RESIZING", "REVOKED", "RUNNING", "SUSPENDED", "TIMEOUT", "CONFIGURING", "COMPLETING"),
)
_JOB_ID = re.compile(r"([0-9]{1,10})(?:([_+])([0-9]{1,10}))?")
#: What stands for the tasks of an array that were not started, as 123_[1-20,40-60:2%4].
ARRAY = re.compile(r"(\d{1,10})_\[([\d,:-]*)(,?\.\.\.)?(?:%\d+)?\]")
CUT_ARRAY = re.compile(r"\d{1,10}_\[.*\+")
#: Most cells of an export have one of a few values: without a cache of them, reading 200,000 jobs takes half as long
#: again.
_remembered = lru_cache(4096)
_TASK = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?(?::(\d{1,10}))?")
_ZONE = re.compile(r"(?:Z|[+-]\d\d:?\d\d)\s*$")
_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
#: Slurm shortens large counts unless --noconvert is given.
_SCALES = {"K": 1024, "M": 1024**2}


@_remembered
def state_of_job(text: str) -> str:
    """``CANCELLED`` of ``CANCELLED by 1000``; ``OUT_OF_MEMORY`` of ``OUT_OF_ME+``."""
    state = text.split(maxsplit=1)[0].upper() if text and not text.isspace() else ""
    if not state.endswith("+"):
        return state
    state = state.rstrip("+")
    return next((name for name in STATES if name.startswith(state)), state)


def is_missing(text: str) -> bool:
    return text.strip().lower() in _MISSING


@_remembered
def parse_text(text: str) -> str:
    return "" if is_missing(text) else text.strip()


def parse_time(text: str, name: str) -> float | None:
    """Seconds since 1970 of an epoch or ISO time, None if there is none."""
    if text[4:5] == text[7:8] == "-":  # no number
        return seconds_of_date(text, name)
    if is_missing(text):
        return None
    try:
        return number(text, name) or None  # 0 is Slurm's "never"
    except ValueError:
        return seconds_of_date(text, name)


def is_local(text: str) -> bool:
    """Whether it is a date without a zone, which is the local time of the cluster."""
    return ":" in text and _ZONE.search(text, 10) is None


@_remembered
def parse_clock(text: str, name: str) -> float:
    """Seconds of ``[days-]hours:minutes:seconds`` or ``minutes:seconds``."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{name} must be a time such as 1-12:00:00, not {format_value(text)}")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@_remembered
def parse_count(text: str, name: str) -> int:
    """A number of nodes or processors, also one such as ``4K``; 0 if there is none."""
    text = text.strip().upper()
    if is_missing(text):
        return 0
    scale = _SCALES.get(text[-1])
    return whole(text, name) if scale is None else whole(repr(number(text[:-1], name) * scale), name)


def is_part(text: str) -> bool:
    """Whether an id is that of a task of an array or of a component: ``123_4`` or ``123+1``."""
    match = _JOB_ID.fullmatch(text)
    return match is not None and match[2] is not None


def parse_job_id(text: str) -> int:
    match = _JOB_ID.fullmatch(text)
    if match is None:
        raise ValueError(f"the job id must be a number, or one such as 123_4, not {format_value(text)}")
    job, part = int(match[1]), int(match[3] or 0)
    if max(job, part) > LARGEST_JOB:
        raise ValueError(f"the numbers of a job id must be at most {LARGEST_JOB:,}, not those of {text}")
    if match[2] is None:
        return job
    return task_id(job, part) if match[2] == "_" else component_id(job, part)


def expand_tasks(array: re.Match[str]) -> tuple[range, ...]:
    """Ids of the array tasks in brackets; empty if they cannot be parsed."""
    job, named = int(array[1]), array[2].rstrip(",")
    tasks = []
    for part in named.split(","):
        match = _TASK.fullmatch(part)
        if match is None:
            return ()
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if not (first <= last <= LARGEST_TASK and job <= LARGEST_JOB and step):
            return ()
        tasks.append(range(task_id(job, first), task_id(job, last) + 1, step))
    return tuple(tasks)
