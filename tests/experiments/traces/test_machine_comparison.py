"""A log beside a replay on its machine, by hand."""

from __future__ import annotations

from collections import Counter

import holdfast as hf
from holdfast.experiments.traces.machine_comparison import MachineComparison
from holdfast.simulator import simulate
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.fitted_trace import fit_log_to_machine
from holdfast.workloads.requests.log_requests import LogRequests, RecordedJob

_MACHINE = hf.make_machine(
    nodes=[{"names": "n[1-2]", "cores": 4}, {"names": "g1", "cores": 4, "gpus": 2}],
    partitions=[{"name": "a", "nodes": "n[1-2]"}, {"name": "g", "nodes": "g1", "exclusive": True}],
)


def job(number: int, submit: float, start: float, request: ResourceRequest) -> RecordedJob:
    return RecordedJob(number, submit, 3600.0, 3600.0, start, "u", request)


def compare(*jobs: RecordedJob, simulated: bool = True, machine: hf.Machine = _MACHINE) -> MachineComparison:
    trace, workload = fit_log_to_machine(LogRequests(jobs, Counter(), "log", Counter()), machine)
    result = simulate(as_rigid(trace), trace.nodes or 0, events=False, on_machine=workload) if simulated else None
    return MachineComparison(trace, workload, result)


def test_waits_use_and_causes_of_two_partitions() -> None:
    found = compare(
        job(1, 0, 0, ResourceRequest(cores=4, partitions=("a",))),
        job(2, 0, 7200, ResourceRequest(cores=3, partitions=("a",), qos="q")),
        job(3, 0, 0, ResourceRequest(cores=1, gpus={"gpu": 1}, partitions=("g",), qos="r")),
        job(4, 0, 3600, ResourceRequest(cores=1, gpus={"gpu": 1}, partitions=("g",))),
    )
    rows = found.partitions
    assert [(row["partition"], row["jobs"], row["recorded"], row["simulated"]) for row in rows] == [
        ("a", 2, 3600.0, 0.0),
        ("g", 2, 1800.0, 1800.0),
    ]
    # Whole nodes count all of their cores and GPUs.
    assert [(row["cores"], row["most_cores"], row["gpus"], row["most_gpus"]) for row in rows] == [
        (4, 8, None, None),
        (4, 4, 2, 2),
    ]
    assert [(row["resource"], row["peak"], row["capacity"]) for row in found.peaks] == [
        ("cores", 8, 12),
        ("gpus", 2, 2),
    ]
    assert found.causes == [
        "a: jobs waited longer than here, and 100 % of the waiting is of jobs that start at once here: limits, "
        "priorities, holds or drained nodes, which neither log nor file name",
        "the log has 2 QOS, and the machine has no limits: add those of QOS, accounts and users as [[limits]]",
    ]
    assert "difference: a: jobs waited longer than here" in str(found)


def test_the_offered_load_of_each_resource() -> None:
    # Two hours between the submits; each job has the 4 cores and 2 GPUs of a whole node for an hour, of 12 and 2.
    request = ResourceRequest(cores=1, gpus={"gpu": 1}, partitions=("g",))
    found = compare(job(1, 0, 0, request), job(2, 7200, 7200, request))
    assert {row["resource"]: row["load"] for row in found.peaks} == {"cores": 1 / 3, "gpus": 1.0}
    assert "33.3" in str(found)


def test_a_machine_that_is_too_small_is_named() -> None:
    request = ResourceRequest(cores=4, partitions=("a",))
    causes = compare(*(job(number, 0, 0, request) for number in range(4))).causes
    assert causes[0].startswith(
        "jobs held up to 16 cores at once, and the machine has 12: nodes are missing in its file"
    )
    assert causes[-1].startswith("where simulated waits are longer, jobs may have got less than they asked for")


def test_without_a_simulation_there_are_no_simulated_waits() -> None:
    found = compare(job(1, 0, 60, ResourceRequest(cores=4, partitions=("a",))), simulated=False)
    (row,) = found.partitions
    assert (row["recorded"], row["simulated"]) == (60.0, None)
    assert found.causes == []


def test_use_is_not_known_where_no_start_is_recorded() -> None:
    found = compare(
        job(1, 0, 0, ResourceRequest(cores=4, partitions=("a",)))._replace(start=None),
        job(2, 0, 0, ResourceRequest(cores=1, gpus={"gpu": 1}, partitions=("g",))),
    )
    assert [(row["partition"], row["cores"], row["most_cores"]) for row in found.partitions] == [
        ("a", None, 8),
        ("g", 4, 4),
    ]


def test_jobs_that_never_start_have_no_simulated_wait() -> None:
    """``pack`` takes x1 for its weight, which has more cores than the user may have; then job 1 is there."""
    machine = hf.make_machine(
        nodes=[{"names": "x1", "cores": 8, "weight": 1}, {"names": "y1", "cores": 2, "weight": 9}],
        partitions=[{"name": "a", "nodes": "ALL", "exclusive": True}],
        limits=[{"user": "u", "together": {"cores": 6}}],
    )
    request = ResourceRequest(partitions=("a",))
    first = job(1, 0, 0, request)._replace(user="v")
    found = compare(first, job(2, 10, 100, request), job(3, 9000, 9600, request), machine=machine)
    assert [(row["jobs"], row["recorded"], row["simulated"]) for row in found.partitions] == [(3, 230.0, 0.0)]
    found = compare(job(3, 9000, 9600, request), machine=machine)
    assert [(row["jobs"], row["recorded"], row["simulated"]) for row in found.partitions] == [(1, 600.0, None)]
    assert "600" not in str(found)
    assert "10.0" in str(found)
