"""Expansion: running malleable jobs grow into nodes that no queued job can use.

Expansion follows the scheduling pass of an instant if nodes are still free. Sources: Prabhakaran et al., "A batch
system with efficient adaptive scheduling for malleable and evolving applications", IPDPS 2015, where Torque and Maui
expand malleable jobs into idle nodes; docs/model.md, "Expansion".

An expanded job ends earlier and releases more nodes, but until then it occupies nodes that were counted as free. Like a
backfilled job, it may therefore use only nodes that no reservation or window needs before the new end of its walltime,
and no nodes that open reservations still lack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from holdfast.policies.arrival import even_shares
from holdfast.policies.availability_profile import Profile
from holdfast.policies.port import Expand, Promise, RunningJob, SystemView
from holdfast.policies.reservation_depth import availability_profile
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.registry import Registry, function_adapter
from holdfast.workloads.table.job import MALLEABLE

__all__ = ["EXPANSIONS", "Expansion", "Grow"]

#: Returns the expansions of running jobs, given the reservations of waiting jobs.
Expansion = Callable[[SystemView, "Sequence[Promise]"], "list[Expand]"]


def _no_expansion(view: SystemView, promises: Sequence[Promise]) -> list[Expand]:
    return []


@dataclass(frozen=True)
class Grow:
    """Expand running malleable jobs as far as no promise is delayed.

    Tenants are not expanded, because they must leave when their on-demand job arrives.

    Attributes
    ----------
    share
        Distribution of the nodes. ``greedy``: expand one job after the other as far as possible, in the order of their
        starts, ties by id; ``even``: the same number of nodes for all jobs, limited by what each can use, with the
        remainder one node each, by id.
    """

    share: Literal["greedy", "even"] = "greedy"

    def __post_init__(self) -> None:
        if self.share not in ("greedy", "even"):
            raise ParameterError("share", "greedy or even", self.share)

    def __call__(self, view: SystemView, promises: Sequence[Promise]) -> list[Expand]:
        """Return the expansions, in order."""
        free = view.free - sum(reservation.missing for reservation in view.reservations)
        growing = [run for run in view.running if _spare(run)] if free > 0 else []
        if not growing:
            return []
        growing.sort(key=lambda run: (run.start, run.job_id))
        offers = {run.job_id: _spare(run) for run in growing}
        if self.share == "even":
            offers = even_shares(offers, min(free, sum(offers.values())))
        profile = _profile_with_promises(view, promises)
        actions: list[Expand] = []
        for run in growing:
            nodes = _harmless(profile, view.now, run, min(offers.get(run.job_id, 0), free))
            if nodes:
                actions.append(Expand(run.job_id, nodes))
                free -= nodes
        return actions


def _spare(run: RunningJob) -> int:
    """Number of nodes by which a run may grow."""
    return run.max_nodes - run.nodes if run.type is MALLEABLE and not run.borrowed else 0


def _profile_with_promises(view: SystemView, promises: Sequence[Promise]) -> Profile:
    """The availability profile with the reservations of waiting jobs."""
    profile = availability_profile(view)
    waiting = {job.job_id: job for job in view.queue} if promises else {}
    for promise in promises:
        job = waiting[promise.job_id]
        nodes = promise.nodes or job.min_nodes
        profile.reserve(promise.at, job.limit(nodes), nodes)
    return profile


def _harmless(profile: Profile, now: int, run: RunningJob, nodes: int) -> int:
    """Take at most ``nodes`` nodes that stay free until the run would end with them, and return their number."""
    ready = max(now, run.start + run.setup)
    work = (run.expected_end - ready) * run.nodes
    while nodes > 0:
        end = ready + -(-work // (run.nodes + nodes))
        room = profile.least(end, nodes)
        if room >= nodes:
            profile.take(now, end, nodes)
            return nodes
        # With fewer nodes the run ends later, and the longer interval has at most this number of nodes.
        nodes = room
    return 0


EXPANSIONS: Registry[Expansion] = Registry(
    "expansion", "holdfast.expansions", function_adapter("the view", "the promises")
)
EXPANSIONS.add("none", _no_expansion, "running jobs grow by returned loans alone")
EXPANSIONS.add("greedy", Grow("greedy"), "the job that started first grows first, as far as no promise is delayed")
EXPANSIONS.add("even", Grow("even"), "all grow by the same number of nodes, as far as no promise is delayed")
