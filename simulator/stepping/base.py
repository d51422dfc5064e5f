"""Base class of simulations that stop at each decision of their caller."""

from __future__ import annotations

from time import perf_counter

from holdfast.policies.port import SystemView
from holdfast.simulator.clock.decision_request import Asking
from holdfast.simulator.clock.engine import Engine
from holdfast.simulator.clock.interactive import AskingSubmissions
from holdfast.simulator.clock.setup import Setup
from holdfast.simulator.engine_results import make_result
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["Stepped"]


class Stepped:
    """A simulation that requests decisions from its caller.

    Parameters
    ----------
    setup
        Inputs and components of the simulation.
    asking
        Kinds of decisions that it requests.

    Attributes
    ----------
    asks
        Whether a decision is pending; otherwise the simulation is over.
    """

    asks: bool

    def __init__(self, setup: Setup, asking: Asking) -> None:
        self._began = perf_counter()
        self._setup = setup
        self._asking = asking
        self._engine = Engine(setup)
        self._result: Result | None = None

    def _launch(self) -> None:
        """Run to the first decision."""
        self._engine.launch()
        self.asks = self._engine.advance()

    def _submit(self) -> None:
        """Submit the job of the pending decision and run to the next one."""
        submissions = self._engine.submissions
        assert isinstance(submissions, AskingSubmissions)  # the engine was set up for such decisions
        submissions.answer()
        self.asks = self._engine.advance()

    @property
    def view(self) -> SystemView:
        """The machine as a policy sees it."""
        return self._engine.system

    @property
    def origin(self) -> int:
        """Ticks of the table's clock at which the simulated clock stands at 0."""
        return self._setup.origin

    def result(self) -> Result:
        """The result, available once the simulation is over.

        Raises
        ------
        InvariantError
            If a decision is pending.
        """
        if self.asks:
            raise InvariantError("the simulation is not over: a decision is pending")
        if self._result is None:
            self._result = make_result(self._setup, self._engine, perf_counter() - self._began)
        return self._result
