"""Walltimes of jobs with overheads: they move with the runtime, or stay the trace's and end the job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.assignment import Assignment, assign
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job import JobType

#: One hour of two, two hours of two, on 100 nodes; setup 10 % of a rigid job, no checkpoint within hours.
TRACE = Trace(tuple(TraceJob(number, 0.0, 100, 3600.0 * number, 7200.0, project="a") for number in (1, 2)), nodes=200)
ALL = {"rigid_setup": (0.1, 0.1), "malleable_setup": (0.1, 0.1), "overheads": "added"}
SHARES = {JobType.RIGID: (0.0, 1.0, 0.0), JobType.MALLEABLE: (0.0, 0.0, 1.0)}


@pytest.mark.parametrize("kind", SHARES)
def test_walltime_of_the_trace_ends_a_job_with_overheads(kind: JobType) -> None:
    """3600 + 360 s end before 7200 s, 7200 + 720 s do not."""
    times = {}
    for value in ("extended", "trace"):
        jobs = assign(TRACE, shares=SHARES[kind], walltimes=value, **ALL)
        times[value] = [(job.runtime, job.walltime, job.killed) for job in jobs]
        assert [(job.trace_runtime, job.trace_walltime) for job in jobs] == [(3600, 7200), (7200, 7200)]
    assert times["extended"] == [(3960, 7560, False), (7920, 7920, False)]
    assert times["trace"] == [(3960, 7200, False), (7200, 7200, True)]


def test_shorter_job_keeps_the_walltime_of_the_trace() -> None:
    """At twice Daly's interval fewer checkpoints are written; only the runtime falls."""
    trace = Trace((TraceJob(1, 0.0, 4392, 80_000.0, 86_400.0),), nodes=4392)
    how = Assignment(shares=SHARES[JobType.RIGID], checkpoint_factor=4.0, node_mtbf=365 * 86_400.0)
    for value in ("extended", "trace"):
        [job] = assign(trace, replace(how, walltimes=value))
        assert job.runtime < 80_000
        assert job.walltime == (86_400 if value == "trace" else 86_400 - 80_000 + job.runtime)


def test_baseline_does_not_kill_what_only_overheads_prolong() -> None:
    killed = TraceJob(3, 0.0, 100, 7200.0, 7200.0, killed=True)
    trace = replace(TRACE, jobs=(TraceJob(2, 0.0, 100, 7000.0, 7200.0), killed))
    jobs = assign(trace, shares=SHARES[JobType.RIGID], walltimes="trace", **ALL)
    for mechanism, seen in (("baseline", ["completed", "killed"]), ("N-PAA", ["killed", "killed"])):
        result = simulate(jobs, 200, mechanism)
        assert [record.status for record in result.records] == seen
        assert [entry.event for entry in result.entries if entry.after == 0 and entry.before] == [
            {"completed": "complete", "killed": "kill"}[status] for status in seen
        ]


def test_inside_the_runtime_nothing_is_to_be_decided() -> None:
    assert assign(TRACE, walltimes="trace") == assign(TRACE)


def test_wrong_value() -> None:
    with pytest.raises(ParameterError, match="walltimes must be extended or trace"):
        Assignment(walltimes="none")
