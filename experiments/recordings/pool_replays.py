"""Event logs of partitions that were simulated as pools: each partition is simulated again, with its log.

A result on a machine keeps no event log. The stored jobs and options give the same simulation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.recordings.run_file import open_run
from holdfast.experiments.recordings.stored_allocations import machine_file_name, stored_outages
from holdfast.experiments.recordings.variants import chosen_variant
from holdfast.simulator.results.result import Result
from holdfast.simulator.simulation import simulate_table
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import read_machine
from holdfast.workloads.outages.places import partition_outages
from holdfast.workloads.table.jobs import Jobs

__all__ = ["PoolReplays", "replay_pools"]


@dataclass(frozen=True)
class PoolReplays:
    """A result on a machine, and each partition of it with its event log.

    Attributes
    ----------
    machine
        The machine.
    recording
        The stored result.
    pools
        By partition its simulation, with events and decisions.
    """

    machine: Machine
    recording: Result
    pools: dict[str, Result]


def replay_pools(directory: str | Path, run: str | None = None, *, trust: bool = False) -> PoolReplays:
    """Simulate the partitions of a stored result again.

    Parameters
    ----------
    directory
        Directory of ``holdfast run --machine --mechanism``.
    run
        Run to read, if there are several.
    trust
        As of :func:`~holdfast.experiments.recordings.archive.read_recording`.

    Raises
    ------
    InputError
        If there is no such result, or the simulation gives other results than the stored ones.
    """
    folder = Path(directory)
    recording = read_recording(folder, run, events=False, trust=trust)
    result = open_run(folder)
    content = chosen_variant(folder, result.content, run).content
    name = machine_file_name(str(content.get("job_table", "jobs.csv")))
    machine = read_machine(result.need(name, "the machine: run it again"))
    known = {partition.name: len(partition.nodes) for partition in machine.partitions}
    outages = stored_outages(result, chosen_variant(folder, result.content, run).label, machine)
    pools = {}
    for name in dict.fromkeys(job.partition for job in recording.table):
        if name not in known:
            raise InputError(f"{folder}: jobs are in partition {name!r}, which the machine does not have")
        rows = np.array([job.partition == name for job in recording.table])
        jobs = Jobs.of([job for job in recording.table if job.partition == name])
        found = simulate_table(
            jobs,
            known[name],
            recording.mechanism,
            events=True,
            decisions=True,
            outages=partition_outages(outages, machine, name),
            **vars(recording.options),
        )
        if found.records != recording.records.part(rows):
            raise InputError(
                f"{folder}: partition {name} simulated again gives other results than the stored ones: run it again"
            )
        pools[name] = replace(found, label=recording.label, epoch=recording.epoch, zone=recording.zone)
    return PoolReplays(machine, recording, pools)
