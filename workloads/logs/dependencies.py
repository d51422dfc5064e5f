"""Dependencies in a log: jobs that are submitted after another job has terminated.

Source: Standard Workload Format 2.2, fields 17 (preceding job number: "the current job can only start after the
termination of this preceding job") and 18 (think time: "the number of seconds that should elapse between the
termination of the preceding job and the submittal of this one").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.jobs import Jobs

__all__ = ["follow_dependencies"]

_MISSING = "preceding job not in the trace: submitted as recorded"
_LATER = "preceding job submitted later: submitted as recorded"
_NOTICED = "preceding job, but an announced arrival: submitted as announced"
_ABSENT = "preceding job never arrives: submitted as recorded"
_RUNNING = "preceding job, but runs already"


def follow_dependencies(trace: Trace, jobs: Sequence[Job]) -> tuple[Jobs, dict[str, int]]:
    """Give jobs the dependencies that their trace records.

    Parameters
    ----------
    trace
        A log.
    jobs
        Jobs made from it, in the same order.

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
    table = jobs if isinstance(jobs, Jobs) else Jobs(jobs)
    if not trace.jobs.has("preceding"):
        return table, {}
    recorded = trace.jobs
    before, submits, ids = (recorded.column(name).tolist() for name in ("preceding", "submit", "job_id"))
    never, unnoticed, waits = (np.isnan(table.column(name)) for name in ("submit", "notice", "running_since"))
    own = table.column("job_id").tolist()
    preceding = np.full(len(table), None, np.object_)
    # A repeated number means the last job above with it; walking down the file, that is the one seen last.
    seen: dict[int, int] = {}
    for index, number in enumerate(before):
        if number is not None:
            place = seen.get(number)
            if place is None:
                remarks[_MISSING] += 1
            elif submits[place] > submits[index]:
                remarks[_LATER] += 1
            elif not unnoticed[index]:
                remarks[_NOTICED] += 1
            elif never[place]:
                remarks[_ABSENT] += 1
            elif not waits[index]:
                remarks[_RUNNING] += 1
            else:
                preceding[index] = own[place]
        seen[ids[index]] = index
    followed = np.array([number is not None for number in preceding])
    think = np.where(followed, np.rint(recorded.column("think_time") * SECOND) / SECOND, np.nan)
    return table.with_columns(preceding=preceding, think_time=think), dict(remarks)
