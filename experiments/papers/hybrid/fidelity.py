"""How near a reading of hybrid-workload-scheduling comes to the paper: claims that hold, and printed levels."""

from __future__ import annotations

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
from experiments.papers.hybrid.factors import Choice, named_choice
from experiments.study.evidence import Finding, mean_of
from experiments.study.experiment import Row, Tables
from experiments.study.measured import Measured
from experiments.study.rules import Outcome
from experiments.study.simulated import SIX
from policies.mechanism import BASELINE

__all__ = ["LEVELS", "Level", "Score", "checkpoint_stage", "level_distance", "score_readings"]

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
        return {name: mean_of(values) for name, values in self.traces.items()}

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
        _score(named_choice(name), Measured(rows), by_factor(checkpoints.get(name, ()))) for name, rows in grid.items()
    ]


def _rows_by_reading(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["reading"], []).append(row)
    return groups


def _score(choice: Choice, grid: Measured, checkpoints: Measured) -> Score:
    found = {
        claim.name: (claim, examine(claim, data))
        for claims, data in ((CLAIMS, grid), (CHECKPOINT_CLAIMS.values(), checkpoints))
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
