"""Seeds: small valid inputs, made by the project's own writers where it has one."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from holdfast.experiments import cli
from holdfast.experiments.study.artefact import write_artefact
from holdfast.experiments.study.experiment import find_experiment, measure_experiment
from holdfast.workloads.outages.file import write_outages
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.job_table import write_job_table
from tests.support.jobs import malleable, on_demand, rigid, stochastic

__all__ = [
    "DATED_OUTAGES",
    "MACHINES",
    "NODES",
    "RUNS",
    "SITE",
    "SWEEPS",
    "TASKS",
    "alcf",
    "alea",
    "aligned_sacct",
    "archive",
    "arrays",
    "files_of",
    "json_sacct",
    "json_squeue",
    "network",
    "results",
    "sacct",
    "sacct_texts",
    "sequence",
    "slurm_error",
    "squeue",
    "table",
    "zip_archive",
]

#: Size of the machine of the job table.
NODES = 16
#: Runtimes of past runs, as ``plan --runs`` reads them.
RUNS = b"# of an application\n" + b"".join(b"%d.5\n" % (3600 + 137 * (n * n % 11)) for n in range(12)) + b"1h30m\n"
#: Files of sweeps, which between them have every key.
SWEEPS = (
    b'mechanisms = ["baseline", "CUA&SPAA"]\nvary = "product"\n[workload]\nseeds = "0:2"\njobs = 8\n'
    b'[assignment]\nnotice_mix = ["W1", "W5"]\noverheads = "inside"\n[options]\ntenants = "any"\n'
    b'[measure]\ninstant_tolerance = "120s"\nwarmup = "0s"\ncooldown = 0\n',
    b'mechanisms = "baseline"\nvary = "one-at-a-time"\n[workload]\ntraces = [{path = "a.swf", nodes = 4392}]\n'
    b"lenient = true\n"
    b'[assignment]\nseeds = [0, 1]\nnode_mtbf = ["5y", "1y"]\nshares = [0.6, 0.1, 0.3]\nmin_share = 0.2\n'
    b"notice_mix = [0.25, 0.25, 0.25, 0.25]\nstochastic_share = 0.5\n"
    b'[options]\norder = "fcfs"\nbackfilling = ["easy", "none"]\nwarning = "2m"\ntimeout = 600\nseed = 1\n',
)
#: A site's configuration, and what scontrol prints of its nodes and partitions.
SITE = {
    "slurm.conf": b"# A site.\nClusterName=big\nSchedulerType=sched/backfill\n"
    b"SchedulerParameters=bf_window=2880,bf_max_job_test=300,\\\nbf_busy_nodes,bf_interval=60\n"
    b"PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityWeightJobSize=100\nPriorityMaxAge=7-0\n"
    b"PriorityWeightFairshare=500\nPriorityDecayHalfLife=14-0\nPriorityFavorSmall=YES\nSelectType=select/cons_tres\n"
    b"AccountingStorageEnforce=associations,limits\nInclude other.conf\nNodeName=DEFAULT RealMemory=1000\n"
    b"NodeName=a[001-100],b[1-4] CPUs=64\nNodeName=g[1-2] Gres=gpu:4 State=DOWN\n"
    b"PartitionName=batch Nodes=a[001-100] MaxTime=1-0 PriorityTier=2\nPartitionName=gpu Nodes=g[1-2] QOS=part\n",
    "shown.txt": b"NodeName=n1 Arch=x86_64 CoresPerSocket=1 \n   CPUAlloc=1 CPUTot=1\n   Gres=gpu:2\n"
    b"   OS=Linux 6.1 #1\n   RealMemory=1000 State=IDLE+DRAIN Weight=1\n\nPartitionName=batch\n"
    b"   AllowGroups=ALL QoS=N/A\n   MaxTime=1-00:00:00 OverSubscribe=FORCE:4\n   State=UP TotalNodes=16\n",
}
#: Measured runs of a chain of tasks, and walltimes of an application.
TASKS = {
    "tasks.csv": b"run,task,duration_s,peak_mem_kib,mean_mem_kib\n"
    + b"".join(
        b"r%d,%d,%d.5,%d,%d\n" % (r, t, 100 * t + 7 * r, 4e6 * t + r, 3e6 * t) for r in range(6) for t in (1, 2, 3)
    ),
    "makespans.csv": b"run,dataset,makespan_s,size_mb,input\n"
    + b"".join(
        b"r%d,%s,%d.25,%d,i%d\n" % (r, b"AB"[r % 2 : r % 2 + 1], 3000 + 211 * (r * r % 7), 10 + r, r // 2)
        for r in range(9)
    ),
}


def table() -> list[Job]:
    """A few jobs of every type, which meet each other."""
    return [
        rigid(1, 0, 8, 7200, 9000, setup=400, interval=1500, cost=100, user="ada", project="climate"),
        malleable(2, 60, 10, 5400, 7200, min_nodes=2, setup=200, user="bob", project="screening"),
        rigid(3, 300, 6, 3600, user="ada", project="climate", killed=True),
        on_demand(4, 2400, 9, 1800, 3600, notice=1200, estimated=2400, user="eve", project="beamline"),
        on_demand(5, None, 4, 600, notice=3000, estimated=4000),
        stochastic(6, 100, 4, 9000, "optimal", walltime=7200),
        stochastic(7, 4000, 4, 5000, "optimal", walltime=7200),
        rigid(8, 5000, 16, 1200, 1500),
    ]


def alcf() -> bytes:
    """A log as the ALCF publishes them."""
    lines = [
        "JOB_NAME,COBALT_JOBID,MACHINE_NAME,QUEUED_TIMESTAMP,START_TIMESTAMP,END_TIMESTAMP,USERNAME_GENID,"
        "PROJECT_NAME_GENID,QUEUE_NAME,WALLTIME_SECONDS,RUNTIME_SECONDS,NODES_USED,NODES_REQUESTED"
    ]
    for n in range(8):
        times = f"2019-01-31 {10 + n}:00:00,2019-02-01 {10 + n}:0{n}:00.5,2019-02-01 {11 + n}:0{n}:00.5"
        lines.append(
            f"{n}.theta,{300001 + n},theta,{times},U{n % 3},P{n % 2},default,7200.0,{3600.25 + 10 * n},"
            f"{128.0 * (1 + n)},{130.0 + n}"
        )
    return "\n".join(lines).encode() + b"\n"


def columns() -> bytes:
    """A table of jobs with the columns of PM100, as CSV."""
    lines = ["job_id,submit_time,start_time,end_time,time_limit,num_nodes_alloc,num_cores_alloc,user_id,job_state"]
    for n in range(8):
        times = f"2020-05-01 {10 + n}:00:00+00:00,2020-05-01 {10 + n}:0{n}:00+00:00,{1588350000 + 3600 * n}"
        lines.append(
            f"{n},{times},{60 * (1 + n)},{1 + n},{32 * (1 + n)},{n % 3},{'TIMEOUT' if n == 3 else 'COMPLETED'}"
        )
    return "\n".join(lines).encode() + b"\n"


def sacct() -> bytes:
    """Accounting of Slurm as ``sacct -P`` prints it."""
    names = "JobIDRaw|JobID|User|Account|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS"
    states = ("COMPLETED", "TIMEOUT", "CANCELLED by 1001", "FAILED", "COMPLETED", "RUNNING", "PENDING", "NODE_FAIL")
    rows = [names]
    for n, state in enumerate(states):
        submit = 1_700_000_000 + 500 * n
        begin, end = ("Unknown", "Unknown") if state == "PENDING" else (submit + 100, submit + 3700)
        name = f"{1000 + n}" if n != 4 else "990_7"
        rows.append(
            f"{1000 + n}|{name}|u{n % 3}|a{n % 2}|batch|{state}|{submit}|{submit}|{begin}|{end}|3600|"
            f"{120 if n else 'UNLIMITED'}|{1 + n}|{64 * (1 + n)}"
        )
    return "\n".join(rows).encode() + b"\n"


def sacct_texts() -> bytes:
    """The same with texts of users, which hold separators and line breaks."""
    names, *rows = sacct().decode().splitlines()
    texts = (("run", "", "sbatch a"), ("a|b", "x|y|", "run | tee"), ("a\nb", "", "E\n#!/bin/sh\nE"), ("|", "\n|", "|"))
    lines = [f"{names}|JobName|ExitCode|Comment|SubmitLine"]
    for place, row in enumerate(rows):
        name, comment, command = texts[place % len(texts)]
        lines.append(f"{row}|{name}|0:0|{comment}|{command}")
    return "\n".join(lines).encode() + b"\n"


def slurm_error() -> bytes:
    """What ``sacct --json`` prints where there is no database."""
    error = {"description": "Query failed", "error_number": 7000, "error": "Unable to connect", "source": "jobs_get"}
    return json.dumps({"meta": {"plugin": {"type": "openapi/dbv0.0.38"}}, "errors": [error], "jobs": []}).encode()


def alea() -> bytes:
    """A log of Alea, with its columns after the 18."""
    lines = [
        f"{n} {1356996147 + 300 * n} {20 * n} {600 + n} {2 + n} 1 1024 {2 + n} 3600 -1 1 {n % 3} 1 1 -1 1 1 1 "
        f"{{{','.join(['12'] * (2 + n))}}} q_1d 1:ppn={2 + n}:x86_64#excl"
        for n in range(8)
    ]
    return "\n".join(lines).encode() + b"\n"


#: The machine of that log.
MACHINES = b"0\tzewura\t2\t16\t1\t529426432\n1\tzegox\t8\t4\t1\t94035968\n"
#: Outages of the machine of the accounting, which counts from 1970.
DATED_OUTAGES = (
    b"kind,start,end,nodes,announced,jobs\nmaintenance,2023-11-14T22:30,2023-11-15 04:00,all,2023-11-14,\n"
    b"reservation,1700020800,2023-11-15T04:30+00:00,4,,990_7;1001\nfailure,2023-11-14,2023-11-15,2,,\n"
)


def aligned_sacct() -> bytes:
    """The same, as ``sacct`` aligns it under dashes: a cell that is too long ends in a plus."""
    rows = [line.split("|") for line in sacct().decode().splitlines()]
    cut = [[cell if len(cell) <= 12 else f"{cell[:11]}+" for cell in row] for row in rows[1:]]
    lines = [rows[0], ["-" * 12] * len(rows[0]), *cut]
    return "".join(" ".join(f"{cell:>12}" for cell in line) + " \n" for line in lines).encode()


def squeue() -> bytes:
    """The queue that follows on this accounting, as ``squeue -o`` prints it."""
    rows = ["JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON"]
    now = 1_700_010_000
    for n, state in enumerate(("RUNNING", "RUNNING", "PENDING", "PENDING", "PENDING", "COMPLETING")):
        name = "2003_[1-3,7]" if n == 3 else str(2000 + n)
        start = "N/A" if state == "PENDING" else str(now - 300 + n)
        limit = ("1:30:00", "2-00:00:00", "30:00")[n % 3]
        reason = "Priority" if n != 4 else "Dependency"
        rows.append(f"{name}|{state}|{now - 600 + n}|{start}|{limit}|{1 + n}|u{n % 3}|a{n % 2}|{reason}")
    return "\n".join(rows).encode() + b"\n"


def json_squeue() -> bytes:
    """The same, as ``squeue --json`` prints it; every second job as newer versions of Slurm do."""
    jobs = []
    names, *rows = (line.split("|") for line in squeue().decode().splitlines())
    for place, row in enumerate(rows):
        cells = dict(zip(names, row, strict=True))
        whole, _, tasks = cells["JOBID"].partition("_")
        start = None if cells["START_TIME"] == "N/A" else int(cells["START_TIME"])
        jobs.append(
            {
                "job_id": int(whole),
                "array_job_id": int(whole) if tasks else 0,
                "array_task_id": {"set": False, "infinite": False, "number": 0} if place % 2 else None,
                "array_task_string": tasks.strip("[]"),
                "job_state": [cells["STATE"]] if place % 2 else cells["STATE"],
                "state_reason": cells["REASON"],
                "submit_time": int(cells["SUBMIT_TIME"]),
                "start_time": {"set": True, "infinite": False, "number": start} if place % 2 else start or 0,
                "time_limit": 90,
                "node_count": int(cells["NODES"]),
                "user_name": cells["USER"],
                "account": cells["ACCOUNT"],
            }
        )
    return json.dumps({"jobs": jobs, "meta": {}}, indent=1).encode()


def json_sacct() -> bytes:
    """The same, as ``sacct --json`` prints it; every second job as newer versions of Slurm do."""
    jobs = []
    names, *rows = (line.split("|") for line in sacct().decode().splitlines())
    for place, row in enumerate(rows):
        cells = dict(zip(names, row, strict=True))
        new = place % 2 == 1
        minutes = int(cells["TimelimitRaw"]) if cells["TimelimitRaw"].isdecimal() else None
        state = cells["State"].split()[0]
        whole, _, task = cells["JobID"].partition("_")
        jobs.append(
            {
                "job_id": int(cells["JobIDRaw"]),
                "array": {"job_id": int(whole) if task else 0, "task_id": int(task) if task else None, "task": None},
                "het": {"job_id": 0, "job_offset": None},
                **{key: cells[name] for key, name in (("user", "User"), ("account", "Account"))},
                "partition": cells["Partition"],
                "state": {"current": [state] if new else state},
                "time": {
                    **{
                        key: int(cells[name]) if cells[name].isdecimal() else 0
                        for key, name in (("submission", "Submit"), ("start", "Start"), ("end", "End"))
                    },
                    "elapsed": int(cells["ElapsedRaw"]),
                    "limit": {"set": True, "infinite": False, "number": minutes} if new else minutes,
                },
                "allocation_nodes": int(cells["NNodes"]),
                "tres": {"allocated": [{"type": "cpu", "count": int(cells["NCPUS"])}]},
                "nodes": "n[1-8]",
            }
        )
    return json.dumps({"jobs": jobs, "meta": {}}, indent=1).encode()


def _main(line: str) -> None:
    """Run a command that must succeed."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        status = cli.main(line.split())
    if status != 0:
        raise RuntimeError(f"the seeds of the fuzzer need 'holdfast {line}', which failed: {errors.getvalue()}")


