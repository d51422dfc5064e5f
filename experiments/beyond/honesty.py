"""Experiment: the effect on a project that declares its malleable jobs as rigid.

Observation 6 of hybrid-workload-scheduling says that CUA and CUP "encourage users to honestly declare their malleable
jobs", because malleable jobs come out of the machine sooner than rigid ones. But these are other jobs. Here they are
the same: a trace is simulated as it is, and again for each of some projects that is malleable and says that it is not,
one at a time. A job that is declared rigid takes as long as before when nothing disturbs it, at all its nodes, and

- ``daly``: is what the assignment would have made of it in a rigid project: setup and checkpoints of a rigid job;
- ``bare``: keeps its own setup and takes no checkpoints, so that a preemption costs all that it has done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from holdfast.experiments.study.evidence import Finding, average, difference, every
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import Hypothesis, verdicts
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.simulation_cache import Traces
from holdfast.experiments.study.verdicts import Verdict
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.hybrid.groups import group_names
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "VARIANTS", "declare", "malleable_projects"]

VARIANTS = ("daly", "bare")
_HOUR = 3600 * SECOND


@dataclass(frozen=True)
class Lies(Traces):
    """Parameters.

    Attributes
    ----------
    projects
        Number of projects of each trace, drawn at random, that declare their jobs rigid, one project at a time.
    least_jobs
        Smallest number of jobs of a drawn project.
    mechanisms
        By default those that the observation mentions.
    mix
        Notice mix of Table III.
    """

    projects: int = 8
    least_jobs: int = 20
    mechanisms: tuple[str, ...] = ("CUA-PAA", "CUA-SPAA", "CUP-PAA", "CUP-SPAA")
    mix: str = "W5"


@dataclass(frozen=True)
class _Task:
    """One simulation; without a project all jobs are declared truthfully."""

    jobs: int
    seed: int
    mix: str
    mechanism: str
    project: str = ""
    variant: str = ""


class _Totals(NamedTuple):
    """Totals over some jobs of a simulation: number, sum of turnarounds [h], number of preempted jobs."""

    jobs: int
    turnaround: float
    preempted: int

    def without(self, other: _Totals) -> _Totals:
        return _Totals(self.jobs - other.jobs, self.turnaround - other.turnaround, self.preempted - other.preempted)


@lru_cache(maxsize=1)
def _table(jobs: int, seed: int, mix: str) -> tuple[Sequence[Job], Sequence[Job], list[str], int]:
    """The jobs, the same jobs all as rigid ones, their projects, and the nodes of the machine."""
    trace = generate(ThetaYear(jobs=jobs), seed)
    honest = assign(trace, seed=seed, notice_mix=mix)
    # Every draw has a separate random stream, so these are the setups that the jobs would have as rigid ones.
    rigid = assign(trace, seed=seed, notice_mix=mix, shares=(0.0, 1.0, 0.0))
    return honest, rigid, group_names(trace), trace.nodes or 0


def malleable_projects(jobs: Sequence[Job], names: Sequence[str], least: int) -> list[str]:
    """The projects with at least that number of jobs, all of them malleable, sorted by name."""
    kinds: dict[str, list[JobType]] = {}
    for job, name in zip(jobs, names, strict=True):
        kinds.setdefault(name, []).append(job.type)
    return sorted(
        name for name, own in kinds.items() if len(own) >= least and all(kind is JobType.MALLEABLE for kind in own)
    )


def declare(honest: Job, rigid: Job, variant: str) -> Job:
    """Convert a malleable job to a rigid declaration.

    Parameters
    ----------
    honest
        The job as it is.
    rigid
        The job as the assignment would make it in a rigid project.
    variant
        One of :data:`VARIANTS`.
    """
    return rigid if variant == "daly" else replace(honest, type=JobType.RIGID, min_nodes=None)


def _project_rows(task: _Task) -> list[Row]:
    """One row with totals by project and over all jobs (empty name); a false declaration gives only its own project."""
    honest, rigid, names, nodes = _table(task.jobs, task.seed, task.mix)
    jobs = [
        declare(job, other, task.variant) if name == task.project else job
        for job, other, name in zip(honest, rigid, names, strict=True)
    ]
    sums: dict[str, list[Any]] = {}
    for record, name in zip(simulate(jobs, nodes, task.mechanism, events=False).records, names, strict=True):
        if record.submit is None or record.end is None:
            continue
        for key in ("", name):
            if key in ("", task.project) or not task.project:
                total = sums.setdefault(key, [0, 0, 0])
                total[0] += 1
                total[1] += record.end - record.submit
                total[2] += record.preemptions > 0
    return [{key: _Totals(jobs, ticks / _HOUR, preempted) for key, (jobs, ticks, preempted) in sums.items()}]


def _measure(parameters: Lies, seed: int, resources: Resources) -> Tables:
    tasks = []
    for own in range(seed, seed + parameters.traces):
        honest, _, names, _ = _table(parameters.jobs, own, parameters.mix)
        known = malleable_projects(honest, names, parameters.least_jobs)
        if len(known) < parameters.projects:
            legal = f"at most {len(known)}, the malleable projects of seed {own} with {parameters.least_jobs} jobs"
            raise ParameterError("projects", legal, parameters.projects)
        chosen = stream(own, "beyond", "honesty").choice(known, parameters.projects, replace=False)
        for mechanism in parameters.mechanisms:
            truth = _Task(parameters.jobs, own, parameters.mix, mechanism)
            tasks.append(truth)
            tasks += [replace(truth, project=str(name), variant=variant) for name in chosen for variant in VARIANTS]
    rows: list[Row] = []
    truthful: Mapping[str, _Totals] = {}
    for task, row in zip(tasks, collect_rows(_project_rows, tasks, resources), strict=True):
        totals = {key: _Totals(*values) for key, values in row.items()}
        if not task.project:
            truthful = totals
        else:
            rows.append(_row(task, truthful, totals))
    return {"": rows}


def _row(task: _Task, honest: Mapping[str, _Totals], lie: Mapping[str, _Totals]) -> Row:
    own, others = honest[task.project], honest[""].without(honest[task.project])
    own_lie, others_lie = lie[task.project], lie[""].without(lie[task.project])
    return {
        "trace": task.seed,
        "mechanism": task.mechanism,
        "variant": task.variant,
        "project": task.project,
        "jobs": own.jobs,
        "honest_h": own.turnaround / own.jobs,
        "declared_h": own_lie.turnaround / own.jobs,
        "lost_h": (own_lie.turnaround - own.turnaround) / own.jobs,
        "longer_share": float(own_lie.turnaround > own.turnaround),
        "preempted_more_share": (own_lie.preempted - own.preempted) / own.jobs,
        "others_lost_minutes": 60 * (others_lie.turnaround - others.turnaround) / others.jobs,
        "all_lost_minutes": 60 * (lie[""].turnaround - honest[""].turnaround) / honest[""].jobs,
    }


def _each(metric: str, variant: str, sign: int, level: float = 0.0) -> Callable[[Measured], Finding]:
    """The mean over a trace's projects against a level, under each mechanism."""

    def test(data: Measured) -> Finding:
        none = np.full(len(data.traces), level)
        return every(
            {name: (data(metric, mechanism=name, variant=variant), none) for name in data.values("mechanism")}, sign
        )

    return test


