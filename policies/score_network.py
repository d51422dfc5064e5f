"""A small neural network that scores alternatives; the alternative with the highest score is chosen."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.trust import admit

__all__ = ["ScoringNetwork"]

_LARGEST = 1 << 20
#: Largest absolute weight; larger ones might overflow in products.
_LARGEST_WEIGHT = 1e100
_ARRAYS = ("inner", "inner_bias", "outer")


@dataclass(frozen=True, eq=False)
class ScoringNetwork:
    """One hidden layer: ``tanh(x @ inner + inner_bias) @ outer``.

    Attributes
    ----------
    inner
        Weights of the features, shape (features, hidden).
    inner_bias
        Biases of the hidden layer, shape (hidden,).
    outer
        Weights of the hidden layer, shape (hidden,).
    answers
        Names of the alternatives that the network scores, such as arrival strategies; empty: it scores waiting jobs.
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
            if value.shape != shape:
                raise ParameterError(name, f"numbers of shape {shape}", value.shape)
            if not (np.abs(value) <= _LARGEST_WEIGHT).all():  # nor NaN
                raise ParameterError(name, f"finite numbers of at most {_LARGEST_WEIGHT:g}", "others")

    @classmethod
    def of(cls, weights: npt.ArrayLike, features: int, answers: tuple[str, ...] = ()) -> ScoringNetwork:
        """Make a network from all weights in one row: ``inner`` row by row, ``inner_bias``, ``outer``.

        Parameters
        ----------
        weights
            Weights, shape ((features + 2) hidden,).
        features
            Number of features.
        answers
            As in the class.
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
            If the file does not hold a network, or names code as an answer without trust.
        """
        place = Path(path)
        try:
            if place.stat().st_size > _LARGEST:
                raise InputError(f"{path}: a network has at most {_LARGEST:,} bytes, not {place.stat().st_size:,}")
            with zipfile.ZipFile(place) as archive:
                inner, bias, outer = (_array(archive, name).astype(float) for name in _ARRAYS)
                answers = _array(archive, "answers").tolist() if "answers.npy" in archive.namelist() else ()
            names = tuple(map(str, answers))
            for name in names:
                admit("arrival strategy", name, path, key="answers")
            return cls(inner, bias, outer, names)
        except FileNotFoundError:
            raise InputError(f"{path}: no such file") from None
        except InputError as error:
            raise InputError(f"{path}: {error}" if not str(error).startswith(str(path)) else str(error)) from None
        except IsADirectoryError:
            raise InputError(f"{path}: is a directory, not a file") from None
        # zipfile raises RuntimeError for an encrypted file, and its subclass NotImplementedError for other
        # compressions.
        except (OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
            raise InputError(f"{path}: is not a network saved as npz") from None

    @classmethod
    def for_policy(cls, model: str, *, features: int, scores: str) -> ScoringNetwork:
        """Load the network of a policy and check that it was trained for that policy.

        Parameters
        ----------
        model
            Path of the file.
        features
            Required number of input features.
        scores
            Subject of the scores: ``waiting jobs`` or ``answers to arrivals``.

        Raises
        ------
        InputError
            If the file holds no network, or one that was trained for another purpose.
        """
        if not model:
            raise InputError("names no network: give its file, as in 'learned model=FILE.npz'")
        network = cls.load(model)
        purpose, own = "answers to arrivals" if network.answers else "waiting jobs", len(network.inner)
        if purpose != scores or own != features:
            raise InputError(f"{model}: the network scores {purpose} by {own} numbers, not {scores} by {features}")
        return network


def _array(archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """Read an array of an npz file, without trusting the size in its header.

    Raises
    ------
    InputError
        If its size differs from its header.
    """
    with archive.open(f"{name}.npy") as packed:
        data = packed.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise InputError(f"the array {name} has more than {_LARGEST:,} bytes")
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    reading = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        with warnings.catch_warnings():
            # numpy reads a header in the syntax of Python 2 with a warning; Holdfast does not write such headers.
            warnings.simplefilter("error")
            shape, by_column, dtype = reading(file)
    except Exception as error:  # numpy evaluates the header as Python and may raise anything
        raise ValueError("no header") from error
    if dtype.kind not in "fiuU":
        raise InputError(f"the array {name} must hold numbers, or names")
    promised, there = math.prod(shape) * dtype.itemsize, len(data) - file.tell()
    if promised != there:
        raise InputError(f"the array {name} has {there:,} bytes, but its header says {promised:,}")
    values = np.frombuffer(data, dtype, offset=file.tell()) if there else np.empty(0, dtype)
    return values.reshape(shape, order="F" if by_column else "C")
