"""Streaming: a long table of rigid jobs in columns in, told piece by piece, and a result in columns out."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from policies.mechanism import BASELINE
from simulator.clock.engine import Engine
from simulator.clock.setup import Setup
from simulator.clock.stream import Stream, Ticks
from simulator.machine.decisions import Decisions
from simulator.machine.eventlog import EventLog
from simulator.options import Options
from simulator.plainreplay import PlainJobs, accounting, obstacle, samples, starts
from simulator.results.longrecords import LongRecords, LongSamples
from simulator.results.result import Result
from simulator.simulation import booked, collector_paused, needed_before
from workloads.ground.errors import InputError, ParameterError
from workloads.ground.numbers import is_whole
from workloads.ground.units import LARGEST_SIZE
from workloads.table.rigidcolumns import RigidColumns

__all__ = ["TOLD", "stream"]

#: Ended jobs that are told at a time.
TOLD = 1 << 16


def stream(
    jobs: RigidColumns,
    nodes: int,
    tell: Callable[[Ticks, Ticks, Ticks], None] = lambda rows, start, end: None,
    *,
    told: int = TOLD,
    progress: Callable[[int], None] | None = None,
    **options: object,
) -> Result:
    """Replay rigid jobs under the baseline; memory and time per job do not grow with their number.

    Parameters
    ----------
    jobs
        Of a trace: its readers and the generator make legal ones.
    nodes
        Size of the machine.
    tell
        Called with rows of ``jobs``, and the starts and ends of these [ticks of their clock], in the order in which
        they end, shapes (told,).
    told
        How many jobs are told at a time.
    progress
        Told now and then how many jobs have ended.
    **options
        Fields of :class:`simulator.options.Options`.

    Returns
    -------
    Result
        That of :func:`simulator.simulation.simulate` without an event log; ``table``, ``records`` and ``samples`` are
        sequences over columns.

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
    if int(jobs.nodes.max()) > nodes:
        raise InputError(f"the jobs must take at most the {nodes:,} nodes of the machine, not {jobs.nodes.max():,}")
    origin = int(jobs.submit.min())
    if settings.engine != "simpy":
        plain = PlainJobs(jobs.submit - origin, jobs.nodes, jobs.runtime, jobs.walltime)
        reason = obstacle(settings) or plain.obstacle
        if not reason:
            return _plain(jobs, plain, nodes, settings, origin, tell, told, progress)
        if settings.engine == "compiled":
            raise InputError(f"engine=compiled replays nothing but plain tables: {reason}")
    with collector_paused():
        began = perf_counter()
        source = Stream(jobs, origin, told, tell)
        log, decisions = EventLog(False), Decisions(False)
        setup = Setup(jobs, nodes, None, settings, log, decisions, origin, progress, stream=source)
        engine = Engine(setup)
        engine.run()
        source.flush()
        took = perf_counter() - began
    needed_before(engine.system.now, origin)
    return Result(
        mechanism=BASELINE,
        nodes=nodes,
        options=settings,
        table=jobs,
        records=LongRecords(jobs, source.start, source.end),
        samples=LongSamples(np.concatenate(source.samples)),
        booked=booked(engine, int(source.end.max()) - origin),
        losses=engine.system.usage.losses,
        latencies=np.concatenate(source.latencies),  # type: ignore[arg-type]  # a sequence of numbers
        engine_seconds=took,
        origin=origin,
        malleable_setup=engine.system.usage.malleable_setup,
    )


def _plain(
    jobs: RigidColumns,
    plain: PlainJobs,
    nodes: int,
    options: Options,
    origin: int,
    tell: Callable[[Ticks, Ticks, Ticks], None],
    told: int,
    progress: Callable[[int], None] | None,
) -> Result:
    """The same from columns alone."""
    began = perf_counter()
    started = starts(plain, nodes, options)
    took = perf_counter() - began
    ended = started + plain.runtime
    needed_before(int(ended.max()), origin)
    start, end = started + origin, ended + origin
    # At one instant jobs end in the order of their ids.
    order = np.lexsort((jobs.job_id, ended))
    for begin in range(0, len(order), told):
        rows = order[begin : begin + told]
        tell(rows, start[rows], end[rows])
        if progress is not None:
            progress(begin + len(rows))
    return Result(
        mechanism=BASELINE,
        nodes=nodes,
        options=options,
        table=jobs,
        records=LongRecords(jobs, start, end),
        samples=samples(plain, started, ended),
        booked=accounting(plain, ended, nodes),
        engine_seconds=took,
        origin=origin,
        engine="compiled",
    )
