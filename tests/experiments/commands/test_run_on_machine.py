"""``holdfast run --machine``: from a slurm.conf and a log to waits by partition, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.experiments import cli
from holdfast.experiments.tables import read_csv

_CONF = (
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
    "NodeName=n[1-2] CPUs=4 RealMemory=8192\nNodeName=g1 CPUs=8 RealMemory=16384 Gres=gpu:2\n"
    "PartitionName=cpu Nodes=n[1-2] Default=YES\nPartitionName=gpu Nodes=g1\n"
)
#: Job, submit, runtime, state, partition, QOS, resources; jobs 1 and 2 share n1, and job 3 waits for the end of job 1.
_LOG = (
    "JobID|Submit|Start|End|State|Timelimit|User|Account|Partition|QOS|NNodes|ReqTRES\n"
    "1|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:10:00|COMPLETED|00:20:00|u|a|cpu|normal|1|cpu=3,mem=2G,node=1\n"
    "2|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:30:00|COMPLETED|00:30:00|u|a|cpu|high|2|cpu=2,mem=2G,node=2\n"
    "3|2026-01-01T00:00:00|2026-01-01T00:30:00|2026-01-01T00:40:00|COMPLETED|00:20:00|v|b|cpu|normal|2|cpu=6,mem=2G,node=2\n"
    "4|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:10:00|COMPLETED|00:20:00|v|b|gpu|normal|1|"
    "cpu=1,mem=1G,node=1,gres/gpu=2\n"
    "5|2026-01-01T00:01:00|2026-01-01T00:10:00|2026-01-01T00:20:00|COMPLETED|00:20:00|v|b|gpu|high|1|"
    "cpu=1,mem=1G,node=1,gres/gpu=1\n"
    "6|2026-01-01T00:01:00|2026-01-01T00:10:00|2026-01-01T00:20:00|COMPLETED|00:20:00|v|b|cpu|high|1|"
    "cpu=1,mem=9G,node=1\n"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("slurm.conf").write_text(_CONF)
    Path("log.txt").write_text(_LOG)
    assert cli.main(["machine", "slurm.conf", "-o", "machine.toml"]) == 0
    return tmp_path


def test_a_log_and_a_slurm_conf_give_waits_by_partition(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.main(["run", "log.txt", "--machine", "machine.toml", "-o", "out"]) == 0
    printed = capsys.readouterr().out
    assert "5 jobs on 16 processors; left out: 1 (1 more memory than a node of its partition has)" in printed
    assert (
        """\
                 ---- wait ---  --- used --
partition  jobs  mean  longest  cores  GPUs
                  min      min      %     %
---------  ----  ----  -------  -----  ----
cpu           3   3.3     10.0   62.5     -
gpu           2   4.5      9.0    8.3  50.0
"""
        in printed
    )
    assert "memory    32 GiB    12.5       0.0  87.5" in printed
    starts = {row["job_id"]: (row["start"], row["nodes"]) for row in read_csv("out/jobs-baseline.csv")}
    began = min(start for start, _ in starts.values())
    assert {job: (start - began, nodes) for job, (start, nodes) in starts.items()} == {
        1: (0, 3), 2: (0, 2), 3: (600, 6), 4: (0, 1), 5: (600, 1),
    }  # fmt: skip
    nodes = {row["job_id"]: (row["partition"], row["nodes"]) for row in read_csv("out/allocations-baseline.csv")}
    assert nodes[2] == ("cpu", "n[1-2]")
    assert nodes[4] == ("gpu", "g1")
    assert hf.read_machine("out/machine.toml") == hf.read_machine("machine.toml")
    manifest = json.loads(Path("out/run.json").read_text())
    assert (manifest["nodes"], manifest["unit"], manifest["machine"]["placement"]) == (16, "processors", "pack")


def test_info_counts_the_jobs_that_a_limit_never_lets_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``pack`` takes x1 for its weight, on which user a may not run, unless another job is there."""
    monkeypatch.chdir(tmp_path)
    nodes = '[[nodes]]\nnames = "x1"\ncores = 8\nweight = 1\n[[nodes]]\nnames = "y1"\ncores = 2\nweight = 9\n'
    Path("machine.toml").write_text(
        f'{nodes}[[partitions]]\nname = "all"\nnodes = "ALL"\nexclusive = true\n'
        '[[limits]]\nuser = "a"\ntogether = {cores = 6}\n'
    )
    words = ["--columns", "id=id,submit=submit,start=start,nodes=nodes,runtime=runtime,walltime=walltime,user=user"]
    words += ["--machine", "machine.toml"]
    heading, jobs = (
        "id,submit,start,nodes,runtime,walltime,user",
        ["1,0,10,1,60,60,b", "2,0,0,1,60,60,a", "3,90,90,1,6,6,a"],
    )
    for rows, waits, count in ((jobs, "mean 0.00 h", 1), (jobs[2:], "no job starts", 1), (jobs[:2], "mean 0.00 h", 0)):
        Path("log.csv").write_text("\n".join([heading, *rows]))
        capsys.readouterr()
        assert cli.main(["info", "log.csv", *words]) == 0
        captured = capsys.readouterr()
        assert f"wait, FCFS/EASY    {waits}" in captured.out
        assert f"{count:,} job never starts: a limit never allows the nodes" in captured.err or not count
        assert "machine            2 nodes in 1 partition\n" in captured.out
        assert cli.main(["info", "log.csv", *words, "--json", "-"]) == 0
        waiting = json.loads(capsys.readouterr().out)["wait_h"]
        assert waiting["recorded"]["jobs"] == len(rows)
        assert (0 if waiting["simulated"] is None else waiting["simulated"]["jobs"]) == len(rows) - count


