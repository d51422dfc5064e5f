"""Expected releases of nodes, as policies see them: how many nodes each running job is expected to free, and when."""

from __future__ import annotations

from bisect import bisect_left, insort

from holdfast.simulator.machine.node_accounts import Gathering, Run

__all__ = ["ExpectedReleases"]


class ExpectedReleases:
    """A sorted list with at most one entry for each run and each gathering job.

    Attributes
    ----------
    entries
        (time, rank of the job, nodes), ascending (:attr:`holdfast.policies.port.SystemView.releases`).
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, int]] = []

    def expect(self, run: Run) -> None:
        """Insert or update the entry of a run: when it is expected to release nodes, and how many."""
        entries, nodes = self.entries, run.nodes
        if run.release is not None:
            del entries[bisect_left(entries, run.release)]
        if run.lenders or run.claims:
            nodes -= run.borrowed + run.promised_nodes()
        run.release = entry = (run.end if run.warned else run.expected_end, run.job.rank, nodes)
        insort(entries, entry)

    def expect_gathering(self, gathering: Gathering) -> None:
        """Insert the entry of a gathering job, which will release all its nodes at the end of its walltime."""
        job = gathering.job
        gathering.release = (gathering.ready + job.walltime, job.rank, job.nodes)
        insort(self.entries, gathering.release)

    def forget(self, release: tuple[int, int, int] | None) -> None:
        """Remove an entry."""
        if release is not None:
            del self.entries[bisect_left(self.entries, release)]
