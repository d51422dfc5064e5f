"""Past runs of a chain: the duration [s] and memory [GB] of every task, from a file or from Python objects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from holdfast.workloads.chains.csv_cells import Cells, read_cells
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["Makespans", "TaskRuns", "read_slant_makespans", "read_slant_tasks"]

Floats = npt.NDArray[np.float64]

#: GB in a KiB: ``vmstat`` prints KiB, requests are in GB.
_GB_PER_KIB = 1024 / 1e9


@dataclass(frozen=True, eq=False)
class TaskRuns:
    """Durations and memory of every task of some runs.

    Attributes
    ----------
    durations
        Duration of each task, >= 0, shape (runs, tasks) [s].
    peaks
        Peak memory of each task, shape (runs, tasks) [GB].
    averages
        Average memory of each task, shape (runs, tasks) [GB]; None if it was not measured.
    names
        Names of the runs, shape (runs,); numbers from 0 by default.

    Raises
    ------
    ParameterError
        If the shapes differ, or a value is negative or not finite.
    """

    durations: Floats
    peaks: Floats
    averages: Floats | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("durations", "peaks", "averages"):
            if getattr(self, name) is None:
                continue
            table = np.asarray(getattr(self, name), dtype=float)
            if table.ndim != 2 or table.size == 0 or table.shape != np.shape(self.durations):
                raise ParameterError(name, "a table of shape (runs, tasks), the same for all", np.shape(table))
            if not np.all(np.isfinite(table)) or np.any(table < 0):
                raise ParameterError(name, "finite and >= 0", float(np.min(table)))
            object.__setattr__(self, name, table)
        if not self.names:
            object.__setattr__(self, "names", tuple(str(run) for run in range(len(self.durations))))
        if len(self.names) != len(self.durations):
            raise ParameterError("names", f"one for each of the {len(self.durations)} runs", len(self.names))

    def __len__(self) -> int:
        return len(self.durations)

    @property
    def tasks(self) -> int:
        """Number of tasks of a run."""
        return int(self.durations.shape[1])

    @property
    def ends(self) -> Floats:
        """End time of each task, shape (runs, tasks) [s since the start of the run]."""
        ends: Floats = np.cumsum(self.durations, axis=1)
        return ends

    @property
    def walltimes(self) -> Floats:
        """Durations of the whole runs, shape (runs,) [s]."""
        walltimes: Floats = self.ends[:, -1]
        return walltimes

    def finish_shares(self, times: npt.ArrayLike) -> Floats:
        """Share of the runs that have finished task i at each time: y_i(t) of [P], figure 9, from the raw data.

        Parameters
        ----------
        times
            Shape (m,) [s].

        Returns
        -------
        ndarray
            Shape (tasks, m).
        """
        at = np.asarray(times, dtype=float)
        # [P] prints P(Y < t): a task that ends at t is still running at t.
        return np.array([np.searchsorted(np.sort(ends), at, side="left") / len(self) for ends in self.ends.T])

    def correlation(self) -> Floats:
        """Pearson correlation of the durations of the tasks ([P], table 1), shape (tasks, tasks).

        NaN where all durations of a task are equal.
        """
        if len(self) < 2:
            raise ParameterError("runs", "at least two for a correlation", len(self))
        centred = self.durations - self.durations.mean(axis=0)
        spread = np.sqrt((centred**2).sum(axis=0))
        with np.errstate(invalid="ignore", divide="ignore"):
            matrix: Floats = (centred.T @ centred) / np.outer(spread, spread)
        return matrix

    def mean_memory(self, *, peaks: bool = True) -> float:
        """Memory of these runs averaged over time, from the tasks' peaks or from their average memory [GB].

        Raises
        ------
        ParameterError
            If ``peaks`` is false and average memory was not measured.
        """
        level = self.peaks if peaks else self.averages
        if level is None:
            raise ParameterError("peaks", "true where no average memory was measured", peaks)
        return float((level * self.durations).sum() / self.durations.sum())

    def take(self, places: npt.ArrayLike) -> TaskRuns:
        """Select runs by index; an index may be repeated."""
        chosen = np.asarray(places, dtype=int)
        averages = None if self.averages is None else self.averages[chosen]
        return TaskRuns(
            self.durations[chosen], self.peaks[chosen], averages, tuple(self.names[place] for place in chosen)
        )

    def draw(self, count: int, rng: np.random.Generator) -> TaskRuns:
        """Draw ``count`` runs with replacement, as in [P], section 4.2."""
        if count < 1:
            raise ParameterError("count", "at least 1", count)
        return self.take(rng.integers(0, len(self), count))


@dataclass(frozen=True, eq=False)
class Makespans:
    """Walltimes of whole runs.

    Attributes
    ----------
    names, datasets
        Name of each run, and the source of its input, shape (runs,).
    walltimes
        Walltime of each run, shape (runs,) [s].
    sizes
        Size of the input of each run, shape (runs,) [MB]; NaN where unknown.
    inputs
        Name of the input of each run, equal for runs with the same input, shape (runs,); the run's name where unknown.
    """

    names: tuple[str, ...]
    datasets: tuple[str, ...]
    walltimes: Floats
    sizes: Floats
    inputs: tuple[str, ...]

    def of(self, dataset: str) -> Floats:
        """Walltimes of the runs of one dataset [s]."""
        chosen: Floats = self.walltimes[np.array(self.datasets) == dataset]
        return chosen


def read_slant_tasks(path: str | Path) -> TaskRuns:
    """Runs from a CSV file with a line for each run and task.

    Parameters
    ----------
    path
        CSV file with columns run, task (1, 2, ...), duration_s, peak_mem_kib and optionally mean_mem_kib; lines in any
        order.

    Raises
    ------
    TraceError
        If a column is missing, a cell is not a number, or a task is repeated or missing; names file and line.

    Notes
    -----
    The published parser splits some SLANT runs wrongly (a last task of 36 s after one of 2,220 s). Such runs are kept,
    as in [P] (section 2.3: "this decomposition can be incorrect").
    """
    lines: dict[str, dict[int, Cells]] = {}
    rows = read_cells(path, ("run", "task", "duration_s", "peak_mem_kib"))
    for row in rows:
        run, task = row.text("run"), row.count("task")
        if not run:
            raise row.error("has no run")
        if task < 1:
            raise row.error(f"task must be 1 or more, not {task}")
        if task in lines.setdefault(run, {}):
            raise row.error(f"task {task} of run {run} is already in line {lines[run][task].line}")
        lines[run][task] = row
    tasks = range(1, max(max(found) for found in lines.values()) + 1)
    for run, found in lines.items():
        missing = next((task for task in tasks if task not in found), None)
        if missing is not None:
            last = max(found.values(), key=lambda row: row.line)
            raise last.error(f"run {run} ends here without task {missing}; every run must have tasks 1 to {tasks[-1]}")

    def table(column: str, factor: float) -> Floats:
        return np.array([[found[task].amount(column) * factor for task in tasks] for found in lines.values()])

    averages = table("mean_mem_kib", _GB_PER_KIB) if rows[0].columns.find("mean_mem_kib") is not None else None
    return TaskRuns(table("duration_s", 1.0), table("peak_mem_kib", _GB_PER_KIB), averages, tuple(lines))


def read_slant_makespans(path: str | Path) -> Makespans:
    """Walltimes from a CSV file with a line for each run.

    Parameters
    ----------
    path
        CSV file with columns run, dataset and makespan_s; optionally size_mb (size of the input) and input (name of the
        input, equal for repeated runs).

    Raises
    ------
    TraceError
        If a column is missing, a cell is not a number, or a run is repeated; names file and line.
    """
    seen: dict[str, Cells] = {}
    for row in read_cells(path, ("run", "dataset", "makespan_s")):
        run = row.text("run")
        if run in seen:
            raise row.error(f"run {run} is already in line {seen[run].line}")
        if not row.text("dataset"):
            raise row.error("has no dataset")
        seen[run] = row
    rows = list(seen.values())
    return Makespans(
        tuple(seen),
        tuple(row.text("dataset") for row in rows),
        np.array([row.amount("makespan_s") for row in rows]),
        np.array([row.amount("size_mb") if row.text("size_mb") else np.nan for row in rows]),
        tuple(row.text("input") or row.text("run") for row in rows),
    )
