"""Settings of the measurement: the part of a simulation that is measured, and the delay up to which a start counts as
immediate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from holdfast.workloads.ground.dates import TIME_OR_DATE
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.parameters import Parameter, Seconds

if TYPE_CHECKING:
    from holdfast.simulator.results.measured_simulation import MeasuredWindow
    from holdfast.workloads.logs.clock import LogClock

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
        Time left out after the first and before the last submit [s], or a date until :meth:`on` a clock.
    """

    instant_tolerance: Annotated[
        Seconds | None,
        Parameter("longest delay that counts as an instant start", default="the warning, 120", group=MEASURING),
    ] = None
    warmup: Annotated[
        float | str,
        TIME_OR_DATE,
        Parameter("time left out after the first submit, or the date when measuring begins", group=MEASURING),
    ] = 0.0
    cooldown: Annotated[
        float | str,
        TIME_OR_DATE,
        Parameter("time left out before the last submit, or the date when measuring ends", group=MEASURING),
    ] = 0.0

    def under(self, warning: float) -> Measurement:
        """The measurement with an explicit tolerance: its own, or the warning [s]."""
        return self if self.instant_tolerance is not None else replace(self, instant_tolerance=warning)

    def on(self, clock: LogClock, first: float, last: float) -> Measurement:
        """The measurement with durations in place of dates.

        Parameters
        ----------
        clock
            Clock of the jobs.
        first, last
            First submit, or the start of a replay with a starting state, and last submit on that clock [s].

        Raises
        ------
        InputError
            If a date cannot be read, or lies outside the submits.
        """
        found = {}
        for name, value in (("warmup", self.warmup), ("cooldown", self.cooldown)):
            if not isinstance(value, str):
                continue
            date = clock.date(value, f"--{name}", "a duration, or a date such as 2022-03-01T12:00")
            if not first <= date <= last:
                begin, end = (clock.show(time, seconds=True) for time in (first, last))
                submits = f"{begin.removesuffix(f' {clock.zone}')} to {end}"
                raise ParameterError(f"--{name}", f"within the submits, {submits}", value)
            found[name] = date - first if name == "warmup" else last - date
        return replace(self, **found)

    @property
    def window(self) -> MeasuredWindow:
        """The measured window of time."""
        from holdfast.simulator.results.measured_simulation import MeasuredWindow

        return MeasuredWindow(float(self.warmup), float(self.cooldown))
