"""Snapshot times: when the output of a Slurm command was made.

Sources: squeue(1) and the OpenAPI of Slurm 23.02 and later (``last_update``, the time of slurmctld's answer) and 22.05
(``last_sched_evaluation`` of a job); docs/forecast.md, "Your own site".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.units import LARGEST_TIME

__all__ = ["MANIFEST", "SNAPSHOT_FORMAT", "Clock", "snapshot_time"]

#: Manifest of the directory of a snapshot, and its format.
MANIFEST = "snapshot.json"
SNAPSHOT_FORMAT = "holdfast snapshot 1"


@dataclass(frozen=True)
class Clock:
    """A time, and where it comes from.

    Attributes
    ----------
    at
        Seconds since 1970.
    source
        Words that name it, such as ``"last_update of queue.json"``.
    """

    at: float
    source: str


def snapshot_time(path: str | Path) -> Clock:
    """When a file of squeue or scontrol was made.

    Parameters
    ----------
    path
        JSON or columns.

    Returns
    -------
    Clock
        The time of the answer that the file stores (``last_update``); in a snapshot the time of the command; in files
        of older versions the last time at which the scheduler looked at a waiting job, or the last submit or start if
        that is later; where there is neither, the file's modification time.

    Raises
    ------
    InputError
        If there is no such file.
    """
    name, text = Path(path).name, read_text(path)
    document: Any = {}
    if text.lstrip().startswith("{"):
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = {}  # the reader of its jobs says what is wrong
    if (at := _time(document.get("last_update"))) is not None:
        return Clock(at, f"last_update of {name}")
    if (at := _manifest_time(Path(path))) is not None:
        return Clock(at, f"{MANIFEST} beside {name}")
    jobs = document.get("jobs")
    looks, events = _past_times([job for job in jobs if isinstance(job, dict)] if isinstance(jobs, list) else [])
    if looks:
        # A job may have come or started since the scheduler looked.
        look, event = max(looks), max(events, default=0.0)
        what = "last_sched_evaluation" if look >= event else "last event"
        return Clock(max(look, event), f"{what} in {name}")
    try:
        return Clock(float(int(Path(path).stat().st_mtime)), f"modification time of {name}")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _manifest_time(path: Path) -> float | None:
    """Time at which the command of a file of a snapshot had answered; None: the file is not of a snapshot."""
    try:
        document = json.loads((path.parent / MANIFEST).read_bytes())
        if document["format"] == SNAPSHOT_FORMAT:
            return next((_time(record["at"]) for record in document["commands"] if record["file"] == path.name), None)
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        pass  # another file of this name, which says nothing here
    return None


def _time(value: Any) -> float | None:
    """Seconds since 1970 of a number, or of an object with one; None: not set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) and value.get("infinite") is not True else None
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LARGEST_TIME
    return float(value) if usable else None


def _past_times(jobs: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """When the scheduler looked at the waiting jobs, which it does again and again, and when jobs came and started."""
    looks, events = [], []
    for job in jobs:
        state = job.get("job_state")
        states = state if isinstance(state, list) else [state]
        events.append(_time(job.get("submit_time")))
        if "PENDING" in states:
            looks.append(_time(job.get("last_sched_evaluation")))
        elif "RUNNING" in states:
            events.append(_time(job.get("start_time")))
    return [time for time in looks if time is not None], [time for time in events if time is not None]
