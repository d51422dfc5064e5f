"""Starts under limits, dependencies and completing nodes, worked out by hand, and on stored outputs of a lab."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.decision_pace import Pace, measure_pace
from holdfast.experiments.slurm.pool_starts import needs_own_loop, simulate_starts
from holdfast.experiments.slurm.queue_limits import QueueLimits
from holdfast.experiments.slurm.recorded_replay import Replay, ReplayedJob
from holdfast.experiments.slurm.submit_lines import JobRequest, read_requests
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.order import ORDERS
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.machines.machine import Limit, Quota
from holdfast.workloads.machines.slurm_tables import parse_amounts

SNAPSHOT = Path(__file__).parents[2] / "fixtures" / "slurm-limits"


def job(number: int, submit: float, runtime: float, nodes: int, walltime: float, **more: object) -> ReplayedJob:
    """A job that Slurm started late, at 5000, so that a start of the simulation is its own."""
    return ReplayedJob(number, submit, 5000, 5000 + runtime, nodes, walltime, **more)  # type: ignore[arg-type]


def starts(replay: Replay, rule: str = "easy", order: str | None = None) -> dict[int, float]:
    assert needs_own_loop(replay, BACKFILLING[rule])
    return simulate_starts(replay, BACKFILLING[rule], None if order is None else ORDERS[order])


@pytest.mark.parametrize("rule", ["none", "easy", "conservative", "slurm"])
def test_a_job_over_a_limit_waits_and_holds_nothing(rule: str) -> None:
    """Four nodes. Each limit lets job 1 run alone, so that job 2 waits for its end, and job 3 passes it."""
    for limit, amounts in (
        (Limit("qos", "few", per_user=Quota(running=1)), {}),
        (Limit("qos", "few", together=Quota(nodes=2)), {}),
        (Limit("qos", "few", per_user=Quota(cores=11)), {"cpus": 6}),
        (Limit("qos", "few", together=Quota(memory=900)), {"memory": 500}),
        (Limit("qos", "few", together=Quota(gpus=3)), {"gpus": 2}),
        (Limit("account", "chem", together=Quota(nodes=2)), {}),
        (Limit("account", "chem", per_user=Quota(running=1)), {}),
        (Limit("user", "ann", together=Quota(cores=11)), {"cpus": 6}),
    ):
        owner = {"qos": "few", "user": "ann", "account": "chem", **amounts}
        jobs = (job(1, 0, 100, 2, 120, **owner), job(2, 5, 100, 1, 120, **owner), job(3, 10, 400, 2, 600))
        limits = QueueLimits(limits=(limit,))
        assert starts(Replay("limited", jobs, 4, limits=limits), rule) == {1: 0, 2: 100, 3: 10}, limit


def test_tasks_of_a_throttled_array_follow_one_another() -> None:
    """Slurm calls task 3 eligible only when the throttle lets it: in the simulation that is the end of task 1."""
    jobs = (
        ReplayedJob(1, 0, 0, 50, 1, 60, array=7),
        ReplayedJob(2, 0, 0, 80, 1, 90, array=7),
        ReplayedJob(3, 0, 900, 960, 1, 90, eligible=900, array=7),
    )
    assert starts(Replay("array", jobs, 9, limits=QueueLimits({7: 2}))) == {1: 0, 2: 0, 3: 50}


def test_a_dependent_job_enters_the_queue_when_the_job_before_it_ends() -> None:
    """Two nodes. Job 2 depends on job 1; it was submitted before job 3, and takes the nodes that job 1 releases."""
    jobs = (
        ReplayedJob(1, 0, 40, 140, 2, 200),
        ReplayedJob(2, 10, 300, 400, 2, 200, eligible=141, after=(1,)),
        ReplayedJob(3, 20, 141, 241, 2, 200),
    )
    assert starts(Replay("chain", jobs, 2)) == {1: 0, 2: 100, 3: 200}
    # With --begin as well it was eligible long after the end of job 1, and is so in the simulation.
    begin = (jobs[0], ReplayedJob(2, 10, 300, 400, 2, 200, eligible=270, after=(1,)), jobs[2])
    assert starts(Replay("begin", begin, 2)) == {1: 0, 2: 270, 3: 100}


def test_nodes_that_complete_are_released_later() -> None:
    jobs = (ReplayedJob(1, 0, 0, 100, 2, 120, completing=70), ReplayedJob(2, 5, 172, 200, 2, 60))
    for rule in ("none", "easy", "slurm"):
        assert starts(Replay("completing", jobs, 2), rule) == {1: 0, 2: 170}


def test_cancelled_jobs_leave_the_queue_and_orders_rank_it() -> None:
    """Two nodes. Job 4 wants both until it is cancelled; then the shorter job 3 goes first under sjf."""
    limits = QueueLimits({99: 1})
    jobs = (job(1, 0, 100, 1, 1000), job(2, 20, 300, 2, 600), job(3, 30, 50, 1, 2000))
    cancelled = (ReplayedJob(4, 10, 60, 60, 2, 10),)
    assert starts(Replay("left", jobs, 2, cancelled, limits), "none") == {1: 0, 2: 100, 3: 400}
    assert starts(Replay("left", jobs, 2, cancelled, limits), "none", "sjf") == {1: 0, 2: 100, 3: 400}
    short = (job(1, 0, 100, 2, 1000), job(2, 20, 300, 2, 600), job(3, 30, 50, 1, 60))
    assert starts(Replay("left", short, 2, cancelled, limits), "none", "sjf") == {1: 0, 2: 150, 3: 100}


def test_a_cancelled_job_that_starts_in_the_simulation_ends_at_its_limit_or_when_it_was_cancelled() -> None:
    """Two nodes. Job 4 takes one of them at 10, and job 2 needs both; a job that no pass has seen never starts."""
    jobs = (job(1, 0, 5, 1, 10), job(2, 20, 300, 2, 600))
    for walltime, end in ((600, 60), (30, 40)):
        cancelled = (ReplayedJob(4, 10, 60, 60, 1, walltime),)
        assert starts(Replay("left", jobs, 2, cancelled, QueueLimits({99: 1})), "none") == {1: 0, 2: end}
    early = Replay("left", jobs, 2, (ReplayedJob(4, 10, 10.5, 10.5, 1, 600),))
    assert simulate_starts(early, BACKFILLING["none"], pace=Pace(submit=1)) == {1: 1, 2: 21}


def test_requests_of_jobs(tmp_path: Path) -> None:
    path = tmp_path / "submits.txt"
    path.write_text(
        "JobID|ReqTRES|AllocTRES|SubmitLine\n"
        "5_2|cpu=2,mem=3G,node=1||sbatch --array=1-5%2 --wrap 'a|b'\n"
        "6|cpu=1|billing=8,cpu=8,mem=512M,node=2|sbatch -d afterok:5:4,afterany:3 x\n"
        "7|||sbatch --dependency=afterok:5?afterok:6 x\n"
        "8||cpu=1,gres/gpu=2,gres/gpu:v100=2|sbatch --dependency singleton x\n"
        "9_[1-3]|||sbatch --array=1-3 x\n"
    )
    assert read_requests(path) == {
        (5 << 32) + 2: JobRequest(2, 3072),
        6: JobRequest(8, 512, (5, 4, 3)),
        7: JobRequest(),
        8: JobRequest(1, gpus=2),
    }
    with pytest.raises(TraceError, match="amounts must be numbers, as in cpu=16,mem=64G,node=4, not cpu=x"):
        parse_amounts(path, "cpu=x")


def test_starts_of_a_live_replay_under_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 57 starts 25 are equal without the limits, the arrays and the dependencies of the snapshot, all with them."""
    monkeypatch.chdir(tmp_path)
    Path("slurm.conf").write_text("SchedulerParameters=bf_interval=1,bf_resolution=1,bf_window=10080,bf_busy_nodes\n")
    for place, equal in ((SNAPSHOT / "sacct.txt", "25"), (SNAPSHOT, "57")):
        assert cli.main(["slurm", "compare", str(place), "--nodes", "12", "--config", "slurm.conf"]) == 0
        (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("slurm window")]
        assert row.split()[3] == equal


