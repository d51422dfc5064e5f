"""Mechanisms: a notice strategy times an arrival strategy.

Source: hybrid-workload-scheduling, section III-B: {N, CUA, CUP} x {PAA, SPAA}.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from policies.arrival import ARRIVALS, ArrivalStrategy
from policies.notice import NOTICES, NoticeStrategy
from workloads.errors import UnknownNameError

__all__ = ["BASELINE", "MECHANISMS", "Mechanism", "parse_mechanism"]


@dataclass(frozen=True)
class Mechanism:
    """How on-demand jobs are served.

    Attributes
    ----------
    notice, arrival
        Names of the two strategies, as registered.
    """

    notice: str
    arrival: str

    @property
    def name(self) -> str:
        """The paper's spelling, e.g. ``CUA&SPAA``."""
        return f"{self.notice}&{self.arrival}"

    @property
    def slug(self) -> str:
        """The spelling for shells and file names, e.g. ``CUA-SPAA``."""
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
    """The mechanism of that name.

    Parameters
    ----------
    name
        ``baseline``, or notice and arrival strategy joined by ``&`` or ``-``, in any case.

    Returns
    -------
    Mechanism or None
        None for the baseline.

    Raises
    ------
    UnknownNameError
        If it is neither.

    Examples
    --------
    >>> parse_mechanism("cua-spaa").name
    'CUA&SPAA'
    """
    if name.lower() == BASELINE:
        return None
    parts = name.replace("&", "-").split("-")
    if len(parts) == 2:
        notice = {known.lower(): known for known in NOTICES}.get(parts[0].lower())
        arrival = {known.lower(): known for known in ARRIVALS}.get(parts[1].lower())
        if notice and arrival:
            return Mechanism(notice, arrival)
    raise UnknownNameError("mechanism", name, [BASELINE, *(mechanism.slug for mechanism in MECHANISMS)])
