"""Shares of the work of a log by properties that a trace does not store: GPUs, memory, features, QOS, queues."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

__all__ = [
    "GPU_SHARE",
    "MEMORY_SHARE",
    "NOT_RECORDED",
    "PROPERTY_SHARE",
    "QOS_SHARE",
    "QUEUE_SHARE",
    "WorkShares",
    "has_gpus",
]

#: Keys of a trace's header: shares of the work.
GPU_SHARE, MEMORY_SHARE, PROPERTY_SHARE = "GpuShare", "MemoryShare", "PropertyShare"
#: Likewise, after how many QOS or queues there are: the share of the work outside the largest.
QOS_SHARE, QUEUE_SHARE = "QosShare", "QueueShare"
#: Likewise: the unit, nodes or processors, in which the log does not record sizes.
NOT_RECORDED = "NotRecorded"


class WorkShares:
    """Work by what it asks for, while a log is read [node-seconds]."""

    def __init__(self) -> None:
        self._total = 0.0
        self._gpus = 0.0
        self._memory = 0.0
        self._properties = 0.0
        self._qos: dict[str, float] = defaultdict(float)
        self._queues: dict[str, float] = defaultdict(float)

    def add(self, work: float, *, gpus: bool = False, memory: bool = False, qos: str = "") -> None:
        """Take a job."""
        self._total += work
        if gpus:
            self._gpus += work
        if memory:
            self._memory += work
        if qos:
            self._qos[qos] += work

    def add_properties(self, work: float) -> None:
        """Take work that asks for properties of nodes, of jobs that are taken otherwise."""
        self._properties += work

    def add_queues(self, work: Mapping[str, float]) -> None:
        """Take the work by queue, of jobs that are taken otherwise."""
        for queue, amount in work.items():
            self._queues[queue] += amount

    def header(self) -> dict[str, str]:
        """Entries of the header of a trace; none for what no job asks for."""
        entries = {}
        total = self._total or 1.0
        shares = (GPU_SHARE, self._gpus), (MEMORY_SHARE, self._memory), (PROPERTY_SHARE, self._properties)
        for key, work in shares:
            if work:
                entries[key] = f"{work / total:.4f}"
        for key, groups in ((QOS_SHARE, self._qos), (QUEUE_SHARE, self._queues)):
            if len(groups) > 1:
                entries[key] = f"{len(groups)} {1 - max(groups.values()) / total:.4f}"
        return entries


@lru_cache(4096)
def has_gpus(resources: str) -> bool:
    """Whether trackable or generic resources, as Slurm writes them, have GPUs among them.

    >>> has_gpus("billing=8,cpu=8,gres/gpu=2,node=1"), has_gpus("gpu:a100:4"), has_gpus("cpu=8,gres/gpu=0")
    (True, True, False)
    """
    words = resources.lower().replace(":", "=").split(",")
    return any("gpu" in word and word.rpartition("=")[2].strip() != "0" for word in words)
