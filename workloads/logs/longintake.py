"""The intake of a long log: by the same rules as every other, into columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workloads.logs.intake import Intake
from workloads.logs.trace import Trace
from workloads.logs.tracecolumns import TraceGrowth

__all__ = ["LongIntake"]


class LongIntake(Intake):
    """Collects the jobs of one log in columns; recorded waits, dependencies and withdrawals are passed over."""

    def __init__(self) -> None:
        super().__init__()
        self._grown = TraceGrowth()
        self.jobs = self._grown  # type: ignore[assignment]  # which takes jobs like a list

    def withdraw(self, *told: Any, **more: Any) -> None:
        """Pass over a job that was withdrawn before it started; it is counted as left out already."""

    def trace(
        self, path: str | Path, format: str, nodes: int | None, header: Mapping[str, str], unit: str = "nodes"
    ) -> Trace:
        jobs = self._grown.columns()
        if not len(jobs):
            self.jobs = []
            return super().trace(path, format, nodes, header, unit)
        repeated = len(jobs) - len(np.unique(jobs.job_id))
        if repeated:
            self.remarks["job id seen before"] += repeated
        told = str(path), format, dict(header), dict(self.excluded), dict(self.remarks)
        return Trace(jobs, nodes, *told, unit=unit)
