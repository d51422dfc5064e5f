"""Queue orders: formulas by hand, a brute-force sort, and a plain EASY beside the simulator's."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.policies.order import ORDERS, Order
from holdfast.policies.orders.fairshare import FairShare, account_name
from holdfast.policies.orders.multifactor import Multifactor
from holdfast.simulator import simulate
from holdfast.simulator.machine.fairshare import UsageLedger
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.wait_queue import Queue
from holdfast.workloads.ground.errors import InputError, InvariantError, ParameterError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import Job, JobType
from tests.reference.easy import load_swf, replay_easy, replay_easy_naive
from tests.shared_data import trace_file
from tests.strategies.tables import random_job_table
from tests.support.jobs import rigid, waiting_state
from tests.support.seeds import in_parts

HOUR = 3600.0
WEEK = 7 * 24 * HOUR


def waiting_job(job_id: int = 1, nodes: int = 1, walltime: float = HOUR, submit: float = 0, **others: Any) -> Any:
    """A job in the queue; seconds."""
    return SimpleNamespace(
        job_id=job_id, nodes=nodes, walltime=round(walltime * SECOND), submit=round(submit * SECOND),
        **{"eligible": round(submit * SECOND), "user": "", "project": "", **others},
    )  # fmt: skip


def view(now: float, nodes: int = 4360, used: Mapping[str | None, float] | None = None) -> Any:
    known = used or {}
    return SimpleNamespace(
        now=round(now * SECOND), nodes=nodes, group_usage=lambda group: known.get(group, 0.0) * SECOND
    )


def key(name: str, job: Any, now: float, **others: Any) -> Any:
    order = ORDERS[name]
    seen = view(now, **others)
    return order.at(seen)(job) if order.at is not None else order.key(job, seen.now)


class TestFormulas:
    """Worked by hand: 512 nodes for 2 h, submitted after 1,000 s, now after 4,600 s: it has waited an hour."""

    JOB = waiting_job(nodes=512, walltime=2 * HOUR, submit=1000)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("wfp3", -0.125 * 512),
            ("wfp3 exponent=1", -0.5 * 512),
            ("unicep", -0.5 / 9),
            ("f1", 3.857332496431268 * 512 + 870 * 3),
            ("f2", 84.8528137423857 * 512 + 25600 * 3),
            ("f3", 7200 * 512 + 6860000 * 3),
            ("f4", 7200 * 22.627416997969522 + 530000 * 3),
            # Two hours count as six: 1e5 x 3600^2 / 21600^3 x 512 / 4096.
            ("alcf", -1e5 / 777600 * 0.125),
            ("alcf fifo_factor=1800", -1e5 / 777600 * 0.125 - 2),
            ("alcf backfill_factor=36", -1e5 / 777600 * 0.125 - 50),
            ("alcf backfill_factor=360", -1e5 / 777600 * 0.125 - 10),
            # An hour of two, an eighth of the machine, and no usage at all.
            ("multifactor age=100 max_age=7200", (-50.0, 1000 * SECOND)),
            ("multifactor age=100 max_age=1800", (-100.0, 1000 * SECOND)),
            ("multifactor size=1000", (-125.0, 1000 * SECOND)),
            ("multifactor size=1000 small=1", (-875.0, 1000 * SECOND)),
            ("multifactor age=100 max_age=7200 size=10 fairshare=40 qos=7", (-91.0, 1000 * SECOND)),
            ("alcf shortest=3600 wfp_factor=1", -(3600**2) / 7200**3 * 0.125),
        ],
    )
    def test_values(self, name: str, value: Any) -> None:
        assert key(name, self.JOB, 4600, nodes=4096) == pytest.approx(value, rel=1e-12)

    def test_what_would_not_be_defined_is(self) -> None:
        now = 0.0
        for name in ORDERS:
            for job in (waiting_job(walltime=0), waiting_job(nodes=1, walltime=HOUR), waiting_job(walltime=1e-6)):
                found = key(name, job, now)
                for number in found if isinstance(found, tuple) else (found,):
                    assert math.isfinite(number), name
        # Below a second everything counts as a second, one node as two, and the first instant as the first second.
        assert key("wfp3", waiting_job(walltime=0), 2) == -8
        assert key("unicep", waiting_job(nodes=1), HOUR) == key("unicep", waiting_job(nodes=2), HOUR) == -1
        assert key("f1", waiting_job(walltime=0, submit=0), 0) == 0
        assert key("f4", waiting_job(nodes=4, walltime=9, submit=0.5), 5) == 18

    def test_older_smaller_shorter(self) -> None:
        small, large = waiting_job(nodes=2, walltime=10), waiting_job(nodes=8, walltime=3)
        for name, first in (
            ("sjf", large), ("ljf", small), ("smallest", small), ("largest", large), ("saf", small), ("laf", large),
            ("wfp3", large), ("unicep", large), ("f3", small),
        ):  # fmt: skip
            assert min((small, large), key=lambda job: key(name, job, 60)) is first, name
        older = waiting_job(submit=1)
        younger = waiting_job(submit=2)
        for name in ("fcfs", "sjf", "ljf", "saf", "laf", "smallest", "largest", "fairshare"):
            assert key(name, older, 60) < key(name, younger, 60), name

    @pytest.mark.parametrize(
        "name",
        ["wfp3 exponent=0", "wfp3 exponent=nan", "alcf shortest=9e9", "alcf wfp_factor=-1", "alcf fifo_factor=-1",
         "multifactor age=-1", "multifactor max_age=0", "multifactor accounts=0", "multifactor small=2",
         "multifactor factors=a:2", "multifactor factors=a", "multifactor shares=a", "multifactor period=-1",
         "fairshare half_life=0", "fairshare patience=-1", "fairshare half_life=inf"],
    )  # fmt: skip
    def test_illegal_parameters(self, name: str) -> None:
        with pytest.raises(ParameterError, match=name.split()[1].partition("=")[0] if "9e9" not in name else "longest"):
            _ = ORDERS[name]


class TestMultifactor:
    def test_accounts(self) -> None:
        # Slurm's classic fair share: half as much at a usage of the share, 2^(-0.75 x 2) with two accounts.
        used = {"a": 30.0, "b": 10.0, None: 40.0}
        name = "multifactor fairshare=1000 accounts=2 qos=100 factors=b:0.5+c:1"
        keys = [key(name, waiting_job(project=project), 60, used=used)[0] for project in "abc"]
        assert keys == [-math.floor(1000 * 2**-1.5), -math.floor(1000 * 2**-0.5 + 50), -1100.0]

    def test_shares_are_ranked(self) -> None:
        # a: (3/4) / (30/40) = 1; b: (1/4) / (10/40) = 1, so that both are first; with fewer shares b is behind.
        used = {"a": 30.0, "b": 10.0, None: 40.0}
        for shares, expected in (("a:3+b:1", [-1000.0, -1000.0, 0.0]), ("a:4+b:1", [-1000.0, -500.0, 0.0])):
            name = f"multifactor fairshare=1000 shares={shares}"
            assert [key(name, waiting_job(project=project), 60, used=used)[0] for project in "abc"] == expected

    def test_ages_grow_at_intervals(self) -> None:
        # At 4,600 s the last calculation was at 4,500 s; a job of 4,550 s has age 0 until 4,800 s.
        ages = [(1000, 4600, 3500), (4550, 4600, 0), (4550, 4800, 250)]
        for submit, now, age in ages:
            name = "multifactor age=7200 max_age=7200 period=300"
            assert key(name, waiting_job(submit=submit), now)[0] == -age

    @pytest.mark.parametrize("more", [{"accounts": 3}, {"shares": "a:2+b:1", "period": 700.0}])
    @given(rows=st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 4096), st.sampled_from("abc")), min_size=1))
    def test_many_jobs_have_the_same_keys(self, rows: list[tuple[int, int, str]], more: dict[str, Any]) -> None:
        order = Multifactor(age=100, size=77, fairshare=500, qos=50, max_age=7200, factors="b:0.3", **more)
        jobs = [waiting_job(submit=submit, nodes=nodes, project=project) for submit, nodes, project in rows]
        seen = view(9000, nodes=4096, used={"a": 30.0, "b": 10.0, None: 40.0})
        ranking, key_of = order.ranking(), order.at(seen)
        traits = np.array([ranking.traits(job) for job in jobs]).T
        found = list(zip(*(column.tolist() for column in ranking.keys(seen, traits)), strict=True))
        assert found == [key_of(job) for job in jobs]


class TestFairShare:
    def test_the_least_usage_first(self) -> None:
        used = {"a": 30.0, "b": 10.0, None: 40.0}
        greedy, modest, new = (
            waiting_job(project=name, submit=submit) for name, submit in (("a", 1), ("b", 2), ("c", 3))
        )
        keys = [key("fairshare", job, 60, used=used) for job in (greedy, modest, new)]
        assert keys == [(0.75, SECOND), (0.25, 2 * SECOND), (0.0, 3 * SECOND)]

    def test_patience_makes_up_for_usage(self) -> None:
        # Waiting 30 s of 40 s makes up for three quarters.
        job = waiting_job(project="a", submit=30)
        assert key("fairshare patience=40", job, 60, used={"a": 30.0, None: 40.0}) == (0.0, 30 * SECOND)

    def test_the_user_where_there_is_no_project(self) -> None:
        assert account_name(waiting_job(user="ann")) == "ann"
        assert account_name(waiting_job(user="ann", project="p")) == "p"
        used = {"ann": 1.0, "p": 0.5, None: 2.0}
        assert key("fairshare", waiting_job(user="ann"), 9, used=used) == (0.5, 0)
        assert key("fairshare", waiting_job(user="ann", project="p"), 9, used=used) == (0.25, 0)

    def test_the_ledger_halves_and_adds(self) -> None:
        ledger = UsageLedger(100.0)
        state = waiting_state(rigid(1, 0, 4, 50, project="p"), 0)
        ledger.hold(state, 4, 0)
        # 4 nodes for 50 s, the integral of 4 x 2^(-t/100): 400 / ln 2 x (1 - 2^(-1/2)).
        at_end = 400 / math.log(2) * (1 - 0.5**0.5)
        ledger.hold(state, 0, 50 * SECOND)
        assert ledger.decayed_usage("p", 50 * SECOND) / SECOND == pytest.approx(at_end, rel=1e-12)
        assert ledger.decayed_usage("p", 150 * SECOND) == pytest.approx(
            ledger.decayed_usage(None, 50 * SECOND) / 2, rel=1e-12
        )
        assert ledger.decayed_usage("q", 150 * SECOND) == 0

    def test_the_ledger_is_the_same_however_often_it_is_looked_at(self) -> None:
        once, often = UsageLedger(1000.0), UsageLedger(1000.0)
        job = waiting_state(rigid(1, 0, 4, 50, project="p"), 0)
        for ledger in (once, often):
            ledger.hold(job, 4, 0)
        for at in range(0, 5000, 7):
            often.hold(job, 4, at * SECOND)
        assert often.decayed_usage("p", 5000 * SECOND) == pytest.approx(
            once.decayed_usage("p", 5000 * SECOND), rel=1e-12
        )
        # With a very long half-life it is the plain area.
        plain = UsageLedger(1e12)
        plain.hold(job, 4, 0)
        assert plain.decayed_usage("p", 10 * SECOND) == pytest.approx(40 * SECOND, rel=1e-9)

    def test_usage_under_a_mechanism_is_what_the_event_log_tells(self) -> None:
        """Starts, shrinks, warnings and preemptions: every change of a job's nodes counts, and nothing else."""
        seen: list[tuple[int, float]] = []

        class Probe:
            half_life = 500.0

            def at(self, view: Any) -> Callable[[Any], int]:
                seen.append((view.now, view.group_usage(None)))
                return lambda job: int(job.submit)

        ORDERS.add("probe", Probe)
        try:
            counts = Counter[str]()
            for seed, mechanism in itertools.product(range(60), ("N-SPAA", "CUP-SPAA")):
                table = random_job_table(seed)
                seen.clear()
                result = simulate(table.jobs, table.nodes, mechanism, order="probe")
                counts.update(entry.event for entry in result.entries)
                changes = [(entry.time, entry.after - entry.before) for entry in result.entries
                           if entry.event in ("start", "complete", "kill", "preempt", "shrink", "expand")]  # fmt: skip
                for now, used in seen:
                    expected = _usage_of(changes, now, 500.0)
                    assert used == pytest.approx(expected, rel=1e-9, abs=1), seed
            assert min(counts[name] for name in ("shrink", "expand", "warn", "preempt")) > 5
        finally:
            ORDERS.forget("probe")


