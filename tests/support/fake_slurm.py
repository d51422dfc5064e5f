"""A small Slurm in one object: first come, first served on named nodes, on a clock that only sleeping moves.

It answers the commands that a mechanism needs (sbatch, squeue, scontrol, scancel, salloc) and runs each job for as long
as its script says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from experiments.slurm.numbered_nodes import node_list, node_numbers
from workloads.ground.errors import InputError


@dataclass
class FakeJob:
    """A job."""

    number: int
    name: str
    least: int
    most: int
    work: float = 0.0
    malleable: bool = False
    state: str = "PENDING"
    priority: float = 0.0
    reservation: str = ""
    wanted: set[int] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    start: float = 0.0
    end: float = 0.0
    settled: float = 0.0
    grows: int = 0
    #: Setup, interval, cost [s] and number of checkpoints, and the work when it started.
    course: tuple[float, float, float, int] = (0.0, 0.0, 0.0, 0)
    begun: float = 0.0

    def fall_back(self, now: float) -> None:
        """Lose what no checkpoint has saved, and the setup."""
        setup, interval, cost, dumps = self.course
        if self.malleable:
            self.work += setup * len(self.nodes)
            return
        elapsed = now - self.start - setup
        cycles = min(elapsed // (interval + cost), dumps) if dumps and elapsed > 0 else 0
        self.work = self.begun - cycles * (interval + cost)
        self.course = (setup, interval, cost, int(dumps - cycles))


class FakeSlurm:
    """A Slurm of so many nodes."""

    speed = 60.0

    def __init__(self, nodes: int) -> None:
        self.clock = 1_000_000.0
        self.everything = set(range(1, nodes + 1))
        self.jobs: dict[int, FakeJob] = {}
        self.reserved: set[int] | None = None
        self.calls: list[list[str]] = []

    def sleep(self, seconds: float) -> None:
        """Time passes, second by second."""
        until = self.clock + seconds * self.speed
        while self.clock < until:
            self.clock += 1.0
            self._settle()

    def now(self) -> float:
        return self.clock

    def outcomes(self, jobs: object) -> list[dict[str, object]]:
        raise NotImplementedError

    def call(self, words: Sequence[str]) -> str:
        self.calls.append(list(words))
        told = getattr(self, f"_{words[0]}")(list(words[1:]))
        self._settle()
        return str(told)

    def _free(self) -> set[int]:
        return self.everything.difference(*(job.nodes for job in self.jobs.values() if job.state == "RUNNING"))

    def _settle(self) -> None:
        for job in self.jobs.values():
            if job.state == "RUNNING" and job.work:
                job.work = max(0.0, job.work - (self.clock - job.settled) * (len(job.nodes) if job.malleable else 1))
                job.settled = self.clock
                if not job.work:
                    job.state, job.end = "COMPLETED", self.clock
        blocked = False
        for job in sorted(self.jobs.values(), key=lambda job: job.priority):
            if job.state != "PENDING" or (blocked and not job.reservation):
                continue
            free = self._free()
            free = free & (self.reserved or set()) if job.reservation else free - (self.reserved or set())
            if job.wanted:
                free &= job.wanted
            if len(free) >= job.least and job.wanted <= free:
                job.nodes = set(sorted(free)[: job.most])
                job.state, job.start, job.settled, job.begun = "RUNNING", self.clock, self.clock, job.work
            else:
                blocked = blocked or not job.reservation

    def _sbatch(self, words: list[str]) -> str:
        number = len(self.jobs) + 1
        options = dict(re.findall(r"^--(\w+)=(.*)$", "\n".join(words), re.MULTILINE))
        sizes = [int(part) for part in words[words.index("-N") + 1].split("-")]
        script = Path(words[-1]).read_text()
        values = dict(re.findall(r"(\w+)=(\w+)", script))
        setup, work, interval, cost = (int(values[name]) / 1e6 for name in ("setup", "work", "interval", "cost"))
        malleable, dumps = "kind=malleable" in script, int(values["dumps"])
        # Setup of a malleable job counts for all of its nodes.
        work += setup * (sizes[-1] if malleable else 1) + dumps * cost
        job = FakeJob(number, words[words.index("-J") + 1], sizes[0], sizes[-1], work, malleable)
        job.course = (setup, interval, cost, dumps)
        job.reservation, job.wanted = options.get("reservation", ""), node_numbers_of(options.get("nodelist", ""))
        job.priority = number
        self.jobs[number] = job
        return f"{number}\n"

    def _squeue(self, words: list[str]) -> str:
        if "-n" in words:
            name = words[words.index("-n") + 1]
            return "\n".join(
                str(job.number) for job in self.jobs.values() if job.name == name and job.state == "RUNNING"
            )
        return "\n".join(
            f"{job.number}|{job.state}|{bracketed(job.nodes)}|{stamp(job.start)}|{stamp(job.end)}"
            for job in self.jobs.values()
        )

    def _scancel(self, words: list[str]) -> str:
        if not any(word.startswith("--signal") for word in words):
            for word in words:
                self.jobs[int(word)].state = "CANCELLED"
        return ""

    def _salloc(self, words: list[str]) -> str:
        options = dict(word.removeprefix("--").split("=", 1) for word in words if "=" in word)
        nodes = node_numbers_of(options["nodelist"])
        if not nodes <= self._free():
            raise InputError("salloc failed: Requested nodes are busy")
        number = len(self.jobs) + 1
        self.jobs[number] = FakeJob(number, words[words.index("-J") + 1], len(nodes), len(nodes), state="RUNNING")
        self.jobs[number].nodes = nodes
        self.jobs[number].grows = int(options["dependency"].split(":")[1])
        return ""

    def _scontrol(self, words: list[str]) -> str:
        options = dict(word.split("=", 1) for word in words if "=" in word)
        if words[0] == "requeue":
            job = self.jobs[int(words[1])]
            job.fall_back(self.clock)
            job.state, job.nodes = "PENDING", set()
        elif words[0] == "delete":
            if self.reserved is None:
                raise InputError("scontrol failed: Requested reservation is invalid")
            self.reserved = None
        elif "Nodes" in options:
            self.reserved = self.everything if options["Nodes"] == "ALL" else node_numbers_of(options["Nodes"])
        elif "JobId" in options:
            self._update(self.jobs[int(options["JobId"])], options)
        return ""

    def _update(self, job: FakeJob, options: dict[str, str]) -> None:
        if "ReservationName" in options:
            job.reservation = options["ReservationName"]
        if "ReqNodeList" in options:
            job.wanted = node_numbers_of(options["ReqNodeList"])
        if "NodeList" in options:
            job.nodes = node_numbers_of(options["NodeList"])
        if "Priority" in options:
            job.priority = -1.0
        if options.get("NumNodes") == "0":
            self.jobs[job.grows].nodes |= job.nodes
            job.state, job.nodes = "COMPLETED", set()


def node_numbers_of(text: str) -> set[int]:
    """The numbers of names between commas."""
    return set().union(*(node_numbers(name) for name in text.split(","))) if text else set()


def bracketed(nodes: set[int]) -> str:
    """As squeue prints nodes."""
    return f"n[{node_list(nodes).replace('n', '')}]" if nodes else ""


def stamp(seconds: float) -> str:
    """As squeue prints a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") if seconds else "N/A"
