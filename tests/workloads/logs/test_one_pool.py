"""What a log has and one pool of equal nodes does not model: found, with its share of the work, or silence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.sweeps import read_sweep, run_sweep
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.one_pool import RESULT, caveats
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.swf import read_long_swf
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.logs.work_shares import has_gpus
from tests.shared_data import shared_file


def job(number: int, start: float, nodes: int, runtime: float = 100.0, partition: str = "") -> TraceJob:
    return TraceJob(number, start, nodes, runtime, 2 * runtime, wait=0.0, partition=partition)


def caveat_text(*jobs: TraceJob, nodes: int | None = 10, **others: object) -> str:
    return " / ".join(caveats(Trace(jobs, nodes=nodes, **others)))  # type: ignore[arg-type]


def test_one_pool_is_right_where_jobs_fit_it() -> None:
    assert caveat_text(job(1, 0, 6), job(2, 0, 4), job(3, 100, 10)) == ""
    assert caveat_text(job(1, 0, 6, partition="a"), job(2, 0, 4, partition="a")) == ""
    assert caveats(Trace(())) == ()


def test_partitions_and_the_share_of_their_work() -> None:
    # 300 of 1,000 node-seconds.
    found = caveat_text(job(1, 0, 7, partition="a"), job(2, 0, 2, partition="b"), job(3, 0, 1, partition="c"))
    assert "the log has 3 partitions (30 % of the work outside the largest; --where partition=NAME" in found
    assert "waits will be wrong" in found
    assert found.endswith(
        "run, info, forecast and sweep model this with --machine FILE, which 'holdfast machine' writes"
    )
    # A test queue of little work is no other machine.
    assert caveat_text(job(1, 0, 9, 10_000, "a"), job(2, 0, 1, 100, "b")) == ""


def test_jobs_that_share_nodes() -> None:
    # For half of the time 12 jobs of a node each are on 10 nodes, for the rest 10: 2 x 100 of 2,200 node-seconds.
    jobs = [job(n, 0, 1, 200) for n in range(10)] + [job(10 + n, 0, 1, 100) for n in range(2)]
    found = caveat_text(*jobs)
    assert "jobs occupied up to 12 of 10 nodes at once, so they share nodes (9.1 % of the work" in found
    assert "--unit processors" not in found
    assert "so they share nodes (9.1 % of the work is more than the nodes could hold; try --unit processors)" in (
        caveat_text(*jobs, format="swf")
    )
    assert caveat_text(*jobs, nodes=12) == ""
    assert caveat_text(*jobs, unit="processors") == ""
    # Without a recorded size the machine may also be larger than it was said to be.
    assert "or the machine is larger" in " ".join(caveats(Trace(tuple(jobs)), 10))
    assert caveats(Trace(tuple(jobs), header={"NodesNamed": "12"}), 10) == ()
    # A node of one processor is not shared.
    assert caveat_text(*jobs, header={"MaxProcs": "10", "MaxNodes": "10"}) == ""


@pytest.mark.parametrize(
    ("head", "line"),
    [
        (
            "JobID|Submit|Start|End|State|NNodes|NCPUS",
            "{}|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T01:00:00|COMPLETED|1|8",
        ),
        ("id,submit,start,end,nodes,processors", "{},0,0,3600,1,8"),
        (
            "JOB_ID,QUEUED_TIMESTAMP,START_TIMESTAMP,RUNTIME_SECONDS,WALLTIME_SECONDS,NODES_REQUESTED,CORES_REQUESTED",
            "{},2022-01-01 00:00:00,2022-01-01 00:00:00,3600,7200,1,8",
        ),
    ],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_processors_are_advised_where_the_log_records_them(
    tmp_path: Path, head: str, line: str, recorded: bool
) -> None:
    path, mark = tmp_path / "log", "|" if "|" in head else ","
    lines = [head, *(line.format(number) for number in range(1, 13))]
    path.write_text("".join(f"{text if recorded else text.rpartition(mark)[0]}\n" for text in lines))
    columns = "id=id,submit=submit,start=start,end=end,nodes=nodes" if head.startswith("id,") else None
    if columns and recorded:
        columns += ",processors=processors"
    found = " ".join(caveats(read_trace(path, columns=columns), 10))
    assert "occupied up to 12 of 10 nodes at once" in found
    assert ("; try --unit processors" in found) is recorded
    if recorded:
        assert read_trace(path, columns=columns, unit="processors").jobs[0].nodes == 8
    else:
        with pytest.raises(InputError):
            read_trace(path, columns=columns, unit="processors")


def test_short_overlaps_are_errors_of_a_log() -> None:
    assert caveat_text(job(1, 0, 10, 1000), job(2, 995, 10, 1000)) == ""


def test_requests_that_are_not_recorded() -> None:
    line = "{} {} 0 60 2 -1 -1 2 {} -1 1 1 1 -1 -1 -1 -1 -1\n"
    some = parse("".join(line.format(n, 10 * n, -1 if n % 2 else 90) for n in range(1, 5)))
    assert "50 % of the jobs have no requested walltime" in " ".join(caveats(some))
    assert caveats(parse("".join(line.format(n, 10 * n, 90) for n in range(1, 5)))) == ()


def parse(text: str) -> Trace:
    from holdfast.workloads.logs.swf import parse_swf

    return parse_swf(f"; MaxNodes: 8\n; MaxProcs: 8\n{text}", "log")


def test_a_header_may_say_anything() -> None:
    line = "1 0 0 60 2 -1 -1 2 90 -1 1 1 1 -1 -1 -1 -1 -1\n"
    header = "; NodesNamed: abc\n; GpuShare: x\n; QosShare: a b\n; MemoryShare: nan\n"
    assert caveats(parse(header + line)) == ()
    assert caveats(replace(parse(header + line), nodes=None)) == ()


def test_memory_in_swf() -> None:
    line = "{} 0 0 60 2 -1 -1 2 90 {} 1 1 1 -1 -1 -1 -1 -1\n"
    (found,) = caveats(parse(line.format(1, 4096) + line.format(2, -1) + line.format(3, 0) + line.format(4, "1.5e3")))
    assert "50 % of the work has memory requests, which are not modelled" in found


SACCT = "JobIDRaw|User|Partition|QOS|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|AllocTRES\n"


def test_gpus_and_qos_of_sacct(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    row = "{}|u|p|{}|COMPLETED|1700000000|1700000000|1700000100|100|5|1|billing=1,cpu=4,{}node=1\n"
    path.write_text(
        SACCT
        + row.format(1, "normal", "")
        + row.format(2, "normal", "gres/gpu=2,")
        + row.format(3, "normal", "")
        + row.format(4, "high", "")
    )
    (found,) = caveats(read_trace(path), 4)
    assert "25 % of the work has GPUs" in found
    assert "the log has 2 QOS (25 % of the work outside the largest)" in found


def test_gpus_of_sacct_in_json(tmp_path: Path) -> None:
    path = tmp_path / "sacct.json"
    gres = {"type": "gres", "name": "gpu:a100", "id": 1001, "count": 2}
    jobs = [
        {
            "job_id": n,
            "state": {"current": "COMPLETED"},
            "time": {
                **dict.fromkeys(("submission", "start"), 1_700_000_000),
                **{"end": 1_700_000_100, "elapsed": 100, "limit": 5},
            },
            "tres": {"allocated": [{"type": "node", "count": 1}, *([gres] if n == 1 else [])]},
            "user": "u",
            "partition": "p",
        }
        for n in (1, 2)
    ]
    path.write_text(json.dumps({"jobs": jobs}))
    assert "50 % of the work has GPUs" in caveats(read_trace(path), 2)[0]


def test_gpus_by_any_name() -> None:
    assert [has_gpus(text) for text in ("gres/gpu:a100=4", "gpu:2", "7696487:0", "gres/gpu=0", "", "cpu=2,mem=3G")] == [
        *(True, True, False, False, False, False)
    ]


def site(tmp_path: Path) -> Path:
    """A log of two partitions."""
    path = tmp_path / "site.swf"
    lines = (f"{n} {100 * n} 5 150 4 -1 -1 4 900 -1 1 {n % 3} 1 -1 1 {1 + n % 2} -1 -1\n" for n in range(1, 41))
    path.write_text("; MaxNodes: 8\n; MaxProcs: 8\n" + "".join(lines))
    return path


@pytest.mark.parametrize(
    "line",
    [
        "info {}",
        "run {} -o out --mechanism baseline",
        "run {} -o out --stream",
        "forecast {} --at 30m --draws 1 --workers 1 --least 1 --arrivals none --nodes 1 --walltime 10m",
        "advise {} --at 30m --draws 1 --workers 1 --least 1 --arrivals none --nodes 1 --walltime 10m",
    ],
)
def test_each_command_prints_one_line(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = site(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(line.format(path).split()) == 0
    command, err = line.split()[0], capsys.readouterr().err
    assert f"holdfast {command}: warning: one pool of equal nodes is simulated" in err
    # What forecasts read ends at the time of the state, and with it the work of these jobs.
    share = 49 if "--at" in line else 50
    assert err.count(f"2 partitions ({share} % of the work outside the largest") == 1
    chosen = f"{line.format(path)} --where partition=1 {'--machine' if '--at' in line else '--nodes'} 8"
    assert cli.main(chosen.replace("-o out", "-o chosen").split()) == 0
    assert "one pool" not in capsys.readouterr().err


@pytest.mark.system
def test_a_sweep_tells_it_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        f'mechanisms = "baseline"\n[workload]\ntraces = "{site(tmp_path)}"\n[options]\norder = ["fcfs", "sjf"]\n'
    )
    result = run_sweep(read_sweep(path), tmp_path / "out", workers=1)
    assert len(result.summary) == 2
    assert len(result.caveats) == 1
    assert "2 partitions" in result.caveats[0]


def test_the_answer_of_a_forecast_carries_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = site(tmp_path)
    monkeypatch.chdir(tmp_path)
    common = "--at 30m --draws 1 --workers 1 --least 1 --arrivals none --nodes 1 --walltime 10m --json answer.json"
    for command in ("forecast", "advise"):
        assert cli.main(f"{command} {path} {common}".split()) == 0
        assert "2 partitions" in json.loads(Path("answer.json").read_text())["warnings"][0]


def test_columns_of_a_long_log_tell_the_same(tmp_path: Path) -> None:
    path = site(tmp_path)
    assert caveats(read_long_swf(path)) == caveats(read_trace(path)) != ()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("theta_2022.swf.gz", ()),
        ("theta_2018_sample_projects.swf.gz", ()),
        ("KTH-SP2-1996-2.1-cln.swf.gz", ()),
        ("wagap-2013.swf.gz", ("100 % of the work has memory requests",)),
        (
            "METACENTRUM-2009-2.swf.gz",
            ("14 partitions (79 % of the work", "100 % of the jobs have no requested walltime"),
        ),
    ],
)
@pytest.mark.system
def test_real_logs(name: str, parts: tuple[str, ...]) -> None:
    found = " / ".join(caveats(read_trace(shared_file("traces", name))))
    assert all(part in found for part in parts)
    assert bool(found) is bool(parts)


def test_a_machine_that_is_only_imagined_is_not_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log records 8 nodes; how 4 would do is a question, and no sign of shared nodes."""
    path = site(tmp_path)
    trace = replace(read_trace(path, where="partition=1"), nodes=8)
    assert caveats(trace, 4) == ()