def _usage_of(changes: list[tuple[int, int]], now: int, half_life: float) -> float:
    """Each change by n nodes at s adds n times the integral of 2^(-(now - t) / h) from s to now."""
    tau = half_life * SECOND / math.log(2)
    return sum(n * tau * (1 - 2 ** (-(now - s) / (half_life * SECOND))) for s, n in changes if s <= now)


# Differential: every order under EASY beside the plain reference.

#: The formulas once more, from numpy arrays in seconds.
PLAIN: dict[str, Callable[[Mapping[str, Any], int, float], Any]] = {
    "fcfs": lambda t, j, now: t["submit"][j],
    "sjf": lambda t, j, now: (t["walltime"][j], t["submit"][j]),
    "ljf": lambda t, j, now: (-t["walltime"][j], t["submit"][j]),
    "smallest": lambda t, j, now: (t["nodes"][j], t["submit"][j]),
    "largest": lambda t, j, now: (-t["nodes"][j], t["submit"][j]),
    "saf": lambda t, j, now: (t["nodes"][j] * t["walltime"][j], t["submit"][j]),
    "laf": lambda t, j, now: (-t["nodes"][j] * t["walltime"][j], t["submit"][j]),
    "wfp3": lambda t, j, now: -(((now - t["submit"][j]) / t["walltime"][j]) ** 3.0) * t["nodes"][j],
    "unicep": lambda t, j, now: (
        -(now - t["submit"][j]) / (math.log2(max(t["nodes"][j], 2)) * t["walltime"][j])
    ),
    "f1": lambda t, j, now: np.log10(t["walltime"][j]) * t["nodes"][j] + 870 * np.log10(max(t["submit"][j], 1)),
    "f2": lambda t, j, now: np.sqrt(t["walltime"][j]) * t["nodes"][j] + 25600 * np.log10(max(t["submit"][j], 1)),
    "f3": lambda t, j, now: t["walltime"][j] * t["nodes"][j] + 6860000 * np.log10(max(t["submit"][j], 1)),
    "f4": lambda t, j, now: t["walltime"][j] * np.sqrt(t["nodes"][j]) + 530000 * np.log10(max(t["submit"][j], 1)),
    "alcf": lambda t, j, now: -(
        1e5 / t["machine"] * t["nodes"][j] * (now - t["submit"][j]) ** 2 / min(max(t["walltime"][j], 21600), 43200) ** 3
    ),
}  # fmt: skip


