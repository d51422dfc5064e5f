"""The thirteen observations of hybrid-workload-scheduling, section V, as testable claims about measurements.

Each part of an observation is a separate claim with a comparison, a metric and a direction. Unless stated otherwise, a
"mean" is over the named mechanisms and over the mixes W1 to W5 of a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.papers.hybrid.published_levels import level, printed_level
from holdfast.experiments.study.evidence import (
    Finding,
    average,
    difference,
    every,
    finite_mean,
    judge_finding,
    missing_finding,
    reaches,
    within,
)
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.simulation_cache import SIX
from holdfast.experiments.study.verdicts import HYPOTHESIS, Source, Statement, Verdict, text
from holdfast.policies.mechanism import BASELINE

__all__ = ["CHECKPOINT_CLAIMS", "CLAIMS", "Claim", "examine", "notices", "with_arrival", "with_notice"]

Floats = NDArray[np.float64]

_ALL_H = "turnaround_h"
_RIGID_H = "turnaround_rigid_h"
_MALLEABLE_H = "turnaround_malleable_h"
_INSTANT = "instant_start_ratio"
_RIGID_P = "preemption_ratio_rigid"
_MALLEABLE_P = "preemption_ratio_malleable"
_USE = "utilization"
_COMPUTE = "compute_utilization"


class Claim(NamedTuple):
    """A part of an observation.

    The rule is part of the test and does not depend on the measurements.

    Attributes
    ----------
    observation, part
        Number of the observation in the paper, and letter of the part.
    text
        Exact statement of the claim.
    printed
        Number or words in the paper.
    unit
        Unit of the effect: h, or percentage points.
    test
        Function from the measurements to the evidence; raises LookupError if measurements are missing.
    own
        Whether the claim is from this project instead of the paper.
    """

    observation: int
    part: str
    text: str
    printed: str
    unit: str
    test: Callable[[Measured], Finding]
    own: bool = False

    @property
    def name(self) -> str:
        return f"{self.observation}{self.part}"

    @property
    def source(self) -> Source:
        """Section of the paper, or a hypothesis of this project."""
        section = "V-A" if self.observation <= 10 else "V-B" if self.observation <= 12 else "V-C"
        return HYPOTHESIS if self.own else text(f"{section}, observation {self.observation}")

    def verdict(self, data: Measured, where: str = "") -> Verdict:
        """Judge measurements, in the same way in every experiment that shows the claim.

        Parameters
        ----------
        data
            Measurements.
        where
            Setting of the measurements, if there are several settings.
        """
        words = f"Observation {self.name}: {self.text}" + (f" ({where})" if where else "")
        return judge_finding(Statement(words, self.printed, self.source), self.unit, examine(self, data))


def with_arrival(strategy: str, but: str = "") -> tuple[str, ...]:
    """The mechanisms with an arrival strategy, except those with the notice strategy ``but``."""
    return tuple(name for name in SIX if name.endswith(f"-{strategy}") and not name.startswith(f"{but or '-'}-"))


def with_notice(strategy: str) -> tuple[str, ...]:
    """The mechanisms with a notice strategy."""
    return tuple(name for name in SIX if name.startswith(f"{strategy}-"))


def notices(but: str = "") -> tuple[str, ...]:
    """The notice strategies, except ``but``."""
    return tuple(dict.fromkeys(name.partition("-")[0] for name in SIX if not name.startswith(f"{but or '-'}-")))


def examine(claim: Claim, data: Measured) -> Finding:
    """Examine a claim; the finding is marked as missing if simulations are missing."""
    try:
        return claim.test(data)
    except LookupError as error:
        return missing_finding(f"no simulations of {error}")


# Comparisons of mechanisms and mixes. Each function returns the test of a claim.

_Test = Callable[[Measured], Finding]
_SPAA_PAA = ("SPAA", "PAA")


def _arrivals(metric: str, sign: int, judge: Callable[..., Finding], but: str = "") -> _Test:
    """Test SPAA against PAA under each notice strategy."""

    def test(data: Measured) -> Finding:
        more, less = _SPAA_PAA
        pairs = {name: (data(metric, f"{name}-{more}"), data(metric, f"{name}-{less}")) for name in notices(but)}
        finding: Finding = judge(pairs, sign)
        return finding

    return test


def _cua_cup(metric: str, sign: int) -> _Test:
    """Test CUA against CUP under each arrival strategy and mix."""

    def test(data: Measured) -> Finding:
        return average(
            {
                f"{arrival} {mix}": (data(metric, f"CUA-{arrival}", mix), data(metric, f"CUP-{arrival}", mix))
                for arrival in ("PAA", "SPAA")
                for mix in data.values("mix")
            },
            sign,
        )

    return test


def _extreme(metric: str, chosen: str, sign: int, others: Sequence[str] = SIX) -> _Test:
    """Test one mechanism against each of the others."""

    def test(data: Measured) -> Finding:
        own = data(metric, chosen)
        return every({name: (own, data(metric, name)) for name in others if name != chosen}, sign)

    return test


def _best_mix(metric: str, mechanisms: Sequence[str], chosen: str, sign: int) -> _Test:
    """Test one mix against each of the others."""

    def test(data: Measured) -> Finding:
        own = data(metric, mechanisms, chosen)
        return every({mix: (own, data(metric, mechanisms, mix)) for mix in data.values("mix") if mix != chosen}, sign)

    return test


def _kinds(left: str, right: str, mechanisms: Sequence[str], sign: int) -> _Test:
    """Test one job type against another under each mechanism."""
    return lambda data: every({name: (data(left, name), data(right, name)) for name in mechanisms}, sign)


def _against_baseline(metric: str, sign: int, judge: Callable[..., Finding]) -> _Test:
    def test(data: Measured) -> Finding:
        finding: Finding = judge({name: (data(metric, name), data(metric, BASELINE)) for name in SIX}, sign)
        return finding

    return test


def _gap_beyond_baseline(data: Measured) -> Finding:
    def gap(name: str) -> Floats:
        return data(_MALLEABLE_H, name) - data(_RIGID_H, name)

    return average({name: (gap(name), gap(BASELINE)) for name in SIX if not name.startswith("N-")}, -1)


def _methods_alike(data: Measured) -> Finding:
    """Test each pair of mechanisms for equality."""
    own = {name: data(_INSTANT, name) for name in SIX}
    pairs = {f"{a} {b}": (own[a], own[b]) for a, b in combinations(SIX, 2)}
    finding = within(pairs, 1.0, "points")
    means = {name: finite_mean(values) for name, values in own.items()}
    top, bottom = (pick(means, key=lambda name: means[name]) for pick in (max, min))
    return replace(finding, detail=f"farthest apart: {top} and {bottom}")


def _crowded_share(data: Measured) -> Finding:
    """Test the share of late on-demand jobs for which the other on-demand jobs leave no room."""
    late, crowded = (data.total(name, SIX) for name in ("delayed_on_demand", "crowded_on_demand"))
    with np.errstate(divide="ignore", invalid="ignore"):
        finding = reaches(100.0 * crowded / late, 95.0, "%")
    return replace(finding, detail=f"{crowded.sum():.0f} of {late.sum():.0f} jobs")


def _patterns_matter(data: Measured) -> Finding:
    """Test the variation between traces against that between mechanisms within a trace."""
    table = np.array([data(_INSTANT, name) for name in SIX])
    own = table.mean(axis=0)
    return difference(np.abs(own - finite_mean(own)), np.abs(table - own).mean(axis=0), 1)


CLAIMS: tuple[Claim, ...] = (
    Claim(1, "a", "The mean utilisation of the six mechanisms is higher than the baseline's", "higher", "points",
          _against_baseline(_USE, 1, average)),
    Claim(1, "b", "The best mechanism on its best mix has a utilisation of 90 %", "up to 90 %", "%",
          printed_level("best_utilisation").finding),
    Claim(1, "c", "The instant start rate of each mechanism is higher than the baseline's", "22 % to 98 %", "points",
          _against_baseline(_INSTANT, 1, every)),
    Claim(1, "d", "The mean turnaround of the six mechanisms is higher than the baseline's", "15 h to 22 h", "h",
          _against_baseline(_ALL_H, 1, average)),
    Claim(1, "e", "The worst mechanism on its worst mix has an average turnaround of 22 h", "22 h", "h",
          printed_level("worst_turnaround").finding),
    Claim(2, "a", "N-PAA has a higher average turnaround than each other mechanism", "worst", "h",
          _extreme(_ALL_H, "N-PAA", 1)),
    Claim(2, "b", "N-PAA has a lower utilisation than each other mechanism", "worst", "points",
          _extreme(_USE, "N-PAA", -1)),
    Claim(2, "c", "N-PAA preempts a larger share of the malleable jobs than each other mechanism",
          "noticeably higher", "points", _extreme(_MALLEABLE_P, "N-PAA", 1)),
    Claim(3, "a", "SPAA has a higher utilisation than PAA, mean over the notice strategies", "higher", "points",
          _arrivals(_USE, 1, average)),
    Claim(3, "b", "SPAA preempts a smaller share of the malleable jobs than PAA, under each notice strategy",
          "largely reduced", "points", _arrivals(_MALLEABLE_P, -1, every)),
    Claim(3, "c", "SPAA preempts a larger share of the rigid jobs than PAA, under each notice strategy",
          "slightly increased", "points", _arrivals(_RIGID_P, 1, every)),
    Claim(3, "d", "SPAA wastes fewer node-hours than PAA, mean over the notice strategies", "fewer", "node-hours",
          _arrivals("lost_node_hours", -1, average)),
    Claim(4, "a", "With notices (CUA, CUP), PAA has a lower average turnaround than SPAA", "lower", "h",
          _arrivals(_ALL_H, 1, average, but="N")),
    Claim(4, "b", "With notices, PAA preempts a smaller share of the rigid jobs than SPAA", "slightly lower", "points",
          _arrivals(_RIGID_P, 1, average, but="N")),
    Claim(4, "c", "The exception: N-PAA has a higher average turnaround than N-SPAA", "higher", "h",
          lambda data: difference(data(_ALL_H, "N-PAA"), data(_ALL_H, "N-SPAA"), 1)),
    Claim(4, "d", "SPAA prolongs the average turnaround of the malleable jobs, mean over the notice strategies",
          "prolonged", "h", _arrivals(_MALLEABLE_H, 1, average)),
    Claim(5, "a", "CUA has a lower average turnaround than CUP, mean over arrival strategies and mixes",
          "slightly lower", "h", _cua_cup(_ALL_H, -1)),
    Claim(5, "b", "CUA has a higher utilisation than CUP, mean over arrival strategies and mixes",
          "slightly higher", "points", _cua_cup(_USE, 1)),
    Claim(5, "c", "CUA preempts a smaller share of the rigid jobs than CUP", "fewer", "points",
          _cua_cup(_RIGID_P, -1)),
    Claim(5, "d", "CUA preempts a smaller share of the malleable jobs than CUP", "fewer", "points",
          _cua_cup(_MALLEABLE_P, -1)),
    Claim(6, "a", "With notices, malleable jobs have a lower average turnaround than rigid ones, under each mechanism",
          "noticeably lower", "h",
          _kinds(_MALLEABLE_H, _RIGID_H, [*with_notice("CUA"), *with_notice("CUP")], -1)),
    Claim(6, "b", "It is lower by more than under the baseline, where malleable jobs are rigid, too",
          "not asked in the paper", "h", _gap_beyond_baseline, True),
    Claim(7, "a", "N-SPAA has a lower average turnaround of the rigid jobs than each other mechanism", "lowest", "h",
          _extreme(_RIGID_H, "N-SPAA", -1)),
    Claim(7, "b", "Under N-SPAA the rigid and the malleable jobs have an average turnaround of 24 h each",
          "both around 24 h", "h",
          lambda data: level({"rigid": data(_RIGID_H, "N-SPAA"),
                              "malleable": data(_MALLEABLE_H, "N-SPAA")}, 24.0, "h")),
    Claim(7, "c", "Under N-SPAA the malleable jobs' average turnaround is higher than under the other SPAA mechanisms",
          "more noticeable", "h", _extreme(_MALLEABLE_H, "N-SPAA", 1, with_arrival("SPAA"))),
    Claim(7, "d", "Under N-SPAA the two differ by less than 2 h", "both around 24 h", "h",
          lambda data: within({"": (data(_RIGID_H, "N-SPAA"), data(_MALLEABLE_H, "N-SPAA"))}, 2.0, "h")),
    Claim(8, "a", "A larger share of the malleable than of the rigid jobs is preempted, under each mechanism",
          "noticeably higher", "points", _kinds(_MALLEABLE_P, _RIGID_P, SIX, 1)),
    Claim(8, "b", "Nevertheless the malleable jobs' average turnaround is lower, under each mechanism", "lower", "h",
          _kinds(_MALLEABLE_H, _RIGID_H, SIX, -1)),
    Claim(9, "a", "On average over mechanisms and mixes 98 % of the on-demand jobs start instantly", "98 %", "%",
          printed_level("instant").finding),
    Claim(9, "b", "No two mechanisms are more than 1 point apart in the instant start rate",
          "no significant difference", "points", _methods_alike),
    Claim(9, "c", "The instant start rate varies more from trace to trace than from mechanism to mechanism",
          "more related to the submission pattern", "points", _patterns_matter),
    Claim(9, "d", "At least 95 % of the on-demand jobs that do not start instantly exceed the machine together with "
          "the on-demand jobs that run or gather nodes when they arrive",
          "the reason", "%", _crowded_share),
    Claim(11, "a", "CUP has its lowest average turnaround on W2, against each other mix", "best on W2", "h",
          _best_mix(_ALL_H, with_notice("CUP"), "W2", -1)),
    Claim(11, "b", "CUP preempts the smallest share of the rigid jobs on W2", "reduced", "points",
          _best_mix(_RIGID_P, with_notice("CUP"), "W2", -1)),
    Claim(11, "c", "CUP preempts the smallest share of the malleable jobs on W2", "reduced", "points",
          _best_mix(_MALLEABLE_P, with_notice("CUP"), "W2", -1)),
    Claim(11, "d", "CUP has its highest utilisation on W2", "improved", "points",
          _best_mix(_USE, with_notice("CUP"), "W2", 1)),
    Claim(12, "a", "CUA has its lowest average turnaround on W4, against each other mix", "lowest on W4", "h",
          _best_mix(_ALL_H, with_notice("CUA"), "W4", -1)),
    Claim(12, "b", "CUA starts the largest share of the on-demand jobs instantly on W4", "slightly improved", "points",
          _best_mix(_INSTANT, with_notice("CUA"), "W4", 1)),
)  # fmt: skip


def _half_against_optimum(metric: str, sign: int) -> _Test:
    """Test half of the optimal interval against the optimum; the column ``mix`` has the factors as texts."""

    def test(data: Measured) -> Finding:
        return every({name: (data(metric, name, "0.5"), data(metric, name, "1.0")) for name in SIX}, sign)

    return test


#: Observation 13, on measurements with the checkpoint factor as ``mix``: half of Daly's interval against the full
#: interval, under each of the six mechanisms.
CHECKPOINT_CLAIMS: Mapping[str, Claim] = {
    claim.part: claim
    for claim in (
        Claim(13, "a", "Twice as many checkpoints lower the rigid jobs' average turnaround, under each mechanism",
              "lower", "h", _half_against_optimum(_RIGID_H, -1)),
        Claim(13, "b", "Twice as many checkpoints raise the share of the machine's time that is useful computation, "
              "under each mechanism", "higher", "points", _half_against_optimum(_COMPUTE, 1)),
        Claim(13, "c", "Twice as many checkpoints lower the average turnaround of all jobs, under each mechanism",
              "better", "h", _half_against_optimum(_ALL_H, -1)),
        Claim(13, "d", "Twice as many checkpoints lower the node-hours lost to preemptions, under each mechanism",
              "fewer", "node-hours", _half_against_optimum("lost_node_hours", -1)),
    )
}  # fmt: skip
