"""A whole Slurm on this machine: replays agree with the rules, plans are carried out, and nothing is left behind."""

from __future__ import annotations

import csv
import getpass
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.agreement import agreement
from holdfast.experiments.slurm.daemons import MARK, lab_processes
from holdfast.experiments.slurm.lab import Lab, open_lab
from holdfast.experiments.slurm.live_replay import LabSlurm, patiently
from holdfast.experiments.slurm.recorded_replay import read_replay
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.table.job_table import write_job_table
from tests.experiments.slurm import workflow_lab
from tests.experiments.slurm.awkward_tables import random_awkward_table, submit_awkward_table
from tests.experiments.slurm.served_tables import random_served_table
from tests.experiments.slurm.test_workflows import nextflow_attempts
from tests.support.processes import until

pytestmark = pytest.mark.slurm
PORT = "23000"
#: Seed of all that is drawn here: give another one to see what development has not seen.
SEED = int(os.environ.get("HOLDFAST_LIVE_SEED", "8002"))
DOCS = Path(__file__).parents[3] / "docs"
HOLDFAST = (sys.executable, "-c", "import sys; from holdfast.experiments.cli import main; sys.exit(main())")
#: A program of some minutes that saves when it is told to; on the clock of the lab.
PROGRAM = """
import os, pathlib, signal, sys, time
state = pathlib.Path(os.environ["HOLDFAST_STATE"])
signals = []
signal.signal(signal.SIGUSR1, lambda *_: signals.append(1))
done = float(state.read_text()) if state.exists() else 0.0
if sys.argv[2:] == ["dies"]:
    dead = state.with_name("dead")
    if not dead.exists():
        time.sleep(60)
        dead.touch()
        sys.exit(3)
if done:
    time.sleep(30)
while done < float(sys.argv[1]):
    if signals:
        time.sleep(50)
        state.write_text(str(done))
        sys.exit(85)
    began = time.time()
    time.sleep(5)
    done += time.time() - began
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of eight nodes with accounting, on a clock 60 times as fast."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    for program in ("slurmctld", "munged", "slurmdbd", "mariadbd", "faketime"):
        if shutil.which(program, path=path) is None:
            pytest.skip(f"{program} is not here (slurm-wlm munge slurmdbd mariadb-server faketime)")
    folder = Path(tempfile.mkdtemp(prefix="lab"))
    words = ["--nodes", "8", "--speed", "60", "--accounting", "--port", PORT]
    assert cli.main(["slurm", "lab", "start", "-o", str(folder / "lab"), *words]) == 0
    started = open_lab(folder / "lab")
    yield started
    assert cli.main(["slurm", "lab", "stop", "-o", str(folder / "lab")]) == 0
    assert not lab_processes(folder / "lab")
    numbers = re.findall(r"\d+", started.clock)
    assert numbers
    assert not [path for path in Path("/dev/shm").glob("*faketime*") if path.name.endswith(tuple(numbers))]
    assert [path.name for path in folder.iterdir()] == ["lab"]
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def _empty(lab: Lab) -> None:
    """What an earlier test has left is cancelled."""
    lab.call(["scancel", f"--user={getpass.getuser()}"])
    until(lambda: is_empty(lab), 120)


def is_empty(lab: Lab) -> bool:
    """Whether no job is in the queue; a busy controller may not answer at once."""
    return not patiently(LabSlurm(lab), ["squeue", "-h", "-o", "%i"]).split()


def test_it_listens_on_loopback_alone(lab: Lab) -> None:
    """By the kernel's own table: local address and state of each socket; 0A is one that listens."""
    own = range(lab.port, lab.port + 8 + lab.nodes)
    listening = {}
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            words = line.split()
            address, _, port = words[1].partition(":")
            if words[3] == "0A" and int(port, 16) in own:
                listening[int(port, 16)] = address
    assert len(listening) >= 3 + lab.nodes  # slurmctld, slurmdbd, MariaDB and each slurmd
    assert set(listening.values()) == {"0100007F"}


