"""Base class of simulations that stop at each decision of their caller."""

from __future__ import annotations

from time import perf_counter

from policies.port import SystemView
from simulator.clock.decision_request import Asking
from simulator.clock.engine import Engine
from simulator.clock.interactive import AskingSubmissions
from simulator.clock.setup import Setup
from simulator.results.result import Result
from simulator.simulation import make_result
from workloads.ground.errors import InvariantError

__all__ = ["Stepped"]


class Stepped:
    """A simulation that asks its driver for decisions.

    Parameters
    ----------
    setup
        What it is made of.
    asking
        What the driver is asked.

    Attributes
    ----------
    asks
        Whether a decision is due; else the simulation has come to its end.
    """

    asks: bool

    def __init__(self, setup: Setup, asking: Asking) -> None:
        self._began = perf_counter()
        self._setup = setup
        self._asking = asking
        self._engine = Engine(setup)
        self._result: Result | None = None

    def _launch(self) -> None:
        """Go on to the first decision."""
        self._engine.launch()
        self.asks = self._engine.advance()

    def _submit(self) -> None:
        """Submit the job that the driver was asked about, and go on to the next decision."""
        submissions = self._engine.submissions
        assert isinstance(submissions, AskingSubmissions)  # the engine was set up to ask
        submissions.answer()
        self.asks = self._engine.advance()

    @property
    def view(self) -> SystemView:
        """The machine as a policy sees it."""
        return self._engine.system

    @property
    def origin(self) -> int:
        """Ticks of the table's clock where that of the simulation begins."""
        return self._setup.origin

    def result(self) -> Result:
        """The result, once nothing is to be decided any more.

        Raises
        ------
        InvariantError
            If a decision is due.
        """
        if self.asks:
            raise InvariantError("the simulation is not over: a decision is due")
        if self._result is None:
            self._result = make_result(self._setup, self._engine, perf_counter() - self._began)
        return self._result
