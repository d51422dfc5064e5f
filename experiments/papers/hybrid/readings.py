"""Which reading of hybrid-workload-scheduling reproduces most of it: its open sentences, varied together.

A screening on short years estimates what each sentence does to each printed level and to the number of claims that come
out as printed. The readings for which these effects promise most are then simulated on whole years. The best of them is
also simulated as the paper does it: one year, with other types in each repetition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from experiments.papers.hybrid.claims import Claim, level
from experiments.papers.hybrid.factors import FACTORS, Choice, effects, screening
from experiments.papers.hybrid.fidelity import (
    LEVELS,
    Level,
    Score,
    best_of,
    halves_of,
    promising,
    scores_of,
)
from experiments.papers.hybrid.findings import finding_row
from experiments.statistics import Interval
from experiments.study.experiment import Experiment, Resources, Row, Tables
from experiments.study.rules import Near, Outcome, either, together
from experiments.study.simulated import MIXES, SIX, Traces, metric_rows, simulated
from experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, table, text
from experiments.sweeps import SweepResult
from policies.mechanism import BASELINE
from workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "Readings"]

#: The measure that counts claims, and how many are still as many.
_CLAIMS, _SAME = "claims, as printed", 2.0
#: Stages, by the names of their tables.
_SCREENING, _YEARS, _DRAWS = "screening", "", "draws"


@dataclass(frozen=True)
class Readings(Traces):
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
    draws
        Draws of types for the first year, under the default and the best reading.
    """

    mixes: tuple[str, ...] = MIXES
    mix: str = "W5"
    screened_jobs: int = 12_000
    screened_traces: int = 3
    screened_mixes: tuple[str, ...] = ("W2", "W4", "W5")
    chosen: int = 10
    draws: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.screened_traces < 2:
            raise ParameterError("screened_traces", "at least 2, for a confidence interval", self.screened_traces)
        most = 2 ** sum(factor.crossed for factor in FACTORS) - 1
        if not 1 <= self.chosen <= most:
            raise ParameterError("chosen", f"from 1 to {most}", self.chosen)
        if self.draws < 2:
            raise ParameterError("draws", "at least 2, for a confidence interval", self.draws)


def _simulate(choice: Choice, traces: Traces, mixes: Sequence[str], mix: str, seed: int, resources: Resources,
              name: str, draws: int) -> tuple[list[Row], list[Row]]:  # fmt: skip
    """The metrics under a reading, and those at both checkpoint intervals of observation 13."""
    own = {choice.mechanism(mechanism): mechanism for mechanism in SIX}
    label = f"{name}-{sum(high << place for place, high in enumerate(choice.levels)):02x}"

    def simulate(name: str, mechanisms: Sequence[str], varied: Mapping[str, Any]) -> SweepResult:
        assignment = {**varied, **choice.assignment}
        return simulated(
            resources, name, traces, seed, mechanisms, assignment, choice.options, preset=choice.preset, draws=draws
        )

    grid = simulate(label, [BASELINE, *own], {"notice_mix": list(mixes)})
    halves = simulate(f"{label}-checkpoints", list(own), {"notice_mix": mix, "checkpoint_factor": [0.5, 1.0]})

    def rows(found: Sequence[Row]) -> list[Row]:
        return [{"reading": choice.name, **row, "mechanism": own.get(row["mechanism"], BASELINE)} for row in found]

    return rows(metric_rows(grid)), rows(metric_rows(halves, "checkpoint_factor"))


def _measure(parameters: Readings, seed: int, resources: Resources) -> Tables:
    tables: dict[str, list[Row]] = {}

    def simulate(stage: str, choices: Sequence[Choice], traces: Traces, mixes: Sequence[str], draws: int = 0) -> None:
        own, halves = tables.setdefault(stage, []), tables.setdefault(halves_of(stage), [])
        for choice in choices:
            name = f"reading-{stage or 'year'}"
            grid, rest = _simulate(choice, traces, mixes, parameters.mix, seed, resources, name, draws)
            own += grid
            halves += rest

    short = Traces(jobs=parameters.screened_jobs, traces=parameters.screened_traces)
    simulate(_SCREENING, screening(), short, parameters.screened_mixes)
    simulate(_YEARS, promising(scores_of(tables, _SCREENING), parameters.chosen), parameters, parameters.mixes)
    scores = scores_of(tables)
    both = dict.fromkeys((scores[0].choice, best_of(scores).choice))
    simulate(_DRAWS, list(both), parameters, parameters.mixes, parameters.draws)
    return tables


