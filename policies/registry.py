"""Policies by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from workloads.errors import UnknownNameError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """The known policies of one kind.

    Parameters
    ----------
    kind
        What they are, as an error message says it.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._known: dict[str, T] = {}

    def add(self, name: str, policy: T) -> T:
        """Register a policy under a name."""
        self._known[name] = policy
        return policy

    def __getitem__(self, name: str) -> T:
        """The policy of that name.

        Raises
        ------
        UnknownNameError
            If there is none; the message offers the nearest known names.
        """
        try:
            return self._known[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._known) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)
