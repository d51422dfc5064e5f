"""Environment in which an agent decides how to serve each on-demand arrival."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.experiments.learning.environment import Environment, Jobs, Mask, Observation
from holdfast.policies.learned_arrival import CONSEQUENCES, consequences, missing_nodes, possible
from holdfast.simulator import Result, simulate
from holdfast.simulator.stepping.arrivals import SteppedArrivals
from holdfast.workloads.table.job import Job, JobType

__all__ = ["ArrivalChoice"]

#: No time of a simulation is longer than 2^63 microseconds, and no machine larger than 10^9 nodes.
_LARGEST = 2.5


class ArrivalChoice(Environment[SteppedArrivals]):
    """Environment that chooses the action at the arrival of an on-demand job.

    A choice is due wherever an on-demand job arrives that lacks nodes, beyond free nodes and its own reservation, where
    at least one answer finds enough of them. An agent that always gives the answer of a mechanism gets the schedule of
    this mechanism, to the byte.

    Parameters
    ----------
    jobs
        A job table, as :func:`holdfast.prepare` makes it, of which slices are played; or a function that makes the jobs
        of an episode from its number, such as a generated year from a seed.
    nodes
        Size of the machine.
    notice
        Notice strategy: ``N``, ``CUA``, ``CUP`` or ``WEIGH``.
    answers
        Names of arrival strategies. ``WAIT`` lets the job wait at the front of the queue, as the others do where they
        cannot find enough nodes.
    length
        Jobs of an episode: a slice of consecutive jobs, which begins on an empty machine. Jobs that a function makes
        are one episode, however many there are.
    metric
        Column of the summary that is the reward: less it where less is better.
    against
        An arrival strategy: the reward is what the schedule is better than with this answer to all arrivals; empty: the
        metric itself.
    events
        Whether the ``result`` of an episode has an event log.
    **options
        Further options of the simulation, such as ``order="sjf"``.

    Attributes
    ----------
    action_space
        ``Discrete(len(answers))``. An answer that does not find enough nodes lets the job wait;
        :meth:`action_masks` marks those that find enough.
    observation_space
        ``Box(0, 2.5, (len(answers), 12))``: a row for each answer. Columns: of the answer ``enough`` [1: it finds
        enough nodes], ``preempted`` and ``shrunk`` [nodes, share of the machine], ``jobs`` [log10(1 + jobs that are
        preempted or shrunk) / 6], ``lost`` [log10(1 + node-seconds) / 12]; of the arriving job ``lacking``, ``nodes``
        [share of the machine], ``walltime`` [log10(1 + s) / 6]; of the machine ``free``, ``reserved``, and ``spare``,
        which malleable jobs could give up [share of the machine], and ``queue`` [log10(1 + waiting jobs) / 6].
    episodes
        The jobs of each episode, by number; ``episodes.count`` is how many there are.

    Notes
    -----
    The reward is 0 but in the last step. ``info`` of that step holds the ``result``. The columns of the answer are what
    a policy can foresee: nodes that jobs under warning owe to the reservation are not among those that it has.

    A network that :func:`holdfast.gym.train` has trained here is an arrival strategy: ``CUA-learned model=FILE.npz``.
    """

    scored = CONSEQUENCES
    needed = "an on-demand job that lacks nodes when it arrives"

    def __init__(
        self,
        jobs: Jobs,
        nodes: int,
        *,
        notice: str = "CUA",
        answers: Sequence[str] = ("PAA", "SPAA", "WAIT"),
        length: int = 256,
        metric: str = "turnaround_h",
        against: str = "",
        events: bool = False,
        **options: object,
    ) -> None:
        super().__init__(
            jobs,
            nodes,
            length=length,
            types=(JobType.RIGID, JobType.ON_DEMAND, JobType.MALLEABLE),
            metric=metric,
            against=against,
            answers=len(answers),
            features=CONSEQUENCES,
            largest=_LARGEST,
        )
        self.answers = tuple(answers)
        self._notice = notice
        self._events = events
        self._options = options
        self._check_settings()

    def action_masks(self) -> Mask:
        """Mask of the answers that find enough nodes, shape (answers,); ``WAIT`` is always possible."""
        simulation = self._active_simulation()
        return possible(simulation.view, simulation.request, simulation.strategies, simulation.lacking)

    def _start(self, jobs: Sequence[Job]) -> SteppedArrivals:
        return SteppedArrivals(
            jobs,
            self.nodes,
            notice=self._notice,
            answers=self.answers,
            events=self._events,
            checked=True,
            **self._options,
        )

    def _answer(self, simulation: SteppedArrivals, action: int) -> None:
        simulation.answer(action)

    def _observe(self) -> Observation:
        simulation = self._active_simulation()
        view, request = simulation.view, simulation.request
        # The same view as a learned strategy has.
        return consequences(view, request, simulation.strategies, missing_nodes(view, request))

    def _simulate_baseline(self, jobs: Sequence[Job], name: str) -> Result:
        return simulate(jobs, self.nodes, f"{self._notice}-{name}", events=False, **self._options)  # type: ignore[arg-type]
