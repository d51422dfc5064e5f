"""Scores of a reading of hybrid-workload-scheduling: the claims that hold, and the distance to the printed levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.paper_readings import Reading, named_reading
from experiments.papers.hybrid.checkpoints import by_factor
from experiments.papers.hybrid.claims import (
    CHECKPOINT_CLAIMS,
    CLAIMS,
    Claim,
    examine,
)
from experiments.papers.hybrid.published_levels import LEVELS
from experiments.study.evidence import Finding, finite_mean
from experiments.study.experiment import Row, Tables
from experiments.study.measurement_table import Measured
from experiments.study.rules import Outcome

__all__ = ["Score", "checkpoint_stage", "level_distance", "score_readings"]

Floats = NDArray[np.float64]


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

    choice: Reading
    found: Mapping[str, tuple[Claim, Finding]]
    traces: Mapping[str, Floats]

    def count(self, outcome: Outcome) -> int:
        """Claims with this outcome."""
        return sum(finding.outcome is outcome for _, finding in self.found.values())

    @property
    def held(self) -> int:
        """Claims that are decided as printed. An undecided claim counts nothing, whatever the sign of its effect."""
        return self.count(Outcome.HOLDS)

    @property
    def levels(self) -> dict[str, float]:
        """The mean of each printed level over the traces."""
        return {name: finite_mean(values) for name, values in self.traces.items()}

    @property
    def distance(self) -> float:
        """Root mean square of the levels' deviations from what is printed, in margins."""
        return float(level_distance(np.array([[self.levels[level.name] for level in LEVELS]]))[0])

    @property
    def levels_met(self) -> int:
        """Printed levels within whose margin the mean lies."""
        levels = self.levels
        return sum(abs(level.away(levels[level.name])) <= 1 for level in LEVELS)


def level_distance(levels: Floats) -> Floats:
    """Root mean square of the deviations from :data:`LEVELS`, in margins.

    Parameters
    ----------
    levels
        Shape (readings, 6); a level that is not defined does not count.
    """
    printed, margins = (np.array([getattr(level, name) for level in LEVELS]) for name in ("printed", "margin"))
    distance: Floats = np.sqrt(np.nanmean(np.square((levels - printed) / margins), axis=1))
    return distance


def checkpoint_stage(stage: str) -> str:
    """Name of the table of observation 13 that belongs to the table of a stage."""
    return f"{stage}-checkpoints" if stage else "checkpoints"


def score_readings(tables: Tables, stage: str = "") -> list[Score]:
    """The scores of the readings of a stage, in their order; none if it was left out.

    Parameters
    ----------
    tables
        Of the experiment.
    stage
        Name of the stage's main table.
    """
    grid, checkpoints = (_rows_by_reading(tables.get(name, ())) for name in (stage, checkpoint_stage(stage)))
    return [
        _score(named_reading(name), Measured(rows), by_factor(checkpoints.get(name, ()))) for name, rows in grid.items()
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
