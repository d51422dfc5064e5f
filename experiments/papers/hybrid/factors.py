"""The open sentences of hybrid-workload-scheduling as factors.

A reading of the paper is a level for each open sentence. :mod:`experiments.papers.hybrid.designs` crosses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.papers.hybrid.checkpoints import YEAR
from workloads.ground.errors import InputError

__all__ = ["CROSSED", "FACTORS", "Choice", "Factor", "crossed_choices", "named_choice", "neighbours"]


@dataclass(frozen=True)
class Factor:
    """One open sentence, and one level of it that is not its default.

    Attributes
    ----------
    name, low, high
        Its name, the default, and the other level.
    assignment, options
        What the other reading changes.
    preset
        Preset of the generated years that goes with it (:data:`workloads.theta.presets.PRESETS`).
    parameter
        Parameter of the arrival strategies.
    arrivals
        Those that have it.
    metrics
        Metrics that stand for others; nothing is simulated anew for them.
    crossed
        Whether it is varied together with the others; else alone.
    """

    name: str
    low: str
    high: str
    assignment: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    preset: str = ""
    parameter: str = ""
    arrivals: tuple[str, ...] = ("PAA", "SPAA")
    metrics: Mapping[str, str] = field(default_factory=dict)
    crossed: bool = True

    @property
    def label(self) -> str:
        """The level, e.g. ``tenants=fits``."""
        return f"{self.name}={self.high}"


#: The catalogue; those that are crossed come first. Backfilling by true runtimes comes with a year that meets Table II
#: under it.
FACTORS: Sequence[Factor] = (
    Factor("overheads", "inside", "added", assignment={"overheads": "added"}),
    Factor(
        "backfill_length",
        "walltime",
        "runtime",
        options={"backfill_length": "runtime"},
        preset="runtime-backfilling",
    ),
    Factor("tenants", "any", "fits", options={"tenants": "fits"}),
    Factor("types", "project", "campaign", assignment={"group_by": "campaign"}),
    Factor("projects", "public", "even", preset="even-projects"),
    Factor("victims", "least-loss", "malleable-first", parameter="victims=malleable-first"),
    Factor("extra_dumps", "charged", "free", assignment={"extra_dumps": "free"}),
    Factor("expansion", "none", "greedy", options={"expansion": "greedy"}),
    Factor("malleable_start", "free", "requested", options={"malleable_start": "requested"}),
    Factor("malleable_resume", "start", "former", options={"malleable_resume": "former"}),
    Factor("malleable_head", "minimum", "requested", options={"malleable_head": "requested"}),
    Factor("arrival_takes", "own", "reserved", options={"arrival_takes": "reserved"}),
    Factor("overhead", "node-seconds", "seconds", parameter="overhead=seconds"),
    Factor("shrink", "even", "minimum", parameter="shrink=minimum", arrivals=("SPAA",)),
    Factor("shrunk_lenders", "expand", "stay", options={"shrunk_lenders": "stay"}),
    Factor("preempted_lenders", "resume", "hold", options={"preempted_lenders": "hold"}),
    Factor("walltimes", "extended", "trace", assignment={"walltimes": "trace"}),
    Factor(
        "utilization",
        "to-last-completion",
        "to-last-submit",
        metrics={"utilization": "utilization_to_last_submit"},
        crossed=False,
    ),
    Factor("tenants", "any", "none", options={"tenants": "none"}, crossed=False),
    Factor("node_mtbf", "5y", "1y", assignment={"node_mtbf": YEAR}, crossed=False),
    Factor("node_mtbf", "5y", "25y", assignment={"node_mtbf": 25 * YEAR}, crossed=False),
)
#: Labels of the levels that are varied together.
CROSSED = tuple(factor.label for factor in FACTORS if factor.crossed)


@dataclass(frozen=True)
class Choice:
    """One reading: for each factor whether it is at its other level."""

    levels: tuple[bool, ...]

    @property
    def changed(self) -> list[Factor]:
        """The factors that are not at their default."""
        return [factor for factor, high in zip(FACTORS, self.levels, strict=True) if high]

    @property
    def name(self) -> str:
        """What is not at its default, e.g. ``overheads=added tenants=fits``."""
        return " ".join(factor.label for factor in self.changed) or "default"

    @property
    def assignment(self) -> dict[str, Any]:
        """Of the assignment of types, what is not at its default."""
        return {key: value for factor in self.changed for key, value in factor.assignment.items()}

    @property
    def options(self) -> dict[str, Any]:
        """Of the simulation, likewise."""
        return {key: value for factor in self.changed for key, value in factor.options.items()}

    @property
    def preset(self) -> str:
        """Of the generated years."""
        return "+".join(factor.preset for factor in self.changed if factor.preset) or "default"

    @property
    def metrics(self) -> dict[str, str]:
        """Metrics that stand for others."""
        return {key: value for factor in self.changed for key, value in factor.metrics.items()}

    def mechanism(self, name: str) -> str:
        """A mechanism with the parameters of its arrival strategy."""
        arrival = name.rpartition("-")[2]
        own = (factor.parameter for factor in self.changed if factor.parameter and arrival in factor.arrivals)
        return " ".join((name, *own))


def named_choice(name: str) -> Choice:
    """The reading of that name.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> named_choice("tenants=fits").options
    {'tenants': 'fits'}
    """
    words = [] if name == "default" else name.split()
    known = [factor.label for factor in FACTORS]
    sentences = [word.partition("=")[0] for word in words]
    if not set(words) <= set(known) or len(set(sentences)) < len(sentences):
        raise InputError(f"a reading is default, or some of {', '.join(known)}, each name once, not {name!r}")
    return Choice(tuple(label in words for label in known))


def neighbours(choice: Choice) -> list[Choice]:
    """All readings that differ from a reading in one sentence.

    Of a sentence with several other levels only one can be chosen at a time.
    """
    found = []
    for place, factor in enumerate(FACTORS):
        levels = [
            high and (other == place or FACTORS[other].name != factor.name) for other, high in enumerate(choice.levels)
        ]
        levels[place] = not choice.levels[place]
        found.append(Choice(tuple(levels)))
    return found


def crossed_choices(labels: Sequence[str], levels: NDArray[np.bool_]) -> list[Choice]:
    """The readings of a design.

    Parameters
    ----------
    labels
        Labels of the factors that are crossed.
    levels
        Shape (readings, labels).
    """
    places = [next(place for place, factor in enumerate(FACTORS) if factor.label == label) for label in labels]
    table = np.zeros((len(levels), len(FACTORS)), dtype=bool)
    table[:, places] = levels
    return [Choice(tuple(row)) for row in table.tolist()]
