"""What a checkpoint of a given volume costs: a latency and a bandwidth, measured by least squares."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.chains.cells import read_cells
from workloads.ground.errors import ParameterError

__all__ = ["CheckpointDevice", "fit_device", "fit_line", "read_measurements"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CheckpointDevice:
    """Seconds to write and to read a checkpoint of V GB: latency + V / bandwidth ([P], section 4.1.1).

    Attributes
    ----------
    latency, per_gb
        Of a checkpoint [s], [s/GB].
    restart_latency, restart_per_gb
        Of a restart.

    Notes
    -----
    The defaults are least squares on the published measurements of CRIU on a KNL machine.

    Examples
    --------
    >>> device = CheckpointDevice()
    >>> round(float(device.checkpoint(51.0)), 2), round(float(device.restart(51.0)), 2)
    (250.4, 98.17)
    """

    latency: float = 4.12
    per_gb: float = 4.829
    restart_latency: float = 0.61
    restart_per_gb: float = 1.913

    def __post_init__(self) -> None:
        for name in ("latency", "per_gb", "restart_latency", "restart_per_gb"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ParameterError(name, "finite and >= 0", value)

    def checkpoint(self, gigabytes: npt.ArrayLike) -> Any:
        """Seconds to write that volume."""
        return self.latency + self.per_gb * np.asarray(gigabytes, dtype=float)

    def restart(self, gigabytes: npt.ArrayLike) -> Any:
        """Seconds to read that volume."""
        return self.restart_latency + self.restart_per_gb * np.asarray(gigabytes, dtype=float)


def fit_line(sizes: npt.ArrayLike, seconds: npt.ArrayLike) -> tuple[float, float]:
    """Latency and seconds per GB by least squares.

    Parameters
    ----------
    sizes
        Volumes [GB], at least two different ones, shape (n,).
    seconds
        Measured, shape (n,).

    Raises
    ------
    ParameterError
        If a line cannot be fitted.

    Examples
    --------
    >>> latency, per_gb = fit_line([1.0, 2.0, 3.0], [7.0, 9.0, 11.0])
    >>> round(latency, 9), round(per_gb, 9)
    (5.0, 2.0)
    """
    x, y = np.asarray(sizes, dtype=float), np.asarray(seconds, dtype=float)
    if x.ndim != 1 or x.shape != y.shape or not np.all(np.isfinite(np.concatenate((x, y)))):
        raise ParameterError("sizes, seconds", "two equally long lists of finite numbers", (sizes, seconds))
    if x.size < 2 or np.ptp(x) == 0:
        raise ParameterError("sizes", "at least two different volumes", sizes)
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    return float(y.mean() - slope * x.mean()), slope


def fit_device(sizes: npt.ArrayLike, seconds: npt.ArrayLike, restarts: npt.ArrayLike | None = None) -> CheckpointDevice:
    """A device fitted to measurements.

    Parameters
    ----------
    sizes
        Volumes of the checkpoints [GB], shape (n,).
    seconds
        To write each.
    restarts
        To read each; without them the default device's restart is kept.

    Raises
    ------
    ParameterError
        If a line cannot be fitted, or has a negative latency or bandwidth.
    """
    line = fit_line(sizes, seconds)
    return CheckpointDevice(*line) if restarts is None else CheckpointDevice(*line, *fit_line(sizes, restarts))


def read_measurements(path: str | Path) -> tuple[Floats, Floats, Floats]:
    """Measurements from a CSV file with columns size_gb, checkpoint_s, restart_s.

    Returns
    -------
    tuple of ndarray
        Sizes [GB], seconds of the checkpoints, seconds of the restarts, each of shape (n,).

    Raises
    ------
    TraceError
        With file and line, if it cannot be read.
    """
    rows = read_cells(path, ("size_gb", "checkpoint_s", "restart_s"))
    table = np.array([[row.amount(name) for name in ("size_gb", "checkpoint_s", "restart_s")] for row in rows])
    return table[:, 0], table[:, 1], table[:, 2]
