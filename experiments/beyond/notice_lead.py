"""Experiment: the effect of notice lead time, for on-demand jobs announced up to four hours before they arrive.

The paper draws lead times from 15 to 30 minutes. Here all jobs of a simulation have the same lead, and either all
arrive exactly when announced (``accurate``) or as in a mix of Table III. N ignores notices and is the reference; under
mixes with early jobs a lead also moves arrivals, so N changes, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.experiments.study.evidence import Finding, Pair, average, difference, every, within
from holdfast.experiments.study.experiment import Experiment, Resources, Tables
from holdfast.experiments.study.hypotheses import Hypothesis, verdicts
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.simulation_cache import SIX, Traces, metric_rows, simulate_grid
from holdfast.experiments.study.verdicts import Verdict
from holdfast.simulator.results.catalogue import metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: All on-demand jobs give notice and arrive when announced.
_ACCURATE = "accurate"
_SHARES = {_ACCURATE: (0.0, 1.0, 0.0, 0.0)}
#: The mechanisms that use notices.
_LISTENING = tuple(name for name in SIX if not name.startswith("N-"))
#: The lead [h] that the claims compare with none and with the longest.
_SHORT = 0.5


@dataclass(frozen=True)
class Leads(Traces):
    """Parameters.

    Attributes
    ----------
    leads
        Time from the notice to the announced arrival [h].
    mixes
        Notice mixes of Table III, or ``accurate``.
    """

    leads: tuple[float, ...] = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
    mixes: tuple[str, ...] = (_ACCURATE, "W5")


def _measure(parameters: Leads, seed: int, resources: Resources) -> Tables:
    rows = []
    for mix in parameters.mixes:
        result = simulate_grid(
            resources,
            f"notice-{mix}",
            parameters,
            seed,
            SIX,
            {
                "notice_mix": list(_SHARES[mix]) if mix in _SHARES else mix,
                "notice_lead": [[lead * 3600.0] * 2 for lead in parameters.leads],
            },
        )
        for row in metric_rows(result, "notice_lead"):
            lead = float(str(row["notice_lead"]).split()[0]) / 3600.0
            rows.append({**row, "mix": mix, "notice_lead": lead})
    return {"": rows}


def _pairs(data: Measured, metric: str, a: float, b: float) -> dict[str, Pair]:
    """The metric at two leads under each mechanism that uses notices; all jobs arrive when announced."""
    return {
        name: (
            data(metric, mechanism=name, mix=_ACCURATE, notice_lead=a),
            data(metric, mechanism=name, mix=_ACCURATE, notice_lead=b),
        )
        for name in _LISTENING
    }


def _longest(data: Measured) -> float:
    return float(data.values("notice_lead")[-1])


def _first_half_hour(data: Measured) -> Finding:
    def gain(b: float, a: float) -> Pair:
        metric, where = "instant_start_ratio_strict", {"mechanism": _LISTENING, "mix": _ACCURATE}
        return data(metric, notice_lead=b, **where), data(metric, notice_lead=a, **where)

    (short, none), (long, _) = gain(_SHORT, 0.0), gain(_longest(data), _SHORT)
    return difference(short - none, long - short, 1)


def _plans(data: Measured) -> Finding:
    """CUP against CUA at the longest lead."""
    metric, where = "instant_start_ratio_strict", {"mix": _ACCURATE, "notice_lead": _longest(data)}
    return average(
        {
            kind: (
                data(metric, mechanism=f"CUP-{kind}", **where),
                data(metric, mechanism=f"CUA-{kind}", **where),
            )
            for kind in ("PAA", "SPAA")
        },
        1,
    )


_STRICT = "instant_start_ratio_strict"

#: Claims on on-demand jobs that all arrive when announced.
HYPOTHESES = (
    Hypothesis("With half an hour of notice more on-demand jobs start instantly (0 s) than without, under each "
               "mechanism",
               "points", lambda data: every(_pairs(data, _STRICT, _SHORT, 0.0), 1)),
    Hypothesis("With the longest lead more start instantly (0 s) than with half an hour, under each "
               "mechanism", "points",
               lambda data: every(_pairs(data, _STRICT, _longest(data), _SHORT), 1)),
    Hypothesis("The first half hour of lead gains more instant starts than the rest of the longest "
               "lead", "points", _first_half_hour),
    Hypothesis("At the longest lead more start instantly (0 s) under CUP than under CUA", "points",
               _plans),
    Hypothesis("With a tolerance of two minutes the longest lead changes the instant start rate by less than a point",
               "points",
               lambda data: within({"": (
                   data("instant_start_ratio", mechanism=_LISTENING, mix=_ACCURATE, notice_lead=_longest(data)),
                   data("instant_start_ratio", mechanism=_LISTENING, mix=_ACCURATE, notice_lead=0.0))}, 1.0, "points")),
    Hypothesis("With the longest lead fewer rigid jobs are preempted than without, under each mechanism", "points",
               lambda data: every(_pairs(data, "preemption_ratio_rigid", _longest(data), 0.0), -1)),
    Hypothesis("With the longest lead fewer malleable jobs are preempted than without, under each mechanism", "points",
               lambda data: every(_pairs(data, "preemption_ratio_malleable", _longest(data), 0.0), -1)),
    Hypothesis("The longest lead lengthens the average turnaround of all jobs, mean of the four mechanisms", "h",
               lambda data: average(_pairs(data, "turnaround_h", _longest(data), 0.0), 1)),
    Hypothesis("The longest lead lowers the utilisation, mean of the four mechanisms", "points",
               lambda data: average(_pairs(data, "utilization", _longest(data), 0.0), -1)),
)  # fmt: skip


def _judge(tables: Tables) -> list[Verdict]:
    return verdicts(HYPOTHESES, Measured(tables[""]))


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.line_panels import Ruler, plot_panels

    rows = tables[""]
    mixes = list(dict.fromkeys(row["mix"] for row in rows))
    words = {_ACCURATE: "All on-demand jobs come when they said"}
    instant = {_STRICT: "started in 0 s", "instant_start_ratio": "started in 120 s"}
    metrics = [
        *(replace(metric(name), title="on-demand jobs", of=words) for name, words in instant.items()),
        *map(metric, ("turnaround_h", "preemption_ratio_rigid", "preemption_ratio_malleable", "utilization")),
    ]
    ruler = Ruler("notice_lead", "Notice (h)", even=True)
    return plot_panels(rows, ruler, metrics, 3, "mix", {mix: words.get(mix, f"Notice mix {mix}") for mix in mixes})


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-notice",
        title="What notice lead time buys",
        question="How long before its arrival should an on-demand job be announced, and what do the others pay?",
        parameters=Leads(traces=5),
        quick=Leads(2000, 3, (0.0, 0.5, 4.0), (_ACCURATE,)),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "All jobs of a simulation have the same lead, and `accurate` jobs arrive as announced. The hybrid "
            "paper draws leads from 15 to 30 minutes, and mixes accurate, early and late arrivals.",
            "At a lead of 0 the notice comes with the job. CUP still plans for it, and so differs from N.",
            "Tenants may run on reserved nodes, and their preemption may take two minutes: instant at 120 s, but "
            "not at 0 s.",
        ),
    ),
)
