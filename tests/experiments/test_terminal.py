"""Control characters of the input never reach the terminal, whichever command prints it."""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.workdir import write_sequence
from holdfast.experiments.sweeps import progress
from holdfast.experiments.tables import render
from holdfast.experiments.terminal import SafeStream, escape, safe_terminal
from tests.experiments.slurm.test_status import SACCT, SEQUENCE

#: Clears the screen, rings, and begins a control sequence in one byte; each reader gets it in all columns of text.
EVIL = "e\x1b[2Jv\x07i\x9bl\x7f"
#: What no output may hold; a progress bar returns the carriage on standard error.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]")
JOBS = range(8)


def swf() -> str:
    header = f"; Computer: {EVIL}\n; Installation: {EVIL}\n; MaxNodes: 16\n; Queue: 1 {EVIL}\n; Note: {EVIL}\n"
    return header + "".join(
        f"{n} {100 * n} {10 * n} 3600 {4 + n} -1 -1 {4 + n} 7200 -1 1 {n % 3} {n % 2} -1 1 {1 + n % 2} -1 -1\n"
        for n in JOBS
    )


def alcf() -> str:
    names = (
        "JOB_NAME,COBALT_JOBID,MACHINE_NAME,QUEUED_TIMESTAMP,START_TIMESTAMP,END_TIMESTAMP,USERNAME_GENID,"
        "PROJECT_NAME_GENID,QUEUE_NAME,WALLTIME_SECONDS,RUNTIME_SECONDS,NODES_USED,NODES_REQUESTED\n"
    )
    return names + "".join(
        f"{EVIL},{n},{EVIL},2019-01-31 1{n}:00:00,2019-02-01 1{n}:00:00,2019-02-01 1{n}:30:00,{EVIL}{n % 2},{EVIL},"
        f"{EVIL},7200.0,1800.0,{1 + n}.0,{1 + n}.0\n"
        for n in JOBS
    )


def sacct() -> str:
    names = "JobIDRaw|JobName|User|Account|Partition|QOS|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes"
    rows = [
        f"{n}|{EVIL}|{EVIL}{n % 2}|{EVIL}|{EVIL}{n % 2}|{EVIL}|{EVIL if n == 2 else 'COMPLETED'}"
        f"|{1_700_000_000 + 100 * n}|{1_700_000_500 + 100 * n}|{1_700_004_100 + 100 * n}|3600|120|{1 + n}|{EVIL}[1-9]"
        for n in JOBS
    ]
    return "\n".join([names, *rows]) + "\n"


def json_sacct() -> str:
    jobs = [
        {
            "job_id": n,
            **dict.fromkeys(("name", "account", "partition", "qos"), EVIL),
            "user": f"{EVIL}\n{n % 2}",
            "state": {"current": "COMPLETED"},
            "time": {
                **{"submission": 1_700_000_000 + n, "start": 1_700_000_500 + n, "end": 1_700_004_100 + n},
                **{"elapsed": 3600, "limit": 120},
            },
            "allocation_nodes": 1 + n,
            "nodes": EVIL,
        }
        for n in JOBS
    ]
    return json.dumps({"jobs": jobs})


def columns() -> str:
    names = "job_id,submit_time,start_time,end_time,time_limit,num_nodes_alloc,user_id,group_id,partition,qos,job_state"
    return "\n".join(
        [names]
        + [
            f"{n},{1588000000 + n},{1588000100 + n},{1588003600 + n},120,{1 + n},{EVIL}{n % 2}" + f",{EVIL}" * 4
            for n in JOBS
        ]
    )


def job_table() -> str:
    rows = ["job_id,type,submit,nodes,runtime,walltime,user,project"]
    # A cell of CSV may also hold a line end.
    rows += [f'{n},rigid,{60 * n},{4 + n},3600,{7200 + 600 * n},"{EVIL}\n{n % 2}",{EVIL}' for n in JOBS]
    return "\n".join(rows) + "\n"


