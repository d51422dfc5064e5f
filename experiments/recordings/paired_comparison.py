"""Paired comparison of two results: gains and losses of the same jobs, in total and by group."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from holdfast.experiments.recordings.answer_sentences import gains_sentence
from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.recordings.gain_rows import GAIN_COLUMNS, gain_rows
from holdfast.experiments.recordings.job_groups import GROUPS, ORDERED, TIMES, group_names, places_by_name
from holdfast.experiments.recordings.run_file import open_run, recorded_measurement
from holdfast.experiments.recordings.summaries import starvation
from holdfast.experiments.recordings.variants import distinct_names, run_names
from holdfast.experiments.recordings.week_blocks import assign_clusters, block_doubt
from holdfast.experiments.statistics import Interval
from holdfast.experiments.tables import render
from holdfast.simulator.results.catalogue import metric
from holdfast.simulator.results.measured_simulation import WHOLE, MeasuredWindow, records_in_window
from holdfast.simulator.results.overtaking import starvation_count
from holdfast.simulator.results.recording import Recording
from holdfast.simulator.results.records import Records
from holdfast.workloads.ground.columns import Metric, Quantity
from holdfast.workloads.ground.errors import InputError, UnknownNameError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.table.jobs import Jobs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MEASURES", "Gains", "gains", "read_pair", "shown_unit"]

#: Values compared job by job, in the unit of the metric.
MEASURES: Mapping[str, Callable[[Records], np.ndarray]] = {
    "wait_h": lambda records: records.wait / (3600 * SECOND),
    "turnaround_h": lambda records: records.turnaround / (3600 * SECOND),
    "bounded_slowdown": lambda records: records.bounded_slowdown,
}
#: Largest number of groups to print.
_PRINTED = 24


@dataclass(frozen=True)
class Gains:
    """Gains and losses of the same jobs from a first result to a second one.

    Attributes
    ----------
    first, second
        Names of the results.
    by
        Attribute that groups the jobs; empty: no groups.
    rows
        A row for each metric of all jobs and of each group, with the columns of ``compare``: means of the first and the
        second result, their difference (second minus first) with its 95 % interval, the shares of jobs with a shorter
        and a longer value, the verdict (``gains``, ``loses``, ...), and the largest value and 99th percentile of each
        result.
    cluster
        Length of the blocks of dependent jobs in the intervals: ``week``, ``day``, ...
    remark
        Further differences between the results; empty: none.
    alone
        Numbers of jobs that only the first or only the second result has, which are left out.
    unmeasured
        Number of jobs in both that one of them does not measure, which are left out.
    starved
        Numbers of the compared jobs that starve in the first and in the second result
        (:mod:`holdfast.simulator.results.overtaking`).
    zone
        What the hours and dates of groups are in, ``UTC`` or local time; empty: the log has no dates.
    """

    first: str
    second: str
    by: str
    rows: Sequence[Mapping[str, Any]]
    cluster: str
    remark: str = ""
    alone: tuple[int, int] = (0, 0)
    unmeasured: int = 0
    starved: tuple[int, int] = (0, 0)
    zone: str = ""

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=list(GAIN_COLUMNS))

    def of(self, name: str = "wait_h") -> list[Mapping[str, Any]]:
        """The rows of one metric: all jobs, then the groups.

        Weeks, hours and sizes are in their own order, others from the largest total loss to the largest total gain.

        Raises
        ------
        UnknownNameError
            If the metric is not in :data:`MEASURES`.
        """
        if name not in MEASURES:
            raise UnknownNameError("metric", name, list(MEASURES))
        own = [row for row in self.rows if row["metric"] == name]
        groups = own[1:] if self.by in ORDERED else sorted(own[1:], key=lambda row: -row["jobs"] * row["difference"])
        return [*own[:1], *groups]

    def text(self, name: str = "wait_h") -> str:
        """The comparison of one metric: the answer in a sentence, a table and its legend."""
        rows, shown = self.of(name), metric(name)
        unit, scale = shown_unit(shown, rows)
        answer = gains_sentence(self.first, self.second, rows, self.by, unit, scale, self.cluster)
        left_out = 0
        if len(rows) > _PRINTED + 1 and self.by not in ORDERED:
            left_out = len(rows) - 1 - _PRINTED
            rows = [*rows[: 1 + _PRINTED // 2], *rows[-_PRINTED // 2 :]]
        lines = [_printed_row(row, scale) for row in rows]
        share: Mapping[str, Any] = {"unit": "%", "scale": 100.0, "digits": 0, "group": "share of jobs"}
        single = shown.title.removeprefix("mean ")
        longest = f"{'longest' if shown.unit == 'h' else 'largest'} {single}"
        columns = [
            Quantity("group", self.by or "jobs"),
            Quantity("jobs"),
            Quantity("first", self.first, unit, scale=scale, digits=2, group=shown.title),
            Quantity("second", self.second, unit, scale=scale, digits=2, group=shown.title),
            Quantity("difference", "difference", unit, group=shown.title),
            Quantity("shorter", "less", **share),
            Quantity("longer", "more", **share),
            Quantity("p99", f"p99 {single}", unit),
            Quantity("longest", longest, unit),
            Quantity("verdict", self.second),
        ]
        paragraphs = [answer, render(lines, columns)]
        if any(self.alone):
            paragraphs.append(
                f"compared: the jobs of both results; left out: {self.alone[0]:,} only in {self.first}, "
                f"{self.alone[1]:,} only in {self.second}"
            )
        if self.unmeasured:
            paragraphs.append(
                f"left out: {count_text(self.unmeasured, 'jobs')} of a warmup, of a cooldown, or submitted before a "
                "starting state"
            )
        if left_out:
            paragraphs.append(f"{left_out:,} groups between the largest losses and the largest gains are not shown")
        paragraphs.append(
            f"difference: {self.second} minus {self.first} [95 % interval, jobs of one {self.cluster} kept together]"
        )
        mean = self.of("wait_h")[0]
        paragraphs += filter(None, [block_doubt(self.cluster, mean["first"]), starvation(self._starved_rows)])
        if self.by in TIMES and self.zone:
            paragraphs.append(f"{self.by}s of submission are in {self.zone}")
        if self.by:
            paragraphs.append("gains and loses: significant at 5 % over all groups together (Holm)")
        return "\n".join(paragraphs)

    @property
    def _starved_rows(self) -> list[dict[str, Any]]:
        names = (self.first, self.second)
        return [{"mechanism": name, "starved": count} for name, count in zip(names, self.starved, strict=True)]

    def document(self) -> dict[str, Any]:
        """JSON document: each row in the unit that its metric names; shares are numbers from 0 to 1."""
        return {
            "first": self.first,
            "second": self.second,
            "by": self.by or None,
            "jobs_only_in_first": self.alone[0],
            "jobs_only_in_second": self.alone[1],
            "jobs_not_measured": self.unmeasured,
            "interval_clusters": self.cluster,
            "rows": [{name: row[name] for name in GAIN_COLUMNS} for row in self.rows],
        }

    def __str__(self) -> str:
        return self.text()


def make_interval(row: Mapping[str, Any]) -> Interval:
    """Difference and interval of a row; with a single cluster, the interval is unknown (NaN)."""
    low, high = (math.nan if row[end] is None else row[end] for end in ("low", "high"))
    return Interval(row["difference"], low, high)


def shown_unit(shown: Metric, rows: Sequence[Mapping[str, Any]]) -> tuple[str, float]:
    """Unit and scale of a metric in these rows: times below an hour are in minutes."""
    most = max((max(row["first"], row["second"]) for row in rows), default=0.0)
    return ("min", 60.0) if shown.unit == "h" and most < 1 else (shown.unit, 1.0)


def gains(
    first: Recording,
    second: Recording,
    by: str | None = None,
    names: tuple[str, str] | None = None,
    windows: tuple[MeasuredWindow, MeasuredWindow] = (WHOLE, WHOLE),
) -> Gains:
    """Compare two results by the jobs that both contain.

    Parameters
    ----------
    first, second
        The results; the difference is second minus first.
    by
        One of :data:`GROUPS`; None: all jobs together.
    names
        Names of the results; by default their labels or mechanisms, or what they differ in.
    windows
        The measured window of each result; by default all of it.

    Returns
    -------
    Gains
        Over the jobs that both results measure, and that started and were not cancelled in both. Intervals resample the
        jobs of one week (or of one day or hour, if there are fewer than ten weeks or days) together, because they wait
        in one queue. A group ``gains`` or ``loses`` if its difference is significant at 5 % by Holm's method over all
        groups of the metric, is ``equal`` if no job differs, and otherwise ``undecided``.

    Raises
    ------
    InputError
        If no job is in both results, a job differs between them in nodes or submit, no job ran in both, or the jobs
        lack the attribute that groups them.
    """
    if by is not None and by not in GROUPS:
        raise UnknownNameError("group", by, GROUPS)
    first_name, second_name = names or distinct_names((first, second))
    called = first_name, second_name
    if called[0] == called[1]:
        called = (f"{called[0]} (first)", f"{called[1]} (second)")
    common = _common(first, second, called)
    began = common.part(_have_run(common.first) & _have_run(common.second))
    one, other = (
        np.isin(began.jobs.column("job_id"), records_in_window(result, window).columns["job_id"])
        for result, window in zip((first, second), windows, strict=True)
    )
    ran = began.part(one & other)
    if not len(ran.jobs):
        raise InputError(f"no job started, ended and is measured in both {called[0]} and {called[1]}")
    submits = np.minimum(ran.first.columns["submit"], ran.second.columns["submit"]) / SECOND
    cluster, clusters = assign_clusters(submits, "day" if by == "week" else "week")
    groups: dict[str, Sequence[int]] = {}
    if by is not None:
        groups = places_by_name(by, group_names(by, ran.jobs, submits, first.epoch, first.unit))
    rows = []
    for name, values in MEASURES.items():
        rows += gain_rows(name, values(ran.first), values(ran.second), clusters, groups)
    alone = len(first.table) - len(common.jobs), len(second.table) - len(common.jobs)
    starved = starvation_count(ran.first), starvation_count(ran.second)
    zone = "" if first.epoch is None else first.zone
    unmeasured = len(began.jobs) - len(ran.jobs)
    return Gains(*called, by or "", rows, cluster, _remark(common, called), alone, unmeasured, starved, zone)


def _printed_row(row: Mapping[str, Any], scale: float) -> dict[str, Any]:
    """A row with its difference, and the changes of its extremes, as text."""
    difference = f"{row['difference'] * scale:+.2f}"
    if row["low"] is not None:
        difference = make_interval(row).text("+.2f", scale)
    changes = {
        end: f"{row[f'first_{end}'] * scale:,.1f} -> {row[f'second_{end}'] * scale:,.1f}" for end in ("p99", "longest")
    }
    return {**row, "difference": difference, **changes}


class _Pairs(NamedTuple):
    """The jobs of both results: as the first and as the second has them, and the records of each."""

    jobs: Jobs
    second_jobs: Jobs
    first: Records
    second: Records

    def part(self, chosen: np.ndarray) -> _Pairs:
        """Some of them, by a mask."""
        return _Pairs(
            self.jobs.select(chosen), self.second_jobs.select(chosen), self.first.part(chosen), self.second.part(chosen)
        )


def _have_run(records: Records) -> np.ndarray:
    have_run: np.ndarray = records.started & ~records.have("cancelled")
    return have_run


def _common(first: Recording, second: Recording, called: tuple[str, str]) -> _Pairs:
    """Jobs in both results, in the order of the first.

    Raises
    ------
    InputError
        If there are none, or one of them has another size or submit.
    """
    both = f"{called[0]} and {called[1]} do not hold the same jobs"
    jobs, others = Jobs.of(first.table), Jobs.of(second.table)
    _, places, other_places = np.intersect1d(
        jobs.column("job_id"), others.column("job_id"), assume_unique=True, return_indices=True
    )
    if not len(places):
        raise InputError(f"{both}: none of {len(jobs):,} and {len(others):,} jobs has the same id")
    order = np.argsort(places)
    here, there = places[order], other_places[order]
    common = _Pairs(jobs.select(here), others.select(there), first.records.part(here), second.records.part(there))
    differs = {
        name: ~np.equal(common.jobs.column(name), common.second_jobs.column(name))
        & ~(np.isnan(common.jobs.column(name)) & np.isnan(common.second_jobs.column(name)))
        for name in ("nodes", "submit")
    }
    broken = differs["nodes"] | differs["submit"]
    if broken.any():
        place = int(np.argmax(broken))
        job, other = common.jobs[place], common.second_jobs[place]
        name = "nodes" if differs["nodes"][place] else "submit"
        values = f"{getattr(job, name)} and {getattr(other, name)}"
        raise InputError(f"{both}: job {job_id_text(job.job_id)} differs, {name} {values}")
    return common


def _remark(common: _Pairs, called: tuple[str, str]) -> str:
    """Describe further differences between the jobs."""
    types = int((common.jobs.column("type") != common.second_jobs.column("type")).sum())
    runtimes = int((common.first.columns["runtime"] != common.second.columns["runtime"]).sum())
    differences = [
        f"{number:,} {'has' if number == 1 else 'have'} another {what}"
        for what, number in (("type", types), ("runtime", runtimes))
        if number
    ]
    return f"of the jobs of {called[1]}, {' and '.join(differences)} than in {called[0]}" if differences else ""


class ResultPair(NamedTuple):
    """Two results, their names, and the measured window of each."""

    first: Recording
    second: Recording
    names: tuple[str, str]
    windows: tuple[MeasuredWindow, MeasuredWindow]


def read_pair(places: Sequence[str], *, trust: bool = False) -> ResultPair:
    """Read two results to compare.

    Parameters
    ----------
    places
        One directory with two runs, or two places of the form ``DIR`` or ``DIR:RUN``.
    trust
        As for :func:`holdfast.experiments.recordings.archive.read_recording`.

    Raises
    ------
    InputError
        If there are not two results, or one cannot be used.
    """
    if len(places) == 1:
        directory, wanted = _place(places[0])
        there = run_names(open_run(directory).content)
        if wanted is not None or len(there) != 2:
            listed = ", ".join(map(repr, there))
            several = f"; 'holdfast plot {directory} --against KEY=VALUE' compares all" if len(there) > 2 else ""
            raise InputError(
                f"{places[0]}: name two results to compare, as '{directory}:RUN'; it holds {listed}{several}"
            )
        chosen: list[tuple[Path, str | None]] = [(directory, name) for name in there]
    else:
        chosen = [_place(text) for text in places]
    first, second = (read_recording(place, name, events=False, trust=trust) for place, name in chosen)
    called = (first.name, second.name)
    if called[0] == called[1]:
        called = (f"{chosen[0][0].name}: {called[0]}", f"{chosen[1][0].name}: {called[1]}")
    one, other = (recorded_measurement(place, open_run(place).content).window for place, _ in chosen)
    return ResultPair(first, second, called, (one, other))


def _place(text: str) -> tuple[Path, str | None]:
    """Directory and run of ``DIR:RUN``; a directory may have a colon in its name."""
    if Path(text).is_dir():
        return Path(text), None
    for at, letter in enumerate(text):
        if letter == ":" and Path(text[:at]).is_dir():
            return Path(text[:at]), text[at + 1 :]
    raise InputError(f"{text}: no such directory; a run of one is written as DIR:RUN")
