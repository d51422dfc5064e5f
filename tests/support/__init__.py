"""What tests of all packages share: short ways to write jobs (also from here), processes, pictures, a browser."""

from tests.support.jobs import (
    ENGINES,
    Seen,
    losses,
    malleable,
    manifest_without_times,
    on_demand,
    outcomes,
    reseal,
    rigid,
    stochastic,
)

__all__ = [
    "ENGINES",
    "Seen",
    "losses",
    "malleable",
    "manifest_without_times",
    "on_demand",
    "outcomes",
    "reseal",
    "rigid",
    "stochastic",
]
