"""Mechanisms, which combine a notice strategy and an arrival strategy.

Source: hybrid-workload-scheduling, section III-B: {N, CUA, CUP} x {PAA, SPAA}.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from holdfast.policies.arrival import ARRIVALS, ArrivalStrategy
from holdfast.policies.notice import NOTICES, NoticeStrategy
from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.ground.registry import Registry

__all__ = ["BASELINE", "MECHANISMS", "Mechanism", "parse_mechanism"]


@dataclass(frozen=True)
class Mechanism:
    """The pair of strategies that serve on-demand jobs.

    Attributes
    ----------
    notice, arrival
        Names of the two strategies, as registered.
    """

    notice: str
    arrival: str

    @property
    def name(self) -> str:
        """Name in tables, figures, options and file names, e.g. ``CUA-SPAA``; the paper writes CUA&SPAA."""
        return f"{self.notice}-{self.arrival}"

    @property
    def on_notice(self) -> NoticeStrategy:
        return NOTICES[self.notice]

    @property
    def on_arrival(self) -> ArrivalStrategy:
        return ARRIVALS[self.arrival]


#: Name of the run without a mechanism: every job rigid, no notices, no preemption.
BASELINE = "baseline"

#: The six mechanisms of the paper, in its order.
MECHANISMS = tuple(Mechanism(*pair) for pair in product(("N", "CUA", "CUP"), ("PAA", "SPAA")))


def parse_mechanism(name: str) -> Mechanism | None:
    """Parse the name of a mechanism.

    Parameters
    ----------
    name
        ``baseline``, or notice and arrival strategy joined by ``-`` (or ``&``, as in the paper); case is ignored, and
        both strategies may be import paths.

    Returns
    -------
    Mechanism or None
        None for the baseline.

    Raises
    ------
    InputError
        If the name is unknown, or a plug-in cannot be imported.

    Examples
    --------
    >>> parse_mechanism("cua-spaa").name, parse_mechanism("CUA&SPAA").name
    ('CUA-SPAA', 'CUA-SPAA')
    """
    if name.lower() == BASELINE:
        return None
    # Names of strategies may contain dashes.
    for at, mark in enumerate(name):
        if mark in "-&":
            notice, arrival = _canonical_name(NOTICES, name[:at]), _canonical_name(ARRIVALS, name[at + 1 :])
            if notice and arrival:
                return Mechanism(notice, arrival)
    known = [f"{notice}-{arrival}" for notice in NOTICES.listing() for arrival in ARRIVALS.listing()]
    raise UnknownNameError("mechanism", name, [BASELINE, *known])


def _canonical_name(registry: Registry[Any], text: str) -> str:
    """The name of a strategy in the spelling of the registry, or an import path; empty if it is unknown."""
    spelled = {known.lower(): known for known in registry}
    name, *words = text.split() or [""]
    found = name if ":" in name else spelled.get(name.lower(), "")
    if not found and name in registry.listing():
        found = name
    if found:
        found = " ".join([found, *words])
        # Raises an error now if the plug-in cannot be loaded.
        registry[found]
    return found
