"""The open sentences of hybrid-workload-scheduling as factors of two levels, and designs over them.

A reading of the paper is a level for each factor. Eight factors have 256 readings; a folded Hadamard design of 16 of
them estimates each factor's own effect free of the interactions between any two (resolution IV).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.statistics import Interval
from workloads.ground.errors import InputError

__all__ = ["FACTORS", "Choice", "Factor", "effects", "named_choice", "predicted", "screening"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Factor:
    """One open sentence.

    Attributes
    ----------
    name, low, high
        Its name, the default, and the other reading.
    assignment, options
        What the other reading changes.
    preset
        Preset of the generated years that goes with it (:data:`workloads.theta.presets.PRESETS`).
    parameter
        Parameter of the arrival strategies.
    """

    name: str
    low: str
    high: str
    assignment: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    preset: str = ""
    parameter: str = ""


#: Backfilling by true runtimes comes with a year that meets Table II under it.
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
)


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
        return " ".join(f"{factor.name}={factor.high}" for factor in self.changed) or "default"

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
        return " ".join((name, *(factor.parameter for factor in self.changed if factor.parameter)))


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
    known = [f"{factor.name}={factor.high}" for factor in FACTORS]
    for word in words:
        if word not in known:
            raise InputError(f"a reading is default, or some of {', '.join(known)}, not {name!r}")
    return Choice(tuple(word in words for word in known))


def screening() -> list[Choice]:
    """Sixteen readings; any two factors take each pair of levels equally often, and any three, too.

    The first is the default.
    """
    from scipy.linalg import hadamard

    half = hadamard(len(FACTORS))
    return [Choice(tuple((row < 0).tolist())) for row in np.concatenate((half, -half))]


def effects(choices: Sequence[Choice], values: Sequence[float]) -> dict[str, Interval]:
    """What each factor's other level adds to a quantity, by the factor's name.

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

    model = _model(choices)
    # Sums of equal numbers differ in their last digits.
    found = np.asarray(values, dtype=float).round(9)
    fit, *_ = np.linalg.lstsq(model, found, rcond=None)
    freedom = len(found) - model.shape[1]
    rest = found - model @ fit
    spread = float(rest @ rest) / freedom
    fit = fit.round(9)
    errors = np.sqrt(spread * np.diag(np.linalg.inv(model.T @ model)))
    quantile = float(stdtrit(freedom, 0.975))
    return {
        factor.name: Interval(float(own), float(own - quantile * error), float(own + quantile * error), float(error))
        for factor, own, error in zip(FACTORS, fit[1:], errors[1:], strict=True)
    }


def predicted(choices: Sequence[Choice], values: Sequence[float]) -> list[tuple[float, Choice]]:
    """The quantity under every reading as the factors' own effects add up, the lowest first.

    Parameters
    ----------
    choices, values
        As of :func:`effects`.
    """
    fit, *_ = np.linalg.lstsq(_model(choices), np.asarray(values, dtype=float), rcond=None)
    every = [Choice(levels) for levels in product((False, True), repeat=len(FACTORS))]
    told: Floats = _model(every) @ fit
    return sorted(zip(told.round(9).tolist(), every, strict=True), key=lambda item: (item[0], item[1].levels))


def _model(choices: Sequence[Choice]) -> Floats:
    """A column of ones, and one for each factor: 1 at its other level."""
    return np.array([[1.0, *choice.levels] for choice in choices], dtype=float)
