"""A learned queue order: a small network scores each waiting job, and the job with the highest score goes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log10

from holdfast.policies.port import SystemView, WaitingJob
from holdfast.policies.score_network import ScoringNetwork
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND

__all__ = ["FEATURES", "Learned", "job_features"]

#: Features of a job: log10(1 + seconds) / 6 for wait and walltime, the size as a share of the machine, and the
#: logarithm of the size divided by the logarithm of the machine size.
FEATURES = ("wait", "walltime", "nodes", "log_nodes")


def job_features(job: WaitingJob, now: int, nodes: int) -> tuple[float, float, float, float]:
    """Features of a job on a machine of ``nodes`` nodes, in the order of :data:`FEATURES`."""
    return (
        log10(1.0 + (now - job.eligible) / SECOND) / 6.0,
        log10(1.0 + job.walltime / SECOND) / 6.0,
        job.nodes / nodes,
        log10(job.nodes) / (log10(nodes) or 1.0),
    )


@dataclass(frozen=True)
class Learned:
    """Queue order by the score of a trained network: the highest score goes first.

    Attributes
    ----------
    model
        The npz file of the network (:meth:`ScoringNetwork.save`).
    """

    model: str = ""
    network: ScoringNetwork | None = field(default=None, metadata={"parameter": False}, repr=False, compare=False)

    def ready(self) -> Learned:
        """Load the network and return the order.

        Raises
        ------
        InputError
            If there is no network.
        """
        if self.network is not None:
            return self
        return Learned(self.model, ScoringNetwork.for_policy(self.model, features=len(FEATURES), scores="waiting jobs"))

    def at(self, view: SystemView) -> Callable[[WaitingJob], float]:
        """Return the key: minus the score of a job at this instant."""
        network = self.network
        if network is None:
            raise InputError("the network of the order was not loaded: call ready()")
        now, nodes = view.now, view.nodes

        def key(job: WaitingJob) -> float:
            return -float(network.scores(job_features(job, now, nodes)))

        return key
