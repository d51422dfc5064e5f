"""Actions of a mechanism as Slurm commands: holding nodes, and starting, requeueing and resizing jobs.

A single Slurm reservation covers all held nodes. A job gets the nodes that were chosen for it by running inside this
reservation. Each method returns whether Slurm has accepted the command; what it refuses is recorded, and the caller
decides whether to try again.
"""

from __future__ import annotations

import getpass
import math
import shlex
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from holdfast.experiments.slurm.job_chain import MINUTE
from holdfast.experiments.slurm.live_replay import SomeSlurm
from holdfast.experiments.slurm.numbered_nodes import node_list
from holdfast.experiments.slurm.slurm_state import RESERVATION
from holdfast.experiments.slurm.templates import fill_template
from holdfast.simulator.machine.job_state import JobState
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType

__all__ = ["FIRST", "Actuator", "limit_minutes"]

#: A priority above all that Slurm assigns.
FIRST = 4_294_902_000
#: Name of the helper job that obtains nodes for another job; Slurm has no other way to expand a job.
_HELPER = "holdfast-grows"
#: Number of attempts for commands that Slurm asks to repeat, and its messages.
_TRIES = 20
_AGAIN = ("DB index", "try again")


class Actuator:
    """Executes decisions on a Slurm.

    Parameters
    ----------
    slurm
        The Slurm; the account must be its operator.
    folder
        Absolute path of the directory for scripts, states and logs of the replayed programs.
    saves
        Whether rigid jobs write a checkpoint on request; otherwise they have only periodic checkpoints.
    log
        Called with each command and each refusal.

    Attributes
    ----------
    folder
        The directory.
    ids
        Slurm's id of each submitted job, by id of the table.
    refused
        Refused commands, with Slurm's reasons.
    """

    def __init__(self, slurm: SomeSlurm, folder: Path, *, saves: bool, log: Callable[[str], None]) -> None:
        self._slurm, self._saves, self._log = slurm, saves, log
        self.folder = folder
        self.ids: dict[int, int] = {}
        self.refused: list[str] = []

    def submit(self, job: JobState, *, first: bool) -> bool:
        """Submit a job of the table to the queue; ``first`` puts it before all others."""
        return self._sbatch(job, []) and (not first or self.put_first(job))

    def put_first(self, job: JobState) -> bool:
        """Put a waiting job before all others."""
        return self._update(job.job_id, f"Priority={FIRST}")

    def submit_on(self, job: JobState, nodes: Collection[int]) -> bool:
        """Submit an on-demand job to nodes of the reservation."""
        return self._sbatch(job, [f"--reservation={RESERVATION}", f"--nodelist={node_list(nodes)}"])

    def place(self, job: JobState, nodes: Collection[int]) -> bool:
        """Let a waiting job start on nodes of the reservation."""
        words = [f"ReservationName={RESERVATION}", f"ReqNodeList={node_list(nodes)}", f"NumNodes={len(nodes)}"]
        return self._update(job.job_id, *words, "StartTime=now")

    def leave_reservation(self, job: JobState) -> bool:
        """Detach a running job from the reservation that it was placed in."""
        return self._update(job.job_id, "ReservationName=")

    def limit(self, job: JobState, ticks: int) -> bool:
        """Set the time limit of a job, rounded up to minutes."""
        return self._update(job.job_id, f"TimeLimit={limit_minutes(ticks)}")

    def ask_to_save(self, job: JobState) -> bool:
        """Signal a program that its job will be requeued."""
        return self._signal(job, "USR1")

    def requeue(self, job: JobState) -> bool:
        """End a run; the job waits again."""
        return self._do("scontrol", "requeue", str(self.ids[job.job_id])) is not None

    def release(self, job: JobState) -> bool:
        """Let a waiting job start at once on any nodes; Slurm delays a requeued one and keeps its nodes."""
        limit = f"TimeLimit={limit_minutes(job.limit(job.min_nodes))}"
        words = ("StartTime=now", "ReservationName=", "ReqNodeList=", f"NumNodes={_size(job)}", limit)
        return self._update(job.job_id, *words)

    def shrink(self, job: JobState, nodes: Collection[int]) -> bool:
        """Shrink a running job to these of its nodes."""
        return self._update(job.job_id, f"NodeList={node_list(nodes)}")

    def grow(self, job: JobState, added: Collection[int]) -> bool:
        """Expand a running job by nodes of the reservation, through a helper job."""
        number = self.ids[job.job_id]
        options = ["--no-shell", "-J", _HELPER, f"-N{len(added)}", f"--nodelist={node_list(added)}", "-t", "60"]
        options += ["--immediate=60"]
        output = self._do("salloc", *options, f"--dependency=expand:{number}", f"--reservation={RESERVATION}")
        found = self._slurm.call(["squeue", "-h", "-n", _HELPER, "-t", "R", "-o", "%A"]).split()
        if not found:
            return False
        helper = found[-1]
        if output is None:
            self._do("scancel", helper)
            return False
        if self._do("scontrol", "update", f"JobId={helper}", "NumNodes=0") is None:
            # A helper that keeps its nodes would keep them from all other jobs.
            self._do("scancel", helper)
            return False
        return self._do("scontrol", "update", f"JobId={number}", "NumNodes=ALL") is not None

    def announce_size(self, job: JobState, nodes: int) -> None:
        """Tell the program of a malleable job its number of nodes, which it writes itself when it begins."""
        path = self.folder / f"job-{job.job_id}.size"
        if not path.exists() or path.read_text() == f"{nodes}\n":
            return
        path.write_text(f"{nodes}\n")
        self._signal(job, "USR2")

    def create_reservation(self, nodes: Collection[int], seconds: float) -> bool:
        """Reserve nodes against the queue for a time from now on [s]; running jobs on them continue."""
        words = ["create", "reservation", f"ReservationName={RESERVATION}", "StartTime=now"]
        return self._reserve([*words, f"Users={getpass.getuser()}", "Flags=IGNORE_JOBS"], nodes, seconds)

    def change_reservation(self, nodes: Collection[int], seconds: float) -> bool:
        """Change the nodes of the reservation and its end [s from now]."""
        return self._reserve(["update", f"ReservationName={RESERVATION}"], nodes, seconds)

    def delete_reservation(self) -> bool:
        """Delete the reservation; Slurm refuses while a job is in it."""
        return self._do("scontrol", "delete", f"ReservationName={RESERVATION}") is not None

    def end(self, *, reserved: bool) -> None:
        """Cancel all waiting and running jobs, and remove the reservation."""
        if self.ids:
            self._do("scancel", *map(str, self.ids.values()))
        for _ in range(_TRIES if reserved else 0):
            if self.delete_reservation() or "reservation is invalid" in self.refused[-1]:
                break
            time.sleep(0.5)

    def _reserve(self, words: Sequence[str], nodes: Collection[int], seconds: float) -> bool:
        end = f"EndTime=now+{max(1, math.ceil(seconds / MINUTE))}minutes"
        return self._do("scontrol", *words, end, f"Nodes={node_list(nodes)}") is not None

    def _sbatch(self, job: JobState, options: Sequence[str]) -> bool:
        name = f"job-{job.job_id}"
        script = self.folder / f"{name}.sh"
        script.write_text(fill_template("played.sh", self._values(job, self.folder / name)))
        minutes = str(limit_minutes(job.limit(job.min_nodes)))
        words = ["sbatch", "--parsable", "-J", name, "-N", _size(job), "-t", minutes]
        words += ["--requeue", "--open-mode=append", "-o", f"{self.folder / name}.log", *options, str(script)]
        output = self._do(*words)
        if output is not None:
            self.ids[job.job_id] = int(output.split(";")[0])
        return output is not None

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

    def _signal(self, job: JobState, name: str) -> bool:
        return self._do("scancel", "--batch", f"--signal={name}", str(self.ids[job.job_id])) is not None

    def _update(self, job_id: int, *words: str) -> bool:
        return self._do("scontrol", "update", f"JobId={self.ids[job_id]}", *words) is not None

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


def limit_minutes(ticks: int) -> int:
    """A time limit as Slurm takes it, in whole minutes."""
    return max(1, math.ceil(ticks / (MINUTE * SECOND) - 1e-9))


def _size(job: JobState) -> str:
    return str(job.nodes) if job.min_nodes == job.nodes else f"{job.min_nodes}-{job.nodes}"
