"""State of a Slurm at one moment, as far as a controller compares it: its own jobs, and its reservation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.experiments.slurm.controller_log import time_of_slurm
from holdfast.experiments.slurm.job_chain import MINUTE
from holdfast.experiments.slurm.live_replay import SomeSlurm, patiently
from holdfast.experiments.slurm.numbered_nodes import node_numbers
from holdfast.workloads.ground.numbers import integer

__all__ = ["ENDED", "RESERVATION", "Held", "Seen", "SlurmState", "parse_seen_job", "read_state", "read_unusable"]

#: Name of the reservation.
RESERVATION = "holdfast"
#: States of a job that has ended.
ENDED = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL")
#: Fields of squeue; the path of the script is the last, because it may contain the separator.
_FIELDS = "%A|%T|%N|%S|%e|%n|%v|%l|%Q|%r|%o"
#: States of nodes, as sinfo prints them, on which no job can start.
_UNUSABLE = ("down", "drain", "fail", "maint", "unk", "boot", "power", "no_respond", "inval")


class Seen(NamedTuple):
    """A job as reported by Slurm.

    Attributes
    ----------
    number
        Slurm's id.
    state
        Slurm's name of the state.
    nodes
        Numbers of its nodes.
    start, end
        Start and end of its last run [s since 1970]; 0: none.
    required
        Numbers of the nodes that it asks for.
    reserved
        Whether it is to run in the reservation.
    minutes
        Time limit [min].
    priority
        Slurm's priority.
    delayed
        Whether it waits for a begin time.
    """

    number: int
    state: str
    nodes: frozenset[int] = frozenset()
    start: float = 0.0
    end: float = 0.0
    required: frozenset[int] = frozenset()
    reserved: bool = False
    minutes: float = 0.0
    priority: int = 0
    delayed: bool = False

    @property
    def ended(self) -> bool:
        """Whether the job has ended."""
        return self.state.split()[0] in ENDED

    def to_list(self) -> list[Any]:
        """The fields for a JSON document."""
        return [sorted(field) if isinstance(field, frozenset) else field for field in self]


class Held(NamedTuple):
    """The reservation as reported by Slurm.

    Attributes
    ----------
    nodes
        Numbers of its nodes.
    end
        Its end [s since 1970].
    """

    nodes: frozenset[int]
    end: float


class SlurmState(NamedTuple):
    """What a controller reads of a Slurm.

    Attributes
    ----------
    jobs
        Submitted jobs by id of the table.
    held
        The reservation; None: there is none.
    """

    jobs: dict[int, Seen]
    held: Held | None


def parse_seen_job(fields: Sequence[Any]) -> Seen:
    """The job of :meth:`Seen.to_list`."""
    values: list[Any] = [frozenset(field) if isinstance(field, list) else field for field in fields]
    return Seen(*values)


def read_state(slurm: SomeSlurm, folder: Path) -> SlurmState:
    """Read the jobs with a script ``job-ID.sh`` in a folder, and the reservation."""
    own = re.compile(rf"{re.escape(str(folder))}/job-(\d+)\.sh(?:\s.*)?")
    jobs: dict[int, Seen] = {}
    for line in patiently(slurm, ["squeue", "-h", "-t", "all", "-o", _FIELDS]).splitlines():
        fields = line.strip().split("|", 10)
        match = own.fullmatch(fields[-1]) if len(fields) == 11 else None
        if match is None or not fields[0].isdecimal():
            continue
        job, shown = int(match[1]), _job(fields)
        if job not in jobs or shown.number < jobs[job].number:
            jobs[job] = shown
    return SlurmState(jobs, _reservation(patiently(slurm, ["scontrol", "-o", "show", "reservation"])))


def read_unusable(slurm: SomeSlurm) -> frozenset[int]:
    """Numbers of the nodes on which no job can start because of their state."""
    found: set[int] = set()
    for line in patiently(slurm, ["sinfo", "-h", "-N", "-o", "%N|%T"]).splitlines():
        name, _, state = line.strip().partition("|")
        if state.lower().startswith(_UNUSABLE) or state.endswith("*"):
            found |= node_numbers(name)
    return frozenset(found)


def _job(fields: Sequence[str]) -> Seen:
    number, state, nodes, start, end, required, reservation, limit, priority, reason, _ = fields
    return Seen(
        number=int(number),
        state=state,
        nodes=frozenset(node_numbers(nodes)),
        start=time_of_slurm(start),
        end=time_of_slurm(end),
        required=frozenset(node_numbers(required)),
        reserved=reservation == RESERVATION,
        minutes=_minutes(limit),
        priority=int(priority) if priority.isdecimal() else 0,
        delayed=reason == "BeginTime",
    )


def _minutes(limit: str) -> float:
    """Minutes of ``days-hours:minutes:seconds`` as squeue shows them; 0: none."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", limit)
    if match is None:
        return 0.0
    days, hours, minutes, seconds = (integer(part or "0") for part in match.groups())
    return days * 1440 + hours * 60 + minutes + seconds / MINUTE


def _reservation(text: str) -> Held | None:
    for line in text.splitlines():
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if fields.get("ReservationName") == RESERVATION:
            return Held(frozenset(node_numbers(fields.get("Nodes", ""))), time_of_slurm(fields.get("EndTime", "")))
    return None
