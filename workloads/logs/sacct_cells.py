"""Repair of sacct lines with separators inside text cells.

``sacct -P`` does not quote. If a job name, a comment or a constraint contains ``|``, the line has more cells than the
header. The neighbouring cells show where such a text ends, because a date, a count or a state fits only a column of
that kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from holdfast.workloads.logs.sacct_values import is_missing

__all__ = ["CellFit", "RestOfRecordError"]

#: Columns with texts that users write.
_TEXTS = frozenset((
    *("jobname", "submitline", "comment", "admincomment", "systemcomment", "constraints", "workdir", "extra"),
    *("container", "reason", "wckey", "stdin", "stdout", "stderr", "licenses"),
))  # fmt: skip
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*|\d{1,12}")
_CLOCK = re.compile(r"(?:\d+-)?(?:\d+:)?\d+:\d+(?:\.\d+)?")
_COUNT = re.compile(r"\d+(?:\.\d+)?[KMGTP]?[nc]?")
_STATE = re.compile(r"[A-Z_]{4,}\+?(?: by \d+)?")
_STATUS = re.compile(r"\d+:\d+")
_TRES = re.compile(r"[\w/:.-]+=[\w./:+-]+(?:,[\w/:.-]+=[\w./:+-]+)*")
_WORD = re.compile(r"\S*")
_ID = re.compile(r"\d[\w.+,\[\]:%-]*")
#: Columns that are never empty.
_VALUED = frozenset(("jobid", "jobidraw", "state", "exitcode"))
_KINDS: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("jobid", "jobidraw"), _ID),
    **dict.fromkeys(("submit", "start", "end", "eligible"), _DATE),
    **dict.fromkeys(("elapsed", "timelimit", "suspended", "cputime", "systemcpu", "usercpu", "totalcpu"), _CLOCK),
    **dict.fromkeys(("reserved", "planned", "resvcpu", "plannedcpu"), _CLOCK),
    **dict.fromkeys(("elapsedraw", "timelimitraw", "cputimeraw", "nnodes", "allocnodes", "reqnodes"), _COUNT),
    **dict.fromkeys(("ncpus", "alloccpus", "reqcpus", "reqmem", "ntasks", "uid", "gid", "associd", "priority"), _COUNT),
    **dict.fromkeys(("consumedenergy", "consumedenergyraw", "dbindex", "qosraw", "wckeyid", "reservationid"), _COUNT),
    **dict.fromkeys(("user", "account", "partition", "qos", "cluster", "group", "nodelist"), _WORD),
    **dict.fromkeys(("alloctres", "reqtres"), _TRES),
    **dict.fromkeys(("exitcode", "derivedexitcode"), _STATUS),
    "state": _STATE,
}


class RestOfRecordError(ValueError):
    """A line continues a record after a line break in a text, and the start of that record is not in the file."""


class CellFit:
    """Fits the cells of a line to the columns of its header.

    Parameters
    ----------
    names
        Names of the columns.
    mark
        Separator, which joins cells of one text again.
    """

    def __init__(self, names: Sequence[str], mark: str) -> None:
        lowered = [name.strip().lower() for name in names]
        self._mark = mark
        self._texts = [name in _TEXTS for name in lowered]
        self._kinds = [_KINDS.get(name) for name in lowered]
        self._tests = [_test(name) for name in lowered]
        self._ends_with_text = bool(lowered) and self._texts[-1] and lowered[-1] != "workdir"

    def begins(self, cells: Sequence[str]) -> bool:
        """Whether the first cells of a line can be those of a record."""
        return all(test(cell) for test, cell in zip(self._tests, cells, strict=False))

    def goes_on(self, cells: Sequence[str]) -> bool:
        """Whether a line with these cells is the rest of a text in the last column of the line above."""
        if not self._ends_with_text or len(cells) >= len(self._tests) or self.is_rest(cells):
            return False
        # The last cell of a line that is cut off may be cut off, too.
        return not self._may_begin(cells[:-1] or cells)

    def _may_begin(self, cells: Sequence[str]) -> bool:
        """Whether a record can begin with these cells, where texts may hold separators."""
        columns = {0}
        for cell in cells:
            fitting = [column for column in columns if self._tests[column](cell)]
            columns = {column + 1 for column in fitting} | {column for column in fitting if self._texts[column]}
        return bool(columns)

    def is_rest(self, cells: Sequence[str]) -> bool:
        """Whether these are the last cells of a record, from the middle of a text on."""
        column = len(self._tests) - len(cells)
        if column <= 0 or not self._texts[column] or self.begins(cells):
            return False
        known = any(kind is not None for kind in self._kinds[column + 1 :])
        return known and all(test(cell) for test, cell in zip(self._tests[column + 1 :], cells[1:], strict=True))

    def fit(self, cells: Sequence[str]) -> list[str] | None:
        """The cells, one for each column; None: they do not fit.

        Parameters
        ----------
        cells
            At least as many as there are columns.

        Raises
        ------
        ValueError
            If cells of columns that are no texts could stand in several places.
        """
        spare = len(cells) - len(self._tests)
        if spare < 0:
            return None
        if not spare:
            return list(cells) if self.begins(cells) else None
        first = self._ends(cells, spare, longest_first=True)
        if first is None:
            return None
        last = self._ends(cells, spare, longest_first=False) or first
        # All other readings lie between these two.
        for one, other, kind in zip(first, last, self._kinds, strict=True):
            if kind is not None and cells[one - 1] != cells[other - 1]:
                raise ValueError(
                    f"a text with {self._mark} in it cannot be separated from the neighbouring columns: "
                    "export with another separator, such as sacct -P --delimiter='^'"
                )
        return [self._mark.join(cells[begin:end]) for begin, end in zip([0, *first], first, strict=False)]

    def _ends(self, cells: Sequence[str], spare: int, *, longest_first: bool) -> list[int] | None:
        """For each column the place after its last cell, the first texts as long (or as short) as can be."""
        columns = len(self._tests)
        # fits[column][spare]: whether the columns from this one on match the cells left after ``spare`` extra cells.
        fits = [[False] * (spare + 1) for _ in range(columns + 1)]
        fits[columns][spare] = True
        for column in range(columns - 1, -1, -1):
            after = fits[column + 1]
            reached = False
            for used in range(spare, -1, -1):
                reached = reached or after[used]
                if self._texts[column]:
                    fits[column][used] = reached
                else:
                    fits[column][used] = after[used] and self._tests[column](cells[column + used])
        if not fits[0][0]:
            return None
        ends, used = [], 0
        for column in range(columns):
            if self._texts[column]:
                steps = range(spare, used - 1, -1) if longest_first else range(used, spare + 1)
                used = next(step for step in steps if fits[column + 1][step])
            ends.append(column + used + 1)
        return ends


def _test(name: str) -> Callable[[str], bool]:
    kind = _KINDS.get(name)
    if kind is None:
        return _any_text if name in _TEXTS else _one_line
    if name in _VALUED:
        return lambda cell: kind.fullmatch(cell.strip()) is not None
    return lambda cell: is_missing(cell) or kind.fullmatch(cell.strip()) is not None


def _any_text(cell: str) -> bool:
    return True


def _one_line(cell: str) -> bool:
    return "\n" not in cell
