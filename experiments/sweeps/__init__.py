"""Sweeps: grids of simulations that run in parallel, store each run, and produce tidy tables.

>>> from holdfast.experiments.sweeps import make_sweep, run_sweep

``configuration`` defines a sweep; ``toml_structure`` and ``option_values`` read it from TOML or keywords. ``grid``
lists the runs, ``job_tables`` makes their jobs, ``simulations`` executes them (``delays`` counts late on-demand jobs),
``store`` keeps completed runs, and ``execution`` distributes the others over processes or a Dask cluster
(``clusters``). ``table`` collects the results, ``aggregates`` summarises them over seeds, and ``sweep`` combines all of
these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.workloads.ground.lazy_names import late_names

if TYPE_CHECKING:
    from holdfast.experiments.sweeps.configuration import Sweep
    from holdfast.experiments.sweeps.delays import DELAYS
    from holdfast.experiments.sweeps.sweep import SweepResult, run_sweep
    from holdfast.experiments.sweeps.toml_structure import make_sweep, read_sweep

__all__ = ["DELAYS", "Sweep", "SweepResult", "make_sweep", "read_sweep", "run_sweep"]

#: The module of each name, imported when the name is first used: workers of other studies need ``execution`` alone.
_MODULES = {
    "DELAYS": "holdfast.experiments.sweeps.delays",
    "Sweep": "holdfast.experiments.sweeps.configuration",
    "SweepResult": "holdfast.experiments.sweeps.sweep",
    "make_sweep": "holdfast.experiments.sweeps.toml_structure",
    "read_sweep": "holdfast.experiments.sweeps.toml_structure",
    "run_sweep": "holdfast.experiments.sweeps.sweep",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _MODULES)
