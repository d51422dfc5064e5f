"""Start times of one job for several walltimes, computed in a single simulation.

The walltime of a waiting job affects other jobs only through the queue order and the backfilling rule; a trial requires
that neither of them looks at it. The trial begins with the shortest walltime. When the rule would start the job, the
trial records the start, gives the job the next walltime, and calls the rule again: up to this point, the simulations
with the two walltimes are identical.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.policies.port import Start
from holdfast.simulator.machine.job_state import JobState

__all__ = ["Trial"]


class Trial:
    """A job and the walltimes for which its start is computed.

    Parameters
    ----------
    job_id
        The job.
    walltimes
        Walltimes [ticks], ascending; the job's own must be the first.

    Attributes
    ----------
    found
        Start with each walltime so far [ticks of the simulated clock], and whether it was backfilled.
    """

    def __init__(self, job_id: int, walltimes: Sequence[int]) -> None:
        self.job_id = job_id
        self._walltimes = walltimes
        self.found: list[tuple[int, bool]] = []

    def choose_starts(
        self, now: int, job: JobState, starts: Sequence[Start], again: Callable[[], Sequence[Start]]
    ) -> Sequence[Start]:
        """Select the starts of a pass that are to be carried out.

        Parameters
        ----------
        now
            The instant [ticks].
        job
            State of the job.
        starts
            Starts that the rule returned.
        again
            Calls the rule again.
        """
        while True:
            mine = next((start for start in starts if start.job_id == self.job_id), None)
            if mine is None:
                return starts
            self.found.append((now, mine.cause == "backfilled"))
            if len(self.found) == len(self._walltimes):
                return starts
            job.walltime = self._walltimes[len(self.found)]
            starts = again()
