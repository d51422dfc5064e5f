"""Preparation of all runs of a command: each combination of option values is checked before the first run starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from holdfast.experiments.commands.options.arguments import read_options
from holdfast.experiments.commands.options.machine_options import simulation_on
from holdfast.experiments.commands.options.option_variations import Variation, variations
from holdfast.experiments.commands.options.outage_options import AskedOutages, OutageOptions
from holdfast.experiments.commands.options.run_options import RunOptions
from holdfast.experiments.commands.options.simulation_options import Simulation, prepare_simulation
from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.recordings.run_file import FIRST_SUBMIT, PAST_USAGE
from holdfast.experiments.recordings.variants import RUNS, make_label
from holdfast.policies.mechanism import parse_mechanism
from holdfast.policies.order import ORDERS
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.parameters import declared_parameters
from holdfast.workloads.ground.release import VERSION
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.logs.readers import read_workload
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.outages.outage import check_outages
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.job_lifecycle import replay_start
from holdfast.workloads.table.job_table import JobTable
from holdfast.workloads.table.jobs import Jobs

__all__ = ["PlannedRun", "make_manifest", "planned_runs"]

#: Options that may differ between runs on the same job table.
_BESIDE_THE_JOBS = (
    *(item.name for kind in (Options, OutageOptions) for item in declared_parameters(kind)),
    "placement",
)


@dataclass(frozen=True)
class PlannedRun:
    """One checked run, before it is simulated.

    Attributes
    ----------
    variation
        Its option values.
    simulation
        Jobs, machine and options; runs that differ only in the machine share the jobs.
    asked
        Its outages.
    measurement
        Settings of the measurement.
    """

    variation: Variation
    simulation: Simulation
    asked: AskedOutages
    measurement: Measurement

    @property
    def name(self) -> str:
        """Its label, or its mechanism."""
        return self.variation.label or self.variation.mechanism

    @property
    def table(self) -> str:
        """Label of its job table, from the options in which job tables differ; empty if there is only one."""
        return make_label(dict(self.variation.part(*_BESIDE_THE_JOBS)))

    @cached_property
    def submits(self) -> list[int]:
        """First submits of the jobs that arrive at a given time [ticks]."""
        submits = Jobs.of(self.simulation.jobs).column("submit")
        known: list[int] = in_ticks(submits[~np.isnan(submits)]).tolist()
        return known

    @property
    def configuration(self) -> dict[str, Any]:
        """Its entries of ``run.json``."""
        return {
            "holdfast": VERSION,
            **self.simulation.configuration,
            **self.asked.configuration,
            **prior_entries(self.simulation),
            "measurement": asdict(self.measurement),
        }

    def check(self) -> None:
        """Refuse outages that do not fit its machine, and an empty window.

        Raises
        ------
        InputError
            With the reason.
        """
        named = self.simulation.on_machine is not None
        check_outages(self.asked.outages, None if named else self.simulation.nodes, self.simulation.jobs, named=named)
        begin = replay_start(self.simulation.jobs)
        if self.submits and (begin is None or max(self.submits) >= to_ticks(begin)):
            self.measurement.window.bounds(self.submits, None if begin is None else to_ticks(begin))


def prior_entries(simulation: Simulation) -> dict[str, Any]:
    """Entries of ``run.json`` about the time before a starting state, if the simulation uses them."""
    prior, begin = simulation.prior, replay_start(simulation.jobs)
    if prior is None or begin is None:
        return {}
    entries: dict[str, Any] = {} if prior.origin is None else {FIRST_SUBMIT: prior.origin}
    half_life = ORDERS[simulation.options.order].half_life
    if half_life is not None and prior.usage is not None:
        entries[PAST_USAGE] = dict(prior.usage.at(begin, half_life))
    return entries


def planned_runs(arguments: RunOptions) -> list[PlannedRun]:
    """Prepare and check all runs of ``holdfast run``.

    Raises
    ------
    InputError
        If an option or an input is not usable.
    """
    # All runs share one input: the options of readers take no lists.
    reading = arguments.simulation.reading
    workload = cache(lambda: read_workload(arguments.simulation.input, **read_options(reading)))
    asked = variations(arguments, lambda: _has_types(workload()))
    mechanisms = list(dict.fromkeys(variation.mechanism for variation in asked))
    shared: dict[Any, Simulation] = {}
    planned = []
    for variation in asked:
        own = variation.arguments
        table = variation.part(*_BESIDE_THE_JOBS)
        if table not in shared:
            shared[table] = _read(own, mechanisms, workload)
        simulation = _with_options(shared[table], own, variation.mechanism)
        outages = own.outages_on(simulation)
        measurement = _measure(own.measurement.under(simulation.options.warning), simulation)
        planned.append(PlannedRun(variation, simulation, outages, measurement))
        planned[-1].check()
    return planned


def _measure(measurement: Measurement, simulation: Simulation) -> Measurement:
    """The measurement with durations in place of dates."""
    submits = Jobs.of(simulation.jobs).column("submit")
    if np.isnan(submits).all():
        return measurement
    begin = replay_start(simulation.jobs)
    first, last = float(np.nanmin(submits)), float(np.nanmax(submits))
    return measurement.on(simulation.clock, first if begin is None else begin, last)


def _has_types(workload: Trace | JobTable) -> bool:
    """Whether a workload is a job table with jobs that are not rigid."""
    return isinstance(workload, JobTable) and not bool(Jobs.of(workload.jobs).are(JobType.RIGID).all())


def _read(own: RunOptions, mechanisms: Sequence[str], workload: Callable[[], Trace | JobTable]) -> Simulation:
    """The jobs and the machine of a run; one pool of nodes reads its input through ``workload``."""
    if own.machine.machine is None:
        if own.machine.placement != "pack":
            raise InputError("--placement needs --machine: one pool of equal nodes has no places to choose from")
        return prepare_simulation(own.simulation, mechanisms, "run", workload)
    if own.events:
        raise InputError("--events must be left out with --machine: its replay keeps no event log")
    return simulation_on(own.simulation, own.machine, mechanisms)


def _with_options(simulation: Simulation, own: RunOptions, mechanism: str) -> Simulation:
    """The simulation with the options of one run."""
    options = own.simulation.operation
    configuration = {**simulation.configuration, "options": asdict(options)}
    workload = simulation.on_machine
    if workload is not None:
        from holdfast.simulator.machine_rules import check_machine_rules, needs_shared_simulation
        from holdfast.simulator.partitioned_simulation import needs_pools
        from holdfast.simulator.shared_simulation import check_shared_nodes

        jobs = Jobs.of(simulation.jobs)
        workload = replace(workload, placement=own.machine.placement)
        served_by = parse_mechanism(mechanism)
        if needs_shared_simulation(jobs, workload.machine, served_by):
            check_shared_nodes(jobs, workload, served_by, options)
        else:
            typed = needs_pools(jobs, workload.machine)
            check_machine_rules(workload.machine, workload.placement, served_by, options, typed=typed)
        configuration["machine"] = {**configuration["machine"], "placement": own.machine.placement}
    return replace(simulation, options=options, configuration=configuration, on_machine=workload)


def make_manifest(planned: Sequence[PlannedRun], own: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Content of ``run.json`` for these runs: shared entries, and one of :data:`RUNS` for each run.

    Parameters
    ----------
    planned
        Completed runs.
    own
        Further entries of each run by name.
    """
    configurations = [{**run.configuration, **own.get(run.name, {})} for run in planned]
    shared = {
        key: value
        for key, value in configurations[0].items()
        if all(key in one and one[key] == value for one in configurations)
    }
    shared["mechanisms"] = list(dict.fromkeys(run.variation.mechanism for run in planned))
    if not planned[0].variation.values:
        return shared
    # The jobs left out of the input may depend on the machine.
    shared.setdefault("input", configurations[0]["input"])
    runs = [
        {
            "label": run.name,
            "mechanism": run.variation.mechanism,
            "values": dict(run.variation.values),
            **{key: value for key, value in one.items() if key not in shared or shared[key] != value},
        }
        for run, one in zip(planned, configurations, strict=True)
    ]
    return {**shared, RUNS: runs}
