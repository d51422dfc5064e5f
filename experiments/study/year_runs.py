"""Simulations of generated years that keep only a few metrics, so that thousands of results fit into a small store.

A sweep stores the complete summary of a simulation, 12 kB. A search over many readings needs only some metrics of each
simulation, and runs for days, possibly on several machines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.sweeps.fingerprint import model_fingerprint
from holdfast.experiments.sweeps.grid import GeneratedYear, RunConfiguration
from holdfast.experiments.sweeps.simulations import simulate_run
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.options import Options
from holdfast.simulator.results.records import STATES
from holdfast.workloads.ground.errors import HoldfastError
from holdfast.workloads.hybrid.assignment import Assignment

__all__ = ["YearRun", "compute_share", "distinct", "year_rows"]

#: Options that have no effect, by a condition on the mechanism. The baseline runs all jobs as rigid and makes no
#: reservations; N makes no reservations before the arrival; PAA shrinks no jobs.
_IDLE: Sequence[tuple[Callable[[str], bool], tuple[str, ...]]] = (
    (
        lambda name: name == BASELINE,
        (
            *("tenants", "expansion", "malleable_start", "malleable_resume", "malleable_head"),
            *("arrival_takes", "shrunk_lenders", "preempted_lenders"),
        ),
    ),
    (lambda name: name.startswith("N-"), ("tenants", "arrival_takes")),
    (lambda name: name.partition(" ")[0].endswith("-PAA"), ("shrunk_lenders",)),
)


@dataclass(frozen=True)
class YearRun:
    """One simulation of a generated year.

    Attributes
    ----------
    seed, jobs, preset
        Seed, number of jobs and preset of the year; types, notices and overheads are drawn with the same seed.
    assignment, options
        Non-default values as pairs, ordered by name.
    mechanism
        Mechanism with its parameters, or ``baseline``.
    columns
        Metrics to keep.
    """

    seed: int
    jobs: int
    preset: str
    assignment: tuple[tuple[str, Any], ...]
    options: tuple[tuple[str, Any], ...]
    mechanism: str
    columns: tuple[str, ...]

    @property
    def table(self) -> tuple[Any, ...]:
        """Key of the job table: consecutive simulations with the same key are cheaper in one process."""
        return self.seed, self.jobs, self.preset, self.assignment

    @property
    def configuration(self) -> RunConfiguration:
        """The simulation as a run of a sweep."""
        options = Options(**dict(self.options))
        return RunConfiguration(
            GeneratedYear(self.seed, self.jobs, self.preset),
            Assignment(**dict(self.assignment)),
            self.seed,
            self.mechanism,
            options,
            Measurement().under(options.warning),
            model_fingerprint(),
        )


def distinct(run: YearRun) -> YearRun:
    """Remove defaults and options without effect, so that equal simulations run only once."""
    idle = {name for matches, names in _IDLE if matches(run.mechanism) for name in names}
    default = Assignment()
    return replace(
        run,
        assignment=tuple(sorted((name, value) for name, value in run.assignment if value != getattr(default, name))),
        options=tuple(sorted((name, value) for name, value in run.options if name not in idle)),
    )


def year_rows(run: YearRun) -> list[dict[str, Any]]:
    """Simulate, and return the metrics in a single row.

    Raises
    ------
    HoldfastError
        If the simulation failed.
    """
    outcome = simulate_run(run.configuration)
    if outcome.error:
        raise HoldfastError(f"{run.configuration.label}: {outcome.error}\n{outcome.trace}")
    found = {**outcome.measured["summary"], "compute_utilization": compute_share(outcome.measured["accounting"])}
    return [{name: found[name] for name in run.columns}]


def compute_share(hours: Mapping[str, float]) -> float | None:
    """Share of the machine's time that is useful computation, from the accounting of node-hours by state."""
    total = sum(float(hours[state]) for state in STATES)
    return float(hours["compute"]) / total if total else None
