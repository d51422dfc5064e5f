"""Which reading of hybrid-workload-scheduling gives which result: its open sentences, one varied at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.figures.study.mechanisms import METRICS
from experiments.papers.hybrid.checkpoints import YEAR, by_factor, checkpoint_rows
from experiments.papers.hybrid.claims import CHECKPOINT_CLAIMS, CLAIMS, Claim, examine
from experiments.papers.hybrid.findings import finding_row
from experiments.papers.hybrid.mechanisms import QUICK
from experiments.statistics import interval
from experiments.study.evidence import Finding
from experiments.study.experiment import Experiment, Resources, Row, Tables
from experiments.study.measured import Measured
from experiments.study.rules import Outcome, either, together
from experiments.study.simulated import MIXES, SIX, Traces, metric_rows, simulated
from experiments.study.verdicts import Statement, Verdict, text
from policies.mechanism import BASELINE
from workloads.ground.errors import UnknownNameError
from workloads.hybrid.checkpointing import NODE_MTBF

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "READINGS", "Reading"]

#: A claim with its finding, by its name.
_Found = Mapping[str, tuple[Claim, Finding]]


class Reading(NamedTuple):
    """One way to read the paper.

    Attributes
    ----------
    assignment, options
        What is not at its default.
    """

    assignment: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}


DEFAULT = "default"
READINGS: Mapping[str, Reading] = {
    DEFAULT: Reading(),
    "overheads=added": Reading({"overheads": "added"}),
    "backfill_length=runtime": Reading(options={"backfill_length": "runtime"}),
    "tenants=fits": Reading(options={"tenants": "fits"}),
    "tenants=none": Reading(options={"tenants": "none"}),
    "node_mtbf=1y": Reading({"node_mtbf": YEAR}),
    "node_mtbf=25y": Reading({"node_mtbf": 25 * YEAR}),
}
#: What the baseline depends on; it has no overheads, no notices and no tenants.
_OF_BASELINE = ("backfill_length",)
#: Of observation 13.
_FACTORS = (0.5, 1.0)
#: All six mechanisms, each trace's mean over them.
_MEAN = "mean of six"


@dataclass(frozen=True)
class Readings(Traces):
    """Parameters.

    Attributes
    ----------
    mixes
        Notice mixes.
    mix
        Notice mix of observation 13.
    readings
        Names of :data:`READINGS`; the default is always one of them.
    """

    mixes: tuple[str, ...] = MIXES
    mix: str = "W5"
    readings: tuple[str, ...] = tuple(READINGS)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.readings:
            if name not in READINGS:
                raise UnknownNameError("reading", name, READINGS)


def _measure(parameters: Readings, seed: int, resources: Resources) -> Tables:
    names = list(dict.fromkeys((DEFAULT, *parameters.readings)))
    runs: list[dict[str, Any]] = []
    checkpoints: list[dict[str, Any]] = []
    baseline: list[Row] = []
    for name in names:
        reading = READINGS[name]
        own_baseline = name == DEFAULT or any(key in reading.options for key in _OF_BASELINE)
        mechanisms = ((BASELINE,) if own_baseline else ()) + SIX
        mixes = {"notice_mix": list(parameters.mixes)}
        label = f"reading-{name.replace('=', '-')}"
        result = simulated(
            resources, label, parameters, seed, mechanisms, mixes | dict(reading.assignment), reading.options
        )
        rows = metric_rows(result)
        if name == DEFAULT:
            baseline = [row for row in rows if row["mechanism"] == BASELINE]
        rows = rows if own_baseline else [*baseline, *rows]
        years = reading.assignment.get("node_mtbf", NODE_MTBF) / YEAR
        courses = checkpoint_rows(
            parameters,
            _FACTORS,
            [years],
            parameters.mix,
            seed,
            resources,
            f"{label}-checkpoints",
            {key: value for key, value in reading.assignment.items() if key != "node_mtbf"},
            dict(reading.options),
        )
        runs += [{"reading": name, **row} for row in rows]
        checkpoints += [{"reading": name, **row} for row in courses]
    return {"": runs, "checkpoints": checkpoints, "differences": list(_differences(runs))}


def _by_reading(tables: Tables) -> dict[str, tuple[Measured, Measured]]:
    """By reading: measurements of Fig. 6, and of half of Daly's interval against the whole."""
    return {
        name: (
            Measured(row for row in tables[""] if row["reading"] == name),
            by_factor([row for row in tables["checkpoints"] if row["reading"] == name]),
        )
        for name in dict.fromkeys(row["reading"] for row in tables[""])
    }


