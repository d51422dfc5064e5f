"""Discrete-event simulation, on SimPy, of a machine that carries out the decisions of the policies.

>>> from holdfast.simulator import simulate

A name is imported when it is first used: the help of a command needs the options alone, and neither SimPy nor numpy.
"""

from typing import TYPE_CHECKING

from holdfast.workloads.ground.lazy_names import late_names

if TYPE_CHECKING:
    from holdfast.simulator.options import Options
    from holdfast.simulator.results.result import Result
    from holdfast.simulator.simulation import simulate

__all__ = ["Options", "Result", "simulate"]

_MODULES = {
    "Options": "holdfast.simulator.options",
    "Result": "holdfast.simulator.results.result",
    "simulate": "holdfast.simulator.simulation",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _MODULES)
