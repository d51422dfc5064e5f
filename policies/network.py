"""A small network that scores whatever is to be chosen from; the highest score is chosen."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workloads.ground.errors import InputError, ParameterError
from workloads.ground.files import atomic_open
from workloads.ground.trust import admit

__all__ = ["ScoringNetwork"]

_LARGEST = 1 << 20
_ARRAYS = ("inner", "inner_bias", "outer")


@dataclass(frozen=True, eq=False)
class ScoringNetwork:
    """One hidden layer: ``tanh(x @ inner + inner_bias) @ outer``.

    Attributes
    ----------
    inner
        Weights of the features, shape (features, hidden).
    inner_bias
        Shape (hidden,).
    outer
        Weights of the hidden layer, shape (hidden,).
    answers
        Names of the answers that it scores, such as arrival strategies; empty: it scores waiting jobs.
    """

    inner: npt.NDArray[np.float64]
    inner_bias: npt.NDArray[np.float64]
    outer: npt.NDArray[np.float64]
    answers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        hidden, features = len(np.atleast_1d(self.outer)), len(np.atleast_1d(self.inner))
        shapes = {"inner": (features, hidden), "inner_bias": (hidden,), "outer": (hidden,)}
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value.shape != shape or not np.isfinite(value).all():
                raise ParameterError(name, f"finite numbers of shape {shape}", value.shape)

    @classmethod
    def of(cls, weights: npt.ArrayLike, features: int, answers: tuple[str, ...] = ()) -> ScoringNetwork:
        """The network with these weights in one row: ``inner`` row by row, ``inner_bias``, ``outer``.

        Parameters
        ----------
        weights
            Shape ((features + 2) hidden,).
        features
            Numbers that it sees of each thing that it scores.
        answers
            As of the class.
        """
        row = np.asarray(weights, dtype=float)
        parts = features + 2
        if row.ndim != 1 or not row.size or row.size % parts:
            raise ParameterError("weights", f"a row of a multiple of {parts} numbers", row.shape)
        hidden = row.size // parts
        inner, bias, outer = np.split(row, [features * hidden, (features + 1) * hidden])
        return cls(inner.reshape(features, hidden), bias, outer, answers)

    def scores(self, features: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Scores, shape (n,), from features, shape (n, features)."""
        found: npt.NDArray[np.float64] = np.tanh(np.asarray(features) @ self.inner + self.inner_bias) @ self.outer
        return found

    def save(self, path: str | Path) -> None:
        """Write the network as an npz file, which ``learned model=FILE`` reads."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        if self.answers:
            arrays["answers"] = np.array(self.answers)
        with atomic_open(Path(path), "wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> ScoringNetwork:
        """Read a network that was saved.

        Raises
        ------
        InputError
            If the file holds none, or names code as an answer and is not trusted.
        """
        place = Path(path)
        try:
            if place.stat().st_size > _LARGEST:
                raise InputError(f"{path}: a network has at most {_LARGEST:,} bytes, not {place.stat().st_size:,}")
            # Opened here, because numpy leaves a file open that is none of its own.
            with place.open("rb") as file, np.load(file, allow_pickle=False) as found:
                inner, bias, outer = (np.array(found[name], dtype=float) for name in _ARRAYS)
                answers = tuple(map(str, found["answers"].tolist())) if "answers" in found else ()
            for name in answers:
                admit("arrival strategy", name, path, key="answers")
            return cls(inner, bias, outer, answers)
        except FileNotFoundError:
            raise InputError(f"{path}: no such file") from None
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as error:
            told = str(error) if isinstance(error, InputError) else "is no network that was saved as npz"
            raise InputError(f"{path}: {told}" if not told.startswith(str(path)) else told) from None

    @classmethod
    def named(cls, model: str, *, features: int, scores: str) -> ScoringNetwork:
        """The network of a policy, which has the file as its parameter ``model``.

        Parameters
        ----------
        model
            The file.
        features
            Numbers that the network must see of each thing.
        scores
            What it must score: ``waiting jobs`` or ``answers to arrivals``.

        Raises
        ------
        InputError
            If the file holds none, or one that was trained for something else.
        """
        if not model:
            raise InputError("names no network: give its file, as in 'learned model=FILE.npz'")
        network = cls.load(model)
        told, own = "answers to arrivals" if network.answers else "waiting jobs", len(network.inner)
        if told != scores or own != features:
            raise InputError(f"{model}: the network scores {told} by {own} numbers, not {scores} by {features}")
        return network
