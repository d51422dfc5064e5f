"""What-if questions: each number against simulations made one by one, and a log that its own replay recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.experiments.cli import main
from holdfast.experiments.whatif.operation import OnDemandProjects, Operation
from holdfast.experiments.whatif.outcomes import Task, carry_out
from holdfast.experiments.whatif.question import _with_on_demand_jobs
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.machines.machine import Quota
from holdfast.workloads.outages.outage import OutageKind
from holdfast.workloads.table.job import JobType

DAY = 86_400.0
#: Three users and two projects of a machine of eight nodes, three weeks long, submitted in bursts.
JOBS = tuple(
    TraceJob(
        k + 1, 3600.0 * (k // 3) * 3, 1 + 3 * k % 8, 600.0 * (1 + k * k % 37), 600.0 * (40 + k % 5),
        user="uvw"[k % 3], project="pq"[k % 7 % 2],
    )
    for k in range(480)
)  # fmt: skip
LOG = Trace(JOBS, nodes=8, source="log.swf", header={"UnixStartTime": "1600000000"})


@pytest.fixture(scope="module")
def answer() -> Any:
    return hf.whatif(
        LOG, order=["sjf", "f1"], backfilling="conservative", nodes=["+25%", "6"], maintenance="2d,12h", workers=1
    )


def test_each_alternative_is_one_simulation_beside_todays(answer: Any) -> None:
    window = hf.Outage(OutageKind.MAINTENANCE, 2 * DAY, 2.5 * DAY, 8)
    small = replace(LOG, jobs=[job for job in JOBS if job.nodes <= 6])
    today = hf.simulate(LOG)
    results = [
        hf.simulate(LOG, order="sjf"),
        hf.simulate(LOG, order="f1"),
        hf.simulate(LOG, backfilling="conservative"),
        hf.simulate(LOG, 10),
        hf.simulate(small, 6),
        hf.simulate(LOG, outages=[window]),
    ]
    rows = answer.rows
    assert [row["run"] for row in rows] == [
        "today: fcfs, easy", "order sjf", "order f1", "backfilling conservative", "10 nodes (+25%)", "6 nodes",
        "maintenance 2d,12h",
    ]  # fmt: skip
    for row, result in zip(rows, [today, *results], strict=True):
        summary = result.summary()
        for name in ("wait_h", "wait_p99_h", "wait_max_h", "bounded_slowdown", "starved", "utilization_to_last_submit"):
            assert row[name] == summary[name], (row["run"], name)
    for contrast, result in zip(answer.contrasts, results, strict=True):
        for by in ("user", "size", "hour"):
            compared = hf.compare(today, result, by=by).of("wait_h")
            assert contrast.left_out == len(today.records) - len(result.records)
            if contrast.left_out:
                continue
            # The hours of the results are those of a clock that begins at 0: their names differ, and not their jobs.
            ours, theirs = (
                sorted((row["difference"], row["low"], row["verdict"], row["jobs"]) for row in rows[1:])
                for rows in (contrast.groups[by], compared)
            )
            assert ours == theirs
        assert contrast.wait["difference"] == compared[0]["difference"]
    assert answer.cluster == "day"
    assert answer.calibration is None
    assert "How close the replay is to the machine is unknown: the log records no starts." in answer.conclusion


def test_the_replay_of_its_own_record_has_no_error() -> None:
    """Starts that the replay itself recorded: both schedules are the same, whatever today's rule is."""
    for rule in ({"order": "sjf"}, {"backfilling": "conservative"}):
        recorded = hf.as_log(hf.simulate(LOG, **rule))
        answer = hf.whatif(replace(recorded, nodes=8), today=rule, order="ljf")
        assert answer.calibration is not None
        assert answer.calibration.error["verdict"] == "equal"
        assert answer.calibration.typical == 0
        first, second = answer.rows[:2]
        assert first | {"run": ""} == pytest.approx(second | {"run": ""})
        assert answer.calibration.recorded.use == pytest.approx(answer.replay.use)
        assert set(answer.calibration.groups) == {"size", "user"}
        assert "does not differ from the recorded mean wait" in answer.conclusion


