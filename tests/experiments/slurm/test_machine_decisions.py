"""Decisions of a Slurm with shared nodes beside the rule, by hand and on a stored replay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.decision_points import InstantDecision
from holdfast.experiments.slurm.machine_decisions import machine_decisions
from holdfast.experiments.slurm.placed_replay import PlacedJob, PlacedReplay
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Limit, Quota
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from tests.shared_data import shared_file

THREE = make_machine(nodes=[{"names": "n[1-3]", "cores": 4}])


def ran(number: int, submit: float, start: float, end: float, cores: int, walltime: float, *nodes: str) -> PlacedJob:
    request = ResourceRequest(nodes=len(nodes), cores=cores)
    return PlacedJob(number, submit, start, end, walltime, request, nodes)


def decisions_by_time(*jobs: PlacedJob) -> dict[float, InstantDecision]:
    replay = PlacedReplay("by hand", jobs)
    return {decision.at: decision for decision in machine_decisions(THREE, replay, SlurmBackfill(), lag=5)}


def test_a_plan_reserves_whole_nodes_and_an_idle_one_more() -> None:
    # Job 2 waits for two nodes, and is planned at 100 on n1 and n2 and, needlessly, on n3. Job 3 has room on n3, but
    # would still run then; job 4 would have ended. Once job 4 runs there, n3 is idle no more, and job 3 starts.
    jobs = (
        ran(1, 0, 0, 100, 4, 100, "n1", "n2"),
        ran(2, 10, 100, 200, 4, 100, "n1", "n2"),
        ran(3, 20, 30, 80, 1, 200, "n3"),
        ran(4, 30, 30, 60, 1, 60, "n3"),
    )
    decisions = decisions_by_time(*jobs)
    assert decisions[20].would == frozenset()
    assert decisions[30].would == decisions[30].did == {3, 4}
    assert all(decision.equal for decision in decisions.values())


def test_a_start_that_the_rule_makes_and_slurm_does_not_is_a_difference_there_alone() -> None:
    jobs = (ran(1, 0, 0, 120, 4, 120, "n1", "n3"), ran(2, 20, 50, 90, 4, 100, "n2"), ran(3, 60, 90, 98, 4, 100, "n2"))
    decisions = decisions_by_time(*jobs)
    assert (decisions[20].did, decisions[20].would) == (frozenset(), {2})
    assert decisions[90].did == decisions[90].would == {3}
    assert [at for at, decision in decisions.items() if not decision.equal] == [20]


def test_a_limit_keeps_a_job_from_starting_until_a_job_of_its_owner_ends() -> None:
    # Jobs 1 and 2 are of one user, who may run one job: Slurm starts job 2 at the end of job 1.
    jobs = (ran(1, 0, 0, 100, 2, 120, "n1"), ran(2, 10, 100, 150, 2, 120, "n1"), ran(3, 20, 20, 60, 2, 120, "n2"))
    jobs = (jobs[0]._replace(user="ada"), jobs[1]._replace(user="ada"), jobs[2])
    limited = replace(THREE, limits=(Limit("user", "ada", together=Quota(running=1)),))
    for machine, wrong in ((limited, []), (THREE, [10, 20, 60])):
        found = machine_decisions(machine, PlacedReplay("limited", jobs), SlurmBackfill(), lag=5)
        assert [decision.at for decision in found if not decision.equal] == wrong


def test_a_cancelled_job_keeps_others_waiting_until_it_leaves() -> None:
    # Job 2 wants all nodes, and is cancelled at 50; only then job 3 may start, which would run longer than job 1.
    # Job 4, which the machine never had room for, waits without an effect.
    jobs = (ran(1, 0, 0, 100, 4, 120, "n1", "n2"), ran(3, 20, 50, 300, 4, 600, "n3"))
    left = ran(2, 10, 50, 50, 4, 100)._replace(request=ResourceRequest(nodes=3, cores=4))
    never = ran(4, 15, 200, 200, 5, 100)._replace(request=ResourceRequest(nodes=1, cores=5))
    for cancelled, wrong in (((left, never), []), ((never,), [20])):
        replay = PlacedReplay("cancelled", jobs, cancelled=cancelled)
        found = {decision.at: decision for decision in machine_decisions(THREE, replay, SlurmBackfill(), lag=5)}
        assert [at for at, decision in found.items() if not decision.equal] == wrong
    assert found[20].would == {3}


def test_a_cancelled_job_that_the_rule_starts_is_a_difference() -> None:
    jobs = (ran(1, 0, 0, 100, 4, 120, "n1"), ran(3, 20, 20, 80, 4, 100, "n3"))
    left = ran(2, 10, 60, 60, 4, 100)._replace(request=ResourceRequest(nodes=1, cores=4))
    replay = PlacedReplay("cancelled", jobs, cancelled=(left,))
    found = {decision.at: decision for decision in machine_decisions(THREE, replay, SlurmBackfill(), lag=5)}
    assert {at: (set(decision.did), set(decision.would)) for at, decision in found.items() if not decision.equal} == {
        10: (set(), {2}),
        20: ({3}, {2, 3}),
    }


def test_jobs_that_the_machine_does_not_hold_are_refused() -> None:
    with pytest.raises(InputError, match="job 1 ran on nodes that the machine does not have"):
        decisions_by_time(ran(1, 0, 0, 10, 1, 10, "m1"))
    with pytest.raises(InputError, match="a job asks for more cores than a node of its partition has"):
        decisions_by_time(ran(1, 0, 0, 10, 5, 10, "n1"))


def test_no_decision_is_compared_while_nodes_complete() -> None:
    first = ran(1, 0, 0, 100, 4, 100, "n1", "n2", "n3")
    jobs = (first._replace(completing=9.0), ran(2, 50, 109, 150, 4, 100, "n1"), ran(3, 102, 109, 150, 4, 100, "n2"))
    decisions = decisions_by_time(*jobs)
    assert list(decisions) == [0, 50, 109]
    assert decisions[109].would == decisions[109].did == {2, 3}


@pytest.mark.system
def test_all_starts_and_nodes_of_a_live_slurm_are_equal_by_the_times_of_its_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table, configuration = (str(shared_file("slurm-micro", name)) for name in ("fcfs.csv", "slurm.conf"))
    assert cli.main(["slurm", "compare", table, "--config", configuration, "--lag", "5s", "--completing", "8s"]) == 0
    printed = capsys.readouterr().out
    (row,) = [line.split() for line in printed.splitlines() if line.startswith("slurm most=1000 ")]
    assert (row[4], row[-3]) == ("500", "753")
    assert "of 500 jobs and 755 decisions; late, not wrong: 1 under slurm" in printed
    assert "all starts and nodes are equal\n" in printed
    assert "on the nodes that Slurm chose: 500 jobs\n" in printed
    starts = "500 starts are equal by Slurm's passes, 220 with the same times after each event\n"
    assert printed.endswith(starts)
