"""GPU clusters: machines and lost GPU-hours worked out by hand, and verdicts from made-up tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.beyond.gpu_clusters import (
    GpuJob,
    build_cluster,
    generate_gpu_jobs,
    gpu_hours,
    read_gpu_jobs,
)
from holdfast.experiments.beyond.gpu_victims import DATASETS, EXPERIMENTS, TODAY, GpuVictims
from holdfast.experiments.figures.study.victim_orders import plot_victim_orders
from holdfast.experiments.study.experiment import Resources, read_tables, run_experiment
from holdfast.experiments.study.simulation_cache import SIX
from holdfast.experiments.study.verdicts import Outcome
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.hybrid.assignment import assign
from tests.shared_data import shared_file
from tests.support.jobs import on_demand, rigid

(EXPERIMENT,) = EXPERIMENTS
MECHANISMS = (*TODAY.values(), *SIX)
HOUR = 3600.0
LOG = """u_id,user,gpu_num,cpu_num,node_num,interval,run_time,wall_time,new_status
0,1,1,1,1,0,600,0,Pass
1,2,0,4,1,50,9000,0,Pass
2,1,8,8,2,50,1200,0,Failed
3,3,20,40,4,100,7200,0,Pass
"""


# Jobs.


def test_generated_jobs_follow_from_their_seed() -> None:
    jobs = generate_gpu_jobs(400, 2.0, 7)
    assert jobs == generate_gpu_jobs(400, 2.0, 7) != generate_gpu_jobs(400, 2.0, 8)
    assert [job.job_id for job in jobs] == list(range(1, 401))
    assert all(job.submit <= other.submit for job, other in pairwise(jobs))
    assert {job.gpus for job in jobs} <= {1, 2, 4, 8, 16, 32, 64}
    assert all(1.0 <= job.runtime <= 14 * 86400.0 for job in jobs)
    with pytest.raises(ParameterError, match="jobs must be at least 1, not 0"):
        generate_gpu_jobs(0, 2.0, 7)


def test_a_log_gives_the_gpus_of_all_nodes_and_leaves_out_jobs_without(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    jobs = [GpuJob(1, 0.0, 1, 600.0, "1"), GpuJob(3, 100.0, 8, 1200.0, "1"), GpuJob(4, 200.0, 20, 7200.0, "3")]
    assert read_gpu_jobs(str(path)) == jobs
    assert read_gpu_jobs(str(path), 2) == jobs[:2]
    path.write_text(LOG.splitlines()[0] + "\n1,2,0,4,1,50,9000,0,Pass\n")
    with pytest.raises(InputError, match="no job requests a GPU"):
        read_gpu_jobs(str(path))


# Machines.


def test_a_cluster_has_the_gpus_that_its_jobs_exceed_for_a_share_of_the_time() -> None:
    """Demand by hand, until the last submit at 100 h.

    ::

        single GPUs   1 of job 1 from 0 to 90 h, 3 more of job 2 from 50 to 54 h, 2 of job 5 from 100 h on
        servers       3 of job 3 (20 GPUs) from 0 to 4 h, 1 of job 4 from 8 to 96 h
    """
    jobs = [
        GpuJob(1, 0.0, 1, 90 * HOUR, "a"),
        GpuJob(3, 0.0, 20, 4 * HOUR, "b"),
        GpuJob(4, 8 * HOUR, 8, 88 * HOUR, "b"),
        GpuJob(2, 50 * HOUR, 3, 4 * HOUR, "a"),
        GpuJob(5, 100 * HOUR, 2, 20 * HOUR, "c"),
    ]
    trace, workload = build_cluster(jobs, 0.05)
    machine = workload.machine
    sizes = {partition.name: len(partition.nodes) for partition in machine.partitions}
    assert sizes == {"servers": 3, "gpus": 3}  # both at least their largest job
    assert (machine.total("gpus"), trace.nodes) == (27, 3)
    assert [(job.nodes, job.partition) for job in trace.jobs] == [
        *((1, "gpus"), (3, "servers"), (1, "servers"), (3, "gpus"), (2, "gpus")),
    ]
    assert [job.walltime / HOUR for job in trace.jobs] == [168, 4, 168, 4, 24]
    # Four single GPUs are in use for 4 % of the time.
    assert len(build_cluster(jobs, 0.03).workload.machine.partition("gpus").nodes) == 4
    pool = build_cluster(jobs, 0.05, shared=True)
    # 21 until 4 h, then at most 12: that for 4 % of the time, and 20 are the least.
    assert {partition.name: len(partition.nodes) for partition in pool.workload.machine.partitions} == {"gpus": 20}
    assert len(build_cluster(jobs, 0.0, shared=True).workload.machine.partition("gpus").nodes) == 21
    assert [job.nodes for job in pool.trace.jobs] == [1, 20, 8, 3, 2]
    assert len(build_cluster(jobs[:1] + jobs[3:], 0.05).workload.machine.partitions) == 1


def test_wrong_clusters_are_refused() -> None:
    jobs = [GpuJob(1, 0.0, 1, HOUR, "a"), GpuJob(2, 5.0, 1, HOUR, "a")]
    with pytest.raises(ParameterError, match="scarce must be at least 0 and below 1, not 1"):
        build_cluster(jobs, 1.0)
    with pytest.raises(ParameterError, match="at least two, submitted at different times"):
        build_cluster(jobs[:1], 0.05)


def test_lost_gpu_hours_count_the_gpus_of_the_partition() -> None:
    """A server that ran for an hour and a GPU that ran for two begin anew; the on-demand jobs run for an hour each."""
    jobs = [GpuJob(1, 0.0, 8, 4 * HOUR, "a"), GpuJob(2, 0.0, 1, 4 * HOUR, "a"), GpuJob(3, 1.0, 16, HOUR, "b"),
            GpuJob(4, 2.0, 2, HOUR, "b")]  # fmt: skip
    _, workload = build_cluster(jobs, 0.5)
    assert {partition.name: len(partition.nodes) for partition in workload.machine.partitions} == {
        "servers": 2, "gpus": 2,
    }  # fmt: skip
    table = [
        replace(rigid(1, 0, 2, 4 * HOUR), partition="servers"), replace(rigid(2, 0, 2, 4 * HOUR), partition="gpus"),
        replace(on_demand(3, HOUR, 1, HOUR), partition="servers"),
        replace(on_demand(4, 2 * HOUR, 1, HOUR), partition="gpus"),
    ]  # fmt: skip
    requests = tuple(item._replace(nodes=job.nodes) for item, job in zip(workload.requests, table, strict=True))
    result = simulate(
        table, workload.machine.size, "N-PAA", events=False, on_machine=replace(workload, requests=requests)
    )
    hours = gpu_hours(result, workload.machine)
    lost = 2 * 8 * 1 + 2 * 1 * 2
    assert hours == {"used": 2 * 9 * 4 + 9 + lost, "lost": lost, "held": 0}


# Verdicts.


def rows(dataset: str, **changes: dict[str, float]) -> list[dict[str, Any]]:
    """Four traces; by metric, what is added to it under some mechanisms."""
    return [
        {
            "dataset": dataset, "trace": trace, "mechanism": name, "gpu_hours": 1000.0, "held_gpu_share": 0.0,
            **{
                metric: level + changes.get(metric, {}).get(name, 0.0) * (1 + 0.02 * trace) + 0.001 * trace
                for metric, level in (("lost_gpu_share", 0.3), ("instant_start_ratio", 0.9),
                                      ("instant_start_ratio_strict", 0.5), ("turnaround_h", 5.0))
            },
        }
        for trace in range(4)
        for name in MECHANISMS
    ]  # fmt: skip


def outcomes(*tables: list[dict[str, Any]]) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for verdict in EXPERIMENT.judge({"": [row for table in tables for row in table]}):
        (dataset,) = [name for name, title in DATASETS.items() if verdict.claim.startswith(f"On {title}:")]
        found.setdefault(dataset, []).append(verdict.outcome)
    return found


def test_verdicts_come_from_the_tables() -> None:
    ours = dict.fromkeys(("N-PAA", "N-SPAA"), -0.1)
    older = {TODAY["oldest"]: 0.1, TODAY["lowest priority"]: 0.05}
    noticed = {name: -0.2 for name in SIX if not name.startswith("N-")}
    better = rows(
        "generated",
        lost_gpu_share=ours | older | noticed,
        instant_start_ratio_strict={"CUP-SPAA": 0.1},
        turnaround_h={"CUP-SPAA": -1.0},
    )
    assert outcomes(better) == {
        "generated": [Outcome.HOLDS] * 7,
        "pooled": [Outcome.NOT_COMPARABLE] * 2,
        **dict.fromkeys(("helios", "philly"), [Outcome.NOT_COMPARABLE] * 5),
    }
    worse = rows(
        "generated",
        lost_gpu_share={name: -change for name, change in (ours | older | noticed).items()},
        instant_start_ratio={"N-SPAA": 0.03},
        instant_start_ratio_strict={TODAY["oldest"]: 0.1},
        turnaround_h={TODAY["youngest"]: -1.0},
    )
    assert outcomes(worse, [{**row, "dataset": "philly"} for row in better]) == {
        "generated": [Outcome.FAILS] * 7,
        "pooled": [Outcome.NOT_COMPARABLE] * 2,
        "helios": [Outcome.NOT_COMPARABLE] * 5,
        "philly": [Outcome.HOLDS] * 5,
    }


def test_the_figure_shows_paired_differences() -> None:
    """A point below, and an hour of five above the youngest, in the same way in each trace."""
    other = rows("generated", lost_gpu_share={"N-SPAA": -0.01}, turnaround_h={"N-SPAA": 1.0})
    figure = plot_victim_orders(other, DATASETS, {name: f"the {title}" for title, name in TODAY.items()})
    lost, _, turnaround = figure.axes
    labels = [label.get_text() for label in lost.get_yticklabels()]
    assert labels == ["the oldest", "the lowest priority", *SIX]
    place = labels.index("N-SPAA")
    means = [
        float(line.get_xdata()[0])
        for axes in (lost, turnaround)
        for line in axes.get_lines()
        if len(line.get_xdata()) == 1 and round(line.get_ydata()[0]) == place
    ]
    assert means == pytest.approx([-1.03, 20.6], rel=0.01)
    with pytest.raises(InputError, match="there are no simulations to draw"):
        plot_victim_orders([], DATASETS, {"N-PAA": "x"})


# From end to end.


@pytest.mark.system
def test_from_end_to_end_with_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(LOG + "".join(f"{n},{n % 7},{1 + n % 9},1,1,60,{100 * n % 900 + 60},0,Pass\n" for n in range(4, 90)))
    small = GpuVictims(jobs=150, days=0.5, traces=2, most_jobs=60, helios=str(log))
    verdicts = run_experiment(EXPERIMENT, small, 3, tmp_path / "out", "0", workers=1)
    found = read_tables("beyond-gpu", tmp_path / "out")[""]
    assert len(found) == 3 * 2 * len(MECHANISMS)
    (row,) = [
        row for row in found if (row["dataset"], row["trace"], row["mechanism"]) == ("helios", 4, TODAY["oldest"])
    ]
    trace, workload = build_cluster(read_gpu_jobs(str(log), 60), 0.05)
    table = assign(trace, seed=4, group_by="user", notice_mix="W5", node_mtbf=54 * 86400.0 * 2048 / 419)
    result = simulate(table, workload.machine.size, TODAY["oldest"], events=False, on_machine=workload)
    assert row["turnaround_h"] == pytest.approx(summarize(result)["turnaround_h"], rel=1e-12)
    hours = gpu_hours(result, workload.machine)
    assert row["lost_gpu_share"] == pytest.approx(hours["lost"] / hours["used"], rel=1e-12)
    open_ones = [verdict.claim for verdict in verdicts if "no log was given" in verdict.remark]
    assert len(open_ones) == 5 and all("Philly" in claim for claim in open_ones)
    assert (tmp_path / "out" / "beyond-gpu.png").exists()
    with pytest.raises(ParameterError, match="traces must be at least 2"):
        GpuVictims(traces=1)


@pytest.mark.system
def test_the_real_logs(tmp_path: Path) -> None:
    logs = {name: str(shared_file("gpu", f"{name}_data_training.csv")) for name in ("helios", "philly")}
    small = GpuVictims(jobs=100, days=0.5, traces=2, most_jobs=200, **logs)
    tables = EXPERIMENT.measure(small, 0, Resources(tmp_path, workers=1))
    assert {row["dataset"] for row in tables[""]} == set(DATASETS)
    assert all(row["turnaround_h"] > 0 and 0 <= row["lost_gpu_share"] < 1 for row in tables[""])
