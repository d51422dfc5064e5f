"""Advance notices of on-demand jobs: Table III and the times that follow from a category.

Source: Fan et al., IPDPS 2022, sections III-B and IV-B.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from workloads.ground.errors import ParameterError, UnknownNameError

__all__ = ["NOTICE_MIXES", "Notice", "NoticeCategory", "NoticeDraws", "notice_shares", "notice_times"]


class NoticeCategory(StrEnum):
    """How an on-demand job arrives, seen from its advance notice."""

    NONE = "none"
    ACCURATE = "accurate"
    EARLY = "early"
    LATE = "late"


_CATEGORIES = tuple(NoticeCategory)

#: Table III: shares of none, accurate, early and late.
NOTICE_MIXES: dict[str, tuple[float, float, float, float]] = {
    "W1": (0.70, 0.10, 0.10, 0.10),
    "W2": (0.10, 0.70, 0.10, 0.10),
    "W3": (0.10, 0.10, 0.70, 0.10),
    "W4": (0.10, 0.10, 0.10, 0.70),
    "W5": (0.25, 0.25, 0.25, 0.25),
}


def notice_shares(mix: str | Sequence[float]) -> tuple[float, float, float, float]:
    """Shares of the categories none, accurate, early, late.

    Parameters
    ----------
    mix
        A name of Table III, or the four shares themselves.

    Returns
    -------
    tuple of float
        Four shares that sum to 1.

    Raises
    ------
    UnknownNameError
        If no mix has that name.
    ParameterError
        If it is not four shares that sum to 1.

    Examples
    --------
    >>> notice_shares("W4")
    (0.1, 0.1, 0.1, 0.7)
    """
    if isinstance(mix, str):
        if mix not in NOTICE_MIXES:
            raise UnknownNameError("notice mix", mix, NOTICE_MIXES)
        return NOTICE_MIXES[mix]
    shares = tuple(mix)
    if len(shares) != 4 or not all(share >= 0 for share in shares) or not math.isclose(sum(shares), 1, abs_tol=1e-9):
        raise ParameterError(
            "notice_mix", f"one of {', '.join(NOTICE_MIXES)} or four shares (none, accurate, early, late) of sum 1", mix
        )
    return shares[0], shares[1], shares[2], shares[3]


@dataclass(frozen=True, slots=True)
class NoticeDraws:
    """The uniform numbers of one job, each in [0, 1), drawn whether they are needed or not.

    Attributes
    ----------
    category
        Chooses the category.
    lead
        How long before the estimated arrival the notice comes.
    shift
        How early or how late the job arrives.
    show
        Whether it arrives at all.
    """

    category: float
    lead: float
    shift: float
    show: float


@dataclass(frozen=True, slots=True)
class Notice:
    """The three times of an on-demand job, in the unit that came.

    Attributes
    ----------
    arrival
        Actual arrival; None if the job never arrives.
    notice, estimated
        Time of the notice and the arrival that it announces; None without notice.
    """

    arrival: int | None
    notice: int | None
    estimated: int | None


def notice_times(
    estimated: int,
    draws: NoticeDraws,
    shares: Sequence[float],
    lead: tuple[int, int],
    lateness: int,
    no_show_share: float,
) -> Notice:
    """Times of one on-demand job.

    Parameters
    ----------
    estimated
        Submit time in the trace, which is the estimated arrival [ticks].
    draws
        The job's uniform numbers.
    shares
        Shares of none, accurate, early and late.
    lead
        Shortest and longest time between notice and estimated arrival [ticks].
    lateness
        Longest time by which a late job comes after its estimated arrival [ticks].
    no_show_share
        Share of the jobs with notice that never arrive.

    Returns
    -------
    Notice
        With ``notice <= arrival``.
    """
    # The last bound is left out: it may lie a rounding error below 1, and what is beyond is the last category anyway.
    category = _CATEGORIES[bisect_right(list(accumulate(shares))[:-1], draws.category)]
    if category is NoticeCategory.NONE:
        return Notice(estimated, None, None)
    notice = estimated - round(lead[0] + draws.lead * (lead[1] - lead[0]))
    arrival: int | None = estimated
    if category is NoticeCategory.EARLY:
        arrival = notice + round(draws.shift * (estimated - notice))
    elif category is NoticeCategory.LATE:
        arrival = estimated + round(draws.shift * lateness)
    if draws.show < no_show_share:
        arrival = None
    return Notice(arrival, notice, estimated)
