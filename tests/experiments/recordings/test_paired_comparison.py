"""Two results of the same jobs: paired differences, groups that gain and lose, and refusals of other jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import holdfast as hf
from holdfast.experiments.cli import main
from holdfast.experiments.recordings.gain_rows import gain_rows
from holdfast.experiments.recordings.job_groups import group_names
from holdfast.experiments.recordings.paired_comparison import Gains, gains
from holdfast.experiments.statistics import interval
from holdfast.experiments.tables import read_csv
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.job_table import write_job_table
from tests.support.jobs import rigid

DAY = 86_400
#: Every day for 30 days: a wide job keeps the machine for an hour, then a long and a short job wait; the short one was
#: submitted later, and its user gains under shortest-first what the long one's loses.
JOBS = [
    job
    for day in range(30)
    for job in (
        rigid(3 * day + 1, DAY * day, 8, 3600, 3600, user="wide", project="p"),
        rigid(3 * day + 2, DAY * day + 10, 8, 7200 + 60 * day, 9000, user="long", project="p"),
        rigid(3 * day + 3, DAY * day + 20, 8, 600 + 10 * day, 900, user="short"),
    )
]


@pytest.fixture(scope="module")
def pair() -> tuple[hf.Result, hf.Result]:
    results = hf.simulate_each(JOBS, 8, order=["fcfs", "sjf"], events=False)
    return results["fcfs"], results["sjf"]


def test_differences_are_those_of_the_same_jobs(pair: tuple[hf.Result, hf.Result]) -> None:
    found = hf.compare(*pair, by="user")
    assert isinstance(found, Gains)
    rows = {row["group"]: row for row in found.of("wait_h")}
    assert list(rows) == ["all jobs", "long", "wide", "short"]
    assert [rows[name]["verdict"] for name in ("long", "wide", "short")] == ["loses", "equal", "gains"]
    # The short job overtakes the long one: that waits for it, and it does not wait for that.
    days = np.arange(30)
    assert rows["long"]["difference"] == pytest.approx(np.mean(600 + 10 * days) / 3600)
    assert rows["short"]["difference"] == pytest.approx(-np.mean(7200 + 60 * days) / 3600)
    assert (rows["long"]["longer"], rows["short"]["shorter"], rows["wide"]["longer"]) == (1.0, 1.0, 0.0)
    waits = [pair[side].jobs.set_index("job_id")["wait"] / 3600 for side in (0, 1)]
    assert rows["all jobs"]["first"] == pytest.approx(waits[0].mean())
    assert rows["all jobs"]["second"] == pytest.approx(waits[1].mean())
    # One job of a group each day: the interval is that of independent values.
    assert found.cluster == "day"
    expected = interval((600 + 10 * days) / 3600)
    assert (rows["long"]["low"], rows["long"]["high"]) == pytest.approx((expected.low, expected.high))
    assert found.frame.shape == (3 * 4, 16)


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("project", ["all jobs", "p", "no project"]),
        ("type", ["all jobs", "rigid"]),
        ("size", ["all jobs", "1 to 8 nodes"]),
        ("week", ["all jobs", *(f"week {week}" for week in range(1, 6))]),
        # Thirty days of three jobs within a minute after midnight.
        ("hour", ["all jobs", "00:00"]),
        (None, ["all jobs"]),
    ],
)
def test_jobs_are_grouped(pair: tuple[hf.Result, hf.Result], by: str | None, groups: list[str]) -> None:
    found = gains(*pair, by)
    assert [row["group"] for row in found.of()] == groups
    assert sum(row["jobs"] for row in found.of()[1:]) in (0, 90)


def test_hours_are_those_of_the_clock_of_the_log_in_order() -> None:
    submits = np.array([23.5, 24.0, 47.0]) * 3600
    jobs = JOBS[:3]
    assert group_names("hour", jobs, submits) == ["23:00", "00:00", "23:00"]
    assert group_names("hour", jobs, submits, 1_700_000_000.0) == ["21:00", "22:00", "21:00"]
    table = [rigid(k, 3600.0 * (20 + k), 8, 60) for k in range(1, 8)]
    result = hf.simulate(table, 8)
    # From the first submission on, which is hour 0 of a simulation's clock only if the log says so.
    found = gains(result, result, "hour")
    assert "hours of submission are in" not in found.text()
    dated = replace(result, epoch=1_700_000_000.0)
    assert "\nhours of submission are in UTC\n" in gains(dated, dated, "hour").text()
    hours = [row["group"] for row in found.of()[1:]]
    assert hours == ["00:00", "01:00", "02:00", "03:00", "21:00", "22:00", "23:00"]


def test_sizes_are_in_their_own_order(pair: tuple[hf.Result, hf.Result]) -> None:
    """The smallest jobs lose least, and appear last."""
    jobs = [rigid(k, 100.0 * k, (1024, 128, 8)[k % 3], 60) for k in range(90)]
    results = [hf.simulate(jobs, 1024, order=order, events=False) for order in ("fcfs", "largest")]
    found = gains(*results, "size", ("fcfs", "largest"))
    sizes = ["1 to 8 nodes", "9 to 128 nodes", "129 to 1,024 nodes"]
    assert [row["group"] for row in found.of()[1:]] == sizes
    assert [row["group"] for row in found.rows if row["metric"] == "wait_h"][1:] == sizes
    assert "sizes of submission" not in found.text()


def test_starved_jobs_and_percentiles_are_compared() -> None:
    """Under shortest-first, short jobs that come every 50 minutes for nine days overtake the long one all the time."""
    short = [rigid(k, 3000.0 * (k - 1), 8, 3600, user="short") for k in range(2, 260)]
    table = [rigid(1, 10.0, 8, 7200, user="long"), *short]
    first = hf.simulate([rigid(0, 0.0, 8, 3600), *table], 8, events=False)
    second = hf.simulate([rigid(0, 0.0, 8, 3600), *table], 8, order="sjf", events=False)
    found = gains(first, second, names=("fcfs", "sjf"))
    assert found.starved == (0, 1)
    assert "starved: 1 job of sjf started more than a week after the first start of a later job" in str(found)
    waits = [[record.wait / 3.6e9 for record in result.records] for result in (first, second)]
    row = found.of()[0]
    assert (row["first_p99"], row["second_p99"]) == tuple(pytest.approx(np.quantile(side, 0.99)) for side in waits)
    assert f"{row['first_longest']:,.1f} -> {row['second_longest']:,.1f}" in str(found)


def test_other_jobs_are_refused_in_one_sentence(pair: tuple[hf.Result, hf.Result]) -> None:
    def other(jobs: list[Job]) -> hf.Result:
        return hf.simulate(jobs, 8, events=False)

    for jobs, sentence in (
        ([rigid(91, 0.0, 8, 60)], "fcfs and baseline do not hold the same jobs: none of 90 and 1 jobs has the same id"),
        ([*JOBS[:-1], rigid(90, 1.0, 8, 60)], "do not hold the same jobs: job 90 differs, submit"),
        ([rigid(1, 0.0, 4, 3600, user="wide"), *JOBS[1:]], "do not hold the same jobs: job 1 differs, nodes 8 and 4"),
    ):
        with pytest.raises(InputError, match=sentence):
            hf.compare(pair[0], other(jobs))
    with pytest.raises(InputError, match="unknown group 'usr': did you mean user"):
        hf.compare(*pair, by="usr")
    with pytest.raises(InputError, match="give two results to compare job by job"):
        hf.compare(pair[0], "wait_h")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="by must be left out unless"):
        hf.compare([*pair], by="user")  # type: ignore[call-overload]
    nameless = [rigid(1, 0, 4, 60), rigid(2, 5, 8, 60)]
    with pytest.raises(InputError, match="the jobs name no user: choose another group"):
        hf.compare(other(nameless), other(nameless), by="user")


def test_jobs_of_another_runtime_are_reported(pair: tuple[hf.Result, hf.Result]) -> None:
    longer = [rigid(1, 0.0, 8, 3601, 4000, user="wide"), *JOBS[1:]]
    assert gains(pair[0], pair[0]).remark == ""
    assert (
        gains(pair[0], hf.simulate(longer, 8)).remark == "of the jobs of baseline, 1 has another runtime than in fcfs"
    )


@pytest.mark.parametrize(("gap", "narrow"), [(10.0, True), (86_400.0, False)])
def test_intervals_of_blocks_shorter_than_the_waits_are_doubted(gap: float, narrow: bool) -> None:
    jobs = [rigid(number, gap * number, 8, 600 + number, 1200) for number in range(1, 30)]
    result = hf.simulate(jobs, 8)
    assert ("intervals may be too narrow" in gains(result, result).text()) == narrow


def test_the_command_prints_a_table_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_job_table(JOBS, tmp_path / "jobs.csv")
    out = str(tmp_path / "out")
    assert main(["run", str(tmp_path / "jobs.csv"), "-o", out, "--nodes", "8", "--order", "fcfs,sjf"]) == 0
    capsys.readouterr()
    assert main(["compare", out, "--by", "user", "-o", str(tmp_path / "users")]) == 0
    text = capsys.readouterr().out
    assert "long        30" in text
    assert "difference: sjf minus fcfs [95 % interval, jobs of one day kept together]" in text
    assert len(read_csv(tmp_path / "users.csv")) == 3 * 4
    assert main(["compare", f"{out}:sjf", f"{out}:fcfs", "--metric", "bounded_slowdown"]) == 0
    assert "fcfs minus sjf" in capsys.readouterr().out
    for words, sentence in (
        ([f"{out}:sjf"], "name two results to compare"),
        ([out, out, out], "compares two results, not 3"),
        ([out, out], "choose one with --run"),
        ([f"{out}:wfp3", out], "'wfp3' is not one of them"),
        ([str(tmp_path / "no"), out], "no such directory; a run of one is written as DIR:RUN"),
        ([out, "--metric", "waits"], "unknown metric 'waits': did you mean"),
    ):
        assert main(["compare", *words]) == 2
        assert sentence in capsys.readouterr().err


def test_the_figure_has_a_line_for_each_group(pair: tuple[hf.Result, hf.Result]) -> None:
    left, right = hf.figures.plot_gains(gains(*pair, "user")).axes
    assert [text.get_text() for text in left.get_yticklabels()] == [
        "all jobs (90)",
        "long (30)",
        "wide (30)",
        "short (30)",
    ]
    assert right.get_title("left") == "sjf minus fcfs"
    middles = [line.get_xdata()[0] for line in right.get_lines() if len(line.get_xdata()) == 1]
    assert middles == pytest.approx([row["difference"] for row in gains(*pair, "user").of()])


def test_the_common_jobs_are_compared_and_the_others_counted(pair: tuple[hf.Result, hf.Result]) -> None:
    fewer = hf.simulate([*JOBS[:-1], rigid(91, 40 * DAY, 8, 60)], 8, order="sjf", events=False)
    found = gains(pair[0], fewer)
    assert found.alone == (1, 1)
    assert "compared: the jobs of both results; left out: 1 only in fcfs, 1 only in baseline" in str(found)
    # By hand: the two simulations of the common 89 jobs are those of all 90, whose last job is short and waits in fcfs.
    waits = [[record.wait / 3.6e9 for record in result.records if record.job_id <= 89] for result in (pair[0], fewer)]
    row = found.of("wait_h")[0]
    assert (row["jobs"], row["first"], row["second"]) == (89, pytest.approx(np.mean(waits[0])), np.mean(waits[1]))
    assert (row["first_longest"], row["second_longest"]) == (max(waits[0]), max(waits[1]))
    assert "left out" not in str(gains(*pair))


def test_many_results_are_compared_by_another_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_job_table(JOBS, tmp_path / "jobs.csv")
    words = ["run", str(tmp_path / "jobs.csv"), "-o", str(tmp_path / "out"), "--nodes", "8", "--order", "fcfs,sjf,ljf"]
    assert main(words) == 0
    assert main(["compare", str(tmp_path / "out")]) == 2
    assert f"'holdfast plot {tmp_path / 'out'} --against KEY=VALUE' compares all" in capsys.readouterr().err


@pytest.mark.parametrize("by", ["partition", "qos", "account"])
def test_groups_of_the_log_reach_the_result(by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = "JobID|User|Account|Partition|QOS|Submit|Start|End|TimelimitRaw|NNodes|State"
    rows = [
        f"{k}|u|{('bio', 'chem')[k % 2]}|{('batch', 'gpu')[k % 2]}|{('high', 'low')[k % 2]}|{1700000000 + 60 * k}|"
        f"{1700000000 + 60 * k}|{1700003600 + 60 * k}|90|{1 + k % 2}|COMPLETED"
        for k in range(1, 9)
    ]
    (tmp_path / "log.txt").write_text("\n".join([head, *rows]) + "\n")
    for order in ("fcfs", "sjf"):
        words = ["run", str(tmp_path / "log.txt"), "-o", str(tmp_path / order), "--nodes", "2", "--order", order]
        assert main([*words, "--mechanism", "N-PAA"]) == 0
    assert (tmp_path / "fcfs" / "jobs.csv").read_text().splitlines()[0].endswith(",killed,partition,qos")
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "fcfs"), str(tmp_path / "sjf"), "--by", by]) == 0
    output = capsys.readouterr().out
    names = {"partition": ("batch", "gpu"), "qos": ("high", "low"), "account": ("bio", "chem")}[by]
    assert all(name in output for name in names)
    assert "longest wait" in output


def test_joint_intervals_exclude_zero_where_holms_method_decides() -> None:
    """Four groups; by Bonferroni alone, which Holm's method relaxes, the second would stay undecided."""
    generator = np.random.default_rng(3)
    shifts = np.repeat([2.0, 0.62, 0.3, 0.0], 30)
    values = generator.normal(shifts, 1.0)
    groups = {name: range(30 * at, 30 * at + 30) for at, name in enumerate("abcd")}
    rows = gain_rows("wait_h", np.zeros(120), values, np.arange(120) % 30, groups)
    found = [(row["verdict"] != "undecided", row["joint_low"] > 0 or row["joint_high"] < 0) for row in rows]
    assert all(decided == excluded for decided, excluded in found)
    assert {decided for decided, _ in found[1:]} == {True, False}
    assert all(row["joint_low"] <= row["low"] and row["high"] <= row["joint_high"] for row in rows)
