"""Named streams of random numbers.

Every random choice draws from a stream of its own, so that adding a choice, or changing one parameter, leaves all other
choices unchanged.
"""

from __future__ import annotations

from operator import index

import numpy as np

__all__ = ["stream"]

_WORD = 2**32 - 1


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The generator of one named stream.

    Parameters
    ----------
    seed
        Seed of the experiment, >= 0.
    *names
        Name of the random choice, e.g. ``"types"``.

    Returns
    -------
    numpy.random.Generator
        Generator that is equal for equal arguments on every machine, and independent for different arguments.

    Examples
    --------
    >>> bool(stream(7, "types").random() == stream(7, "types").random())
    True
    >>> bool(stream(7, "types").random() == stream(7, "notices").random())
    False
    """
    # The name is encoded as bytes of entropy; hash() would differ between processes.
    key = "/".join(map(str, names)).encode()
    number = index(seed)
    if number < 0:
        raise ValueError("a seed must be at least 0")
    # The words of 32 bits into which numpy splits the numbers of a list, for which it takes twice as long.
    words = [number >> shift & _WORD for shift in range(0, number.bit_length() or 1, 32)]
    return np.random.default_rng(np.random.SeedSequence(np.array([*words, len(key), *key], np.uint32)))
