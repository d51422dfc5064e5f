"""With a warmup, a cooldown or a starting state, all tables of a run are of the jobs that its summary is of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import holdfast as hf
from holdfast.experiments.cli import main
from holdfast.experiments.tables import read_csv
from holdfast.experiments.timelines.distributions import distribution_rows
from holdfast.experiments.timelines.paired_contrasts import contrast_rows
from holdfast.simulator.results.measured_simulation import MeasuredWindow
from holdfast.workloads.table.job_table import write_job_table
from tests.support.jobs import rigid

WARMUP, COOLDOWN = 1000.0, 500.0
#: Long and short jobs that wait behind each other, more and more; the last submit is at 1,990 s.
JOBS = [rigid(number, 10.0 * number, 4, 30 if number % 2 else 55, 60, user="ada") for number in range(200)]


def is_measured(submit: float) -> bool:
    return WARMUP <= submit <= 1990 - COOLDOWN


def hand_mean(place: Path, run: str) -> float:
    """Mean wait [h] of the measured jobs, from the table of jobs."""
    rows = read_csv(place / f"jobs-{run}.csv")
    return float(np.mean([float(row["wait"]) for row in rows if is_measured(float(row["submit"]))])) / 3600


def test_quantiles_and_differences_are_of_the_measured_jobs() -> None:
    results = list(hf.simulate_each(JOBS, 8, order=["fcfs", "sjf"], events=False).values())
    window = MeasuredWindow(WARMUP, COOLDOWN)
    waits = [[row.wait / 3.6e9 for row in one.records if is_measured(row.submit / 1e6)] for one in results]
    extremes = [row["value"] for row in distribution_rows(results, window) if row["quantile"] in (0.0, 1.0)]
    assert [extremes[0], extremes[1]] == pytest.approx([min(waits[0]), max(waits[0])])
    means = {row["label"]: row for row in contrast_rows(results, window=window) if row["metric"] == "wait_h"}
    assert means["fcfs"]["value"] == pytest.approx(np.mean(waits[0]))
    assert means["sjf"]["difference"] == pytest.approx(np.mean(waits[1]) - np.mean(waits[0]))


def test_comparisons_are_of_the_measured_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_job_table(JOBS, tmp_path / "jobs.csv")
    table, out = str(tmp_path / "jobs.csv"), tmp_path / "out"
    options = ["--nodes", "8", "--warmup", str(WARMUP), "--cooldown", str(COOLDOWN), "--order", "fcfs,sjf"]
    assert main(["run", table, "-o", str(out), *options]) == 0
    jobs = sum(is_measured(job.submit) for job in JOBS if job.submit is not None)
    output = capsys.readouterr().out
    assert f"measured: {jobs} jobs, without those of a warmup" in output
    assert "node-hours by use, and the use of partitions and resources, are those of the whole run" in output
    picture = ["picture", "waits", str(out), "--mechanism", "fcfs", "-o", str(tmp_path / "waits")]
    for window, whole in ([], True), (["--from", str(WARMUP)], False):
        assert main([*picture, *window]) == 0
        assert ("drawn: the whole run, with its warmup and cooldown" in capsys.readouterr().out) is whole
    assert main(["compare", str(out), "-o", str(tmp_path / "both")]) == 0
    assert f"left out: {200 - jobs} jobs of a warmup" in capsys.readouterr().out
    row = next(row for row in read_csv(tmp_path / "both.csv") if row["metric"] == "wait_h")
    assert int(row["jobs"]) == jobs
    assert [float(row["first"]), float(row["second"])] == pytest.approx([hand_mean(out, "fcfs"), hand_mean(out, "sjf")])
    summary = [float(row["wait_h"]) for row in read_csv(out / "summary.csv")]
    assert summary == pytest.approx([hand_mean(out, "fcfs"), hand_mean(out, "sjf")])


def test_jobs_before_a_starting_state_are_not_compared() -> None:
    before = [rigid(1, 0.0, 8, 100, running_since=20.0), rigid(2, 10.0, 8, 100)]
    later = [rigid(number, 10.0 * number, 8, 100) for number in range(3, 6)]
    result = hf.simulate([*before, *later], 8, events=False)
    found = hf.compare(result, result)
    assert found.of()[0]["jobs"] == result.summary()["jobs"] == 3
    assert found.unmeasured == 2


@pytest.mark.parametrize("exclusive", ["true", "false"])
@pytest.mark.parametrize("mechanism", ["baseline", "CUA-SPAA"])
def test_waits_by_partition_are_of_the_measured_jobs(tmp_path: Path, exclusive: str, mechanism: str) -> None:
    """Partitions that are pools of whole nodes are simulated otherwise than others."""
    machine = tmp_path / "machine.toml"
    machine.write_text(
        f'nodes = [{{names = "n[1-8]", cores = 1}}]\n'
        f'partitions = [{{name = "a", nodes = "ALL", default = true, exclusive = {exclusive}}}]\n'
    )
    log = tmp_path / "log.txt"
    # A start at 0 is that of a job that never started.
    times = [int(job.submit or 0) + 5000 for job in JOBS]
    rows = [f"{job.job_id}|{time}|{time}|{int(job.runtime)}" for job, time in zip(JOBS, times, strict=True)]
    lines = "".join(f"{row}|1|4|COMPLETED|ada|p{number % 9}|cpu=4,node=4\n" for number, row in enumerate(rows))
    log.write_text("JobID|Submit|Start|ElapsedRaw|TimelimitRaw|NNodes|State|User|Account|ReqTRES\n" + lines)
    out = tmp_path / "out"
    window = ["--warmup", str(WARMUP), "--cooldown", str(COOLDOWN)]
    assert main(["run", str(log), "--machine", str(machine), "-o", str(out), "--mechanism", mechanism, *window]) == 0
    (row,) = read_csv(out / "partitions.csv")
    jobs = read_csv(out / f"jobs-{mechanism}.csv")
    waits = [float(job["wait"]) for job in jobs if is_measured(float(job["submit"]) - 5000)]
    assert int(row["jobs"]) == len(waits) == int(read_csv(out / "summary.csv")[0]["jobs"])
    assert (float(row["mean_wait"]), float(row["longest_wait"])) == pytest.approx((np.mean(waits), max(waits)))
