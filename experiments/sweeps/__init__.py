"""Sweeps: a grid of simulations, carried out in parallel, stored run by run, shown as tidy tables.

>>> from experiments.sweeps import make_sweep, run_sweep

One idea to a module: ``configuration`` is what is asked, ``structure`` and ``values`` read it from TOML or keywords,
``grid`` makes the list of runs, ``simulations`` carries one out (``delays`` counts late on-demand jobs), ``store``
keeps what is done, ``execution`` spreads the rest over processes or a Dask cluster (``clusters``), ``table`` shows all
of it, ``aggregates`` sums it up over seeds, and ``sweep`` is the whole.

Other folders use this package's own names, and ``aggregates``, ``clusters``, ``execution``, ``fingerprint``, ``grid``,
``progress``, ``simulations`` and ``store``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.sweeps.configuration import Sweep
    from experiments.sweeps.delays import DELAYS
    from experiments.sweeps.structure import make_sweep, read_sweep
    from experiments.sweeps.sweep import SweepResult, run_sweep

__all__ = ["DELAYS", "Sweep", "SweepResult", "make_sweep", "read_sweep", "run_sweep"]

#: The module of each name, imported when the name is first used: workers of other studies need ``execution`` alone.
_MODULES = {
    "DELAYS": "delays",
    "Sweep": "configuration",
    "SweepResult": "sweep",
    "make_sweep": "structure",
    "read_sweep": "structure",
    "run_sweep": "sweep",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
