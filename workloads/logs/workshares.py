"""Shares of the work of a log that ask for what the jobs of a trace do not carry: GPUs, memory, a QOS."""

from __future__ import annotations

from collections import Counter

__all__ = ["GPU_SHARE", "MEMORY_SHARE", "QOS_SHARE", "WorkShares", "gpus_of"]

#: Keys of a trace's header: shares of the work, and how many QOS there are before that of the work outside the largest.
GPU_SHARE, MEMORY_SHARE, QOS_SHARE = "GpuShare", "MemoryShare", "QosShare"


class WorkShares:
    """Work by what it asks for, while a log is read [node-seconds]."""

    def __init__(self) -> None:
        self._total = 0.0
        self._gpus = 0.0
        self._memory = 0.0
        self._qos: Counter[str] = Counter()

    def add(self, work: float, *, gpus: bool = False, memory: bool = False, qos: str = "") -> None:
        """Take a job."""
        self._total += work
        if gpus:
            self._gpus += work
        if memory:
            self._memory += work
        if qos:
            self._qos[qos] += work  # type: ignore[assignment]  # a float serves as well

    def header(self) -> dict[str, str]:
        """Entries of the header of a trace; none for what no job asks for."""
        told = {}
        total = self._total or 1.0
        for key, work in ((GPU_SHARE, self._gpus), (MEMORY_SHARE, self._memory)):
            if work:
                told[key] = f"{work / total:.4f}"
        if len(self._qos) > 1:
            told[QOS_SHARE] = f"{len(self._qos)} {1 - max(self._qos.values()) / total:.4f}"
        return told


def gpus_of(resources: str) -> bool:
    """Whether trackable or generic resources, as Slurm writes them, have GPUs among them.

    >>> gpus_of("billing=8,cpu=8,gres/gpu=2,node=1"), gpus_of("gpu:a100:4"), gpus_of("cpu=8,gres/gpu=0")
    (True, True, False)
    """
    words = resources.lower().replace(":", "=").split(",")
    return any("gpu" in word and word.rpartition("=")[2].strip() != "0" for word in words)