@pytest.mark.parametrize(("users", "count"), [("abaa", 2), ("aaaa", 4)])
def test_jobs_that_a_limit_never_lets_start_are_counted(
    users: str, count: int, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``spread`` takes x1 first, which has more cores than user a may have; the table of partitions may be empty."""
    Path("limits.toml").write_text(
        '[[nodes]]\nnames = "x1"\ncores = 8\n[[nodes]]\nnames = "y[1-2]"\ncores = 2\n'
        '[[partitions]]\nname = "all"\nnodes = "ALL"\nexclusive = true\n'
        '[[limits]]\nuser = "a"\ntogether = {cores = 6}\n'
    )
    rows = [f"{number},{number},{number % 2 + 1},60,60,{user}" for number, user in enumerate(users)]
    Path("jobs.csv").write_text("\n".join(["id,submit,nodes,runtime,walltime,user", *rows]))
    columns = "id=id,submit=submit,nodes=nodes,runtime=runtime,walltime=walltime,user=user"
    run = ["run", "jobs.csv", "--columns", columns, "--machine", "limits.toml", "--placement", "spread", "-o", "out"]
    capsys.readouterr()
    assert cli.main(run) == 0
    captured = capsys.readouterr()
    warning = f"baseline: {count} jobs never start: a limit never allows the nodes that the placement chooses"
    assert captured.err == f"holdfast run: warning: {warning}\n"
    assert "\n\n\n" not in captured.out
    assert [row["status"] for row in read_csv("out/jobs-baseline.csv")].count("no_show") == count


def test_the_result_is_read_as_any_other(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "log.txt", "--machine", "machine.toml", "--placement", "pack,spread", "-o", "out"]
    assert cli.main(words) == 0
    assert "spread  cpu           3" in capsys.readouterr().out
    assert cli.main(["verify", "out"]) == 0
    assert cli.main(["compare", "out", "--by", "partition"]) == 0
    printed = capsys.readouterr().out
    assert "cpu" in printed
    assert "gpu" in printed
    result = hf.read_result("out", "spread", events=False)
    assert (result.nodes, result.unit, len(result.records)) == (16, "processors", 5)


def test_conditions_and_estimates_are_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["machine", "log.txt", "-o", "estimate.toml"]) == 0
    words = ["run", "log.txt", "--machine", "estimate.toml", "--where", "qos=normal", "-o", "out"]
    assert cli.main(words) == 0
    warned = capsys.readouterr().err
    assert "the machine is an estimate (log.txt): nodes that its jobs never used are missing" in warned
    assert "only jobs with qos=normal are simulated: the other jobs of the machine are missing" in warned
    assert [row["job_id"] for row in read_csv("out/jobs-baseline.csv")] == [1, 3, 4]


def test_python_reads_the_same_requests(place: Path) -> None:
    result = hf.simulate(hf.read_requests("log.txt"), machine=hf.read_machine("machine.toml"))
    assert len(result.records) == 5
    assert result.jobs["wait"].max() == 600


def test_info_sets_recorded_beside_simulated_waits(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.main(["info", "log.txt", "--machine", "machine.toml"]) == 0
    printed = capsys.readouterr().out
    assert "machine            16 processors of 3 nodes in 2 partitions" in printed
    assert "cpu           3      10.0        3.3       6      8       -      -" in printed
    assert "gpu           2       4.5        4.5       1      8       2      2" in printed
    assert "difference: 1 job is left out" in printed
    assert cli.main(["info", "log.txt", "--machine", "machine.toml", "--nodes", "4"]) == 2


def test_a_picture_of_events_names_the_commands_that_need_none(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "log.txt", "--machine", "machine.toml", "-o", "out"]) == 0
    assert cli.main(["picture", "use", "out", "-o", "use"]) == 2
    error = capsys.readouterr().err
    assert "out: has no events-baseline.csv, which a replay on a machine does not write; gantt, explain and" in error
    for words in (["gantt", "out", "-o", "page.html"], ["explain", "out", "3"]):
        assert cli.main(words) == 0


def test_slurm_options_write_the_machine_and_the_options_of_a_replay_on_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = (
        "PriorityType=priority/multifactor\nPriorityWeightFairshare=10\n"
        "SchedulerParameters=bf_job_part_count_reserve=3,bf_interval=30\n"
    )
    Path("slurm.conf").write_text(conf + _CONF + "PartitionName=debug Nodes=n1 MaxTime=60 PriorityTier=5 MaxNodes=1\n")
    capsys.readouterr()
    assert cli.main(["slurm", "options", "slurm.conf", "--machine", "site.toml", "--json", "site.json"]) == 0
    printed = capsys.readouterr().out
    assert "--machine site.toml --placement slurm --order fcfs --backfilling 'easy depth=3'" in printed.splitlines()[-1]
    assert "a replay on a machine has no such priorities: fcfs" in printed
    assert "3 jobs of each partition get a plan" in printed
    # What the machine's file holds is modelled; other limits of partitions are not.
    assert "MaxNodes of partitions (debug 1)" in printed
    for word in ("MaxTime", "PriorityTier", "Gres", "RealMemory", "SelectType", "3 partitions"):
        assert word not in printed
    assert hf.read_machine("site.toml").partition("debug").max_time == 3600
    options = json.loads(Path("site.json").read_text())["options"]
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    assert cli.main(["run", "log.txt", "-o", "out", "--mechanism", "baseline", *words]) == 0


def test_outages_close_nodes_by_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs 1 and 2 run on n1 when it fails: job 1 goes on to n2, job 2 needs both. Jobs 4 and 5 wait for g1."""
    Path("away.csv").write_text(
        "kind,start,end,nodes,on,place\n"
        "failure,2026-01-01 00:05:00,2026-01-01 00:06:00,all,n1,0\n"
        "maintenance,2026-01-01 00:00:00,2026-01-01 01:00:00,all,gpu,\n"
    )
    capsys.readouterr()
    assert cli.main(["run", "log.txt", "--machine", "machine.toml", "-o", "out", "--outages", "away.csv"]) == 0
    assert "closed" in capsys.readouterr().out
    rows = {row["job_id"]: row for row in read_csv("out/jobs-baseline.csv")}
    first = rows[1]["start"]
    assert [(row["start"] - first, row["end"] - first, row["preemptions"]) for row in rows.values()] == [
        (0, 900, 1), (0, 2160, 1), (900, 1500, 0), (3600, 4200, 0), (4200, 4800, 0),
    ]  # fmt: skip
    # Three cores of job 1 and two of job 2 for five minutes.
    (booked,) = read_csv("out/accounting.csv")
    assert booked["lost_node_hours"] == pytest.approx(5 * 300 / 3600)
    shares = {row["resource"]: row for row in read_csv("out/resources.csv")}
    assert shares["gpus"]["closed"] == 3600 / 4800
    assert cli.main(["explain", "out", "2"]) == 0
    story = capsys.readouterr().out
    assert "was preempted by failure 1 and lost its work" in story
    assert "when it last began to wait" in " ".join(story.split())
    assert cli.main(["explain", "out", "4"]) == 0
    assert "(an outage closed 1)" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["gantt", "out", "-o", "page.html"]) == 0


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("maintenance,0,10,all,n9", "away.csv:2: on must be a partition or nodes of the machine, and there is no 'n9'"),
        ("maintenance,0,10,2,g1", "nodes of outage 1 must be at most the 1 nodes of g1, not 2"),
    ],
)
def test_outages_of_other_nodes_are_refused(
    place: Path, capsys: pytest.CaptureFixture[str], row: str, sentence: str
) -> None:
    Path("away.csv").write_text(f"kind,start,end,nodes,on\n{row}\n")
    capsys.readouterr()
    assert cli.main(["run", "log.txt", "--machine", "machine.toml", "-o", "out", "--outages", "away.csv"]) == 2
    assert sentence in capsys.readouterr().err
    assert cli.main(["run", "log.txt", "--nodes", "4", "-o", "out", "--outages", "away.csv"]) == 2
    assert "away.csv:2: on must be empty without a machine (--machine)" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize("until", ["30", "2026-01-01T00:00:30"])
