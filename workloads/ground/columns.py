"""Columns of a table with their names, units and display scales, and metrics, which are columns that are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["Better", "Metric", "Quantity"]


@dataclass(frozen=True)
class Quantity:
    """A column of numbers or texts.

    Attributes
    ----------
    name
        Key of the rows.
    head
        Heading in a terminal; the name by default.
    unit
        Unit of a number as it is shown; empty: none.
    group
        Neighbours of the same group share one heading above their own.
    scale
        Factor from the stored number to the displayed one.
    digits
        Decimals of numbers; None: integers without, others with three significant digits.
    """

    name: str
    head: str = ""
    unit: str = ""
    group: str = ""
    scale: float = 1.0
    digits: int | None = None


class Better(StrEnum):
    """Which way a metric improves."""

    MORE = "more"
    LESS = "less"
    NEITHER = "-"


@dataclass(frozen=True)
class Metric(Quantity):
    """A number that is measured.

    Attributes
    ----------
    title
        Name in words.
    of
        What it is measured on: a set of jobs, or the machine.
    better
        Which way it improves.
    definition
        Definition in one sentence.
    source
        The paper, or the page of the documentation, that defines it.
    where
        Results that contain it.
    wall_clock
        Whether it is a wall-clock time, which differs between executions.
    measure
        Function that computes it; its argument is the same for all metrics of a group. None: the tables of a sweep, a
        loop or an experiment hold it.
    """

    title: str = ""
    of: str = ""
    better: Better = Better.NEITHER
    definition: str = ""
    source: str = ""
    where: str = ""
    wall_clock: bool = False
    measure: Callable[[Any], float] | None = field(default=None, compare=False, repr=False)

    @property
    def heading(self) -> str:
        """The title as a heading."""
        return _capital(self.title)

    @property
    def axis(self) -> str:
        """Label of an axis: title and unit.

        >>> Metric("utilization", unit="%", title="utilisation").axis
        'Utilisation (%)'
        """
        return f"{self.heading} ({self.unit})" if self.unit else self.heading

    @property
    def label(self) -> str:
        """Title and unit in a text: ``utilisation by work (%)``."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def panel(self) -> str:
        """Title of a panel, on two lines: what it shows; the jobs, or the machine, it is measured on, and its unit.

        >>> Metric("utilization", unit="%", title="utilisation", of="machine").panel
        'Utilisation,\\nmachine (%)'
        """
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.heading},\n{self.of}{unit}" if self.of else self.axis

    @property
    def percent(self) -> bool:
        """Whether it is a share, shown in per cent."""
        return self.unit == "%"

    @property
    def most(self) -> float:
        """The largest value that is possible, as shown; the smallest is 0."""
        return 100.0 if self.percent else float("inf")

    @property
    def difference(self) -> str:
        """Unit of a difference: per cents differ by points."""
        return "points" if self.percent else self.unit

    def scale_value(self, value: Any) -> Any:
        """Scale a stored number, or an array, for display.

        >>> Metric("utilization", unit="%", scale=100.0).scale_value(0.25)
        25.0
        """
        return self.scale * value


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
