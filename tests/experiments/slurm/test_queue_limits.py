"""Limits that keep eligible jobs from starting, worked out by hand, and decisions under them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.decision_points import decisions
from holdfast.experiments.slurm.live_replay import ask_limits
from holdfast.experiments.slurm.queue_limits import QueueLimits
from holdfast.experiments.slurm.recorded_limits import read_limits
from holdfast.experiments.slurm.recorded_replay import Replay, ReplayedJob, read_replay
from holdfast.experiments.slurm.submit_lines import JobRequest, read_throttles
from holdfast.policies.backfilling import BACKFILLING
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.machines.machine import Limit, Quota

#: What 'holdfast slurm snapshot' stored of a lab.
SNAPSHOT = Path(__file__).parents[2] / "fixtures" / "slurm-limits"


def job(
    number: int, nodes: int = 1, qos: str = "", user: str = "ann", account: str = "", array: int = 0
) -> ReplayedJob:
    return ReplayedJob(number, 0, 0, 100, nodes, 100, user=user, account=account, qos=qos, array=array)


def test_each_limit_counts_what_runs() -> None:
    few, small = Limit("qos", "few", per_user=Quota(running=1)), Limit("qos", "small", together=Quota(nodes=3))
    limits = QueueLimits({7: 2}, (few, small, Limit("qos", "one", together=Quota(running=1))))
    # A task of the array runs, so that one more may start; tasks of other arrays are free.
    assert limits.excess([job(1, array=7), job(2, array=7), job(3, array=8)], [job(9, array=7)]) == {2}
    # Each user may have one job; three nodes of all together.
    few = [job(1, qos="few"), job(2, qos="few"), job(3, qos="few", user="ben")]
    assert limits.excess(few, []) == {2}
    assert limits.excess(few, [job(9, qos="few", user="ben")]) == {2, 3}
    small = [job(1, nodes=2, qos="small"), job(2, nodes=2, qos="small"), job(3, nodes=1, qos="small", user="ben")]
    assert limits.excess(small, []) == {2}
    assert limits.excess([job(1, qos="one"), job(2, qos="one", user="ben"), job(3)], []) == {2}


def test_limits_of_accounts_and_users_count_beside_those_of_a_qos_that_replaces_them() -> None:
    chem = Limit("account", "chem", Quota(running=2), Quota(nodes=4))
    limits = QueueLimits(
        limits=(chem, Limit("user", "ben", together=Quota(running=1)), Limit("qos", "big", Quota(), Quota(nodes=6)))
    )
    three = [job(number, account="chem") for number in (1, 2, 3)]
    assert limits.excess(three, []) == {3}
    assert limits.excess(three, [job(9, 3, user="cat", account="chem")]) == {2, 3}
    assert limits.excess([job(1, user="ben", account="phys"), job(2, user="ben")], []) == {2}
    # The QOS allows six nodes, whatever the account allows; the job counts for the account all the same.
    assert limits.excess([job(1, 5, qos="big", account="chem"), job(2, user="cat", account="chem")], []) == {2}
    assert limits.excess([job(1, 7, qos="big")], []) == {1}


def test_a_job_over_a_limit_is_passed_over_and_holds_nothing() -> None:
    """Three nodes. Job 2 of the throttled array must wait for job 1 although two nodes are free, which job 3 takes."""
    jobs = (
        ReplayedJob(1, 0, 0, 100, 1, 120, array=7),
        ReplayedJob(2, 0, 100, 200, 1, 120, array=7),
        ReplayedJob(3, 10, 10, 500, 2, 600),
    )
    for limits, wrong in ((QueueLimits({7: 1}), 0), (QueueLimits(), 2)):
        found = list(decisions(Replay("throttled", jobs, 3, limits=limits), BACKFILLING["easy"], lag=5))
        assert sum(not decision.equal for decision in found) == wrong


def test_a_cancelled_job_keeps_the_others_waiting_until_it_leaves() -> None:
    """Four nodes. Job 2 wants all of them, and is cancelled at 50; only then job 3 may start, which is too long."""
    jobs = (ReplayedJob(1, 0, 0, 100, 2, 120), ReplayedJob(3, 20, 50, 300, 2, 600))
    cancelled = (ReplayedJob(2, 10, 50, 50, 4, 100),)
    found = list(decisions(Replay("cancelled", jobs, 4, cancelled), BACKFILLING["easy"], lag=5))
    assert [(decision.at, sorted(decision.did)) for decision in found if not decision.equal] == []
    assert [(decision.at, sorted(decision.did)) for decision in found if decision.did] == [(0, [1]), (50, [3])]
    without = list(decisions(Replay("unknown", jobs, 4), BACKFILLING["easy"], lag=5))
    assert [decision.at for decision in without if not decision.equal] == [20]


def test_a_log_says_nodes_cancellations_and_arrays(tmp_path: Path) -> None:
    log = tmp_path / "sacct.txt"
    log.write_text(
        "JobID|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes|State|User|Account|Partition|QOS|NodeList\n"
        "5_1|100|100|100|200|100|10|2|COMPLETED|ann|bio|batch|few|n[2,4]\n"
        "6|110|110|Unknown|150|0|20|4|CANCELLED by 0|ben|bio|batch|normal|None assigned\n"
        "7|110|Unknown|Unknown|140|0|20|4|CANCELLED by 0|ben|bio|batch|normal|None assigned\n"
    )
    replay = read_replay(log, 4, requests={6: JobRequest(8)})
    (ran,) = replay.jobs
    assert (ran.place, ran.array, ran.qos, ran.user, ran.account) == (0b101, 5, "few", "ann", "bio")
    left, never = replay.cancelled
    assert (left.queued, left.end, left.nodes, left.walltime) == (110, 150, 4, 1200)
    assert (left.user, left.account, left.qos, left.cpus) == ("ben", "bio", "normal", 8)
    # The dependency of job 7 never came true: it was not in the queue before its end.
    assert never.queued == never.end == 140
    assert {job.cancelled_at for job in replay.table()} == {None, 140, 150}


def test_a_live_replay_under_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Throttled arrays, dependencies, --begin, cancellations and two limited QOS on a lab of twelve nodes."""
    monkeypatch.chdir(tmp_path)
    Path("slurm.conf").write_text("SchedulerParameters=bf_interval=1,bf_resolution=1,bf_window=10080,bf_busy_nodes\n")
    words = ["--nodes", "12", "--config", "slurm.conf"]
    for place, counts in ((SNAPSHOT / "sacct.txt", ["82", "1"]), (SNAPSHOT, ["84", "0"])):
        assert cli.main(["slurm", "compare", str(place), *words]) == 0
        printed = capsys.readouterr().out
        (row,) = [line for line in printed.splitlines() if line.startswith("slurm window")]
        assert row.split()[-3:-1] == counts
        assert "of 57 jobs and 84 decisions" in printed