def squeue() -> str:
    rows = ["JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON|NAME|PARTITION"]
    for n, state in enumerate(("RUNNING", "RUNNING", "PENDING", "PENDING")):
        start = "N/A" if state == "PENDING" else 1_700_010_000
        rows.append(f"{n}|{state}|1700009000|{start}|2:00:00|5|{EVIL}|{EVIL}|Priority|{EVIL}|{EVIL}")
    return "\n".join(rows) + "\n"


SLURM_CONF = f"""\
ClusterName={EVIL}
SchedulerType={EVIL}
SchedulerParameters={EVIL},bf_{EVIL}={EVIL},bf_window=100
PriorityType={EVIL}
PreemptType={EVIL}
Mystery={EVIL}
SelectType={EVIL}
GresTypes={EVIL}
NodeName=n[1-4],{EVIL} Gres={EVIL} Feature={EVIL}
NodeName=m1 Gres=gpu:{EVIL}:2
PartitionName={EVIL} Nodes=n[1-4] MaxTime={EVIL} QOS={EVIL}
PartitionName=b{EVIL} Nodes=m1
Include {EVIL}
"""
FORECAST = "--draws 1 --workers 1 --least 1 --arrivals none"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "a.swf": swf(),
        "alcf.csv": alcf(),
        "sacct.txt": sacct(),
        "sacct.json": json_sacct(),
        "columns.csv": columns(),
        "table.csv": job_table(),
        "queue.txt": squeue(),
        "slurm.conf": SLURM_CONF,
        "outages.csv": f"kind,start,end,nodes,name\nmaintenance,3000,9000,8,{EVIL}\n",
        "accounting.txt": SACCT.replace("COMPLETED", EVIL),
        "runs.csv": "".join(f"{column},{EVIL}\n" for column in ("runtime", *range(100, 120))),
    }.items():
        Path(name).write_text(text)
    Path("s").mkdir()
    write_sequence(replace(SEQUENCE, name=f"heat{EVIL}", program=[EVIL]), Path("s"))
    return tmp_path


def command_output(line: str | list[str], capsys: pytest.CaptureFixture[str], *legal: int) -> str:
    """What a command prints, checked."""
    words = line.split() if isinstance(line, str) else line
    try:
        status = cli.main(words)
    except SystemExit as stop:
        status = int(str(stop.code))
    out, err = capsys.readouterr()
    found = CONTROL.search(out) or CONTROL.search(err.replace("\r", ""))
    assert found is None, (line, (out + err)[max(0, found.start() - 200) : found.end() + 100])
    assert status in (legal or (0,)), (line, err)
    return out + err


