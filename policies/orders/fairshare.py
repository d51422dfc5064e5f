"""Fair share: jobs of projects that have used less of the machine go first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

from policies.port import SystemView, WaitingJob
from workloads.ground.errors import ParameterError
from workloads.ground.units import SECOND

__all__ = ["FairShare", "group_of"]


def group_of(job: WaitingJob) -> str:
    """The account of a job: its project, else its user; jobs without either share the empty name."""
    return job.project or job.user


@dataclass(frozen=True)
class FairShare:
    """Fair share: jobs of the project that has used least first, usage being halved with time; then by submit.

    Attributes
    ----------
    half_life
        After so long a node-second counts half [s].
    patience
        So much wait makes up for having used the whole machine alone [s]; 0: nothing does.

    Notes
    -----
    Usage as in Slurm's fair share (``PriorityDecayHalfLife``, by default seven days; slurm.schedmd.com,
    priority_multifactor and classic_fair_share), normalised by the usage of all; here it decays continuously, where
    Slurm does it every ``PriorityCalcPeriod``. All have the same target, so that the smallest usage has the largest
    factor 2^(-usage / share). With ``patience`` it is Maui's sum of a fair-share and a queue-time component
    (Jackson, Snell, Clement: "Core algorithms of the Maui scheduler", JSSPP 2001).
    """

    half_life: float = 7 * 24 * 3600.0
    patience: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.half_life, int | float) and isfinite(self.half_life) and self.half_life > 0):
            raise ParameterError("half_life", "a positive number of seconds", self.half_life)
        if not (isinstance(self.patience, int | float) and isfinite(self.patience) and self.patience >= 0):
            raise ParameterError("patience", "a number of seconds, at least 0", self.patience)

    def at(self, view: SystemView) -> Callable[[WaitingJob], tuple[float, int]]:
        """The share of its group in all usage, less what its wait makes up for, and its submit."""
        total = view.group_usage(None) or 1.0
        now = view.now
        patience = self.patience * SECOND
        shares: dict[str, float] = {}

        def key(job: WaitingJob) -> tuple[float, int]:
            group = job.project or job.user
            share = shares.get(group)
            if share is None:
                # Rounded, so that groups that have used the same by other ways are equal, as they should be.
                share = shares[group] = round(view.group_usage(group) / total, 12)
            if patience:
                share -= (now - job.submit) / patience
            return share, job.submit

        return key
