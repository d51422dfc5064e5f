"""Cancellations of jobs, and submits of jobs that depend on others, in a replay on named nodes.

Loops over whole numbers, which run compiled or as plain Python. Lists of jobs by a time have the latest first.
"""

from __future__ import annotations

from typing import Any

from holdfast.policies.kernels.waiting_ring import unlink
from holdfast.simulator.resources.loop_arguments import Lives, WaitingRing
from holdfast.simulator.resources.loop_state import COMING, LEAVING
from holdfast.simulator.resources.wait_causes import end_wait

__all__ = ["cancel_job", "submit_followers"]


def submit_followers(job: Any, over: Any, lives: Lives, state: Any) -> None:
    """Submit the jobs that depend on one that has ended: when they come, and when they are cancelled, is known now."""
    submits, arrivals, begins, followers, next_follower, thinks, patiences, cancels, coming, leaving, _ = lives
    other = followers[job]
    while other >= 0:
        if thinks[other] >= 0:
            submits[other] = over + thinks[other]
        elif submits[other] < over:
            submits[other] = over
        arrivals[other] = submits[other]
        if begins[other] > arrivals[other]:
            arrivals[other] = begins[other]
        spot = state[COMING]
        while spot > 0 and arrivals[coming[spot - 1]] < arrivals[other]:
            coming[spot] = coming[spot - 1]
            spot -= 1
        coming[spot] = other
        state[COMING] += 1
        if patiences[other] >= 0:
            cancels[other] = submits[other] + patiences[other]
            spot = state[LEAVING]
            while spot > 0 and cancels[leaving[spot - 1]] < cancels[other]:
                leaving[spot] = leaving[spot - 1]
                spot -= 1
            leaving[spot] = other
            state[LEAVING] += 1
        other = next_follower[other]


def cancel_job(job: Any, now: Any, lives: Lives, queue: WaitingRing) -> None:
    """Note that a job has left before its start, and take it out of the queue if it waits there."""
    lives.gone[job] = now
    if queue.linked[job] == 1:
        end_wait(job, now, queue.causes)
        unlink(job, queue.after, queue.before)
