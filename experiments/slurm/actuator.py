"""Actions of a mechanism as Slurm commands: holding nodes, and starting, cancelling and resizing jobs.

A single Slurm reservation covers all held nodes. A job gets the nodes that were chosen for it by running inside this
reservation.
"""

from __future__ import annotations

import getpass
import math
import shlex
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.slurm.job_chain import MINUTE
from experiments.slurm.live_replay import SomeSlurm, patiently, time_of_slurm
from experiments.slurm.numbered_nodes import node_list, node_numbers
from experiments.slurm.templates import fill_template
from simulator.machine.job_state import JobState
from workloads.ground.errors import InputError
from workloads.ground.units import SECOND
from workloads.table.job import JobType

__all__ = ["Seen", "Steering"]

#: Name of the reservation.
_RESERVATION = "holdfast"
#: A priority above all that Slurm assigns.
_FIRST = 4_294_902_000
#: Name of the helper job that obtains nodes for another job; Slurm has no other way to expand a job.
_HELPER = "holdfast-grows"
#: Number of attempts for commands that Slurm asks to repeat, and its messages.
_TRIES = 20
_GONE = "Requested reservation is invalid"
_AGAIN = ("DB index", "try again")


class Seen(NamedTuple):
    """A job as reported by Slurm.

    Attributes
    ----------
    state
        Slurm's name of the state.
    nodes
        Numbers of its nodes.
    start, end
        Start and end of its last run [s since 1970]; 0: none.
    """

    state: str
    nodes: set[int]
    start: float
    end: float


