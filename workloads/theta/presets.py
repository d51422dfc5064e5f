"""Presets of the generator, each calibrated for one reading of the paper.

Source: Fan et al., IPDPS 2022, Table II (the baseline) and Fig. 4 (shares of the job types over ten draws). The default
year meets Table II under EASY backfilling by walltime. ``python -m holdfast.experiments.traces.calibration --preset
NAME`` prints the results for a preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["PRESETS", "preset_year"]

#: Parameters that each preset changes. Backfilling by runtimes fills the machine better; to meet Table II, users must
#: then tolerate a longer queue. Projects with more even activity give 3 to 15 % of on-demand jobs, as in Fig. 4; the
#: default follows the public records, in which the share reaches a quarter.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "runtime-backfilling": {"patience": 480.0},
    "even-projects": {"rank_exponent": 1.5},
}


def preset_year(name: str, year: ThetaYear | None = None) -> ThetaYear:
    """A year with the parameters of a preset.

    Parameters
    ----------
    name
        A name of :data:`PRESETS`, or several joined by ``+``.
    year
        Year with the other parameters; by default :class:`holdfast.workloads.theta.year.ThetaYear`.

    Raises
    ------
    UnknownNameError
        If there is no such preset; the message names the most similar one.

    Examples
    --------
    >>> preset_year("runtime-backfilling+even-projects").patience
    480.0
    """
    changes: dict[str, Any] = {}
    for word in name.split("+"):
        if word not in PRESETS:
            raise UnknownNameError("preset", word, PRESETS)
        changes |= PRESETS[word]
    return replace(year or ThetaYear(), **changes)
