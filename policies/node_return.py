"""Return of borrowed nodes: a completed on-demand job returns nodes to the jobs that lent them.

Source: Fan et al., IPDPS 2022, section III-B.3; docs/model.md, "The six mechanisms".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.policies.node_limits import largest_admitted_size, spare
from holdfast.policies.port import Expand, Loan, Start, SystemView

__all__ = ["Keep", "give_back"]


@dataclass(frozen=True, slots=True)
class Keep:
    """Hold returned nodes for a preempted job until it can resume."""

    job_id: int
    nodes: int


def give_back(
    view: SystemView, loans: Iterable[Loan], nodes: int, *, hold: bool = False
) -> list[Expand | Start | Keep]:
    """Distribute returned nodes to the lenders, in the order of lending.

    Parameters
    ----------
    view
        The machine; ``view.free`` excludes the returned nodes.
    loans
        Loans in the order of lending.
    nodes
        Number of returned nodes.
    hold
        Whether the nodes of a preempted job that cannot resume are held for it.

    Returns
    -------
    list of Expand, Start or Keep
        Actions for the lenders. A shrunk run that has not ended expands by the nodes that it lent. A preempted job that
        has not run since resumes at once if its lent nodes and the free nodes suffice; otherwise it gets nothing, or
        its lent nodes are held for it.
    """
    actions: list[Expand | Start | Keep] = []
    # Nodes already returned to each run, which may have lent more than once.
    regained: dict[int, int] = {}
    # (end of the walltime, nodes) of returned nodes, which count for windows.
    given: list[tuple[int, int]] = []
    free = view.free
    for loan in loans:
        lent = min(loan.nodes, nodes)
        run, job = loan.shrunk, loan.preempted
        if run is not None:
            grown = min(lent, run.max_nodes - run.nodes - regained.get(run.job_id, 0))
            if view.windows:
                # The run ends earlier with additional nodes.
                grown = min(grown, spare(view, run.expected_end, given))
            if grown > 0:
                given.append((run.expected_end, grown))
                actions.append(Expand(run.job_id, grown))
                regained[run.job_id] = regained.get(run.job_id, 0) + grown
                nodes -= grown
        elif job is not None:
            size = min(job.nodes, lent + free)
            if size >= job.min_nodes and view.windows:
                size = largest_admitted_size(view, job, size, given)
            if size < job.min_nodes:
                if hold and lent:
                    actions.append(Keep(job.job_id, lent))
                    nodes -= lent
                continue
            given.append((view.now + job.limit(size), size))
            returned = min(lent, size)
            actions.append(Start(job.job_id, size, "nodes returned", returned=returned))
            nodes -= returned
            free -= size - returned
    return actions
