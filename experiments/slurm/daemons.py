"""Processes of a lab, which are identified by a variable in their environment and stopped individually."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.workloads.ground.errors import InputError

__all__ = ["MARK", "end", "lab_processes", "launch", "leave", "until"]

#: Environment variable of all processes of a lab, with its directory as value.
MARK = "HOLDFAST_SLURM_LAB"
#: Time limit of waiting, in real seconds.
_PATIENCE = 60.0
_PAUSE = 0.05
#: Processes left running; they are kept here because Python warns when a running Popen is garbage-collected.
_LEFT: list[subprocess.Popen[bytes]] = []


def launch(words: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path, attempts: int = 1) -> None:
    """Start a program that becomes a daemon or ends soon.

    Raises
    ------
    InputError
        If it fails at each attempt; the message contains the last line of its output.
    """
    for attempt in range(attempts):
        if attempt:
            time.sleep(_PAUSE)
        with log.open("ab") as file:
            done = subprocess.run(
                words, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False
            )
        if not done.returncode:
            break
    if done.returncode:
        lines = log.read_text(errors="replace").split("\n")
        last_line = next((line.strip() for line in reversed(lines) if line.strip()), f"exit status {done.returncode}")
        raise InputError(f"{Path(words[0]).name} failed: {last_line}; see {log}")


def leave(words: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> None:
    """Start a program that stays in the foreground and leave it running."""
    with log.open("ab") as file:
        _LEFT.append(
            subprocess.Popen(
                words,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        )


def until(true: Callable[[], bool], what: str) -> None:
    """Wait until a condition is true.

    Raises
    ------
    InputError
        If it does not become true within a minute.
    """
    end = time.monotonic() + _PATIENCE
    while not true():
        if time.monotonic() > end:
            raise InputError(f"{what} did not answer within {_PATIENCE:g} s; see the folder log of the lab")
        time.sleep(_PAUSE)


def lab_processes(directory: Path) -> dict[int, str]:
    """Processes of a lab, daemons and jobs: program names by process id."""
    own = f"{MARK}={directory}".encode()
    configured = f"SLURM_CONF={directory}/slurm.conf".encode()
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        with suppress(OSError):
            variables = (folder / "environ").read_bytes().split(b"\0")
            in_job = configured in variables and any(item.startswith(b"SLURM_JOB_ID=") for item in variables)
            if own in variables or in_job:
                found[int(folder.name)] = (folder / "comm").read_text().strip()
    return found


def end(directory: Path, order: Iterable[str]) -> list[int]:
    """End all processes of a lab.

    Parameters
    ----------
    directory
        Directory of the lab.
    order
        Names of the programs to stop first, in this order, before all others.

    Returns
    -------
    list of int
        Ids of the remaining processes.
    """
    for name in (*order, ""):
        wanted = [process for process, program in lab_processes(directory).items() if name in ("", program)]
        _signal(wanted, signal.SIGTERM)
        stop = time.monotonic() + _PATIENCE / 6
        while set(wanted) & set(lab_processes(directory)) and time.monotonic() < stop:
            time.sleep(_PAUSE)
    _signal(lab_processes(directory), signal.SIGKILL)
    stop = time.monotonic() + _PATIENCE / 6
    while lab_processes(directory) and time.monotonic() < stop:
        time.sleep(_PAUSE)
    return sorted(lab_processes(directory))


def _signal(processes: Iterable[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(OSError):
            os.kill(process, number)
