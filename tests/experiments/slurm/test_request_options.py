"""Requests as options of sbatch, and as columns of a replay's table."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.slurm.request_options import request_columns, request_of_columns, sbatch_options
from holdfast.workloads.machines.fitted_requests import NodeTable, UnfitError
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from tests.experiments.slurm.machine_tables import random_request

MACHINE = make_machine(
    nodes=[
        {"names": "n[1-4]", "cores": 8, "memory": "64000M", "features": ["cpu"]},
        {"names": "g[1-2]", "cores": 16, "memory": "96000M", "gpus": {"a100": 4}, "features": ["gpu"]},
    ],
    partitions=[{"name": "work", "nodes": "ALL", "default": True}, {"name": "fast", "nodes": "g[1-2]", "priority": 5}],
)


@pytest.mark.parametrize(
    ("request_", "options"),
    [
        (ResourceRequest(), "--nodes=1 --ntasks-per-node=1"),
        (
            ResourceRequest(nodes=3, cores=2, exclusive=True),
            "--nodes=3 --ntasks-per-node=1 --cpus-per-task=2 --exclusive",
        ),
        (ResourceRequest(nodes=2, tasks_per_node=4), "--nodes=2 --ntasks-per-node=4"),
        (ResourceRequest(nodes=2, tasks=5), "--ntasks=5 --ntasks-per-node=3"),
        (ResourceRequest(tasks=6, memory=2800, memory_per_core=True), "--ntasks=6 --mem-per-cpu=2800M"),
        (
            ResourceRequest(tasks=4, tasks_per_node=4, memory=9000, features="a&b", partitions=("x", "y")),
            "--ntasks=4 --ntasks-per-node=4 --mem=9000M --constraint=a&b --partition=x,y",
        ),
        (
            ResourceRequest(nodes=1, gpus={"gpu": 2, "v100": 1}),
            "--nodes=1 --ntasks-per-node=1 --gres=gpu:2,gpu:v100:1",
        ),
    ],
)
def test_options_of_sbatch(request_: ResourceRequest, options: str) -> None:
    assert sbatch_options(request_) == options.split()


@pytest.mark.parametrize("seed", range(40))
def test_columns_keep_what_a_job_needs(seed: int) -> None:
    """A job with nodes alone comes back as one with a task on each; what it needs of the machine is the same."""
    random = np.random.default_rng(seed)
    request = random_request(MACHINE, random)
    if random.random() < 0.3:
        request = ResourceRequest(nodes=int(random.integers(1, 4)), cores=4, memory=3000, partitions=("fast",))
    read = request_of_columns(request_columns(request))
    table = NodeTable.for_requests(MACHINE, [request])

    def needs(asked: ResourceRequest) -> Any:
        try:
            return table.needs(asked, 60.0)
        except UnfitError as error:
            return str(error)

    assert needs(read) == needs(request)
    assert request_of_columns(request_columns(read)) == read


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"tasks": 0}, "tasks must be a whole number of at least 1, not 0"),
        ({"tasks": 2, "cores": 1.5}, "cores must be a whole number of at least 0, not 1.5"),
        ({"tasks": 2, "memory_mb": 5, "memory_per_core_mb": 5}, "memory_mb or memory_per_core_mb, not both"),
    ],
)
def test_rows_that_are_no_requests_are_refused(row: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        request_of_columns(row)
