"""The transitions of the system in any order, by a state machine that keeps books of its own."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_book import PlanBook
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.machine.job_factory import job_state
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Reservation, Run
from holdfast.simulator.machine.run import is_malleable
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.machine.system import System
from holdfast.simulator.options import Options
from holdfast.simulator.services.downtime import Closure
from holdfast.simulator.services.failures import strike
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import JobType
from tests.support.jobs import malleable, on_demand, rigid, stochastic

NODES = 16
COSTS = CostModel(checkpoint=2, restart=1)


class Ignored:
    """A driver that only remembers the jobs that vacated their nodes."""

    def __init__(self) -> None:
        self.vacated_jobs: list[JobState] = []

    def began(self, run: Run) -> None: ...

    def update_end(self, run: Run) -> None: ...

    def schedule_requeue(self, job: JobState) -> None:
        self.vacated_jobs.append(job)


class SystemMachine(RuleBasedStateMachine):
    """Starts, preempts, warns, resizes, reserves, breaks and completes at random."""

    @initialize()
    def begin(self) -> None:
        self.timing = Ignored()
        self.system = System(NODES, Options(), EventLog(False), self.timing)
        self.states: list[JobState] = []
        self.live: list[Run] = []
        self.reservations: list[Reservation] = []
        self.failures: list[Closure] = []

    def pick(self, choice: int, items: list[Run]) -> Run:
        return items[choice % len(items)]

    def calm(self) -> list[Run]:
        return [run for run in self.live if self.system.is_preemptible(run)]

    @rule(kind=st.sampled_from(list(JobType)), nodes=st.integers(1, 8), length=st.integers(1, 50))
    def submit(self, kind: JobType, nodes: int, length: int) -> None:
        number = len(self.states) + 1
        job = {
            JobType.RIGID: rigid(number, 0, nodes, length, setup=length / 4, interval=3, cost=1),
            JobType.MALLEABLE: malleable(number, 0, nodes, length, min_nodes=1, setup=length / 4),
            JobType.ON_DEMAND: on_demand(number, 0, nodes, length),
            JobType.STOCHASTIC: stochastic(number, 0, nodes, length, "p"),
        }[kind]
        state = job_state(job, number, number, 0, Options(), baseline=False)
        if isinstance(state, StochasticJob):
            state.plan(PlanBook(plans={"p": ReservationPlan([3, 20, 40], [True, False, True], COSTS)}))
        self.states.append(state)
        self.system.submit(state, urgent=kind is JobType.ON_DEMAND)

    @precondition(lambda self: self.system.queue)
    @rule(choice=st.integers(0, 99))
    def start(self, choice: int) -> None:
        waiting = [job for job in self.system.queue if job.min_nodes <= self.system.free]
        if waiting:
            job = waiting[choice % len(waiting)]
            size = min(job.nodes, self.system.free)
            self.live.append(self.system.start(job, [(self.system.cluster.pool, size)], "test"))

    @precondition(lambda self: any(item.open and item.idle for item in self.reservations) and self.system.queue)
    @rule(choice=st.integers(0, 99))
    def start_tenant(self, choice: int) -> None:
        lender = next(item for item in self.reservations if item.open and item.idle)
        waiting = [
            job for job in self.system.queue if job.min_nodes <= lender.idle and job.type is not JobType.ON_DEMAND
        ]
        if waiting:
            job = waiting[choice % len(waiting)]
            size = min(job.nodes, lender.idle)
            self.live.append(self.system.start(job, [(lender, size)], "test", {lender: size}))

    @rule(nodes=st.integers(1, 12), share=st.integers(0, 12))
    def reserve(self, nodes: int, share: int) -> None:
        number = len(self.states) + 1
        job = on_demand(number, None, nodes, 5, notice=self.system.now / SECOND, estimated=self.system.now / SECOND)
        state = job_state(job, number, number, 0, Options(), baseline=False)
        self.states.append(state)
        reservation = Reservation(state)
        self.reservations.append(reservation)
        self.system.open(reservation, min(share, nodes, self.system.free))

    @precondition(lambda self: any(item.open for item in self.reservations))
    @rule()
    def close(self) -> None:
        self.system.close(next(item for item in self.reservations if item.open))

    @precondition(lambda self: self.calm())
    @rule(choice=st.integers(0, 99), planned=st.booleans())
    def preempt(self, choice: int, planned: bool) -> None:
        run = self.pick(choice, self.calm())
        goal = next((item for item in self.reservations if item.open), None)
        self.system.preempt(run, "test", beneficiary=goal if planned and not run.borrowed else None)
        self.forget_ended_runs()

    @precondition(lambda self: self.calm())
    @rule(choice=st.integers(0, 99), change=st.integers(-4, 4))
    def resize(self, choice: int, change: int) -> None:
        run = self.pick(choice, self.calm())
        if is_malleable(run) and not run.borrowed:
            change = max(run.min_nodes - run.nodes, min(change, run.max_nodes - run.nodes, self.system.free))
            self.system.resize(run, self.system.cluster.pool, change, "test")

    @precondition(lambda self: self.live)
    @rule()
    def reach_the_next_end(self) -> None:
        run = min(self.live, key=lambda item: item.end)
        self.system.now = max(self.system.now, run.end)
        if run.warned:
            assert not self.system.vacate(run)
            self.system.requeue(self.timing.vacated_jobs.pop())
        else:
            done = self.system.complete(run)
            self.system.give_away(run)
            assert done or isinstance(run.job, StochasticJob)
            if isinstance(run.job, StochasticJob) and not done:
                self.system.resubmit(run.job)
        self.forget_ended_runs()

    @rule(nodes=st.integers(1, NODES), place=st.floats(0, 1, exclude_max=True))
    def fail(self, nodes: int, place: float) -> None:
        now = self.system.now / SECOND
        outage = Outage(OutageKind.FAILURE, now, now + 1, nodes, place=place)
        closure = Closure(len(self.failures) + 1, outage, 0)
        before = {item: item.nodes for item in self.failures}
        on_demand_jobs = [run.job for run in self.live if run.type is JobType.ON_DEMAND]
        failed, short = strike(self.system, closure, [])
        assert failed == closure.account.nodes <= nodes
        # Nodes that are down stand last and do not fail again.
        assert failed >= min(nodes, NODES) - sum(before.values())
        assert all(item.nodes == count for item, count in before.items())
        self.failures.append(closure)
        # Nobody serves on-demand jobs here: those that were hit have their nodes taken away and wait.
        for gathering in short:
            assert gathering.job in on_demand_jobs
            assert gathering.job.waiting
            self.system.release(gathering)
        self.forget_ended_runs()

    @precondition(lambda self: any(item.nodes for item in self.failures))
    @rule(choice=st.integers(0, 99))
    def repair(self, choice: int) -> None:
        broken = [item for item in self.failures if item.nodes]
        self.system.release(broken[choice % len(broken)].account)

    @precondition(lambda self: self.live)
    @rule(part=st.floats(0, 1))
    def time_passes(self, part: float) -> None:
        first = min(run.end for run in self.live)
        self.system.now += int(part * max(0, first - self.system.now))

    def forget_ended_runs(self) -> None:
        self.live = [run for run in self.live if not run.over]

    @invariant()
    def nodes_are_conserved(self) -> None:
        held = sum(item.nodes for item in self.reservations)
        down = sum(item.nodes for item in self.failures)
        assert self.system.free + held + sum(run.nodes for run in self.live) + down == NODES
        assert self.system.cluster.totals == [self.system.free, held, sum(run.nodes for run in self.live), down]

    @invariant()
    def the_view_is_true(self) -> None:
        assert {run.job_id for run in self.system.running} == {run.job_id for run in self.live if not run.warned}
        assert [item.age for item in self.system.reservations] == sorted(item.age for item in self.system.reservations)
        assert {item.job_id for item in self.system.reservations} == {
            item.job_id for item in self.reservations if item.open
        }
        expected = sorted(
            (run.end if run.warned else run.expected_end, run.job.rank, run.nodes - run.borrowed) for run in self.live
        )
        assert list(self.system.releases) == expected

    @invariant()
    def loans_of_nodes_match_on_both_sides(self) -> None:
        for reservation in self.reservations:
            lent = {run: run.lenders[reservation] for run in self.live if reservation in run.lenders}
            assert reservation.tenants == lent
            assert reservation.open or not lent
            assert 0 <= reservation.nodes + reservation.lent <= reservation.requested
        assert all(run.borrowed <= run.nodes for run in self.live)

    @invariant()
    def sizes_are_legal(self) -> None:
        # Under warning nothing is computed, on however many nodes have not failed.
        assert all((run.warned or run.min_nodes <= run.nodes) and run.nodes <= run.max_nodes for run in self.live)
        assert all(self.system.now <= run.end for run in self.live)


TestSystem = SystemMachine.TestCase
TestSystem.settings = settings(max_examples=20, stateful_step_count=40)
