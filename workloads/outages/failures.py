"""Random node failures: their times, places and repair times.

Each node fails after an exponential time, so failures of a machine with N nodes form a Poisson process with N times the
rate of a node; Daly's interval assumes the same (Daly 2006). Repair times are constant or lognormal (Schroeder and
Gibson, "A large-scale study of failures in high-performance computing systems", DSN 2006).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import check_whole
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.ground.ranges import Range, legal
from holdfast.workloads.ground.units import DURATIONS, LARGEST_TIME, SECOND, SHORTEST_TIME, to_ticks
from holdfast.workloads.outages.outage import Outage, OutageKind

__all__ = ["FailureRate", "place_failures"]

#: Number of failures that are drawn together. The results for a seed depend on it, since each stream is read in order.
_BLOCK = 256


@dataclass(frozen=True)
@legal(variation=Range(0, 1000))
class FailureRate:
    """Rate of failures of single nodes, and their repair times.

    Attributes
    ----------
    mtbf
        Mean time between failures of one node [s].
    repair
        Mean time to repair [s].
    variation
        Coefficient of variation of the repair time; 0: constant, else lognormal.
    seed
        Seed of the streams ``failures/...``.

    Raises
    ------
    ParameterError
        If a value is not legal.
    """

    mtbf: float
    repair: float = 4 * 3600.0
    variation: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("mtbf", "repair"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and SHORTEST_TIME < value <= LARGEST_TIME):
                raise ParameterError(name, DURATIONS, value)
        check_whole("seed", self.seed, 0, "a whole number >= 0")

    def draw(self, nodes: int, start: float) -> Iterator[Outage]:
        """Iterate over the failures of a machine from ``start`` on, in order of time, without end.

        Parameters
        ----------
        nodes
            Number of nodes of the machine. The simulation ignores failures of nodes that are down.
        start
            Start of the observed time [s].
        """
        gaps, repairs, places = (stream(self.seed, "failures", what) for what in ("gaps", "repairs", "places"))
        # Parameter of the lognormal distribution with this mean and variation.
        spread = math.sqrt(math.log1p(self.variation**2))
        center = math.log(self.repair) - spread**2 / 2
        at = to_ticks(start)
        while True:
            waits = gaps.exponential(self.mtbf / nodes, _BLOCK).tolist()
            lasting = repairs.lognormal(center, spread, _BLOCK).tolist() if spread else [self.repair] * _BLOCK
            for wait, length, place in zip(waits, lasting, places.random(_BLOCK).tolist(), strict=True):
                at += to_ticks(wait)
                end = at + max(1, to_ticks(min(length, LARGEST_TIME)))
                yield Outage(OutageKind.FAILURE, at / SECOND, end / SECOND, 1, place=place)


def place_failures(outages: Sequence[Outage], seed: int) -> list[Outage]:
    """Draw places for failures without a place, from the stream ``failures/given places``."""
    places = stream(seed, "failures", "given places")
    drawn = places.random(len(outages)).tolist()
    return [
        replace(outage, place=place) if outage.kind is OutageKind.FAILURE and outage.place is None else outage
        for outage, place in zip(outages, drawn, strict=True)
    ]
