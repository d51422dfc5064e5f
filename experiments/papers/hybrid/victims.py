"""Experiment on why SPAA preempts fewer rigid jobs than PAA here, although the paper reports slightly more.

For each on-demand arrival that lacks nodes under the paper's preset, the experiment records whether malleable jobs
could have supplied them by shrinking, and which jobs were preempted. It then changes the rule of SPAA, or of both
strategies, and judges the claims about PAA and SPAA again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.experiments.paper_readings import find_reading
from holdfast.experiments.papers.hybrid.claims import CLAIMS, examine, notices
from holdfast.experiments.papers.hybrid.mechanisms import QUICK
from holdfast.experiments.papers.hybrid.victim_counter import latest
from holdfast.experiments.study.evidence import Finding, average, every, finite_mean, judge_finding
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Outcome
from holdfast.experiments.study.simulation_cache import COLUMNS, SIX, Traces
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, text
from holdfast.experiments.study.year_runs import YearRun, year_rows
from holdfast.experiments.sweeps.job_tables import job_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "RULES", "VictimRule", "Victims"]

_WATCHED = "holdfast.experiments.papers.hybrid.victim_counter:Watching"
_READING = "paper"


class VictimRule(NamedTuple):
    """A rule for choosing jobs to preempt.

    Attributes
    ----------
    name
        Title of the rule.
    both, shrinking
        Parameters of PAA and SPAA, and of SPAA alone.
    """

    name: str
    both: str = ""
    shrinking: str = ""

    def mechanism(self, name: str) -> str:
        """Name of a mechanism under this rule, with counters."""
        notice, arrival = name.split("-")
        words = [f"{notice}-{_WATCHED}", f"arrival={arrival}", self.both, self.shrinking if arrival == "SPAA" else ""]
        return " ".join(word for word in words if word)


#: The preset, and rules that may reverse the sign.
PLAIN = VictimRule("as the preset")
RULES: Sequence[VictimRule] = (
    PLAIN,
    VictimRule("overhead=seconds", "overhead=seconds"),
    VictimRule("victims=malleable-first", "victims=malleable-first"),
    VictimRule("lenders spared", shrinking="spared=lenders"),
    VictimRule("shrink=minimum", shrinking="shrink=minimum"),
    VictimRule("shrink=minimum, lenders spared", shrinking="shrink=minimum spared=lenders"),
    VictimRule(
        "victims=malleable-first, shrink=minimum, lenders spared",
        "victims=malleable-first",
        "shrink=minimum spared=lenders",
    ),
    VictimRule("victims=malleable-first, malleable jobs spared", "victims=malleable-first", "spared=malleable"),
)
#: Claims about PAA and SPAA, and other claims that a rule may affect.
_JUDGED = ("3c", "4b")
_OTHERS = ("3a", "3b", "3d", "4a", "4c", "4d", "7a", "7c", "7d", "9b")


@dataclass(frozen=True)
class Victims(Traces):
    """Parameters.

    Attributes
    ----------
    mixes
        Notice mixes.
    """

    traces: int = 3
    mixes: tuple[str, ...] = ("W2", "W5")


@dataclass(frozen=True)
class _Task:
    """One simulation under a rule."""

    seed: int
    jobs: int
    mix: str
    mechanism: str


def _victim_rows(task: _Task) -> list[Row]:
    """Metrics of a simulation, with the counts of its arrival strategy."""
    reading = find_reading(_READING)
    assignment = {"notice_mix": task.mix, **reading.assignment}
    run = YearRun(
        task.seed,
        task.jobs,
        reading.preset,
        tuple(assignment.items()),
        tuple(reading.options.items()),
        task.mechanism,
        COLUMNS,
    )
    (row,) = year_rows(run)
    own = run.configuration
    jobs, _, _ = job_table(own.workload, own.assignment, own.assignment_seed)
    rigid = sum(str(job.type) == "rigid" for job in jobs)
    return [{**row, "rigid": rigid, **dict(latest().items())}]


def _measure(parameters: Victims, seed: int, resources: Resources) -> Tables:
    labels, tasks = [], []
    for trace in range(seed, seed + parameters.traces):
        for mix in parameters.mixes:
            for rule in RULES:
                for name in SIX:
                    labels.append({"rule": rule.name, "trace": trace, "mix": mix, "mechanism": name})
                    tasks.append(_Task(trace, parameters.jobs, mix, rule.mechanism(name)))
    distinct = list(dict.fromkeys(tasks))
    rows = collect_rows(_victim_rows, distinct, resources, group=lambda task: (task.seed, task.mix))
    found = dict(zip(distinct, rows, strict=True))
    return {"": [{**label, **found[task]} for label, task in zip(labels, tasks, strict=True)]}


# Evaluation of the counts.


def _victim_shares(rows: Sequence[Row]) -> list[Row]:
    """Victims per 100 rigid jobs in each simulation, and mean sizes of running jobs."""
    found: list[Row] = []
    for row in rows:
        share = 100.0 / row["rigid"] if row["rigid"] else float("nan")
        found.append(
            {
                **{name: row[name] for name in ("rule", "trace", "mix", "mechanism")},
                **{name: row[name] * share for name in _COUNTED},
                "malleable_size": _ratio(row["malleable_nodes"], row["malleable_jobs"]),
                "uncovered_share": 100.0 * _ratio(row["uncovered"], row["covered"] + row["uncovered"]),
            }
        )
    return found


_COUNTED = ("covered_rigid", "uncovered_rigid", "spared_rigid")


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


class _Counted:
    """Counts by trace, averaged over the mixes."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.data = Measured(_victim_shares(rows))

    def pairs(self, metric: str) -> dict[str, tuple[Any, Any]]:
        """A count of SPAA and of PAA under each notice strategy."""
        return {
            name: (self.data.mean(metric, f"{name}-SPAA"), self.data.mean(metric, f"{name}-PAA")) for name in notices()
        }


