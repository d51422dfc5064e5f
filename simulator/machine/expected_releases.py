"""Expected releases of nodes, as policies see them: how many nodes each running job is expected to free, and when."""

from __future__ import annotations

from bisect import bisect_left, insort

from simulator.machine.node_accounts import Gathering, Run

__all__ = ["ExpectedReleases"]


class ExpectedReleases:
    """A sorted list to which each run, and each gathering, contributes at most one entry.

    Attributes
    ----------
    entries
        (time, rank of the job, nodes), ascending (:attr:`policies.port.SystemView.releases`).
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, int]] = []

    def expect(self, run: Run) -> None:
        """Enter, or enter anew, when a run is expected to release how many nodes."""
        entries, nodes = self.entries, run.nodes
        if run.release is not None:
            del entries[bisect_left(entries, run.release)]
        if run.lenders or run.claims:
            nodes -= run.borrowed + run.promised_nodes()
        run.release = entry = (run.end if run.warned else run.expected_end, run.job.rank, nodes)
        insort(entries, entry)

    def expect_gathering(self, gathering: Gathering) -> None:
        """An arrived job that waits for promised nodes will release all its nodes when its walltime is over."""
        job = gathering.job
        gathering.release = (gathering.ready + job.walltime, job.rank, job.nodes)
        insort(self.entries, gathering.release)

    def forget(self, release: tuple[int, int, int] | None) -> None:
        """Take an entry off."""
        if release is not None:
            del self.entries[bisect_left(self.entries, release)]