@pytest.mark.parametrize(
    "line",
    [
        "info a.swf",
        "info a.swf --where queue=" + EVIL,
        "info alcf.csv",
        "info sacct.txt --where qos=" + EVIL,
        "info sacct.json",
        "info columns.csv --nodes 20",
        "slurm options slurm.conf",
        "slurm options slurm.conf --json -",
        "slurm compare a.swf --backfilling easy",
        f"forecast sacct.txt --queue queue.txt --machine 20 {FORECAST} --job 3",
        f"advise sacct.txt --queue queue.txt --machine 20 {FORECAST} --nodes 4 --walltime 1h --user {EVIL}",
        "status s --sacct accounting.txt",
        "plan --runs runs.csv --column runtime --n 4 --fit discrete",
        "prepare sacct.txt -o out.csv",
        "policies --kind reader",
    ],
)
def test_a_command_that_reads_a_log(line: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Some of these are refused: the sentence then holds what was planted.
    command_output(line, capsys, 0, 2)


def test_commands_that_read_results(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = f"run table.csv --nodes 16 --outages outages.csv -o d{EVIL} --mechanism baseline --events"
    assert "de\\x1b[2J" in command_output(run, capsys)
    command_output("run table.csv --nodes 16 -o r --order fcfs,sjf --events --mechanism baseline", capsys)
    output = command_output("compare r:fcfs r:sjf --by user", capsys)
    # A user is one line of the table, whatever ends a line in its name.
    assert "e\\x1b[2Jv\\x07i\\x9bl\\x7f\\n1" in output
    command_output("compare r:fcfs r:sjf --by project", capsys)
    for line in (
        "explain r 3 --run fcfs",
        "explain r --worst 2 --run fcfs",
        "explain r 3 --run fcfs --json -",
        ["explain", f"d{EVIL}", "3"],
        "gantt r --run fcfs -o x.html",
        "export r --run fcfs -o x.swf",
        "fit-costs r --run fcfs -o x.json",
        f"forecast r --run fcfs --at 5m {FORECAST}",
        ["explain", "r", EVIL],
        ["compare", "r:fcfs", f"r:{EVIL}"],
        ["run", "table.csv", "-o", f"x{EVIL}", "--nodes", "16", "--order", EVIL],
    ):
        command_output(line, capsys, 0, 2)


@pytest.mark.system
def test_commands_that_simulate_several_times(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(
        'mechanisms = "baseline"\n[workload]\ntraces = [{path = "a.swf", nodes = 16}]\n[options]\norder = ["fcfs"]\n'
    )
    Path(f"{EVIL}.swf").write_text(swf())
    Path("named.toml").write_text(
        f'mechanisms = "baseline"\n[workload]\ntraces = [{{path = {json.dumps(EVIL)[:-1]}.swf", nodes = 16}}]\n'
    )
    for line in (
        "sweep s.toml -o out --workers 1 --metrics wait_h",
        "sweep named.toml -o named --dry-run",
        "sweep named.toml -o named --workers 1",
        "loop a.swf -o loop --stochastic-share 1 --rounds 2",
        "marginals a.swf -o m",
        f"run sacct.txt -o r --nodes 20 --seed 0:2 --mechanism all --where partition={EVIL}0",
    ):
        command_output(line, capsys, 0, 2)


def test_only_control_characters_are_replaced() -> None:
    out = io.StringIO()
    SafeStream(out, "\t").write("Jülich\t1\n\x1b[2J\r\n")
    SafeStream(out, "").writelines(["a\n", "\x07\n"])
    assert out.getvalue() == "Jülich\t1\n\\x1b[2J\\r\na\n\\x07\n"


def test_a_terminal_is_safe_only_meanwhile(capsys: pytest.CaptureFixture[str]) -> None:
    outer = sys.stdout
    with safe_terminal():
        print("\x1b")
        assert not sys.stdout.isatty()
    assert sys.stdout is outer
    assert capsys.readouterr().out == "\\x1b\n"


def test_a_cell_is_one_line_of_a_table() -> None:
    table = render([{"user": "a\nb\x1b"}], ["user"])
    assert table.splitlines()[2:] == [escape("a\nb\x1b")]


@pytest.fixture
def gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A log that a warning is about: it names two partitions."""
    monkeypatch.chdir(tmp_path)
    line = "{0} {0} 0 60 4 -1 -1 4 90 -1 1 7 3 -1 1 {1} -1 -1\n"
    Path("a.swf").write_text("; MaxProcs: 8\n" + "".join(line.format(job, 1 + job % 2) for job in range(1, 9)))
    return "a.swf"


def test_warnings_differ_from_errors_and_quiet_leaves_only_errors(
    gaps: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", gaps]) == 0
    loud = capsys.readouterr()
    assert loud.err.startswith("holdfast run: warning: one pool of equal nodes is simulated")
    assert loud.err.count("\n") == 1
    for word in ("-q", "--quiet"):
        assert cli.main(["run", gaps, word]) == 0
        assert capsys.readouterr() == (loud.out, "")
    assert cli.main(["run", "none.swf", "--quiet"]) == 2
    assert capsys.readouterr().err == "holdfast run: error: none.swf: no such file\n"
    # The next command is as loud as ever.
    assert cli.main(["run", gaps]) == 0
    assert capsys.readouterr() == loud


@pytest.mark.parametrize(("terminal", "words", "shown"), [(False, [], False), (True, [], True), (True, ["-q"], False)])
def test_progress_is_only_for_terminals(
    gaps: str, monkeypatch: pytest.MonkeyPatch, terminal: bool, words: list[str], shown: bool
) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_SHORT", 0.0)  # a bar even for a replay that is as short as this one
    assert cli.main(["run", gaps, *words]) == 0
    assert ("jobs/s" in screen.getvalue()) is shown
    assert "\r" not in screen.getvalue() or shown
