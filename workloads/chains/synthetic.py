"""Synthetic runs drawn from published tables, for applications with measurements that are not public."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from holdfast.workloads.chains.runs import Makespans, TaskRuns
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

__all__ = ["MACRUISE_TABLE", "SLANT_PEAKS", "SLANT_TABLE", "macruise_like", "makespans_like", "slant_like"]

Floats = npt.NDArray[np.float64]

#: Table 2 of [P]: mean and standard deviation of the seven tasks of SLANT [s].
SLANT_TABLE = (
    (255.0, 96.7),
    (871.0, 322.0),
    (588.0, 76.8),
    (459.0, 48.1),
    (3050.0, 263.0),
    (804.0, 393.0),
    (1130.0, 568.0),
)
#: Section 2.3 of [P]: peak memory of the seven tasks [GB]; for the fifth ("up to 50"), section 4.2.2 uses 51.
SLANT_PEAKS = (3.5, 10.0, 6.0, 10.0, 51.0, 3.5, 10.0)
#: Table 3 of [P]: mean time and its standard deviation of the three tasks of MaCRUISE [min], peak memory [GB].
MACRUISE_TABLE = ((50.0, 12.0, 7.5), (66.0, 12.5, 5.5), (181.0, 43.0, 2.75))
#: Table 1 of [P]: correlation of the durations of the first two tasks.
_FIRST_TWO = 0.998
#: Peaks differ little from run to run (section 2.3: "the peak memory usage is not dependent on the input").
_PEAK_SPREAD = 0.005
#: Section 2.2 of [P]: number of runs, centre of the walltimes [min] and their relative half-range, by dataset.
_DATASETS = {"OASIS": (224, 70.0, 0.15), "DRD": (88, 125.0, 0.30)}


def slant_like(runs: int, rng: np.random.Generator) -> TaskRuns:
    """Draw runs like those of SLANT: normal durations by table 2 of [P], the first two correlated as in table 1.

    Parameters
    ----------
    runs
        Number of runs, >= 1.
    rng
        Stream of random numbers.

    Notes
    -----
    Durations below 30 s are drawn again; this concerns the last task. The runs lack properties that the tables do not
    give: tasks with two peaks, and weaker correlations. Average memory is not drawn.

    Examples
    --------
    >>> drawn = slant_like(5, np.random.default_rng(1))
    >>> drawn.durations.shape, bool(drawn.durations.min() >= 30)
    ((5, 7), True)
    """
    _check(runs)
    table = np.array(SLANT_TABLE)
    correlation = np.eye(len(table))
    correlation[0, 1] = correlation[1, 0] = _FIRST_TWO
    durations = _normal_rows(runs, table[:, 0], table[:, 1], correlation, 30.0, rng)
    return TaskRuns(durations, _peaks(runs, np.array(SLANT_PEAKS), rng))


def macruise_like(runs: int, rng: np.random.Generator, reading: str = "ends") -> TaskRuns:
    """Draw runs like those of MaCRUISE: normal times by table 3 of [P].

    Parameters
    ----------
    runs
        Number of runs, >= 1.
    rng
        Stream of random numbers.
    reading
        Meaning of the "mean time" of task i: ``"ends"``, its end time; or ``"durations"``, its duration.

    Notes
    -----
    The text gives walltimes between 2 and 5 hours. The table agrees if its times are ends (181 +- 43 min), and not if
    they are durations (297 +- 46 min). Tasks are drawn independently; each has the variance that it adds.

    Examples
    --------
    >>> drawn = macruise_like(2000, np.random.default_rng(1))
    >>> bool(abs(drawn.walltimes.mean() / 60 - 181) < 4)
    True
    """
    _check(runs)
    if reading not in ("ends", "durations"):
        raise UnknownNameError("reading", reading, ("ends", "durations"))
    means, stds, peaks = np.array(MACRUISE_TABLE).T
    if reading == "ends":
        means, stds = np.diff(means, prepend=0.0), np.sqrt(np.diff(stds**2, prepend=0.0))
    durations = _normal_rows(runs, 60 * means, 60 * stds, np.eye(3), 30.0, rng)
    return TaskRuns(durations, _peaks(runs, peaks, rng))


def makespans_like(rng: np.random.Generator, repetitions: int = 1) -> Makespans:
    """Draw walltimes like those of figures 2, 3 and 4 of [P]: two datasets; sizes do not influence walltimes.

    Parameters
    ----------
    rng
        Stream of random numbers.
    repetitions
        Number of runs of each input; their walltimes differ by 1 %.

    Notes
    -----
    "70 min +- 15 %" is read as a range; walltimes are normal with a third of the half-range as standard deviation.
    Sizes are uniform over the ranges of figure 4.
    """
    _check(repetitions)
    names: list[str] = []
    datasets: list[str] = []
    walltimes: list[float] = []
    sizes: list[float] = []
    inputs: list[str] = []
    for dataset, (count, middle, spread) in _DATASETS.items():
        low, high = (5.0, 30.0) if dataset == "OASIS" else (45.0, 75.0)
        # Clipped at three standard deviations, so that walltimes stay in the published range.
        shifts = np.clip(rng.normal(0.0, spread / 3, count), -spread, spread)
        for place, size in enumerate(rng.uniform(low, high, count)):
            noise = rng.normal(1.0, 0.01, repetitions) if repetitions > 1 else np.ones(1)
            for repetition, factor in enumerate(noise):
                names.append(f"{dataset}-{place}-{repetition}")
                datasets.append(dataset)
                inputs.append(f"{dataset}-{place}")
                sizes.append(float(size))
                walltimes.append(float(60 * middle * (1 + shifts[place]) * factor))
    return Makespans(tuple(names), tuple(datasets), np.array(walltimes), np.array(sizes), tuple(inputs))


def _check(runs: int) -> None:
    if runs < 1:
        raise ParameterError("runs", "at least 1", runs)


def _normal_rows(
    runs: int, means: Floats, stds: Floats, correlation: Floats, least: float, rng: np.random.Generator
) -> Floats:
    """Draw correlated normal rows; rows with a value below ``least`` are drawn again."""
    factor = np.linalg.cholesky(correlation) * stds[:, None]
    rows = np.empty((0, means.size))
    while len(rows) < runs:
        drawn = means + rng.normal(size=(runs, means.size)) @ factor.T
        rows = np.concatenate((rows, drawn[(drawn >= least).all(axis=1)]))
    return rows[:runs]


def _peaks(runs: int, peaks: Floats, rng: np.random.Generator) -> Floats:
    noise: Floats = peaks * (1 + _PEAK_SPREAD * rng.standard_normal((runs, peaks.size)).clip(-3, 3))
    return noise