def _judge(tables: Tables) -> list[Verdict]:
    by_rule = {rule.name: [row for row in tables[""] if row["rule"] == rule.name] for rule in RULES}
    plain = _Counted(by_rule[PLAIN.name])
    return [*_reasons(plain), *(verdict for name, rows in by_rule.items() for verdict in _claims(name, rows))]


def _reasons(plain: _Counted) -> list[Verdict]:
    """Judge each part of the paper's explanation under the preset."""
    covered = plain.pairs("covered_rigid")
    zeros = {name: (paa, 0.0 * paa) for name, (_, paa) in covered.items()}
    reason = text("V-A, observation 4")
    return [
        judge_finding(
            Statement("Where malleable jobs could supply the nodes by shrinking, PAA preempts rigid jobs", "none",
                      HYPOTHESIS),
            "in 100 rigid jobs", every(zeros, 1),
            "SPAA shrinks jobs there; PAA would have preempted, in 100 rigid jobs, "
            + ", ".join(f"{name} {finite_mean(own):.2f}" for name, (own, _) in plain.pairs("spared_rigid").items()),
        ),
        judge_finding(
            Statement("Where they cannot, SPAA preempts more rigid jobs than PAA, under each notice strategy",
                      "needs to preempt more running jobs", reason),
            "in 100 rigid jobs", every(plain.pairs("uncovered_rigid"), 1),
        ),
        judge_finding(
            Statement("Running malleable jobs are smaller under SPAA, mean over the notice strategies",
                      "on average, smaller", reason),
            "nodes", average(plain.pairs("malleable_size"), -1),
        ),
        judge_finding(
            Statement("Of the arrivals that lack nodes, shrinking cannot serve a larger share under SPAA than under "
                      "PAA, mean over the notice strategies", "", HYPOTHESIS),
            "points", average(plain.pairs("uncovered_share"), 1),
        ),
    ]  # fmt: skip


def _claims(rule: str, rows: Sequence[Row]) -> list[Verdict]:
    """Judge claims 3c and 4b under a rule; the remark lists the outcomes of the other claims."""
    found = _findings(rows)
    held = [name for name in _OTHERS if found[name].outcome is Outcome.HOLDS]
    against = [name for name in _OTHERS if found[name].outcome is Outcome.FAILS]
    remark = f"hold: {', '.join(held) or 'none'}; do not hold: {', '.join(against) or 'none'} of {', '.join(_OTHERS)}"
    known = {claim.name: claim for claim in CLAIMS}
    return [
        judge_finding(
            Statement(f"Observation {name}, {rule}: {known[name].text}", known[name].printed, known[name].source),
            known[name].unit,
            found[name],
            remark if name == _JUDGED[0] else "",
        )
        for name in _JUDGED
    ]


def _findings(rows: Sequence[Row]) -> dict[str, Finding]:
    data = Measured(rows)
    return {claim.name: examine(claim, data) for claim in CLAIMS if claim.name in (*_JUDGED, *_OTHERS)}


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.victims import plot_victims

    plain = _Counted([row for row in tables[""] if row["rule"] == PLAIN.name])
    causes = [
        {"mechanism": name, "cause": cause, "share": float(plain.data.mean(metric, name).mean())}
        for name in SIX
        for cause, metric in (
            ("shrinking would suffice", "covered_rigid"),
            ("shrinking would not suffice", "uncovered_rigid"),
        )
    ]
    effects = []
    for rule in RULES:
        data = Measured([row for row in tables[""] if row["rule"] == rule.name])
        for notice in notices():
            metric = "preemption_ratio_rigid"
            finding = average({notice: (data(metric, f"{notice}-SPAA"), data(metric, f"{notice}-PAA"))}, 1)
            effect = finding.effect
            if effect is not None:
                effects.append(
                    {"rule": rule.name, "notice": notice, "effect": effect.mean, "low": effect.low,
                     "high": effect.high}
                )  # fmt: skip
    return plot_victims(causes, effects)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="hybrid-victims",
        title="Which jobs PAA and SPAA preempt, arrival by arrival",
        question="Why does SPAA preempt fewer rigid jobs than PAA here, and slightly more in the paper?",
        parameters=Victims(),
        quick=replace(Victims(), jobs=QUICK.jobs, mixes=("W2",)),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=(
            "All is simulated under --reading paper.",
            "A lender is a malleable job that runs on fewer nodes than it requested. Where lenders are spared, an "
            "arrival for which the other jobs are not enough waits.",
        ),
        stores=True,
    ),
)
