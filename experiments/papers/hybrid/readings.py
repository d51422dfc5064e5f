"""Experiment that searches for the reading of hybrid-workload-scheduling that reproduces most of the paper.

The search simulates whole years in five stages:

1. Start: the preset ``paper`` (:mod:`holdfast.experiments.paper_readings`), the default, and the preset with one
   sentence flipped at a time.
2. Screening: a design of resolution V over the ambiguous sentences. It predicts every reading from the effects of
   sentences and of pairs of sentences.
3. Neighbours: the most promising readings on a few common years, then all neighbours of the best reading until no
   neighbour is better.
4. Finalists: the best readings on many paired years.
5. Confirmation: the winner on fresh years, which no earlier stage has used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.paper_readings import FACTORS, Reading, find_reading
from holdfast.experiments.papers.hybrid.claim_evidence import finding_row
from holdfast.experiments.papers.hybrid.claims import Claim
from holdfast.experiments.papers.hybrid.designs import FEWEST_FACTORS, MOST_FACTORS, resolution_five, year_blocks
from holdfast.experiments.papers.hybrid.factors import CROSSED, DEFAULT, crossed_choices, neighbours
from holdfast.experiments.papers.hybrid.fidelity import Score, checkpoint_stage, score_readings
from holdfast.experiments.papers.hybrid.published_levels import LEVELS, Level
from holdfast.experiments.papers.hybrid.search import (
    Responses,
    measured_means,
    measured_outlook,
    predict_claims,
    promising_readings,
    rank_readings,
    screening_responses,
)
from holdfast.experiments.statistics import Interval, interval
from holdfast.experiments.study.evidence import judge_finding
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Near, Outcome, together
from holdfast.experiments.study.simulation_cache import ALL, COLUMNS, MIXES, SIX, Traces
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, text
from holdfast.experiments.study.year_runs import YearRun, distinct, year_rows
from holdfast.policies.mechanism import BASELINE
from holdfast.workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "Readings"]

#: Names of the stages' tables. The start is the main table.
_START, _SCREENING, _NEIGHBOURS, _FINALISTS, _CONFIRMATION = "", "screening", "neighbours", "finalists", "confirmation"
#: Names of the stages in the parameter ``until``.
STAGES = ("start", _SCREENING, _NEIGHBOURS, _FINALISTS, _CONFIRMATION)
#: Number of flips of the preset in a figure.
_COLUMNS = 8
#: Claims decided as printed that the search aims at.
_AIM = 27
#: Whether each claim holds under each reading, shape (readings, claims).
HeldClaims = NDArray[np.bool_]
#: Multiples of Daly's interval compared in observation 13.
FACTORS_13 = (0.5, 1.0)
#: Offset of the confirmation's seeds from those of the search.
_FRESH = 1000


@dataclass(frozen=True)
class Readings(Traces):
    """Parameters.

    Attributes
    ----------
    traces
        Number of paired years of each finalist, and of the confirmation.
    mixes
        Notice mixes of the finalists and of the confirmation.
    mix
        Notice mix of observation 13 in these stages.
    factors
        Labels of the sentences crossed in the screening.
    screened_mixes
        Notice mixes of the screening, which has one year per reading; observation 13 uses the last mix.
    chosen
        Number of promising readings to simulate, in addition to the default.
    neighbour_traces, neighbour_mixes
        Years and notice mixes of these readings and of the neighbours.
    rounds
        Largest number of rounds of neighbours.
    finalists
        Number of readings simulated on all years, in addition to the default and the preset.
    flips
        Labels of the sentences that are flipped in the preset at the start.
    blocks
        Number of years of the screening. With fewer than 4, the design is a fraction that estimates effects of single
        sentences only.
    until
        The last stage: ``start``, ``screening``, ``neighbours``, ``finalists`` or ``confirmation``.
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
    flips: tuple[str, ...] = tuple(factor.label for factor in FACTORS)
    blocks: int = 4
    until: str = _CONFIRMATION

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = set(self.factors) - set(CROSSED)
        if unknown or not FEWEST_FACTORS <= len(set(self.factors)) == len(self.factors) <= MOST_FACTORS:
            raise ParameterError("factors", f"{FEWEST_FACTORS} to {MOST_FACTORS} of {', '.join(CROSSED)}", self.factors)
        for name, least in (("chosen", 1), ("neighbour_traces", 2), ("rounds", 0), ("finalists", 1)):
            if getattr(self, name) < least:
                raise ParameterError(name, f"at least {least}", getattr(self, name))
        if self.until not in STAGES:
            raise ParameterError("until", " or ".join(STAGES), self.until)
        if not 1 <= self.blocks <= 4 or (self.blocks < 4 and self.until not in ("start", _SCREENING)):
            raise ParameterError("blocks", "4, or 1 to 3 with until=screening", self.blocks)
        known = [factor.label for factor in FACTORS]
        if not set(self.flips) <= set(known):
            raise ParameterError("flips", f"some of {', '.join(known)}", self.flips)


