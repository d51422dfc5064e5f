"""What the pages of the documentation take as given: small files under the names that they use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.logs.trace import TraceJob
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.documentation.session import ROOT


@cache
def _trace(jobs: int) -> bytes:
    path = Path("given.swf.gz")
    write_swf(generate(ThetaYear(jobs=jobs), seed=0), path)
    text = path.read_bytes()
    path.unlink()
    return text


def trace(path: Path) -> None:
    """A Theta-like trace of some days."""
    path.write_bytes(_trace(200))


def busy(path: Path) -> None:
    """One that is long enough for preemptions."""
    path.write_bytes(_trace(400))


def seconds(path: Path) -> None:
    """Past runtimes as an accounting prints them."""
    hours = np.random.default_rng(0).lognormal(1.0, 0.5, size=80)
    path.write_text("".join(f"{3600 * hour:.0f}\n" for hour in hours))


def _parquet(path: Path, **columns: Callable[[TraceJob], float]) -> None:
    """A table with a row for each of some jobs; times begin on a day in 2021."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    jobs = [job for job in generate(ThetaYear(jobs=60), seed=0).jobs if job.nodes <= 980]
    pq.write_table(pa.table({name: [value(job) for job in jobs] for name, value in columns.items()}), path)


def marconi(path: Path) -> None:
    """As PM100 has it, where limits are in minutes."""
    _parquet(
        path,
        submit_time=lambda job: 1.6e9 + job.submit,
        start_time=lambda job: 1.6e9 + job.submit + 60,
        end_time=lambda job: 1.6e9 + job.submit + 60 + job.runtime,
        time_limit=lambda job: job.walltime / 60,
        num_nodes_alloc=lambda job: job.nodes,
    )


def fugaku(path: Path) -> None:
    """As F-DATA has it."""
    _parquet(
        path,
        adt=lambda job: 1.6e9 + job.submit,
        sdt=lambda job: 1.6e9 + job.submit + 60,
        edt=lambda job: 1.6e9 + job.submit + 60 + job.runtime,
        elpl=lambda job: job.walltime,
        nnumr=lambda job: job.nodes,
    )


_SITE = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-20] Sockets=2 CoresPerSocket=8 RealMemory=64000 Feature=opa Weight=10
NodeName=g[1-4] CPUs=32 RealMemory=256000 Gres=gpu:v100:2
PartitionName=batch Nodes=n[01-20] Default=YES MaxTime=1-00:00:00
PartitionName=gpu Nodes=g[1-4] PriorityTier=10 OverSubscribe=EXCLUSIVE
"""


def site(path: Path) -> None:
    """A small site's configuration."""
    path.write_text(_SITE)


def config(path: Path) -> None:
    """As ``scontrol show config`` prints it."""
    path.write_text("Configuration data as of 2026-01-01T00:00:00\nSelectType              = select/cons_tres\n")


def shown_nodes(path: Path) -> None:
    """As ``scontrol show node`` prints them."""
    path.write_text("NodeName=n1 Arch=x86_64\n   CPUTot=16 RealMemory=64000\n   State=IDLE Partitions=batch\n")


def shown_partitions(path: Path) -> None:
    """As ``scontrol show partition`` prints them."""
    path.write_text("PartitionName=batch\n   Default=YES MaxTime=UNLIMITED\n   Nodes=n1 PriorityTier=1\n")


def sinfo(path: Path) -> None:
    """As ``sinfo -e -o`` prints it."""
    path.write_text("NODELIST|PARTITION|CPUS|MEMORY|GRES|AVAIL_FEATURES|WEIGHT|TIMELIMIT|STATE\n"
                    "n1|batch*|16|64000|(null)|opa|1|infinite|idle\n")  # fmt: skip


def write_wait_log(path: Path) -> None:
    """A log that records waits."""
    import gzip

    rows = [f"{job} {10 * job} 5 100 4 -1 -1 4 200 -1 1 7 8 -1 1 2 -1 -1" for job in range(1, 9)]
    with gzip.open(path, "wt") as file:
        file.write("\n".join(rows))


def machine(path: Path) -> None:
    """A machine of two partitions, as ``holdfast machine`` writes it."""
    path.write_text(
        '[[nodes]]\nnames = "n[1-4]"\ncores = 8\n[[partitions]]\nname = "a"\nnodes = "ALL"\n'
        '[[partitions]]\nname = "b"\nnodes = "n1"\n'
    )


def write_sacct_log(path: Path) -> None:
    """Two jobs as ``sacct`` prints them."""
    path.write_text(
        "JobID|Submit|Start|End|State|Timelimit|User|Partition|NNodes|ReqTRES\n"
        "1|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|COMPLETED|02:00:00|a|a|1|cpu=3,node=1\n"
        "2|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|COMPLETED|02:00:00|a|b|1|cpu=3,node=1\n"
    )


GIVEN: dict[str, dict[str, Callable[[Path], None]]] = {
    "docs/commands.md": {
        **{"year.swf.gz": trace, "log.txt": write_sacct_log},
        **dict.fromkeys(("machine.toml", "larger.toml"), machine),
    },
    "docs/guides/first-day.md": {"log.swf.gz": busy, "runtimes.txt": seconds},
    "docs/guides/machine.md": {
        **{"slurm.conf": site, "config.txt": config, "nodes.txt": shown_nodes, "partitions.txt": shown_partitions},
        **{"sinfo.txt": sinfo, "log.swf.gz": write_wait_log},
    },
    "docs/guides/parquet.md": {"job_table.parquet": marconi, "21_04.parquet": fugaku},
    "docs/interchange.md": {"theta.swf.gz": busy},
}


def provide(page: Path) -> None:
    """Write what a page takes as given into the working directory."""
    for name, write in GIVEN.get(page.relative_to(ROOT).as_posix(), {}).items():
        write(Path(name))
