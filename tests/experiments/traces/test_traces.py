"""Real traces: every start time of the baseline equals the plain reference of the EASY rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.simulator import simulate
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import Trace
from tests.places import ROOT
from tests.reference.easy import replay_easy
from tests.shared_data import trace_file

TRACES = {
    # name: (nodes where the header is not the machine, jobs that the machine can run)
    "theta_2022": (4392, 23_911),
    "KTH-SP2-1996-2.1-cln": (None, 27_992),
    "SDSC-BLUE-2000-4.2-cln": (None, 232_536),
}


def trace_of(name: str, nodes: int | None) -> Trace:
    trace = read_trace(trace_file(f"{name}.swf.gz"))
    size = nodes or trace.nodes
    assert size is not None
    return trace.on_machine(size)


#: The longest log takes the plain reference a while.
LONG = "SDSC-BLUE-2000-4.2-cln"


@pytest.mark.system
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == LONG else ()) for name in TRACES]
)
def test_every_start_equals_the_plain_reference(name: str) -> None:
    nodes, count = TRACES[name]
    trace = trace_of(name, nodes)
    assert len(trace.jobs) == count
    jobs = as_rigid(trace)
    result = simulate(jobs, trace.nodes or 0, events=False)
    expected = replay_easy(
        [job.submit for job in trace.jobs],
        [job.nodes for job in trace.jobs],
        [job.walltime for job in trace.jobs],
        [job.runtime for job in trace.jobs],
        trace.nodes or 0,
    )
    late = [
        (record.job_id, record.start, start)
        for record, start in zip(result.records, expected, strict=True)
        if record.start != round(start * 1e6)
    ]
    assert not late


@pytest.mark.system
@pytest.mark.parametrize("jobs", [6000, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("length", "passes"), [("runtime", "instant"), ("walltime", "event"), ("runtime", "event")])
def test_named_deviations_of_other_simulators(length: str, passes: str, jobs: int | None) -> None:
    """On the first jobs of the log; on all of them on demand."""
    trace = trace_of("KTH-SP2-1996-2.1-cln", None)
    trace = replace(trace, jobs=trace.jobs[:jobs])
    result = simulate(as_rigid(trace), 100, events=False, backfill_length=length, passes=passes)
    expected = replay_easy(
        [job.submit for job in trace.jobs],
        [job.nodes for job in trace.jobs],
        [job.walltime for job in trace.jobs],
        [job.runtime for job in trace.jobs],
        100,
        backfill_length=length,
        passes=passes,
    )
    assert [record.start for record in result.records] == [round(start * 1e6) for start in expected]


def test_shared_helper_points_outside_the_project() -> None:
    """The traces are never part of the project."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name != "out" and path.name[0] != "."]
    assert not [path for folder in folders for suffix in ("swf", "swf.gz") for path in folder.rglob(f"*.{suffix}")]
    assert not list(ROOT.glob("*.swf*"))