# What is said of it.


def _judge(tables: Tables) -> list[Verdict]:
    scores, drawn = scores_of(tables), scores_of(tables, _DRAWS)
    best = best_of(scores)
    return [
        _found_best(best, scores),
        *(_level(own, best, scores) for own in LEVELS),
        *(_observation(claim, scores) for claim, _ in best.found.values()),
        *_sentences(scores_of(tables, _SCREENING)),
        *_one_year(drawn, scores),
    ]


#: How a reading comes out, of one of them and of several.
_WORDS = {
    Outcome.HOLDS: ("holds", "hold"),
    Outcome.FAILS: ("does not hold", "do not hold"),
    Outcome.UNDECIDED: ("is undecided", "are undecided"),
    Outcome.NOT_COMPARABLE: ("is not comparable", "are not comparable"),
}


def _found_best(best: Score, scores: Sequence[Score]) -> Verdict:
    statement = Statement("Some reading of the paper gives all its observations", f"all {len(best.found)}", text("V"))
    nearest = min(scores, key=lambda score: score.distance)
    held = [_held(name, scores) for name in best.found]
    some = sum(any(own) and not all(own) for own in held)
    return statement.computed(
        best.agreeing == len(best.found),
        "holds if under one reading all claims come out as printed or lean to it",
        f"at most {best.agreeing} of {len(best.found)}: {best.choice.name}; under the default {scores[0].agreeing}",
        f"nearest in its levels, {nearest.distance:.1f} margins away: {nearest.choice.name}; of the claims "
        f"{sum(map(all, held))} hold under each of {len(scores)} readings, {some} under some, "
        f"{len(held) - sum(map(any, held))} under none",
    )


def _level(own: Level, best: Score, scores: Sequence[Score]) -> Verdict:
    values = {score.choice.name: score.levels[own.name] for score in scores}
    name = min(values, key=lambda key: abs(own.away(values[key])))
    source = table("II") if own.name.startswith("baseline") else text("V-A")
    at_best = best.levels[own.name]
    return Statement(f"Some reading gives the {own.title}", f"{own.printed:g} {own.unit}", source).computed(
        abs(own.away(values[name])) <= 1,
        f"holds if a reading is within {own.printed:g} +- {own.margin:g} {own.unit}",
        f"{values[name]:.1f} {own.unit} ({name}); {at_best:.1f} under the reading of most claims",
        f"that is {at_best - own.printed:+.1f} {own.difference}, {abs(own.away(at_best)):.1f} margins",
    )


def _held(name: str, scores: Sequence[Score]) -> list[bool]:
    """Under which readings a claim holds."""
    return [score.found[name][1].outcome is Outcome.HOLDS for score in scores]


def _observation(claim: Claim, scores: Sequence[Score]) -> Verdict:
    every = [score.found[claim.name][1] for score in scores]
    statement = Statement(f"Observation {claim.name}, under some reading: {claim.text}", claim.printed, claim.source)
    counts = {outcome: sum(own.outcome is outcome for own in every) for outcome in _WORDS}
    told = ", ".join(f"{count} {_WORDS[outcome][count > 1]}" for outcome, count in counts.items() if count)
    rule = "; ".join(filter(None, (every[0].rule, f"under one of {len(every)} readings after Holm, or under none")))
    return statement.verdict(either([own.decision for own in every]), rule, told, _depends(claim.name, scores))


def _depends(name: str, scores: Sequence[Score]) -> str:
    """Whether a claim holds whatever the reading, and else by which sentence its readings differ most."""
    holds = _held(name, scores)
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


def _measures(screened: Sequence[Score]) -> dict[str, dict[str, Interval]]:
    """What each level of the catalogue adds to the claims and to the printed levels, by measure and label."""
    choices = [score.choice for score in screened]
    values = {_CLAIMS: [float(score.agreeing) for score in screened]}
    values |= {own.title: [score.levels[own.name] for score in screened] for own in LEVELS}
    return {measure: effects(choices, own) for measure, own in values.items()}


_UNITS = {_CLAIMS: ""} | {own.title: own.difference for own in LEVELS}
_MARGINS = {_CLAIMS: _SAME} | {own.title: own.margin for own in LEVELS}


