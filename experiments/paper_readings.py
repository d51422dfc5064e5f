"""Interpretations of hybrid-workload-scheduling: for each ambiguous sentence of the paper its possible settings, and
presets.

``paper`` is the interpretation that reproduces most of the paper as far as it has been searched for
(docs/experiments/hybrid.md). To choose another one, change its line in :data:`READINGS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workloads.ground.errors import InputError, ParameterError, UnknownNameError

__all__ = [
    "FACTORS",
    "READINGS",
    "Factor",
    "Reading",
    "find_reading",
    "named_reading",
    "option_defaults",
    "sweep_tables",
]

#: A year as the node MTBF counts it [s].
_YEAR = 365 * 86400.0
#: Presets of options.
READINGS: Mapping[str, str] = {
    "default": "default",
    "paper": "overheads=added backfill_length=runtime tenants=fits types=campaign projects=even "
    "malleable_start=requested arrival_takes=reserved",
}


@dataclass(frozen=True)
class Factor:
    """One open sentence, and one level of it that is not its default.

    Attributes
    ----------
    name, low, high
        Its name, the default, and the other level.
    assignment, options
        What the other reading changes.
    preset
        Preset of the generated years that goes with it (:data:`workloads.theta.presets.PRESETS`).
    parameter
        Parameter of the arrival strategies.
    arrivals
        Those that have it.
    metrics
        Metrics that stand for others; nothing is simulated anew for them.
    crossed
        Whether it is varied together with the others; else alone.
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


#: The catalogue; those that are crossed come first. Backfilling by true runtimes comes with a year that meets Table II
#: under it.
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
    """One reading: for each factor whether it is at its other level.

    Attributes
    ----------
    levels
        In the order of :data:`FACTORS`.
    """

    levels: tuple[bool, ...]

    @property
    def changed(self) -> list[Factor]:
        """The factors that are not at their default."""
        return [factor for factor, high in zip(FACTORS, self.levels, strict=True) if high]

    @property
    def name(self) -> str:
        """What is not at its default, e.g. ``overheads=added tenants=fits``."""
        return " ".join(factor.label for factor in self.changed) or "default"

    @property
    def assignment(self) -> dict[str, Any]:
        """Of the assignment of types, what is not at its default."""
        return {key: value for factor in self.changed for key, value in factor.assignment.items()}

    @property
    def options(self) -> dict[str, Any]:
        """Of the simulation, likewise."""
        return {key: value for factor in self.changed for key, value in factor.options.items()}

    @property
    def preset(self) -> str:
        """Of the generated years."""
        return "+".join(factor.preset for factor in self.changed if factor.preset) or "default"

    @property
    def metrics(self) -> dict[str, str]:
        """Metrics that stand for others."""
        return {key: value for factor in self.changed for key, value in factor.metrics.items()}

    def mechanism(self, name: str) -> str:
        """A mechanism with the parameters of its arrival strategy."""
        arrival = name.rpartition("-")[2]
        own = (factor.parameter for factor in self.changed if factor.parameter and arrival in factor.arrivals)
        return " ".join((name, *own))


def named_reading(name: str) -> Reading:
    """The reading of that name.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> named_reading("tenants=fits").options
    {'tenants': 'fits'}
    """
    words = [] if name == "default" else name.split()
    known = [factor.label for factor in FACTORS]
    sentences = [word.partition("=")[0] for word in words]
    if not set(words) <= set(known) or len(set(sentences)) < len(sentences):
        raise InputError(f"a reading is default, or some of {', '.join(known)}, each name once, not {name!r}")
    return Reading(tuple(label in words for label in known))


def find_reading(name: str) -> Reading:
    """The reading of a preset, or of what it changes.

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
        return named_reading(READINGS[name])
    if "=" not in name:
        raise UnknownNameError("reading", name, READINGS)
    return named_reading(name)


def option_defaults(reading: Reading) -> dict[str, str]:
    """What a reading gives to options of the command line that are not given, by the names of their arguments.

    Raises
    ------
    InputError
        If it says how something is measured, which no option does.
    """
    if reading.metrics:
        raise InputError(f"no option changes how the {', '.join(reading.metrics)} is measured: leave it out")
    chosen = {**reading.assignment, **reading.options}
    return {"preset": reading.preset, **{name: str(value) for name, value in chosen.items()}}


def sweep_tables(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a sweep with what its key ``reading`` gives where they leave it out.

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