#: The reading of the preset.
PAPER = find_reading("paper")


class _Plan(NamedTuple):
    """A reading and the years of a stage.

    Attributes
    ----------
    choice
        The reading.
    seeds
        Seeds of the years.
    mixes, mix
        Notice mixes, and that of observation 13.
    """

    choice: Reading
    seeds: Sequence[int]
    mixes: Sequence[str]
    mix: str

    def runs(self, jobs: int) -> Iterator[tuple[Row, YearRun]]:
        """Simulations with their labels; those of observation 13 have a ``checkpoint_factor``."""
        own = self.choice
        mechanisms = {BASELINE: BASELINE, **{name: own.mechanism(name) for name in SIX}}
        for seed in self.seeds:
            for mix, factor, names in (
                *((mix, None, ALL) for mix in self.mixes),
                *((self.mix, factor, SIX) for factor in FACTORS_13),
            ):
                varied = {"notice_mix": mix} if factor is None else {"notice_mix": mix, "checkpoint_factor": factor}
                assignment = tuple({**varied, **own.assignment}.items())
                for name in names:
                    label = {"reading": own.name, "trace": seed, "mix": mix, "mechanism": name}
                    run = YearRun(
                        seed, jobs, own.preset, assignment, tuple(own.options.items()), mechanisms[name], COLUMNS
                    )
                    yield label if factor is None else {**label, "checkpoint_factor": factor}, distinct(run)


class _Search:
    """The stages of the search and their tables."""

    def __init__(self, parameters: Readings, seed: int, resources: Resources) -> None:
        self.parameters, self.seed, self.resources = parameters, seed, resources
        self.tables: dict[str, list[Row]] = {}

    def simulate(self, stage: str, plans: Sequence[_Plan]) -> None:
        """Simulate readings and append their metrics to the tables of a stage."""
        asked = [(plan.choice, label, run) for plan in plans for label, run in plan.runs(self.parameters.jobs)]
        # Runs are ordered by year, and those with the same job table are adjacent, so that a process makes it only
        # once.
        runs = sorted({run for _, _, run in asked}, key=lambda run: (run.seed, repr(run)))
        rows = collect_rows(year_rows, runs, self.resources, sources="years", group=lambda run: run.table)
        found = dict(zip(runs, rows, strict=True))
        for choice, label, run in asked:
            row = {**label, **found[run]}
            table = checkpoint_stage(stage) if "checkpoint_factor" in label else stage
            self.tables.setdefault(table, []).append(
                {**row, **{name: row[metric] for name, metric in choice.metrics.items()}}
            )

    def start(self) -> None:
        """Simulate the default, the preset, and the preset with one sentence flipped."""
        own = self.parameters
        flipped = [
            choice for factor, choice in zip(FACTORS, neighbours(PAPER), strict=True) if factor.label in own.flips
        ]
        seeds = range(self.seed, self.seed + own.neighbour_traces)
        self.simulate(
            _START,
            [
                _Plan(choice, seeds, own.neighbour_mixes, own.neighbour_mixes[-1])
                for choice in dict.fromkeys((DEFAULT, PAPER, *flipped))
            ],
        )

    def screen(self) -> None:
        """Simulate each reading of the design on the year of its block."""
        own, names = self.parameters, self.parameters.factors
        design = crossed_choices(names, resolution_five(len(names)))
        plans = [
            _Plan(choice, (self.seed + block,), own.screened_mixes, own.screened_mixes[-1])
            for choice, block in zip(design, year_blocks(len(names)).tolist(), strict=True)
            if block < own.blocks
        ]
        self.simulate(_SCREENING, plans)

    def climb(self) -> list[Reading]:
        """Simulate promising readings and then neighbours of the best until none is better; the best first."""
        own = self.parameters
        responses = screening_responses(score_readings(self.tables, _SCREENING), own.factors)
        candidates = [DEFAULT, PAPER]
        candidates += [choice for choice, _ in promising_readings(responses, own.chosen, own.traces)]
        known: dict[str, Reading] = {}
        climbed: set[str] = set()
        for _ in range(own.rounds + 1):
            new = {choice.name: choice for choice in candidates if choice.name not in known}
            known |= new
            seeds = range(self.seed, self.seed + own.neighbour_traces)
            self.simulate(
                _NEIGHBOURS,
                [_Plan(choice, seeds, own.neighbour_mixes, own.neighbour_mixes[-1]) for choice in new.values()],
            )
            ranking = rank_by_outlook(score_readings(self.tables, _NEIGHBOURS), responses, own.traces)
            best = ranking[0]
            if best in climbed:
                break
            climbed.add(best)
            candidates = neighbours(known[best])
        return [known[name] for name in ranking]

    def decide(self, ranking: Sequence[Reading]) -> None:
        """Simulate the default, the reading of the preset and the finalists on all years."""
        own = self.parameters
        seeds = range(self.seed, self.seed + own.traces)
        chosen = dict.fromkeys((DEFAULT, PAPER, *ranking[: own.finalists]))
        self.simulate(_FINALISTS, [_Plan(choice, seeds, own.mixes, own.mix) for choice in chosen])

    def confirm(self) -> None:
        """Simulate the best of the finalists on fresh years."""
        own, first = self.parameters, self.seed + _FRESH
        best = best_score(score_readings(self.tables, _FINALISTS)).choice
        self.simulate(_CONFIRMATION, [_Plan(best, range(first, first + own.traces), own.mixes, own.mix)])