def test_a_state_that_does_not_fit_is_explained_before_jobs_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sacct.txt"
    row = "{}|u|p|normal|COMPLETED|{}|{}|{}|1000|50|1|\n"
    starts = [1_700_000_000 + n for n in range(0, 700, 100)]
    path.write_text(SACCT + "".join(row.format(n, n, n, n + 1000) for n in starts))
    words = f"forecast {path} --at 500 --machine 4 --draws 1 --workers 1 --runtimes walltime --nodes 1 --walltime 10m"
    assert cli.main(words.split()) == 0
    first, last, _ = capsys.readouterr().err.splitlines()
    assert "jobs occupied up to 6 of 4 nodes at once" in first
    assert "2 jobs are left out, because the jobs of this time need more than the 4 nodes" in last


def test_a_schedule_with_preempted_jobs_is_not_a_log_of_shared_nodes() -> None:
    """Two jobs of all nodes, of which one was preempted by the other: both count from first start to end."""
    jobs = tuple(TraceJob(n, 100.0 * n, 8, 1000.0, 1000.0, wait=0.0) for n in (1, 2))
    (sentence,) = caveats(Trace(jobs, nodes=8, format=RESULT))
    assert sentence.startswith("jobs that were preempted or shrunk count as running on all their nodes")
    assert sentence.endswith(
        "they occupied up to 16 of 8 nodes at once (45 % of the work is more than the nodes could hold)"
    )
    assert "share nodes" in caveats(Trace(jobs, nodes=8))[0]
    assert caveats(Trace(jobs[:1], nodes=8, format=RESULT)) == ()