def test_until_cuts_the_log_before_its_replay(place: Path, until: str) -> None:
    """Job 5 comes after a minute; the others keep their nodes and requests."""
    assert cli.main(["run", "log.txt", "--machine", "machine.toml", "-o", "whole"]) == 0
    assert cli.main(["run", "log.txt", "--machine", "machine.toml", "-o", "part", "--until", until]) == 0
    whole, part = (read_csv(f"{name}/allocations-baseline.csv") for name in ("whole", "part"))
    assert [row["job_id"] for row in part] == [1, 2, 3, 4]
    assert [(row["nodes"], row["cores"]) for row in part] == [(row["nodes"], row["cores"]) for row in whole[:4]]


def test_orders_that_depend_on_time_and_usage(place: Path) -> None:
    orders = "wfp3,unicep,fairshare,multifactor age=10 fairshare=5"
    assert cli.main(["run", "log.txt", "--machine", "machine.toml", "-o", "orders", "--order", orders]) == 0
    assert len(read_csv(place / "orders" / "summary.csv")) == 4


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--nodes", "4"], "--nodes must be left out with --machine: its file describes the nodes, not 4"),
        (["--unit", "nodes"], "--unit must be left out with --machine"),
        (
            ["--mechanism", "CUA-SPAA", "--placement", "slurm"],
            "placement must be pack or spread with mechanisms on shared nodes",
        ),
        (["--events"], "--events must be left out with --machine: its replay keeps no event log"),
        (["--until", "0"], "--until must be later than the start of the replay at 0 s, not 0 s"),
        (["--backfilling", "slurm"], "placement must be slurm with --backfilling slurm"),
        (
            ["--backfilling", "slurm", "--placement", "slurm", "--failure-mtbf", "1y"],
            "failures must be left out with --backfilling slurm",
        ),
        (["--stream"], "--machine must be left out with --stream"),
    ],
)
def test_what_a_machine_does_not_have_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    capsys.readouterr()
    assert cli.main(["run", "log.txt", "--machine", "machine.toml", "-o", "out", *words]) == 2
    printed = capsys.readouterr().err
    assert sentence in printed
    assert len(printed.splitlines()) == 1
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("request_text", "partition", "missing"),
    [
        ("cpu=2", "", ["memory", "GPUs"]),
        ("cpu=2", "memory_per_core = 100\n", ["GPUs"]),
        ("cpu=2,mem=1G,gres/gpu=1", "", []),
        ("cpu=2", "exclusive = true\n", []),
    ],
)
def test_resources_that_no_job_names_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request_text: str, partition: str, missing: list[str]
) -> None:
    machine, log = tmp_path / "machine.toml", tmp_path / "log.txt"
    nodes = '[[nodes]]\nnames = "n1"\ncores = 4\nmemory = "60000M"\ngpus = 2\n'
    machine.write_text(f'{nodes}[[partitions]]\nname = "p"\nnodes = "ALL"\n{partition}')
    log.write_text(
        "JobID|Submit|Start|ElapsedRaw|TimelimitRaw|NNodes|State|ReqTRES\n"
        f"1|1000|1000|600|20|1|COMPLETED|{request_text}\n"
    )
    for command in ("run", "info"):
        assert cli.main([command, str(log), "--machine", str(machine)]) == 0
        printed = capsys.readouterr()
        warned = [line for line in printed.err.splitlines() if "so no job waits for" in line]
        assert [line.split("no job names ")[1].split(",")[0] for line in warned] == missing
    # 58.6 GiB, rounded as the other commands round them.
    assert printed.out.split("memory [GiB]")[1].split()[1] == "59"


