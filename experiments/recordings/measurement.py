"""Settings of the measurement: the part of a simulation that is measured, and the delay up to which a start counts as
immediate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from workloads.ground.parameters import Parameter, Seconds

if TYPE_CHECKING:
    from simulator.results.measured_simulation import MeasuredWindow

__all__ = ["MEASURING", "Measurement"]

#: Group of the options in the help of a command.
MEASURING = "measuring"


@dataclass(frozen=True)
class Measurement:
    """Settings of the measurement.

    Attributes
    ----------
    instant_tolerance
        Delay up to which a start of an on-demand job counts as instant [s]; None: the warning of the run.
    warmup, cooldown
        Time left out after the first and before the last submit [s].
    """

    instant_tolerance: Annotated[
        Seconds | None,
        Parameter("longest delay that counts as an instant start", default="the warning, 120", group=MEASURING),
    ] = None
    warmup: Annotated[Seconds, Parameter("time left out after the first submit", group=MEASURING)] = 0.0
    cooldown: Annotated[Seconds, Parameter("time left out before the last submit", group=MEASURING)] = 0.0

    def under(self, warning: float) -> Measurement:
        """The measurement with an explicit tolerance: its own, or the warning [s]."""
        return self if self.instant_tolerance is not None else replace(self, instant_tolerance=warning)

    @property
    def window(self) -> MeasuredWindow:
        """The measured window of time."""
        from simulator.results.measured_simulation import MeasuredWindow

        return MeasuredWindow(self.warmup, self.cooldown)
