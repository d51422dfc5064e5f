"""Choice of the module that simulates a machine of named nodes, and the result that it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.mechanism import BASELINE, parse_mechanism
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.collector_pause import pause_collector
from holdfast.simulator.drawn_failures import simulate_with_failures
from holdfast.simulator.machine.prior_state import PriorState
from holdfast.simulator.machine_rules import are_pools, needs_shared_simulation
from holdfast.simulator.machine_simulation import simulate_on_machine
from holdfast.simulator.options import Options
from holdfast.simulator.partitioned_simulation import needs_pools, simulate_partitions
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.machines.machine_workload import MachineWorkload, machine_unit
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage, check_outages
from holdfast.workloads.outages.places import partition_failures
from holdfast.workloads.table.job_lifecycle import replay_start
from holdfast.workloads.table.jobs import Jobs

if TYPE_CHECKING:
    from holdfast.policies.planning.plan_book import PlanBook

__all__ = ["simulate_on_named_nodes"]

Progress = Callable[[int], None]


def simulate_on_named_nodes(
    table: Jobs,
    nodes: int,
    workload: MachineWorkload,
    mechanism: str,
    options: Options,
    origin: int,
    progress: Progress | None = None,
    book: PlanBook | None = None,
    prior: PriorState | None = None,
    outages: Sequence[Outage] = (),
    failures: FailureRate | None = None,
    *,
    simulate_pool: Callable[[Jobs, int, Sequence[Outage], Progress], Result],
) -> Result:
    """Simulate a job table on a machine.

    Parameters
    ----------
    table
        The job table, with sizes in the unit of the machine.
    nodes
        The size of the machine in that unit.
    workload
        The machine, and the requests of the jobs.
    mechanism
        Name of the mechanism.
    options
        How the machine is operated.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.
    progress
        Called with the number of ended jobs.
    book
        Plans of the stochastic jobs; None: there are no such jobs.
    prior
        What is known from before the first event; None: nothing.
    outages, failures
        Outages, and the rate of further failures of single nodes; None: none.
    simulate_pool
        Simulates jobs on one pool of equal nodes with outages.

    Raises
    ------
    InputError
        If the machine cannot be simulated with these jobs and options.
    """
    check_outages(outages, jobs=table, named=True)
    if table.has("project") and len(table) == len(workload.requests):
        workload = workload.with_accounts(table.texts("project"))
    served_by, machine = parse_mechanism(mechanism), workload.machine
    closed = bool(outages) or failures is not None
    is_shared = needs_shared_simulation(table, machine, served_by)
    if prior is not None and not is_shared:
        raise InputError("usage before a replay on a machine (--machine) needs jobs that run at its beginning")
    has_pools = not is_shared and (
        (served_by is not None and are_pools(machine)) or needs_pools(table, machine, closed=closed)
    )

    def simulate(failed: Sequence[Outage]) -> Result:
        if has_pools:
            every = [*outages, *partition_failures(failed, machine)]
            return _pools_result(table, workload, options, progress, every, simulate_pool)
        every = [*outages, *failed]
        if not is_shared:
            return _replay_result(table, nodes, workload, options, origin, progress, every)
        # Imported here, because replays need neither this nor SimPy, and start sooner without (0.13 for 0.25 s).
        from holdfast.simulator.shared_simulation import simulate_shared_nodes

        began = perf_counter()
        past = None if prior is None else prior.usage
        with pause_collector():
            found = simulate_shared_nodes(table, workload, served_by, options, origin, progress, book, past, every)
        return replace(found, engine_seconds=perf_counter() - began)

    if failures is None:
        return simulate(())
    if isinstance(BACKFILLING[options.backfilling], SlurmBackfill):
        raise InputError("failures must be left out with --backfilling slurm on a machine (--machine)")
    begin = replay_start(table)
    return simulate_with_failures(
        simulate, failures, machine.size, origin if begin is None else to_ticks(begin), len(table)
    )


def _pools_result(
    table: Jobs,
    workload: MachineWorkload,
    options: Options,
    progress: Progress | None,
    outages: Sequence[Outage],
    simulate_pool: Callable[[Jobs, int, Sequence[Outage], Progress], Result],
) -> Result:
    """The result of a machine with partitions that are pools."""
    done = 0

    def simulate(jobs: Jobs, size: int, closed: Sequence[Outage]) -> Result:
        nonlocal done
        before = done

        def advance(ended: int) -> None:
            if progress is not None:
                progress(before + ended)

        result = simulate_pool(jobs, size, closed, advance)
        done += len(jobs)
        return result

    return simulate_partitions(table, workload, options.order, simulate, outages)


def _replay_result(
    table: Jobs,
    nodes: int,
    workload: MachineWorkload,
    options: Options,
    origin: int,
    progress: Progress | None,
    outages: Sequence[Outage],
) -> Result:
    """The result of a replay of rigid jobs."""
    began = perf_counter()
    with pause_collector():
        found = simulate_on_machine(table, workload, options, origin, outages)
    if progress is not None:
        progress(len(table))
    return Result(
        mechanism=BASELINE,
        nodes=nodes,
        options=options,
        records=found.records,
        samples=found.samples,
        booked=found.booked,
        engine_seconds=perf_counter() - began,
        origin=origin,
        table=table,
        engine="compiled",
        withdrawn=found.withdrawn,
        losses=found.losses,
        down=found.down,
        outages=list(outages),
        unit=machine_unit(workload.machine),
        on_machine=found.replay,
    )