def rank_by_outlook(scores: Sequence[Score], responses: Responses, years: int) -> list[str]:
    """Names of measured readings, ordered by outlook, the best first."""
    found = measured_outlook(scores, responses, years)
    return rank_readings({score.choice.name: item for score, item in zip(scores, found, strict=True)})


def best_score(scores: Sequence[Score]) -> Score:
    """The score with the most claims that hold; the nearest levels decide ties."""
    return max(scores, key=lambda score: (score.held, -score.distance))


def _measure(parameters: Readings, seed: int, resources: Resources) -> Tables:
    search, last = _Search(parameters, seed, resources), STAGES.index(parameters.until)
    search.start()
    if last >= STAGES.index(_SCREENING):
        search.screen()
    if last >= STAGES.index(_NEIGHBOURS):
        ranking = search.climb()
        if last >= STAGES.index(_FINALISTS):
            search.decide(ranking)
        if last >= STAGES.index(_CONFIRMATION):
            search.confirm()
    return search.tables


# Verdicts.


class _SearchProgress(NamedTuple):
    """Results of the executed stages.

    Attributes
    ----------
    best, years
        Best reading, and a description of the years on which it is judged: fresh years if available, else those of the
        start.
    others
        Other readings, on the same years or those of the finalists; the default is first.
    """

    best: Score
    years: str
    others: Sequence[Score]


def _progress(tables: Tables) -> _SearchProgress:
    start, confirmed = score_readings(tables, _START), score_readings(tables, _CONFIRMATION)
    if confirmed:
        return _SearchProgress(confirmed[0], "years that the search has not used", score_readings(tables, _FINALISTS))
    preset = next(score for score in start if score.choice == PAPER)
    return _SearchProgress(preset, "the years of the start, as far as the search has come", start)


def _judge(tables: Tables) -> list[Verdict]:
    seen = _progress(tables)
    screened = _is_screened(tables)
    return [
        _stages(tables, screened),
        _all_claims(seen),
        *_reach(tables, screened),
        *(_level(own, seen) for own in LEVELS),
        *(_observation(claim, seen) for claim, _ in seen.best.found.values()),
        *_flips(score_readings(tables, _START)),
        *(_sentences(_screening_model(tables)) if screened else []),
    ]


