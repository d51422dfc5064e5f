"""How near a reading of hybrid-workload-scheduling comes to the paper: claims as printed, and printed levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.papers.hybrid.checkpoints import by_factor
from experiments.papers.hybrid.claims import (
    CHECKPOINT_CLAIMS,
    CLAIMS,
    MARGIN_HOURS,
    MARGIN_POINTS,
    Claim,
    examine,
)
from experiments.papers.hybrid.factors import FACTORS, Choice, named_choice, predicted
from experiments.study.evidence import Finding, mean_of
from experiments.study.experiment import Tables
from experiments.study.measured import Measured
from experiments.study.rules import Outcome
from experiments.study.simulated import SIX
from policies.mechanism import BASELINE

__all__ = ["LEVELS", "Level", "Score", "best_of", "halves_of", "promising", "scores_of"]

Floats = NDArray[np.float64]


class Level(NamedTuple):
    """A level that the paper prints.

    Attributes
    ----------
    name, title, printed, unit
        Its name here and for readers, the printed value, h or %.
    """

    name: str
    title: str
    printed: float
    unit: str

    @property
    def margin(self) -> float:
        """What still counts as the same: 5 % of a duration, 1 point of a share."""
        return MARGIN_POINTS if self.unit == "%" else round(MARGIN_HOURS * self.printed, 6)

    @property
    def difference(self) -> str:
        """Unit of a difference."""
        return "points" if self.unit == "%" else self.unit

    def away(self, value: float) -> float:
        """How far a value is from what is printed, in margins."""
        return (value - self.printed) / self.margin


LEVELS: Sequence[Level] = (
    Level("baseline_turnaround", "turnaround, baseline", 15.6, "h"),
    Level("baseline_utilisation", "utilisation, baseline", 83.93, "%"),
    Level("baseline_instant", "instant starts, baseline", 22.69, "%"),
    Level("worst_turnaround", "turnaround, worst mean", 22.0, "h"),
    Level("best_utilisation", "utilisation, best mean", 90.0, "%"),
    Level("instant", "instant starts, mean", 98.0, "%"),
)


class Score(NamedTuple):
    """How near a reading comes to the paper.

    Attributes
    ----------
    choice
        The reading.
    found
        Each claim with its finding, by the claim's name.
    traces
        Each printed level as measured, trace by trace, by its name.
    """

    choice: Choice
    found: Mapping[str, tuple[Claim, Finding]]
    traces: Mapping[str, Floats]

    @property
    def agreeing(self) -> int:
        """How many claims come out as printed, or lean to it."""
        return sum(_leans(finding) for _, finding in self.found.values())

    @property
    def decided(self) -> int:
        """How many claims hold or do not."""
        return sum(finding.outcome in (Outcome.HOLDS, Outcome.FAILS) for _, finding in self.found.values())

    @property
    def levels(self) -> dict[str, float]:
        """The mean of each printed level over the traces."""
        return {name: mean_of(values) for name, values in self.traces.items()}

    @property
    def distance(self) -> float:
        """Root mean square of the levels' deviations from what is printed, in margins."""
        levels = self.levels
        return math.sqrt(float(np.nanmean(np.square([level.away(levels[level.name]) for level in LEVELS]))))


def _leans(finding: Finding) -> bool:
    """Whether a claim comes out as printed, or is undecided with its effect on that side."""
    if finding.outcome is Outcome.UNDECIDED:
        return finding.size is not None and finding.size.mean > 0
    return finding.outcome is Outcome.HOLDS


def halves_of(stage: str) -> str:
    """Name of the table of observation 13 that belongs to the table of a stage."""
    return f"{stage}-checkpoints" if stage else "checkpoints"


def scores_of(tables: Tables, stage: str = "") -> list[Score]:
    """The scores of the readings of a stage, in their order; none if it was left out.

    Parameters
    ----------
    tables
        Of the experiment.
    stage
        Name of the stage's main table.
    """
    grid, halves = tables.get(stage, ()), tables.get(halves_of(stage), ())
    return [
        _score(
            named_choice(name),
            Measured(row for row in grid if row["reading"] == name),
            by_factor([row for row in halves if row["reading"] == name]),
        )
        for name in dict.fromkeys(row["reading"] for row in grid)
    ]


def _score(choice: Choice, grid: Measured, halves: Measured) -> Score:
    found = {
        claim.name: (claim, examine(claim, data))
        for claims, data in ((CLAIMS, grid), (CHECKPOINT_CLAIMS.values(), halves))
        for claim in claims
        if not claim.own
    }
    traces = {
        "baseline_turnaround": grid("turnaround_h", BASELINE),
        "baseline_utilisation": grid("utilization", BASELINE),
        "baseline_instant": grid("instant_start_ratio_strict", BASELINE),
        "worst_turnaround": _highest(grid, "turnaround_h"),
        "best_utilisation": _highest(grid, "utilization"),
        "instant": grid("instant_start_ratio", SIX),
    }
    return Score(choice, found, traces)


def _highest(grid: Measured, metric: str) -> Floats:
    """A metric under the mechanism and the mix of its highest mean."""
    cells = [grid(metric, mechanism, mix) for mechanism in SIX for mix in grid.values("mix")]
    return max(cells, key=mean_of)


def best_of(scores: Sequence[Score]) -> Score:
    """Most claims as printed; of equals the nearest levels."""
    return max(scores, key=lambda score: (score.agreeing, -score.distance))


def promising(scores: Sequence[Score], count: int) -> list[Choice]:
    """The default, and the readings that promise most, by both measures in turn.

    Parameters
    ----------
    scores
        Of the screening.
    count
        How many besides the default.
    """
    choices = [score.choice for score in scores]
    ranked = (
        predicted(choices, [-float(score.agreeing) for score in scores]),
        predicted(choices, [score.distance for score in scores]),
    )
    chosen = dict.fromkeys([Choice((False,) * len(FACTORS))])
    for place in range(len(ranked[0])):
        for ranking in ranked:
            if len(chosen) <= count:
                chosen.setdefault(ranking[place][1])
    return list(chosen)
