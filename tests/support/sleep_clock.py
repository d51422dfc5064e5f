"""A clock that only the sleep of a replay moves."""

from __future__ import annotations

import pytest

from holdfast.experiments.slurm import live_replay

__all__ = ["SleepClock"]


class SleepClock:
    """The clock of a stand-in of Slurm, ``speed`` times as fast as sleeping."""

    speed = 60.0

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = 1e9
        monkeypatch.setattr(live_replay.time, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.clock += seconds * self.speed

    def now(self) -> float:
        """The time [s]."""
        return self.clock