def _is_screened(tables: Tables) -> bool:
    """Whether all readings of the design were simulated."""
    names = {row["reading"] for row in tables.get(_SCREENING, ())}
    crossed = {word for name in names for word in name.split() if word != "default"}
    return len(crossed) >= FEWEST_FACTORS and len(names) == len(year_blocks(len(crossed)))


def _stages(tables: Tables, screened: bool) -> Verdict:
    """Judge whether the search is complete."""
    counts = {
        name: len({row["reading"] for row in tables.get(stage, ())})
        for name, stage in zip(STAGES, (_START, _SCREENING, _NEIGHBOURS, _FINALISTS, _CONFIRMATION), strict=True)
    }
    done = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    left = ", ".join(name for name, count in counts.items() if not count)
    return Statement("Each stage of the search has been carried out", "", HYPOTHESIS).exact_verdict(
        screened and all(counts.values()),
        "holds if there are readings in each stage, and all of the design in the screening",
        f"readings: {done}",
        f"not carried out: {left}" if left else "",
    )


def _all_claims(seen: _SearchProgress) -> Verdict:
    best = seen.best
    counts = ", ".join(f"{best.count(outcome)} {words}" for outcome, words in _WORDS.items() if best.count(outcome))
    others = "; ".join(f"{score.choice.name}: {score.held}" for score in seen.others)
    return Statement(
        "One reading gives all observations of the paper", f"all {len(best.found)}", text("V")
    ).exact_verdict(
        best.held == len(best.found),
        "holds if each claim holds under the best reading",
        f"{counts} under {best.choice.name}",
        f"on {seen.years}; {best.levels_met} of {len(LEVELS)} printed levels are met; claims that hold: {others}",
    )


def _reach(tables: Tables, screened: bool) -> list[Verdict]:
    """Judge whether any reading of the neighbours' stage comes near the number of claims that the search aims at."""
    near, last = score_readings(tables, _NEIGHBOURS), score_readings(tables, _FINALISTS)
    if not (screened and near and last):
        return []
    responses, years = _screening_model(tables), len({row["trace"] for row in tables[_FINALISTS]})
    held = predict_claims(measured_means(near, responses), responses, years)
    levels = np.array([[label in score.choice.name.split() for label in responses.labels] for score in near])
    promised = predict_claims(responses.model.predict(levels), responses, years)
    most, best = _most_claims(held), max(score.held for score in last)
    never, apart = _hopeless_claims(responses.claims, held, last), _exclusive_pairs(responses.claims, held)
    return [
        Statement(f"One reading has {_AIM} of the claims decided as printed", "", HYPOTHESIS).exact_verdict(
            max(most, best) >= _AIM,
            f"holds if the means of a measured reading promise {_AIM} claims in {years} years, or a finalist has them",
            f"at most {best} of {len(responses.claims)} under {len(last)} finalists, {most} under {len(near)} readings "
            f"measured for less long, of which the screening promised up to {_most_claims(promised)}",
            f"under none of them: {', '.join(never)}; each under some, never together: {', '.join(apart)}",
        )
    ]


def _most_claims(held: HeldClaims) -> int:
    """Largest number of claims under one reading."""
    return int(held.sum(axis=1).max())


def _hopeless_claims(claims: Sequence[str], held: HeldClaims, finalists: Sequence[Score]) -> list[str]:
    """Claims that hold under no reading by its means, and under no finalist, whatever a few years promise."""
    under_some = {
        name for score in finalists for name, (_, found) in score.found.items() if found.outcome is Outcome.HOLDS
    }
    return [name for name, own in zip(claims, held.T, strict=True) if name not in under_some and not own.any()]


def _exclusive_pairs(claims: Sequence[str], held: HeldClaims) -> list[str]:
    """Pairs of claims that each hold under some reading by its means, but never under the same."""
    possible = [(name, own) for name, own in zip(claims, held.T, strict=True) if own.any()]
    return [f"{one} and {other}" for (one, a), (other, b) in combinations(possible, 2) if not (a & b).any()]


#: Words for counts of outcomes.
_WORDS = {
    Outcome.HOLDS: "hold",
    Outcome.FAILS: "do not hold",
    Outcome.UNDECIDED: "undecided",
    Outcome.NOT_COMPARABLE: "not comparable",
}


