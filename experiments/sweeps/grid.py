"""The grid of a sweep: fully specified runs, and the keys under which their results are stored."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.sweeps.configuration import Sweep, TraceFile
from holdfast.experiments.sweeps.fingerprint import model_fingerprint
from holdfast.experiments.sweeps.machine_check import check_on_machine
from holdfast.experiments.sweeps.object_cache import ObjectCache
from holdfast.experiments.sweeps.plugins import Sources, find_sources
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import file_sha256
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.theta.presets import preset_year
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["GeneratedYear", "Log", "RunConfiguration", "expand", "run_kind"]

#: Largest number of runs of a sweep: a day at one run per second.
_MOST_RUNS = 100_000
#: Dataclasses of a run's parameters, with their defaults.
_DEFAULTS: Mapping[type[Any], Mapping[str, Any]] = {
    kind: {item.name: item.default for item in fields(kind)} for kind in (Assignment, Options, Measurement)
}
#: Fields added to logs later; they are left out of the key at their default, so that stored runs keep their keys.
_LATER = ("where", "unit", "columns", "machine_sha256", "placement", "typed")


@dataclass(frozen=True)
class GeneratedYear:
    """A workload of :func:`holdfast.workloads.theta.generator.generate`."""

    seed: int
    jobs: int
    preset: str = "default"

    @property
    def label(self) -> str:
        return f"seed {self.seed}" if self.preset == "default" else f"seed {self.seed} {self.preset}"

    @property
    def year(self) -> ThetaYear:
        return _checked_year(self.preset, self.jobs)

    def identity(self) -> dict[str, Any]:
        own = {} if self.preset == "default" else {"preset": self.preset}
        return {"generator": "theta-year", "jobs": self.jobs, "seed": self.seed, **own}


@lru_cache(maxsize=16)
def _checked_year(preset: str, jobs: int) -> ThetaYear:
    """The year of all seeds; checking its parameters takes a tenth of the time of generating 500 jobs."""
    return preset_year(preset, ThetaYear(jobs=jobs))


@dataclass(frozen=True)
class Log:
    """A workload that is read from a file.

    Attributes
    ----------
    label
        The path as it was written, and the conditions on its jobs, if any.
    path
        Absolute; on a cluster the workers must see it under this name.
    sha256
        SHA-256 of the file.
    nodes, format, procs_per_node, lenient, where, unit, columns, placement
        As in :class:`holdfast.experiments.sweeps.configuration.TraceFile`.
    machine, machine_sha256
        Absolute path of the machine's file, and its SHA-256; None: one pool of equal nodes.
    typed
        Whether the jobs get types for mechanisms on the machine; None: all are rigid.
    """

    label: str
    path: str
    sha256: str
    nodes: int | None
    format: str | None
    procs_per_node: int | None
    lenient: bool
    where: tuple[str, ...] | None = None
    unit: str | None = None
    columns: str | None = None
    machine: str | None = None
    machine_sha256: str | None = None
    placement: str | None = None
    typed: bool | None = None

    def identity(self) -> dict[str, Any]:
        values = {name: value for name, value in asdict(self).items() if name not in ("label", "path", "machine")}
        return {name: value for name, value in values.items() if value is not None or name not in _LATER}


@dataclass(frozen=True)
class RunConfiguration:
    """One simulation, with everything that determines its result.

    Attributes
    ----------
    workload
        What arrives.
    assignment, assignment_seed
        Types, overheads, notices.
    mechanism
        Slug of a mechanism, or ``baseline``.
    options
        How the machine is operated.
    measurement
        What is measured.
    model
        Fingerprint of the model.
    plugins
        Sources of the plug-ins that are not built in.
    varied
        The parameter that is not at its first value, if parameters are varied one at a time; not part of the key.
    """

    workload: GeneratedYear | Log
    assignment: Assignment
    assignment_seed: int
    mechanism: str
    options: Options
    measurement: Measurement
    model: str
    plugins: Sources = ()
    varied: str = ""

    def identity(self) -> dict[str, Any]:
        """Everything that determines the result, and nothing else."""
        own = {"plugins": dict(self.plugins)} if self.plugins else {}
        return {
            **own,
            "workload": self.workload.identity(),
            "assignment": {**_assignment_values(self.assignment), "seed": self.assignment_seed},
            "mechanism": self.mechanism,
            "options": _fields(self.options),
            "measurement": _fields(self.measurement),
            "model": self.model,
        }

    @property
    def canonical(self) -> str:
        """Canonical JSON of the identity, from the texts of its parts."""
        parts = (
            ("assignment", _assignment_text(self.assignment, self.assignment_seed)),
            ("measurement", _settings_text(self.measurement)),
            ("mechanism", _quote(self.mechanism)),
            ("model", _quote(self.model)),
            ("options", _settings_text(self.options)),
            ("plugins", _canonical(dict(self.plugins)) if self.plugins else ""),
            ("workload", _workload_text(self.workload)),
        )
        return "{" + ",".join(f'"{name}":{text}' for name, text in parts if text) + "}"

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical JSON of the identity."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def label(self) -> str:
        """Short label of the run: workload, mechanism, and non-default values."""
        changed = _changes_text(self.assignment) + _changes_text(self.options)
        return f"{self.workload.label}, {self.mechanism}{changed}"


#: The JSON of a text; ``json.dumps`` takes ten times as long to find that it is given one.
_quote = json.encoder.encode_basestring_ascii


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _fields(given: Assignment | Options | Measurement) -> dict[str, Any]:
    """Its fields as a dict without deep copies, ten times as fast as ``asdict``."""
    return {name: getattr(given, name) for name in _DEFAULTS[type(given)]}


def _assignment_values(given: Assignment) -> dict[str, Any]:
    """The fields of an assignment; the rule for recorded types was added later, and is left out at its default."""
    values = _fields(given)
    return values if given.types else {name: value for name, value in values.items() if name != "types"}


def _changes(given: Assignment | Options) -> str:
    """Non-default values, each after a comma."""
    values = ((name, getattr(given, name), default) for name, default in _DEFAULTS[type(given)].items())
    return "".join(f", {name} {value}" for name, value, default in values if value != default)


# Texts of what many runs share: making them anew took half of the time of a grid.
_assignment_text: ObjectCache[str] = ObjectCache(lambda given, seed: _canonical({**_fields(given), "seed": seed}))
_settings_text: ObjectCache[str] = ObjectCache(lambda given: _canonical(_fields(given)))
_workload_text: ObjectCache[str] = ObjectCache(lambda given: _canonical(given.identity()))
_changes_text: ObjectCache[str] = ObjectCache(_changes)


def run_kind(run: RunConfiguration) -> tuple[str, ...]:
    """Features that determine the duration of a run, the most important first: jobs, rules, mechanism."""
    workload = run.workload
    jobs = f"{workload.jobs} jobs" if isinstance(workload, GeneratedYear) else workload.label
    return jobs, run.options.backfilling, run.options.order, run.mechanism


def expand(sweep: Sweep) -> list[RunConfiguration]:
    """Every run of a sweep, each once, in the order of the tables.

    Raises
    ------
    TraceError
        If a trace cannot be read.
    InputError
        If a plug-in was added in this process only.
    """
    _check_count(sweep)
    model = model_fingerprint()
    points = [(*point, sweep.measure.under(point[1].warning)) for point in _points(sweep)]
    runs: dict[str, RunConfiguration] = {}
    operations: dict[str | None, list[tuple[Any, ...]]] = {}
    # Runs of one job table are adjacent, so that a worker builds it only once.
    for workload in _workloads(sweep):
        if isinstance(workload, Log) and workload.machine is not None:
            rules = product(sweep.mechanisms, [options for _, options, *_ in points])
            check_on_machine(workload.machine, workload.placement, rules, typed=workload.typed is not None)
        default = (workload.seed if isinstance(workload, GeneratedYear) else 0,)
        seeds = sweep.assignment.seeds if sweep.assignment.seeds is not None else default
        reader = workload.format if isinstance(workload, Log) else None
        if reader not in operations:
            operations[reader] = [
                (*point, mechanism, find_sources(mechanism, point[1], point[0], reader))
                for point, mechanism in product(points, sweep.mechanisms)
            ]
        for seed, (assignment, options, varied, measure, mechanism, plugins) in product(seeds, operations[reader]):
            run = RunConfiguration(
                workload, assignment, seed, mechanism, options, measure, model=model, plugins=plugins, varied=varied
            )
            runs.setdefault(run.key, run)
    return list(runs.values())


def _check_count(sweep: Sweep) -> None:
    """Refuse a grid that is too large, before it is built in memory."""
    lengths = [len(values) for values in (*sweep.assignment.values.values(), *sweep.options.values.values())]
    points = math.prod(lengths) if sweep.vary == "product" else 1 + sum(length - 1 for length in lengths)
    asked = sweep.workload
    loads = len(asked.traces) + len(asked.seeds or ()) * len(asked.lengths) * len(asked.presets or ("",))
    runs = loads * len(sweep.assignment.seeds or (0,)) * points * len(sweep.mechanisms)
    if runs > _MOST_RUNS:
        raise InputError(f"this sweep has {runs:,} runs, but at most {_MOST_RUNS:,} are allowed; vary fewer values")


def _workloads(sweep: Sweep) -> Iterator[GeneratedYear | Log]:
    asked = sweep.workload
    for seed, jobs, preset in product(asked.seeds or (), asked.lengths, asked.presets or ("default",)):
        yield GeneratedYear(seed, jobs, preset)
    for trace in asked.traces:
        try:
            path = Path(trace.directory, trace.path).resolve()
        except (OSError, ValueError) as error:  # a name that is too long, a NUL in it
            raise TraceError(trace.path, None, f"is not a file name: {error}") from None
        lenient = bool(trace.lenient)
        label = " ".join((trace.path, *(trace.where or ())))
        machine = _machine(trace)
        if machine is not None:
            label += " on " + " ".join(filter(None, (trace.machine, trace.placement)))
        yield Log(
            label, str(path), file_sha256(path), trace.nodes, trace.format, trace.procs_per_node, lenient,
            trace.where, trace.unit, trace.columns, None if machine is None else str(machine),
            None if machine is None else file_sha256(machine), trace.placement,
            True if machine is not None and _has_mechanisms(sweep) else None,
        )  # fmt: skip


def _machine(trace: TraceFile) -> Path | None:
    """The file of a trace's machine; what a replay on it does not have is refused."""
    if trace.machine is None:
        if trace.placement is not None:
            raise InputError("placement needs a machine: one pool of equal nodes has no places to choose from")
        return None
    for name in ("nodes", "unit", "procs_per_node"):
        if getattr(trace, name) is not None:
            raise InputError(f"{name} must be left out with a machine, whose file describes the nodes")
    return Path(trace.directory, trace.machine).resolve()


def _has_mechanisms(sweep: Sweep) -> bool:
    return any(mechanism != BASELINE for mechanism in sweep.mechanisms)


def _points(sweep: Sweep) -> Iterator[tuple[Assignment, Options, str]]:
    """Assignment and options of each point, and the varied parameter if parameters are varied one at a time."""
    axes = {**sweep.assignment.values, **sweep.options.values}
    if sweep.vary == "product":
        for values in product(*axes.values()):
            yield *_point(sweep, dict(zip(axes, values, strict=True))), ""
        return
    first = {name: values[0] for name, values in axes.items()}
    yield *_point(sweep, first), ""
    for name, values in axes.items():
        for value in values[1:]:
            yield *_point(sweep, first | {name: value}), name


def _point(sweep: Sweep, values: Mapping[str, Any]) -> tuple[Assignment, Options]:
    def select(names: Sequence[str]) -> dict[str, Any]:
        return {name: values[name] for name in names}

    return Assignment(**select([*sweep.assignment.values])), Options(**select([*sweep.options.values]))
