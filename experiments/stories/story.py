"""Story of a job: its events and their reasons, from the event log of a simulation.

>>> from holdfast.simulator import simulate
>>> from holdfast.workloads.table.job import Job, JobType
>>> long = Job(1, JobType.RIGID, submit=0, nodes=3, runtime=3000, walltime=3600)
>>> wide = Job(2, JobType.RIGID, submit=60, nodes=4, runtime=600, walltime=600)
>>> result = simulate([long, wide], nodes=4, decisions=True)
>>> print(str(explain(result, 2)).splitlines()[-2])
  49 min  Fewer than 4 nodes were idle. 75 % of the machine ran jobs that had
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from holdfast.experiments.recordings.allocations import result_allocations
from holdfast.experiments.stories.facts.lifetime import Facts
from holdfast.experiments.stories.facts.quantities import as_json
from holdfast.experiments.stories.machine_story import MachineStories, MachineStory
from holdfast.experiments.stories.reader.fact_reader import FactReader
from holdfast.experiments.stories.writer.story_text import wait_reasons, write_story
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.ground.wording import in_unit
from holdfast.workloads.logs.trace import trace_epoch

__all__ = ["Stories", "Story", "explain"]

#: How many ids are offered instead of one that is not there.
_NEAR = 3


@dataclass(frozen=True)
class Story:
    """A job's story; ``str`` gives its text.

    Attributes
    ----------
    facts
        Its facts; times in ticks of the job table's clock.
    first
        First submit of the simulation [ticks of that clock].
    epoch
        Seconds since 1970 at which that clock stands at 0; None: it is not known.
    zone
        Zone of dates.
    unit
        Unit of sizes: ``nodes`` or ``processors``.
    """

    facts: Facts
    first: int = field(repr=False)
    epoch: float | None = field(default=None, repr=False)
    zone: str = field(default="UTC", repr=False)
    unit: str = field(default="nodes", repr=False)

    def __str__(self) -> str:
        return write_story(self.facts, self.first, self.epoch, zone=self.zone, unit=self.unit)

    def at_length(self) -> str:
        """The story with all names that ``str`` leaves out of long lists."""
        return write_story(self.facts, self.first, self.epoch, zone=self.zone, unit=self.unit, everything=True)

    def reasons(self) -> list[tuple[str, str]]:
        """Reasons of its waits: pairs of a duration and a reason; the heading of a wait has no duration."""
        return [(time, in_unit(text, self.unit)) for time, text in wait_reasons(self.facts, self.first, self.epoch)]

    def as_json(self) -> dict[str, Any]:
        """The facts in JSON types; times are seconds and node-seconds."""
        return dict(as_json(self.facts))


class Stories:
    """The stories of all jobs of a simulation; its event log is read once.

    Parameters
    ----------
    recording
        Recording of a simulation, with its event log, and best with its decisions.
    instant_tolerance
        How late an on-demand job may start and still count as started instantly [s]; None: the warning.

    Raises
    ------
    InputError
        If there is no event log.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        instant_tolerance: float | None = None,
    ) -> None:
        tolerance = recording.options.warning if instant_tolerance is None else instant_tolerance
        self._of = repr(recording)
        self._reader = FactReader(recording, recording.decisions, to_ticks(tolerance))
        self._known = recording.record
        submits = [record.submit for record in recording.records if record.submit is not None]
        self._first = min(submits, default=recording.origin)
        # Without a stated epoch the table's seconds may be too large to count from anything but 1970.
        guessed = trace_epoch({}, min(submits, default=0) / to_ticks(1))
        self._zone, self._unit = recording.zone, recording.unit
        self._epoch = guessed if recording.epoch is None else recording.epoch

    def __repr__(self) -> str:
        return f"Stories({self._of})"

    def story(self, job_id: int) -> Story:
        """The story of a job.

        Raises
        ------
        InputError
            If there is no such job; names the nearest ids.
        """
        if job_id not in self._known:
            near = sorted(sorted(self._known, key=lambda known: (abs(known - job_id), known))[:_NEAR])
            ids = ", ".join(map(job_id_text, near))
            raise InputError(f"there is no job {job_id_text(job_id)}; the nearest ids are {ids}")
        return Story(self._reader.read(job_id), self._first, self._epoch, self._zone, self._unit)


def explain(result: Recording, job_id: int, *, instant_tolerance: float | None = None) -> Story | MachineStory:
    """The story of one job of a result; for several, :class:`Stories` reads the event log only once.

    Parameters
    ----------
    result
        Result of :func:`holdfast.simulator.simulation.simulate`, with its event log, and best with ``decisions=True``:
        else promises, loans and expected losses are not known.
    job_id
        The job.
    instant_tolerance
        How late an on-demand job may start and still count as started instantly [s]; None: the warning.

    Returns
    -------
    Story or MachineStory
        ``str`` gives its text; the second is of a replay on a machine with partitions, which needs no event log.

    Raises
    ------
    InputError
        If there is no such job, or no event log.
    """
    allocations = result_allocations(result)
    if allocations is not None:
        return MachineStories(result, allocations).story(job_id)
    if result.pools:
        raise InputError(
            "mechanisms on a machine keep no event log in memory: store the result by 'holdfast run --machine', which "
            "'holdfast explain' reads"
        )
    return Stories(result, instant_tolerance=instant_tolerance).story(job_id)
