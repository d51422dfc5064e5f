"""What tests of all packages share: short ways to write jobs (also from here), processes, pictures, a browser."""

from tests.support.jobs import (
    ENGINES,
    Seen,
    losses,
    malleable,
    on_demand,
    outcomes,
    resealed,
    rigid,
    stochastic,
    untimed,
)

__all__ = [
    "ENGINES",
    "Seen",
    "losses",
    "malleable",
    "on_demand",
    "outcomes",
    "resealed",
    "rigid",
    "stochastic",
    "untimed",
]
