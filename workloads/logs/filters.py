"""Filters for a log: conditions on columns that select the jobs to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.text_cells import Columns

__all__ = ["UNITS", "Choice", "Condition", "Where", "find_columns", "parse_conditions", "parse_unit"]

#: What the size of a job may count, and the words for it.
UNITS: Mapping[str, str] = {"nodes": "nodes", "processors": "processors", "cores": "processors"}
#: Forms of the wanted part: conditions as text, or values by the name of a column.
Where = str | Sequence[str] | Mapping[str, str | Sequence[str]]
#: Columns that a message lists.
_SHOWN = 20
#: Names that stand for the same thing in different logs.
_SAME = {"account": "project", "group": "project", "status": "state"}


@dataclass(frozen=True)
class Condition:
    """One condition on a column: ``partition=batch,debug``, or ``user!=root``.

    Attributes
    ----------
    name
        Name of the column, as it was written.
    values
        Its values; which case they are in does not matter.
    wanted
        Whether these values are wanted, or all others.
    """

    name: str
    values: tuple[str, ...]
    wanted: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", frozenset(value.casefold() for value in self.values))

    @property
    def kind(self) -> str:
        """The column in small letters, by one of the names that mean the same: an account is a project."""
        name = self.name.casefold()
        return _SAME.get(name, name)

    @property
    def reason(self) -> str:
        """Under which the jobs that do not fulfil it are counted."""
        return f"not {self}"

    def also(self, values: Sequence[str]) -> Condition:
        """The same condition, fulfilled by further values as well, under the same words."""
        if not values:
            return self
        more = Condition(self.name, self.values, self.wanted)
        object.__setattr__(more, "_values", frozenset(value.casefold() for value in (*self.values, *values)))
        return more

    def __str__(self) -> str:
        return f"{self.name}{'=' if self.wanted else '!='}{','.join(self.values)}"

    def holds(self, *cells: str) -> bool:
        """Whether a job fulfils it, of which the column holds one of these texts.

        A cell of an aligned column that is cut off, ``long_na+``, fulfils what begins like it.
        """
        found = False
        for cell in cells:
            text = cell.strip().casefold()
            known: frozenset[str] = self._values  # type: ignore[attr-defined]  # set above, so that it is made once
            found = found or text in known
            if not found and len(text) > 1 and text.endswith("+"):
                found = any(value.startswith(text[:-1]) for value in known)
        return found is self.wanted


@dataclass(frozen=True)
class Choice:
    """The selected part of a log, and the unit of sizes.

    Attributes
    ----------
    conditions
        Conditions; a job must fulfil all of them.
    unit
        ``nodes`` or ``processors``; None: as the log counts.
    """

    conditions: tuple[Condition, ...] = ()
    unit: str | None = None

    @classmethod
    def of(cls, where: Where | None = None, unit: str | None = None) -> Choice:
        """Make a choice from user input.

        Raises
        ------
        ParameterError
            If a condition or the unit is not legal.
        """
        return cls(parse_conditions(where), parse_unit(unit))

    def __bool__(self) -> bool:
        return bool(self.conditions) or self.unit is not None

    def asks_for(self, *kinds: str) -> bool:
        """Whether one of the conditions is on such a column."""
        return any(condition.kind in kinds for condition in self.conditions)

    @property
    def text(self) -> str:
        """The conditions in words; empty: none."""
        return " ".join(map(str, self.conditions))


def find_columns(
    conditions: Sequence[Condition], columns: Columns, same: Mapping[str, Sequence[str]]
) -> list[tuple[int, Condition]]:
    """The column of each condition; ``same`` has the columns for names that several formats share.

    Raises
    ------
    ValueError
        If there is no such column; a sentence with those that there are.
    """
    found = []
    for one in conditions:
        place = columns.find(*same.get(one.kind, (one.name,)))
        if place is None:
            names = ", ".join(name for name in columns.names[:_SHOWN] if name)
            more = ", ..." if len(columns.names) > _SHOWN else ""
            raise ValueError(f"there is no column {one.name} to select by; the columns are {names}{more}")
        found.append((place, one))
    return found


def parse_conditions(where: Where | None) -> tuple[Condition, ...]:
    """Conditions as text or by the name of a column.

    Parameters
    ----------
    where
        ``"partition=batch,debug"``, ``["partition=batch", "user!=root"]``, or ``{"partition": ["batch", "debug"]}``.
        None: no condition.

    Raises
    ------
    ParameterError
        If one is none.

    Examples
    --------
    >>> [str(condition) for condition in parse_conditions(["partition=batch, debug", "user!=root"])]
    ['partition=batch,debug', 'user!=root']
    """
    if where is None:
        return ()
    if isinstance(where, Mapping):
        return tuple(_condition(name, "=", values, where) for name, values in where.items())
    texts = [where] if isinstance(where, str) else where
    if not isinstance(texts, Iterable):
        raise _wrong(where)
    found = []
    for text in texts:
        if not isinstance(text, str):
            raise _wrong(where)
        name, mark, values = text.partition("=")
        sign = "!=" if name.endswith("!") else mark
        found.append(_condition(name.removesuffix("!"), sign, values, text))
    return tuple(found)


def _condition(name: object, sign: str, values: object, given: object) -> Condition:
    listed = values.split(",") if isinstance(values, str) else values
    if not isinstance(listed, list | tuple) or not all(isinstance(value, str | int) for value in listed):
        raise _wrong(given)
    cleaned = tuple(str(value).strip() for value in listed)
    if not sign or not isinstance(name, str) or not name.strip() or not cleaned or not all(cleaned):
        raise _wrong(given)
    return Condition(name.strip(), cleaned, sign == "=")


def _wrong(given: object) -> ParameterError:
    return ParameterError("where", "a column and its values, such as partition=batch,debug or user!=root", given)


def parse_unit(unit: str | None) -> str | None:
    """The unit by one of its names.

    Raises
    ------
    ParameterError
        If it is none.
    """
    if unit is None:
        return None
    if not isinstance(unit, str) or unit not in UNITS:
        raise ParameterError("unit", "nodes or processors (or cores)", unit)
    return UNITS[unit]
