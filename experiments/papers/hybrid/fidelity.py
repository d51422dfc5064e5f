"""Scores of a reading of hybrid-workload-scheduling: the claims that hold, and the distance to the printed levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.paper_readings import Reading, reading_from_levels
from holdfast.experiments.papers.hybrid.checkpoints import by_factor
from holdfast.experiments.papers.hybrid.claims import (
    CHECKPOINT_CLAIMS,
    CLAIMS,
    Claim,
    examine,
)
from holdfast.experiments.papers.hybrid.published_levels import LEVELS
from holdfast.experiments.study.evidence import Finding, finite_mean
from holdfast.experiments.study.experiment import Row, Tables
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.rules import Outcome

__all__ = ["Score", "checkpoint_stage", "level_distance", "score_readings"]

Floats = NDArray[np.float64]


class Score(NamedTuple):
    """Agreement of a reading with the paper.

    Attributes
    ----------
    choice
        The reading.
    found
        Claims with their findings, by name of the claim.
    traces
        Measured values of each printed level by trace, by name of the level.
    """

    choice: Reading
    found: Mapping[str, tuple[Claim, Finding]]
    traces: Mapping[str, Floats]

    def count(self, outcome: Outcome) -> int:
        """Number of claims with an outcome."""
        return sum(finding.outcome is outcome for _, finding in self.found.values())

    @property
    def held(self) -> int:
        """Number of claims that hold; undecided claims do not count, even if their effects have the right sign."""
        return self.count(Outcome.HOLDS)

    @property
    def levels(self) -> dict[str, float]:
        """Mean over the traces of each printed level."""
        return {name: finite_mean(values) for name, values in self.traces.items()}

    @property
    def distance(self) -> float:
        """Root mean square deviation of the levels from the printed values, in margins."""
        return float(level_distance(np.array([[self.levels[level.name] for level in LEVELS]]))[0])

    @property
    def levels_met(self) -> int:
        """Number of printed levels with the mean inside their margin."""
        levels = self.levels
        return sum(abs(level.away(levels[level.name])) <= 1 for level in LEVELS)


def level_distance(levels: Floats) -> Floats:
    """Root mean square deviation from :data:`LEVELS`, in margins.

    Parameters
    ----------
    levels
        Levels of each reading, shape (readings, 6); undefined levels do not count.
    """
    printed, margins = (np.array([getattr(level, name) for level in LEVELS]) for name in ("printed", "margin"))
    distance: Floats = np.sqrt(np.nanmean(np.square((levels - printed) / margins), axis=1))
    return distance


def checkpoint_stage(stage: str) -> str:
    """Name of a stage's table for observation 13."""
    return f"{stage}-checkpoints" if stage else "checkpoints"


def score_readings(tables: Tables, stage: str = "") -> list[Score]:
    """Scores of the readings of a stage, in order; empty if it was left out.

    Parameters
    ----------
    tables
        Tables of the experiment.
    stage
        Name of the stage's main table.
    """
    grid, checkpoints = (_rows_by_reading(tables.get(name, ())) for name in (stage, checkpoint_stage(stage)))
    return [
        _score(reading_from_levels(name), Measured(rows), by_factor(checkpoints.get(name, ())))
        for name, rows in grid.items()
    ]


def _rows_by_reading(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["reading"], []).append(row)
    return groups


def _score(choice: Reading, grid: Measured, checkpoints: Measured) -> Score:
    found = {
        claim.name: (claim, examine(claim, data))
        for claims, data in ((CLAIMS, grid), (CHECKPOINT_CLAIMS.values(), checkpoints))
        for claim in claims
        if not claim.own
    }
    traces = {own.name: own.values(grid) for own in LEVELS}
    return Score(choice, found, traces)
