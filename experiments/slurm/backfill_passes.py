"""Passes of Slurm's backfill thread in a replay: their table, and the next one in a simulation."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from holdfast.experiments.slurm.table_numbers import read_number
from holdfast.experiments.tables import read_csv, write_csv

__all__ = ["PASSES", "next_pass", "read_passes", "write_passes"]

#: Table of the passes, beside that of the jobs.
PASSES = "passes.csv"
_COLUMN = "pass"


def write_passes(directory: Path, times: Sequence[float]) -> None:
    """Write the times of the passes [s on the replay's clock]."""
    write_csv(directory / PASSES, [{_COLUMN: round(time, 3)} for time in sorted(times)], (_COLUMN,))


def read_passes(directory: Path) -> tuple[float, ...]:
    """Times of the passes [s on the replay's clock], in their order; empty if the directory has no table of them.

    Raises
    ------
    TraceError
        If a row is not a number.
    """
    path = directory / PASSES
    if not path.is_file():
        return ()
    times = []
    for line, row in enumerate(read_csv(path), 2):
        times.append(read_number(path, line, row, _COLUMN))
    return tuple(sorted(times))


def next_pass(passes: Sequence[float], now: float, expected: float, interval: float) -> float:
    """The next pass of a simulation [s]: the recorded one that is nearest to the expected time, if one is near.

    A pass takes its time, so that a clock that only counts intervals loses the phase of the thread, and with it which
    of two events within an interval comes first.

    Parameters
    ----------
    passes
        Recorded passes in their order [s].
    now
        Time of the simulation [s]; the pass is later.
    expected
        Expected time of the pass, without a record [s].
    interval
        Time between two passes [s]; a recorded pass within half of it is near.

    Examples
    --------
    >>> [next_pass((100.0, 131.0, 162.0), 101.0, expected, 30.0) for expected in (131.5, 140.0, 148.0, 200.0)]
    [131.0, 131.0, 162.0, 200.0]
    """
    first = bisect_left(passes, max(now, expected - interval / 2))
    near = [time for time in passes[first : first + 3] if now < time <= expected + interval / 2]
    return min(near, key=lambda time: abs(time - expected)) if near else expected
