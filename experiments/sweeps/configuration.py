"""Configuration of a sweep: the workloads, mechanisms, assignments and options to simulate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.recordings.replay import parse_mechanisms
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.theta.presets import preset_year
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["VARY", "AssignmentAxes", "OptionAxes", "Sweep", "TraceFile", "Workload"]

#: How the values of [assignment] and [options] are combined.
VARY = ("product", "one-at-a-time")


@dataclass(frozen=True, kw_only=True)
class TraceFile:
    """A log of jobs.

    Attributes
    ----------
    path
        As written in the configuration; also the name of the workload in the tables.
    nodes
        Size of the machine; None: what the header says.
    format
        Name of the reader; None: recognised by the content.
    procs_per_node
        For logs that count processors.
    where, unit
        Filter on the jobs, and the unit of their sizes: see :func:`holdfast.workloads.logs.readers.read_workload`.
    columns
        Of a CSV or Parquet table: its columns by role, ``"submit=t,nodes=n,runtime=r"``, or ``pm100`` or ``f-data``;
        None: recognised.
    lenient
        Count broken lines instead of refusing the log; None: as for all traces, else not.
    machine
        File of a machine with partitions and shared nodes; None: one pool of equal nodes.
    placement
        How nodes of this machine are chosen; None: ``pack``.
    directory
        Base of relative paths.
    """

    path: str
    nodes: int | None = None
    format: str | None = None
    procs_per_node: int | None = None
    where: tuple[str, ...] | None = None
    unit: str | None = None
    columns: str | None = None
    lenient: bool | None = None
    machine: str | None = None
    placement: str | None = None
    directory: str = "."


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Workloads of a sweep: generated years, or logs.

    Attributes
    ----------
    seeds
        Seeds of generated years; None: the workloads are traces.
    jobs
        Lengths of the generated years [jobs].
    presets
        Their parameters, names of :data:`holdfast.workloads.theta.presets.PRESETS`; by default those of
        :class:`holdfast.workloads.theta.year.ThetaYear`.
    traces
        Logs; empty: the workloads are generated.
    nodes, format, procs_per_node, where, unit, columns, lenient, machine, placement
        As in :class:`TraceFile`, for traces that do not set them.

    Raises
    ------
    InputError
        If there are neither seeds nor traces, both, or an option that applies only to the other.
    """

    seeds: tuple[int, ...] | None = None
    jobs: tuple[int, ...] | None = None
    presets: tuple[str, ...] | None = None
    traces: tuple[TraceFile, ...] = ()
    nodes: int | None = None
    format: str | None = None
    procs_per_node: int | None = None
    where: tuple[str, ...] | None = None
    unit: str | None = None
    columns: str | None = None
    lenient: bool | None = None
    machine: str | None = None
    placement: str | None = None

    def __post_init__(self) -> None:
        if (self.seeds is None) == (not self.traces):
            raise InputError("give either seeds (of generated years) or traces")
        others = (
            ("jobs", "presets")
            if self.traces
            else ("nodes", "format", "procs_per_node", "where", "unit", "columns", "lenient", "machine", "placement")
        )
        for name in others:
            if getattr(self, name) is not None:
                raise InputError(f"{name} is only for {'seeds' if self.traces else 'traces'}")
        for preset in self.presets or ():
            preset_year(preset)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Jobs of the generated years; one year by default."""
        return self.jobs if self.jobs is not None else (ThetaYear().jobs,)


@dataclass(frozen=True, kw_only=True)
class AssignmentAxes:
    """Varied parameters of :class:`holdfast.workloads.hybrid.type_mix.Assignment`.

    Attributes
    ----------
    seeds
        Seeds of types, overheads and notices; None: that of the generated year, 0 for a trace.
    values
        Values of each parameter that is not at its default.
    """

    seeds: tuple[int, ...] | None = None
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OptionAxes:
    """Varied parameters of :class:`holdfast.simulator.options.Options`; ``values`` as in :class:`AssignmentAxes`."""

    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A grid of simulations.

    Workloads, seeds and mechanisms are always crossed. The values of the assignment and of the options are crossed as
    well (``product``), or one parameter at a time leaves the first of its values (``one-at-a-time``).

    Attributes
    ----------
    workload
        What arrives.
    mechanisms
        By their slugs; all by default.
    assignment, options
        What is varied.
    measure
        Measurement settings, the same for all runs.
    vary
        One of :data:`VARY`.
    reading
        Reading of the hybrid paper that gives presets, assignment, options and parameters of mechanisms where they are
        left out (``holdfast.experiments.paper_readings.READINGS``).
    """

    workload: Workload
    mechanisms: tuple[str, ...] = tuple(parse_mechanisms("all"))
    assignment: AssignmentAxes = AssignmentAxes()
    options: OptionAxes = OptionAxes()
    measure: Measurement = field(default_factory=Measurement)
    vary: str = "product"
    reading: str = "default"
