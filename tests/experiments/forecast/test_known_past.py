"""Nothing later than the time is read: a log that is cut there, or goes on in another way, gives the same answers."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.experiments import cli
from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.known_past import past_digest, past_log, started_jobs
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.machine_state import MachineState, state_at
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.one_pool import caveats
from holdfast.workloads.logs.trace import Trace, TraceJob, TraceJobs, Withdrawn

NODES = 40
SACCT = "JobIDRaw|User|Account|Partition|State|Submit|Start|End|TimelimitRaw|NNodes|NodeList\n"


def log_of(seed: int, count: int = 40, named: bool = True) -> Trace:
    """Jobs on named nodes, some of them withdrawn, some held back; names may come from anywhere on the machine."""
    rng = np.random.default_rng(seed)
    jobs, submit = [], 0.0
    for number in range(1, count + 1):
        submit += float(rng.integers(1, 60))
        nodes = int(rng.integers(1, 4))
        first = int(rng.integers(1, NODES - nodes))
        walltime = float(rng.integers(50, 900))
        job = TraceJob(
            number, submit, nodes, max(1.0, round(walltime * rng.random())), walltime, bool(rng.random() < 0.2),
            float(rng.integers(0, 300)), f"u{number % 3}", f"p{number % 2}" if number % 5 else "",
            node_list=f"n[{first}-{first + nodes - 1}]" if named else "", partition=f"q{number % 2}",
        )  # fmt: skip
        if rng.random() < 0.15:
            job = replace(job, eligible=submit + float(rng.integers(1, 200)))
        if rng.random() < 0.15:
            job = replace(job, cancelled_at=job.queued + float(rng.integers(1, 200)), node_list="")
        jobs.append(job)
    return Trace(tuple(jobs), NODES)


def job_at(job: TraceJob, at: float) -> TraceJob:
    """The job as it was known, by the words of :func:`past_log`."""
    start = job.start
    if (start is not None and start > at) or (start is None and job.cancelled_at is not None and job.cancelled_at > at):
        wait = at + 1.0 - job.queued
        return replace(job, runtime=job.walltime, killed=False, wait=wait, cancelled_at=at + 1.0, node_list="")
    if start is not None and start + job.runtime > at:
        return replace(job, runtime=at - start + 1.0, killed=False)
    return job


def columns(trace: Trace) -> list[tuple[object, ...]]:
    return [tuple(getattr(job, item.name) for item in fields(TraceJob)) for job in trace.jobs]


def other_future(trace: Trace, at: float, seed: int) -> Trace:
    """The log as it could have gone on, with other jobs, ends and nodes."""
    rng = np.random.default_rng(seed)
    changed = []
    for job in trace.jobs:
        known = job_at(job, at)
        if job.queued > at:
            if rng.random() < 0.5 and job is not trace.jobs[-1]:
                continue
            known = replace(job, nodes=1, runtime=9.0, node_list=f"a{rng.integers(100)}", partition="x", user="z")
        elif known != job and known.cancelled_at is not None and rng.random() < 0.7:
            known = replace(known, cancelled_at=None, runtime=5.0, node_list=f"a{rng.integers(100)}")
        changed.append(known)
    return replace(trace, jobs=tuple(changed))


MOMENTS = (st.integers(0, 10**6), st.floats(0.2, 1.0))


def moment(trace: Trace, share: float) -> float:
    submits = trace.jobs.column("submit")
    return float(np.floor(submits[0] + share * (submits[-1] - submits[0])))


@given(*MOMENTS)
def test_a_known_past_is_that_of_each_job(seed: int, share: float) -> None:
    trace = log_of(seed)
    at = moment(trace, share)
    expected = [job_at(job, at) for job in trace.jobs if job.queued <= at]
    for given_jobs in (trace.jobs, TraceJobs((), trace.jobs.columns, trace.jobs.names)):
        found = past_log(replace(trace, jobs=given_jobs), at)
        assert columns(found) == columns(replace(trace, jobs=tuple(expected)))
        assert past_digest(found) == past_digest(replace(trace, jobs=tuple(expected)))
        assert columns(past_log(found, at - 50.0)) == columns(past_log(trace, at - 50.0))


@given(*MOMENTS, st.integers(0, 10**6))
def test_states_and_histories_do_not_depend_on_the_future(seed: int, share: float, other: int) -> None:
    trace = log_of(seed)
    at = moment(trace, share)

    def answer(log: Trace, state: MachineState) -> object:
        usage = state.prior.usage
        assert usage is not None
        history = read_history(log, at, least=2)
        return (
            state, state.prior.places, usage.at(at, 500.0), [replace(job, job_id=0) for job in history.submitted],
            list(history.runs.pairs()),
            history.runtimes(state.jobs[0], [0.3, 0.6]).tolist() if state.jobs else None,
        )  # fmt: skip

    changed = other_future(trace, at, other)
    cut = past_log(trace, at)
    if not (trace.jobs.starts + trace.jobs.column("runtime") <= at).any():
        return  # no run had ended
    expected = answer(trace, state_at(trace, at, NODES))
    assert answer(changed, state_at(changed, at, NODES)) == expected
    for log in (trace, changed, cut):
        assert answer(log, Past(log, NODES).state(at)) == expected
    if cut.jobs.column("submit").max() == at:
        assert answer(cut, state_at(cut, at, NODES)) == expected


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_digests_differ_where_a_job_does(seed: int, number: int) -> None:
    trace = log_of(seed, 10)
    changes = (
        {"user": "u9"},
        {"runtime": 1.5},
        {"node_list": "n40"},
        {"wait": None},
        {"killed": True},
        {"project": "u1"},
    )
    known = past_digest(trace)
    for change in changes:
        jobs = [replace(job, **change) if job.job_id == number else job for job in trace.jobs]  # type: ignore[arg-type]
        same = columns(replace(trace, jobs=tuple(jobs))) == columns(trace)
        assert (past_digest(replace(trace, jobs=tuple(jobs))) == known) == same


@given(st.integers(0, 10**6))
def test_withdrawn_jobs_take_their_places(seed: int) -> None:
    trace = log_of(seed, 20)
    rng = np.random.default_rng(seed)
    gone = rng.random(20) < 0.4
    jobs, out, expected = [], [], []
    for job, is_gone in zip(trace.jobs, gone.tolist(), strict=True):
        if is_gone:
            tasks = (range(100, 103),) if rng.random() < 0.5 else ()
            out.append(Withdrawn(len(jobs), "cancelled", replace(job, user="new"), tasks))
            expected += list(out[-1].jobs())
        else:
            jobs.append(job)
            expected.append(job)
    kept = TraceJobs(jobs)
    for given_jobs in (kept, TraceJobs((), kept.columns, kept.names)):
        log = replace(trace, jobs=given_jobs, withdrawn=tuple(out), excluded={"cancelled": 99})
        found = keep_cancelled_jobs(log)
        assert columns(found) == columns(replace(trace, jobs=tuple(expected)))
        if out:
            assert found.excluded.get("cancelled", 0) == 99 - (len(expected) - len(jobs))


def test_waiting_jobs_hold_no_nodes() -> None:
    """30 jobs on all nodes, one after the other: at any time one runs, and the others have not started."""
    jobs = [TraceJob(number, number, NODES, 100.0, 200.0, wait=99.0 * number) for number in range(30)]
    trace = Trace(tuple(jobs), NODES, remarks={"odd": 15})
    found = started_jobs(trace, 450.0)
    assert [job.job_id for job in found.jobs] == [0, 1, 2, 3, 4]
    assert caveats(found, NODES) == ()
    assert found.remarks == {"odd": 3}


@given(*MOMENTS, st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
@pytest.mark.system
def test_answers_do_not_depend_on_the_future(
    tmp_path_factory: pytest.TempPathFactory, seed: int, share: float, other: int
) -> None:
    """No size of the machine is recorded: it is that of the named nodes, and places of nodes depend on the names."""
    directory = tmp_path_factory.mktemp("logs")
    trace = log_of(seed)
    trace = replace(trace, jobs=tuple(replace(job, cancelled_at=None, eligible=None) for job in trace.jobs))
    at = moment(trace, share)
    answers = []
    for number, log in enumerate((trace, other_future(trace, at, other))):
        path = directory / f"{number}.txt"
        rows = [
            f"{job.job_id}|{job.user}|{job.project}|{job.partition}|COMPLETED|{1.7e9 + job.submit:.0f}|"
            f"{1.7e9 + start:.0f}|{1.7e9 + start + job.runtime:.0f}|{job.walltime / 60}|{job.nodes}|{job.node_list}\n"
            for job in log.jobs
            if (start := job.start) is not None or (start := job.queued + (job.wait or 0.0))
        ]
        path.write_text(SACCT + "".join(rows))
        words = f"--at {at - trace.jobs[0].submit:.0f} --backfilling slurm --order fairshare --draws 2 --workers 1"
        words += " --least 2 --nodes 2 --walltime 5m --user u1 --backtests 0"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NUMBA_CACHE_DIR", str(directory / str(number)))
            status = cli.main(["forecast", str(path), *words.split(), "--json", str(directory / "f.json")])
        answers.append((status, (directory / "f.json").read_text() if status == 0 else ""))
    first, second = ((status, text.replace("1.txt", "0.txt")) for status, text in answers)
    assert first == second
