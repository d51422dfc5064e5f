"""Story of a job in a partition that was simulated as a pool: that of the pool, and the nodes of the job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.experiments.placement.ranges import Ranges
from holdfast.experiments.placement.spans import RUN, WARNED, place_nodes
from holdfast.experiments.recordings.pool_replays import PoolReplays
from holdfast.experiments.stories.story import Stories, Story
from holdfast.experiments.stories.writer.phrases import wrap
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.machines.host_list import fold

__all__ = ["PoolStories", "PoolStory"]

_NEAR = 3


@dataclass(frozen=True)
class PoolStory:
    """A job's story; ``str`` gives its text.

    Attributes
    ----------
    story
        Its story in the partition.
    partition
        Name of the partition.
    nodes
        Names of the nodes of each of its runs, while these stay the same.
    """

    story: Story
    partition: str
    nodes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.story}\n\n{self._place()}"

    def at_length(self) -> str:
        """The story with all names that ``str`` leaves out of long lists."""
        return f"{self.story.at_length()}\n\n{self._place()}"

    def reasons(self) -> list[tuple[str, str]]:
        """Reasons of its waits, as of :meth:`~holdfast.experiments.stories.story.Story.reasons`."""
        return self.story.reasons()

    def as_json(self) -> dict[str, Any]:
        """The facts in JSON types, with ``partition`` and ``node_names``."""
        return {**self.story.as_json(), "partition": self.partition, "node_names": list(self.nodes)}

    def _place(self) -> str:
        if not self.nodes:
            return "\n".join(wrap(f"It never ran in partition {self.partition}."))
        places = ", then on ".join(self.nodes)
        text = (
            f"It ran on {places} of partition {self.partition}: all of them are alike to the simulation, and the "
            "narrowest sufficient gap is taken, on-demand jobs from the end of the partition."
        )
        return "\n".join(wrap(text, "", "  "))


class PoolStories:
    """The stories of all jobs on a machine whose partitions were simulated as pools.

    Parameters
    ----------
    replays
        The partitions with their event logs.
    instant_tolerance
        As of :class:`~holdfast.experiments.stories.story.Stories`.
    """

    def __init__(self, replays: PoolReplays, *, instant_tolerance: float | None = None) -> None:
        self._replays = replays
        self._tolerance = instant_tolerance
        self._stories: dict[str, Stories] = {}
        self._nodes: dict[str, dict[int, list[Ranges]]] = {}
        self._partition = {job.job_id: job.partition for job in replays.recording.table}

    def story(self, job_id: int) -> PoolStory:
        """The story of a job.

        Raises
        ------
        InputError
            If there is no such job.
        """
        if job_id not in self._partition:
            near = sorted(sorted(self._partition, key=lambda known: (abs(known - job_id), known))[:_NEAR])
            ids = ", ".join(map(job_id_text, near))
            raise InputError(f"there is no job {job_id_text(job_id)}; the nearest ids are {ids}")
        name = self._partition[job_id]
        pool = self._replays.pools[name]
        if name not in self._stories:
            self._stories[name] = Stories(pool, instant_tolerance=self._tolerance)
            self._nodes[name] = {}
            for span in sorted(place_nodes(pool), key=lambda span: span.start):
                if span.kind in (RUN, WARNED):
                    own = self._nodes[name].setdefault(span.job_id, [])
                    if not own or own[-1] != span.nodes:
                        own.append(span.nodes)
        names = self._replays.machine.partition(name).nodes
        lists = [
            fold(names[place] for low, high in ranges for place in range(low, high))
            for ranges in self._nodes[name].get(job_id, [])
        ]
        return PoolStory(self._stories[name].story(job_id), name, tuple(lists))