def test_what_sacct_and_sacctmgr_say_about_limits(tmp_path: Path) -> None:
    path = tmp_path / "submits.txt"
    path.write_text(
        "JobID|SubmitLine\n5_1|sbatch -N 1 --array=1-5%2 --wrap 'a|b'\n6_[1-3%4]|sbatch -a 1-3%4 x\n"
        "7|sbatch --wrap date\n8_1|sbatch --array 1-9 x%3\n"
    )
    assert read_throttles(path) == {5: 2, 6: 4}
    table = tmp_path / "qos.txt"
    assert read_limits(tmp_path) is None
    table.write_text(
        "Name|GrpJobs|GrpTRES|MaxJobsPU|MaxTRESPU\nnormal||||\nsmall||cpu=9,node=3,gres/gpu=5|2|cpu=4,mem=2G\n"
    )
    found = read_limits(tmp_path)
    assert found is not None and found.limits == (
        Limit("qos", "small", Quota(running=2, cores=4, memory=2048), Quota(nodes=3, cores=9, gpus=5)),
    )
    path.write_text("User|SubmitLine\n")
    with pytest.raises(TraceError, match="has no column JobID"):
        read_throttles(path)
    table.write_text("Name|GrpJobs\nsmall|many\n")
    with pytest.raises(TraceError, match="limits must be whole numbers, not many"):
        read_limits(tmp_path)


@pytest.mark.parametrize(("enforced", "wrong"), [("associations,limits,qos", "0"), ("associations,qos", "2")])
def test_limits_count_only_if_slurm_enforces_them(
    enforced: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SNAPSHOT, "site")
    document = json.loads(Path("site/snapshot.json").read_text())
    for name, command in (("config.txt", "scontrol show config"), ("associations.txt", "sacctmgr -P show assoc")):
        document["commands"].append({"file": name, "command": command, "at": 0, "error": None})
    Path("site/snapshot.json").write_text(json.dumps(document))
    accounts = "Account|User|GrpJobs|GrpTRES|MaxJobs|GrpTRESRunMins\nchem||2|||cpu=9\n"
    Path("site/associations.txt").write_text(accounts)
    Path("site/config.txt").write_text(
        f"AccountingStorageEnforce = {enforced}\n"
        "SchedulerParameters = bf_interval=1,bf_resolution=1,bf_window=10080,bf_busy_nodes\n"
    )
    assert cli.main(["slurm", "compare", "site", "--nodes", "12", "--config", "site/config.txt"]) == 0
    printed = capsys.readouterr()
    (row,) = [line for line in printed.out.splitlines() if line.startswith("slurm window")]
    assert row.split()[-1] == wrong
    lines = "limits count: QOS small, QOS few, account chem\n", "note: GrpTRESRunMins of account chem is left out\n"
    assert {lines[0] in printed.out, lines[1] in printed.err} == {"limits" in enforced}


def test_a_replay_stores_the_limits_that_slurm_enforces() -> None:
    class Slurm:
        speed = 1.0

        def __init__(self, *answers: str | None) -> None:
            self.answers = list(answers)

        def call(self, words: Sequence[str]) -> str:
            answer = self.answers.pop(0)
            if answer is None:
                raise InputError(f"{words[0]} failed")
            return answer

    enforced, qos, users = "AccountingStorageEnforce=safe\n", "Name|GrpJobs\nfew|2\n", "Account|User\n"
    stored = {"qos.txt": qos, "associations.txt": users}
    assert ask_limits(Slurm(enforced, qos, users)) == stored  # type: ignore[arg-type]
    assert ask_limits(Slurm(enforced, None)) == {}  # type: ignore[arg-type]
    assert ask_limits(Slurm("AccountingStorageEnforce=qos\n")) == {}  # type: ignore[arg-type]