def _examined(tables: Tables) -> dict[str, dict[str, tuple[Claim, Finding]]]:
    """By reading and name: each claim with its finding; one claim under all readings, whatever its node MTBF."""
    return {
        name: {
            claim.name: (claim, examine(claim, data))
            for claims, data in ((CLAIMS, grid), (CHECKPOINT_CLAIMS.values(), courses))
            for claim in claims
        }
        for name, (grid, courses) in _by_reading(tables).items()
    }


def _differences(runs: Sequence[Row]) -> list[Row]:
    """Each metric under each reading less that of the default, trace by trace, mean over the mixes."""
    data = {
        name: Measured(row for row in runs if row["reading"] == name)
        for name in dict.fromkeys(row["reading"] for row in runs)
    }
    rows: list[Row] = []
    for name, own in data.items():
        for metric in METRICS:
            for mechanism, members in {_MEAN: SIX, **{one: (one,) for one in SIX}}.items():
                gap = own(metric.name, members) - data[DEFAULT](metric.name, members)
                gap = gap[np.isfinite(gap)]
                if name == DEFAULT or len(gap) < 2:
                    continue
                found = interval(gap)
                level = data[DEFAULT](metric.name, members)
                rows.append(
                    {
                        "reading": name,
                        "metric": metric.name,
                        "unit": metric.difference,
                        "mechanism": mechanism,
                        "default": float(np.nanmean(level)),
                        "difference": found.mean,
                        "low": found.low,
                        "high": found.high,
                    }
                )
    return rows


#: Claims about levels that may be the paper's under another reading.
_LEVELS = ("1b", "1e", "9a")


def _judge(tables: Tables) -> list[Verdict]:
    found = _examined(tables)
    verdicts = []
    for name in _LEVELS:
        claim = found[DEFAULT][name][0]
        findings = {reading: own[name][1] for reading, own in found.items()}
        statement = Statement(f"Some reading gives {claim.printed}: {claim.text}", claim.printed, claim.source)
        rule = f"{findings[DEFAULT].rule}; under one of {len(findings)} readings after Holm, or under none"
        told = [f"{reading} {item.effect.text('.1f')}" for reading, item in findings.items() if item.effect is not None]
        decision = either([item.decision for item in findings.values()])
        verdicts.append(statement.verdict(decision, rule, f"{', '.join(told) or '-'} {claim.unit}"))
    verdicts += [_all_halves(name, own, found[DEFAULT]) for name, own in found.items()]
    return verdicts


_ALL_HALVES = "holds if each claim holds, does not hold if one does not after Holm"


def _all_halves(name: str, found: _Found, default: _Found) -> Verdict:
    """Whether all claims hold under a reading, and which fare otherwise than under the default."""
    own = {key: item for key, (_, item) in found.items() if item.outcome is not Outcome.NOT_COMPARABLE}
    statement = Statement(f"All halves of the observations hold under {name}", f"all {len(own)}", text("V"))
    counts = Counter(item.outcome for item in own.values())
    told = ", ".join(f"{counts[outcome]} {words}" for outcome, words in _WORDS.items())
    if not own:
        return statement.open("nothing was measured", rule=_ALL_HALVES)
    moved = [f"{key} {item.outcome}" for key, item in own.items() if item.outcome is not default[key][1].outcome]
    remark = f"other than under the default: {', '.join(moved) or 'none'}" if name != DEFAULT else ""
    return statement.verdict(together([item.decision for item in own.values()]), _ALL_HALVES, told, remark)


_WORDS = {Outcome.HOLDS: "hold", Outcome.FAILS: "do not hold", Outcome.UNDECIDED: "are undecided"}


def _draw(tables: Tables) -> Figure:
    from experiments.figures.study.evidence import plot_readings

    rows = [
        {"reading": reading, **finding_row(claim, finding)}
        for reading, own in _examined(tables).items()
        for claim, finding in own.values()
    ]
    return plot_readings(rows, tables["differences"], _MEAN)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="hybrid-readings",
        title="The observations under other readings of the paper",
        question="Which reading of the paper reproduces its results?",
        parameters=Readings(),
        quick=replace(
            Readings(),
            jobs=QUICK.jobs,
            traces=2,
            mixes=("W2", "W4"),
            readings=("overheads=added", "backfill_length=runtime", "tenants=none", "node_mtbf=1y"),
        ),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        simulates=True,
    ),
)
