"""Checkpoint devices: the time to write a checkpoint, from its volume, the latency and the bandwidth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.workloads.ground.errors import ParameterError

__all__ = ["CheckpointDevice"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CheckpointDevice:
    """Times to write and to read a checkpoint of V GB: latency + V / bandwidth ([P], section 4.1.1).

    Attributes
    ----------
    latency, per_gb
        Latency of a checkpoint [s], and time per volume [s/GB].
    restart_latency, restart_per_gb
        The same for a restart.

    Notes
    -----
    The defaults are a least-squares fit to the published measurements of CRIU on a KNL machine.

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
        """Time to write a checkpoint of a volume [s]."""
        return self.latency + self.per_gb * np.asarray(gigabytes, dtype=float)

    def restart(self, gigabytes: npt.ArrayLike) -> Any:
        """Time to read a checkpoint of a volume [s]."""
        return self.restart_latency + self.restart_per_gb * np.asarray(gigabytes, dtype=float)
