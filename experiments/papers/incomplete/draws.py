"""Losses of estimators by repetition, with confidence intervals, as used for figures 4 to 7 and table I of [S]."""

from __future__ import annotations

import math
from collections.abc import Sequence

from holdfast.experiments.statistics import Interval, interval, paired_interval
from holdfast.experiments.study.experiment import Row

__all__ = ["PUBLISHED", "Draws"]

#: The "continuous" series of [S]: in each repetition, the polynomial or parametric fit that is cheaper under the true
#: distribution. It is not an estimator, because it cannot be computed from samples alone.
PUBLISHED = "continuous, as published"


class Draws:
    """Losses by application, estimator, number of samples and repetition, including :data:`PUBLISHED`.

    Parameters
    ----------
    rows
        Rows with application, estimator, samples, repetition and loss (None: no distribution could be fitted).
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._losses: dict[tuple[str, str, int], dict[int, float]] = {}
        for row in rows:
            if row["loss"] is None:
                continue
            names = [row["estimator"]]
            if row["estimator"] in ("polynomial", "usual"):
                names.append(PUBLISHED)
            for name in names:
                own = self._losses.setdefault((row["application"], name, row["samples"]), {})
                own[row["repetition"]] = min(own.get(row["repetition"], math.inf), row["loss"])

    def sizes(self, application: str) -> list[int]:
        """Numbers of samples of an application, ascending."""
        return sorted({samples for name, _, samples in self._losses if name == application})

    def losses(self, application: str, estimator: str, samples: int) -> dict[int, float]:
        """Losses by repetition; empty if there are none."""
        return self._losses.get((application, estimator, samples), {})

    def mean(self, application: str, estimator: str, samples: int) -> Interval | None:
        """Mean loss with an interval of non-negative numbers; None for fewer than two draws."""
        found = list(self.losses(application, estimator, samples).values())
        return interval(found, bounds=(0.0, math.inf)) if len(found) > 1 else None

    def less(self, application: str, estimator: str, than: str, samples: int) -> Interval | None:
        """Paired reduction of the loss compared with another estimator; None for fewer than two draws."""
        own, other = (self.losses(application, name, samples) for name in (estimator, than))
        both = sorted(own.keys() & other.keys())
        return paired_interval([other[key] for key in both], [own[key] for key in both]) if len(both) > 1 else None

    def between(self, application: str, estimator: str, few: int, many: int) -> Interval | None:
        """Difference of the losses from two independent sets of draws."""
        first, last = (list(self.losses(application, estimator, size).values()) for size in (few, many))
        number = min(len(first), len(last))
        return paired_interval(last[:number], first[:number]) if number > 1 else None