@contextlib.contextmanager
def _elsewhere(files: Mapping[str, bytes]) -> Iterator[Path]:
    """A temporary directory with these files as the current one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            for name, data in files.items():
                Path(name).write_bytes(data)
            yield Path(directory)
        finally:
            os.chdir(before)


def _tree(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


@cache
def files_of(kind: str) -> dict[str, bytes]:
    """Seeds by kind: ``trace``, ``table``, ``plan``, ``costs``."""
    with _elsewhere({}) as directory:
        if kind == "trace":
            _main("generate -o a.swf --jobs 9 --seed 4")
        elif kind == "table":
            write_job_table(table(), "table.csv")
            write_job_table(table(), "table.parquet")
            outages = [
                Outage(OutageKind.MAINTENANCE, 3000, 9000, 8, announced=0, name="cooling"),
                Outage(OutageKind.FAILURE, 1000, 2000, 1, place=0.25),
                Outage(OutageKind.RESERVATION, 12000, 15000, 4, users=("ada",)),
            ]
            write_outages(outages, "outages.csv")
        elif kind == "plan":
            _main("plan uniform --min 1h --max 20h --n 8 --checkpoint 60 --json plan.json")
        else:
            write_job_table(
                [rigid(n, 100 * n, 8 + n % 3, 900 * (1 + n % 4), 1000 * (1 + n % 4)) for n in range(1, 40)], "t.csv"
            )
            _main("run t.csv -o r --mechanism baseline --nodes 16")
            _main("fit-costs r -o costs.json --classes 8")
            return {"costs.json": Path("costs.json").read_bytes()}
        return _tree(directory)


@cache
def results() -> dict[str, bytes]:
    """A directory of ``holdfast run --events``, with what it was made from."""
    with _elsewhere(files_of("table")) as directory:
        _main(f"run table.csv -o r --mechanism CUA&SPAA,baseline --events --nodes {NODES}")
        return {name: data for name, data in _tree(directory).items() if name.startswith("r/") or name == "table.csv"}


@cache
def archive() -> bytes:
    """An archive of an experiment, measured with a file of data."""
    with _elsewhere(TASKS) as directory:
        item = find_experiment("profiles-table1")
        parameters = replace(item.quick, tasks=str(directory / "tasks.csv"))
        measure_experiment(item, parameters, 0, directory, "0")
        write_artefact(directory, [item.id], directory / "a.zip")
        return (directory / "a.zip").read_bytes()


@cache
def network() -> bytes:
    """A network as ``learned model=m.npz`` reads it."""
    return zip_archive(arrays())


@cache
def arrays() -> dict[str, bytes]:
    """Its arrays, as files of the archive."""
    made = {"inner": np.ones((4, 2)), "inner_bias": np.zeros(2), "outer": np.ones(2)}
    found = {}
    for name, values in made.items():
        file = io.BytesIO()
        np.save(file, values)
        found[f"{name}.npy"] = file.getvalue()
    return found


def zip_archive(files: Mapping[str, bytes]) -> bytes:
    """An archive of these files; equal content makes equal bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, data in files.items():
            packed.writestr(zipfile.ZipInfo(name), data)
    return file.getvalue()


@cache
def sequence() -> dict[str, bytes]:
    """A directory of ``holdfast submit`` of which two reservations have ended, and what the accounting says."""
    with _elsewhere({}) as directory:
        _main("plan uniform --min 1h --max 20h --n 8 --checkpoint 60 --restart 60 --json plan.json")
        _main("submit plan.json -o s -- true it")
        Path("s/jobs").write_text("1 101\n2 102\n3 103\n")
        Path("s/submitted").touch()
        Path("s/records.tsv").write_text("1\t101\t1000\t9000\tsaved\t85\n2\t102\t9100\t12000\tdone\t0\n")
        Path("s/done").write_text("10000\n")
        Path("s/broken").write_text("")
        Path("sacct.txt").write_text(
            "JobIDRaw|State|ExitCode|Eligible|Start|ElapsedRaw|TimelimitRaw\n"
            "101|FAILED|85:0|2024-01-01T00:00:00|2024-01-01T00:10:00|8000|200\n"
            "102|COMPLETED|0:0|2024-01-01T03:00:00|2024-01-01T03:10:00|2900|200\n"
        )
        return {name: data for name, data in _tree(directory).items() if name != "plan.json"}
