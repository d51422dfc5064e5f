"""Advance notices of on-demand jobs: the categories of Table III and the times that follow from them.

Source: Fan et al., IPDPS 2022, sections III-B and IV-B.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

__all__ = ["NOTICE_MIXES", "NoticeCategory", "notice_shares", "notice_times"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class NoticeCategory(StrEnum):
    """Category of an on-demand job by its arrival relative to its advance notice."""

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
        If ``mix`` is not four shares that sum to 1.

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


def notice_times(
    estimated: Ints,
    categories: Floats,
    moments: Floats,
    shares: Sequence[float],
    lead: tuple[int, int],
    lateness: int,
    no_show_share: float,
) -> tuple[Ints, Ints, NDArray[np.bool_], NDArray[np.bool_]]:
    """Compute notices and arrivals of on-demand jobs.

    Parameters
    ----------
    estimated
        Submit times in the trace, which are the estimated arrivals [ticks], shape (n,).
    categories, moments
        Uniform numbers in [0, 1), drawn for all jobs. ``categories``, shape (n,), choose the category; ``moments``,
        shape (n, 3), choose the lead time of the notice, the earliness or lateness of the arrival, and whether the job
        arrives.
    shares
        Shares of none, accurate, early and late.
    lead
        Shortest and longest time between notice and estimated arrival [ticks].
    lateness
        Longest delay of a late job after its estimated arrival [ticks].
    no_show_share
        Share of the jobs with notice that never arrive.

    Returns
    -------
    notice, arrival
        Times of notice and arrival [ticks], shape (n,); a notice is not later than its arrival.
    noticed, comes
        Whether there is a notice, and whether the job arrives, shape (n,).
    """
    # The last bound is omitted: rounding may put it below 1, and all larger numbers belong to the last category.
    category = np.searchsorted(np.array(list(accumulate(shares))[:-1]), categories, side="right")
    ahead, shift, show = moments.T
    noticed = category != _CATEGORIES.index(NoticeCategory.NONE)
    notice = estimated - _round_ticks(lead[0] + ahead * (lead[1] - lead[0]))
    arrival = np.where(
        category == _CATEGORIES.index(NoticeCategory.EARLY),
        notice + _round_ticks(shift * (estimated - notice)),
        estimated,
    )
    late = category == _CATEGORIES.index(NoticeCategory.LATE)
    arrival = np.where(late, estimated + _round_ticks(shift * lateness), arrival)
    return notice, arrival, noticed, ~(noticed & (show < no_show_share))


def _round_ticks(ticks: Floats) -> Ints:
    return np.rint(ticks).astype(np.int64)