def _level(own: Level, seen: _SearchProgress) -> Verdict:
    """Judge a printed level under the best reading, with the default in the remark."""
    statement = Statement(f"The best reading gives the {own.title}", f"{own.printed:g} {own.unit}", own.source)
    default = next(iter(seen.others)).levels[own.name]
    return judge_finding(
        statement, own.unit, own.judge(seen.best.traces[own.name]), f"by default {default:.1f} {own.unit}"
    )


def _observation(claim: Claim, seen: _SearchProgress) -> Verdict:
    """Judge a claim under the best reading, with the number of other readings under which it holds."""
    words = f"Observation {claim.name}, under the best reading: {claim.text}"
    held = [score for score in seen.others if score.found[claim.name][1].outcome is Outcome.HOLDS]
    default = next(iter(seen.others)).found[claim.name][1]
    remark = f"by default: {default.outcome}; holds under {len(held)} of {len(seen.others)} readings"
    finding = seen.best.found[claim.name][1]
    return judge_finding(Statement(words, claim.printed, claim.source), claim.unit, finding, remark)


# Effects of single sentences near the preset.


def _flip(choice: Reading) -> str:
    """Describe the difference between a reading and the preset."""
    triples = zip(FACTORS, choice.levels, PAPER.levels, strict=True)
    changed = [(high, factor.label) for factor, high, before in triples if high != before]
    # A changed sentence appears both as an added and as a removed level.
    high, label = max(changed)
    return f"{'with' if high else 'without'} {label}"


def _title(choice: Reading) -> str:
    """Short title of a reading."""
    if choice == PAPER:
        return "the preset"
    near = choice.name in {other.name for other in neighbours(PAPER)}
    return f"the preset {_flip(choice)}" if near else choice.name


def _split_flips(start: Sequence[Score]) -> tuple[Score, list[Score]]:
    """Split the scores of the start into the preset and the readings that differ from it in one sentence."""
    preset = next(score for score in start if score.choice == PAPER)
    near = {choice.name for choice in neighbours(PAPER)}
    return preset, [score for score in start if score.choice.name in near]


def _shifts(preset: Score, other: Score) -> dict[str, Interval]:
    """Change of each printed level by a flip, by the level's title, where defined."""
    found = {}
    for own in LEVELS:
        differences = other.traces[own.name] - preset.traces[own.name]
        if np.isfinite(differences).sum() >= 2:
            found[own.title] = interval(differences[np.isfinite(differences)])
    return found


def _flips(start: Sequence[Score]) -> list[Verdict]:
    """Judge whether each flip changes a printed level of the preset; the remark lists changed claims."""
    if not any(score.choice == PAPER for score in start):
        return []
    preset, flipped = _split_flips(start)
    verdicts = []
    for other in flipped:
        found = _shifts(preset, other)
        words = "; ".join(f"{measure} {each.text('+.1f')} {_UNITS[measure]}" for measure, each in found.items())
        decision = together([Near(0.0, _MARGINS[measure]).decide(each) for measure, each in found.items()])
        statement = Statement(
            f"The preset {_flip(other.choice)} has the same printed levels", "as the preset", HYPOTHESIS
        )
        verdicts.append(statement.verdict(decision, _SAME_LEVELS, words, _changed_claims(preset, other)))
    return verdicts


def _changed_claims(preset: Score, other: Score) -> str:
    """Text on the claims with a different outcome after a flip."""
    parts = [f"claims that hold: {other.held} instead of {preset.held}"]
    for words, outcome in (("won", Outcome.HOLDS), ("lost", Outcome.FAILS)):
        names = [
            name
            for name, (_, finding) in other.found.items()
            if finding.outcome is outcome and preset.found[name][1].outcome is not outcome
        ]
        if names:
            parts.append(f"{words}: {', '.join(names)}")
    return "; ".join(parts)


# Effects of single sentences in the screening.


def _screening_model(tables: Tables) -> Responses:
    """The linear model of the screening."""
    scores = score_readings(tables, _SCREENING)
    names = [word for score in scores for word in score.choice.name.split() if word != "default"]
    crossed = set(names)
    return screening_responses(scores, [label for label in CROSSED if label in crossed])


