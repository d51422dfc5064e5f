"""Node counts that announced windows leave to jobs: maintenance and advance reservations.

A window needs its nodes at each of its instants. A job may start if every window that its walltime reaches still gets
its nodes, assuming that all running jobs use their full walltimes. Before a window, the machine thus drains by the
nodes that the window needs. Backfilling takes windows into account in its profile
(:mod:`holdfast.policies.availability_profile`). The functions here are used outside scheduling passes: when jobs are
backfilled on reserved nodes, and when borrowed nodes are returned.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.policies.port import TOLERANCE, SystemView, WaitingJob

__all__ = ["largest_admitted_size", "spare"]


def spare(view: SystemView, until: int, started: Sequence[tuple[int, int]] = ()) -> int:
    """Number of nodes, beyond those of running jobs, that no window needs until a given time.

    Idle reserved nodes count as available, because a window takes them before it preempts a job.

    Parameters
    ----------
    view
        The machine.
    until
        Time; windows that start later are ignored.
    started
        (end of the walltime, nodes) of jobs started since the view was taken.

    Returns
    -------
    int
        All nodes of the machine if there is no window.
    """
    least = view.nodes
    for window in view.windows:
        if window.start >= until - TOLERANCE:
            break
        at = max(window.start, view.now)
        stay = sum(nodes for end, _, nodes in view.releases if end > at + TOLERANCE)
        stay += sum(nodes for end, nodes in started if end > at + TOLERANCE)
        if view.reservations:
            for run in view.running:
                if run.borrowed and run.expected_end > at + TOLERANCE:
                    stay += sum(run.owes(reservation.job_id) for reservation in view.reservations)
        taken = sum(other.nodes for other in view.windows if other.start <= at < other.end)
        least = min(least, view.nodes - stay - taken)
    return least


def largest_admitted_size(view: SystemView, job: WaitingJob, size: int, started: Sequence[tuple[int, int]] = ()) -> int:
    """The largest size up to ``size`` at which the windows allow a job to start, or 0; see :func:`spare`."""
    while size >= job.min_nodes:
        room = spare(view, view.now + job.limit(size), started)
        if room >= size:
            return size
        size = room
    return 0
