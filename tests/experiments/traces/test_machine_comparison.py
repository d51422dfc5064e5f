"""A log beside a replay on its machine, by hand."""

from __future__ import annotations

from collections import Counter

import holdfast as hf
from holdfast.experiments.traces.machine_comparison import (
    comparison_text,
    difference_causes,
    partition_waits,
    resource_peaks,
)
from holdfast.simulator import Result, simulate
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.fitted_trace import fit_log_to_machine
from holdfast.workloads.requests.log_requests import LogRequests, RecordedJob

_MACHINE = hf.make_machine(
    nodes=[{"names": "n[1-2]", "cores": 4}, {"names": "g1", "cores": 4, "gpus": 2}],
    partitions=[{"name": "a", "nodes": "n[1-2]"}, {"name": "g", "nodes": "g1", "exclusive": True}],
)


def job(number: int, submit: float, start: float, request: ResourceRequest) -> RecordedJob:
    return RecordedJob(number, submit, 3600.0, 3600.0, start, "u", request)


def simulate_log(*jobs: RecordedJob) -> tuple[Trace, MachineWorkload, Result]:
    trace, workload = fit_log_to_machine(LogRequests(jobs, Counter(), "log", Counter()), _MACHINE)
    return trace, workload, simulate(as_rigid(trace), trace.nodes or 0, events=False, on_machine=workload)


def test_waits_use_and_causes_of_two_partitions() -> None:
    trace, workload, result = simulate_log(
        job(1, 0, 0, ResourceRequest(cores=4, partitions=("a",))),
        job(2, 0, 7200, ResourceRequest(cores=3, partitions=("a",), qos="q")),
        job(3, 0, 0, ResourceRequest(cores=1, gpus={"gpu": 1}, partitions=("g",), qos="r")),
        job(4, 0, 3600, ResourceRequest(cores=1, gpus={"gpu": 1}, partitions=("g",))),
    )
    rows = partition_waits(trace, workload, result)
    assert [(row["partition"], row["jobs"], row["recorded"], row["simulated"]) for row in rows] == [
        ("a", 2, 3600.0, 0.0),
        ("g", 2, 1800.0, 1800.0),
    ]
    # Whole nodes count all of their cores and GPUs.
    assert [(row["cores"], row["most_cores"], row["gpus"], row["most_gpus"]) for row in rows] == [
        (4, 8, None, None),
        (4, 4, 2, 2),
    ]
    peaks = resource_peaks(trace, workload)
    assert [(row["resource"], row["peak"], row["capacity"]) for row in peaks] == [("cores", 8, 12), ("gpus", 2, 2)]
    causes = difference_causes(trace, workload, result, rows)
    assert causes == [
        "a: jobs waited longer than here, and 100 % of the waiting is of jobs that start at once here: limits, "
        "priorities, holds or drained nodes, which neither log nor file name",
        "the log has 2 QOS, and the machine has no limits: add those of QOS, accounts and users as [[limits]]",
    ]
    assert "difference: a: jobs waited longer than here" in comparison_text(trace, workload, result)


def test_a_machine_that_is_too_small_is_named() -> None:
    request = ResourceRequest(cores=4, partitions=("a",))
    found = simulate_log(*(job(number, 0, 0, request) for number in range(4)))
    causes = difference_causes(*found, partition_waits(*found))
    assert causes[0].startswith(
        "jobs held up to 16 cores at once, and the machine has 12: nodes are missing in its file"
    )
    assert causes[-1].startswith("where simulated waits are longer, jobs may have got less than they asked for")


def test_without_a_simulation_there_are_no_simulated_waits() -> None:
    trace, workload, _ = simulate_log(job(1, 0, 60, ResourceRequest(cores=4, partitions=("a",))))
    (row,) = partition_waits(trace, workload, None)
    assert (row["recorded"], row["simulated"]) == (60.0, None)
    assert difference_causes(trace, workload, None, [row]) == []


def test_use_is_not_known_where_no_start_is_recorded() -> None:
    trace, workload, result = simulate_log(
        job(1, 0, 0, ResourceRequest(cores=4, partitions=("a",)))._replace(start=None),
        job(2, 0, 0, ResourceRequest(cores=1, gpus={"gpu": 1}, partitions=("g",))),
    )
    rows = partition_waits(trace, workload, result)
    assert [(row["partition"], row["cores"], row["most_cores"]) for row in rows] == [("a", None, 8), ("g", 4, 4)]
