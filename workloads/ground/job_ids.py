"""Job ids as integers, and the notation for array tasks and components of heterogeneous jobs.

Slurm writes a task of an array as ``287_1`` and a component of a heterogeneous job as ``287+1``. Tables and simulations
need one integer: job x 2^32 + task, and job x 2^32 + 2^31 + component.
"""

from __future__ import annotations

import re

from holdfast.workloads.ground.errors import format_value
from holdfast.workloads.ground.text_cells import whole

__all__ = ["LARGEST_JOB", "LARGEST_TASK", "component_id", "job_id_text", "job_number", "parse_job_id", "task_id"]

#: The largest number of a job or a component, and Slurm's largest number of a task.
LARGEST_JOB, LARGEST_TASK = (1 << 31) - 1, 4_000_000
_SHIFT, _COMPONENT = 32, 1 << 31
_PARTS = re.compile(r"\s*([0-9]{1,10})([_+])([0-9]{1,10})\s*")


def task_id(job: int, task: int) -> int:
    """The id of a task of an array.

    >>> task_id(287, 1)
    1232655613953
    """
    return (job << _SHIFT) + task


def component_id(job: int, component: int) -> int:
    """The id of a component of a heterogeneous job."""
    return (job << _SHIFT) + (_COMPONENT | component)


def job_id_text(job_id: int) -> str:
    """The id as Slurm writes it: a number, ``287_1`` or ``287+1``.

    Logs of other systems may have equally large numbers; those that are not a task or component stay numbers.

    >>> job_id_text(2871), job_id_text(task_id(287, 1)), job_id_text(component_id(287, 0)), job_id_text(-1)
    ('2871', '287_1', '287+0', '-1')
    """
    job, part = job_id >> _SHIFT, job_id & ((1 << _SHIFT) - 1)
    if 1 <= job <= LARGEST_JOB:
        if part <= LARGEST_TASK:
            return f"{job}_{part}"
        if _COMPONENT <= part <= _COMPONENT + LARGEST_TASK:
            return f"{job}+{part - _COMPONENT}"
    return str(job_id)


def job_number(job_id: int) -> int:
    """The number of a job; for a task or a component, that of its whole job.

    >>> job_number(2871), job_number(task_id(287, 1))
    (2871, 287)
    """
    return job_id if job_id_text(job_id) == str(job_id) else job_id >> _SHIFT


def parse_job_id(text: str, name: str = "the job id") -> int:
    """Read an id: a whole number, ``287_1`` or ``287+1``.

    Parameters
    ----------
    text
        The id in Slurm's notation.
    name
        Name of the value, for the message.

    Raises
    ------
    ValueError
        If the text is not an id; the message has the legal values and the value.

    Examples
    --------
    >>> parse_job_id("287_1") == task_id(287, 1), parse_job_id("287")
    (True, 287)
    """
    match = _PARTS.fullmatch(text)
    if match is None:
        if "_" in text or "+" in text.strip()[1:]:
            raise ValueError(f"{name} must be a number, or one such as 123_4, not {format_value(text)}")
        return whole(text, name)
    job, part = int(match[1]), int(match[3])
    if max(job, part) > LARGEST_JOB:
        raise ValueError(f"the numbers of {name} must be at most {LARGEST_JOB:,}, not those of {format_value(text)}")
    return task_id(job, part) if match[2] == "_" else component_id(job, part)
