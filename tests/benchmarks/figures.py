"""Figures: what a benchmark measures, in a line that ``python -m tests.benchmarks`` reads again."""

from __future__ import annotations

from typing import NamedTuple, Self

__all__ = ["Figure", "print_figure"]

_MARK = "figure"
_BETWEEN = " | "


class Figure(NamedTuple):
    """One measured number.

    Attributes
    ----------
    name
        What it is, without ``|``.
    value
        Its value.
    unit
        Its unit; ``x`` for a ratio.
    aim
        What it should be, e.g. ``<= 1.7``; empty: nothing is asked for.
    """

    name: str
    value: float
    unit: str
    aim: str = ""

    @property
    def line(self) -> str:
        """As it is printed."""
        return _BETWEEN.join((_MARK, self.name, f"{self.value:.6g}", self.unit, self.aim or "-"))

    @classmethod
    def of(cls, line: str) -> Self | None:
        """The figure of a printed line; None: it is another line."""
        parts = line.strip().split(_BETWEEN)
        if len(parts) != 5 or parts[0] != _MARK:
            return None
        return cls(parts[1], float(parts[2]), parts[3], "" if parts[4] == "-" else parts[4])

    @property
    def met(self) -> bool | None:
        """Whether it is what it should be; None: nothing is asked for."""
        if not self.aim:
            return None
        sign, bound = self.aim.split(" ", 1)
        limit = float(bound.replace(",", ""))
        return self.value <= limit if sign == "<=" else self.value >= limit


def print_figure(name: str, value: float, unit: str, aim: str = "") -> None:
    """Print a figure."""
    print(Figure(name, value, unit, aim).line, flush=True)