class Steering:
    """Executes decisions on a Slurm.

    Parameters
    ----------
    slurm
        The Slurm; the account must be its operator.
    folder
        Absolute path of the directory for state and logs of the replayed programs.
    saves
        Whether rigid jobs write a checkpoint on request; otherwise they have only periodic checkpoints.
    log
        Called with each command and each failure.
    """

    def __init__(self, slurm: SomeSlurm, folder: Path, *, saves: bool, log: Callable[[str], None]) -> None:
        self._slurm, self._folder, self._saves, self._log = slurm, folder, saves, log
        self._ids: dict[int, int] = {}
        self._reserved: set[int] | None = None
        self.refused: list[str] = []

    def observe(self) -> dict[int, Seen]:
        """State of the submitted jobs, by job id of the table."""
        text = patiently(self._slurm, ["squeue", "-h", "-t", "all", "-o", "%A|%T|%N|%S|%e"])
        by_id = {number: job for job, number in self._ids.items()}
        seen = {}
        for line in text.splitlines():
            number, state, nodes, start, end = line.strip().split("|")
            if int(number) in by_id:
                times = (time_of_slurm(start), time_of_slurm(end))
                seen[by_id[int(number)]] = Seen(state, node_numbers(nodes), *times)
        return seen

    def submit(self, job: JobState, *, first: bool) -> None:
        """Submit a job of the table to the queue; ``first`` puts it before all others."""
        self._sbatch(job, [])
        if first:
            self._update(job.job_id, f"Priority={_FIRST}")

    def submit_on(self, job: JobState, nodes: Collection[int]) -> None:
        """Submit an on-demand job to nodes of the reservation."""
        self._sbatch(job, [f"--reservation={_RESERVATION}", f"--nodelist={node_list(nodes)}"])

    def place(self, job: JobState, nodes: Collection[int]) -> None:
        """Let a waiting job start on nodes of the reservation."""
        words = [f"ReservationName={_RESERVATION}", f"ReqNodeList={node_list(nodes)}", f"NumNodes={len(nodes)}"]
        self._update(job.job_id, *words, "StartTime=now")

    def leave_reservation(self, job: JobState) -> None:
        """Detach a running job from the reservation that it was placed in."""
        self._update(job.job_id, "ReservationName=")

    def limit(self, job: JobState, ticks: int) -> None:
        """Set the time limit of a job, rounded up to minutes."""
        self._update(job.job_id, f"TimeLimit={_minutes(ticks)}")

    def ask_to_save(self, job: JobState) -> None:
        """Signal a program that its job will be requeued."""
        self._signal(job, "USR1")

    def requeue(self, job: JobState) -> None:
        """End a run; the job waits again."""
        self._do("scontrol", "requeue", str(self._ids[job.job_id]))

    def eligible(self, job: JobState) -> None:
        """Let a requeued job start at once on any nodes; by default Slurm delays it and keeps its nodes."""
        limit = f"TimeLimit={_minutes(job.limit(job.min_nodes))}"
        self._update(job.job_id, "StartTime=now", "ReqNodeList=", f"NumNodes={_size(job)}", limit)

    def shrink(self, job: JobState, nodes: Collection[int]) -> None:
        """Shrink a running job to these of its nodes."""
        self._update(job.job_id, f"NodeList={node_list(nodes)}")
        self._announce_size(job, len(nodes))

    def grow(self, job: JobState, added: Collection[int], total: int) -> None:
        """Expand a running job by nodes of the reservation, through a helper job."""
        number = self._ids[job.job_id]
        options = ["--no-shell", "-J", _HELPER, f"-N{len(added)}", f"--nodelist={node_list(added)}", "-t", "60"]
        options += ["--immediate=60"]
        output = self._do("salloc", *options, f"--dependency=expand:{number}", f"--reservation={_RESERVATION}")
        found = self._slurm.call(["squeue", "-h", "-n", _HELPER, "-t", "R", "-o", "%A"]).split()
        if output is None or not found:
            return
        self._do("scontrol", "update", f"JobId={found[-1]}", "NumNodes=0")
        self._do("scontrol", "update", f"JobId={number}", "NumNodes=ALL")
        self._announce_size(job, total)

    def reserve(self, nodes: Collection[int], until: float, *, everything: bool) -> None:
        """Reserve nodes against the queue; running jobs on them continue.

        Parameters
        ----------
        nodes
            Nodes to reserve; empty removes the reservation.
        until
            When they are expected to be free again [s from now].
        everything
            Reserve all nodes, so that no node that becomes free is taken.
        """
        wanted = {-1} if everything else set(nodes)
        if wanted == self._reserved or (not wanted and self._reserved is None):
            return
        listed = "ALL" if everything else node_list(nodes)
        if not wanted:
            if self._release():
                self._reserved = None
            return
        end = f"EndTime=now+{max(1, math.ceil(until / MINUTE))}minutes"
        if self._reserved is None:
            words = ["create", "reservation", f"ReservationName={_RESERVATION}", "StartTime=now"]
            words += [f"Users={getpass.getuser()}", "Flags=IGNORE_JOBS"]
        else:
            words = ["update", f"ReservationName={_RESERVATION}"]
        done = self._do("scontrol", *words, end, f"Nodes={listed}")
        # An expired reservation is created again.
        self._reserved = None if done is None else wanted

    def end(self) -> None:
        """Cancel all waiting and running jobs, and remove the reservation."""
        if self._ids:
            self._do("scancel", *map(str, self._ids.values()))
        if self._reserved is not None:
            for _ in range(_TRIES):
                if self._release():
                    break
                time.sleep(0.5)
            self._reserved = None

    def _release(self) -> bool:
        """Delete the reservation and return whether it is gone."""
        deleted = self._do("scontrol", "delete", f"ReservationName={_RESERVATION}") is not None
        return deleted or _GONE in self.refused[-1]

    def _sbatch(self, job: JobState, options: Sequence[str]) -> None:
        name = f"job-{job.job_id}"
        script = self._folder / f"{name}.sh"
        script.write_text(fill_template("played.sh", self._values(job, self._folder / name)))
        words = ["sbatch", "--parsable", "-J", name, "-N", _size(job), "-t", str(_minutes(job.limit(job.min_nodes)))]
        words += ["--requeue", "--open-mode=append", "-o", f"{self._folder / name}.log", *options, str(script)]
        output = self._do(*words)
        if output is None:
            raise InputError(f"job {job.job_id} cannot be submitted: {self.refused[-1]}")
        self._ids[job.job_id] = int(output.split(";")[0])

    def _values(self, job: JobState, path: Path) -> dict[str, str]:
        work = job.work if job.type is JobType.MALLEABLE else job.compute
        ticks = {"SETUP": job.setup, "WORK": work, "INTERVAL": job.interval, "COST": job.cost}
        return {
            "NUMBER": str(job.job_id),
            "STATE": shlex.quote(f"{path}.state"),
            "SIZE": shlex.quote(f"{path}.size"),
            "KIND": job.type.value,
            "DUMPS": str(job.dumps),
            "SAVES": str(int(self._saves or job.type is JobType.MALLEABLE)),
            **{name: str(value) for name, value in ticks.items()},
        }

    def _announce_size(self, job: JobState, nodes: int) -> None:
        path = self._folder / f"job-{job.job_id}.size"
        path.write_text(f"{nodes}\n")
        self._signal(job, "USR2")

    def _signal(self, job: JobState, name: str) -> None:
        self._do("scancel", "--batch", f"--signal={name}", str(self._ids[job.job_id]))

    def _update(self, job_id: int, *words: str) -> None:
        self._do("scontrol", "update", f"JobId={self._ids[job_id]}", *words)

    def _do(self, *words: str) -> str | None:
        """Output of a command; None: it was refused."""
        command = " ".join(words)
        for left in reversed(range(_TRIES)):
            try:
                printed = self._slurm.call(words)
            except InputError as error:
                if left and any(word in str(error) for word in _AGAIN):
                    time.sleep(0.2)
                    continue
                self.refused.append(f"{command}: {error}")
                self._log(f"  refused: {command}: {error}")
                return None
            self._log(f"  {command}")
            return printed
        return None


def _size(job: JobState) -> str:
    return str(job.nodes) if job.min_nodes == job.nodes else f"{job.min_nodes}-{job.nodes}"


def _minutes(ticks: int) -> int:
    return max(1, math.ceil(ticks / (MINUTE * SECOND) - 1e-9))