def _sentences(screened: Sequence[Score]) -> list[Verdict]:
    """Of each level of the catalogue, whether it changes anything."""
    found = _measures(screened)
    rule = (
        f"holds if each effect lies within its margin ({_SAME:g} claims, 5 % of a printed duration, 1 point of a "
        f"share, by two one-sided tests), does not hold if one lies outside, refuted by one of {len(found)} after Holm"
    )
    verdicts = []
    for label in found[_CLAIMS]:
        own = {measure: each[label] for measure, each in found.items()}
        # What is not defined in some reading, as instant starts in a year without on-demand jobs, tells nothing.
        known = {measure: each for measure, each in own.items() if each.mean == each.mean}
        decision = together([Near(0.0, _MARGINS[measure]).decide(each) for measure, each in known.items()])
        told = "; ".join(f"{measure} {each.text('+.1f')} {_UNITS[measure]}".strip() for measure, each in known.items())
        statement = Statement(f"In the screening {label} changes nothing", "as by default", HYPOTHESIS)
        verdicts.append(statement.verdict(decision, rule, told))
    return verdicts


def _one_year(drawn: Sequence[Score], scores: Sequence[Score]) -> list[Verdict]:
    """The design of the paper: one year, other types in each repetition."""
    if not drawn:
        return []
    verdicts = []
    for own in LEVELS:
        found = {score.choice.name: level({"": score.traces[own.name]}, own.printed, own.unit) for score in drawn}
        source = table("II") if own.name.startswith("baseline") else text("V-A")
        statement = Statement(f"One year with draws of types gives the {own.title}", f"{own.printed:g} {own.unit}",
                              source)  # fmt: skip
        told = [f"{name} {each.effect.text('.1f')}" for name, each in found.items() if each.effect is not None]
        rule = f"{next(iter(found.values())).rule}; under one of {len(found)} readings after Holm, or under none"
        decision = either([each.decision for each in found.values()])
        verdicts.append(statement.verdict(decision, rule, f"{', '.join(told) or '-'} {own.unit}"))
    years = {score.choice.name: score for score in scores}
    more = {score.choice.name: score.decided - years[score.choice.name].decided for score in drawn}
    both = ", ".join(f"{score.choice.name} {score.decided} against {years[score.choice.name].decided}"
                     f" (as printed {score.agreeing} against {years[score.choice.name].agreeing})"
                     for score in drawn)  # fmt: skip
    statement = Statement("Draws of types in one year decide more claims than years of their own", "", HYPOTHESIS)
    rule = "holds if under each reading more claims hold or do not hold over the draws than over the years"
    return [*verdicts, statement.computed(all(gap > 0 for gap in more.values()), rule, f"claims decided: {both}")]


def _draw(tables: Tables) -> Figure:
    from experiments.figures.study.factors import plot_readings

    scores, drawn = scores_of(tables), scores_of(tables, _DRAWS)
    bars = [
        {"measure": measure, "factor": label, "effect": own.mean, "low": own.low, "high": own.high}
        for measure, effect in _measures(scores_of(tables, _SCREENING)).items()
        for label, own in effect.items()
    ]
    findings = [
        {"reading": score.choice.name, **finding_row(claim, finding)}
        for score in scores
        for claim, finding in score.found.values()
    ]
    told = [
        {"reading": score.choice.name, "agreeing": score.agreeing, "claims": len(score.found),
         "distance": score.distance}
        for score in scores
    ]  # fmt: skip
    away = [
        {"reading": score.choice.name, "level": own.title, "away": own.away(score.levels[own.name]), "draws": draws}
        for draws, group in ((False, scores), (True, drawn))
        for score in group
        for own in LEVELS
    ]
    return plot_readings(bars, _UNITS, findings, told, away)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="hybrid-readings",
        title="The open sentences of the paper, read together",
        question="Which reading of the paper reproduces most of its results, and which sentence decides?",
        parameters=Readings(),
        quick=replace(
            Readings(),
            jobs=400,
            traces=2,
            mixes=("W2", "W4"),
            screened_jobs=150,
            screened_traces=2,
            screened_mixes=("W2", "W4"),
            chosen=3,
            draws=2,
        ),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=(
            "A reading is chosen for whole years by the sum of its factors' own effects in the screening; what two "
            "factors do only together is not seen there.",
            "Levels of a sentence beyond two are tried one at a time in the screening and are no part of the readings "
            "chosen.",
            "A claim counts as printed if it holds, or is undecided with its effect on the printed side.",
            "Backfilling by true runtimes comes with years whose baseline meets Table II under it.",
        ),
        stores=True,
    ),
)
