"""Records of the stochastic jobs of a finished simulation."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.results.records import StochasticRecord
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["stochastic_records"]


def stochastic_records(states: Iterable[JobState]) -> list[StochasticRecord]:
    """Records of the stochastic jobs; one that a limit never lets end, or that is cancelled while held, has none.

    Raises
    ------
    InvariantError
        If another job was never planned.
    """
    found = []
    for state in states:
        if not isinstance(state, StochasticJob) or state.end is None or (state.withdrawn and state.planned is None):
            continue
        job, planned = state.job, state.planned
        if planned is None:
            raise InvariantError(f"job {job.job_id} was never planned")
        found.append(
            StochasticRecord(
                job.job_id, job.application, job.plan, state.truth.runtime, planned, tuple(state.reservations)
            )
        )
    return found
