"""Forecasts of a waiting job by several methods: the simulation, and simpler ones from past waits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.seen_job import SeenJob

__all__ = ["EXPERTS", "LEVELS", "SIMULATION", "ask_experts", "waited_time"]

Floats = npt.NDArray[np.float64]

#: Levels of the reported quantiles.
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: The simulation, the nearest jobs and QBETS-like bounds (:mod:`holdfast.experiments.forecast.baselines`).
SIMULATION = "simulation"
EXPERTS = (SIMULATION, "nearest", "bounds")


def ask_experts(
    waits: PastWaits, state: MachineState, job: SeenJob, simulated: Sequence[float]
) -> dict[str, tuple[float, ...]]:
    """Quantiles of the time to the start of a waiting job [s], by expert.

    Parameters
    ----------
    waits
        Past waits.
    state
        The state.
    job
        One of its waiting jobs.
    simulated
        Quantiles of the simulation at :data:`LEVELS` [s], which are passed on.
    """
    ahead = sum(other.submit <= job.submit for other in state.waiting) - 1
    waited, levels = waited_time(state, job), np.array(LEVELS)
    forecasts = {
        SIMULATION: simulated,
        "nearest": waits.nearest(job, state.at, ahead, levels, waited),
        "bounds": waits.bounds(job, state.at, levels, waited),
    }
    return {name: tuple(map(float, quantiles)) for name, quantiles in forecasts.items()}


def waited_time(state: MachineState, job: SeenJob) -> float:
    """How long a job has waited [s]."""
    return max(0.0, state.at - (job.submit if job.eligible is None else max(job.submit, job.eligible)))
