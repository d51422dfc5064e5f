"""Public names of the package ``holdfast``, and the entry point of the command line.

They are in a module of their own so that signals are already handled while it is compiled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from holdfast import _IS_COMMAND, _end_at_signals

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    import holdfast.experiments.figures as figures
    import holdfast.experiments.learning as gym
    import holdfast.workloads.distributions as distributions
    from holdfast.experiments.exports import export_result as export
    from holdfast.experiments.forecast.advice import Advice as Advice
    from holdfast.experiments.forecast.advice import advise as advise
    from holdfast.experiments.forecast.forecasts import forecast as forecast
    from holdfast.experiments.forecast.history import read_history as read_history
    from holdfast.experiments.forecast.machine_state import MachineState as MachineState
    from holdfast.experiments.forecast.machine_state import state_at as state_at
    from holdfast.experiments.forecast.seen_job import SeenJob as SeenJob
    from holdfast.experiments.forecast.sources import result_trace as as_log
    from holdfast.experiments.gantt.page import write_gantt as write_gantt
    from holdfast.experiments.paper_readings import READINGS as READINGS
    from holdfast.experiments.paper_readings import Reading as Reading
    from holdfast.experiments.paper_readings import find_reading as reading
    from holdfast.experiments.recordings.archive import read_recording as read_result
    from holdfast.experiments.recordings.paired_comparison import Gains
    from holdfast.experiments.recordings.streamed_replay import stream_log as stream
    from holdfast.experiments.recordings.time_windows import Window as Window
    from holdfast.experiments.stories.story import Stories as Stories
    from holdfast.experiments.stories.story import explain as explain
    from holdfast.experiments.sweeps import SweepResult
    from holdfast.experiments.timelines.phases import use_of_time as use_of_time
    from holdfast.experiments.whatif.answer import WhatIf as WhatIf
    from holdfast.experiments.whatif.question import whatif as whatif
    from holdfast.policies.arrival import ARRIVALS as ARRIVALS
    from holdfast.policies.backfilling import BACKFILLING as BACKFILLING
    from holdfast.policies.notice import NOTICES as NOTICES
    from holdfast.policies.order import ORDERS as ORDERS
    from holdfast.policies.order import Order as Order
    from holdfast.policies.planning.costs import CostModel as CostModel
    from holdfast.policies.planning.memory_execution import execute as execute
    from holdfast.policies.planning.plan import ReservationPlan as ReservationPlan
    from holdfast.policies.planning.plan_book import Planner as Planner
    from holdfast.policies.planning.strategies import STRATEGIES as STRATEGIES
    from holdfast.policies.planning.waits.fitting import fit_waits as fit_waits
    from holdfast.simulator import Options as Options
    from holdfast.simulator import Result as Result
    from holdfast.simulator.conformance import check_policy as check_policy
    from holdfast.workloads.distributions import Distribution as Distribution
    from holdfast.workloads.ground.errors import HoldfastError as HoldfastError
    from holdfast.workloads.ground.errors import InputError as InputError
    from holdfast.workloads.ground.trust import trust as trust
    from holdfast.workloads.hybrid.assignment import as_rigid as as_rigid
    from holdfast.workloads.hybrid.assignment import assign as prepare
    from holdfast.workloads.hybrid.checkpointing import checkpoint_cost as checkpoint_cost
    from holdfast.workloads.hybrid.checkpointing import checkpoint_interval as checkpoint_interval
    from holdfast.workloads.logs.one_pool import caveats as caveats
    from holdfast.workloads.logs.readers import read_trace as read_trace
    from holdfast.workloads.logs.swf import write_swf as write_swf
    from holdfast.workloads.logs.trace import Trace as Trace
    from holdfast.workloads.machines.machine import Machine as Machine
    from holdfast.workloads.machines.machine_file import make_machine as make_machine
    from holdfast.workloads.machines.machine_file import read_machine as read_machine
    from holdfast.workloads.machines.machine_file import write_machine as write_machine
    from holdfast.workloads.machines.request import ResourceRequest as ResourceRequest
    from holdfast.workloads.outages.failures import FailureRate as FailureRate
    from holdfast.workloads.outages.outage import Outage as Outage
    from holdfast.workloads.requests.log_requests import LogRequests as LogRequests
    from holdfast.workloads.requests.log_requests import read_requests as read_requests
    from holdfast.workloads.table.job import Job as Job
    from holdfast.workloads.table.job import JobType as JobType
    from holdfast.workloads.table.job_table import JobTable as JobTable
    from holdfast.workloads.table.job_table import read_job_table as read_job_table
    from holdfast.workloads.table.job_table import write_job_table as write_job_table

#: Packages that must be installed next to this one.

#: Names that are imported on first use: ``module:name``, or a module alone.
_LAZY = {
    # workloads
    "read_trace": "holdfast.workloads.logs.readers:read_trace",
    "caveats": "holdfast.workloads.logs.one_pool:caveats",
    "write_swf": "holdfast.workloads.logs.swf:write_swf",
    "Trace": "holdfast.workloads.logs.trace:Trace",
    "prepare": "holdfast.workloads.hybrid.assignment:assign",
    "as_rigid": "holdfast.workloads.hybrid.assignment:as_rigid",
    "checkpoint_cost": "holdfast.workloads.hybrid.checkpointing:checkpoint_cost",
    "checkpoint_interval": "holdfast.workloads.hybrid.checkpointing:checkpoint_interval",
    "Job": "holdfast.workloads.table.job:Job",
    "JobType": "holdfast.workloads.table.job:JobType",
    "JobTable": "holdfast.workloads.table.job_table:JobTable",
    "read_job_table": "holdfast.workloads.table.job_table:read_job_table",
    "write_job_table": "holdfast.workloads.table.job_table:write_job_table",
    "Machine": "holdfast.workloads.machines.machine:Machine",
    "make_machine": "holdfast.workloads.machines.machine_file:make_machine",
    "read_machine": "holdfast.workloads.machines.machine_file:read_machine",
    "write_machine": "holdfast.workloads.machines.machine_file:write_machine",
    "ResourceRequest": "holdfast.workloads.machines.request:ResourceRequest",
    "LogRequests": "holdfast.workloads.requests.log_requests:LogRequests",
    "read_requests": "holdfast.workloads.requests.log_requests:read_requests",
    "Outage": "holdfast.workloads.outages.outage:Outage",
    "FailureRate": "holdfast.workloads.outages.failures:FailureRate",
    # simulation
    "READINGS": "holdfast.experiments.paper_readings:READINGS",
    "Reading": "holdfast.experiments.paper_readings:Reading",
    "reading": "holdfast.experiments.paper_readings:find_reading",
    "Options": "holdfast.simulator:Options",
    "Result": "holdfast.simulator:Result",
    "stream": "holdfast.experiments.recordings.streamed_replay:stream_log",
    "read_result": "holdfast.experiments.recordings.archive:read_recording",
    "explain": "holdfast.experiments.stories.story:explain",
    "Stories": "holdfast.experiments.stories.story:Stories",
    "use_of_time": "holdfast.experiments.timelines.phases:use_of_time",
    "export": "holdfast.experiments.exports:export_result",
    "write_gantt": "holdfast.experiments.gantt.page:write_gantt",
    "Window": "holdfast.experiments.recordings.time_windows:Window",
    "figures": "holdfast.experiments.figures",
    "whatif": "holdfast.experiments.whatif.question:whatif",
    "WhatIf": "holdfast.experiments.whatif.answer:WhatIf",
    # policies
    "ORDERS": "holdfast.policies.order:ORDERS",
    "Order": "holdfast.policies.order:Order",
    "BACKFILLING": "holdfast.policies.backfilling:BACKFILLING",
    "NOTICES": "holdfast.policies.notice:NOTICES",
    "ARRIVALS": "holdfast.policies.arrival:ARRIVALS",
    "STRATEGIES": "holdfast.policies.planning.strategies:STRATEGIES",
    "check_policy": "holdfast.simulator.conformance:check_policy",
    # planning
    "distributions": "holdfast.workloads.distributions",
    "Distribution": "holdfast.workloads.distributions:Distribution",
    "CostModel": "holdfast.policies.planning.costs:CostModel",
    "ReservationPlan": "holdfast.policies.planning.plan:ReservationPlan",
    "Planner": "holdfast.policies.planning.plan_book:Planner",
    "execute": "holdfast.policies.planning.memory_execution:execute",
    "fit_waits": "holdfast.policies.planning.waits.fitting:fit_waits",
    # forecasts
    "as_log": "holdfast.experiments.forecast.sources:result_trace",
    "MachineState": "holdfast.experiments.forecast.machine_state:MachineState",
    "SeenJob": "holdfast.experiments.forecast.seen_job:SeenJob",
    "state_at": "holdfast.experiments.forecast.machine_state:state_at",
    "read_history": "holdfast.experiments.forecast.history:read_history",
    "forecast": "holdfast.experiments.forecast.forecasts:forecast",
    "advise": "holdfast.experiments.forecast.advice:advise",
    "Advice": "holdfast.experiments.forecast.advice:Advice",
    # learning
    "gym": "holdfast.experiments.learning",
    # files
    "trust": "holdfast.workloads.ground.trust:trust",
    # errors
    "HoldfastError": "holdfast.workloads.ground.errors:HoldfastError",
    "InputError": "holdfast.workloads.ground.errors:InputError",
}

__all__ = [
    "ARRIVALS",
    "BACKFILLING",
    "NOTICES",
    "ORDERS",
    "READINGS",
    "STRATEGIES",
    "Advice",
    "CostModel",
    "Distribution",
    "FailureRate",
    "HoldfastError",
    "InputError",
    "Job",
    "JobTable",
    "JobType",
    "LogRequests",
    "Machine",
    "MachineState",
    "Options",
    "Order",
    "Outage",
    "Planner",
    "Reading",
    "ReservationPlan",
    "ResourceRequest",
    "Result",
    "SeenJob",
    "Stories",
    "Trace",
    "WhatIf",
    "Window",
    "advise",
    "as_log",
    "as_rigid",
    "caveats",
    "check_policy",
    "checkpoint_cost",
    "checkpoint_interval",
    "compare",
    "distributions",
    "execute",
    "explain",
    "export",
    "figures",
    "fit",
    "fit_waits",
    "forecast",
    "generate",
    "gym",
    "make_machine",
    "plan",
    "prepare",
    "read_history",
    "read_job_table",
    "read_machine",
    "read_requests",
    "read_result",
    "read_trace",
    "reading",
    "simulate",
    "simulate_each",
    "state_at",
    "stream",
    "sweep",
    "trust",
    "use_of_time",
    "whatif",
    "write_gantt",
    "write_job_table",
    "write_machine",
    "write_swf",
]


if not TYPE_CHECKING:  # otherwise type checkers would accept every name, with any type

    def __getattr__(name: str) -> Any:
        """Import a name on first use."""
        if name not in _LAZY:
            raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
        module, _, attribute = _LAZY[name].partition(":")
        value = import_module(module)
        if attribute:
            value = getattr(value, attribute)
        globals()[name] = value
        return value


def generate(*, jobs: int | None = None, seed: int = 0, preset: str = "default", **parameters: Any) -> Trace:
    """Generate a trace like a year of Theta.

    Parameters
    ----------
    jobs
        Number of jobs; by default 37,298, a year.
    seed
        Seed of all random choices, >= 0.
    preset
        Calibrated parameters, by a name of :data:`holdfast.workloads.theta.presets.PRESETS`, or several joined by
        ``+``.
    **parameters
        Other fields of :class:`holdfast.workloads.theta.year.ThetaYear`, such as ``nodes``.

    Returns
    -------
    Trace
        Jobs sorted by submit time; the same for the same arguments.

    Raises
    ------
    InputError
        If a value is not legal.
    """
    from dataclasses import replace

    from holdfast.workloads.ground.errors import UnknownNameError
    from holdfast.workloads.theta.generator import generate as generated
    from holdfast.workloads.theta.presets import preset_year
    from holdfast.workloads.theta.year import ThetaYear

    given = parameters if jobs is None else {"jobs": jobs, **parameters}
    strange = sorted(set(given) - set(ThetaYear.__dataclass_fields__))
    if strange:
        raise UnknownNameError("parameter", strange[0], list(ThetaYear.__dataclass_fields__))
    return generated(replace(preset_year(preset), **given), seed)


def simulate(
    workload: Trace | JobTable | LogRequests | pd.DataFrame | Iterable[Job],
    nodes: int | None = None,
    mechanism: str = "baseline",
    *,
    machine: Machine | None = None,
    requests: Sequence[ResourceRequest] | None = None,
    placement: str = "pack",
    **options: Any,
) -> Result:
    """Simulate a workload on a machine.

    Parameters
    ----------
    workload
        A job table, or a trace: then all jobs are rigid and without overheads (:func:`as_rigid`). Either may be a
        DataFrame with one row per job: with the columns of the job table or, without ``type``, with ``submit``,
        ``nodes``, ``runtime`` and preferably ``walltime``, ``user`` and ``project``, in seconds or as datetimes and
        timedeltas. Columns of :attr:`Result.jobs` with outcomes are ignored. :func:`read_requests` reads the jobs of a
        log with their requests to a machine.
    nodes
        Size of the machine; by default from the trace.
    mechanism
        ``baseline`` (FCFS with EASY backfilling, every job rigid), or a notice and an arrival strategy: ``CUA-SPAA``.
    machine
        A machine with partitions, shared nodes, GPUs, memory and limits (:func:`read_machine`) for a replay of rigid
        jobs; ``nodes`` and ``mechanism`` are then left out. Sizes in the result count nodes if all partitions are
        exclusive, otherwise cores.
    requests
        Request of each job to this machine, in the order of the jobs; None: from the log, or size in nodes, partition,
        QOS, and project as account.
    placement
        Rule for choosing nodes of this machine: ``pack``, ``spread`` or ``slurm``.
    **options
        ``order``, ``backfilling``, ``tenants``, ``expansion``, ``warning``, ``outages``, ``failures``, ``planner``,
        ``events`` and all other options of :func:`holdfast.simulator.simulation.simulate`.

    Returns
    -------
    Result
        ``.summary()``; ``.jobs``, ``.runs``, ``.reservations``, ``.events`` and ``.timeline()``, which are DataFrames;
        ``.plot()``.

    Raises
    ------
    InputError
        If the workload, the machine, the mechanism or an option is not legal.

    Examples
    --------
    >>> import holdfast as hf
    >>> wide = hf.Job(1, hf.JobType.RIGID, submit=0, nodes=4, runtime=3600, walltime=7200)
    >>> urgent = hf.Job(2, hf.JobType.ON_DEMAND, submit=600, nodes=2, runtime=600, walltime=600)
    >>> hf.simulate([wide, urgent], nodes=4, mechanism="N-PAA").jobs[["job_id", "start", "end", "preemptions"]]
       job_id  start     end  preemptions
    0       1    0.0  4800.0            1
    1       2  600.0  1200.0            0
    """
    from holdfast.simulator import simulate as simulated
    from holdfast.workloads.ground.errors import InputError, ParameterError
    from holdfast.workloads.hybrid.assignment import as_rigid
    from holdfast.workloads.logs.trace import Trace
    from holdfast.workloads.table.job_table import JobTable

    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(workload, pandas.DataFrame):
        from holdfast.simulator.results.schema import STUDIED_JOBS
        from holdfast.workloads.table.data_frames import jobs_of_frame

        workload = jobs_of_frame(workload, ignored=STUDIED_JOBS.names)
    jobs: Any
    if machine is not None:
        if nodes is not None:
            raise ParameterError("nodes", "left out with a machine, which has them", nodes)
        return _simulate_on_machine(workload, machine, requests, placement, mechanism=mechanism, **options)
    if requests is not None or placement != "pack":
        raise ParameterError("requests" if requests is not None else "placement", "left out without machine", placement)
    if isinstance(workload, Trace):
        jobs, nodes = as_rigid(workload), workload.nodes if nodes is None else nodes
    else:
        jobs = workload.jobs if isinstance(workload, JobTable) else workload
    if isinstance(jobs, str | os.PathLike):
        raise ParameterError("workload", "what read_trace or read_job_table reads from a file", workload)
    if not isinstance(jobs, Iterable):
        raise ParameterError("workload", "a trace, a job table, a DataFrame, or jobs", workload)
    if nodes is None:
        message = "give nodes: this workload does not record the size of its machine"
        if isinstance(workload, Trace):
            from holdfast.workloads.logs.machine_size import with_assumed_size

            assumed = with_assumed_size(workload)
            message += f" (its jobs held {assumed.nodes:,} {assumed.unit})" if assumed.nodes else ""
        raise InputError(message)
    return simulated(jobs, nodes, mechanism, **options)


def _simulate_on_machine(
    workload: Any, machine: Machine, requests: Sequence[ResourceRequest] | None, placement: str, **options: Any
) -> Result:
    """Simulate a workload on a machine with partitions."""
    from holdfast.simulator import simulate as simulated
    from holdfast.workloads.ground.errors import InputError, ParameterError
    from holdfast.workloads.hybrid.assignment import as_rigid
    from holdfast.workloads.logs.trace import Trace
    from holdfast.workloads.machines.machine_workload import machine_size
    from holdfast.workloads.requests.fitted_trace import fit_jobs_to_machine, fit_log_to_machine
    from holdfast.workloads.requests.log_requests import LogRequests
    from holdfast.workloads.table.job_table import JobTable

    jobs: Any
    if isinstance(workload, LogRequests):
        if requests is not None:
            raise ParameterError("requests", "left out with the requests of a log", requests)
        trace, served = fit_log_to_machine(workload, machine, placement=placement)
        if not trace.jobs:
            raise InputError(f"no job of {workload.title} fits the machine")
        jobs = as_rigid(trace)
    else:
        unit = workload.unit if isinstance(workload, Trace) else "nodes"
        rows = as_rigid(workload) if isinstance(workload, Trace) else workload
        rows = rows.jobs if isinstance(rows, JobTable) else rows
        if not isinstance(rows, Iterable):
            raise ParameterError("workload", "a trace, a job table, a DataFrame, or jobs", workload)
        jobs, served = fit_jobs_to_machine(rows, machine, requests, placement=placement, unit=unit)
    return simulated(jobs, machine_size(machine), on_machine=served, **{"events": False, **options})


def simulate_each(
    workload: Trace | JobTable | pd.DataFrame | Iterable[Job],
    nodes: int | Sequence[int] | None = None,
    mechanism: str | Sequence[str] = "baseline",
    **options: Any,
) -> dict[str, Result]:
    """Simulate a workload once for each combination of values, as ``holdfast run`` does with lists.

    Parameters
    ----------
    workload
        As of :func:`simulate`.
    nodes, mechanism
        One value or a list of values.
    **options
        As for :func:`simulate`; each field of :class:`Options` may be a list of values.

    Returns
    -------
    dict
        Results by label, in the order of the lists; a label consists of the values in which the results differ.

    Raises
    ------
    InputError
        If a value is not legal, a list is empty, or two combinations have the same label.

    Examples
    --------
    >>> import holdfast as hf
    >>> jobs = [hf.Job(i, hf.JobType.RIGID, submit=i, nodes=3, runtime=60 * i, walltime=600) for i in (3, 2, 1)]
    >>> results = hf.simulate_each(jobs, 4, order=["fcfs", "sjf"], backfilling=["easy", "none"])
    >>> list(results)
    ['fcfs / easy', 'fcfs / none', 'sjf / easy', 'sjf / none']
    """
    from dataclasses import fields, replace
    from itertools import product

    from holdfast.experiments.recordings.variants import in_label_order, make_label
    from holdfast.simulator.options import Options
    from holdfast.workloads.ground.errors import InputError, ParameterError

    given = {**options, "nodes": nodes, "mechanism": mechanism}
    listed = {"nodes", "mechanism", "placement", *(item.name for item in fields(Options))}
    axes = {name: list(given[name]) for name in given if name in listed and isinstance(given[name], list | tuple)}
    for name, values in axes.items():
        if not values:
            raise ParameterError(name, "a value, or a list of at least one", given[name])
    names = in_label_order(axes)
    results: dict[str, Result] = {}
    for combination in product(*(axes[name] for name in names)):
        chosen = dict(zip(names, combination, strict=True))
        label = make_label({name: value for name, value in chosen.items() if len(axes[name]) > 1})
        result = replace(simulate(workload, **{**given, **chosen}), label=label)
        if result.name in results:
            raise InputError(f"two of these simulations are {result.name!r}: give each value once")
        results[result.name] = result
    return results


@overload
def compare(results: Mapping[str, Result] | Sequence[Result], /, *metrics: str) -> pd.DataFrame: ...


@overload
def compare(results: Result, other: Result, /, *, by: str | None = None) -> Gains: ...


def compare(
    results: Mapping[str, Result] | Sequence[Result] | Result, /, *others: Any, by: str | None = None
) -> pd.DataFrame | Gains:
    """Compare results side by side, or two results of the same jobs job by job.

    Parameters
    ----------
    results
        Results by label, or a sequence of results, which are labelled by their own labels or mechanisms, or by the
        options in which they differ; or the first of two results.
    *others
        Metrics of :meth:`Result.summary` to show, by default all of them; or the second of two results.
    by
        Attribute that groups the jobs of two results: ``user``, ``project``, ``partition``, ``qos``, ``size``,
        ``type``, ``week`` or ``hour`` of submission; None: no groups.

    Returns
    -------
    pandas.DataFrame or Gains
        One row per result and one column per metric; for two results, a
        :class:`~holdfast.experiments.recordings.paired_comparison.Gains`: paired differences, second minus first, with
        95 % intervals, and the groups that gain and lose (``print``, ``.frame``, ``figures.plot_gains``). All jobs
        count, also those that a warmup or a cooldown of ``holdfast run`` leaves out.

    Raises
    ------
    InputError
        If there is no such metric, two results have the same label, or two results are not of the same jobs.

    Examples
    --------
    >>> import holdfast as hf
    >>> trace = hf.generate(jobs=100, seed=1)
    >>> fcfs, sjf = (hf.simulate(trace, order=order) for order in ("fcfs", "sjf"))
    >>> hf.compare([fcfs, sjf], "wait_h", "utilization").index.tolist()
    ['fcfs', 'sjf']
    >>> len(hf.compare(fcfs, sjf, by="type").of("wait_h"))  # all jobs, and the rigid ones
    2
    """
    import pandas as pd

    from holdfast.simulator.results.result import Result
    from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError

    if isinstance(results, Result):
        from holdfast.experiments.recordings.paired_comparison import gains

        if len(others) != 1 or not isinstance(others[0], Result):
            raise InputError("give two results to compare job by job, or several as a list or a dict")
        return gains(results, others[0], by)
    if by is not None:
        raise ParameterError("by", "left out unless two results are compared job by job", by)
    metrics = others
    listed = [*(results.values() if isinstance(results, Mapping) else results)]
    if not all(isinstance(result, Result) for result in listed):
        raise ParameterError("results", "simulated ones, or those of read_result", results)
    if isinstance(results, Mapping):
        labelled = list(results.items())
    else:
        from holdfast.experiments.recordings.variants import distinct_names

        labelled = list(zip(distinct_names(listed), listed, strict=True))
    labels = [label for label, _ in labelled]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise InputError(f"two results are labelled {twice!r}: give them as a dict of label: result")
    table = pd.DataFrame([dict(result.summary()) for _, result in labelled], index=labels).drop(columns="mechanism")
    for metric in metrics:
        if metric not in table.columns:
            raise UnknownNameError("metric", metric, list(table.columns))
    return table[list(metrics)] if metrics else table


def sweep(
    directory: str | Path,
    configuration: str | Path | None = None,
    *,
    workers: int | None = None,
    store: str | Path | None = None,
    against: str = "",
    **tables: Any,
) -> SweepResult:
    """Run a grid of simulations; runs already stored in ``directory`` are not repeated.

    Parameters
    ----------
    directory
        Directory of the tables and the stored runs.
    configuration
        A TOML file (docs/sweeps.md); None: the tables are given as keywords.
    workers
        Number of processes; by default one per core.
    store
        Directory of the results of runs, which several sweeps may share; by default ``directory/store``.
    against
        Reference configuration for differences, such as ``"order=fcfs"``.
    **tables
        The tables of the file, such as ``workload={"seeds": "0:3"}`` and ``mechanisms="all"``.

    Returns
    -------
    SweepResult
        ``.frame`` is the summary, a row for each run; ``.aggregates`` has mean, 95 % interval and n of each
        configuration over the seeds, ``.differences`` the paired differences from ``against``.

    Raises
    ------
    InputError
        If a key or a value is not legal.
    """
    from holdfast.experiments.sweeps import make_sweep, read_sweep, run_sweep
    from holdfast.workloads.ground.errors import InputError

    if configuration is not None and tables:
        raise InputError(f"give either a configuration file or its tables ({', '.join(sorted(tables))}), not both")
    asked = make_sweep(**tables) if configuration is None else read_sweep(configuration)
    return run_sweep(asked, directory, workers=workers, store=store, against=against)


def plan(
    distribution: Distribution | ArrayLike,
    strategy: str = "optimal",
    *,
    checkpoint: float | None = None,
    restart: float = 0.0,
    alpha: float = 1.0,
    beta: float = 0.0,
    gamma: float = 0.0,
    **parameters: Any,
) -> ReservationPlan:
    """Plan the reservations of a job with a runtime known only as a distribution.

    Parameters
    ----------
    distribution
        Distribution of the runtime (:data:`distributions`, :func:`fit`), or runtimes of past runs, in any unit;
        timedeltas are in seconds.
    strategy
        A name of :data:`STRATEGIES`.
    checkpoint, restart
        Time to write a checkpoint and to read it, in the same unit. Without ``checkpoint`` there are no checkpoints:
        ``optimal`` is then ``no-ckpt``.
    alpha, beta, gamma
        Cost of a unit of requested time, of a unit of used time, and of each reservation.
    **parameters
        Parameters of the strategy, such as ``n`` or ``k``.

    Returns
    -------
    ReservationPlan
        ``.length``, ``.checkpointed`` and ``.expected_cost(distribution)``.

    Raises
    ------
    InputError
        If a value is not legal, or the strategy writes checkpoints and their duration is not given.

    Notes
    -----
    "Reservation and Checkpointing Strategies for Stochastic Jobs", sections 2 and 3.

    Examples
    --------
    >>> import holdfast as hf
    >>> hf.plan([1.0, 1.0, 1.0, 9.0], checkpoint=0.1, restart=0.1).length
    array([1.1, 8.1])
    """
    from holdfast.policies.planning.costs import CostModel
    from holdfast.policies.planning.planner import refuse_checkpoints, strategy_without_checkpoints
    from holdfast.policies.planning.strategies import STRATEGIES

    costs = CostModel(alpha=alpha, beta=beta, gamma=gamma, checkpoint=checkpoint or 0.0, restart=restart)
    name = strategy_without_checkpoints(strategy) if checkpoint is None else strategy
    made: ReservationPlan = STRATEGIES[name](distribution, costs, **parameters)
    if checkpoint is None:
        refuse_checkpoints(made, "checkpoint")
    return made


def fit(
    runs: ArrayLike, method: str = "auto", *, checkpoint: float | None = None, restart: float = 0.0
) -> Distribution:
    """Fit a distribution to the runtimes of past runs.

    Parameters
    ----------
    runs
        Runtimes, the newest last; shape (n,).
    method
        ``discrete``, ``usual``, ``usual-least-squares``, ``polynomial``, ``interpolated``, ``kernel``, or ``auto``: the
        fit with the cheapest plans on held-out runs.
    checkpoint, restart
        Time to write a checkpoint and to read it, for the plans of ``auto``; without ``checkpoint``, these have no
        checkpoints.

    Returns
    -------
    Distribution
        A distribution for :func:`plan`.

    Raises
    ------
    InputError
        If the runs are not positive numbers, or no distribution of this kind fits them.

    Notes
    -----
    "Making Speculative Scheduling Robust to Incomplete Data", section IV.
    """
    from holdfast.policies.planning.costs import CostModel
    from holdfast.policies.planning.planner import fit_runs, strategy_without_checkpoints
    from holdfast.workloads.distributions.checks import runtimes

    costs = CostModel(checkpoint=checkpoint or 0.0, restart=restart)
    strategy = "optimal" if checkpoint is not None else strategy_without_checkpoints("optimal")
    return fit_runs(runtimes("runs", runs), method, costs, strategy, {}).chosen.good()


def main() -> int:
    """Run the command line ``holdfast``; returns its exit status."""
    _open_streams()
    try:
        from holdfast.experiments.cli import main as command_line
        from holdfast.workloads.ground.library_threads import limit_library_threads
    except Exception as error:  # an incomplete installation, no memory
        print(f"holdfast: cannot start: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    limit_library_threads()
    try:
        status = command_line()
    except SystemExit as stop:  # argparse
        status = stop.code if isinstance(stop.code, int) else 2
    if _IS_COMMAND:
        _end_at_signals(status)
    return status


def _open_streams() -> None:
    """Replace closed standard streams by the null device, and print what the terminal has no character for as ``?``.

    A file that is opened while a standard stream is closed would get its descriptor, and whatever is printed.
    """
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        stream = getattr(sys, name)
        if stream is None:
            with suppress(OSError):
                os.fstat(descriptor)
                continue
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest that is free, which is this one
            setattr(sys, name, os.fdopen(opened, mode))
        elif name == "stdout" and getattr(stream, "errors", "") == "strict":
            stream.reconfigure(errors="replace")
