"""Experiments for Fig. 1 and Fig. 2 of hybrid-workload-scheduling: the four notice categories, and CUA against CUP.

The machines have a few nodes, so that each decision can be checked by hand. Times are minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.experiments.papers.hybrid.inputs import notice_category
from holdfast.experiments.placement.spans import HELD, place_nodes
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.verdicts import Statement, Verdict, text
from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.hybrid.checkpointing import checkpoints_of_job
from holdfast.workloads.table.job import Job, JobType

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_MINUTE = 60 * SECOND
_URGENT = 9
#: Reason for which the statements about these scenarios hold by construction.
_PLAYED = "the scenario is chosen so that the definition of the mechanism decides it"


@dataclass(frozen=True)
class Categories:
    """Parameters of Fig. 1 [min].

    Attributes
    ----------
    notice, estimated
        Time of the notice, and the announced arrival.
    early, late
        Actual arrivals of the early and the late category.
    mechanism
        Mechanism of all four runs.
    """

    notice: float = 10.0
    estimated: float = 30.0
    early: float = 23.0
    late: float = 37.0
    mechanism: str = "CUA-PAA"


def _job(
    job_id: int, kind: JobType, submit: float, nodes: int, runtime: float, walltime: float, **others: float
) -> Job:
    """Make a job from times in minutes."""
    minutes: dict[str, Any] = {name: value * 60 for name, value in others.items()}
    return Job(job_id, kind, submit * 60, nodes, runtime * 60, walltime * 60, **minutes)


def _four(parameters: Categories) -> dict[str, list[Job]]:
    """Jobs of each category: J1 ends before the arrival, J2 ends last, J3 and O need as many nodes as J1."""
    rigid, urgent = JobType.RIGID, JobType.ON_DEMAND
    others = [_job(1, rigid, 0, 4, 20, 25), _job(2, rigid, 0, 4, 75, 80), _job(3, rigid, 5, 4, 15, 20)]
    announcement = {"notice": parameters.notice, "estimated_arrival": parameters.estimated}
    return {
        "without notice": [*others, _job(_URGENT, urgent, parameters.estimated, 4, 15, 15)],
        "accurate notice": [*others, _job(_URGENT, urgent, parameters.estimated, 4, 15, 15, **announcement)],
        "arrives early": [*others, _job(_URGENT, urgent, parameters.early, 4, 15, 15, **announcement)],
        "arrives late": [*others, _job(_URGENT, urgent, parameters.late, 4, 15, 15, **announcement)],
    }


def _measure_categories(parameters: Categories, seed: int) -> Tables:
    played = {
        name: (jobs, simulate(jobs, 8, parameters.mechanism, tenants="none"))
        for name, jobs in _four(parameters).items()
    }
    return _outcome_tables(played)


def _outcome_tables(played: Mapping[str, tuple[Sequence[Job], Result]]) -> Tables:
    """Tables of the outcome of each job, and of runs on nodes, held nodes and notices for the figure."""
    tables: dict[str, list[Row]] = {"": [], "blocks": [], "calls": []}
    for name, (jobs, result) in played.items():
        tables[""] += [
            {
                "scenario": name,
                "mechanism": result.mechanism,
                "job": record.job_id,
                "type": str(record.type),
                "category": str(notice_category(job)) if job.type is JobType.ON_DEMAND else None,
                "submit": _minutes(record.submit),
                "start": _minutes(record.start),
                "end": _minutes(record.end),
                "preemptions": record.preemptions,
            }
            for job, record in zip(jobs, result.records, strict=True)
        ]
        tables["blocks"] += _blocks(name, result)
        for job in jobs:
            if job.type is JobType.ON_DEMAND:
                calls = {"notice": job.notice, "estimated": job.estimated_arrival, "arrival": job.submit}
                tables["calls"] += [
                    {"scenario": name, "job": job.job_id, "call": call, "time": time / 60}
                    for call, time in calls.items()
                    if time is not None
                ]
            elif job.checkpoint_interval is not None:
                period = job.checkpoint_interval + job.checkpoint_cost
                ends = [job.setup + number * period for number in range(1, checkpoints_of_job(job) + 1)]
                tables["calls"] += [
                    {"scenario": name, "job": job.job_id, "call": "checkpoint", "time": end / 60} for end in ends
                ]
    return tables


def _minutes(ticks: int | None) -> float | None:
    return None if ticks is None else ticks / _MINUTE


def _blocks(name: str, result: Result) -> Iterator[Row]:
    types = {record.job_id: str(record.type) for record in result.records}
    spans = place_nodes(result)
    for span in (span for span in spans if span.kind != HELD):
        yield {
            "scenario": name, "job": span.job_id, "type": types[span.job_id], "start": span.start / _MINUTE,
            "end": span.end / _MINUTE, "low": span.nodes[0][0], "high": span.nodes[-1][1],
            "preempted": int(span.ending == "preempt"),
        }  # fmt: skip
    for span in sorted((span for span in spans if span.kind == HELD), key=lambda span: span.start):
        for low, high in span.nodes:
            yield {
                "scenario": name, "job": None, "type": "held", "start": span.start / _MINUTE,
                "end": span.end / _MINUTE, "low": low, "high": high, "preempted": 0,
            }  # fmt: skip


def _held_blocks(tables: Tables, scenario: str) -> list[Row]:
    return [row for row in tables["blocks"] if row["scenario"] == scenario and row["type"] == "held"]


def _judge_categories(tables: Tables) -> list[Verdict]:
    verdicts = []
    for name in dict.fromkeys(row["scenario"] for row in tables[""]):
        own = {row["job"]: row for row in tables[""] if row["scenario"] == name}
        urgent = own[_URGENT]
        preempted = [f"J{job}" for job, row in own.items() if row["preemptions"]]
        held = _held_blocks(tables, name)
        holding = f"nodes held from {held[0]['start']:g} to {held[-1]['end']:g} min" if held else "nothing held"
        expected = bool(held) and not preempted if urgent["category"] != "none" else bool(preempted) and not held
        without = urgent["category"] == "none"
        statement = Statement(
            f"{name}: starts at its arrival" + ("" if without else ", on nodes kept for it"),
            "instantly",
            text("II-C"),
            _PLAYED,
        )
        rule = (
            "holds if the wait is 0, a job is preempted for it and no node is held before"
            if without
            else "holds if the wait is 0, nodes are held before the arrival and no job is preempted"
        )
        measured = (
            f"arrives at {urgent['submit']:g}, starts at {urgent['start']:g} min; {holding}; "
            f"preempted: {', '.join(preempted) or 'none'}"
        )
        verdicts.append(statement.exact_verdict(urgent["start"] == urgent["submit"] and expected, rule, measured))
    return verdicts


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.scenarios import plot_scenarios

    return plot_scenarios(tables["blocks"], tables["calls"], _URGENT)


@dataclass(frozen=True)
class PlanMinutes:
    """Parameters of Fig. 2 [min].

    Attributes
    ----------
    notice, arrival
        Time of the notice, and the accurately announced arrival.
    first_end, first_walltime
        Actual and expected end of J1, both before the arrival.
    second_end, second_walltime
        Actual end of J2, before the arrival, and its later expected end.
    setup, interval, cost
        Setup, checkpoint interval and checkpoint cost of J2.
    """

    notice: float = 10.0
    arrival: float = 30.0
    first_end: float = 18.0
    first_walltime: float = 25.0
    second_end: float = 29.0
    second_walltime: float = 45.0
    setup: float = 2.0
    interval: float = 10.0
    cost: float = 2.0


def _measure_plans(parameters: PlanMinutes, seed: int) -> Tables:
    rigid, how = JobType.RIGID, parameters
    jobs = [
        _job(1, rigid, 0, 4, how.first_end, how.first_walltime),
        _job(
            2, rigid, 0, 4, how.second_end, how.second_walltime, setup=how.setup, checkpoint_interval=how.interval,
            checkpoint_cost=how.cost,
        ),
        _job(3, rigid, 0, 4, 65, 70),
        _job(_URGENT, JobType.ON_DEMAND, how.arrival, 8, 20, 20, notice=how.notice, estimated_arrival=how.arrival),
    ]  # fmt: skip
    return _outcome_tables({name: (jobs, simulate(jobs, 12, f"{name}-PAA", tenants="none")) for name in ("CUA", "CUP")})


def _judge_plans(tables: Tables) -> list[Verdict]:
    own = {(row["scenario"], row["job"]): row for row in tables[""]}
    stops = [row["end"] for row in tables["blocks"] if row["scenario"] == "CUP" and row["preempted"]]
    arrival = own["CUP", _URGENT]["submit"]
    dumps = [
        row["time"]
        for row in tables["calls"]
        if row["scenario"] == "CUP" and row["call"] == "checkpoint" and row["time"] <= arrival
    ]
    last = max(dumps, default=float("nan"))
    waits = [own[name, _URGENT]["start"] - own[name, _URGENT]["submit"] for name in ("CUA", "CUP")]
    ended = [own["CUA", job]["end"] for job in (1, 2)]
    source = text("III-B, caption of Fig. 2")
    preempted = sum(row["preemptions"] for (name, _), row in own.items() if name == "CUA")
    return [
        Statement("CUA keeps the nodes that J1 and J2 release, and preempts no job",
                  "reserves the nodes released from J1 and J2", source, _PLAYED).exact_verdict(
            preempted == 0 and {row["start"] for row in _held_blocks(tables, "CUA")} >= set(ended[:1]),
            "holds if nodes are held from J1's end on and no job is preempted",
            f"J1 ends at {ended[0]:g}, J2 at {ended[1]:g} min; {preempted} preemptions",
        ),
        Statement("CUP counts on J1, and preempts J2 immediately after its checkpoint",
                  "immediately after checkpointing", source, _PLAYED).exact_verdict(
            stops == [last] and own["CUP", 1]["preemptions"] == 0 and own["CUP", 2]["preemptions"] == 1,
            "holds if J2 alone is preempted, once, at the end of its last checkpoint before the arrival",
            f"J2's last checkpoint before the arrival is complete at {last:g} min; it is preempted at "
            f"{', '.join(f'{stop:g}' for stop in stops) or '-'} min",
        ),
        Statement(
            "J2's unfinished computation is resumed later", "resubmitted and resumed later", source, _PLAYED
        ).exact_verdict(
            own["CUP", 2]["end"] > own["CUP", _URGENT]["end"],
            "holds if J2 is complete after the on-demand job",
            f"J2 is complete at {own['CUP', 2]['end']:g} min, after O's end at {own['CUP', _URGENT]['end']:g} min",
        ),
        Statement(
            "Under both, the on-demand job starts at its arrival", "instantly", text("II-C"), _PLAYED
        ).exact_verdict(waits == [0, 0], "holds if both waits are 0", f"waits {waits[0]:g} and {waits[1]:g} min"),
    ]  # fmt: skip


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        "hybrid-fig1", "The four notice categories of on-demand jobs", "What does a notice change?",
        Categories(), Categories(), _measure_categories, _judge_categories, _draw,
    ),
    Experiment(
        "hybrid-fig2", "CUA against CUP", "What is the difference between collecting and planning?",
        PlanMinutes(), PlanMinutes(), _measure_plans, _judge_plans, _draw,
    ),
)  # fmt: skip
