"""A learned queue order: a small network scores each waiting job, and the job with the highest score goes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log10

from policies.port import SystemView, WaitingJob
from policies.score_network import ScoringNetwork
from workloads.ground.errors import InputError
from workloads.ground.units import SECOND

__all__ = ["FEATURES", "Learned", "job_features"]

#: What the network sees of a job: logarithms to base 10 of 1 + seconds over 6, and the size as a share of the machine
#: and as a share of its logarithm.
FEATURES = ("wait", "walltime", "nodes", "log_nodes")


def job_features(job: WaitingJob, now: int, nodes: int) -> tuple[float, float, float, float]:
    """What the network sees of a job on a machine of ``nodes`` nodes, in the order of :data:`FEATURES`."""
    return (
        log10(1.0 + (now - job.eligible) / SECOND) / 6.0,
        log10(1.0 + job.walltime / SECOND) / 6.0,
        job.nodes / nodes,
        log10(job.nodes) / (log10(nodes) or 1.0),
    )


@dataclass(frozen=True)
class Learned:
    """The order of a network that was learned: the highest score goes first.

    Attributes
    ----------
    model
        The npz file of the network (:meth:`ScoringNetwork.save`).
    """

    model: str = ""
    network: ScoringNetwork | None = field(default=None, metadata={"parameter": False}, repr=False, compare=False)

    def ready(self) -> Learned:
        """The order with its network.

        Raises
        ------
        InputError
            If there is none.
        """
        if self.network is not None:
            return self
        return Learned(self.model, ScoringNetwork.for_policy(self.model, features=len(FEATURES), scores="waiting jobs"))

    def at(self, view: SystemView) -> Callable[[WaitingJob], float]:
        """Less the score of a job at this instant."""
        network = self.network
        if network is None:
            raise InputError("the order was not made ready")
        now, nodes = view.now, view.nodes

        def key(job: WaitingJob) -> float:
            return -float(network.scores(job_features(job, now, nodes)))

        return key
