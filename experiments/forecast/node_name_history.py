"""The nodes of runs by their names, at any time of a log: only names that it had recorded by then are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from holdfast.workloads.logs.node_names import NamedNodes, NodeNumbers
from holdfast.workloads.logs.trace import TraceJobs

__all__ = ["NodeNameHistory"]


class NodeNameHistory:
    """Node names of a log, each from the first start of a job on it.

    Parameters
    ----------
    jobs
        Jobs of the log.
    nodes
        Size of the machine.
    """

    def __init__(self, jobs: TraceJobs, nodes: int) -> None:
        self._jobs, self._nodes = jobs, nodes
        self._lists = jobs.column("node_list") if jobs.has("node_list") else None
        #: Texts by their first start, and how many names each of them and those before it have.
        self._texts: list[str] = []
        self._since: list[float] = []
        self._counts: list[int] = []
        self._numbers: dict[int, NodeNumbers] = {}
        if self._lists is not None:
            self._order_texts()

    def _order_texts(self) -> None:
        starts = self._jobs.starts
        order = np.argsort(starts, kind="stable")[: int(np.isfinite(starts).sum())]
        lists = self._jobs.column("node_list")[order]
        first = np.sort(np.unique(lists, return_index=True)[1])
        names = NamedNodes()
        for place in first.tolist():
            names.add(self._jobs.names[lists[place]])
            self._texts.append(self._jobs.names[lists[place]])
            self._since.append(float(starts[order[place]]))
            self._counts.append(names.count)

    def bits(self, places: npt.NDArray[np.int64], at: float) -> list[int]:
        """The nodes of some jobs that had started by a time [s], as of :meth:`NodeNumbers.bits`."""
        known = int(np.searchsorted(self._since, at, side="right"))
        if self._lists is None or not known:
            return [0] * len(places)
        count = self._counts[known - 1]
        if count not in self._numbers:
            names = NamedNodes()
            for text in self._texts[:known]:
                names.add(text)
            self._numbers[count] = NodeNumbers(names.names, self._nodes)
        numbers, texts = self._numbers[count], self._jobs.names
        sizes = self._jobs.column("nodes")[places].tolist()
        lists = self._lists[places].tolist()
        return [numbers.bits(texts[number], size) for number, size in zip(lists, sizes, strict=True)]
