"""Interpretations of hybrid-workload-scheduling: for each ambiguous sentence of the paper its possible settings, and
presets.

Under ``claims`` most of the paper's claims hold that a search has found; ``paper`` has the nearest levels
(docs/hybrid.md). To choose another one, change its line in :data:`READINGS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError

__all__ = [
    "FACTORS",
    "READINGS",
    "Factor",
    "Reading",
    "find_reading",
    "option_defaults",
    "reading_from_levels",
    "sweep_tables",
]

#: Length of a year in the node MTBF [s].
_YEAR = 365 * 86400.0
#: Presets of options.
READINGS: Mapping[str, str] = {
    "default": "default",
    "paper": "overheads=added backfill_length=runtime tenants=fits types=campaign projects=even "
    "malleable_start=requested arrival_takes=reserved",
    "claims": "overheads=added tenants=fits types=campaign victims=malleable-first extra_dumps=free "
    "malleable_resume=former malleable_head=requested arrival_takes=reserved shrink=minimum shrunk_lenders=stay",
}


@dataclass(frozen=True)
class Factor:
    """An ambiguous sentence of the paper, with its default and one alternative.

    Attributes
    ----------
    name, low, high
        Its name, its default level, and the alternative level.
    assignment, options
        Settings of the alternative.
    preset
        Preset of the generated years for the alternative (:data:`holdfast.workloads.theta.presets.PRESETS`).
    parameter
        Parameter of the arrival strategies.
    arrivals
        Arrival strategies with this parameter.
    metrics
        Metrics that replace others, without a new simulation.
    crossed
        Whether it is varied in combination with others; otherwise alone.
    """

    name: str
    low: str
    high: str
    assignment: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    preset: str = ""
    parameter: str = ""
    arrivals: tuple[str, ...] = ("PAA", "SPAA")
    metrics: Mapping[str, str] = field(default_factory=dict)
    crossed: bool = True

    @property
    def label(self) -> str:
        """The level, e.g. ``tenants=fits``."""
        return f"{self.name}={self.high}"


#: All factors; crossed ones come first. Backfilling by true runtimes uses a year that matches Table II under it.
FACTORS: Sequence[Factor] = (
    Factor("overheads", "inside", "added", assignment={"overheads": "added"}),
    Factor(
        "backfill_length",
        "walltime",
        "runtime",
        options={"backfill_length": "runtime"},
        preset="runtime-backfilling",
    ),
    Factor("tenants", "any", "fits", options={"tenants": "fits"}),
    Factor("types", "project", "campaign", assignment={"group_by": "campaign"}),
    Factor("projects", "public", "even", preset="even-projects"),
    Factor("victims", "least-loss", "malleable-first", parameter="victims=malleable-first"),
    Factor("extra_dumps", "charged", "free", assignment={"extra_dumps": "free"}),
    Factor("expansion", "none", "greedy", options={"expansion": "greedy"}),
    Factor("malleable_start", "free", "requested", options={"malleable_start": "requested"}),
    Factor("malleable_resume", "start", "former", options={"malleable_resume": "former"}),
    Factor("malleable_head", "minimum", "requested", options={"malleable_head": "requested"}),
    Factor("arrival_takes", "own", "reserved", options={"arrival_takes": "reserved"}),
    Factor("overhead", "node-seconds", "seconds", parameter="overhead=seconds"),
    Factor("shrink", "even", "minimum", parameter="shrink=minimum", arrivals=("SPAA",)),
    Factor("shrunk_lenders", "expand", "stay", options={"shrunk_lenders": "stay"}),
    Factor("preempted_lenders", "resume", "hold", options={"preempted_lenders": "hold"}),
    Factor("walltimes", "extended", "trace", assignment={"walltimes": "trace"}),
    Factor(
        "utilization",
        "to-last-completion",
        "to-last-submit",
        metrics={"utilization": "utilization_to_last_submit"},
        crossed=False,
    ),
    Factor("tenants", "any", "none", options={"tenants": "none"}, crossed=False),
    Factor("node_mtbf", "5y", "1y", assignment={"node_mtbf": _YEAR}, crossed=False),
    Factor("node_mtbf", "5y", "25y", assignment={"node_mtbf": 25 * _YEAR}, crossed=False),
)


@dataclass(frozen=True)
class Reading:
    """An interpretation: for each factor, whether it is at its alternative level.

    Attributes
    ----------
    levels
        In the order of :data:`FACTORS`.
    """

    levels: tuple[bool, ...]

    @property
    def changed(self) -> list[Factor]:
        """The factors at their alternative level."""
        return [factor for factor, high in zip(FACTORS, self.levels, strict=True) if high]

    @property
    def name(self) -> str:
        """Levels other than the defaults, e.g. ``overheads=added tenants=fits``."""
        return " ".join(factor.label for factor in self.changed) or "default"

    @property
    def assignment(self) -> dict[str, Any]:
        """Settings of the type assignment that are not at their defaults."""
        return {key: value for factor in self.changed for key, value in factor.assignment.items()}

    @property
    def options(self) -> dict[str, Any]:
        """Options of the simulation that are not at their defaults."""
        return {key: value for factor in self.changed for key, value in factor.options.items()}

    @property
    def preset(self) -> str:
        """Preset of the generated years."""
        return "+".join(factor.preset for factor in self.changed if factor.preset) or "default"

    @property
    def metrics(self) -> dict[str, str]:
        """Metrics that replace others."""
        return {key: value for factor in self.changed for key, value in factor.metrics.items()}

    def mechanism(self, name: str) -> str:
        """Add the parameters of its arrival strategy to a mechanism."""
        arrival = name.rpartition("-")[2]
        own = (factor.parameter for factor in self.changed if factor.parameter and arrival in factor.arrivals)
        return " ".join((name, *own))


def reading_from_levels(name: str) -> Reading:
    """Find a reading by the levels in its name.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> reading_from_levels("tenants=fits").options
    {'tenants': 'fits'}
    """
    words = [] if name == "default" else name.split()
    known = [factor.label for factor in FACTORS]
    sentences = [word.partition("=")[0] for word in words]
    if not set(words) <= set(known) or len(set(sentences)) < len(sentences):
        raise InputError(f"a reading is default, or some of {', '.join(known)}, each name once, not {name!r}")
    return Reading(tuple(label in words for label in known))


def find_reading(name: str) -> Reading:
    """Find a reading by the name of a preset or by its levels.

    Parameters
    ----------
    name
        A name of :data:`READINGS`, or levels such as ``tenants=fits overheads=added``.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> find_reading("paper").assignment
    {'overheads': 'added', 'group_by': 'campaign'}
    """
    if name in READINGS:
        return reading_from_levels(READINGS[name])
    if "=" not in name:
        raise UnknownNameError("reading", name, READINGS)
    return reading_from_levels(name)


def option_defaults(reading: Reading) -> dict[str, str]:
    """Defaults that a reading sets for options of the command line, by the names of their arguments.

    Raises
    ------
    InputError
        If the reading changes a metric, for which there is no option.
    """
    if reading.metrics:
        raise InputError(f"no option changes how the {', '.join(reading.metrics)} is measured: leave it out")
    chosen = {**reading.assignment, **reading.options}
    return {"preset": reading.preset, **{name: str(value) for name, value in chosen.items()}}


def sweep_tables(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Apply the key ``reading`` of a sweep as defaults to its tables.

    Raises
    ------
    InputError
        If there is no such reading.
    """
    if not isinstance(tables["reading"], str):
        raise ParameterError("reading", f"one of {', '.join(READINGS)}", tables["reading"])
    reading = find_reading(tables["reading"])
    given: dict[str, Mapping[str, Any]] = {"assignment": reading.assignment, "options": reading.options}
    workload = tables.get("workload")
    if isinstance(workload, Mapping) and "seeds" in workload:
        given["workload"] = {"presets": reading.preset}
    found = dict(tables)
    for name, values in given.items():
        table = tables.get(name, {})
        if isinstance(table, Mapping) and values:
            found[name] = {**values, **table}
    return found
