"""Named streams of random numbers.

Every random choice draws from a stream of its own, so that adding a choice, or changing one parameter, leaves all other
choices unchanged.
"""

from __future__ import annotations

import numpy as np

__all__ = ["stream"]


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
    key = "/".join(str(name) for name in names).encode()
    return np.random.default_rng(np.random.SeedSequence([seed, len(key), *key]))
