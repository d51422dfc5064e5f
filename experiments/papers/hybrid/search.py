"""Model-based search for the reading of hybrid-workload-scheduling that reproduces most of the paper.

For every combination of the crossed factors, a linear model of the screening predicts the claims that would hold over
many years, and the distance of the levels from the printed values. Measured readings are ranked by the same rule. A
claim counts only if each of its comparisons exceeds its bound by more than the confidence interval over these years.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.paper_readings import Reading
from holdfast.experiments.papers.hybrid.designs import ResponseModel, readings_in_pieces, year_blocks
from holdfast.experiments.papers.hybrid.factors import crossed_choices
from holdfast.experiments.papers.hybrid.fidelity import Score, level_distance
from holdfast.experiments.papers.hybrid.published_levels import LEVELS
from holdfast.experiments.study.evidence import finite_mean
from holdfast.experiments.study.rules import Rule

__all__ = [
    "Outlook",
    "Responses",
    "measured_means",
    "measured_outlook",
    "outlook",
    "predict_claims",
    "promising_readings",
    "rank_readings",
    "screening_responses",
]

Floats = NDArray[np.float64]


class Responses(NamedTuple):
    """Responses of a screening: the comparisons of all claims, then the printed levels.

    Attributes
    ----------
    tests
        Claim, place and rule of each comparison.
    model
        Linear model of the responses; the levels are the last responses.
    labels
        Labels of the factors.
    """

    tests: Sequence[tuple[str, int, Rule]]
    model: ResponseModel
    labels: Sequence[str]

    @property
    def claims(self) -> list[str]:
        """Names of the claims."""
        return list(dict.fromkeys(name for name, _, _ in self.tests))


class Outlook(NamedTuple):
    """Predicted result of many years of a reading.

    Attributes
    ----------
    held
        Number of claims that would hold.
    distance
        Root mean square of the deviations of the printed levels, in margins.
    """

    held: float
    distance: float

    @property
    def rank(self) -> tuple[float, float]:
        """Sort key; the best reading has the smallest key."""
        return -self.held, self.distance


def screening_responses(scores: Sequence[Score], labels: Sequence[str]) -> Responses:
    """Fit the linear model of a screening.

    Parameters
    ----------
    scores
        Score of each run of the design, in the order of the design.
    labels
        Labels of the crossed factors.
    """
    first = scores[0]
    tests = [
        (name, place, test.rule)
        for name, (_, finding) in first.found.items()
        for place, test in enumerate(finding.tests.values())
    ]
    responses = np.array([[*_test_means(score, tests), *_levels(score)] for score in scores])
    levels = np.array([[label in score.choice.name.split() for label in labels] for score in scores])
    return Responses(tests, ResponseModel.fit(levels, year_blocks(len(labels)), responses), labels)


def _test_means(score: Score, tests: Sequence[tuple[str, int, Rule]]) -> list[float]:
    means = {
        name: [finite_mean(test.values) for test in finding.tests.values()]
        for name, (_, finding) in score.found.items()
    }
    return [means[name][place] if place < len(means[name]) else float("nan") for name, place, _ in tests]


def _levels(score: Score) -> list[float]:
    levels = score.levels
    return [levels[level.name] for level in LEVELS]


def outlook(means: Floats, responses: Responses, years: int) -> list[Outlook]:
    """Predict the results of a number of years for readings with given mean responses.

    Parameters
    ----------
    means
        Means, shape (readings, responses), in the order of the model.
    responses
        Responses of the screening; the spread between years determines the width of intervals.
    years
        Number of paired years.
    """
    held = predict_claims(means, responses, years).sum(axis=1)
    distance = level_distance(means[:, len(responses.tests) :])
    return [Outlook(float(own), float(far)) for own, far in zip(held, distance, strict=True)]


def predict_claims(means: Floats, responses: Responses, years: int) -> NDArray[np.bool_]:
    """Predict which claims hold under each reading; the parameters are those of :func:`outlook`.

    Returns
    -------
    numpy.ndarray
        Whether a claim is expected to hold, shape (readings, claims); columns in the order of :attr:`Responses.claims`.
    """
    from scipy.special import stdtrit

    count = len(responses.tests)
    margin = float(stdtrit(years - 1, 0.975)) * responses.model.spread[:count] / np.sqrt(years)
    slack = np.column_stack([rule.slack(means[:, at]) for at, (_, _, rule) in enumerate(responses.tests)])
    holds = slack > margin
    names = np.array([name for name, _, _ in responses.tests])
    return np.column_stack([holds[:, names == claim].all(axis=1) for claim in responses.claims])


def measured_means(scores: Sequence[Score], responses: Responses) -> Floats:
    """Mean responses of measured readings, shape (readings, responses)."""
    return np.array([[*_test_means(score, responses.tests), *_levels(score)] for score in scores])


def measured_outlook(scores: Sequence[Score], responses: Responses, years: int) -> list[Outlook]:
    """Outlook of measured readings, from their means over a few years."""
    return outlook(measured_means(scores, responses), responses, years)


def promising_readings(responses: Responses, count: int, years: int) -> list[tuple[Reading, Outlook]]:
    """The most promising readings by the model of the screening.

    Half of them are chosen by the number of claims, half by the distance of levels.

    Parameters
    ----------
    responses
        Responses of the screening.
    count
        Number of readings.
    years
        Number of paired years in the prediction.
    """
    best: dict[Reading, Outlook] = {}
    for rank in (_most_claims, _nearest_levels):
        candidates: list[tuple[Reading, Outlook]] = []
        for levels in readings_in_pieces(len(responses.labels)):
            found = outlook(responses.model.predict(levels), responses, years)
            order = sorted(range(len(found)), key=lambda at: rank(found[at]))[:count]
            chosen = crossed_choices(responses.labels, levels[order])
            candidates += zip(chosen, (found[at] for at in order), strict=True)
        candidates.sort(key=lambda item: (rank(item[1]), item[0].levels))
        best |= dict(candidates[: (count + 1) // 2])
    return list(best.items())[:count]


def _most_claims(found: Outlook) -> tuple[float, float]:
    return found.rank


def _nearest_levels(found: Outlook) -> tuple[float, float]:
    return found.distance, -found.held


def rank_readings(found: Mapping[str, Outlook]) -> list[str]:
    """Order the names of readings, the best first; ties keep their order."""
    return sorted(found, key=lambda name: found[name].rank)
