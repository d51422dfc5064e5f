"""The answer to a what-if question: as text, as a table, as JSON and as a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.recordings.summaries import metric_column, starvation
from holdfast.experiments.recordings.week_blocks import block_doubt
from holdfast.experiments.statistics import holm
from holdfast.experiments.tables import is_known, render
from holdfast.experiments.whatif.conclusion import conclude
from holdfast.experiments.whatif.contrasts import METRICS, Contrast
from holdfast.experiments.whatif.operation import Operation
from holdfast.experiments.whatif.outcomes import ScheduleOutcome
from holdfast.experiments.whatif.wording import WaitUnit
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.wording import in_unit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ReplayCalibration", "WhatIf"]

_LEVEL = 0.05
#: Writer of the page.
_PAGE = "holdfast.experiments.whatif.page:write_page"
#: Number of the most affected groups that the text names.
_SHOWN = 2


@dataclass(frozen=True)
class ReplayCalibration:
    """The replay of today's rule beside the schedule that the log records.

    Attributes
    ----------
    recorded
        The recorded schedule.
    error
        Difference of the mean waits (replay minus recorded) over the jobs with a recorded start, as a row of
        :func:`holdfast.experiments.recordings.gain_rows.gain_rows`.
    groups
        The same by partition, size class and user, where the log has several.
    typical
        Median of the absolute errors of single waits [h].
    """

    recorded: ScheduleOutcome
    error: Mapping[str, Any]
    groups: Mapping[str, Sequence[Mapping[str, Any]]]
    typical: float


@dataclass(frozen=True)
class WhatIf:
    """Today's rule and its alternatives, for the jobs of a log.

    Attributes
    ----------
    log, unit, jobs, period
        The log, the unit of its sizes, the number of its jobs, and its first and last submission.
    today
        Today's rule.
    replay
        Its replay.
    calibration
        The replay beside the recorded schedule; None: the log records no starts.
    contrasts
        The alternatives beside today's rule, in the order of the question. Their verdicts count all of them (Holm).
    cluster
        Length of the blocks of dependent jobs in the intervals: ``week``, ``day``, ...
    periods
        Name of the periods of use.
    caveats
        Features of the log that one pool of equal nodes does not model.
    """

    log: str
    unit: str
    jobs: int
    period: tuple[str, ...]
    today: Operation
    replay: ScheduleOutcome
    calibration: ReplayCalibration | None
    contrasts: tuple[Contrast, ...]
    cluster: str
    periods: str
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows = [contrast.wait for contrast in self.contrasts if contrast.wait["p_value"] is not None]
        for row, adjusted in zip(rows, holm([row["p_value"] for row in rows]), strict=True):
            row["p_value"] = adjusted
            if row["verdict"] != "equal":
                decided = "gains" if row["difference"] < 0 else "loses"
                row["verdict"] = decided if adjusted < _LEVEL else "undecided"

    @property
    def conclusion(self) -> str:
        """Two sentences: what the alternatives do, and what is undecided."""
        error = None if self.calibration is None else self.calibration.error
        return conclude(self.contrasts, error, self.cluster, self.time_unit)

    @property
    def doubt(self) -> str:
        """Why the intervals may be too narrow; empty: there is no reason."""
        return block_doubt(self.cluster, self.replay.summary["wait_h"])

    @property
    def time_unit(self) -> WaitUnit:
        """Unit of the waits in words: hours, or minutes where all means are shorter."""
        return WaitUnit.of(row["wait_h"] for row in self.rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for the recorded schedule, today's rule and each alternative: its metrics, and its paired difference.

        ``wait_difference_h`` with ``low`` and ``high``, and ``p99_difference_h`` with ``p99_low`` and ``p99_high``, are
        those from today's rule on the same jobs, 95 % intervals. ``verdict``: ``gains``, ``loses``, ``undecided`` or
        ``equal``.
        """
        return list(self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        if self.calibration is not None:
            yield {"run": "as recorded", **{name: self.calibration.recorded.summary[name] for name in METRICS}}
        yield {"run": self.today.name, **{name: self.replay.summary[name] for name in METRICS}}
        for contrast in self.contrasts:
            row, p99 = contrast.wait, contrast.p99
            yield {
                "run": contrast.operation.name,
                **contrast.summary,
                "wait_difference_h": row["difference"],
                "low": row["low"],
                "high": row["high"],
                "p99_difference_h": p99.mean,
                "p99_low": None if math.isnan(p99.low) else p99.low,
                "p99_high": None if math.isnan(p99.high) else p99.high,
                "verdict": row["verdict"],
            }

    @property
    def frame(self) -> pd.DataFrame:
        """:attr:`rows` as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def text(self) -> str:
        """The answer for a terminal."""
        unit = self.time_unit
        lines = [
            {
                **row,
                "difference": unit.difference(row.get("wait_difference_h"), row.get("low"), row.get("high")),
                "p99_difference": unit.difference(row.get("p99_difference_h"), row.get("p99_low"), row.get("p99_high")),
            }
            for row in self.rows
        ]
        columns = [
            Quantity("run"),
            *(
                metric_column(name, head, "wait", unit=unit.name, scale=unit.scale)
                for name, head in (("wait_h", "mean"), ("wait_p99_h", "p99"), ("wait_max_h", "longest"))
            ),
            Quantity("difference", "mean wait", unit.name, group="difference from today's rule [95 %]"),
            Quantity("p99_difference", "p99", unit.name, group="difference from today's rule [95 %]"),
            metric_column("utilization_to_last_submit", "last submit", "util. until"),
            Quantity("verdict"),
        ]
        starved = starvation([{"mechanism": row["run"], "starved": round(row["starved"])} for row in self.rows])
        parts = [self.conclusion, render(lines, columns, self.unit), starved, self._about_differences()]
        parts += [self._winners(contrast) for contrast in self.contrasts]
        return in_unit("\n".join(filter(None, parts)), self.unit)

    def __str__(self) -> str:
        return self.text()

    def _about_differences(self) -> str:
        text = f"intervals keep the jobs of one {self.cluster} together; verdicts count all alternatives (Holm)"
        drawn = next((contrast.draws for contrast in self.contrasts if contrast.draws), 0)
        if drawn:
            text += f"; on-demand jobs: {drawn} draw{'s' * (drawn > 1)}, compared with today's rule on the same draws"
        text += f"; {self.doubt}" if self.doubt else ""
        left = [f"{one.left_out:,} by {one.operation.name}" for one in self.contrasts if one.left_out]
        return text + (f"; jobs that cannot run are left out: {', '.join(left)}" if left else "")

    def _winners(self, contrast: Contrast) -> str:
        """The groups that gain and lose most under an alternative."""
        unit = self.time_unit
        lines = [f"{contrast.operation.name}:"]
        for by, rows in contrast.groups.items():
            groups = rows[1:]
            gains, loses = (
                sorted((row for row in groups if row["verdict"] == verdict), key=lambda row: abs(row["difference"]))
                for verdict in ("gains", "loses")
            )
            if not gains and not loses:
                continue
            most = [*loses[-_SHOWN:][::-1], *gains[-_SHOWN:][::-1]]
            named = [f"{row['group']} {unit.text(row['difference'], '+')} {unit.name}" for row in most]
            lines.append(
                f"  by {by}: {len(gains):,} gain, {len(loses):,} lose, "
                f"{len(groups) - len(gains) - len(loses):,} undecided or equal ({', '.join(named)})"
            )
        return "\n".join(lines) if len(lines) > 1 else ""

    def document(self) -> dict[str, Any]:
        """The answer for JSON: plain numbers, None where a number is unknown."""
        found = {
            "log": self.log,
            "unit": self.unit,
            "jobs": self.jobs,
            "period": list(self.period),
            "today": {"order": self.today.order, "backfilling": self.today.backfilling, "nodes": self.today.nodes},
            "conclusion": in_unit(self.conclusion, self.unit),
            "runs": self.rows,
            "calibration": None,
            "alternatives": [_contrast_document(contrast) for contrast in self.contrasts],
            "cluster": self.cluster,
            "doubt": self.doubt or None,
            "use": {"period": self.periods, "today": self.replay.use.tolist()},
            "caveats": list(self.caveats),
        }
        if self.calibration is not None:
            calibration = self.calibration
            found["calibration"] = {
                "error": calibration.error,
                "median_absolute_error_h": calibration.typical,
                "groups": calibration.groups,
            }
            found["use"]["recorded"] = calibration.recorded.use.tolist()  # type: ignore[index]
        plain: dict[str, Any] = _plain(found)
        return plain

    def write_page(self, path: str | Path, command: str = "") -> None:
        """Write the answer as one HTML file, which needs no other file and no network.

        Parameters
        ----------
        path
            The file.
        command
            Command that makes the page again, which ends it.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        # The page imports this module for its types.
        resolve_name(_PAGE)(self, path, command)


def _contrast_document(contrast: Contrast) -> dict[str, Any]:
    operation = asdict(contrast.operation)
    operation["outages"] = len(contrast.operation.outages)
    return {
        "operation": operation,
        "summary": contrast.summary,
        "today_on_the_same_jobs": contrast.reference,
        "differences": contrast.rows,
        "p99_difference_h": [contrast.p99.mean, contrast.p99.low, contrast.p99.high],
        "groups": contrast.groups,
        "use": contrast.use.tolist(),
        "draws": contrast.draws,
        "left_out": contrast.left_out,
        "on_demand_jobs": contrast.on_demand[0],
        "started_instantly": contrast.on_demand[1],
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return value if not isinstance(value, float) or (is_known(value) and math.isfinite(value)) else None