def test_the_pace_of_a_slurm_is_measured() -> None:
    """Starts come 2 s after an end and 1 s after a submission; job 4 waits 100 s for something else."""
    jobs = (
        ReplayedJob(1, 0, 1, 100, 2, 120, by="backfill"),
        ReplayedJob(2, 5, 102, 200, 2, 120, by="main"),
        ReplayedJob(3, 10, 202, 300, 2, 120, by="backfill"),
        ReplayedJob(4, 250, 400, 500, 1, 120, by="backfill"),
        ReplayedJob(5, 410, 411, 500, 1, 120, by="backfill"),
    )
    replay = Replay("paced", jobs, 2)
    assert measure_pace(replay) == Pace(release=2, submit=1)
    # Starts of the backfill thread wait for its next pass.
    assert measure_pace(replay, interval=30) == Pace(release=2, submit=0)
    assert measure_pace(Replay("one", jobs[3:4], 2)) == Pace()


def test_no_pass_is_made_while_nodes_complete() -> None:
    """Job 3 is submitted while the nodes of job 1 complete: the pass after it starts job 2, which came earlier."""
    jobs = (
        ReplayedJob(1, 0, 0, 100, 2, 300),
        ReplayedJob(2, 10, 102, 200, 4, 300),
        ReplayedJob(3, 101, 202, 300, 2, 300),
    )
    replay = Replay("complete", jobs, 4)
    assert simulate_starts(replay, BACKFILLING["easy"]) == {1: 0, 2: 100, 3: 198}
    assert simulate_starts(replay, BACKFILLING["easy"], pace=Pace(2, 0.5)) == {1: 0.5, 2: 102.5, 3: 202.5}
    own = (replace(jobs[0], completing=9), *jobs[1:])
    assert simulate_starts(Replay("own", own, 4), BACKFILLING["easy"], pace=Pace(2, 0)) == {1: 0, 2: 109, 3: 209}
    # Nodes that complete for long do not keep the others from being used.
    stuck = (ReplayedJob(1, 0, 0, 100, 2, 300, completing=500), *jobs[1:])
    assert simulate_starts(Replay("stuck", stuck, 4), BACKFILLING["none"], pace=Pace(2, 0)) == {1: 0, 2: 600, 3: 700}
    passed = (stuck[0], ReplayedJob(2, 10, 102, 200, 2, 300))
    assert simulate_starts(Replay("passed", passed, 4), BACKFILLING["none"], pace=Pace(2, 0)) == {1: 0, 2: 10}


