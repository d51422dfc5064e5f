"""Two-level factorial designs of resolution V over the readings of a paper, and linear models fitted to them.

A design of resolution V estimates the effects of all factors and of all pairs of factors without confounding them.
For 17 factors, 256 readings suffice, because any four columns of the parity-check matrix of the quadratic residue code
of length 17 are linearly independent (MacWilliams & Sloane, The Theory of Error-Correcting Codes, 1977, chapter 16).
Four factors have a full factorial design.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.statistics import Interval
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["FEWEST_FACTORS", "MOST_FACTORS", "ResponseModel", "readings_in_pieces", "resolution_five", "year_blocks"]

Floats = NDArray[np.float64]
Levels = NDArray[np.bool_]

#: Largest number of factors of a design of resolution V with 256 runs.
MOST_FACTORS = 17
_BITS = 8
#: Smallest number of factors, with a full factorial design.
FEWEST_FACTORS = 4
#: Generator polynomial of the code: x^8 + x^5 + x^4 + x^3 + 1.
_GENERATOR = 0b1_0011_1001


def _code(factors: int) -> tuple[int, list[int]]:
    """Number of runs, and columns of the parity-check matrix: the powers of x modulo the generator polynomial."""
    if not FEWEST_FACTORS <= factors <= MOST_FACTORS:
        raise ParameterError("factors", f"from {FEWEST_FACTORS} to {MOST_FACTORS}", factors)
    if factors == FEWEST_FACTORS:
        return 2**factors, [1 << place for place in range(factors)]
    columns, power = [], 1
    for _ in range(factors):
        columns.append(power)
        power <<= 1
        if power >> _BITS:
            power ^= _GENERATOR
    return 2**_BITS, columns


def _parity(word: int) -> bool:
    return bool(word.bit_count() & 1)


def resolution_five(factors: int) -> Levels:
    """Make a two-level design of resolution V.

    Parameters
    ----------
    factors
        Number of factors, 4 to 17.

    Returns
    -------
    ndarray of bool, shape (256, factors)
        The level of each factor in each run. In the first run, all factors are at their low level. Designs of four
        factors have 16 runs.

    Raises
    ------
    ParameterError
        If there are too few or too many factors.
    """
    runs, columns = _code(factors)
    return np.array([[_parity(run & column) for column in columns] for run in range(runs)])


def year_blocks(factors: int) -> NDArray[np.int64]:
    """Assign the runs of :func:`resolution_five` to equal blocks that are not confounded with effects.

    Returns
    -------
    ndarray of int, shape (256,)
        The block of each run, 0 to 3 (0 or 1 for 16 runs). The contrasts between blocks are orthogonal to all factors
        and all pairs of factors.
    """
    runs, columns = _code(factors)
    used = {*columns, *(first ^ second for first, second in combinations(columns, 2))}
    free = [word for word in range(1, runs) if word not in used]
    pairs = (pair for pair in combinations(free, 2) if pair[0] ^ pair[1] not in used)
    words = next(pairs, (free[-1],))
    return np.array([sum(_parity(run & word) << place for place, word in enumerate(words)) for run in range(runs)])


@dataclass(frozen=True)
class ResponseModel:
    """Linear model of responses: mean, effects of factors, and effects of pairs of factors.

    Attributes
    ----------
    factors
        Number of factors.
    coefficients
        Coefficients of mean, factors and pairs, shape (1 + factors + pairs, responses); that of a factor is half of the
        difference between its levels.
    errors
        Standard errors of the coefficients, by response.
    freedom
        Degrees of freedom of the residuals, by response.
    spread
        Standard deviation between years under one reading, by response: of the blocks and of the residuals.
    """

    factors: int
    coefficients: Floats
    errors: Floats
    freedom: NDArray[np.int64]
    spread: Floats

    @classmethod
    def fit(cls, levels: Levels, blocks: NDArray[np.int64], responses: Floats) -> ResponseModel:
        """Fit the model by least squares.

        Parameters
        ----------
        levels
            Level of each factor in each run, shape (runs, factors).
        blocks
            Block of each run, shape (runs,); block means are also fitted.
        responses
            Responses, shape (runs, responses). NaN excludes a run for a response. If too few runs are left, all results
            for the response are NaN.
        """
        effects = _effects(levels)
        names = np.unique(blocks)
        # Sum-to-zero coding of the blocks, so that the first coefficient remains the overall mean.
        contrasts = np.column_stack([(blocks == name).astype(float) - (blocks == names[-1]) for name in names[:-1]])
        model = np.column_stack([effects, contrasts])
        width, count = effects.shape[1], responses.shape[1]
        coefficients, errors, spread = np.zeros((width, count)), np.zeros(count), np.zeros(count)
        freedom = np.zeros(count, dtype=np.int64)
        for place in range(count):
            known = np.isfinite(responses[:, place])
            freedom[place] = known.sum() - model.shape[1]
            if freedom[place] < 1:
                coefficients[:, place] = errors[place] = spread[place] = np.nan
                continue
            fit, *_ = np.linalg.lstsq(model[known], responses[known, place], rcond=None)
            rest = responses[known, place] - model[known] @ fit
            variance = float(rest @ rest) / freedom[place]
            coefficients[:, place] = fit[:width]
            inverse = np.linalg.pinv(model[known].T @ model[known])
            errors[place] = np.sqrt(variance * inverse[0, 0])
            shifts = np.append(fit[width:], -fit[width:].sum())
            between = float(shifts @ shifts) / max(1, len(names) - 1)
            spread[place] = np.sqrt(variance + between)
        return cls(levels.shape[1], coefficients, errors, freedom, spread)

    def predict(self, levels: Levels) -> Floats:
        """Mean responses of readings; shape (readings, responses)."""
        return _effects(levels) @ self.coefficients

    def effect(self, response: int, *factors: int) -> Interval:
        """Effect of a level on a response, averaged over the other factors, with its 95 % interval.

        Parameters
        ----------
        response
            Index of the response.
        *factors
            One factor; or two for their interaction, which is half the change of one effect between the levels of the
            other factor.
        """
        from scipy.special import stdtrit

        place = _terms(self.factors).index(factors) if factors else 0
        mean, error = 2 * float(self.coefficients[place, response]), 2 * float(self.errors[response])
        margin = float(stdtrit(self.freedom[response], 0.975)) * error
        return Interval(mean, mean - margin, mean + margin, error, int(self.freedom[response]))


def _terms(factors: int) -> list[tuple[int, ...]]:
    """The mean, each factor, and each pair of factors."""
    return [(), *((place,) for place in range(factors)), *combinations(range(factors), 2)]


def _effects(levels: Levels) -> Floats:
    """The columns of the model: -1 and +1 for each factor, and products of two of them."""
    signs = 2.0 * np.asarray(levels, dtype=float) - 1.0
    return np.column_stack([np.prod(signs[:, list(term)], axis=1) for term in _terms(levels.shape[1])])


def readings_in_pieces(factors: int, size: int = 2**12) -> Iterator[Levels]:
    """All readings of some factors, in blocks that fit into memory; the first reading has all levels low."""
    for begin in range(0, 2**factors, size):
        numbers = np.arange(begin, min(begin + size, 2**factors))
        yield (numbers[:, None] >> np.arange(factors) & 1).astype(bool)
