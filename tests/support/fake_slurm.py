"""A small Slurm in one object: first come, first served on named nodes, on a clock that sleeping and commands move.

It answers the commands that a mechanism needs (sbatch, squeue, scontrol, scancel, salloc, sinfo) and runs each job for
as long as its script says. It does what makes a real one hard: it starts jobs between a reading and the command that
follows, keeps nodes while they complete, delays requeued jobs and keeps their node lists, refuses what cannot be done,
and ends jobs at their limits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from holdfast.experiments.slurm.numbered_nodes import node_list, node_numbers
from holdfast.workloads.ground.errors import InputError


@dataclass
class FakeJob:
    """A job."""

    number: int
    name: str
    least: int
    most: int
    work: float = 0.0
    malleable: bool = False
    limit: float = inf
    script: str = ""
    state: str = "PENDING"
    priority: float = 0.0
    first: bool = False
    reservation: str = ""
    wanted: set[int] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    begin: float = 0.0
    start: float = 0.0
    end: float = 0.0
    settled: float = 0.0
    grows: int = 0
    #: Starts so far, and the sizes it had.
    runs: int = 0
    sizes: list[int] = field(default_factory=list)
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
    """A Slurm of some nodes.

    Parameters
    ----------
    nodes
        How many.
    latency
        Time that passes at each command [s].
    completing
        Time for which nodes are not free after a job has left them [s].
    delay
        Time for which a requeued job waits, unless it is told another begin; 121 s on a real Slurm [s].
    refuses
        Called with the words of each command; True refuses it.
    """

    speed = 60.0

    def __init__(
        self,
        nodes: int,
        *,
        latency: float = 0.0,
        completing: float = 0.0,
        delay: float = 0.0,
        refuses: Callable[[Sequence[str]], bool] | None = None,
    ) -> None:
        self.clock = 1_000_000.0
        self.everything = set(range(1, nodes + 1))
        self.down: set[int] = set()
        self.jobs: dict[int, FakeJob] = {}
        self.reserved: set[int] | None = None
        self.expires = inf
        self.calls: list[list[str]] = []
        self._latency, self._completing, self._delay = latency, completing, delay
        self._refuses = refuses or (lambda words: False)
        self._busy_until: dict[int, float] = {}

    def sleep(self, seconds: float) -> None:
        """Time passes, second by second."""
        self._pass(seconds * self.speed)

    def now(self) -> float:
        return self.clock

    def outcomes(self, jobs: object) -> list[dict[str, object]]:
        raise NotImplementedError

    def call(self, words: Sequence[str]) -> str:
        self.calls.append(list(words))
        self._pass(self._latency)
        if self._refuses(words):
            raise InputError(f"{words[0]} failed: Unable to contact slurm controller")
        answer = getattr(self, f"_{words[0]}")(list(words[1:]))
        self._settle()
        return str(answer)

    def _pass(self, seconds: float) -> None:
        until = self.clock + seconds
        while self.clock < until:
            self.clock += min(1.0, until - self.clock)
            self._settle()

    def _free(self) -> set[int]:
        busy = {node for node, until in self._busy_until.items() if until > self.clock}
        running = (job.nodes for job in self.jobs.values() if job.state == "RUNNING")
        return self.everything.difference(busy, self.down, *running)

    def _leave(self, nodes: set[int]) -> None:
        for node in nodes:
            self._busy_until[node] = self.clock + self._completing

    def _settle(self) -> None:
        if self.clock > self.expires:
            self.reserved, self.expires = None, inf
        for job in self.jobs.values():
            if job.state == "RUNNING" and job.work:
                job.work = max(0.0, job.work - (self.clock - job.settled) * (len(job.nodes) if job.malleable else 1))
                job.settled = self.clock
                # Limits are looked at every half a minute.
                if not job.work or self.clock > job.start + job.limit + 30:
                    job.state, job.end = "TIMEOUT" if job.work else "COMPLETED", self.clock
                    self._leave(job.nodes)
        blocked = False
        for job in sorted(self.jobs.values(), key=lambda job: job.priority):
            if job.state != "PENDING" or job.begin > self.clock or (blocked and not job.reservation):
                continue
            free = self._free()
            free = free & (self.reserved or set()) if job.reservation else free - (self.reserved or set())
            if job.wanted:
                free &= job.wanted
            if len(free) >= job.least and job.wanted <= free:
                self._start(job, set(sorted(free)[: job.most]))
            else:
                blocked = blocked or not job.reservation

    def _start(self, job: FakeJob, nodes: set[int]) -> None:
        job.nodes = nodes
        job.state, job.start, job.settled, job.begun = "RUNNING", self.clock, self.clock, job.work
        job.runs += 1
        job.sizes.append(len(nodes))
        if job.malleable:
            Path(job.script.replace(".sh", ".size")).write_text(f"{len(nodes)}\n")

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
        job = FakeJob(number, words[words.index("-J") + 1], sizes[0], sizes[-1], work, malleable, script=words[-1])
        job.limit = 60.0 * int(words[words.index("-t") + 1])
        job.course = (setup, interval, cost, dumps)
        job.reservation, job.wanted = options.get("reservation", ""), names(options.get("nodelist", ""))
        if job.reservation and self.reserved is None:
            raise InputError("sbatch failed: Requested reservation is invalid")
        job.priority = number
        self.jobs[number] = job
        return f"{number}\n"

    def _squeue(self, words: list[str]) -> str:
        if "-n" in words:
            name = words[words.index("-n") + 1]
            return "\n".join(
                str(job.number) for job in self.jobs.values() if job.name == name and job.state == "RUNNING"
            )
        return "\n".join(map(self._line, self.jobs.values()))

    def _line(self, job: FakeJob) -> str:
        delayed = job.state == "PENDING" and job.begin > self.clock
        minutes = round(job.limit / 60) if job.limit < inf else 0
        fields = [
            *(str(job.number), job.state, brackets(job.nodes), stamp(job.start), stamp(job.end)),
            *(brackets(job.wanted), job.reservation or "(null)", f"{minutes // 60}:{minutes % 60:02}:00"),
            *(str(4_294_902_000 if job.first else 1000), "BeginTime" if delayed else "None", job.script),
        ]
        return "|".join(fields)

    def _sinfo(self, words: list[str]) -> str:
        return "\n".join(f"n{node}|{'down*' if node in self.down else 'idle'}" for node in sorted(self.everything))

    def _scancel(self, words: list[str]) -> str:
        if not any(word.startswith("--signal") for word in words):
            for word in words:
                self.jobs[int(word)].state = "CANCELLED"
        return ""

    def _salloc(self, words: list[str]) -> str:
        options = dict(word.removeprefix("--").split("=", 1) for word in words if "=" in word)
        nodes = names(options["nodelist"])
        if not nodes <= self._free() & (self.reserved or set()):
            raise InputError("salloc failed: Requested nodes are busy")
        if self.jobs[int(options["dependency"].split(":")[1])].state != "RUNNING":
            raise InputError("salloc failed: Job dependency problem")
        number = len(self.jobs) + 1
        self.jobs[number] = FakeJob(number, words[words.index("-J") + 1], len(nodes), len(nodes), state="RUNNING")
        self.jobs[number].nodes = nodes
        self.jobs[number].grows = int(options["dependency"].split(":")[1])
        return ""

    def _scontrol(self, words: list[str]) -> str:
        options = dict(word.split("=", 1) for word in words if "=" in word)
        if words[0] == "requeue":
            self._requeue(self.jobs[int(words[1])])
        elif words[0] == "delete":
            self._check_reservation()
            if any(job.reservation and job.state in ("RUNNING", "PENDING") for job in self.jobs.values()):
                raise InputError("scontrol failed: Requested reservation is in use")
            self.reserved, self.expires = None, inf
        elif "Nodes" in options:
            if words[0] == "create" and self.reserved is not None:
                raise InputError("scontrol failed: Reservation name is taken")
            if words[0] == "update":
                self._check_reservation()
            self.reserved = names(options["Nodes"])
            self.expires = self.clock + 60.0 * int(options["EndTime"].removeprefix("now+").removesuffix("minutes"))
        elif "JobId" in options:
            self._update(self.jobs[int(options["JobId"])], options)
        elif "reservation" in words:
            if self.reserved is None:
                return "No reservations in the system"
            return (
                f"ReservationName=holdfast EndTime={stamp(self.expires)} Nodes={brackets(self.reserved)} State=ACTIVE"
            )
        return ""

    def _requeue(self, job: FakeJob) -> None:
        if job.state != "RUNNING":
            raise InputError("scontrol failed: Job is pending execution")
        job.fall_back(self.clock)
        self._leave(job.nodes)
        # It keeps the nodes that it asked for.
        job.state, job.nodes, job.begin = "PENDING", set(), self.clock + self._delay

    def _check_reservation(self) -> None:
        if self.reserved is None:
            raise InputError("scontrol failed: Requested reservation is invalid")

    def _update(self, job: FakeJob, options: dict[str, str]) -> None:
        if job.state not in ("RUNNING", "PENDING"):
            raise InputError("scontrol failed: Job/step already completing or completed")
        if job.state == "RUNNING" and options.keys() & {"ReqNodeList", "StartTime"}:
            raise InputError("scontrol failed: Job is no longer pending execution")
        if options.get("ReservationName"):
            self._check_reservation()
        if "NodeList" in options and not names(options["NodeList"]) < job.nodes:
            raise InputError("scontrol failed: Invalid node name specified")
        if "ReservationName" in options:
            job.reservation = options["ReservationName"]
        if "ReqNodeList" in options:
            job.wanted = names(options["ReqNodeList"])
        if "StartTime" in options:
            job.begin = self.clock
        if "TimeLimit" in options:
            job.limit = 60.0 * int(options["TimeLimit"])
        if "NodeList" in options:
            kept = names(options["NodeList"])
            self._leave(job.nodes - kept)
            job.nodes = kept
            job.sizes.append(len(kept))
        if "Priority" in options:
            job.priority, job.first = -1.0, True
        size = options.get("NumNodes", "")
        if size == "0":
            grown = self.jobs[job.grows]
            grown.nodes |= job.nodes
            grown.sizes.append(len(grown.nodes))
            job.state, job.nodes = "COMPLETED", set()
        elif job.state == "PENDING" and size:
            sizes = [int(part) for part in size.split("-")]
            job.least, job.most = sizes[0], sizes[-1]


def names(text: str) -> set[int]:
    """The numbers of names between commas."""
    return set().union(*(node_numbers(name) for name in text.split(","))) if text else set()


def brackets(nodes: set[int]) -> str:
    """As squeue prints nodes."""
    return f"n[{node_list(nodes).replace('n', '')}]" if nodes else ""


def stamp(seconds: float) -> str:
    """As squeue prints a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") if 0 < seconds < inf else "N/A"
