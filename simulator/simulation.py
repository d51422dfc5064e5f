"""The function ``simulate``, which turns a job table into a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from holdfast.policies.mechanism import BASELINE, Mechanism, parse_mechanism
from holdfast.simulator.clock.stream import BATCH_SIZE
from holdfast.simulator.collector_pause import pause_collector
from holdfast.simulator.machine.decisions import Decisions
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.machine.prior_state import PriorState
from holdfast.simulator.options import Options
from holdfast.simulator.plain_replay import PlainSamples, PlainTable, accounting, plain_table
from holdfast.simulator.plain_starts import obstacle
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.results.records import refuse_late_end
from holdfast.simulator.results.result import Result
from holdfast.simulator.services.downtime import Closures
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.ground.units import LARGEST_SIZE, to_ticks
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage, check_outages
from holdfast.workloads.table.job import STOCHASTIC, Job
from holdfast.workloads.table.jobs import Jobs
from holdfast.workloads.table.validation import check_jobs

if TYPE_CHECKING:
    from holdfast.policies.planning.plan import ReservationPlan
    from holdfast.policies.planning.plan_book import PlanBook, Planner
    from holdfast.simulator.clock.setup import Setup
    from holdfast.simulator.clock.stream import Consumer
    from holdfast.workloads.machines.machine_workload import MachineWorkload

__all__ = ["check_plans", "checked_table", "simulate", "simulate_table"]


def simulate(
    jobs: Iterable[Job],
    nodes: int,
    mechanism: str = BASELINE,
    *,
    events: bool = True,
    decisions: bool = False,
    progress: Callable[[int], None] | None = None,
    planner: Planner | None = None,
    plans: Mapping[str, ReservationPlan] | None = None,
    outages: Sequence[Outage] = (),
    failures: FailureRate | None = None,
    prior: PriorState | None = None,
    on_machine: MachineWorkload | None = None,
    **options: object,
) -> Result:
    """Replay a job table on a machine of ``nodes`` nodes.

    Parameters
    ----------
    jobs
        The job table; every random choice is already made in it, so that the simulation is deterministic.
    nodes
        Size of the machine, from 1 to 1,000,000,000.
    mechanism
        ``baseline`` (FCFS with EASY backfilling, every job rigid), or a notice and an arrival strategy, e.g.
        ``CUA-SPAA``.
    events
        Whether the event log is kept.
    decisions
        Whether the reasons for decisions are recorded, as ``holdfast.experiments.stories`` needs them: promises,
        overheads of victims, loans, and reasons given by policies.
    progress
        Called from time to time with the number of ended jobs.
    planner
        Planner of stochastic jobs at their submission (:class:`holdfast.policies.planning.plan_book.Planner`).
    plans
        Given plans, by the name by which stochastic jobs refer to them; times in seconds.
    outages
        Maintenance, failures and advance reservations, on the job table's clock.
    failures
        Rate of additional failures from the first event of the table on.
    prior
        Past usage and nodes of the running jobs, for a replay that begins in a state; None: unknown. On a machine the
        usage counts node equivalents, and the nodes are not used.
    on_machine
        A machine with partitions and shared nodes, and the requests of the jobs; ``nodes`` is then its size in its unit
        (:mod:`holdfast.workloads.machines.machine_workload`). No event log is kept. Outages close named nodes. None:
        one pool.
    **options
        Fields of :class:`holdfast.simulator.options.Options`: ``order``, ``backfilling``, ``backfill_length``,
        ``passes``, ``tenants``, ``malleable_start``, ``malleable_resume``, ``malleable_head``, ``arrival_takes``,
        ``shrunk_lenders``, ``preempted_lenders``, ``expansion``, ``warning``, ``timeout``, ``checkpoint_variation``,
        ``checkpoint_mode``, ``seed``, ``engine``.

    Returns
    -------
    Result
        ``.summary()``, ``.jobs``, ``.events``, ``.timeline()``.

    Raises
    ------
    InputError
        If the table, the machine, the mechanism or an option is not legal.

    Examples
    --------
    >>> from holdfast.workloads.table.job import Job, JobType
    >>> rigid = Job(1, JobType.RIGID, submit=0, nodes=4, runtime=3600, walltime=7200)
    >>> urgent = Job(2, JobType.ON_DEMAND, submit=600, nodes=2, runtime=600, walltime=600)
    >>> result = simulate([rigid, urgent], nodes=4, mechanism="N-PAA")
    >>> print(result.jobs[["job_id", "start", "end", "preemptions"]])
       job_id  start     end  preemptions
    0       1    0.0  4800.0            1
    1       2  600.0  1200.0            0
    """
    # Sizes of a DataFrame are integers of numpy.
    nodes = int(nodes) if is_whole(nodes, numpy=True) else nodes
    return simulate_table(
        checked_table(jobs, nodes), nodes, mechanism, events=events, decisions=decisions, progress=progress,
        planner=planner, plans=plans, outages=outages, failures=failures, prior=prior, on_machine=on_machine,
        settings=Options.of(**options),
    )  # fmt: skip


def simulate_table(
    table: Sequence[Job],
    nodes: int,
    mechanism: str = BASELINE,
    *,
    events: bool = True,
    decisions: bool = False,
    progress: Callable[[int], None] | None = None,
    planner: Planner | None = None,
    plans: Mapping[str, ReservationPlan] | None = None,
    outages: Sequence[Outage] = (),
    failures: FailureRate | None = None,
    prior: PriorState | None = None,
    on_machine: MachineWorkload | None = None,
    settings: Options | None = None,
    consume: Consumer | None = None,
    batch_size: int = BATCH_SIZE,
    **options: object,
) -> Result:
    """Simulate a table returned by :func:`checked_table`, which several simulations may share.

    Parameters
    ----------
    table
        The table.
    nodes, mechanism, events, decisions, progress, planner, plans, outages, failures, prior, on_machine
        As in :func:`simulate`.
    settings, **options
        The options; keywords as in :func:`simulate`.
    consume
        Called during a plain replay with each batch of ended jobs: their rows in the table, and their starts and ends
        [ticks of its clock], in the order of the ends, shapes (batch_size,). A compiled replay never calls it, because
        it computes all jobs at once. None: no callback.
    batch_size
        Number of ended jobs in a batch.

    Raises
    ------
    InputError
        As in :func:`simulate`, or if ``consume`` is given and the replay is not plain.
    """
    settings, table = settings or Options.of(**options), Jobs.of(table)
    served_by = parse_mechanism(mechanism)
    book = _book(table, planner, plans)
    origin = table.derive(clock_origin)
    if prior is not None and prior.origin is not None:
        origin = min(origin, to_ticks(prior.origin))
    if on_machine is not None:
        if consume is not None:
            raise InputError("only a plain replay hands over jobs as they end: there must be no machine (on_machine)")
        # Imported here, because plain replays start a fifth sooner without machines and the planner (0.43 for 0.59 s).
        from holdfast.simulator.machine_results import simulate_on_named_nodes

        def simulate_pool(jobs: Jobs, size: int, closed: Sequence[Outage], advance: Callable[[int], None]) -> Result:
            return simulate_table(
                jobs, size, mechanism, events=False, progress=advance, outages=closed, settings=settings
            )

        return simulate_on_named_nodes(
            table, nodes, on_machine, mechanism, settings, origin, progress, book, prior, outages, failures,
            simulate_pool=simulate_pool,
        )  # fmt: skip
    closures = _closures(table, nodes, list(outages), failures, origin)
    with pause_collector():
        reason = _obstacle(served_by, book, closures, prior, events=events or decisions)
        if settings.engine != "simpy":
            found: Result | str = reason or obstacle(settings)
            found = found or _plain_result(table.derive(plain_table), table, nodes, settings, progress)
            if isinstance(found, Result):
                return found
            if settings.engine == "compiled":
                raise InputError(f"engine=compiled replays only plain tables: {found}")
        plain: PlainTable | str = reason or table.derive(plain_table)
        if isinstance(plain, PlainTable) and plain.any_held:
            plain = "each job must be eligible at its submit"
        # Imported here, because a compiled replay needs neither these nor SimPy.
        if isinstance(plain, PlainTable):
            from holdfast.simulator.streaming import stream_plain_table

            return stream_plain_table(plain, table, nodes, settings, progress, consume, batch_size)
        if consume is not None:
            raise InputError(f"only a plain replay hands over jobs as they end: {plain}")
        from holdfast.simulator.clock.setup import Setup

        log, recorder = EventLog(events), Decisions(decisions)
        return _run_engine(
            Setup(
                table.rows(), nodes, served_by, settings, log, recorder, origin, progress, book, closures, prior=prior
            )
        )


def checked_table(jobs: Iterable[Job], nodes: int) -> Jobs:
    """Check that a machine of ``nodes`` nodes can run the jobs, and return them as a table.

    Raises
    ------
    InputError
        If the machine or a job is not legal, or there are no jobs.
    """
    if not (is_whole(nodes, 1) and nodes <= LARGEST_SIZE):
        raise ParameterError("nodes", f"a number of nodes from 1 to {LARGEST_SIZE:,}", nodes)
    table = Jobs.of(jobs)
    if not table:
        raise InputError("there are no jobs to simulate")
    check_jobs(table, nodes=nodes)
    return table


def _run_engine(setup: Setup) -> Result:
    from holdfast.simulator.clock.engine import Engine
    from holdfast.simulator.engine_results import make_result

    began = perf_counter()
    engine = Engine(setup)
    engine.run()
    result = make_result(setup, engine, perf_counter() - began)
    engine.close()
    return result


def _obstacle(
    mechanism: Mechanism | None,
    book: PlanBook | None,
    closures: Closures | None,
    prior: PriorState | None,
    *,
    events: bool,
) -> str:
    """Reason why a replay is not plain, whatever its table and options; empty: it may be."""
    if mechanism is not None:
        return f"the mechanism must be {BASELINE}, not {mechanism.name}"
    if events:
        return "no event log must be kept (events=False)"
    if book is not None or closures is not None or prior is not None:
        return "there must be no stochastic jobs, outages, failures and starting state"
    return ""


def _plain_result(
    found: PlainTable | str,
    table: Jobs,
    nodes: int,
    options: Options,
    progress: Callable[[int], None] | None = None,
) -> Result | str:
    """The result of a plain replay, or the reason why the table is not plain.

    Parameters
    ----------
    found
        The table by :func:`~holdfast.simulator.plain_replay.plain_table`.
    table, nodes, options, progress
        As in :func:`simulate`.
    """
    if isinstance(found, str):
        return found
    began = perf_counter()
    jobs, origin = found.jobs, found.origin
    started = found.starts.under(options, nodes)
    if isinstance(started, str):
        return started
    ended = started + jobs.runtime
    took = perf_counter() - began
    last = int(ended.max())
    refuse_late_end(last, origin)
    if progress is not None:
        progress(len(ended))
    return Result(
        mechanism=BASELINE,
        nodes=nodes,
        options=options,
        records=found.make_records(started, ended),
        samples=PlainSamples(jobs, started, ended),
        booked=accounting(found.busy, last - found.opened, nodes),
        engine_seconds=took,
        origin=origin,
        table=table,
        engine="compiled",
    )


def _closures(
    table: Sequence[Job], nodes: int, outages: list[Outage], failures: FailureRate | None, origin: int
) -> Closures | None:
    """Check the outages; None if there are none."""
    if not outages and failures is None:
        return None
    check_outages(outages, nodes, table)
    begin = max((to_ticks(job.running_since) - origin for job in table if job.running_since is not None), default=0)
    return Closures(outages, failures, nodes, origin, begin)


def _book(table: Jobs, planner: Planner | None, plans: Mapping[str, ReservationPlan] | None) -> PlanBook | None:
    """Make the plan book of the stochastic jobs, if there are any; refuse illegal plans now."""
    stochastic = table.derive(_stochastic_jobs)
    if not stochastic:
        return None
    # Imported here, because most simulations need neither distributions nor plans.
    from holdfast.policies.planning.plan_book import PlanBook

    book = PlanBook(planner, plans)
    check_plans(book, stochastic)
    return book


def _stochastic_jobs(table: Jobs) -> list[Job]:
    return list(table.select(table.are(STOCHASTIC)))


def check_plans(book: PlanBook, jobs: Iterable[Job]) -> None:
    """Refuse stochastic jobs that name neither a given plan nor a strategy.

    Raises
    ------
    InputError
        For the first of them.
    """
    for job in jobs:
        if job.type is not STOCHASTIC:
            continue
        try:
            book.check(job.plan)
        except InputError as error:
            raise InputError(f"plan of job {job.job_id}: {error}") from None