def _level_effects(fitted: Responses) -> dict[str, dict[str, Interval]]:
    """Effect of each sentence on the printed levels, by level and label."""
    first = len(fitted.tests)
    return {
        own.title: {label: fitted.model.effect(first + at, place) for place, label in enumerate(fitted.labels)}
        for at, own in enumerate(LEVELS)
    }


_UNITS = {own.title: own.difference for own in LEVELS}
_MARGINS = {own.title: own.margin for own in LEVELS}
_SAME_LEVELS = (
    "holds if each effect lies within its margin (5 % of a printed duration, 1 point of a share, by two one-sided "
    f"tests), does not hold if one lies outside, refuted by one of {len(LEVELS)} after Holm"
)


def _sentences(fitted: Responses) -> list[Verdict]:
    """Judge for each sentence whether it changes any printed level."""
    found = _level_effects(fitted)
    verdicts = []
    for place, label in enumerate(fitted.labels):
        # Levels that are undefined in some reading, such as instant starts without on-demand jobs, are ignored.
        own = {measure: each[label] for measure, each in found.items() if each[label].mean == each[label].mean}
        decision = together([Near(0.0, _MARGINS[measure]).decide(each) for measure, each in own.items()])
        words = "; ".join(f"{measure} {each.text('+.1f')} {_UNITS[measure]}" for measure, each in own.items())
        statement = Statement(f"{label} changes none of the printed levels", "as by default", HYPOTHESIS)
        verdicts.append(statement.verdict(decision, _SAME_LEVELS, words, _partner(fitted, place)))
    return verdicts


def _partner(fitted: Responses, place: int) -> str:
    """The strongest interaction of a sentence with another one on a level."""
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
    from holdfast.experiments.figures.study.factors import plot_readings

    seen, confirmed = _progress(tables), score_readings(tables, _CONFIRMATION)
    if _is_screened(tables):
        effects, title = (
            _level_effects(_screening_model(tables)),
            "What each sentence read otherwise adds in the screening",
        )
    else:
        preset, flipped = _split_flips(score_readings(tables, _START))
        effects = {own.title: {} for own in LEVELS}
        for other in flipped:
            for measure, own in _shifts(preset, other).items():
                effects[measure][_flip(other.choice)] = own
        title = "What one sentence read otherwise adds to the preset"
    bars = [
        {
            "measure": measure,
            "factor": label,
            "effect": round(own.mean, 9),
            "low": round(own.low, 9),
            "high": round(own.high, 9),
        }
        for measure, effect in effects.items()
        for label, own in effect.items()
    ]
    shown = seen.others if confirmed else _figure_scores(seen.others)
    rows = [(score, fresh) for fresh, group in ((False, shown), (True, confirmed)) for score in group]
    findings = [
        {"reading": _title(score.choice), "fresh": fresh, **finding_row(claim, finding)}
        for score, fresh in rows
        for claim, finding in score.found.values()
    ]
    scores = [
        {"reading": _title(score.choice), "fresh": fresh, "held": score.held, "claims": len(score.found),
         "distance": score.distance}
        for score, fresh in rows
    ]  # fmt: skip
    away = [
        {"reading": _title(score.choice), "fresh": fresh, "level": own.title, "away": own.away(score.levels[own.name])}
        for score, fresh in rows
        for own in LEVELS
    ]
    return plot_readings(bars, _UNITS, findings, scores, away, title)


def _figure_scores(start: Sequence[Score]) -> list[Score]:
    """Scores for the figure: the default, the preset, and the flips that change most claims."""
    preset, flipped = _split_flips(start)

    def turns(other: Score) -> int:
        return sum(finding.outcome is not preset.found[name][1].outcome for name, (_, finding) in other.found.items())

    first = [score for score in start if score.choice in (DEFAULT, PAPER)]
    return [*first, *sorted(flipped, key=turns, reverse=True)[:_COLUMNS]]


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
            flips=CROSSED[2:4],
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
            "The best reading is judged on years that the search has not used; while the search has not come so far, "
            "the preset on the years of the start.",
            "Backfilling by true runtimes comes with years whose baseline meets Table II under it.",
        ),
        stores=True,
    ),
)
