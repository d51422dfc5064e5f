"""Snapshot of a site: a directory with what Slurm's commands print to an ordinary user, and a manifest of them.

Sources: squeue(1), scontrol(1), sinfo(1), sacct(1), sprio(1), sshare(1).
"""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.experiments.slurm.client import call
from holdfast.workloads.ground.documents import read_json
from holdfast.workloads.ground.errors import InputError, OutputError, TraceError
from holdfast.workloads.ground.files import is_plain_name, partial_name, sync
from holdfast.workloads.ground.numbers import is_number
from holdfast.workloads.logs.snapshot import MANIFEST, SNAPSHOT_FORMAT
from holdfast.workloads.machines.slurm_limits import LIMIT_TABLES

__all__ = ["Snapshot", "expand_snapshots", "is_snapshot", "read_snapshot", "take_snapshot"]

_QUEUE = "%i|%T|%V|%S|%l|%D|%u|%a|%r|%N|%C"
_PAST = "JobID,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,NNodes,State,User,Account,Partition,QOS,NodeList"


#: The line of a job last, which may contain the separator.
_REQUESTS = "JobID,ReqTRES,AllocTRES,SubmitLine"
#: Times of jobs in seconds since 1970, and others in UTC.
_ENVIRONMENT = {"TZ": "UTC", "SLURM_TIME_FORMAT": "%s"}


def _commands(days: int) -> dict[str, list[str]]:
    """The commands by the name of the file for their output; the queue first, while the time is fresh."""
    return {
        "queue.json": ["squeue", "--json"],
        "queue.txt": ["squeue", "--array", "-o", _QUEUE],
        "nodes.txt": ["scontrol", "show", "node"],
        "sprio.txt": ["sprio", "-l"],
        "sshare.txt": ["sshare", "-a", "-l", "-P"],
        **{name: ["sacctmgr", "-P", "show", *words] for name, words in LIMIT_TABLES.items()},
        "partitions.txt": ["scontrol", "show", "partition"],
        "config.txt": ["scontrol", "show", "config"],
        "sinfo.txt": ["sinfo"],
        "sacct.txt": ["sacct", "--allusers", "-X", "-P", "--starttime", f"now-{days}days", "-o", _PAST],
        "submits.txt": ["sacct", "-o", _REQUESTS, "--allusers", "-X", "-P", "--starttime", f"now-{days}days"],
    }


def take_snapshot(directory: Path, days: int, clock: Callable[[], float] = time.time) -> list[str]:
    """Run the commands and store their outputs, with times in UTC.

    Parameters
    ----------
    directory
        Absolute; must not exist or be empty.
    days
        Length of the past to ask the accounting for [days].
    clock
        Seconds since 1970.

    Returns
    -------
    list of str
        A sentence for each command that failed.

    Raises
    ------
    InputError
        If the queue cannot be read in any form.
    OutputError
        If the directory cannot be written.
    """
    new = directory.with_name(partial_name(directory.name))
    records: list[dict[str, Any]] = []
    try:
        new.mkdir()
        for name, words in _commands(days).items():
            record: dict[str, Any] = {"file": name, "command": shlex.join(words)}
            try:
                text = call(words, environment=_ENVIRONMENT)
            except InputError as error:
                record |= {"at": int(clock()), "error": str(error)}
            else:
                record |= {"at": int(clock()), "error": None}
                (new / name).write_text(text)
                sync(new / name)
            records.append(record)
            if name == "queue.txt" and all(entry["error"] for entry in records):
                raise InputError(record["error"])
        at = next(record["at"] for record in records if not record["error"])
        moment = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        document = {
            "format": SNAPSHOT_FORMAT,
            "at": at,
            "time": moment,
            "environment": _ENVIRONMENT,
            "commands": records,
        }
        (new / MANIFEST).write_text(json.dumps(document, indent=1) + "\n")
        sync(new / MANIFEST)
        new.rename(directory)
    except OSError as error:
        raise OutputError(f"{directory}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return [f"{record['file']} is missing: {record['error']}" for record in records if record["error"]]


@dataclass(frozen=True)
class Snapshot:
    """A stored snapshot.

    Attributes
    ----------
    directory
        Its directory.
    errors
        Message of the command by the name of the file; None: its output is there.
    at
        Time of the snapshot [s since 1970].
    """

    directory: Path
    errors: dict[str, str | None]
    at: float

    def find(self, *names: str) -> str | None:
        """Path of the first of some files that is there."""
        return next((str(self.directory / name) for name in names if self.errors.get(name, "") is None), None)

    def need(self, *names: str) -> str:
        """Path of the first of some files that is there.

        Raises
        ------
        InputError
            If none is.
        """
        path = self.find(*names)
        if path is None:
            why = self.errors.get(names[-1]) or "the snapshot was made without it"
            raise InputError(f"{self.directory}: holds no {' or '.join(names)}: {why}")
        return path


def is_snapshot(path: str | Path) -> bool:
    """Whether a path is the directory of a snapshot."""
    return (Path(path) / MANIFEST).is_file()


def read_snapshot(path: str | Path) -> Snapshot:
    """Read the manifest of a snapshot.

    Raises
    ------
    TraceError
        If it cannot be read, or was not written by :func:`take_snapshot`.
    """
    manifest = Path(path) / MANIFEST
    document = read_json(manifest)
    try:
        if document["format"] != SNAPSHOT_FORMAT:
            raise KeyError("format")
        errors = {record["file"]: record["error"] for record in document["commands"]}
        at = document["at"]
        if not is_number(at):
            raise TypeError("at")
        if not all(is_plain_name(name) and isinstance(error, str | None) for name, error in errors.items()):
            raise KeyError("commands")
    except (KeyError, TypeError, ValueError):
        raise TraceError(manifest, None, "is not a manifest written by 'holdfast slurm snapshot'") from None
    return Snapshot(Path(path), errors, at)


def expand_snapshots(paths: Sequence[str], needed: str, *further: str) -> tuple[str, ...]:
    """Replace directories of snapshots by a file that each must hold, and by further ones where they are there."""
    found: list[str] = []
    for path in paths:
        if not is_snapshot(path):
            found.append(path)
            continue
        snapshot = read_snapshot(path)
        found += [snapshot.need(needed), *(there for name in further if (there := snapshot.find(name)))]
    return tuple(found)
