"""Which reading of hybrid-workload-scheduling gives which result: its open sentences, one varied at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.experiment import Experiment, Resources, Row, Tables
from experiments.figures.mechanisms import METRICS
from experiments.papers.hybrid_checkpoints import YEAR, checkpoint_findings, checkpoint_rows
from experiments.papers.hybrid_claims import CHECKPOINT_CLAIMS
from experiments.papers.hybrid_evidence import Evidence
from experiments.papers.hybrid_findings import grid_findings
from experiments.papers.hybrid_grid import MIXES, SIX, Measurements, Traces, metric_rows, simulated
from experiments.papers.hybrid_mechanisms import QUICK
from experiments.statistics import interval
from experiments.verdicts import Outcome, Verdict
from policies.mechanism import BASELINE
from workloads.checkpointing import NODE_MTBF
from workloads.errors import UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "READINGS", "Reading"]


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
        Of the notices.
    mix
        Of observation 13.
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
    found: list[dict[str, Any]] = []
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
        found += [{"reading": name, **row} for row in grid_findings(Measurements(rows))]
        # One claim under all readings, whatever the node MTBF of a reading.
        found += [
            {"reading": name, **row, "claim": CHECKPOINT_CLAIMS[row["part"]].text}
            for row in checkpoint_findings(courses)
        ]
    return {"": found, "differences": list(_differences(runs)), "runs": runs}


def _differences(runs: Sequence[Row]) -> list[Row]:
    """Each metric under each reading less that of the default, trace by trace, mean over the mixes."""
    data = {
        name: Measurements(row for row in runs if row["reading"] == name)
        for name in dict.fromkeys(row["reading"] for row in runs)
    }
    rows: list[Row] = []
    for name, own in data.items():
        for metric in METRICS:
            for mechanism, members in {_MEAN: SIX, **{one: (one,) for one in SIX}}.items():
                gap = own(metric.column, members) - data[DEFAULT](metric.column, members)
                gap = gap[np.isfinite(gap)]
                if name == DEFAULT or len(gap) < 2:
                    continue
                found = interval(gap)
                level = data[DEFAULT](metric.column, members)
                rows.append(
                    {
                        "reading": name,
                        "metric": metric.column,
                        "unit": "points" if metric.percent else "h",
                        "mechanism": mechanism,
                        "default": float(np.nanmean(level)),
                        "difference": found.mean,
                        "low": found.low,
                        "high": found.high,
                    }
                )
    return rows


#: What could be a reason for the paper's numbers: claim, printed, metric, and the level to reach.
_LEVELS = (
    ("utilisation up to 90 %", 1, "b"),
    ("average turnaround up to 22 h", 1, "e"),
    ("98 % of the on-demand jobs start instantly", 9, "a"),
)


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    names = list(dict.fromkeys(row["reading"] for row in rows))
    verdicts = []
    for words, observation, part in _LEVELS:
        own = {row["reading"]: row for row in rows if (row["observation"], row["part"]) == (observation, part)}
        known = {name: row for name, row in own.items() if row["effect"] is not None}
        if not known:
            verdicts.append(Verdict(f"Some reading gives: {words}", words, "-", Outcome.NOT_COMPARABLE))
            continue
        best = max(known, key=lambda name: known[name]["effect"])
        reached = [name for name, row in known.items() if row["evidence"] == Evidence.SUPPORTED]
        verdicts.append(
            Verdict.of(
                f"Some reading gives: {words}",
                words,
                ", ".join(f"{name} {row['effect']:.1f}" for name, row in known.items()),
                bool(reached),
                f"reached under {', '.join(reached)}" if reached else f"nearest under {best}",
            )
        )
    for name in names:
        own_rows = [row for row in rows if row["reading"] == name and row["evidence"] != Evidence.MISSING]
        default = {_key(row): row["evidence"] for row in rows if row["reading"] == DEFAULT}
        holds = sum(row["evidence"] == Evidence.SUPPORTED for row in own_rows)
        moved = [
            f"{''.join(map(str, _key(row)))} {row['evidence']}"
            for row in own_rows
            if row["evidence"] != default.get(_key(row))
        ]
        against = [row for row in own_rows if row["evidence"] == Evidence.CONTRADICTED]
        verdicts.append(
            Verdict.of(
                f"All halves of the observations hold under {name}",
                f"{len(own_rows)}",
                f"{holds} hold, {len(against)} are contradicted, {len(own_rows) - holds - len(against)} undecided",
                holds == len(own_rows),
                f"other than under the default: {', '.join(moved) or 'none'}" if name != DEFAULT else "",
            )
        )
    return verdicts


def _key(row: Row) -> tuple[int, str]:
    return int(row["observation"]), str(row["part"] or "")


def _draw(tables: Tables) -> Figure:
    from experiments.figures.evidence import plot_readings

    return plot_readings(tables[""], tables["differences"], _MEAN)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="hybrid-readings",
        title="What becomes of the observations under other readings of the paper",
        question="Which sentence of the paper, read in which way, gives its results?",
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
