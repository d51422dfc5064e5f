"""Values of objects that many runs of a sweep share, such as their options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["ObjectCache"]

_V = TypeVar("_V")
#: Largest number of values of one cache.
_MOST = 10_000


class ObjectCache(Generic[_V]):
    """A function of an object, and of more arguments, that is computed once for the same object.

    An equal object is another one: 120 equals 120.0, but has another text.

    Parameters
    ----------
    make
        The function; its other arguments must be hashable.
    """

    def __init__(self, make: Callable[..., _V]) -> None:
        self._make = make
        self._known: dict[tuple[Any, ...], tuple[object, _V]] = {}

    def __call__(self, given: object, *others: Any) -> _V:
        """The value for an object."""
        place = (id(given), *others)
        found = self._known.get(place)
        # The object is kept with its value, so that no other one can get its identity.
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = self._known[place] = given, self._make(given, *others)
        return found[1]
