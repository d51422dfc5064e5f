"""Replays of long tables of rigid jobs, which hand over ended jobs in batches."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.clock.engine import Engine
from holdfast.simulator.clock.setup import Setup
from holdfast.simulator.clock.stream import Stream, Ticks
from holdfast.simulator.collector_pause import pause_collector
from holdfast.simulator.machine.decisions import Decisions
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.options import Options
from holdfast.simulator.plain_replay import plain_table, rigid_records
from holdfast.simulator.plain_starts import obstacle
from holdfast.simulator.results.records import Samples
from holdfast.simulator.results.result import Result
from holdfast.simulator.simulation import plain_result, refuse_late_end, sum_accounts
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.ground.units import LARGEST_SIZE
from holdfast.workloads.table.job import RIGID
from holdfast.workloads.table.jobs import Jobs

__all__ = ["BATCH_SIZE", "stream"]

#: Ended jobs per batch.
BATCH_SIZE = 1 << 16


def stream(
    jobs: Jobs,
    nodes: int,
    consume: Callable[[Ticks, Ticks, Ticks], None] = lambda rows, start, end: None,
    *,
    batch_size: int = BATCH_SIZE,
    progress: Callable[[int], None] | None = None,
    **options: object,
) -> Result:
    """Replay rigid jobs under the baseline with constant memory and time per job.

    Parameters
    ----------
    jobs
        Jobs of a trace, as its readers and the generator make them; they are not validated again.
    nodes
        Size of the machine.
    consume
        Called with rows of ``jobs``, and the starts and ends of these [ticks of their clock], in the order in which
        they end, shapes (batch_size,). Not called by a compiled replay, which has no intermediate state.
    batch_size
        Number of ended jobs per call of ``consume``.
    progress
        Called from time to time with the number of ended jobs.
    **options
        Fields of :class:`holdfast.simulator.options.Options`.

    Returns
    -------
    Result
        As from :func:`holdfast.simulator.simulation.simulate`, without an event log; ``table``, ``records`` and
        ``samples`` are sequences over columns.

    Raises
    ------
    InputError
        If the machine or an option is not legal, a job is larger than the machine, or there are no jobs.
    """
    settings = Options.of(**options)
    if not (is_whole(nodes, 1) and nodes <= LARGEST_SIZE):
        raise ParameterError("nodes", f"a number of nodes from 1 to {LARGEST_SIZE:,}", nodes)
    if not len(jobs):
        raise InputError("there are no jobs to simulate")
    if not jobs.are(RIGID).all() or jobs.lively:
        raise InputError("the jobs of a streamed replay must be rigid, and not cancelled, held, running or dependent")
    largest, submit = int(jobs.column("nodes").max()), jobs.ticks("submit")
    if largest > nodes:
        raise InputError(f"the jobs must take at most the {nodes:,} nodes of the machine, not {largest:,}")
    origin = int(submit.min())
    if settings.engine != "simpy":
        found = obstacle(settings) or plain_result(plain_table(jobs), jobs, nodes, settings, progress)
        if isinstance(found, Result):
            return found
        if settings.engine == "compiled":
            raise InputError(f"engine=compiled replays only plain tables: {found}")
    with pause_collector():
        began = perf_counter()
        source = Stream(jobs, origin, batch_size, consume)
        log, decisions = EventLog(False), Decisions(False)
        setup = Setup(jobs, nodes, None, settings, log, decisions, origin, progress, stream=source)
        engine = Engine(setup)
        engine.run()
        source.flush()
        took = perf_counter() - began
    refuse_late_end(engine.system.now, origin)
    return Result(
        mechanism=BASELINE,
        nodes=nodes,
        options=settings,
        table=jobs,
        records=rigid_records(jobs, source.start, source.end),
        samples=Samples(np.concatenate(source.samples)),
        booked=sum_accounts(engine, int(source.end.max()) - origin),
        losses=engine.system.usage.losses,
        latencies=np.concatenate(source.latencies),  # type: ignore[arg-type]  # a sequence of numbers
        engine_seconds=took,
        origin=origin,
        malleable_setup=engine.system.usage.malleable_setup,
    )
