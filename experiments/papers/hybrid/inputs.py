"""Experiments for Tables I and III of hybrid-workload-scheduling: the generated traces against the printed workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.experiments.papers.hybrid.mechanisms import QUICK
from holdfast.experiments.statistics import interval
from holdfast.experiments.study.evidence import PERCENT
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.rules import Near, together
from holdfast.experiments.study.simulation_cache import MIXES, Traces
from holdfast.experiments.study.verdicts import Statement, Verdict, table
from holdfast.experiments.sweeps.grid import GeneratedYear
from holdfast.experiments.sweeps.job_tables import job_table
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.hybrid.notices import NOTICE_MIXES, NoticeCategory
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["EXPERIMENTS", "assigned_traces", "notice_category"]

#: Table I: name, printed value, and whether a short quick run can reach it.
_TABLE_1 = (
    ("compute nodes", 4392, True),
    ("jobs", 37298, False),
    ("projects", 211, False),
    ("maximum job length [h]", 24, False),
    ("minimum job size [nodes]", 128, True),
)


def assigned_traces(parameters: Traces, seed: int, mix: str = "W5") -> Iterator[tuple[int, int, Sequence[Job]]]:
    """Yield trace number, machine size and jobs of each trace."""
    for trace in range(seed, seed + parameters.traces):
        jobs, nodes, _ = job_table(GeneratedYear(trace, parameters.jobs), Assignment(notice_mix=mix), trace)
        yield trace, nodes, jobs


# Table I.


def _measure_summary(parameters: Traces, seed: int) -> Tables:
    rows: list[Row] = []
    for trace, nodes, jobs in assigned_traces(parameters, seed):
        submits = [job.submit for job in jobs if job.submit is not None]
        rows.append(
            {
                "trace": trace,
                "compute nodes": nodes,
                "jobs": len(jobs),
                "projects": len({job.project for job in jobs}),
                "maximum job length [h]": max(job.walltime for job in jobs) / 3600,
                "minimum job size [nodes]": min(job.nodes for job in jobs),
                "days": (max(submits) - min(submits)) / 86400,
                "offered load": sum(job.nodes * job.runtime for job in jobs)
                / (nodes * ThetaYear(jobs=parameters.jobs).span),
            }
        )
    return {"": rows}


_SAME = "holds if every trace has exactly the printed value"


def _judge_summary(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    whole = all(row["jobs"] == ThetaYear().jobs for row in rows)
    verdicts = []
    for name, printed, always in _TABLE_1:
        values = sorted({row[name] for row in rows})
        measured = " to ".join(f"{value:g}" for value in (values[0], values[-1])[: len(values)])
        claim = f"{name}, in each trace"
        statement = Statement(claim, f"{printed:,}", table("I"), "the generator takes it as a parameter")
        if always or whole:
            verdicts.append(statement.exact_verdict(values == [printed], _SAME, measured))
        else:
            verdicts.append(statement.open("these traces are shorter than the paper's year", measured, _SAME))
    return verdicts


# Table III.


@dataclass(frozen=True)
class Mixes(Traces):
    """Parameters of Table III.

    Attributes
    ----------
    mixes
        Notice mixes.
    """

    mixes: tuple[str, ...] = MIXES


def notice_category(job: Job) -> NoticeCategory:
    """Notice category of an on-demand job, derived from its three times.

    Examples
    --------
    >>> job = Job(1, JobType.ON_DEMAND, 100.0, 1, 60.0, 60.0, notice=0.0, estimated_arrival=90.0)
    >>> notice_category(job).value
    'late'
    """
    if job.notice is None or job.estimated_arrival is None or job.submit is None:
        return NoticeCategory.NONE
    if job.submit == job.estimated_arrival:
        return NoticeCategory.ACCURATE
    return NoticeCategory.EARLY if job.submit < job.estimated_arrival else NoticeCategory.LATE


def _measure_mixes(parameters: Mixes, seed: int) -> Tables:
    rows: list[Row] = []
    for mix in parameters.mixes:
        for trace, _, jobs in assigned_traces(parameters, seed, mix):
            urgent = Counter(notice_category(job) for job in jobs if job.type is JobType.ON_DEMAND)
            count = urgent.total()
            rows += [
                {
                    "mix": mix,
                    "trace": trace,
                    "category": str(category),
                    "jobs": urgent[category],
                    "share_of_jobs": urgent[category] / count if count else None,
                    "table_3": NOTICE_MIXES[mix][place],
                }
                for place, category in enumerate(NoticeCategory)
            ]
    return {"": rows}


#: Margin of equal shares [points].
_MARGIN = 1.0


def _judge_mixes(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    verdicts = []
    for mix in dict.fromkeys(row["mix"] for row in rows):
        printed = dict(zip(map(str, NoticeCategory), NOTICE_MIXES[mix], strict=True))
        shares = {
            category: [
                100 * row["share_of_jobs"]
                for row in rows
                if (row["mix"], row["category"]) == (mix, category) and row["share_of_jobs"] is not None
            ]
            for category in printed
        }
        statement = Statement(
            f"{mix}: none / accurate / early / late [% of the on-demand jobs]",
            " / ".join(f"{100 * share:g}" for share in printed.values()),
            table("III"),
            "the categories are drawn with these shares",
        )
        rule = (
            f"holds if the 90 % interval of each mean share lies within {_MARGIN:g} point of the printed one (two "
            "one-sided tests), does not hold if a 95 % interval lies outside, after Holm"
        )
        if any(len(values) < 2 for values in shares.values()):
            verdicts.append(statement.open("fewer than two traces have on-demand jobs", rule=rule))
            continue
        found = {name: interval(values, bounds=PERCENT) for name, values in shares.items()}
        decision = together([Near(100 * printed[name], _MARGIN).decide(item) for name, item in found.items()])
        total = sum(row["jobs"] for row in rows if row["mix"] == mix)
        measured = " / ".join(item.text(".1f") for item in found.values())
        verdicts.append(statement.verdict(decision, rule, measured, f"over {total:,} jobs of all traces"))
    return verdicts


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        "hybrid-table1", "Summary of the workload", "Are the generated years the size of Theta's 2019?",
        Traces(), QUICK, _measure_summary, _judge_summary,
    ),
    Experiment(
        "hybrid-table3", "Notice mixes W1 to W5", "Do the traces have the requested notice mixes?",
        Mixes(), Mixes(QUICK.jobs, QUICK.traces), _measure_mixes, _judge_mixes,
    ),
)  # fmt: skip
