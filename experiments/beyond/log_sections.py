"""Sections of logs, and back-tests of forecasts at moments spread evenly over a section."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from holdfast.experiments.beyond.schedules import EASY, SIMULATED
from holdfast.experiments.forecast.back_tests import BackTesting, run_back_tests, sample_batches
from holdfast.experiments.forecast.batches import batch_numbers
from holdfast.experiments.forecast.experts import EXPERTS
from holdfast.experiments.forecast.known_past import past_log
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.sources import result_trace
from holdfast.experiments.forecast.track_record import BackTest
from holdfast.experiments.study.experiment import Row
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.machine_size import with_assumed_size
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["Section", "SectionPart", "read_test", "run_moments"]

#: Moments come after this share of the jobs, from which the first forecasts draw runtimes.
_FIRST = 0.1
_WEEK = 7 * 86_400.0
#: Offset between the week numbers of consecutive generated years, so that weeks of different years stay distinct.
_WEEKS = 10_000


@dataclass(frozen=True)
class Section:
    """Consecutive jobs of a log.

    Attributes
    ----------
    log
        Its name.
    kind
        ``simulated`` or ``recorded``.
    path
        The log's file; empty: a generated year.
    jobs
        Number of batches of jobs in the middle of the log, or of jobs of a generated year; 0: all.
    number, seed
        Number of a generated year, and its seed.
    """

    log: str
    kind: str
    path: str = ""
    jobs: int = 0
    number: int = 0
    seed: int = 0


@dataclass(frozen=True)
class SectionPart:
    """Moments of one part of a section.

    Attributes
    ----------
    section
        The section.
    part, parts
        Number of the part, and of the parts into which its jobs are divided in the order of submission.
    count
        Number of moments.
    seed
        Seed of the moments and of the draws.
    """

    section: Section
    part: int
    parts: int
    count: int
    seed: int


@lru_cache(maxsize=1)
def _past(section: Section) -> tuple[Past, float]:
    """The log as known when the last job of the section was submitted, and that time [s]."""
    trace = _jobs(section)
    if section.kind == SIMULATED:
        trace = result_trace(simulate(as_rigid(trace), trace.nodes or 0, events=False, **EASY))
    at = float(np.nanmax(trace.jobs.queued))
    return Past(past_log(trace, at), trace.nodes or 0), at


def _jobs(section: Section) -> Trace:
    if not section.path:
        return generate(ThetaYear(jobs=section.jobs), section.seed)
    trace = with_assumed_size(read_trace(section.path))
    if not trace.nodes:
        raise ParameterError(section.log, "a log with jobs", section.path)
    trace = trace.on_machine(trace.nodes)
    order = np.argsort(trace.jobs.queued, kind="stable")
    # Number of batches that have begun by each job.
    firsts = np.unique(batch_numbers(trace.jobs)[order], return_index=True)[1]
    begun = np.cumsum(np.isin(np.arange(len(order)), firsts))
    count = min(section.jobs or len(firsts), len(firsts))
    first = (len(firsts) - count) // 2
    chosen = order[(begun > first) & (begun <= first + count)]
    return replace(trace, jobs=trace.jobs.select(np.sort(chosen)), withdrawn=())


def run_moments(moments: SectionPart) -> list[Row]:
    """Back-tests at the moments, a row for each: the quantiles of all experts and what happened."""
    past, at = _past(moments.section)
    order = np.argsort(past.queued, kind="stable")
    later = sample_batches(past, order[int(_FIRST * len(order)) :], moments.seed)
    places = np.array_split(later, moments.parts)[moments.part]
    how = BackTesting(count=moments.count, seed=moments.seed, **EASY)
    origin = float(past.queued[order[0]])
    return [
        {
            "log": moments.section.log,
            "schedule": moments.section.kind,
            "week": moments.section.number * _WEEKS + int((test.at - origin) // _WEEK),
            "at_s": test.at,
            "waited_s": test.waited,
            "wait_s": test.wait,
            "nodes": test.nodes,
            "queue": test.queue,
            "started": int(test.started),
            **{name: " ".join(map(repr, test.quantiles[name])) for name in EXPERTS},
        }
        for test in run_back_tests(past, at, how, places)
    ]


def read_test(row: Mapping[str, Any]) -> BackTest:
    """The back-test of a row."""
    quantiles = {name: tuple(map(float, row[name].split())) for name in EXPERTS}
    return BackTest(
        float(row["at_s"]), float(row["waited_s"]), float(row["wait_s"]), quantiles, int(row["nodes"]),
        int(row["queue"]), bool(row["started"]),
    )  # fmt: skip
