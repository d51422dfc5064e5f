"""Which reading of hybrid-workload-scheduling reproduces most of it: its open sentences, varied together.

A screening of sixteen readings on short years estimates what each sentence does to each printed level and to the number
of claims that come out as printed. The readings for which these effects promise most are then simulated on whole years.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.papers.hybrid.checkpoints import by_factor
from experiments.papers.hybrid.claims import CHECKPOINT_CLAIMS, CLAIMS, Claim, examine
from experiments.papers.hybrid.factors import FACTORS, Choice, effects, named_choice, predicted, screening
from experiments.papers.hybrid.findings import finding_row
from experiments.study.evidence import Finding, mean_of
from experiments.study.experiment import Experiment, Resources, Row, Tables
from experiments.study.measured import Measured
from experiments.study.rules import Decision, Outcome, either
from experiments.study.simulated import MIXES, SIX, Traces, metric_rows, simulated
from experiments.study.verdicts import Statement, Verdict, table, text
from experiments.sweeps import SweepResult
from policies.mechanism import BASELINE
from workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "LEVELS", "Joint", "Level"]


class Level(NamedTuple):
    """A level that the paper prints.

    Attributes
    ----------
    name, title, printed, unit, margin
        The margin is what still counts as the same: 5 % of a duration, 1 point of a share.
    """

    name: str
    title: str
    printed: float
    unit: str
    margin: float


LEVELS: Sequence[Level] = (
    Level("baseline_turnaround", "turnaround, baseline", 15.6, "h", 0.78),
    Level("baseline_utilisation", "utilisation, baseline", 83.93, "%", 1.0),
    Level("baseline_instant", "instant starts, baseline", 22.69, "%", 1.0),
    Level("worst_turnaround", "turnaround, worst mean", 22.0, "h", 1.1),
    Level("best_utilisation", "utilisation, best mean", 90.0, "%", 1.0),
    Level("instant", "instant starts, mean", 98.0, "%", 1.0),
)

#: The measure that counts claims.
_CLAIMS = "claims, as printed"


@dataclass(frozen=True)
class Joint(Traces):
    """Parameters.

    Attributes
    ----------
    mixes
        Notice mixes of the chosen readings.
    mix
        Notice mix of observation 13.
    screened_jobs, screened_traces, screened_mixes
        Years of the screening.
    chosen
        How many readings are simulated on the whole years, the default besides: half of them because most claims are
        expected to come out as printed, half because the levels are expected to be nearest.
    """

    mixes: tuple[str, ...] = MIXES
    mix: str = "W5"
    screened_jobs: int = 12_000
    screened_traces: int = 3
    screened_mixes: tuple[str, ...] = ("W2", "W4", "W5")
    chosen: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.screened_traces < 2:
            raise ParameterError("screened_traces", "at least 2, for a confidence interval", self.screened_traces)
        if not 1 <= self.chosen < 2 ** len(FACTORS):
            raise ParameterError("chosen", f"from 1 to {2 ** len(FACTORS) - 1}", self.chosen)


def _simulate(choice: Choice, traces: Traces, mixes: Sequence[str], mix: str, seed: int, resources: Resources,
              name: str) -> tuple[list[Row], list[Row]]:  # fmt: skip
    """The metrics under a reading, and those at both checkpoint intervals of observation 13."""
    own = {choice.mechanism(mechanism): mechanism for mechanism in SIX}
    label = f"{name}-{sum(high << place for place, high in enumerate(choice.levels)):02x}"

    def simulate(name: str, mechanisms: Sequence[str], varied: Mapping[str, Any]) -> SweepResult:
        assignment = {**varied, **choice.assignment}
        return simulated(resources, name, traces, seed, mechanisms, assignment, choice.options, preset=choice.preset)

    grid = simulate(label, [BASELINE, *own], {"notice_mix": list(mixes)})
    halves = simulate(f"{label}-checkpoints", list(own), {"notice_mix": mix, "checkpoint_factor": [0.5, 1.0]})

    def rows(found: Sequence[Row]) -> list[Row]:
        return [{"reading": choice.name, **row, "mechanism": own.get(row["mechanism"], BASELINE)} for row in found]

    return rows(metric_rows(grid)), rows(metric_rows(halves, "checkpoint_factor"))


def _measure(parameters: Joint, seed: int, resources: Resources) -> Tables:
    short = Traces(jobs=parameters.screened_jobs, traces=parameters.screened_traces)
    tables: dict[str, list[Row]] = {"": [], "checkpoints": [], "screening": [], "screening-checkpoints": []}

    def simulate(choices: Sequence[Choice], traces: Traces, mixes: Sequence[str], stage: str) -> None:
        for choice in choices:
            grid, halves = _simulate(choice, traces, mixes, parameters.mix, seed, resources, f"joint-{stage or 'year'}")
            tables[stage] += grid
            tables[f"{stage}-checkpoints" if stage else "checkpoints"] += halves

    simulate(screening(), short, parameters.screened_mixes, "screening")
    simulate(_promising(_scores(tables, "screening"), parameters.chosen), parameters, parameters.mixes, "")
    return tables


class _Score(NamedTuple):
    """How near a reading comes to the paper.

    Attributes
    ----------
    choice
        The reading.
    found
        Each claim with its finding, by the claim's name.
    agreeing
        How many claims come out as printed, or lean to it.
    levels
        Each printed level as measured, by its name.
    distance
        Root mean square of the levels' deviations from what is printed, in margins.
    """

    choice: Choice
    found: Mapping[str, tuple[Claim, Finding]]
    agreeing: int
    levels: Mapping[str, float]
    distance: float


def _scores(tables: Tables, stage: str = "") -> list[_Score]:
    halves = tables[f"{stage}-checkpoints" if stage else "checkpoints"]
    names = dict.fromkeys(row["reading"] for row in tables[stage])
    return [
        _score(
            named_choice(name),
            Measured(row for row in tables[stage] if row["reading"] == name),
            by_factor([row for row in halves if row["reading"] == name]),
        )
        for name in names
    ]


def _score(choice: Choice, grid: Measured, halves: Measured) -> _Score:
    found = {
        claim.name: (claim, examine(claim, data))
        for claims, data in ((CLAIMS, grid), (CHECKPOINT_CLAIMS.values(), halves))
        for claim in claims
        if not claim.own
    }
    mixes = grid.values("mix")

    def cells(metric: str) -> list[float]:
        return [mean_of(grid(metric, mechanism, mix)) for mechanism in SIX for mix in mixes]

    levels = {
        "baseline_turnaround": mean_of(grid("turnaround_h", BASELINE)),
        "baseline_utilisation": mean_of(grid("utilization", BASELINE)),
        "baseline_instant": mean_of(grid("instant_start_ratio_strict", BASELINE)),
        "worst_turnaround": max(cells("turnaround_h")),
        "best_utilisation": max(cells("utilization")),
        "instant": mean_of(grid("instant_start_ratio", SIX)),
    }
    away = [(levels[level.name] - level.printed) / level.margin for level in LEVELS]
    agreeing = sum(_leans(finding) for _, finding in found.values())
    return _Score(choice, found, agreeing, levels, math.sqrt(float(np.nanmean(np.square(away)))))


def _leans(finding: Finding) -> bool:
    """Whether a claim comes out as printed, or is undecided with its effect on that side."""
    if finding.outcome is Outcome.UNDECIDED:
        return finding.size is not None and finding.size.mean > 0
    return finding.outcome is Outcome.HOLDS


def _promising(scores: Sequence[_Score], count: int) -> list[Choice]:
    """The default, and the readings that promise most, by both measures in turn."""
    choices = [score.choice for score in scores]
    ranked = (
        predicted(choices, [-float(score.agreeing) for score in scores]),
        predicted(choices, [score.distance for score in scores]),
    )
    chosen = dict.fromkeys([named_choice("default")])
    for place in range(2 ** len(FACTORS)):
        for ranking in ranked:
            if len(chosen) <= count:
                chosen.setdefault(ranking[place][1])
    return list(chosen)


def _best(scores: Sequence[_Score]) -> _Score:
    """Most claims as printed; of equals the nearest levels."""
    return max(scores, key=lambda score: (score.agreeing, -score.distance))


_EITHER = "under one of {} readings after Holm, or under none"


def _judge(tables: Tables) -> list[Verdict]:
    scores = _scores(tables)
    best = _best(scores)
    verdicts = [_found_best(best, scores), *_levels(scores, best)]
    for name, (claim, finding) in best.found.items():
        every = [score.found[name][1] for score in scores]
        statement = Statement(f"Observation {name}, under some reading: {claim.text}", claim.printed, claim.source)
        told = ", ".join(f"{sum(own.outcome is outcome for own in every)} {words}" for outcome, words in _WORDS.items())
        rule = f"{finding.rule}; {_EITHER.format(len(every))}"
        verdicts.append(statement.verdict(either([own.decision for own in every]), rule, told, _depends(scores, name)))
    return verdicts


_WORDS = {Outcome.HOLDS: "hold", Outcome.FAILS: "do not hold", Outcome.UNDECIDED: "are undecided"}


def _found_best(best: _Score, scores: Sequence[_Score]) -> Verdict:
    statement = Statement("Some reading of the paper gives all its observations", f"all {len(best.found)}", text("V"))
    outcome = Outcome.HOLDS if best.agreeing == len(best.found) else Outcome.FAILS
    nearest = min(scores, key=lambda score: score.distance)
    return statement.verdict(
        Decision(outcome),
        "holds if under one reading all claims come out as printed or lean to it",
        f"at most {best.agreeing} of {len(best.found)}: {best.choice.name}",
        f"nearest in its levels, {nearest.distance:.1f} margins away: {nearest.choice.name}",
    )


def _levels(scores: Sequence[_Score], best: _Score) -> list[Verdict]:
    verdicts = []
    for level in LEVELS:
        values = {score.choice.name: score.levels[level.name] for score in scores}
        name = min(values, key=lambda key: abs(values[key] - level.printed))
        near = abs(values[name] - level.printed) <= level.margin
        source = table("II") if level.name.startswith("baseline") else text("V-A")
        statement = Statement(f"Some reading gives the {level.title}", f"{level.printed:g} {level.unit}", source)
        told = f"{values[name]:.1f} {level.unit} ({name}); {best.levels[level.name]:.1f} under the best reading"
        verdicts.append(
            statement.verdict(
                Decision(Outcome.HOLDS if near else Outcome.FAILS),
                f"holds if a reading is within {level.printed:g} +- {level.margin:g} {level.unit}",
                told,
            )
        )
    return verdicts


def _depends(scores: Sequence[_Score], name: str) -> str:
    """Whether a claim holds whatever the reading, and else by which sentence its readings differ most."""
    holds = [score.found[name][1].outcome is Outcome.HOLDS for score in scores]
    if len(set(holds)) == 1:
        return "robust: the same under each reading" if holds[0] else "under no reading"
    best: tuple[float, str] = (0.0, "")
    for place, factor in enumerate(FACTORS):
        high, low = (
            [own for own, score in zip(holds, scores, strict=True) if score.choice.levels[place] is level]
            for level in (True, False)
        )
        if high and low:
            gap = abs(sum(high) / len(high) - sum(low) / len(low))
            told = (
                f"differs most by {factor.name}: holds under {sum(high)} of {len(high)} with {factor.high}, "
                f"{sum(low)} of {len(low)} with {factor.low}"
            )
            best = max(best, (gap, told), key=lambda item: item[0])
    return best[1]


def _draw(tables: Tables) -> Figure:
    from experiments.figures.study.factors import plot_joint_readings

    screened, scores = _scores(tables, "screening"), _scores(tables)
    choices = [score.choice for score in screened]
    measures = {_CLAIMS: [float(score.agreeing) for score in screened]}
    measures |= {level.title: [score.levels[level.name] for score in screened] for level in LEVELS}
    bars = [
        {"measure": measure, "factor": f"{factor.name}={factor.high}", "effect": own.mean, "low": own.low,
         "high": own.high}
        for measure, values in measures.items()
        for factor, own in zip(FACTORS, effects(choices, values).values(), strict=True)
    ]  # fmt: skip
    findings = [
        {"reading": score.choice.name, **finding_row(claim, finding)}
        for score in scores
        for claim, finding in score.found.values()
    ]
    units = {_CLAIMS: ""} | {level.title: "h" if level.unit == "h" else "points" for level in LEVELS}
    told = [
        {"reading": score.choice.name, "agreeing": score.agreeing, "claims": len(score.found),
         "distance": score.distance}
        for score in scores
    ]  # fmt: skip
    return plot_joint_readings(bars, units, findings, told)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="hybrid-joint",
        title="The open sentences of the paper, read together",
        question="Which reading of all open sentences together comes nearest to the paper?",
        parameters=Joint(),
        quick=Joint(
            jobs=400,
            mixes=("W2", "W4"),
            screened_jobs=150,
            screened_traces=2,
            screened_mixes=("W2", "W4"),
            chosen=3,
            traces=2,
        ),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=(
            "A reading is chosen for whole years by the sum of its factors' own effects in the screening; what two "
            "factors do only together is not seen there.",
            "A claim counts as printed if it holds, or is undecided with its effect on the printed side.",
        ),
        simulates=True,
    ),
)
