"""Time of a snapshot: when the output of a Slurm command was made.

Sources: squeue(1) and the OpenAPI of Slurm 23.02 and later (``last_update``, the time of slurmctld's answer) and 22.05
(``last_sched_evaluation`` of a job); docs/forecast.md, "Now".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads.ground.errors import InputError
from workloads.ground.files import read_text
from workloads.ground.units import LARGEST_TIME

__all__ = ["Clock", "snapshot_time"]


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
        The time of the answer that the file stores (``last_update``); in files of older versions the last time at which
        the scheduler looked at a waiting job; where there is neither, the file's modification time.

    Raises
    ------
    InputError
        If there is no such file.
    """
    name, text = Path(path).name, read_text(path)
    if text.lstrip().startswith("{"):
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = {}  # the reader of its jobs says what is wrong
        at = _time(document.get("last_update"))
        if at is not None:
            return Clock(at, f"last_update of {name}")
        looks = [at for job in _waiting(document) if (at := _time(job.get("last_sched_evaluation"))) is not None]
        if looks:
            return Clock(max(looks), f"last_sched_evaluation in {name}")
    try:
        return Clock(float(int(Path(path).stat().st_mtime)), f"modification time of {name}")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _time(value: Any) -> float | None:
    """Seconds since 1970 of a number, or of an object with one; None: not set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) and value.get("infinite") is not True else None
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LARGEST_TIME
    return float(value) if usable else None


def _waiting(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Jobs that are pending: the scheduler looks at them again and again."""
    jobs = document.get("jobs")
    found = []
    for job in jobs if isinstance(jobs, list) else ():
        state = job.get("job_state") if isinstance(job, dict) else None
        if "PENDING" in (state if isinstance(state, list) else [state]):
            found.append(job)
    return found