def test_starts_that_were_an_hour_later_are_an_error_of_an_hour() -> None:
    recorded = hf.as_log(hf.simulate(LOG))
    late = [replace(job, wait=(job.wait or 0) + 3600) for job in recorded.jobs]
    answer = hf.whatif(replace(recorded, nodes=8, jobs=late), order="sjf")
    assert answer.calibration is not None
    assert answer.calibration.error["difference"] == pytest.approx(-1)
    assert answer.calibration.typical == pytest.approx(1)
    assert "a mean wait that is 1.0 h shorter than the recorded one" in answer.conclusion
    assert all(row["difference"] == pytest.approx(-1) for row in answer.calibration.groups["user"])


def test_on_demand_jobs_are_those_of_the_projects() -> None:
    table = _with_on_demand_jobs(LOG, OnDemandProjects(0.0, ("q",)), 3)
    whole, none = (assign(LOG, shares=shares, seed=3) for shares in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    for job, urgent, still in zip(table, whole, none, strict=True):
        assert job == (urgent if job.project == "q" else still)
        # Half of the machine is the widest on-demand job.
        assert (job.type is JobType.ON_DEMAND) == (job.project == "q" and job.nodes <= 4)


@pytest.mark.system
def test_draws_are_compared_with_today_on_the_same_draws_and_workers_do_not_matter() -> None:
    more: dict[str, Any] = {"mechanism": "N-PAA", "on_demand_projects": "q", "seeds": 3, "order": "wfp3"}
    answer = hf.whatif(LOG, workers=1, **more)
    contrast = answer.contrasts[-1]
    assert contrast.operation.name == "N-PAA, on-demand project q"
    differences = []
    for seed in range(3):
        table = _with_on_demand_jobs(LOG, OnDemandProjects(0.0, ("q",)), seed)
        waits = [
            np.mean([record.wait for record in hf.simulate(table, 8, name).records]) / 3.6e9
            for name in ("baseline", "N-PAA")
        ]
        differences.append(waits[1] - waits[0])
    row = contrast.wait
    assert row["difference"] == pytest.approx(np.mean(differences))
    # The interval is at least as wide as that between the draws.
    assert row["high"] - row["low"] >= 2 * 4.30 * np.std(differences, ddof=1) / np.sqrt(3)
    assert contrast.draws == 3
    assert len(contrast.on_demand[0]) == 3
    assert hf.whatif(LOG, workers=2, **more).document() == answer.document()
    single = hf.whatif(LOG, workers=1, **{**more, "seeds": 1}).contrasts[-1].wait
    assert (single["low"], single["verdict"]) == (None, "undecided")


def test_a_limit_holds_for_each_user_and_nobody_else() -> None:
    jobs = as_rigid(LOG)
    operation = Operation("limit", 8, per_user=Quota(nodes=5, running=2))
    outcome = carry_out(Task(jobs, operation, (0, 10**12)))
    wide = jobs.column("nodes") > 5
    assert np.array_equal(outcome.ran, ~wide)
    start = np.array([job.submit for job in jobs]) + 3600 * outcome.wait_h
    end = np.array([job.submit for job in jobs]) + 3600 * outcome.turnaround_h
    users, nodes = np.array(jobs.texts("user")), jobs.column("nodes")
    for user in "uvw":
        for moment in start[outcome.ran & (users == user)]:
            there = outcome.ran & (users == user) & (start < moment + 0.5) & (end > moment + 0.5)
            assert (nodes[there].sum() <= 5, there.sum() <= 2) == (True, True)
    free = carry_out(Task(jobs, replace(operation, per_user=Quota(running=10**6)), (0, 10**12)))
    assert np.array_equal(free.wait_h, carry_out(Task(jobs, Operation("pool", 8), (0, 10**12))).wait_h)


def test_all_changes_together_are_one_more_alternative() -> None:
    answer = hf.whatif(LOG, order="sjf", nodes="+25%", together=True)
    assert answer.rows[-1]["run"] == "all changes together"
    assert answer.rows[-1]["wait_h"] == hf.simulate(LOG, 10, order="sjf").summary()["wait_h"]
    with pytest.raises(InputError, match="order must be one value with --together, not"):
        hf.whatif(LOG, order=["sjf", "f1"], together=True)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "name at least one alternative: --order, --backfilling, --nodes"),
        ({"order": "sfj"}, "did you mean sjf"),
        ({"order": "fcfs"}, "order fcfs is today's rule: name another alternative"),
        ({"order": ["sjf", "sjf"]}, "order sjf is given twice"),
        ({"nodes": "ten"}, r"nodes must be a number of nodes such as 5000, or a change such as \+200"),
        ({"nodes": "-100%"}, "nodes must be a change that leaves 1 to"),
        ({"maintenance": "2d"}, "maintenance must be START,LENGTH or START,LENGTH,NODES"),
        ({"maintenance": "2d,12h,9"}, "maintenance must be a whole number of at most 8"),
        ({"maintenance": "99d,1h"}, "maintenance 99d,1h: begins at 2020-12-21 .*, and the last job is submitted at"),
        ({"mechanism": "baseline"}, "mechanism must be one for on-demand jobs"),
        ({"mechanism": "N-PAA", "on_demand_projects": "r"}, "unknown project 'r'"),
        ({"mechanism": "N-PAA", "on_demand_projects": 1.5}, "must be a share above 0 and up to 1, or names of proj"),
        ({"limit": "cores=4"}, "limit must be nodes=N, jobs=N or both"),
        ({"colour": "red"}, "unknown change 'colour'"),
        ({"order": "sjf", "seeds": 0}, "seeds must be a whole number from 1 to 100"),
        ({"order": "sjf", "today": {"rule": "x"}}, "unknown part of today's rule 'rule'"),
        ({"order": "sjf", "today": {"nodes": "0"}}, "today's nodes must be a whole number of at least 1"),
    ],
)
def test_wrong_questions_are_refused_in_one_sentence(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        hf.whatif(LOG, **asked)


def test_a_limit_needs_users_and_a_machine_its_size() -> None:
    nameless = replace(LOG, jobs=[replace(job, user="") for job in JOBS])
    with pytest.raises(InputError, match="limit: the log names no users"):
        hf.whatif(nameless, limit="jobs=2")
    with pytest.raises(InputError, match="does not record the size of the machine; give today's nodes"):
        hf.whatif(replace(LOG, nodes=None), order="sjf")
    assert hf.whatif(replace(LOG, nodes=None), today={"nodes": 8}, order="sjf").today.nodes == 8


def test_the_command_answers_in_words_as_json_and_as_a_page(tmp_path: Path, capsys: Any) -> None:
    hf.write_swf(hf.as_log(hf.simulate(LOG)), tmp_path / "log.swf")
    page, facts = tmp_path / "page.html", tmp_path / "facts.json"
    log = str(tmp_path / "log.swf")
    words = ["whatif", log, "--today", "order=fcfs,nodes=8", "--order", "sjf", "--nodes", "-25%"]
    assert main([*words, "--report", str(page), "--json", str(facts)]) == 0
    printed = capsys.readouterr().out
    document = json.loads(facts.read_text())
    assert printed.startswith(document["conclusion"])
    assert [row["run"] for row in document["runs"]] == [
        "as recorded", "today: fcfs, easy", "order sjf", "6 nodes (-25%)",
    ]  # fmt: skip
    html = page.read_text()
    command = html[html.index("<code>") + 6 : html.index("</code>")]
    assert command.startswith(f"holdfast whatif {tmp_path}/log.swf --today order=fcfs,nodes=8 --report {page}")
    assert command.endswith("--order sjf --nodes=-25%")
    assert main(command.split()[1:]) == 0
    assert page.read_text() == html
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document
    for wrong, sentence in (
        (["--order", "sfj"], "unknown order 'sfj'"),
        (["--nodes", "x"], "--nodes must be a number of nodes such as 5000"),
        (["--today", "sjf", "--order", "f1"], "--today must be order=ORDER,backfilling=RULE,nodes=N"),
        (["--order", "sjf", "--report", str(tmp_path / "no" / "page.html")], "is not a directory"),
    ):
        assert main(["whatif", str(tmp_path / "log.swf"), *wrong]) == 2
        assert sentence in capsys.readouterr().err
