"""Legal ranges of numeric parameters, declared with the parameters and checked for values from every source.

A plug-in computes with its parameters at every decision. Even a finite value may overflow there, for example in the
power of a ratio or in a sum of squares. A declared range rejects such values when the name is resolved, not in the
middle of a simulation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import is_number, is_whole
from holdfast.workloads.ground.units import LARGEST_TIME, SECOND

__all__ = ["DURATION", "PATIENCE", "PLAIN", "Range", "declared_range", "legal"]

T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """The legal values of a parameter.

    Attributes
    ----------
    least, most
        Bounds, both finite.
    above
        Whether ``least`` itself is excluded.
    whole
        Whether the value must be a whole number.
    or_zero
        Whether 0 is also legal and means "off".
    unit
        Unit, e.g. ``"s"``; empty: none.

    Examples
    --------
    >>> str(Range(0, 20, above=True)), str(Range(1, 1000, whole=True, unit="jobs"))
    ('a number above 0 and at most 20', 'a whole number of jobs from 1 to 1,000')
    """

    least: float
    most: float
    above: bool = False
    whole: bool = False
    or_zero: bool = False
    unit: str = ""

    def __str__(self) -> str:
        kind = f"a {'whole ' * self.whole}number{f' of {self.unit}' if self.unit else ''}"
        least, most = _plain(self.least), _plain(self.most)
        bounds = f"above {least} and at most {most}" if self.above else f"from {least} to {most}"
        return f"{'0, or ' if self.or_zero else ''}{kind} {bounds}"

    def check(self, name: str, value: object, text: str | None = None) -> None:
        """Check a value against the range; the message quotes the original text.

        Raises
        ------
        ParameterError
            If the value is not in the range.
        """
        right = is_whole(value, numpy=True) or (not self.whole and is_number(value))
        # Values are compared without conversion, because an integer of 400 digits has no float. NaN is in no range.
        if not (right and (self._holds(cast(float, value)) or (self.or_zero and value == 0))):
            raise ParameterError(name, str(self), value if text is None else text)

    def _holds(self, value: float) -> bool:
        return (self.least < value if self.above else self.least <= value) and value <= self.most


def _plain(number: float) -> str:
    return f"{number:,.6f}".rstrip("0").rstrip(".") if 1e-6 <= abs(number) <= 1e15 or number == 0 else f"{number:g}"


#: Duration for divisors and multiples in policies.
DURATION = Range(1 / SECOND, LARGEST_TIME, unit="seconds")
#: Duration for which 0 means that there is none.
PATIENCE = Range(1 / SECOND, LARGEST_TIME, or_zero=True, unit="seconds")
#: Range of parameters of plug-ins that declare none: squares, and sums of many squares, do not overflow.
PLAIN = Range(-1e100, 1e100)


def legal(**ranges: Range) -> Callable[[T], T]:
    """Declare the legal ranges of parameters of a dataclass or of a function.

    A dataclass checks them when an instance is made, before its own ``__post_init__``; the decorator must be below
    ``@dataclass``. A function checks them when it is called, except parameters that are None.

    Parameters
    ----------
    **ranges
        Range of each parameter, by name.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... @legal(weight=Range(0, 1))
    ... class Mine:
    ...     weight: float = 0.5
    >>> Mine(weight=2)
    Traceback (most recent call last):
    ...
    holdfast.workloads.ground.errors.ParameterError: weight must be a number from 0 to 1, not 2
    """

    def declare(owner: T) -> T:
        if isinstance(owner, type):
            own = getattr(owner, "__post_init__", None)

            def check(self: Any) -> None:
                for name, range_ in ranges.items():
                    range_.check(name, getattr(self, name))
                if own is not None:
                    own(self)

            owner.__post_init__ = check  # type: ignore[attr-defined]
            owner.__ranges__ = ranges  # type: ignore[attr-defined]
            return cast(T, owner)
        function = cast(Callable[..., Any], owner)
        names = inspect.signature(function)

        @wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            given = names.bind(*arguments, **keywords).arguments
            for name, range_ in ranges.items():
                if given.get(name) is not None:
                    range_.check(name, given[name])
            return function(*arguments, **keywords)

        call.__ranges__ = ranges  # type: ignore[attr-defined]
        return cast(T, call)

    return declare


def declared_range(owner: object, parameter: str) -> Range:
    """The declared range of a parameter of a plug-in; :data:`PLAIN` if there is none."""
    found: Range = getattr(owner, "__ranges__", {}).get(parameter, PLAIN)
    return found
