"""Result of an engine that has run to its end."""

from __future__ import annotations

from typing import Any

from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.clock.engine import Engine
from holdfast.simulator.clock.setup import Setup
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.results.recording import level_changes
from holdfast.simulator.results.records import Accounting, Records, Samples, refuse_late_end
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["make_result", "sum_accounts"]


def make_result(setup: Setup, engine: Engine, seconds: float) -> Result:
    """Make the result of a finished simulation that took ``seconds`` of wall-clock time.

    Raises
    ------
    InputError
        If the simulated time is longer than tables can hold.
    """
    from holdfast.simulator.results.stochastic_records import stochastic_records

    origin, states, closures = setup.origin, setup.states, setup.closures
    refuse_late_end(engine.system.now, origin)
    last = max([state.end or 0 for state in states if state.first_submit >= 0], default=None)
    accounting = sum_accounts(engine, last)
    return Result(
        mechanism=setup.mechanism.name if setup.mechanism is not None else BASELINE,
        nodes=setup.nodes,
        options=setup.options,
        records=Records.of(_fields(state, origin) for state in states),
        entries=setup.log.entries,
        samples=Samples.of(engine.samples),
        booked=accounting,
        losses=engine.system.usage.losses,
        latencies=engine.latencies,
        engine_seconds=seconds - engine.planning_seconds,
        origin=origin,
        planning_seconds=engine.planning_seconds,
        # A job that is cancelled while it is held is never planned.
        stochastic=stochastic_records(states),
        outages=closures.outages if closures is not None else (),
        down=level_changes(engine.outages.course) if engine.outages is not None else [],
        table=setup.table,
        decisions=setup.decisions.entries if setup.decisions.enabled else None,
        begin=None if setup.running is None else setup.running.begin + origin,
        withdrawn=engine.withdrawn,
        malleable_setup=engine.system.usage.malleable_setup,
        prior=setup.prior,
        placements=engine.scheduler.placements,
    )


def sum_accounts(engine: Engine, last: int | None) -> Accounting:
    """Accounting of all node-ticks until the last end of a job; raises an error if the sum does not balance.

    Parameters
    ----------
    engine
        Engine of a finished simulation.
    last
        Last end [ticks of the simulated clock]; None: no job arrived.
    """
    if last is None:
        return Accounting(0, 0, 0, 0, 0, 0, 0, 0)
    elapsed = last - engine.opened
    system, usage = engine.system, engine.system.usage
    idle, held, busy, down = system.cluster.node_ticks(system.now)
    if usage.total() != busy or idle + held + busy + down != system.nodes * elapsed:
        raise InvariantError(
            f"the runs account for {usage.total()} of {busy} busy node-ticks, "
            f"and {idle + held + busy + down} of {system.nodes * elapsed} node-ticks are accounted for"
        )
    return Accounting(usage.compute, usage.setup, usage.checkpoint, usage.lost, usage.warning, held, idle, down)


def _fields(state: JobState, origin: int) -> tuple[Any, ...]:
    """Outcome of a job, as the fields of a :class:`~holdfast.simulator.results.records.JobRecord`."""
    job = state.job
    came = state.first_submit >= 0
    if came and (state.end is None or (state.start is None and not state.withdrawn)):
        raise InvariantError(f"job {job.job_id} was submitted and never ended")
    start, end = state.start, state.end
    if state.withdrawn or (not came and job.cancelled_at is not None):
        status = "cancelled"
    elif not came:
        status = "no_show"
    else:
        status = "killed" if job.killed and state.ends_at_walltime else "completed"
    return (
        job.job_id,
        job.type,
        state.first_submit + origin if came else None,
        start + origin if start is not None else None,
        end + origin if end is not None else None,
        job.nodes,
        state.undisturbed,
        state.preemptions,
        state.shrinks,
        status,
        state.lost,
        state.first_eligible + origin if state.first_eligible > state.first_submit >= 0 else None,
    )
