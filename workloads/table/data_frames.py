"""DataFrames as workloads: one row per job, with the columns of the job table or of a trace."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from holdfast.workloads.ground.errors import InputError, UnknownNameError
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.table.columns import ALL_COLUMNS, NEEDED_COLUMNS
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.job_table import build_table
from holdfast.workloads.table.jobs import Jobs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["jobs_of_frame"]

#: Columns that a trace must have, and further columns that it may have besides those of the job table.
_TRACE = ("submit", "nodes", "runtime")
_RECORDED = ("wait", "node_list", "job_class")
_WHOLE = frozenset({"job_id", "nodes", "min_nodes", "preceding"})
#: Words for the source in messages, in place of a file name.
_NAME = "the DataFrame"


def jobs_of_frame(frame: pd.DataFrame, ignored: Collection[str] = ()) -> Jobs:
    """Convert the rows of a DataFrame to jobs.

    Parameters
    ----------
    frame
        DataFrame with the columns of the job table (docs/commands.md, "holdfast prepare"). Without ``type``, it is a
        trace of rigid jobs with ``submit``, ``nodes`` and ``runtime``, and optionally ``job_id`` (else 1, 2, ...),
        ``walltime`` (else the runtime; longer runtimes are cut to the walltime), ``user``, ``project`` and other
        columns of the job table. Times are in seconds, or datetimes and timedeltas.
    ignored
        Names of further columns that are skipped.

    Raises
    ------
    InputError
        If a column is missing or unknown, or a row is not a legal job.
    """
    names = [str(name).strip().lower() for name in frame.columns]
    traced = "type" not in names
    needed = _TRACE if traced else NEEDED_COLUMNS
    missing = [name for name in needed if name not in names]
    if missing:
        kind = "a trace" if traced else "a job table"
        raise InputError(
            f"{_NAME} of {kind} must have the columns {', '.join(needed)}; it lacks {', '.join(missing)}, "
            f"and has {', '.join(names)[:200] or 'none'}"
        )
    for name in names:
        if name not in (*ALL_COLUMNS, *ignored, *_RECORDED):
            raise InputError(f"{_NAME}: {UnknownNameError('column', name, ALL_COLUMNS)}; leave it out with drop()")
    # The reader of tables reports duplicate columns.
    kept = [place for place, name in enumerate(names) if name in ALL_COLUMNS]
    columns: list[Sequence[str]] = [_cells(frame.iloc[:, place], names[place]) for place in kept]
    found = [names[place] for place in kept]
    if traced:
        found, columns = _as_rigid(found, columns, len(frame))

    def blocks() -> Iterator[tuple[Sequence[Sequence[str]], list[int]]]:
        if len(frame):
            yield columns, []

    return Jobs(build_table(found, blocks(), _NAME).jobs)


def _as_rigid(
    names: Sequence[str], columns: Sequence[Sequence[str]], count: int
) -> tuple[list[str], list[Sequence[str]]]:
    """Add the columns that make each job of a trace rigid, and cut runtimes to the walltime."""
    table = dict(zip(names, columns, strict=True))
    table.setdefault("job_id", [str(number) for number in range(1, count + 1)])
    table["type"] = list(repeat(JobType.RIGID.value, count))
    runtimes = table["runtime"]
    walltimes = [asked or runtime for asked, runtime in zip(table.get("walltime", runtimes), runtimes, strict=True)]
    over = [_longer(runtime, asked) for runtime, asked in zip(runtimes, walltimes, strict=True)]
    table["walltime"] = walltimes
    table["runtime"] = [
        asked if cut else runtime for runtime, asked, cut in zip(runtimes, walltimes, over, strict=True)
    ]
    table.setdefault("killed", ["1" if cut else "0" for cut in over])
    return list(table), list(table.values())


def _longer(one: str, other: str) -> bool:
    try:
        return decimal(one) > decimal(other)
    except ValueError:  # the reader of tables says what is wrong
        return False


def _cells(column: pd.Series, name: str) -> list[str]:
    """Format a column as cells of a job table; missing values are empty."""
    import pandas as pd

    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if column.dtype.kind == "M":
        column = (column - pd.Timestamp(0)).dt.total_seconds()
    elif column.dtype.kind == "m":
        column = column.dt.total_seconds()
    return [
        "" if missing else _cell(value, name)
        for value, missing in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]


def _cell(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        # pandas stores whole numbers as floats if some are missing.
        return str(int(value)) if name in _WHOLE and value.is_integer() else repr(value)
    return str(value)
