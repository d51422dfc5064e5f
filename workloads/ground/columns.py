"""Columns of a table with their names, units and display scales, and metrics, which are measured columns."""

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
        Unit of a displayed number; empty: none.
    group
        Heading above neighbouring columns of the same group.
    scale
        Factor from the stored number to the displayed one.
    digits
        Number of decimals; None: integers have none, other numbers three significant digits.
    """

    name: str
    head: str = ""
    unit: str = ""
    group: str = ""
    scale: float = 1.0
    digits: int | None = None


class Better(StrEnum):
    """Direction in which a metric improves."""

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
        Subject of the measurement: a set of jobs, or the machine.
    better
        Direction in which it improves.
    definition
        Definition in one sentence.
    source
        The paper, or the page of the documentation, that defines it.
    where
        Results that contain it.
    wall_clock
        Whether it is a wall-clock time, which differs between executions.
    measure
        Function that computes it; all metrics of a group have the same argument. None: the value is a column of the
        tables of a sweep, a loop or an experiment.
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
    def subject(self) -> str:
        """The title as the subject of a sentence.

        >>> Metric("wait_h", unit="h", title="mean wait", of="all jobs").subject
        'mean wait'
        >>> Metric("share", unit="%", title="preempted", of="rigid jobs").subject
        'share of rigid jobs preempted'
        """
        return f"share of {self.of} {self.title}" if self.unit == "%" and self.of.endswith("jobs") else self.title

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
        """Title of a panel on two lines: the metric; the jobs or the machine that are measured, and the unit.

        >>> Metric("utilization", unit="%", title="utilisation", of="machine").panel
        'Utilisation,\\nmachine (%)'
        """
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.heading},\n{self.of}{unit}" if self.of else self.axis

    @property
    def percent(self) -> bool:
        """Whether the metric is a share that is displayed in per cent."""
        return self.unit == "%"

    @property
    def most(self) -> float:
        """The largest possible value as displayed; the smallest is 0."""
        return 100.0 if self.percent else float("inf")

    @property
    def difference(self) -> str:
        """Unit of a difference: points if the unit is per cent."""
        return "points" if self.percent else self.unit

    def scale_value(self, value: Any) -> Any:
        """Scale a stored number, or an array, for display.

        >>> Metric("utilization", unit="%", scale=100.0).scale_value(0.25)
        25.0
        """
        return self.scale * value


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
