"""FCFS with EASY backfilling where users give up, jobs wait for each other, and some run already: as plain as it gets.

After the EASY rule of tests/reference/easy.py and docs/model.md, "Life of jobs". Everything is recomputed at every
instant from what is known of the jobs; nothing is shared with the simulator. Times are integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Plain", "Seen", "replay_life"]


@dataclass
class Plain:
    """One rigid job: its request, the job that it depends on, and when its user cancels it."""

    submit: int
    nodes: int
    walltime: int
    runtime: int
    patience: int | None = None  # from its submit on
    preceding: int | None = None  # place of that job in the list
    think: int | None = None
    since: int | None = None  # it runs already
    eligible: int = 0  # it is in the queue from then on, but not before its submit


@dataclass
class Seen:
    """What became of it."""

    submit: int | None = None
    start: int | None = None
    end: int | None = None
    gone: bool = False  # its user gave up


def replay_life(jobs: Sequence[Plain], machine: int) -> list[Seen]:
    """Submit, start and end of each job, and whether its user gave up on it."""
    seen = [Seen() for _ in jobs]
    begin = max((job.since for job in jobs if job.since is not None), default=0)
    for job, what in zip(jobs, seen, strict=True):
        if job.preceding is None:
            what.submit = job.submit
        if job.since is not None:
            what.start = job.since

    def gives_up(place: int) -> int | None:
        submit, patience = seen[place].submit, jobs[place].patience
        return None if submit is None or patience is None else submit + patience

    def due(place: int) -> list[int]:
        """The times at which something happens to a job that has not ended, by what is known now."""
        job, what = jobs[place], seen[place]
        times = [what.submit, gives_up(place), job.eligible, None if what.start is None else what.start + job.runtime]
        return [max(begin, time) for time in times if time is not None]

    now = begin
    while True:
        changed = True
        while changed:  # within an instant: completions, then withdrawals; both may submit others in it
            changed = False
            for place, what in enumerate(seen):
                if what.end is None and what.start is not None and what.start + jobs[place].runtime == now:
                    what.end, changed = now, True
            for place, what in enumerate(seen):
                submit = what.submit
                if what.end is None and submit is not None and submit <= now and gives_up(place) == now:
                    what.end, what.gone, changed = now, True, True
            for place, job in enumerate(jobs):
                if seen[place].submit is None and job.preceding is not None:
                    over = seen[job.preceding].end
                    if over is not None:
                        seen[place].submit = max(over, job.submit) if job.think is None else over + job.think
                        changed = True

        queue = [
            place
            for place, what in enumerate(seen)
            if what.submit is not None
            and what.submit <= now
            and what.start is None
            and what.end is None
            and jobs[place].eligible <= now
        ]
        queue.sort(key=lambda place: (seen[place].submit, place))
        running = [place for place, what in enumerate(seen) if what.start is not None and what.end is None]
        free = machine - sum(jobs[place].nodes for place in running)
        while queue and jobs[queue[0]].nodes <= free:
            place = queue.pop(0)
            seen[place].start = now
            running.append(place)
            free -= jobs[place].nodes
        if queue:
            ends = {place: (seen[place].start or 0) + jobs[place].walltime for place in running}
            reached = [
                end
                for end in ends.values()
                if free + sum(jobs[place].nodes for place in running if ends[place] <= end) >= jobs[queue[0]].nodes
            ]
            shadow = min(reached)
            back = sum(jobs[place].nodes for place in running if ends[place] <= shadow)
            extra = free + back - jobs[queue[0]].nodes
            for place in queue[1:]:
                job = jobs[place]
                if job.nodes <= free and (now + job.walltime <= shadow or job.nodes <= extra):
                    extra -= 0 if now + job.walltime <= shadow else job.nodes
                    free -= job.nodes
                    seen[place].start = now

        later = [time for place, what in enumerate(seen) if what.end is None for time in due(place) if time > now]
        if not later:
            return seen
        now = min(later)