def test_queues_of_swf(tmp_path: Path) -> None:
    """Field 15; -1 is no queue. Three quarters of the known work are in queue 3."""
    line = "{} 0 0 100 1 -1 -1 1 200 -1 1 1 1 -1 {} -1 -1 -1\n"
    path = tmp_path / "log.swf"
    path.write_text("; MaxProcs: 4\n" + "".join(line.format(n, queue) for n, queue in enumerate((3, 3, 3, 4), 1)))
    assert "the log has 2 queues (25 % of the work outside the largest)" in caveats(read_trace(path))[0]
    assert caveats(read_long_swf(path)) == caveats(read_trace(path))
    assert caveats(read_trace(path, where="queue=3")) == ()
    path.write_text("; MaxProcs: 4\n" + "".join(line.format(n, queue) for n, queue in enumerate((3, 3, -1), 1)))
    assert caveats(read_trace(path)) == ()


def test_queues_and_requests_of_alea(tmp_path: Path) -> None:
    line = "{} 0 0 100 1 -1 -1 1 200 -1 1 1 1 -1 -1 -1 7 9 {{12}} {} {}\n"
    jobs = ("q_1d", "1:ppn=1"), ("q_1d", "1:ppn=1:cl_zewura"), ("q_1d", "1:ppn=1#excl"), ("q_2h", "1:ppn=1")
    path = tmp_path / "alea.swf"
    path.write_text("; MaxProcs: 4\n" + "".join(line.format(n, *job) for n, job in enumerate(jobs, 1)))
    (found,) = caveats(read_trace(path))
    assert "50 % of the work has requests for properties of nodes" in found
    assert "the log has 2 queues (25 % of the work outside the largest)" in found
    assert [job.job_id for job in read_trace(path, where="queue=q_2h").jobs] == [4]


@pytest.mark.parametrize("given", ["", ",gpus=cards"])
def test_gpus_of_named_columns(tmp_path: Path, given: str) -> None:
    path = tmp_path / "log.csv"
    name = "cards" if given else "num_gpus"
    path.write_text(f"t,n,r,{name}\n" + "0,1,100,2\n0,1,100,0\n0,1,100,\n0,1,100,gpu:0\n")
    columns = f"submit=t,nodes=n,runtime=r{given}"
    assert "25 % of the work has GPUs" in caveats(read_trace(path, columns=columns))[0]
