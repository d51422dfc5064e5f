"""What happens: the SimPy model of a machine that carries the decisions of the policies out.

>>> from simulator import simulate
"""

from simulator.options import Options
from simulator.results.result import Result
from simulator.simulation import simulate

__all__ = ["Options", "Result", "simulate"]
