"""Cancellations and dependencies of jobs as columns, which the loop of a replay on named nodes reads."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.simulator.resources.replay_columns import ReplayColumns

__all__ = ["NEVER", "LifeColumns", "life_columns"]

#: A time that never comes [ticks].
NEVER = 1 << 62


class LifeColumns(NamedTuple):
    """Columns of the loop for jobs that are numbered in the order of their arrivals.

    Attributes
    ----------
    submits, cancels
        When a job is submitted and cancelled [ticks], as far as that is known at the beginning.
    followers, next_follower
        The first job that depends on each, and the next that depends on the same one; -1: none.
    coming, leaving
        Jobs that are known to come and to be cancelled, the latest first, and room for the others.
    dependent
        Whether any job depends on another.
    """

    submits: list[int]
    cancels: list[int]
    followers: list[int]
    next_follower: list[int]
    coming: list[int]
    leaving: list[int]
    dependent: bool


def life_columns(columns: ReplayColumns, order: list[int]) -> LifeColumns:
    """Columns of jobs, ``order`` being their rows in the order of their arrivals."""
    count = len(order)
    submits = [columns.submits[job] for job in order]
    places = {job: place for place, job in enumerate(order)}
    followers, next_follower, cancels, coming = [-1] * count, [-1] * count, [NEVER] * count, []
    for place in reversed(range(count)):
        before, patience = columns.preceding[order[place]], columns.patiences[order[place]]
        if before >= 0:
            next_follower[place] = followers[places[before]]
            followers[places[before]] = place
            continue
        coming.append(place)
        if patience >= 0:
            cancels[place] = submits[place] + patience
    leaving = sorted((place for place in coming if cancels[place] < NEVER), key=lambda place: -cancels[place])
    room = [0] * count
    return LifeColumns(
        submits, cancels, followers, next_follower, coming + room[len(coming) :], leaving + room[len(leaving) :],
        len(coming) < count,
    )  # fmt: skip
