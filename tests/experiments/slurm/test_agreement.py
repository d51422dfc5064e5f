"""Replays on Slurm beside the rules of the simulator."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.agreement import agreement, best_rule, replay_summary
from holdfast.experiments.slurm.decision_points import decisions
from holdfast.experiments.slurm.recorded_replay import ACTUAL, Replay, ReplayedJob, read_replay
from holdfast.policies.backfilling import BACKFILLING
from holdfast.workloads.ground.errors import InputError
from tests.shared_data import shared_file


def job(number: int, submit: float, start: float, end: float, nodes: int, walltime: float) -> ReplayedJob:
    return ReplayedJob(number, submit, start, end, nodes, walltime)


#: Four nodes. Job 2 must wait for job 1. Job 3 fits beside job 1 and ends before it by its limit; job 4 does not.
EASY = Replay(
    "easy",
    (
        job(1, 0, 0, 100, 3, 120),
        job(2, 10, 100, 200, 4, 100),
        job(3, 20, 20, 60, 1, 80),
        job(4, 30, 200, 260, 1, 100),
    ),
    4,
)


def test_a_replay_of_the_simulator_itself_agrees_everywhere() -> None:
    rows, differences, starts = agreement(EASY, ["easy", "none"], tolerance=1, lag=5)
    easy, none = rows
    assert starts["easy"] == {1: 0, 2: 100, 3: 20, 4: 200}
    assert (easy["same_start"], easy["same_rank"], easy["discordant"], easy["error_max_s"]) == (4, 4, 0, 0)
    assert easy["equal"] == easy["decisions"]
    # Job 3 waits for job 2 under "none": it starts at 200, and so is once passed by it.
    assert (none["same_start"], none["error_max_s"]) == (3, 180)
    assert none["discordant"] == 1 / 6
    assert none["extra"] == 1
    assert [(row["rule"], row["slurm_alone"]) for row in differences] == [("none", "3")]
    assert best_rule(rows) == "easy"
    assert easy["divergence"] == ""
    # Job 3 is the first whose start differs, and "none" would not have started it at 20.
    assert none["divergence"] == "starts are equal until job 3 at 20 s; until then 0 decisions are late and 1 wrong"


def test_a_cancelled_job_that_the_rule_starts_is_no_start_to_compare(tmp_path: Path) -> None:
    """Slurm cancelled job 3, which fits beside job 1, at 90; the table has no start of it."""
    text = "id,submit,start,end,nodes,walltime,state\n1,0,0,100,3,120,COMPLETED\n2,10,100,200,4,100,CANCELLED by 0\n"
    (tmp_path / ACTUAL).write_text(f"{text}3,20,,90,1,80,CANCELLED by 0\n")
    replay = read_replay(tmp_path, 4)
    assert [each.job_id for each in replay.jobs] == [1, 2]
    rows, differences, starts = agreement(replay, ["easy"], tolerance=1, lag=5)
    assert starts == {"easy": {1: 0, 2: 100}}
    assert (rows[0]["same_start"], [row["rule_alone"] for row in differences]) == (2, ["3"])
    assert replay_summary(replay).endswith(
        "1 waited over a minute, 0 were passed; 1 more were cancelled while they waited"
    )


def test_a_decision_is_asked_for_in_the_state_of_slurm() -> None:
    # Job 3 was started late, at 58: that is one wrong decision, and no other is wrong because of it.
    late = Replay("late", (*EASY.jobs[:2], job(3, 20, 58, 98, 1, 80), EASY.jobs[3]), 4)
    found = {decision.at: decision for decision in decisions(late, BACKFILLING["easy"], lag=5)}
    assert (found[20].did, found[20].would) == (frozenset(), frozenset({3}))
    # At 30 there is no job that ends in time but 3 itself (30 + 80 is before 120).
    assert [at for at, decision in found.items() if not decision.equal] == [20, 30]
    assert found[100].did == found[100].would == {2}


def test_decisions_are_taken_in_the_order_of_the_queue() -> None:
    """Two nodes; bio has used the machine, so that chem's job 3 goes before bio's job 2, which came earlier."""
    jobs = (
        ReplayedJob(1, 0, 0, 1000, 2, 1200, account="bio"),
        ReplayedJob(2, 10, 2000, 2500, 2, 600, account="bio"),
        ReplayedJob(3, 20, 1000, 2000, 2, 1200, account="chem"),
    )
    replay = Replay("fair", jobs, 2)
    for order, wrong in (("fcfs", 1), ("fairshare", 0), ("multifactor fairshare=1000 shares=bio:1+chem:1", 0)):
        ((row,), differences, starts) = agreement(replay, ["easy"], tolerance=1, lag=5, order=order)
        assert len(differences) == wrong, order
        assert (starts["easy"] == {1: 0, 2: 2000, 3: 1000}) == (not wrong)
        assert row["same_start"] == 3 - 2 * wrong


def test_a_decision_is_late_only_while_nodes_complete() -> None:
    # Job 2 starts 8 s after job 1 has ended; job 3 starts at once.
    jobs = (job(1, 0, 0, 100, 3, 120), job(2, 10, 108, 200, 4, 100), *EASY.jobs[2:])
    replay = Replay("completing", jobs, 4)
    for completing, late, wrong in ((0, 0, 1), (2, 0, 1), (3, 1, 0)):
        ((row,), differences, _) = agreement(replay, ["easy"], tolerance=1, lag=5, completing=completing)
        assert (row["late"], len(differences), row["missing"]) == (late, wrong, wrong)
        assert row["equal"] + row["late"] + len(differences) == row["decisions"]
    # A job that Slurm starts and the rule does not is wrong, however long nodes take.
    (row,) = agreement(EASY, ["none"], tolerance=1, lag=5, completing=60)[0]
    assert (row["late"], row["extra"]) == (0, 1)


def test_no_decision_is_made_while_nodes_complete() -> None:
    """Job 2 starts 8 s after the end of job 1, whose nodes took 7 s: the decision is at 107."""
    jobs = (replace(job(1, 0, 0, 100, 3, 120), completing=7), job(2, 10, 108, 200, 4, 100), *EASY.jobs[2:])
    found = {decision.at: decision for decision in decisions(Replay("known", jobs, 4), BACKFILLING["easy"], lag=5)}
    assert 100 not in found
    assert found[107].did == found[107].would == {2}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "--backfilling 'slurm window=86400 resolution=60 busy=0' --order fcfs --lag 35s\n"),
        ("SchedulerParameters=bf_interval=1", "--lag 6s\n"),
        ("SchedulerType=sched/builtin", "--backfilling none --order fcfs --lag 5s\n"),
        (
            "PriorityType=priority/multifactor\nPriorityWeightJobSize=10",
            "--order 'multifactor size=10' --lag 35s\n",
        ),
    ],
)
def test_a_configuration_gives_rule_and_lag(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{job.job_id},{job.submit},{job.start},{job.end},{job.nodes},{job.walltime}\n" for job in EASY.jobs]
    Path(ACTUAL).write_text("id,submit,start,end,nodes,walltime\n" + "".join(rows))
    Path("slurm.conf").write_text(f"{text}\nNodeName=n[1-6]\nPartitionName=p Nodes=ALL\n")
    words = ["slurm", "compare", ".", "--config", "slurm.conf"]
    assert cli.main(words) == 0
    printed = capsys.readouterr().out
    assert sentence in printed
    assert "4 jobs on 6 nodes" in printed
    assert cli.main([*words, "--nodes", "4", "--backfilling", "easy", "--lag", "2s"]) == 0
    printed = capsys.readouterr().out
    assert "4 jobs on 4 nodes" in printed and "\neasy" in printed
    Path("slurm.conf").write_text("SchedulerParameters=bf_interval=soon\nNodeName=n[1-6]\n")
    assert cli.main(words) == 2
    assert "bf_interval must be a whole number of seconds, not soon" in capsys.readouterr().err


def test_a_table_of_a_replay_is_checked(tmp_path: Path) -> None:
    path = tmp_path / ACTUAL

    def refusal(row: str) -> str:
        path.write_text(f"id,submit,start,end,nodes,walltime\n{row}\n")
        with pytest.raises(InputError) as error:
            read_replay(tmp_path, None)
        return str(error.value)

    assert f"{ACTUAL}:2: nodes must be a number" in refusal("1,0,1,2,x,60")
    assert "must follow one another" in refusal("1,0,3,2,1,60")
    assert "whole numbers" in refusal("1,0,1,2,1.5,60")
    assert "holds a job twice" in refusal("1,0,1,2,1,60\n1,0,1,2,1,60")
    path.write_text("id,submit,start,end,nodes,walltime\n7,0,1,2,3,60\n8,0,1,2,2,60\n")
    assert read_replay(tmp_path, None).nodes == 5
    path.write_text(
        "id,submit,start,end,nodes,walltime,node_list\n"
        '7,0,1,2,3,60,"n[1-2,4]"\n8,0,1,2,1,60,n3\n9,0,1,2,2,60,n[1-2]x\n10,0,1,2,3,60,n[1-2]\n11,0,1,2,1,60,\n'
    )
    assert [job.place for job in read_replay(tmp_path, None).jobs] == [0b1011, 0b100, 0, 0, 0]
    with pytest.raises(InputError, match="a job has 3 nodes, and the machine 2"):
        read_replay(path, 2)


def test_command_reads_logs_and_writes_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{job.job_id} {job.submit:g} {job.wait:g} {job.end - job.start:g} {job.nodes} -1 -1 {job.nodes} "
        f"{job.walltime:g}{' -1' * 9}"
        for job in EASY.jobs
    ]
    Path("log.swf").write_text("; MaxNodes: 4\n; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    words = ["slurm", "compare", "log.swf", "--backfilling", "none", "--backfilling", "easy", "--tolerance", "1s"]
    assert cli.main([*words, "-o", "out"]) == 0
    assert "4 jobs on 4 nodes" in capsys.readouterr().out
    assert sorted(path.name for path in Path().iterdir()) == [
        *("log.swf", "out-decisions.csv", "out.csv", "out.pdf", "out.png")
    ]
    with Path("out.csv").open() as file:
        assert [row["same_start"] for row in csv.DictReader(file)] == ["3", "4"]
    assert cli.main([*words[:3], "--backfilling", "eazy"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("holdfast slurm compare: ")
    assert "did you mean easy?" in error
    with pytest.raises(SystemExit):
        cli.main(["slurm", "compere"])
    assert capsys.readouterr().err.count("\n") == 1


DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.system
@pytest.mark.parametrize(
    "name", ["builtin-s5", "cons-s5", "cons-s6", "cons-s7", "sacct-s8", "easyidle-s5", "easyidle-s6"]
)
def test_recorded_replays_agree_as_an_independent_reading_of_the_rules_found(name: str) -> None:
    """The summary was made by another program, with its own reading of the rules."""
    replay = read_replay(shared_file("slurm", f"replays/{name}/{ACTUAL}").parent, 16)
    summary = shared_file("slurm", "replays/summary.txt").read_text()
    part = summary[summary.index(f"out/{name}:") :].split("\nout/")[0]
    expected = {}
    for line in part.splitlines()[2:]:
        found = re.match(
            r"(\w+(?: depth=\d)?) +(\d+) +(\d+) +([\d.]+)% +([\d.]+) .*\| +(\d+) +(\d+) +\d+ +(\d+) +(\d+)", line
        )
        if found:
            expected[found[1]] = found.groups()[1:]
    rows, _, _ = agreement(replay, list(expected), tolerance=60, lag=5)
    assert expected
    for row in rows:
        start, rank, swapped, error, count, equal, extra, missing = expected[row["rule"]]
        counts = [row[name] for name in ("same_start", "same_rank", "decisions", "equal", "extra", "missing")]
        assert counts == [int(text) for text in (start, rank, count, equal, extra, missing)], row["rule"]
        assert f"{100 * row['discordant']:.2f} {row['error_mean_s']:.1f}" == f"{swapped} {error}"


#: Live replays by seed: equal starts and decisions under ``slurm``, decisions, mean error of the wait [s],
#: mean wait [s], and equal starts and decisions under ``conservative`` and under ``easy``.
REPLAYS = {
    2001: (100, 142, 142, 7, 1514, 64, 137, 64, 125),
    2002: (43, 153, 156, 616, 5161, 25, 131, 20, 111),
    2003: (100, 158, 158, 11, 1788, 77, 152, 48, 145),
    2004: (100, 170, 170, 18, 2864, 79, 166, 36, 147),
    2005: (100, 170, 170, 10, 1526, 37, 161, 52, 151),
    2006: (100, 169, 169, 11, 2149, 24, 166, 33, 163),
    2007: (98, 162, 163, 61, 3332, 20, 151, 23, 143),
    2008: (100, 165, 167, 8, 1732, 31, 154, 46, 131),
    2009: (95, 162, 163, 22, 2015, 48, 148, 56, 143),
    2010: (63, 162, 162, 510, 4482, 44, 147, 43, 126),
    2011: (100, 166, 166, 14, 2277, 37, 161, 37, 157),
}


@pytest.mark.system
@pytest.mark.parametrize("seed", REPLAYS)
def test_replays_agree_with_the_rule(seed: int) -> None:
    replay = read_replay(DOCS / "examples" / "slurm" / "replays" / str(seed), 16)
    rows, _, _ = agreement(replay, ["slurm", "conservative", "easy"], tolerance=60, lag=5)
    slurm, *others = rows
    found = [slurm["same_start"], slurm["equal"], slurm["decisions"]]
    found += [round(slurm["error_mean_s"]), round(slurm["slurm_wait_mean_s"])]
    assert (*found, *(row[name] for row in others for name in ("same_start", "equal"))) == REPLAYS[seed]


def test_the_guide_sums_the_replays_that_the_rule_has_not_learnt_from() -> None:
    columns = list(zip(*(row for seed, row in REPLAYS.items() if seed != 2002), strict=True))
    starts, equal, decisions, _, _, *others = (f"{sum(column):,}" for column in columns)
    page = (DOCS / "guides" / "slurm-lab.md").read_text()
    assert f"| equal starts of 1,000 | {starts} | {others[0]} | {others[2]} |" in page
    assert f"| equal decisions of {decisions} | {equal} | {others[1]} | {others[3]} |" in page
