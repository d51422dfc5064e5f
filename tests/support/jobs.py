"""What the tests share: short ways to write jobs, and one way to ask either the reference or the simulator."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from holdfast.experiments.output.manifest import seal
from holdfast.simulator import simulate
from holdfast.simulator.machine.job_factory import job_state
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.options import Options
from holdfast.workloads.table.job import Job, JobType
from tests.reference.hybrid import replay

__all__ = [
    "ENGINES",
    "Seen",
    "losses",
    "malleable",
    "manifest_without_times",
    "on_demand",
    "outcomes",
    "reseal",
    "rigid",
    "stochastic",
    "waiting_state",
]

#: First start, end, preemptions, shrinks of a job; start and end None for a no-show.
Seen = tuple[float | None, float | None, int, int]

#: What can be asked.
ENGINES = ("reference", "simulator")


def rigid(
    job_id: int,
    submit: float,
    nodes: int,
    runtime: float,
    walltime: float | None = None,
    *,
    setup: float = 0,
    interval: float | None = None,
    cost: float = 0,
    **others: Any,
) -> Job:
    """A rigid job; its walltime is its runtime unless given."""
    return Job(
        job_id,
        JobType.RIGID,
        submit,
        nodes,
        runtime,
        runtime if walltime is None else walltime,
        setup=setup,
        checkpoint_interval=interval,
        checkpoint_cost=cost,
        **others,
    )


def malleable(
    job_id: int,
    submit: float,
    nodes: int,
    runtime: float,
    walltime: float | None = None,
    *,
    min_nodes: int,
    setup: float = 0,
    **others: Any,
) -> Job:
    """A malleable job; its walltime is its runtime unless given."""
    return Job(
        job_id,
        JobType.MALLEABLE,
        submit,
        nodes,
        runtime,
        runtime if walltime is None else walltime,
        min_nodes=min_nodes,
        setup=setup,
        **others,
    )


def stochastic(job_id: int, submit: float, nodes: int, runtime: float, plan: str, **others: Any) -> Job:
    """A stochastic job of the application "a"; it asks for its runtime while there is no plan, unless given."""
    values = {"walltime": runtime, "application": "a", "true_runtime": runtime, **others}
    values["runtime"] = min(runtime, values["walltime"])
    return Job(job_id, JobType.STOCHASTIC, submit, nodes, plan=plan, **values)


def on_demand(
    job_id: int,
    submit: float | None,
    nodes: int,
    runtime: float,
    walltime: float | None = None,
    *,
    notice: float | None = None,
    estimated: float | None = None,
    **others: Any,
) -> Job:
    """An on-demand job; its walltime is its runtime, its estimated arrival its arrival, unless given."""
    return Job(
        job_id,
        JobType.ON_DEMAND,
        submit,
        nodes,
        runtime,
        runtime if walltime is None else walltime,
        notice=notice,
        estimated_arrival=submit if notice is not None and estimated is None else estimated,
        **others,
    )


def _rows(
    jobs: list[Job], nodes: int, mechanism: str, engine: str, options: dict[str, Any]
) -> dict[int, tuple[Any, ...]]:
    if engine == "reference":
        replayed = replay(jobs, nodes, mechanism, **options)
        return {
            job: (seen.start, seen.end, seen.preemptions, seen.shrinks, seen.lost_node_seconds)
            for job, seen in replayed.items()
        }
    table = simulate(jobs, nodes=nodes, mechanism=mechanism, **options).jobs
    columns = ["job_id", "start", "end", "preemptions", "shrinks", "lost_node_seconds"]
    return {int(row[0]): tuple(row[1:]) for row in table[columns].itertuples(index=False, name=None)}


def outcomes(
    jobs: list[Job], nodes: int, mechanism: str, *, engine: str = "reference", **options: Any
) -> dict[int, Seen]:
    """First start, end [s, to the microsecond], preemptions and shrinks of each job.

    Parameters
    ----------
    jobs, nodes, mechanism
        What to simulate.
    engine
        One of :data:`ENGINES`.
    **options
        ``tenants``, ``backfill_length``, ``passes``, ``warning``, ``timeout``.
    """
    seen: dict[int, Seen] = {}
    for job, (start, end, preemptions, shrinks, _) in _rows(jobs, nodes, mechanism, engine, options).items():
        if start is None or start != start:  # a no-show: None in the reference, NaN in the table
            seen[job] = (None, None, int(preemptions), int(shrinks))
        else:
            seen[job] = (round(float(start), 6), round(float(end), 6), int(preemptions), int(shrinks))
    return seen


def losses(
    jobs: list[Job], nodes: int, mechanism: str, *, engine: str = "reference", **options: Any
) -> dict[int, float]:
    """Lost node-seconds of each job, to the microsecond; parameters as in :func:`outcomes`."""
    rows = _rows(jobs, nodes, mechanism, engine, options)
    return {job: round(float(row[-1]), 6) for job, row in rows.items()}


def manifest_without_times(manifest: Path) -> dict[str, Any]:
    """What the manifest of a replay tells, but for the digests that depend on the times in its summary."""
    content: dict[str, Any] = json.loads(manifest.read_text())
    return {**content, "digest": "", "files": {**content["files"], "summary.csv": ""}}


def reseal(directory: Path, manifest: str = "run.json", **changes: Any) -> None:
    """Make a result of what lies there now, as somebody would who wants it to look whole."""
    content = json.loads((directory / manifest).read_text())
    files = [*content.pop("files"), *changes.pop("add", ())]
    content.pop("digest")
    drawn = content.pop("derived")
    with tempfile.TemporaryDirectory() as place:
        for name in files:
            if (directory / name).is_file():
                shutil.copy(directory / name, place)
        seal(Path(place), manifest, {**content, **changes}, drawn)
        shutil.copy(Path(place, manifest), directory)


def waiting_state(job: Job, row: int) -> JobState:
    """The state of a job of the baseline, on the table's clock."""
    return job_state(job, row, row, 0, Options(), baseline=True)
