"""Replays of plain tables on SimPy: the state of a job exists only between its submit and its end."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.clock.engine import Engine
from holdfast.simulator.clock.setup import Setup
from holdfast.simulator.clock.stream import Consumer, Ints, Stream, StreamColumns
from holdfast.simulator.engine_results import sum_accounts
from holdfast.simulator.machine.decisions import Decisions
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.options import Options
from holdfast.simulator.plain_replay import PlainTable
from holdfast.simulator.results.records import Samples, refuse_late_end
from holdfast.simulator.results.result import Result
from holdfast.workloads.table.jobs import Jobs

__all__ = ["stream_plain_table"]


def stream_plain_table(
    plain: PlainTable,
    table: Jobs,
    nodes: int,
    options: Options,
    progress: Callable[[int], None] | None,
    consume: Consumer | None,
    batch_size: int,
) -> Result:
    """Replay a plain table on SimPy with memory for the jobs that wait or run, and for the columns of all.

    Parameters
    ----------
    plain
        The table by :func:`~holdfast.simulator.plain_replay.plain_table`; its jobs are eligible at their submit.
    table, nodes, options, progress, consume, batch_size
        As in :func:`holdfast.simulator.simulation.simulate_table`.
    """
    began, origin, jobs = perf_counter(), plain.origin, plain.jobs

    def hand_over(rows: Ints, start: Ints, end: Ints) -> None:
        if consume is not None:
            consume(rows, start + origin, end + origin)

    rows = plain.rows
    ids = table.column("job_id")[rows]
    columns = StreamColumns(rows, ids, jobs.submit, jobs.nodes, jobs.runtime, jobs.walltime)
    stream = Stream(table, columns, hand_over, batch_size)
    log, decisions = EventLog(False), Decisions(False)
    engine = Engine(Setup(table, nodes, None, options, log, decisions, origin, progress, stream=stream))
    engine.run()
    stream.flush()
    took = perf_counter() - began
    refuse_late_end(engine.system.now, origin)
    result = Result(
        mechanism=BASELINE,
        nodes=nodes,
        options=options,
        table=table,
        records=plain.make_records(stream.start[rows], stream.end[rows]),
        entries=log.entries,
        samples=Samples(np.concatenate(stream.samples)),
        booked=sum_accounts(engine, int(stream.end.max())),
        losses=engine.system.usage.losses,
        latencies=np.concatenate(stream.latencies),  # type: ignore[arg-type]  # a sequence of numbers
        engine_seconds=took,
        origin=origin,
        malleable_setup=engine.system.usage.malleable_setup,
        placements=engine.scheduler.placements,
    )
    engine.close()
    return result
