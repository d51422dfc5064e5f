"""``hf.whatif``: the log as recorded, the replay of today's rule, and each alternative beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.sweeps.execution import spread
from holdfast.experiments.traces.description import need_jobs
from holdfast.experiments.whatif.alternatives import Alternatives, alternatives
from holdfast.experiments.whatif.answer import ReplayCalibration, WhatIf
from holdfast.experiments.whatif.blocks import periods
from holdfast.experiments.whatif.contrasts import JobGroups, contrast, group_gains, group_jobs
from holdfast.experiments.whatif.machines import FittedJobs, fit_other_machine, fit_today
from holdfast.experiments.whatif.operation import OnDemandProjects, Operation
from holdfast.experiments.whatif.outcomes import ScheduleOutcome, Task, carry_out
from holdfast.experiments.whatif.recorded import outcome_in_log
from holdfast.simulator.machine_rules import check_machine_replay
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.numbers import check_whole
from holdfast.workloads.ground.parameters import whole
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.ground.units import LARGEST_SIZE
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.logs.clock import LogClock
from holdfast.workloads.logs.machine_size import with_assumed_size
from holdfast.workloads.logs.one_pool import caveats
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.machines.machine import Quota
from holdfast.workloads.outages.outage import check_outages
from holdfast.workloads.requests.log_requests import LogRequests
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = ["MOST_SEEDS", "TODAY", "whatif"]

#: Keys of today's rule.
TODAY = ("order", "backfilling", "nodes", "machine")
MOST_SEEDS = 100
Progress = Callable[[int, int], None]
#: A limit that no user reaches.
_UNLIMITED = Quota(running=10**9)


@dataclass(frozen=True)
class _Question:
    """Everything that decides the simulations."""

    trace: Trace
    jobs: Jobs
    today: Operation
    operations: Sequence[Operation]
    clock: LogClock
    seeds: int
    machines: Mapping[str, FittedJobs]

    def task(self, operation: Operation, ends: tuple[int, ...], jobs: Jobs | None = None) -> Task:
        """The simulation of an operation, for these jobs or those of the log."""
        fitted = None if operation.machine is None else self.machines[operation.machine]
        return Task(self.jobs if jobs is None else jobs, operation, ends, fitted)


def whatif(
    log: str | Path | Trace | LogRequests,
    *,
    today: Mapping[str, Any] | None = None,
    seeds: int = 5,
    workers: int | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> WhatIf:
    """Ask what changes of the machine or of its rules would do to the jobs of a log.

    Parameters
    ----------
    log
        A trace, or its file; with today's machine the file, or its jobs with their requests.
    today
        Today's rule: ``order``, ``backfilling`` and ``nodes``; by default FCFS with EASY backfilling on the machine of
        the log. ``machine`` in the place of ``nodes``: a file with partitions, kinds of nodes and limits.
    seeds
        Number of draws of an alternative in which something is random (1 to 100): which projects have on-demand jobs,
        and their notices.
    workers
        Processes; None: one for each core. They do not change the answer.
    progress
        Called with the number of simulations that are done, and that of all.
    **changes
        The alternatives, each a value or a list of values: ``order``, ``backfilling``, ``nodes`` (``"+10%"``),
        ``machine`` (files, beside today's machine), ``maintenance`` (``"20d,12h"``), ``outages`` (files), ``mechanism``
        with ``on_demand_projects``, ``limit`` (``"nodes=512"`` for each user); ``together=True`` adds one with all
        changes at once.

    Returns
    -------
    WhatIf
        The answer: ``print`` it, or ``.frame``, ``.document()``, ``.write_page("page.html")``.

    Raises
    ------
    InputError
        If the log cannot be read, a value is not legal, or there is no alternative.

    Examples
    --------
    >>> import holdfast as hf
    >>> answer = hf.whatif(hf.generate(jobs=200, seed=1), order="sjf", nodes="+10%")
    >>> [contrast.operation.name for contrast in answer.contrasts]
    ['order sjf', '4,831 nodes (+10%)']
    """
    check_whole("seeds", seeds, 1, f"a whole number from 1 to {MOST_SEEDS}")
    if seeds > MOST_SEEDS:
        raise ParameterError("seeds", f"a whole number from 1 to {MOST_SEEDS}", seeds)
    question = _ask(log, today or {}, Alternatives.of(**changes), seeds)
    return _answer(question, workers, progress or (lambda done, total: None))


def _ask(
    log: str | Path | Trace | LogRequests, today: Mapping[str, Any], changes: Alternatives, seeds: int
) -> _Question:
    """Read the log, and check everything before the first simulation."""
    for name in today:
        if name not in TODAY:
            raise UnknownNameError("part of today's rule", name, TODAY)
    machine = None if today.get("machine") is None else str(today["machine"])
    machines: dict[str, FittedJobs] = {}
    if machine is None:
        trace = _on_one_pool(log if isinstance(log, Trace) else _read(log), today.get("nodes"))
    else:
        if today.get("nodes") is not None:
            raise ParameterError("today's nodes", "left out with today's machine: its file has them", today["nodes"])
        trace, machines[machine] = fit_today(log, machine)
    need_jobs(trace, _source(trace))
    order, backfilling = (str(today.get(name) or usual) for name, usual in (("order", "fcfs"), ("backfilling", "easy")))
    rule = Operation("today", trace.nodes or 0, order, backfilling, machine=machine)
    rule = replace(rule, name=f"today: {rule.options.order}, {rule.options.backfilling}")
    if machine is not None:
        check_machine_replay(rule.options)
    clock = LogClock.of_trace(trace)
    operations = alternatives(rule, changes, trace)
    jobs = as_rigid(trace) if machine is None else machines[machine].jobs
    for path in [operation.machine for operation in operations if operation.machine is not None]:
        if path not in machines:
            machines[path] = fit_other_machine(trace, jobs, machines[str(machine)].workload.requests, path)
    last = float(jobs.column("submit").max())
    for operation in operations:
        check_outages(operation.outages, operation.nodes, jobs)
        late = [outage for outage in operation.outages if outage.start > last]
        if late:
            when, until = clock.show(late[0].start), clock.show(last)
            raise InputError(f"{operation.name}: begins at {when}, and the last job is submitted at {until}")
    return _Question(trace, jobs, rule, operations, clock, seeds, machines)


def _read(log: str | Path | LogRequests) -> Trace:
    return log.trace if isinstance(log, LogRequests) else read_trace(log)


def _source(trace: Trace) -> str:
    return Path(trace.source).name or "the log"


def _on_one_pool(trace: Trace, size: object) -> Trace:
    """The jobs that fit a pool of equal nodes: of today's size, or of that of the log."""
    if size is not None:
        return trace.on_machine(whole(str(size), "today's nodes", 1, LARGEST_SIZE))
    trace = with_assumed_size(trace)
    if trace.nodes is None:
        raise InputError(f"{_source(trace)}: this trace does not record the size of the machine; give today's nodes")
    return trace.on_machine(trace.nodes)


def _answer(question: _Question, workers: int | None, progress: Progress) -> WhatIf:
    """Carry out the simulations, and compare them."""
    jobs, today, operations = question.jobs, question.today, question.operations
    submits = in_ticks(jobs.column("submit"))
    name, ends = periods(int(submits.min()), int(submits.max()))
    tables = {
        (chosen, seed): _with_on_demand_jobs(question.trace, chosen, seed)
        for chosen in dict.fromkeys(operation.on_demand for operation in operations if operation.on_demand is not None)
        for seed in range(question.seeds)
    }
    tasks: dict[tuple[Operation, int], Task] = {(today, -1): question.task(today, ends)}
    for operation in operations:
        if operation.on_demand is None:
            reference = _reference(today, operation)
            tasks[reference, -1] = question.task(reference, ends)
            tasks[operation, -1] = question.task(operation, ends)
            continue
        for seed in range(question.seeds):
            table = tables[operation.on_demand, seed]
            tasks[_reference(today, operation), seed] = question.task(today, ends, table)
            tasks[operation, seed] = question.task(operation, ends, table)
    outcomes = dict(_carry_out(tasks, workers, progress))
    of = group_jobs(jobs, question.clock, question.trace.unit)
    contrasts = []
    for operation in operations:
        if operation.on_demand is None:
            reference = _reference(today, operation)
            contrasts.append(contrast(operation, [outcomes[reference, -1]], [outcomes[operation, -1]], of))
            continue
        same = _reference(today, operation)
        seeds = range(question.seeds)
        masks = [tables[operation.on_demand, seed].are(JobType.ON_DEMAND) for seed in seeds]
        ours = [outcomes[operation, seed] for seed in seeds]
        contrasts.append(contrast(operation, [outcomes[same, seed] for seed in seeds], ours, of, len(seeds), masks))
    replayed = outcomes[today, -1]
    return WhatIf(
        question.trace.source or "the log",
        question.trace.unit,
        len(jobs),
        tuple(question.clock.show(float(time)) for time in (jobs.column("submit").min(), jobs.column("submit").max())),
        today,
        replayed,
        _calibrate(question.trace, replayed, of, ends),
        tuple(contrasts),
        of.cluster,
        name,
        _caveats(question),
    )


def _caveats(question: _Question) -> tuple[str, ...]:
    """What the replays do not know."""
    if question.today.machine is None:
        return caveats(question.trace, question.today.nodes)
    estimated = [path for path, fitted in question.machines.items() if fitted.workload.machine.estimated]
    return tuple(f"{path} is an estimate from a log: nodes that its jobs never used are missing" for path in estimated)


def _reference(today: Operation, operation: Operation) -> Operation:
    """Today's rule for the jobs of an alternative, by the same engine: that with limits plans another way."""
    limit = None if operation.per_user is None else _UNLIMITED
    return replace(today, on_demand=operation.on_demand, per_user=limit)


def _carry_out(
    tasks: Mapping[tuple[Operation, int], Task], workers: int | None, progress: Progress
) -> Iterator[tuple[tuple[Operation, int], ScheduleOutcome]]:
    """Outcomes of the tasks: those of compiled loops first, which take less time than another process."""
    quick = [key for key, task in tasks.items() if task.quick]
    slow = [key for key, task in tasks.items() if not task.quick]
    done = 0
    progress(done, len(tasks))
    for key in quick:
        yield key, carry_out(tasks[key])
        done += 1
        progress(done, len(tasks))
    found = spread(carry_out, [tasks[key] for key in slow], 1 if len(slow) < 2 else workers)
    for key, outcome in zip(slow, found, strict=True):
        yield key, outcome
        done += 1
        progress(done, len(tasks))


def _with_on_demand_jobs(trace: Trace, chosen: OnDemandProjects, seed: int) -> Jobs:
    """The jobs, those of some projects on-demand and all others rigid.

    Each random choice has its own stream (:func:`holdfast.workloads.hybrid.assignment.assign`), so that the jobs of two
    assignments of one seed can be joined: they are what one assignment to these projects would give.
    """
    if chosen.share:
        return assign(trace, shares=(chosen.share, 1.0 - chosen.share, 0.0), seed=seed)
    rigid, urgent = (assign(trace, shares=shares, seed=seed) for shares in ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)))
    names = np.array(trace.jobs.texts("project"), object)
    own: NDArray[np.bool_] = np.isin(names, chosen.names)
    return Jobs.of([two if mine else one for one, two, mine in zip(rigid, urgent, own.tolist(), strict=True)])


def _calibrate(
    trace: Trace, replayed: ScheduleOutcome, of: JobGroups, ends: tuple[int, ...]
) -> ReplayCalibration | None:
    """The replay beside the recorded starts."""
    recorded = outcome_in_log(trace, ends)
    if recorded is None:
        return None
    groups = {by: of.groups[by] for by in ("partition", "size", "user") if by in of.groups}
    chosen = JobGroups(groups or {"": {}}, of.clusters, of.cluster)
    rows = group_gains(recorded.wait_h[None, :], replayed.wait_h[None, :], chosen)
    gaps = np.abs(replayed.wait_h - recorded.wait_h)
    return ReplayCalibration(recorded, next(iter(rows.values()))[0], {by: rows[by][1:] for by in groups},
                       float(np.nanmedian(gaps)))  # fmt: skip
