"""The open sentences of hybrid-workload-scheduling as factors, and designs over them.

A reading of the paper is a level for each open sentence. Eight factors of two levels have 256 readings; a folded
Hadamard design of 16 of them estimates each factor's own effect free of the interactions between any two (resolution
IV). Levels that are no part of it are tried one at a time, in a reading of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.papers.hybrid.checkpoints import YEAR
from experiments.statistics import Interval
from workloads.ground.errors import InputError

__all__ = ["FACTORS", "Choice", "Factor", "effects", "named_choice", "predicted", "screening"]

Floats = NDArray[np.float64]


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
    Factor("tenants", "any", "none", options={"tenants": "none"}, crossed=False),
    Factor("node_mtbf", "5y", "1y", assignment={"node_mtbf": YEAR}, crossed=False),
    Factor("node_mtbf", "5y", "25y", assignment={"node_mtbf": 25 * YEAR}, crossed=False),
    Factor("malleable_start", "free", "requested", options={"malleable_start": "requested"}, crossed=False),
    Factor("malleable_resume", "start", "former", options={"malleable_resume": "former"}, crossed=False),
    Factor("malleable_head", "minimum", "requested", options={"malleable_head": "requested"}, crossed=False),
    Factor("arrival_takes", "own", "reserved", options={"arrival_takes": "reserved"}, crossed=False),
    Factor("overhead", "node-seconds", "seconds", parameter="overhead=seconds", crossed=False),
    Factor("shrink", "even", "minimum", parameter="shrink=minimum", arrivals=("SPAA",), crossed=False),
    Factor("shrunk_lenders", "expand", "stay", options={"shrunk_lenders": "stay"}, crossed=False),
    Factor("preempted_lenders", "resume", "hold", options={"preempted_lenders": "hold"}, crossed=False),
    Factor("walltimes", "extended", "trace", assignment={"walltimes": "trace"}, crossed=False),
)
_CROSSED = sum(factor.crossed for factor in FACTORS)


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


def screening() -> list[Choice]:
    """Sixteen readings of the factors that are crossed, and one for each other level.

    Any two crossed factors take each pair of levels equally often, and any three, too. The first is the default.
    """
    from scipy.linalg import hadamard

    half = hadamard(_CROSSED)
    rest = len(FACTORS) - _CROSSED
    together = [Choice((*(row < 0).tolist(), *[False] * rest)) for row in np.concatenate((half, -half))]
    alone = [Choice(tuple(place == own for place in range(len(FACTORS)))) for own in range(_CROSSED, len(FACTORS))]
    return [*together, *alone]


def effects(choices: Sequence[Choice], values: Sequence[float]) -> dict[str, Interval]:
    """What each level adds to a quantity, by its label; of levels that no reading has, nothing.

    Parameters
    ----------
    choices
        The readings of a screening.
    values
        The quantity under each.

    Returns
    -------
    dict of str to Interval
        Differences of means, with 95 % intervals from what the factors leave unexplained.
    """
    from scipy.special import stdtrit

    levels = _tried(choices)
    model = _model(choices, levels)
    # Sums of equal numbers differ in their last digits.
    found = np.asarray(values, dtype=float).round(9)
    fit, *_ = np.linalg.lstsq(model, found, rcond=None)
    freedom = len(found) - model.shape[1]
    rest = found - model @ fit
    spread = float(rest @ rest) / freedom
    fit = fit.round(9)
    errors = np.sqrt(spread * np.diag(np.linalg.inv(model.T @ model))).round(9)
    quantile = float(stdtrit(freedom, 0.975))
    return {
        FACTORS[place].label: Interval(
            float(own), float(own - quantile * error), float(own + quantile * error), float(error), freedom
        )
        for place, own, error in zip(levels, fit[1:], errors[1:], strict=True)
    }


def predicted(choices: Sequence[Choice], values: Sequence[float]) -> list[tuple[float, Choice]]:
    """The quantity under every reading of the crossed factors as their own effects add up, the lowest first.

    Parameters
    ----------
    choices, values
        As of :func:`effects`.
    """
    levels = _tried(choices)
    fit, *_ = np.linalg.lstsq(_model(choices, levels), np.asarray(values, dtype=float), rcond=None)
    rest = (False,) * (len(FACTORS) - _CROSSED)
    every = [Choice((*own, *rest)) for own in product((False, True), repeat=_CROSSED)]
    told: Floats = _model(every, levels) @ fit
    return sorted(zip(told.round(9).tolist(), every, strict=True), key=lambda item: (item[0], item[1].levels))


def _tried(choices: Sequence[Choice]) -> list[int]:
    """Places of the levels that some reading has."""
    return [place for place in range(len(FACTORS)) if any(choice.levels[place] for choice in choices)]


def _model(choices: Sequence[Choice], levels: Sequence[int]) -> Floats:
    """A column of ones, and one for each of these levels: 1 where a reading has it."""
    return np.array([[1.0, *(choice.levels[place] for place in levels)] for choice in choices], dtype=float)