def test_decisions_agree_with_conservative_backfilling(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["slurm", "workload", "-o", "w.swf", "--jobs", "25", "--nodes", "8", "--seed", str(SEED)]) == 0
    assert cli.main(["slurm", "replay", "w.swf", "-o", "replay", "--lab", lab.directory]) == 0
    replay = read_replay("replay", 8)
    assert len(replay.jobs) == 25
    (row, named), _, _ = agreement(replay, ["conservative", "slurm"], tolerance=60, lag=5)
    assert row["equal"] >= 0.85 * row["decisions"]
    print(f"{named['same_start']} of 25 starts and {named['equal']} of {named['decisions']} decisions are equal")
    assert named["same_start"] >= 0.9 * 25 and named["equal"] >= 0.95 * named["decisions"]


def test_an_awkward_table_agrees(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Arrays, dependencies, --begin, cancellations and limits of QOS."""
    monkeypatch.chdir(tmp_path)
    begin = lab.call(["date", "+%s"]).strip()
    submit_awkward_table(lab, random_awkward_table(SEED, 30, lab.nodes))
    in_lab(lab, "slurm", "snapshot", "-o", "site")
    # Jobs of earlier tests are in the accounting, too.
    log = Path("site/sacct.txt")
    head, *lines = log.read_text().splitlines(keepends=True)
    log.write_text(head + "".join(line for line in lines if int(line.split("|")[1]) >= int(begin)))
    words = ["--nodes", str(lab.nodes), "--config", "site", "--completing", "8s"]
    assert cli.main(["slurm", "compare", "site", *words, "-o", "out"]) == 0
    with capsys.disabled():
        print(capsys.readouterr().out)
    with Path("out.csv").open() as file:
        (row,) = csv.DictReader(file)
    agree = int(row["equal"]) + int(row["late"])
    assert agree >= 70 / 74 * int(row["decisions"])
    # A single decision that differs moves all later starts of such a chain of jobs, and a busy machine delays them.
    assert agree < int(row["decisions"]) or int(row["same_start"]) >= 0.8 * int(row["jobs"])


def call_program(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    """Call a program on the lab's clock: what it submits has that clock."""
    environment = {**os.environ, **lab.variables, "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def in_lab(lab: Lab, *words: str) -> str:
    """What holdfast prints on the lab's clock."""
    done = call_program(lab, *HOLDFAST, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def submit_sequence(lab: Lab, name: str, *words: str) -> None:
    """Submit a sequence; where a busy Slurm refuses a job, its script goes on."""
    done = call_program(lab, *HOLDFAST, *words)
    for _ in range(5):
        if not done.returncode:
            break
        time.sleep(1)
        done = call_program(lab, "bash", f"{name}/submit.sh")
    assert Path(name, "submitted").exists(), done.stderr


@pytest.mark.timeout(1200)  # the longest job may double to more than five hours of the lab
def test_attempts_of_a_plan_respond_sooner_than_doubling(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve jobs of unknown runtime, by the recipe and doubled, each way on four nodes of its own."""
    monkeypatch.chdir(tmp_path)
    found = workflow_lab.measure_responses(lab, SEED, 12, load=0.6, scripts=True)
    print(found)
    # No saved work is lost: an attempt goes on from where the one before it was.
    assert found["plan"].repeated == 0
    assert found["double"].repeated > 0
    # Twelve jobs decide no more than that; 200 are measured by workflow_lab.
    assert found["plan"].mean < found["double"].mean


#: What Nextflow's batch script does with signals.
BATCH_SCRIPT = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --signal=B:USR2@30
trap 'printf -- ${status:=$?} > exitcode; exit $status' EXIT
trap '[[ "$pid" ]] && kill $pid' TERM INT USR2
trap '' USR1
(set -o pipefail; (bash -ue command.sh | tee out) 3>&1 1>&2 2>&3 | tee err) &
pid=$!
wait $pid || status=$?
"""


def test_attempts_of_nextflow_lose_no_saved_work(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = ReservationPlan([600, 1500, 3000], [True, True, False], CostModel(checkpoint=60, restart=40))
    Path("plan.json").write_text(plan.to_json())
    shutil.copy(DOCS / "examples" / "slurm" / "attempts.py", tmp_path)
    Path("heat.py").write_text(workflow_lab.PROGRAM)
    Path("python").symlink_to(sys.executable)
    # Timers do not follow the lab's clock: its minute is a second.
    Path("timeout").write_text('#!/bin/bash\nexec /usr/bin/timeout "${@/%m/s}"\n')
    Path("timeout").chmod(0o755)
    Path("script").write_text(BATCH_SCRIPT)
    statuses = []
    for attempt in nextflow_attempts(workflow_lab.limits_of_plan(tmp_path)):
        Path("command.sh").write_text(attempt.command.replace("heat.py 300 1", "heat.py 1400"))
        state, path = f"HOLDFAST_STATE={tmp_path}/state", f"PATH={tmp_path}:{os.environ['PATH']}"
        call_program(lab, "env", state, path, "sbatch", "--wait", f"--time={attempt.minutes}", "--export=ALL", "script")
        until(lambda: is_empty(lab), 60)
        statuses.append(int(Path("exitcode").read_text()))
        if attempt.strategies[str(statuses[-1])] == "finish":
            break
    # Two attempts save: after nine minutes, and after fourteen, half a minute of which restores the state.
    assert statuses == [85, 85, 0]
    spans = [tuple(map(float, Path(f"attempt-{number}").read_text().split())) for number in range(3)]
    assert all(reached == begin for (_, reached), (begin, _) in pairwise(spans))


def restart_controller(lab: Lab) -> None:
    """End slurmctld, and start it again from its state."""
    (process,) = [process for process, name in lab_processes(lab.place).items() if name == "slurmctld"]
    os.kill(process, signal.SIGTERM)
    until(lambda: "slurmctld" not in lab_processes(lab.place).values(), 60)
    done = call_program(lab, "env", f"{MARK}={lab.directory}", f"--chdir={lab.place}/tmp", "slurmctld")
    assert done.returncode == 0, done.stderr
    until(lambda: lab.answers(["scontrol", "ping"]), 60)


def test_twenty_sequences_complete_and_survive(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(PROGRAM)
    plan = ReservationPlan([600, 1500, 3000], [True, True, False], CostModel(checkpoint=60, restart=40))
    Path("plan.json").write_text(plan.to_json())
    drawn = np.random.default_rng(SEED + 1).uniform(240, 2600, 16).round().tolist()
    runtimes = {f"s{number}": runtime for number, runtime in enumerate(drawn)}
    runtimes |= {"long": 2400.0, "dies": 1200.0, "cancelled": 900.0, "down": 1300.0}
    disturbed = {"cancelled", "dies", "down"}
    for name, runtime in runtimes.items():
        words = ["submit", "plan.json", "-o", name, "--go", "--history", "past.txt"]
        more = ["dies"] if name == "dies" else []
        submit_sequence(lab, name, *words, "--", sys.executable, "program.py", f"{runtime:g}", *more)
        if name == "cancelled":
            # The second reservation is cancelled by hand before it starts.
            lab.call(["scancel", Path(name, "jobs").read_text().split()[3]])
    # A node is taken down under another one.
    node = ""

    def runs() -> bool:
        nonlocal node
        time.sleep(0.2)
        node = lab.call(["squeue", "-h", "-t", "R", "-n", "down", "-o", "%N"]).strip()
        return bool(node)

    until(runs, 120)
    lab.call(["scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test"])
    time.sleep(1)
    # It may have come back by itself.
    lab.answers(["scontrol", "update", f"NodeName={node}", "State=RESUME"])
    restart_controller(lab)

    def over() -> bool:
        time.sleep(1)  # each question is a load on the lab
        return is_empty(lab)

    until(over, 500)
    jobs = lab.call(["sacct", "-a", "-X", "-n", "-P", "-S", "2020-01-01", "-E", "now+2days", "-o", "JobName,JobIDRaw"])
    for name, runtime in runtimes.items():
        status = json.loads(in_lab(lab, "status", name, "--json", "-"))
        assert status["state"] == "done", status
        assert status["runtime"] == pytest.approx(runtime, abs=150)
        recorded = [line.split()[1] for line in Path(name, "jobs").read_text().splitlines()]
        # sacct does not tell of reservations that never became eligible.
        accounted = [line.split("|")[1] for line in jobs.splitlines() if line.startswith(f"{name}|")]
        assert len(set(accounted)) == len(accounted) >= status["ran"]
        assert set(accounted) <= set(recorded)
        # The start of the program counts: a runtime near a milestone may need one reservation more than the plan has.
        if name not in disturbed and all(abs(runtime - milestone) > 90 for milestone in (600, 1500)):
            assert status["ran"] == status["planned_number"]
            assert status["planned"] <= status["paid"] <= status["planned"] + 60 * status["ran"] + 60
    assert len(Path("past.txt").read_text().split()) == len(runtimes)
    # The next request of the program: a plan from its runs.
    in_lab(lab, "plan", "--runs", "past.txt", "--checkpoint", "60s", "--restart", "40s", "--json", "next.json")
    in_lab(lab, "submit", "next.json", "-o", "next", "--", sys.executable, "program.py", "600")
    assert Path("next/reservation-1.sh").exists()


def test_a_mechanism_is_carried_out(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = DOCS / "examples" / "slurm" / "urgent.csv"
    monkeypatch.chdir(tmp_path)
    words = ["--lab", lab.directory, "-o", "served", "--no-save", "--grace", "0", "--mechanism", "CUA-SPAA"]
    assert cli.main(["slurm", "serve-on-demand", str(table), *words]) == 0
    with Path("served/events.csv").open() as file:
        rows = list(csv.DictReader(file))
    near = [row for row in rows if row["difference_s"] and abs(float(row["difference_s"])) <= 300]
    assert len(near) >= 0.8 * len(rows)
    slurm = LabSlurm(lab)
    assert is_empty(lab)
    assert "No reservations" in patiently(slurm, ["scontrol", "show", "reservation"])


def test_a_random_table_is_served_though_the_controller_is_killed(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The first table that fits on the lab.
    jobs = next(
        table.jobs for seed in range(SEED, SEED + 100) if (table := random_served_table(seed)).nodes <= lab.nodes
    )
    write_job_table(jobs, "jobs.csv")
    words = [*HOLDFAST, "slurm", "serve-on-demand", "jobs.csv", "-o", "served", "--lab", lab.directory]
    first = subprocess.Popen([*words, "--mechanism", "CUA-SPAA"])
    # It is killed after some readings.
    until(lambda: Path("served/journal").exists() and len(Path("served/journal").read_text().splitlines()) > 12, 120)
    first.kill()
    first.wait()
    done = subprocess.run([*words, "--mechanism", "CUA-SPAA"], capture_output=True, text=True, check=True)
    assert "goes on with" in done.stderr
    with Path("served/events.csv").open() as file:
        rows = list(csv.DictReader(file))
    ended = {int(row["job_id"]) for row in rows if row["event"] == "complete" and row["slurm_s"]}
    assert ended == {job.job_id for job in jobs if job.submit is not None}
    assert "No reservations" in patiently(LabSlurm(lab), ["scontrol", "show", "reservation"])


def test_the_log_of_the_lab_is_read_as_that_of_a_site(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, **lab.variables}

    def shell(command: str) -> None:
        subprocess.run(["bash", "-c", command], env=environment, check=True)

    # Jobs that wait for one another, so that the test needs no other one before it.
    random = np.random.default_rng(SEED + 2)
    for _ in range(30):
        nodes, runtime = random.integers(1, 6), random.integers(60, 300)
        words = ["-N", str(nodes), "-t", str(6 + nodes), "-o", "/dev/null", "--wrap", f"sleep {runtime}"]
        patiently(LabSlurm(lab), ["sbatch", *words])
    until(lambda: is_empty(lab), 240)
    # The export of the guide "My sacct log", from its page, of all days.
    guide = (DOCS / "guides" / "sacct.md").read_text()
    (export,) = re.findall(r"^SLURM_TIME_FORMAT=%s sacct .*$", guide, re.MULTILINE)
    shell(re.sub(r"-S \S+ -E \S+", "-S 2020-01-01 -E now+2days", export))
    log = ["sacct.txt", "--nodes", "8"]
    assert cli.main(["info", *log]) == 0
    output = capsys.readouterr().out
    assert "wait, FCFS/EASY" in output
    assert "wait, recorded" in output
    assert cli.main(["run", *log, "-o", "baseline", "--mechanism", "baseline"]) == 0
    assert cli.main(["fit-costs", *log, "-o", "costs.json"]) == 0
    costs = json.loads(Path("costs.json").read_text())
    assert costs["all"]["pairs"] > 20
    # "My own site" of the page about forecasts: the queue, the nodes and the past.
    for nodes in ("8", "8", "4"):
        last = lab.call(
            ["sbatch", "--parsable", "-N", nodes, "-t", "60", "-o", "/dev/null", "--wrap", "sleep 1800"]
        ).strip()
    until(lambda: bool(lab.call(["squeue", "-h", "-t", "R", "-o", "%i"]).split()), 60)
    shell("TZ=UTC squeue --json > queue.json; scontrol show nodes > nodes.txt")
    state = ["sacct.txt", "--queue", "queue.json", "--machine", "nodes.txt"]
    assert cli.main(["forecast", *state, "--job", last, "--json", "forecast.json"]) == 0
    assert cli.main(["advise", *state, "--nodes", "4", "--walltime", "1h", "--json", "advice.json"]) == 0
    lab.call(["scancel", f"--user={getpass.getuser()}"])
    until(lambda: is_empty(lab), 60)
    shell(f"sacct -D -X -P -S 2020-01-01 -E now+2days -o {export.split('-o ')[1].split(' >')[0]} > all.txt")
    assert cli.main(["info", "all.txt", "--nodes", "8"]) == 0


def test_a_twin_sees_the_jobs_of_the_lab_and_no_drift(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lab.call(["sbatch", "-N", "1", "-t", "5", "-o", "/dev/null", "--wrap", "sleep 60"])
    until(lambda: is_empty(lab), 60)
    fields = "JobID,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,NNodes,State,User,Account,NodeList"
    command = ["env", "SLURM_TIME_FORMAT=%s", "sacct", "-X", "-P", "-S", "2020-01-01", "-E", "now+2days", "-o", fields]
    Path("past.txt").write_text(lab.call(command))
    for nodes in ("4", "8"):
        lab.call(["sbatch", "-N", nodes, "-t", "60", "-o", "/dev/null", "--wrap", "sleep 600"])
    words = ["--lab", lab.directory, "--for", "15m", "--draws", "5", "--workers", "1"]
    assert cli.main(["slurm", "follow", "past.txt", "-o", "followed", *words]) == 0
    with Path("followed/readings.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert max(int(row["running"]) + int(row["waiting"]) for row in rows) == 2
    assert {row[name] for row in rows for name in ("drift_jobs", "drift_nodes", "drift_order")} == {"0"}
    assert list(Path("followed").glob("forecast-*.csv"))
