"""Experiment: what the six mechanisms gain on GPU clusters over the orders of preemption that schedulers use today.

Slurm can preempt the youngest job first (``preempt_youngest_first``), Kueue and Volcano preempt the lowest priority.
Their orders are values of ``victims`` (:class:`holdfast.policies.arrival.PreemptAtArrival`), without notice. The logs
of Helios and Philly are not part of Holdfast: without their paths only generated clusters are compared. On a log,
repetitions differ in the draws of types, overheads and notices alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.experiments.beyond.gpu_clusters import SERVER, build_cluster, generate_gpu_jobs, gpu_hours, read_gpu_jobs
from holdfast.experiments.beyond.rankings import by_dataset
from holdfast.experiments.study.evidence import Finding, Pair, average, every, within
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import Hypothesis, hypothesis, verdicts
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.simulation_cache import SIX
from holdfast.experiments.study.verdicts import Verdict
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.assignment import assign

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DATASETS", "EXPERIMENTS", "TODAY", "GpuVictims"]

#: Today's orders of victims, as mechanisms, by what they preempt.
TODAY: Mapping[str, str] = {
    "youngest": "N-PAA victims=youngest",
    "oldest": "N-PAA victims=oldest",
    "lowest priority": "N-PAA victims=lowest-priority",
}
GENERATED, POOLED = "generated", "pooled"
#: Titles of the datasets.
DATASETS: Mapping[str, str] = {
    GENERATED: "generated clusters",
    POOLED: "generated clusters of one pool of GPUs",
    "helios": "the sample of Helios",
    "philly": "the sample of Philly",
}
_SUMMARY = (
    *("instant_start_ratio", "instant_start_ratio_strict", "turnaround_h", "turnaround_rigid_h"),
    *("turnaround_malleable_h", "turnaround_on_demand_h", "preemption_ratio_rigid", "preemption_ratio_malleable"),
)
#: Mean time between failures of a server of eight GPUs [s]: 419 unexpected interruptions in 54 days of 2,048 servers
#: (Llama team, arXiv 2407.21783, section 3.3.4).
_MTBF = 54 * 86400.0 * 2048 / 419


@dataclass(frozen=True)
class GpuVictims:
    """Parameters.

    Attributes
    ----------
    jobs, days
        Jobs of a generated cluster, and the time in which they are submitted [days].
    traces
        Number of generated clusters, and of draws of types, overheads and notices on a log; 2 or more.
    scarce
        Share of the time in which the jobs of a partition would use more GPUs than it has, if none waited.
    mix
        Notice mix.
    most_jobs
        Number of jobs taken from the beginning of a log; 0: all.
    helios, philly
        Samples of Helios and Philly; empty: left out.
    """

    jobs: int = 12_000
    days: float = 28.0
    traces: int = 10
    scarce: float = 0.05
    mix: str = "W5"
    most_jobs: int = 0
    helios: str = data_file("gpu/helios_data_training.csv")
    philly: str = data_file("gpu/philly_data_training.csv")

    def __post_init__(self) -> None:
        if self.traces < 2:
            raise ParameterError("traces", "at least 2, for a confidence interval", self.traces)


@dataclass(frozen=True)
class _Task:
    """All simulations of a cluster with one draw of types; of a log ``jobs`` are the first that count."""

    dataset: str
    path: str
    jobs: int
    days: float
    trace: int
    scarce: float
    mix: str


def _measure(parameters: GpuVictims, seed: int, resources: Resources) -> Tables:
    tasks = []
    for dataset in DATASETS:
        path = getattr(parameters, dataset, "")
        if path or dataset in (GENERATED, POOLED):
            jobs, days = (parameters.most_jobs, 0.0) if path else (parameters.jobs, parameters.days)
            tasks += [
                _Task(dataset, path, jobs, days, trace, parameters.scarce, parameters.mix)
                for trace in range(seed, seed + parameters.traces)
            ]
    return {"": list(collect_rows(_task_rows, tasks, resources, files=[task.path for task in tasks]))}


def _task_rows(task: _Task) -> list[Row]:
    jobs = read_gpu_jobs(task.path, task.jobs) if task.path else generate_gpu_jobs(task.jobs, task.days, task.trace)
    trace, workload = build_cluster(jobs, task.scarce, shared=task.dataset == POOLED)
    mtbf = _MTBF * (SERVER if task.dataset == POOLED else 1)
    table = assign(trace, seed=task.trace, group_by="user", notice_mix=task.mix, node_mtbf=mtbf)
    rows: list[Row] = []
    for name in (*TODAY.values(), *SIX):
        result = simulate(table, workload.machine.size, name, events=False, on_machine=workload)
        hours, summary = gpu_hours(result, workload.machine), summarize(result)
        rows.append(
            {"dataset": task.dataset, "trace": task.trace, "mechanism": name, "gpu_hours": hours["used"],
             "lost_gpu_share": hours["lost"] / hours["used"], "held_gpu_share": hours["held"] / hours["used"],
             **{key: None if summary[key] != summary[key] else float(summary[key]) for key in _SUMMARY}}
        )  # fmt: skip
    return rows


# Verdicts.


def _against(metric: str, name: str, others: Mapping[str, str]) -> Callable[[Measured], dict[str, Pair]]:
    """The metric under a mechanism, beside others."""
    return lambda data: {title: (data(metric, name), data(metric, other)) for title, other in others.items()}


def _youngest(metric: str, name: str) -> Callable[[Measured], dict[str, Pair]]:
    return _against(metric, name, {"youngest": TODAY["youngest"]})


def _fewer(pairs: Callable[[Measured], dict[str, Pair]], sign: int = -1) -> Callable[[Measured], Finding]:
    return lambda data: every(pairs(data), sign)


def _notice_finding(data: Measured) -> Finding:
    """CUA and CUP against N."""
    lost = "lost_gpu_share"
    pairs = {
        f"{notice}-{arrival}": (data(lost, f"{notice}-{arrival}"), data(lost, f"N-{arrival}"))
        for arrival in ("PAA", "SPAA")
        for notice in ("CUA", "CUP")
    }
    return average(pairs, -1)


#: Order of the three that should lose least, and the other two.
_OLDER = {name: TODAY[name] for name in ("oldest", "lowest priority")}
_LESS = Hypothesis("SPAA without notice loses fewer GPU-hours than preempting the youngest", "points",
                   _fewer(_youngest("lost_gpu_share", "N-SPAA")))  # fmt: skip
_CHEAPEST = Hypothesis("PAA without notice loses fewer GPU-hours than preempting the youngest, the oldest or the "
                       "lowest priority", "points", _fewer(_against("lost_gpu_share", "N-PAA", TODAY)))  # fmt: skip
_ALIKE = Hypothesis("SPAA without notice starts as many on-demand jobs instantly (the warning) as preempting the "
                    "youngest, to a point", "points",
                    lambda data: within(_youngest("instant_start_ratio", "N-SPAA")(data), 1.0, "points"))  # fmt: skip
_PUNCTUAL = Hypothesis("CUP-SPAA starts more on-demand jobs at once (0 s) than preempting the youngest, the oldest or "
                       "the lowest priority", "points",
                       _fewer(_against("instant_start_ratio_strict", "CUP-SPAA", TODAY), 1))  # fmt: skip
_SOONER = Hypothesis("CUP-SPAA has a shorter average turnaround than preempting the youngest, the oldest or the lowest "
                     "priority", "h", _fewer(_against("turnaround_h", "CUP-SPAA", TODAY)))  # fmt: skip
_FRESH = Hypothesis("Preempting the youngest loses fewer GPU-hours than preempting the oldest or the lowest priority",
                    "points", _fewer(_against("lost_gpu_share", TODAY["youngest"], _OLDER)))  # fmt: skip
_NOTICED = Hypothesis("With notices (CUA, CUP) fewer GPU-hours are lost than without, mean over PAA and SPAA",
                      "points", _notice_finding)  # fmt: skip
_COMMON = (_LESS, _ALIKE, _CHEAPEST, _PUNCTUAL, _SOONER)
HYPOTHESES: Mapping[str, Sequence[Hypothesis]] = {
    GENERATED: (*_COMMON, _FRESH, _NOTICED),
    POOLED: (_LESS, _CHEAPEST),
    "helios": _COMMON,
    "philly": _COMMON,
}


def _judge(tables: Tables) -> list[Verdict]:
    data = by_dataset(tables[""])
    return [verdict for dataset in DATASETS for verdict in _verdicts(data, dataset)]


def _verdicts(data: Mapping[str, Measured], dataset: str) -> Iterator[Verdict]:
    named = [item._replace(text=f"On {DATASETS[dataset]}: {item.text}") for item in HYPOTHESES[dataset]]
    if dataset in data:
        yield from verdicts(named, data[dataset])
    else:
        for item in named:
            yield hypothesis(item.text).open(f"no log was given (--set {dataset}=PATH)")


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.victim_orders import plot_victim_orders

    return plot_victim_orders(tables[""], DATASETS, {name: f"the {title}" for title, name in TODAY.items()})


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-gpu",
        title="Mechanisms on GPU clusters against today's orders of preemption",
        question="What does a GPU cluster gain from the mechanisms over preempting the youngest, the oldest or the "
        "lowest priority?",
        parameters=GpuVictims(),
        quick=GpuVictims(jobs=300, days=1.0, traces=2, most_jobs=300),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "Jobs of eight GPUs or more get whole servers of eight; smaller ones run in a partition of single GPUs. A "
            "second model gives all jobs one pool of GPUs.",
            "Each partition has as many GPUs as its jobs would exceed for 5 % of the time, if none waited.",
            "Types are drawn by user, overheads and notices as in the hybrid paper. A server fails every 264 days "
            "(Llama team, 2024), and so does a GPU of the other partition; a GPU of the pool an eighth as often.",
            "GPU clusters record no walltimes: a job asks for the smallest of 1, 4, 12, 24 h, 3, 7, 14, 30 and 90 days "
            "that is long enough.",
            "The lowest priority is that of FCFS: the latest submit.",
        ),
    ),
)
