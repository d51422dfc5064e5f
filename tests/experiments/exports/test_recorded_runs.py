"""SWF of results without an event log: of the baseline from the records, of a machine from the nodes of each run."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast as hf
from holdfast.experiments.cli import main
from holdfast.experiments.exports import export_result
from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.swf import read_swf
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.outage import Outage, OutageKind
from tests.experiments.exports.test_exports import JOBS
from tests.support.jobs import rigid

SHARED = make_machine(nodes=[{"names": "n[1-2]", "cores": 4}])
WHOLE = make_machine(
    nodes=[{"names": "n[1-2]", "cores": 4}],
    partitions=[{"name": "all", "nodes": "ALL", "exclusive": True}],
    limits=[{"user": "eve", "together": {"running": 1}}],
)
#: Job 1 takes both nodes until one of them fails at 50; it runs again from 60 to 160, and job 2 would delay it.
FAILURE = Outage(OutageKind.FAILURE, 50, 60, nodes=1, on="n1", place=0.5)


def lines(path: Path) -> list[list[int]]:
    """Job, submit, wait, runtime, allocated, requested and status of each line."""
    cells = [line.split() for line in path.read_text().splitlines() if not line.startswith(";")]
    return [[int(row[place]) for place in (0, 1, 2, 3, 4, 7, 10)] for row in cells]


def replay(unit: str) -> Result:
    jobs = [rigid(1, 0, 2, 100, 120), rigid(2, 10, 1, 30, 30)]
    requests = [ResourceRequest(nodes=2, cores=3), ResourceRequest(cores=2)]
    machine = WHOLE if unit == "nodes" else SHARED
    return hf.simulate(jobs, machine=machine, requests=requests, outages=[FAILURE])


def test_the_baseline_needs_no_event_log(tmp_path: Path) -> None:
    for name, logged in (("with", True), ("without", False)):
        assert export_result(simulate(JOBS, 16, events=logged), tmp_path / f"{name}.swf") == "7 jobs"
    assert (tmp_path / "with.swf").read_bytes() == (tmp_path / "without.swf").read_bytes()


def test_a_mechanism_and_preempted_jobs_need_one(tmp_path: Path) -> None:
    failure = Outage(OutageKind.FAILURE, 1100, 1200, nodes=16, place=0.5)
    for result in (simulate(JOBS, 16, "CUP-SPAA", events=False), simulate(JOBS, 16, events=False, outages=[failure])):
        with pytest.raises(InputError, match="are only in an event log"):
            export_result(result, tmp_path / "out.swf")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("unit", "sizes"), [("nodes", (2, 1)), ("processors", (6, 2))])
def test_a_replay_on_a_machine_has_the_runs_of_its_allocations(
    unit: str, sizes: tuple[int, int], tmp_path: Path
) -> None:
    result = replay(unit)
    assert result.unit == unit
    first, second = sizes
    assert export_result(result, tmp_path / "out.swf") == "2 jobs"
    assert lines(tmp_path / "out.swf") == [
        [1, 0, 0, 150, first, first, 1],
        [2, 10, 150, 30, second, second, 1],
    ]
    assert export_result(result, tmp_path / "partial.swf", "swf partial=true") == "2 jobs in 4 lines"
    assert lines(tmp_path / "partial.swf")[1:3] == [[1, 0, 0, 50, first, first, 2], [1, -1, 10, 100, first, first, 3]]
    assert ("a processor is a node" in (tmp_path / "out.swf").read_text()) == (unit == "nodes")


def test_the_command_reads_the_nodes_from_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text('[[nodes]]\nnames = "n[1-2]"\ncores = 4\n')
    rows = ["id,submit,nodes,runtime,walltime,cores", "1,0,2,100,120,3", "2,10,1,30,30,2", "3,20,1,5,5,1"]
    Path("log.csv").write_text("\n".join(rows))
    columns = "id=id,submit=submit,nodes=nodes,runtime=runtime,walltime=walltime,cores=cores"
    run = ["run", "log.csv", "--columns"]
    assert main([*run, columns, "--machine", "machine.toml", "-o", "out"]) == 0
    assert main(["export", "out", "-o", "out.swf"]) == 0
    found = {job.job_id: (job.submit, job.wait, job.runtime, job.nodes) for job in read_swf("out.swf").jobs}
    assert found == {1: (0, 0, 100, 6), 2: (10, 90, 30, 2), 3: (20, 0, 5, 1)}
    assert main([*run, columns.removesuffix(",cores=cores"), "--nodes", "2", "-o", "pool"]) == 0
    assert main(["export", "pool", "-o", "pool.swf.gz"]) == 0
    found = {job.job_id: (job.submit, job.wait, job.runtime, job.nodes) for job in read_swf("pool.swf.gz").jobs}
    assert found == {1: (0, 0, 100, 2), 2: (10, 90, 30, 1), 3: (20, 80, 5, 1)}
