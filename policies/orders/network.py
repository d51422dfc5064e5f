"""An order that was learned: a small network scores each waiting job, and the highest score goes first."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from math import log10
from pathlib import Path

import numpy as np
import numpy.typing as npt

from policies.port import SystemView, WaitingJob
from workloads.ground.errors import InputError, ParameterError
from workloads.ground.files import atomic_open
from workloads.ground.units import SECOND

__all__ = ["FEATURES", "Learned", "ScoringNetwork", "features_of"]

#: What the network sees of a job: logarithms to base 10 of 1 + seconds over 6, and the size as a share of the machine
#: and as a share of its logarithm.
FEATURES = ("wait", "walltime", "nodes", "log_nodes")
_LARGEST = 1 << 20
_ARRAYS = ("inner", "inner_bias", "outer")


def features_of(job: WaitingJob, now: int, nodes: int) -> tuple[float, float, float, float]:
    """What the network sees of a job on a machine of so many nodes, in the order of :data:`FEATURES`."""
    return (
        log10(1.0 + (now - job.submit) / SECOND) / 6.0,
        log10(1.0 + job.walltime / SECOND) / 6.0,
        job.nodes / nodes,
        log10(job.nodes) / (log10(nodes) or 1.0),
    )


@dataclass(frozen=True, eq=False)
class ScoringNetwork:
    """One hidden layer: ``tanh(x @ inner + inner_bias) @ outer``.

    Attributes
    ----------
    inner
        Weights of the features, shape (4, hidden).
    inner_bias
        Shape (hidden,).
    outer
        Weights of the hidden layer, shape (hidden,).
    """

    inner: npt.NDArray[np.float64]
    inner_bias: npt.NDArray[np.float64]
    outer: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        hidden = len(np.atleast_1d(self.outer))
        shapes = {"inner": (len(FEATURES), hidden), "inner_bias": (hidden,), "outer": (hidden,)}
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value.shape != shape or not np.isfinite(value).all():
                raise ParameterError(name, f"finite numbers of shape {shape}", value.shape)

    @classmethod
    def of(cls, weights: npt.ArrayLike) -> ScoringNetwork:
        """The network with these weights in one row: ``inner`` row by row, ``inner_bias``, ``outer``.

        Parameters
        ----------
        weights
            Shape (6 hidden,).
        """
        row = np.asarray(weights, dtype=float)
        parts = len(FEATURES) + 2
        if row.ndim != 1 or not row.size or row.size % parts:
            raise ParameterError("weights", f"a row of a multiple of {parts} numbers", row.shape)
        hidden = row.size // parts
        inner, bias, outer = np.split(row, [len(FEATURES) * hidden, (len(FEATURES) + 1) * hidden])
        return cls(inner.reshape(len(FEATURES), hidden), bias, outer)

    def scores(self, features: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Scores of jobs, shape (jobs,), from their features, shape (jobs, 4)."""
        found: npt.NDArray[np.float64] = np.tanh(np.asarray(features) @ self.inner + self.inner_bias) @ self.outer
        return found

    def save(self, path: str | Path) -> None:
        """Write the network as an npz file, which ``learned model=FILE`` reads."""
        with atomic_open(Path(path), "wb") as file:
            np.savez(file, **{name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def load(cls, path: str | Path) -> ScoringNetwork:
        """Read a network that was saved.

        Raises
        ------
        InputError
            If the file holds none.
        """
        place = Path(path)
        try:
            if place.stat().st_size > _LARGEST:
                raise InputError(f"{path}: a network has at most {_LARGEST:,} bytes, not {place.stat().st_size:,}")
            # Opened here, because numpy leaves a file open that is none of its own.
            with place.open("rb") as file, np.load(file, allow_pickle=False) as found:
                return cls(*(np.array(found[name], dtype=float) for name in _ARRAYS))
        except FileNotFoundError:
            raise InputError(f"{path}: no such file") from None
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as error:
            told = str(error) if isinstance(error, InputError) else "is no network that was saved as npz"
            raise InputError(f"{path}: {told}" if not told.startswith(str(path)) else told) from None


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
        if not self.model:
            raise InputError("names no network: give its file, as in 'learned model=FILE.npz'")
        return Learned(self.model, ScoringNetwork.load(self.model))

    def at(self, view: SystemView) -> Callable[[WaitingJob], float]:
        """Less the score of a job at this instant."""
        network = self.network
        if network is None:
            raise InputError("the order was not made ready")
        now, nodes = view.now, view.nodes

        def key(job: WaitingJob) -> float:
            return -float(network.scores(features_of(job, now, nodes)))

        return key
