"""Which reading of hybrid-workload-scheduling reproduces most of it: its open sentences, varied together.

The search has four stages, all on whole years. A screening crosses the open sentences in a design of resolution V and
predicts every reading from the effects of sentences and of pairs of them. The readings that promise most are simulated
on the same few years, then all neighbours of the best one, until none is better. The finalists are simulated on many
paired years. The best of them is confirmed on fresh years, which no earlier stage has used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from experiments.papers.hybrid.claims import Claim
from experiments.papers.hybrid.designs import FEWEST_FACTORS, MOST_FACTORS, resolution_five, year_blocks
from experiments.papers.hybrid.factors import CROSSED, FACTORS, Choice, crossed_choices, neighbours
from experiments.papers.hybrid.fidelity import Score, checkpoint_stage, score_readings
from experiments.papers.hybrid.findings import finding_row
from experiments.papers.hybrid.printedlevels import LEVELS, Level
from experiments.papers.hybrid.search import (
    Responses,
    measured_outlook,
    promising_readings,
    rank_readings,
    screening_responses,
)
from experiments.statistics import Interval
from experiments.study.evidence import judged
from experiments.study.experiment import Experiment, Resources, Row, Tables
from experiments.study.rules import Near, Outcome, together
from experiments.study.simulated import MIXES, SIX, Traces, Years, metric_rows, simulated
from experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, text
from experiments.sweeps import SweepResult
from policies.mechanism import BASELINE
from workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "Readings"]

#: Stages, by the names of their tables. The finalists are the main table.
_SCREENING, _NEIGHBOURS, _FINALISTS, _CONFIRMATION = "screening", "neighbours", "", "confirmation"
#: The seeds of the confirmation begin that far after those of the search.
_FRESH = 1000


@dataclass(frozen=True)
class Readings(Traces):
    """Parameters.

    Attributes
    ----------
    traces
        Paired years of each finalist, and of the confirmation.
    mixes
        Notice mixes of the finalists and of the confirmation.
    mix
        Notice mix of observation 13 there.
    factors
        Labels of the sentences that the screening crosses.
    screened_mixes
        Notice mixes of the screening, which has one year for each reading; observation 13 takes the last one.
    chosen
        Readings that are simulated because the screening promises most of them, the default besides.
    neighbour_traces, neighbour_mixes
        Years and notice mixes of these readings and of the neighbours.
    rounds
        Rounds of neighbours at most.
    finalists
        Readings that are simulated on all years, the default besides.
    """

    traces: int = 40
    mixes: tuple[str, ...] = MIXES
    mix: str = "W5"
    factors: tuple[str, ...] = CROSSED
    screened_mixes: tuple[str, ...] = ("W2", "W4")
    chosen: int = 8
    neighbour_traces: int = 3
    neighbour_mixes: tuple[str, ...] = ("W2", "W4", "W5")
    rounds: int = 3
    finalists: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = set(self.factors) - set(CROSSED)
        if unknown or not FEWEST_FACTORS <= len(set(self.factors)) == len(self.factors) <= MOST_FACTORS:
            raise ParameterError("factors", f"{FEWEST_FACTORS} to {MOST_FACTORS} of {', '.join(CROSSED)}", self.factors)
        for name, least in (("chosen", 1), ("neighbour_traces", 2), ("rounds", 0), ("finalists", 1)):
            if getattr(self, name) < least:
                raise ParameterError(name, f"at least {least}", getattr(self, name))


def _simulate(choice: Choice, years: Years, mixes: Sequence[str], mix: str, seed: int, resources: Resources,
              name: str) -> tuple[list[Row], list[Row]]:  # fmt: skip
    """The metrics under a reading, and those at both checkpoint intervals of observation 13."""
    own = {choice.mechanism(mechanism): mechanism for mechanism in SIX}
    label = f"{name}-{sum(high << place for place, high in enumerate(choice.levels)):05x}"

    def simulate(name: str, mechanisms: Sequence[str], varied: Mapping[str, Any]) -> SweepResult:
        assignment = {**varied, **choice.assignment}
        return simulated(resources, name, years, seed, mechanisms, assignment, choice.options, preset=choice.preset)

    grid = simulate(label, [BASELINE, *own], {"notice_mix": list(mixes)})
    halves = simulate(f"{label}-checkpoints", list(own), {"notice_mix": mix, "checkpoint_factor": [0.5, 1.0]})

    def rows(found: Sequence[Row]) -> list[Row]:
        return [
            {
                "reading": choice.name,
                **row,
                **{name: row[metric] for name, metric in choice.metrics.items()},
                "mechanism": own.get(row["mechanism"], BASELINE),
            }
            for row in found
        ]

    return rows(metric_rows(grid)), rows(metric_rows(halves, "checkpoint_factor"))


class _Search:
    """The stages of the search, and the tables that they fill."""

    def __init__(self, parameters: Readings, seed: int, resources: Resources) -> None:
        self.parameters, self.seed, self.resources = parameters, seed, resources
        self.tables: dict[str, list[Row]] = {}

    def simulate(self, stage: str, choice: Choice, years: Years, mixes: Sequence[str], mix: str, seed: int) -> None:
        """Append the metrics of a reading to the tables of a stage."""
        name = f"reading-{stage or 'finalists'}"
        grid, checkpoints = _simulate(choice, years, mixes, mix, seed, self.resources, name)
        self.tables.setdefault(stage, []).extend(grid)
        self.tables.setdefault(checkpoint_stage(stage), []).extend(checkpoints)

    def screen(self) -> Responses:
        """Simulate each reading of the design on the year of its block."""
        own, names = self.parameters, self.parameters.factors
        design = crossed_choices(names, resolution_five(len(names)))
        for choice, block in zip(design, year_blocks(len(names)).tolist(), strict=True):
            self.simulate(
                _SCREENING, choice, Years(own.jobs, 1), own.screened_mixes, own.screened_mixes[-1], self.seed + block
            )
        return screening_responses(score_readings(self.tables, _SCREENING), names)

    def climb(self, responses: Responses) -> list[Choice]:
        """Simulate the promising readings and the neighbours of the best, until none is better; the best first."""
        own = self.parameters
        candidates = [Choice((False,) * len(FACTORS))]
        candidates += [choice for choice, _ in promising_readings(responses, own.chosen, own.traces)]
        known: dict[str, Choice] = {}
        climbed: set[str] = set()
        for _ in range(own.rounds + 1):
            for choice in candidates:
                if choice.name not in known:
                    known[choice.name] = choice
                    years = Years(own.jobs, own.neighbour_traces)
                    self.simulate(_NEIGHBOURS, choice, years, own.neighbour_mixes, own.neighbour_mixes[-1], self.seed)
            ranking = rank_measured(score_readings(self.tables, _NEIGHBOURS), responses, own.traces)
            best = ranking[0]
            if best in climbed:
                break
            climbed.add(best)
            candidates = neighbours(known[best])
        return [known[name] for name in ranking]

    def decide(self, ranking: Sequence[Choice]) -> None:
        """Simulate the default and the finalists on all years, and the best of them on fresh years."""
        own = self.parameters
        default = Choice((False,) * len(FACTORS))
        for choice in dict.fromkeys((default, *ranking[: own.finalists])):
            self.simulate(_FINALISTS, choice, Years(own.jobs, own.traces), own.mixes, own.mix, self.seed)
        best = best_score(score_readings(self.tables)).choice
        years = Years(own.jobs, own.traces)
        self.simulate(_CONFIRMATION, best, years, own.mixes, own.mix, self.seed + _FRESH)


def rank_measured(scores: Sequence[Score], responses: Responses, years: int) -> list[str]:
    """Names of measured readings, the one with the best outlook first."""
    found = measured_outlook(scores, responses, years)
    return rank_readings({score.choice.name: item for score, item in zip(scores, found, strict=True)})


def best_score(scores: Sequence[Score]) -> Score:
    """Most claims decided as printed; of equals the nearest levels."""
    return max(scores, key=lambda score: (score.held, -score.distance))


def _measure(parameters: Readings, seed: int, resources: Resources) -> Tables:
    search = _Search(parameters, seed, resources)
    search.decide(search.climb(search.screen()))
    return search.tables


# Verdicts.


def _judge(tables: Tables) -> list[Verdict]:
    finalists, (best,) = score_readings(tables), score_readings(tables, _CONFIRMATION)
    return [
        _all_claims(best, finalists),
        *(_level(own, best, finalists) for own in LEVELS),
        *(_observation(claim, best, finalists) for claim, _ in best.found.values()),
        *_sentences(_screening_model(tables)),
    ]


def _all_claims(best: Score, finalists: Sequence[Score]) -> Verdict:
    counts = ", ".join(f"{best.count(outcome)} {words}" for outcome, words in _WORDS.items() if best.count(outcome))
    others = "; ".join(f"{score.choice.name}: {score.held}" for score in finalists)
    return Statement("One reading gives all observations of the paper", f"all {len(best.found)}", text("V")).computed(
        best.held == len(best.found),
        "holds if each claim holds under the best reading, on years that the search has not used",
        f"{counts} under {best.choice.name}",
        f"{best.levels_met} of {len(LEVELS)} printed levels are met; on the years of the finalists hold {others}",
    )


#: Outcomes in a count.
_WORDS = {
    Outcome.HOLDS: "hold",
    Outcome.FAILS: "do not hold",
    Outcome.UNDECIDED: "undecided",
    Outcome.NOT_COMPARABLE: "not comparable",
}


def _level(own: Level, best: Score, finalists: Sequence[Score]) -> Verdict:
    """A printed level under the best reading on fresh years, beside the other readings."""
    claim = f"On fresh years the best reading gives the {own.title}"
    statement = Statement(claim, f"{own.printed:g} {own.unit}", own.source)
    others = ", ".join(f"{score.choice.name} {score.levels[own.name]:.1f}" for score in finalists)
    return judged(statement, own.unit, own.judged(best.traces[own.name]), others)


def _observation(claim: Claim, best: Score, finalists: Sequence[Score]) -> Verdict:
    """A claim under the best reading on fresh years, and how many of the finalists it holds under."""
    words = f"Observation {claim.name}, under the best reading on fresh years: {claim.text}"
    held = [score for score in finalists if score.found[claim.name][1].outcome is Outcome.HOLDS]
    default = finalists[0].found[claim.name][1]
    told = f"by default: {default.outcome}; holds under {len(held)} of {len(finalists)} finalists"
    return judged(Statement(words, claim.printed, claim.source), claim.unit, best.found[claim.name][1], told)


# What each sentence decides.


def _screening_model(tables: Tables) -> Responses:
    """The linear model of the screening."""
    scores = score_readings(tables, _SCREENING)
    names = [word for score in scores for word in score.choice.name.split() if word != "default"]
    crossed = set(names)
    return screening_responses(scores, [label for label in CROSSED if label in crossed])


def _level_effects(fitted: Responses) -> dict[str, dict[str, Interval]]:
    """What each sentence adds to the printed levels, by level and label."""
    first = len(fitted.tests)
    return {
        own.title: {label: fitted.model.effect(first + at, place) for place, label in enumerate(fitted.labels)}
        for at, own in enumerate(LEVELS)
    }


_UNITS = {own.title: own.difference for own in LEVELS}
_MARGINS = {own.title: own.margin for own in LEVELS}


def _sentences(fitted: Responses) -> list[Verdict]:
    """Of each sentence, whether it changes any printed level."""
    found = _level_effects(fitted)
    rule = (
        "holds if each effect lies within its margin (5 % of a printed duration, 1 point of a share, by two one-sided "
        f"tests), does not hold if one lies outside, refuted by one of {len(found)} after Holm"
    )
    verdicts = []
    for place, label in enumerate(fitted.labels):
        # What is not defined in some reading, as instant starts in a year without on-demand jobs, says nothing.
        own = {measure: each[label] for measure, each in found.items() if each[label].mean == each[label].mean}
        decision = together([Near(0.0, _MARGINS[measure]).decide(each) for measure, each in own.items()])
        words = "; ".join(f"{measure} {each.text('+.1f')} {_UNITS[measure]}" for measure, each in own.items())
        statement = Statement(f"{label} changes none of the printed levels", "as by default", HYPOTHESIS)
        verdicts.append(statement.verdict(decision, rule, words, _partner(fitted, place)))
    return verdicts


def _partner(fitted: Responses, place: int) -> str:
    """The sentence together with which this one changes a level most beyond their own effects."""
    first, margins = len(fitted.tests), [own.margin for own in LEVELS]
    found = [
        (abs(both.mean) / margins[at], label, own.title, both)
        for at, own in enumerate(LEVELS)
        for other, label in enumerate(fitted.labels)
        if other != place
        for both in [fitted.model.effect(first + at, *sorted((place, other)))]
        if both.decided
    ]
    if not found:
        return "no interaction is decided"
    _, label, title, both = max(found, key=lambda item: item[0])
    return f"strongest interaction: with {label}, {title} {both.text('+.1f')} {_UNITS[title]}"


def _draw(tables: Tables) -> Figure:
    from experiments.figures.study.factors import plot_readings

    finalists, confirmed = score_readings(tables), score_readings(tables, _CONFIRMATION)
    bars = [
        {"measure": measure, "factor": label, "effect": own.mean, "low": own.low, "high": own.high}
        for measure, effect in _level_effects(_screening_model(tables)).items()
        for label, own in effect.items()
    ]
    rows = [(score, fresh) for fresh, group in ((False, finalists), (True, confirmed)) for score in group]
    findings = [
        {"reading": score.choice.name, "fresh": fresh, **finding_row(claim, finding)}
        for score, fresh in rows
        for claim, finding in score.found.values()
    ]
    scores = [
        {"reading": score.choice.name, "fresh": fresh, "held": score.held, "claims": len(score.found),
         "distance": score.distance}
        for score, fresh in rows
    ]  # fmt: skip
    away = [
        {"reading": score.choice.name, "fresh": fresh, "level": own.title, "away": own.away(score.levels[own.name])}
        for score, fresh in rows
        for own in LEVELS
    ]
    return plot_readings(bars, _UNITS, findings, scores, away)


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
            factors=CROSSED[:4],
            chosen=2,
            neighbour_traces=2,
            neighbour_mixes=("W2", "W4"),
            rounds=0,
            finalists=1,
        ),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=(
            "All stages simulate whole years, because short years do not predict the levels of whole ones.",
            "A claim counts only where it is decided as printed. The sign of an undecided claim counts nothing.",
            "The best reading is judged on years that the search has not used.",
            "Backfilling by true runtimes comes with years whose baseline meets Table II under it.",
        ),
        stores=True,
    ),
)
