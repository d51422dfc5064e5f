"""Stepping: simulations that stop at each decision of their driver.

Other folders use this package's own names.
"""

from simulator.stepping.base import Stepped
from simulator.stepping.jobs import SteppedSimulation

__all__ = ["Stepped", "SteppedSimulation"]
