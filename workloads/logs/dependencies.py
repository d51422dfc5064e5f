"""Dependencies: jobs that are submitted once another one has terminated, as a log says.

Source: Standard Workload Format 2.2, fields 17 (preceding job number: "the current job can only start after the
termination of this preceding job") and 18 (think time: "the number of seconds that should elapse between the
termination of the preceding job and the submittal of this one").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from workloads.ground.units import to_seconds, to_ticks
from workloads.logs.trace import Trace
from workloads.table.job import Job

__all__ = ["follow_dependencies"]

_MISSING = "preceding job not in the trace: submitted as recorded"
_LATER = "preceding job submitted later: submitted as recorded"
_NOTICED = "preceding job, but an announced arrival: submitted as announced"
_ABSENT = "preceding job never arrives: submitted as recorded"
_RUNNING = "preceding job, but runs already"


def follow_dependencies(trace: Trace, jobs: Sequence[Job]) -> tuple[list[Job], dict[str, int]]:
    """Give jobs the dependencies that their trace records.

    Parameters
    ----------
    trace
        A log.
    jobs
        What was made of it, in its order.

    Returns
    -------
    jobs
        With ``preceding`` and ``think_time``.
    remarks
        Dependencies that cannot be followed, counted by reason: on a job that is not in the trace (or was left out), is
        submitted later (so that there are no circles), or never arrives; of a job that announces its arrival; of one
        that runs already. These are submitted as recorded.
    """
    remarks: Counter[str] = Counter()
    linked = list(jobs)
    # A repeated number means the last job above with it; walking down the file, that is the one seen last.
    seen: dict[int, int] = {}
    for index, told in enumerate(trace.jobs):
        job = jobs[index]
        if told.preceding is not None:
            place = seen.get(told.preceding)
            if place is None:
                remarks[_MISSING] += 1
            elif trace.jobs[place].submit > told.submit:
                remarks[_LATER] += 1
            elif job.notice is not None:
                remarks[_NOTICED] += 1
            elif jobs[place].submit is None:
                remarks[_ABSENT] += 1
            elif job.running_since is not None:
                remarks[_RUNNING] += 1
            else:
                think = None if told.think_time is None else to_seconds(to_ticks(told.think_time))
                linked[index] = replace(job, preceding=jobs[place].job_id, think_time=think)
        seen[told.job_id] = index
    return linked, dict(remarks)
