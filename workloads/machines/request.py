"""The resource request of a job, independent of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["ResourceRequest"]


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """Resources that a job requests.

    ``nodes`` without ``tasks`` needs ``cores``, ``memory`` and ``gpus`` on each node. ``tasks`` with ``tasks_per_node``
    (or with ``nodes``) needs as many nodes as hold them, of which the last may hold fewer. ``tasks`` alone fills nodes
    in the order of placement. (Specification: docs/reference/machines.md, "Requests".)

    Attributes
    ----------
    nodes
        Number of nodes; None: what the tasks need, and 1 without tasks.
    tasks, tasks_per_node
        Number of tasks, and how many of them a node takes; None: not given.
    cores
        Of each task; without tasks of each node.
    memory
        [MiB] of each node, or of each core if ``memory_per_core``; None: not asked for.
    memory_per_core
        Whether ``memory`` is that of a core.
    gpus
        Of each node, by kind; those of any kind under ``gpu``.
    features
        Condition on the nodes (:func:`workloads.machines.features.parse_features`); empty: any node.
    partitions
        Partitions; the job uses the first in which it can start. Empty: the default.
    exclusive
        Whether the job gets whole nodes wherever it runs.
    qos, account
        Of the job; empty: none.
    begin
        Time before which it must not start [s of the clock of submits]; None: any.
    """

    nodes: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    cores: int = 1
    memory: int | None = None
    memory_per_core: bool = False
    gpus: Mapping[str, int] = field(default_factory=dict)
    features: str = ""
    partitions: tuple[str, ...] = ()
    exclusive: bool = False
    qos: str = ""
    account: str = ""
    begin: float | None = None
