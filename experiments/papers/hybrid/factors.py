"""Ambiguous sentences of hybrid-workload-scheduling as factors of a design, and the neighbours of a reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.paper_readings import FACTORS, Reading

__all__ = ["CROSSED", "DEFAULT", "crossed_choices", "neighbours"]

#: Labels of the levels that are crossed.
CROSSED = tuple(factor.label for factor in FACTORS if factor.crossed)
#: The reading of the model's defaults.
DEFAULT = Reading((False,) * len(FACTORS))


def neighbours(choice: Reading) -> list[Reading]:
    """All readings that differ from a given reading in one sentence.

    A sentence with several alternatives contributes one reading for each.
    """
    found = []
    for place, factor in enumerate(FACTORS):
        levels = [
            high and (other == place or FACTORS[other].name != factor.name) for other, high in enumerate(choice.levels)
        ]
        levels[place] = not choice.levels[place]
        found.append(Reading(tuple(levels)))
    return found


def crossed_choices(labels: Sequence[str], levels: NDArray[np.bool_]) -> list[Reading]:
    """The readings of a design.

    Parameters
    ----------
    labels
        Labels of the crossed factors.
    levels
        Level of each factor in each reading, shape (readings, labels).
    """
    places = [next(place for place, factor in enumerate(FACTORS) if factor.label == label) for label in labels]
    table = np.zeros((len(levels), len(FACTORS)), dtype=bool)
    table[:, places] = levels
    return [Reading(tuple(row)) for row in table.tolist()]
