"""Submission options of jobs from columns of ``sacct -P``: throttles of arrays, dependencies, CPUs and memory.

Sources: sbatch(1), ``--array=0-9%2`` and ``--dependency=afterany:12:13``; sacct(1), ``ReqTRES`` and ``AllocTRES``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.numbers import integer

__all__ = ["JobRequest", "parse_amounts", "read_requests", "read_rows", "read_throttles"]

_THROTTLE = re.compile(r"(?:\s--array[= ]|\s-a ?)[^\s%]*%(\d{1,9})(?=\s|$)")
_DEPENDENCY = re.compile(r"(?:\s--dependency[= ]|\s-d ?)(\S+)")
#: Dependencies on the end of all jobs that are named.
_ENDS = re.compile(r"after(?:ok|any|notok)((?::\d{1,12})+)")
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)([KMGTP]?)")
#: MiB of a unit; an amount of memory without one is in MiB.
_MEBIBYTES = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
#: As readers of sacct number task 4 of array 123.
_TASKS = 1 << 32


class JobRequest(NamedTuple):
    """CPUs and memory [MiB] of a job, 0 if unknown, and the Slurm ids of the jobs that it waits for the end of."""

    cpus: int = 0
    memory: int = 0
    after: tuple[int, ...] = ()


def read_requests(path: str | Path) -> dict[int, JobRequest]:
    """Requests by number of the job, from the columns JobID, SubmitLine and, where present, AllocTRES or ReqTRES.

    Dependencies of other kinds, and alternatives, are left out.

    Raises
    ------
    TraceError
        If a column is missing, or an amount is no number.
    """
    found = {}
    for row in read_rows(path, ("JobID", "SubmitLine")):
        job, _, task = row["JobID"].partition("_")
        if not job.isdecimal() or (task and not task.isdecimal()):
            continue
        number = integer(job) * _TASKS + integer(task) if task else integer(job)
        amounts = parse_amounts(path, row.get("AllocTRES") or row.get("ReqTRES") or "")
        match = _DEPENDENCY.search(row["SubmitLine"])
        after: list[int] = []
        for part in match[1].split(",") if match and "?" not in match[1] else ():
            ends = _ENDS.fullmatch(part)
            after += map(integer, ends[1].split(":")[1:]) if ends else ()
        found[number] = JobRequest(amounts.get("cpu", 0), amounts.get("mem", 0), tuple(after))
    return found


def read_throttles(path: str | Path) -> dict[int, int]:
    """Throttles of job arrays by job id, from the columns JobID and SubmitLine.

    Raises
    ------
    TraceError
        If a column is missing.
    """
    found = {}
    for row in read_rows(path, ("JobID", "SubmitLine")):
        match = _THROTTLE.search(row["SubmitLine"])
        number = row["JobID"].partition("_")[0]
        if match and number.isdecimal():
            found[integer(number)] = int(match[1])
    return found


def parse_amounts(path: str | Path, cell: str) -> dict[str, int]:
    """Amounts of ``cpu=16,mem=64G,node=4`` by resource, memory in MiB; other resources are left out.

    Raises
    ------
    TraceError
        If one of these amounts is no number.
    """
    found = {}
    for part in cell.split(","):
        name, _, text = part.strip().partition("=")
        if name in ("cpu", "mem", "node"):
            match = _AMOUNT.fullmatch(text)
            if not match or (name != "mem" and not text.isdecimal()):
                raise TraceError(path, None, f"amounts must be numbers, as in cpu=16,mem=64G,node=4, not {part[:40]}")
            found[name] = round(float(match[1]) * _MEBIBYTES[match[2]]) if name == "mem" else integer(text)
    return found


def read_rows(path: str | Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """Rows of a table with the separator ``|``; the last column may contain it.

    Raises
    ------
    TraceError
        If a column that is needed is missing.
    """
    lines = read_text(path).splitlines()
    head = [name.strip() for name in lines[0].split("|")] if lines else []
    missing = [name for name in needed if name not in head]
    if missing:
        raise TraceError(path, 1, f"has no column {missing[0]}")
    return [dict(zip(head, line.split("|", len(head) - 1), strict=False)) for line in lines[1:] if line.strip()]