@pytest.mark.parametrize("limit", ["20", ""])
def test_requests_that_are_not_recorded_are_warned_of_as_on_a_pool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: str
) -> None:
    machine, log = tmp_path / "machine.toml", tmp_path / "log.txt"
    machine.write_text('[[nodes]]\nnames = "n1"\ncores = 4\n[[partitions]]\nname = "p"\nnodes = "ALL"\n')
    log.write_text(
        "JobID|Submit|Start|ElapsedRaw|TimelimitRaw|NNodes|State|ReqTRES\n"
        f"1|1000|1000|600|{limit}|1|COMPLETED|cpu=2\n2|1900|1900|600|{limit}|1|COMPLETED|cpu=2\n"
    )
    for words in (["run"], ["info"], ["forecast", "--at", "900", "--nodes", "1", "--walltime", "600"]):
        cli.main([words[0], str(log), "--machine", str(machine), *words[1:]])
        printed = capsys.readouterr()
        assert ("100 % of the jobs have no requested walltime" in printed.err + printed.out) == (not limit)


def test_limits_that_no_job_can_reach_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    machine = '[[nodes]]\nnames = "n[1-4]"\ncores = 4\n[[partitions]]\nname = "p"\nnodes = "ALL"\n'
    limits = "".join(f'[[limits]]\n{scope} = "a"\ntogether = {{nodes = 1}}\n' for scope in ("account", "user"))
    Path("machine.toml").write_text(machine + limits)
    rows = "job_id,type,submit,nodes,runtime,walltime,project\n1,rigid,0,1,100,200,{0}\n2,rigid,1,1,100,200,{0}\n"
    starts = {}
    for name in ("", "a"):
        Path("table.csv").write_text(rows.format(name))
        assert cli.main(["run", "table.csv", "--machine", "machine.toml", "-o", f"out{name}"]) == 0
        error = capsys.readouterr().err
        assert ("no job names its account, so the machine's limits by account have no effect" in error) == (not name)
        assert "no job names its user, so the machine's limits by user have no effect" in error
        with Path(f"out{name}", "jobs-baseline.csv").open() as file:
            starts[name] = [float(row["start"]) for row in csv.DictReader(file)]
    assert starts == {"": [0, 1], "a": [0, 100]}


