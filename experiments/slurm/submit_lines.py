"""Submission options of jobs from columns of ``sacct -P``: throttles of arrays, dependencies, CPUs and memory.

Sources: sbatch(1), ``--array=0-9%2`` and ``--dependency=afterany:12:13``; sacct(1), ``ReqTRES`` and ``AllocTRES``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.numbers import integer
from holdfast.workloads.machines.slurm_tables import parse_amounts, table_rows

__all__ = ["JobRequest", "read_requests", "read_throttles"]

_THROTTLE = re.compile(r"(?:\s--array[= ]|\s-a ?)[^\s%]*%(\d{1,9})(?=\s|$)")
_DEPENDENCY = re.compile(r"(?:\s--dependency[= ]|\s-d ?)(\S+)")
#: Dependencies on the end of all jobs that are named.
_ENDS = re.compile(r"after(?:ok|any|notok)((?::\d{1,12})+)")
#: As readers of sacct number task 4 of array 123.
_TASKS = 1 << 32


class JobRequest(NamedTuple):
    """CPUs, memory [MiB] and GPUs of a job, 0 if unknown, and the Slurm ids of the jobs that have to end before it."""

    cpus: int = 0
    memory: int = 0
    after: tuple[int, ...] = ()
    gpus: int = 0


def read_requests(path: str | Path) -> dict[int, JobRequest]:
    """Requests by number of the job, from the columns JobID, SubmitLine and, where present, AllocTRES or ReqTRES.

    Dependencies of other kinds, and alternatives, are left out.

    Raises
    ------
    TraceError
        If a column is missing, or an amount is no number.
    """
    found = {}
    for row in _rows(path):
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
        found[number] = JobRequest(
            amounts.get("cpu", 0), amounts.get("mem", 0), tuple(after), amounts.get("gres/gpu", 0)
        )
    return found


def read_throttles(path: str | Path) -> dict[int, int]:
    """Throttles of job arrays by job id, from the columns JobID and SubmitLine.

    Raises
    ------
    TraceError
        If a column is missing.
    """
    found = {}
    for row in _rows(path):
        match = _THROTTLE.search(row["SubmitLine"])
        number = row["JobID"].partition("_")[0]
        if match and number.isdecimal():
            found[integer(number)] = int(match[1])
    return found


def _rows(path: str | Path) -> list[dict[str, str]]:
    return table_rows(path, read_text(path), ("JobID", "SubmitLine"))