def _mean(metric: str, variant: str, sign: int, level: float = 0.0) -> Callable[[Measured], Finding]:
    """The mean over projects and mechanisms against a level."""

    def test(data: Measured) -> Finding:
        none = np.full(len(data.traces), level)
        return average(
            {name: (data(metric, mechanism=name, variant=variant), none) for name in data.values("mechanism")}, sign
        )

    return test


#: Traces are the repetitions: the projects of one trace are not independent, so their mean is one value.
HYPOTHESES = (
    Hypothesis("A malleable project that declares its jobs rigid (with Daly's checkpoints) has a longer "
               "turnaround, under each mechanism", "h a job", _each("lost_h", "daly", 1)),
    Hypothesis("The same, mean over the mechanisms", "h a job", _mean("lost_h", "daly", 1)),
    Hypothesis("More than half of the projects lose, mean over the mechanisms", "points above half",
               _mean("longer_share", "daly", 1, 50.0)),
    Hypothesis("Without checkpoints the project has a longer turnaround, too, mean over the mechanisms", "h a job",
               _mean("lost_h", "bare", 1)),
    Hypothesis("The project loses more without checkpoints than with them", "h a job",
               lambda data: difference(data("lost_h", variant="bare"), data("lost_h", variant="daly"), 1)),
    Hypothesis("The jobs of the project are preempted less often, mean over the mechanisms", "points",
               _mean("preempted_more_share", "daly", -1)),
    Hypothesis("The jobs of the others have a longer turnaround, mean over the mechanisms", "minutes a job",
               _mean("others_lost_minutes", "daly", 1)),
)  # fmt: skip


def _judge(tables: Tables) -> list[Verdict]:
    return verdicts(HYPOTHESES, Measured(tables[""]))


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.honesty import plot_honesty

    return plot_honesty(tables[""])


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-honesty",
        title="The price of honesty",
        question="Does a malleable project gain by declaring its jobs rigid, and what do the others lose?",
        parameters=Lies(traces=5),
        quick=Lies(2000, 3, projects=3, least_jobs=15, mechanisms=("CUA-PAA", "CUP-SPAA")),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "A job declared rigid has the setup and checkpoints of a rigid project (`daly`), or its own setup and "
            "no checkpoints (`bare`). Its undisturbed runtime stays the same.",
            "One project at a time, drawn from those with at least `least_jobs` jobs; all projects have equal weight.",
            "One changed job changes the rest of the schedule, and single projects gain or lose by chance. The "
            "mean over the projects of a trace is one value; traces are the repetitions.",
        ),
    ),
)