def test_stochastic_jobs_have_reservations_on_a_machine(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--stochastic-share", "1", "--mechanism", "baseline,N-PAA", "-o", "out"]
    assert cli.main(["run", "log.txt", "--machine", "machine.toml", *words]) == 0
    assert "stochastic jobs" in capsys.readouterr().out
    for name in ("baseline", "N-PAA"):
        with Path("out", f"reservations-{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert rows
        assert {row["ending"] for row in rows} <= {"completed", "saved", "expired", "preempted"}
    assert cli.main(["verify", "out"]) == 0


def test_a_placement_needs_a_machine(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "log.txt", "--nodes", "4", "--placement", "spread", "-o", "out"]) == 2
    assert "--placement needs --machine" in capsys.readouterr().err


def test_cancelled_and_dependent_jobs_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, machine, out = (str(tmp_path / name) for name in ("jobs.csv", "machine.toml", "out"))
    Path(machine).write_text('[[nodes]]\nnames = "n1"\ncores = 2\n')
    Path(table).write_text(
        "job_id,type,submit,nodes,runtime,walltime,cancelled_at,preceding,think_time\n"
        "1,rigid,0,1,100,100,40,,\n2,rigid,0,1,90,90,,,\n3,rigid,5,1,50,50,25,,\n4,rigid,10,1,60,60,,1,7\n"
    )
    assert cli.main(["run", table, "--machine", machine, "-o", out]) == 0
    assert "never start" not in capsys.readouterr().out
    starts = {
        row["job_id"]: (row["submit"], row["start"], row["status"]) for row in read_csv(f"{out}/jobs-baseline.csv")
    }
    assert starts == {
        1: (0, 0, "cancelled"), 2: (0, 0, "completed"), 3: (5, None, "cancelled"), 4: (47, 47, "completed")
    }  # fmt: skip
    assert cli.main(["explain", out, "1"]) == 0
    assert "00:00:40  Its user cancelled it." in capsys.readouterr().out
    assert cli.main(["explain", out, "3"]) == 2
    assert "job 3 never started: its user cancelled it while it waited" in capsys.readouterr().err


def test_cancelled_and_dependent_jobs_of_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, machine, out = (str(tmp_path / name) for name in ("log.swf", "machine.toml", "out"))
    Path(machine).write_text('[[nodes]]\nnames = "n1"\ncores = 4\n[[partitions]]\nname = "1"\nnodes = "ALL"\n')
    # Job 2 wants 4 cores and is cancelled at 30; job 3 waits behind it; job 4 depends on job 1, with 7 s between.
    lines = [
        "1 0 0 100 3 -1 -1 3 100 -1 1 7 8 -1 1 1 -1 -1",
        "2 10 20 0 4 -1 -1 4 50 -1 5 7 8 -1 1 1 -1 -1",
        "3 12 90 200 1 -1 -1 1 200 -1 1 7 8 -1 1 1 -1 -1",
        "4 15 0 10 2 -1 -1 2 10 -1 1 7 8 -1 1 1 1 7",
    ]
    Path(log).write_text("\n".join(lines) + "\n")
    found = {}
    for words in ([], ["--cancelled", "keep"], ["--cancelled", "keep", "--dependencies"]):
        assert cli.main(["run", log, "--machine", machine, "-o", f"{out}{len(words)}", *words]) == 0
        found[len(words)] = {row["job_id"]: row["start"] for row in read_csv(f"{out}{len(words)}/jobs-baseline.csv")}
    assert found[0] == {1: 0, 3: 12, 4: 100}
    # Job 3 would delay job 2, which has all cores from 100 on; job 4 has no room before the end of job 1.
    assert found[2] == {1: 0, 2: None, 3: 30, 4: 100}
    assert found[3] == {1: 0, 2: None, 3: 30, 4: 107}
    printed = capsys.readouterr().out
    assert "withdrawn by their users before they started, and kept: 1" in printed
    assert "dependencies: 1 followed" in printed


def test_nodes_in_no_partition_are_counted_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = '[[nodes]]\nnames = "n[1-8]"\ncores = 4\n[[partitions]]\nname = "p"\n'
    Path("log.csv").write_text("at,nodes,runs\n0,2,60\n")
    for names, hint in (("n[1-5]", "count in the utilisation: 3; add them"), ("ALL", "")):
        Path("m.toml").write_text(f'{nodes}nodes = "{names}"\n')
        columns = "submit=at,nodes=nodes,runtime=runs"
        assert cli.main(["run", "log.csv", "--columns", columns, "--machine", "m.toml"]) == 0
        error = capsys.readouterr().err
        assert hint in error
        assert ("in no partition" in error) == bool(hint)


def test_recorded_types_replay_on_a_machine_with_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Worked out by hand: the urgent job takes 2 of 8 nodes from 500 to 1100, and the spot job starts anew."""
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(
        '[[nodes]]\nnames = "n[1-8]"\ncores = 4\n[[partitions]]\nname = "p"\nnodes = "ALL"\nexclusive = true\n'
    )
    Path("log.csv").write_text("id,at,nodes,runs,limit,class\n1,0,8,4000,7200,spot\n2,500,2,600,900,on-demand\n")
    columns = "id=id,submit=at,nodes=nodes,runtime=runs,walltime=limit"
    assert cli.main(["run", "log.csv", "--columns", f"{columns},type=class", "--machine", "m.toml", "-o", "o"]) == 0
    rows = {row["job_id"]: (row["type"], row["start"], row["end"]) for row in read_csv("o/jobs-N-PAA.csv")}
    assert rows == {1: ("rigid", 0, 5100), 2: ("on-demand", 500, 1100)}
    assert "preparation" in json.loads(Path("o/run.json").read_text())
    assert "types: rigid 1 job (1 of them spot or preemptible, without checkpoints), " in capsys.readouterr().out
    words = ["run", "log.csv", "--columns", columns, "--machine", "m.toml", "--types"]
    assert cli.main([*words, "user:a=spot"]) == 2
    assert "types must be a column that the log has (partition), not 'user'" in capsys.readouterr().err