def _fair(t: Mapping[str, Any], job: int, now: float, start: Mapping[int, float]) -> Any:
    tau = WEEK / math.log(2)

    def decayed_usage(chosen: Callable[[int], bool]) -> float:
        return sum(
            t["nodes"][i] * tau * (2 ** (-(now - min(now, start[i] + t["runtime"][i])) / WEEK)
                                   - 2 ** (-(now - start[i]) / WEEK))
            for i in start if chosen(i)
        )  # fmt: skip

    return round(
        decayed_usage(lambda i: t["group"][i] == t["group"][job]) / (decayed_usage(lambda i: True) or 1), 12
    ), t["submit"][job]


def _table(seed: int) -> dict[str, Any]:
    """Powers of two in seconds, so that both sides compute with the same numbers wherever keys tie."""
    rng = np.random.default_rng(seed)
    machine = int(rng.integers(2, 33))
    count = int(rng.integers(2, 40))
    runtime = 2.0 ** rng.integers(0, 12, count) * rng.integers(1, 4, count)
    return {
        "machine": machine,
        "submit": [float(x) for x in np.sort(rng.integers(0, 4000, count)) // 16 * 16.0],
        "nodes": [int(x) for x in rng.integers(1, machine + 1, count)],
        "runtime": [float(x) for x in runtime],
        "walltime": [float(x) for x in runtime * 2.0 ** rng.integers(0, 4, count)],
        "group": [f"p{x}" for x in rng.integers(0, 4, count)],
    }


def _jobs(t: Mapping[str, Any]) -> list[Job]:
    columns = zip(t["submit"], t["nodes"], t["runtime"], t["walltime"], t["group"], strict=True)
    return [
        Job(i + 1, JobType.RIGID, submit, nodes, runtime, walltime, project=group)
        for i, (submit, nodes, runtime, walltime, group) in enumerate(columns)
    ]


def _starts(t: Mapping[str, Any], order: str, origin: float = 0.0) -> list[float]:
    result = simulate(_jobs(t), t["machine"], order=order, events=False, engine="simpy")
    return [record.start / SECOND - origin for record in result.records if record.start is not None]


def test_every_built_in_order_is_in_the_plain_reference() -> None:
    assert {*PLAIN, "fairshare"} == {item.name for item in ORDERS.entries() if item.origin == "built in"}


@pytest.mark.parametrize("seeds", in_parts(range(25), 10))
@pytest.mark.parametrize("name", [*PLAIN, "fairshare"])
def test_easy_with_every_order_is_the_plain_reference(name: str, seeds: range) -> None:
    moved = 0
    for seed in seeds:
        t = _table(seed)
        first = t["submit"][0]
        t["submit"] = [submit - first for submit in t["submit"]]

        def priority(job: int, now: float, start: Mapping[int, float], t: Mapping[str, Any] = t) -> Any:
            return _fair(t, job, now, start) if name == "fairshare" else PLAIN[name](t, job, now)

        columns = (t["submit"], t["nodes"], t["walltime"], t["runtime"], t["machine"])
        expected = replay_easy_naive(*columns, priority=priority)
        assert _starts(t, name) == expected, seed
        moved += expected != replay_easy_naive(*columns)
    assert name == "fcfs" or moved > 3


@pytest.mark.system
@pytest.mark.parametrize("name", list(PLAIN))
def test_every_order_on_a_piece_of_a_real_trace(name: str) -> None:
    path = trace_file("theta_2022.swf.gz")
    trace = load_swf(path, 4360)
    piece = slice(0, 1500)
    t: dict[str, Any] = {
        "machine": 4360, "nodes": trace.nodes[piece], "walltime": trace.walltime[piece],
        "runtime": trace.runtime[piece], "submit": [s - trace.submit[0] for s in trace.submit[piece]],
        "group": [""] * 1500,
    }  # fmt: skip
    columns = (t["submit"], t["nodes"], t["walltime"], t["runtime"], t["machine"])
    assert _starts(t, name) == replay_easy(*columns, priority=lambda job, now: PLAIN[name](t, job, now))


# The queue.


def _state(row: int, submit: float, nodes: int, walltime: float) -> JobState:
    return waiting_state(rigid(row + 1, submit, nodes, walltime), row)


@pytest.mark.parametrize("name", list(PLAIN))
def test_the_queue_is_sorted_as_a_plain_sort_would(name: str) -> None:
    order = ORDERS[name]
    rng = np.random.default_rng(3)
    queue, jobs = Queue(order, name), []
    for row in range(80):
        state = _state(row, row * 10, int(rng.integers(1, 5)), float(rng.integers(1, 5) * 100))
        queue.add(state, row * 10 * SECOND)
        jobs.append(state)
        if row % 3 == 2:
            gone = jobs.pop(int(rng.integers(len(jobs))))
            queue.remove(gone)
        seen = view(row * 10)

        def of(job: Any, seen: Any = seen) -> Any:
            return (order.at(seen)(job) if order.at is not None else order.key(job, seen.now), job.row)

        assert [job.job_id for job in queue.in_order(seen)] == [job.job_id for job in sorted(jobs, key=of)]


def test_keys_are_made_once_for_an_instant() -> None:
    calls: list[int] = []

    def count_calls(job: Any, now: int) -> int:
        calls.append(job.job_id)
        return -int(job.submit)

    queue = Queue(Order(count_calls))
    first, second = _state(0, 0, 1, 10), _state(1, 5, 1, 10)
    queue.add(first, 0)
    queue.add(second, 0)
    assert [job.job_id for job in queue.in_order(view(9))] == [2, 1]
    assert [job.job_id for job in queue.in_order(view(9))] == [2, 1]
    assert len(calls) == 2
    queue.remove(second)
    assert [job.job_id for job in queue.in_order(view(9))] == [1]
    queue.add(_state(2, 9, 1, 10), 9 * SECOND)
    assert [job.job_id for job in queue.in_order(view(9))] == [3, 1]


def test_an_order_that_fails_is_one_sentence_with_its_name() -> None:
    def mixed_keys(job: Any, now: int) -> Any:
        return "one" if job.job_id == 1 else 2

    def failing_key(job: Any, now: int) -> Any:
        return job.priority

    jobs = [rigid(number, 0, 2, 10) for number in (1, 2, 3)]
    nan = ((lambda job, now: float("nan") if job.job_id == 2 else 0.0), "(a key is NaN|the key of job 2 is nan)")
    for plugin, words in ((mixed_keys, "not supported between"), (failing_key, "no attribute 'priority'"), nan):
        for static in (False, True):
            ORDERS.add("bad", Order(plugin, static=static))
            try:
                with pytest.raises(InvariantError, match=f"the order bad cannot sort the queue: .*{words}"):
                    simulate(jobs, 2, order="bad")
            finally:
                ORDERS.forget("bad")


def test_an_order_that_needs_the_machine_says_so() -> None:
    order = ORDERS["alcf"]
    assert order.at is not None
    with pytest.raises(InputError, match=r"call at\(view\)"):
        order.key(waiting_job(), 0)
    assert ORDERS["fairshare half_life=60"].half_life == 60 == FairShare(60).half_life
