"""One thread for each numerical library.

With more threads, a library splits a sum among them and rounds it differently: results would depend on the number of
cores. OpenBLAS also starts its threads when numpy is imported, which costs more than all other imports: a replay of one
job takes 0.22 s of processor time with one thread and 0.36 s with two (``python -m tests.benchmarks.process``).
"""

from __future__ import annotations

import os

__all__ = ["limit_library_threads", "thread_limits"]

#: Variables of the environment that limit the threads of numerical libraries.
_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def thread_limits() -> dict[str, str]:
    """Variables of the environment with one thread for each library; what the user has set stays."""
    return {name: os.environ.get(name, "1") for name in _VARIABLES}


def limit_library_threads() -> None:
    """Limit the threads of libraries that this process imports from now on, and of the processes that it starts."""
    os.environ.update(thread_limits())
