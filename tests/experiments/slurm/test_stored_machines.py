"""Live replays on labs with partitions, tiers, shared nodes and GPUs, stored: decisions and starts beside the rule.

``tiers`` has two overlapping partitions, one with a higher tier; ``kinds`` two kinds of GPUs, and weights; ``whole`` a
partition of whole nodes with a higher tier; ``limits`` has limits of two QOS, two accounts and a user, and jobs of
three users. All jobs come from :mod:`tests.experiments.slurm.machine_tables`; those of ``limits`` have owners beside.

Slurm keeps the weights that nodes have from a test of a job with GPUs until the main scheduler tries to start a job
there. Mostly it does so between two passes of the backfill thread, and the rule always does. On a lab with the nodes of
``whole``, of 6,363 passes between two others, with no event meanwhile, 41 planned a job on other nodes than both of
these, all in nodes with GPUs. With such a pass, at 1,125 s, the starts of ``whole`` leave the rule; and its decision
that differs is equal if the main scheduler does not come between two plans.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.experiments.slurm.machine_agreement import machine_agreement
from holdfast.experiments.slurm.machine_decisions import machine_decisions
from holdfast.experiments.slurm.placed_replay import read_placed_replay
from holdfast.experiments.slurm.recorded_limits import with_recorded_limits
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.workloads.machines.host_list import expand
from holdfast.workloads.machines.machine_file import read_machine

FIXTURES = Path(__file__).parents[2] / "fixtures" / "slurm-machines"
#: Equal starts, jobs, equal decisions, and decisions. The first decision that differs moves what follows.
REPLAYS = {
    "tiers": (102, 130, 166, 166),
    "kinds": (130, 130, 179, 179),
    "whole": (70, 130, 162, 163),
    "limits": (31, 53, 92, 92),
}


@pytest.mark.system
@pytest.mark.parametrize("name", REPLAYS)
def test_decisions_of_a_live_slurm_agree(name: str) -> None:
    replay = read_placed_replay(FIXTURES / name)
    machine, _ = with_recorded_limits(read_machine(FIXTURES / name / "machine.toml"), FIXTURES / name)
    row, wrong, _ = machine_agreement(replay, machine, "slurm", SlurmBackfill(), tolerance=60, lag=5)
    assert (row["same_start"], len(replay.jobs), row["equal"], row["decisions"]) == REPLAYS[name]
    assert row["equal"] >= 0.98 * row["decisions"]
    assert len(wrong) == row["decisions"] - row["equal"]


def test_without_its_limits_decisions_differ_and_slurm_had_those_of_the_machine() -> None:
    replay, described = read_placed_replay(FIXTURES / "limits"), read_machine(FIXTURES / "limits" / "machine.toml")
    recorded, remarks = with_recorded_limits(described, FIXTURES / "limits")
    assert sorted(map(str, recorded.limits)) == sorted(map(str, described.limits))
    assert not remarks
    found = list(machine_decisions(replace(described, limits=()), replay, SlurmBackfill(), lag=5))
    assert sum(decision.equal for decision in found) < 0.8 * len(found)


def test_two_jobs_were_cancelled_while_they_waited() -> None:
    """Job 2, of the whole machine, keeps job 3 waiting from 40 s on, until it is cancelled at 76 s; job 4 at 82 s."""
    replay = read_placed_replay(FIXTURES / "cancelled")
    machine = read_machine(FIXTURES / "cancelled" / "machine.toml")
    assert [(job.job_id, job.end) for job in replay.cancelled] == [(2, 76.334), (4, 82.374)]
    for each, third, equal, decisions in ((replay, 76, 9, 9), (replay._replace(cancelled=()), 40, 5, 7)):
        row, _, starts = machine_agreement(each, machine, "slurm", SlurmBackfill(), tolerance=60, lag=5)
        assert (int(starts[3]), row["equal"], row["decisions"]) == (third, equal, decisions)
    assert starts.keys() == {1, 3, 5, 6}


def test_slurm_had_the_limits_of_a_partition() -> None:
    """Jobs 2, 3 and 5 wait for the one before, since a user may have one job in the partition; job 6 is in another."""
    replay, described = read_placed_replay(FIXTURES / "partition"), read_machine(FIXTURES / "partition/machine.toml")
    machine, remarks = with_recorded_limits(replace(described, limits=()), FIXTURES / "partition")
    assert (machine.limits, remarks) == (described.limits, ())
    for each, equal in ((machine, 10), (replace(machine, limits=()), 2)):
        row, _, _ = machine_agreement(replay, each, "slurm", SlurmBackfill(), tolerance=60, lag=5)
        assert (row["equal"], row["decisions"]) == (equal, 10)


@pytest.mark.parametrize("name", REPLAYS)
def test_what_a_replay_records_is_what_sacct_says(name: str) -> None:
    """Times within the second of sacct, nodes, and cores in all."""
    with (FIXTURES / name / "sacct.txt").open() as file:
        accounted = {row["JobIDRaw"]: row for row in csv.DictReader(file, delimiter="|")}
    with (FIXTURES / name / "actual.csv").open() as file:
        recorded = list(csv.DictReader(file))
    assert len(recorded) == REPLAYS[name][1]
    for row in recorded:
        beside = accounted[row["slurm_id"]]
        origin = float(row["origin"])
        for kind in ("start", "end"):
            assert float(row[kind]) + origin == pytest.approx(float(beside[kind.capitalize()]), abs=2)
        assert expand(row["nodes"]) == expand(beside["NodeList"])
        assert f"cpu={sum(map(int, row['node_cores'].split('+')))}," in beside["AllocTRES"]
