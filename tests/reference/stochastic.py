"""Rigid and stochastic jobs on one machine, as plain as it gets: no SimPy, no planner, a loop over instants.

Follows docs/model.md, "Stochastic jobs", and the EASY rule of tests/reference/easy.py. It uses only the numbers of a
plan. Times are whole ticks (microseconds) throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Batch", "Numbers", "Reserved", "Stochastic", "follow", "replay_stochastic"]

_TICK = 1_000_000  # ticks of a second


class Numbers(NamedTuple):
    """What is known of a plan: its milestones [s], which are checkpointed, C and R [s], and how it goes on.

    ``goes_on_checkpointed``: None where the plan does not say.
    """

    milestones: Sequence[float]
    checkpointed: Sequence[bool]
    checkpoint: float
    restart: float
    extension: float = 1.5
    goes_on_checkpointed: bool | None = None


class Batch(NamedTuple):
    """An ordinary job [s]."""

    job_id: int
    submit: float
    nodes: int
    walltime: float
    runtime: float


class Stochastic(NamedTuple):
    """A stochastic job: the runtime [s] is known to the machine alone."""

    job_id: int
    submit: float
    nodes: int
    plan: str
    runtime: float


class Reserved(NamedTuple):
    """One reservation [ticks]; ``ending`` is "completed", "saved" or "expired"."""

    job_id: int
    number: int
    submit: int
    start: int
    end: int
    length: int
    milestone: int
    ending: str


class _Step(NamedTuple):
    """A reservation before it is submitted: what is asked for, and how long it will be used."""

    number: int
    length: int
    used: int
    milestone: int
    ending: str


class _Waiting(NamedTuple):
    submit: int
    row: int
    nodes: int
    length: int
    used: int
    step: _Step | None


class _Running(NamedTuple):
    end: int
    row: int
    nodes: int
    walltime_ends: int


def _milestones(plan: Numbers) -> Iterator[tuple[float, bool]]:
    """All milestones. "After the last reservation: extend by x 1.5", "checkpointing as the strategy does"."""
    yield from zip(plan.milestones, plan.checkpointed, strict=True)
    last = plan.milestones[-1]
    flag = any(plan.checkpointed) if plan.goes_on_checkpointed is None else plan.goes_on_checkpointed
    while True:
        # reading: milestones are floats that are rounded to ticks one by one, so that no error adds up.
        last *= plan.extension
        yield last, flag


def follow(plan: Numbers, runtime: float) -> Iterator[_Step]:
    """The reservations that a job of that runtime needs where nothing preempts it."""
    truth = round(runtime * _TICK)
    saved = restart = 0  # "R_k = R if some earlier reservation was checkpointed, else 0"
    for number, (end, flag) in enumerate(_milestones(plan), 1):
        milestone = round(end * _TICK)
        writing = round(plan.checkpoint * _TICK) if flag else 0
        length = restart + (milestone - saved) + writing  # "W_k = R_k + T_k + C_k"
        if truth <= milestone:  # "X reached: it ends at once"; runtimes in (t_(k-1), t_k] are reservation k's
            yield _Step(number, length, restart + truth - saved, milestone, "completed")
            return
        yield _Step(number, length, length, milestone, "saved" if flag else "expired")
        if flag:
            saved, restart = milestone, round(plan.restart * _TICK)


def replay_stochastic(
    jobs: Sequence[Batch | Stochastic], plans: Mapping[str, Numbers], machine: int
) -> tuple[list[Reserved], dict[int, tuple[int, int]]]:
    """FCFS with EASY backfilling; each reservation is an ordinary job when its turn comes.

    Parameters
    ----------
    jobs
        In the order of the table.
    plans
        By the names that the stochastic jobs have for them.
    machine
        Nodes of the machine.

    Returns
    -------
    reservations
        Job by job in the order of the table, each in the order of submission.
    first start and end
        Of each job, by its id [ticks].
    """
    steps = [follow(plans[job.plan], job.runtime) if isinstance(job, Stochastic) else iter(()) for job in jobs]
    coming = [_request(row, job, steps[row], round(job.submit * _TICK)) for row, job in enumerate(jobs)]
    waiting: list[_Waiting] = []
    running: list[_Running] = []
    what: dict[tuple[int, int], _Waiting] = {}  # (row, end) of a run: what it runs
    began: dict[int, int] = {}
    ended: dict[int, int] = {}
    done: list[tuple[int, Reserved]] = []

    while coming or running:
        now = min([item.submit for item in coming] + [run.end for run in running])
        # "all completions, then all arrivals, then one scheduling pass"
        for run in [run for run in running if run.end == now]:
            running.remove(run)
            item = what.pop((run.row, now))
            job = jobs[run.row]
            ended[job.job_id] = now
            if item.step is None:
                continue
            step = item.step
            start = now - step.used
            done.append(
                (
                    run.row,
                    Reserved(
                        job.job_id, step.number, item.submit, start, now, step.length, step.milestone, step.ending
                    ),
                )
            )
            if step.ending != "completed":
                # "each next one when the one before has hit its walltime without completing; so each one waits"
                coming.append(_request(run.row, job, steps[run.row], now))
        waiting += [item for item in coming if item.submit == now]
        coming = [item for item in coming if item.submit != now]
        waiting.sort(key=lambda item: (item.submit, item.row))  # FCFS, ties by row order of the input
        for item in _pass(now, waiting, running, machine):
            waiting.remove(item)
            began.setdefault(jobs[item.row].job_id, now)
            running.append(_Running(now + item.used, item.row, item.nodes, now + item.length))
            what[item.row, now + item.used] = item
    assert not waiting
    done.sort(key=lambda entry: (entry[0], entry[1].number))
    return [reserved for _, reserved in done], {job: (began[job], ended[job]) for job in ended}


def _request(row: int, job: Batch | Stochastic, steps: Iterator[_Step], submit: int) -> _Waiting:
    if isinstance(job, Stochastic):
        step = next(steps)
        return _Waiting(submit, row, job.nodes, step.length, step.used, step)
    walltime = round(job.walltime * _TICK)
    # "a job is killed at its walltime"
    return _Waiting(submit, row, job.nodes, walltime, min(round(job.runtime * _TICK), walltime), None)


def _pass(now: int, queue: Sequence[_Waiting], running: Sequence[_Running], machine: int) -> list[_Waiting]:
    """The jobs that start now: the pass of the EASY rule."""
    left = list(queue)
    free = machine - sum(run.nodes for run in running)
    ends = [(run.walltime_ends, run.nodes) for run in running]
    chosen: list[_Waiting] = []
    while left and left[0].nodes <= free:
        head = left.pop(0)
        free -= head.nodes
        ends.append((now + head.length, head.nodes))
        chosen.append(head)
    if not left:
        return chosen
    head = left.pop(0)
    # Walltimes that end within a tick of each other end at one instant (docs/model.md, "Readings that are not
    # parameters").
    shadow = min(time for time, _ in ends if free + sum(size for end, size in ends if end <= time) >= head.nodes)
    extra = free + sum(size for end, size in ends if end <= shadow + 1) - head.nodes
    for item in left:
        in_time = now + item.length <= shadow + 1
        if item.nodes <= free and (in_time or item.nodes <= extra):
            extra -= 0 if in_time else item.nodes
            free -= item.nodes
            chosen.append(item)
    return chosen