def test_backfilling_waits_for_its_next_pass() -> None:
    """Two nodes. Job 2 wants both; job 3 may pass it, and does so an interval after the pass that followed job 1."""
    jobs = (
        ReplayedJob(1, 1, 1, 400, 1, 500),
        ReplayedJob(2, 5, 400, 500, 2, 500),
        ReplayedJob(3, 35, 60, 160, 1, 200),
    )
    replay = Replay("interval", jobs, 2)
    for interval, start in ((0.0, 35), (30.0, 61.5), (50.0, 51.5), (30.1, 61.7)):
        found = simulate_starts(replay, BACKFILLING["slurm"], interval=interval)
        assert found == {1: 1, 2: 400, 3: start}, interval


#: Jobs on three nodes: after a quiet time job 2 asks for all of them, and jobs 3 and 4 fit beside job 1.
QUIET = (
    ReplayedJob(1, 0, 0, 1000, 1, 1000),
    ReplayedJob(2, 100, 1000, 1100, 3, 1000),
    ReplayedJob(3, 110, 130, 500, 1, 600),
    ReplayedJob(4, 131, 160, 500, 1, 600),
)


def test_an_event_after_a_quiet_time_is_followed_by_a_pass_at_once() -> None:
    """Three nodes. Job 2, which wants them all, is submitted at 100: a pass follows at 100.5, and others 30 s apart.

    Job 3 is submitted before the one at 130.5, and job 4 after it.
    """
    found = simulate_starts(Replay("quiet", QUIET, 3), BACKFILLING["slurm"], interval=30.0)
    assert found == {1: 0, 2: 1000, 3: 130.5, 4: 160.5}


def test_recorded_passes_count() -> None:
    """As before, but the pass at 100.5 took 8 s, so that jobs 3 and 4 start at 138.5; intervals count far from any."""
    for passes, third, fourth in (
        ((100.5, 138.5), 138.5, 138.5),
        ((80, 100.5, 130.9), 130.9, 160.9),
        ((9,), 130.5, 160.5),
    ):
        replay = Replay("recorded", QUIET, 3, passes=passes)
        found = simulate_starts(replay, BACKFILLING["slurm"], interval=30.0)
        assert found == {1: 0, 2: 1000, 3: third, 4: fourth}, passes


def test_a_pass_waits_while_nodes_complete() -> None:
    """Two nodes. Job 1 ends at 30, and the pass that is due at 30.5 is made when its node has completed, at 33."""
    jobs = (
        ReplayedJob(1, 0, 0, 30, 1, 60, completing=3),
        ReplayedJob(2, 0, 0, 500, 1, 500),
        ReplayedJob(3, 1, 500, 600, 2, 600),
        ReplayedJob(4, 2, 34, 100, 1, 100),
    )
    found = simulate_starts(Replay("due", jobs, 2), BACKFILLING["slurm"], interval=30.0)
    assert found == {1: 0, 2: 0, 3: 500, 4: 33}


def test_slurm_rounds_times_of_its_own_clock() -> None:
    """Plans take ends within 30 s of a multiple of 30 s as one, so that the second of the day decides about nodes."""
    jobs = tuple(ReplayedJob(number, 0, 0, 90 + number, 1, 110 + number) for number in (1, 2))
    replay = Replay("clock", jobs, 2)
    assert not needs_own_loop(replay, BACKFILLING["slurm"])
    origin = Replay("clock", jobs, 2, origin=1_800_000_012.0)
    assert needs_own_loop(origin, BACKFILLING["slurm"])
    assert not needs_own_loop(origin, BACKFILLING["easy"])
    assert needs_own_loop(replay, BACKFILLING["easy"], interval=30.0)


def test_a_job_holds_its_nodes_until_slurm_kills_it() -> None:
    """Job 1 was killed 20 s after its walltime; limits are checked every half minute."""
    jobs = (ReplayedJob(1, 0, 0, 80, 1, 60), ReplayedJob(2, 5, 80, 100, 1, 60))
    assert simulate_starts(Replay("killed", jobs, 1), BACKFILLING["slurm"]) == {1: 0, 2: 80}
