"""Jobs with the longest waits, the largest slowdowns and the largest losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.stories.writer.phrases import amount, duration
from holdfast.experiments.tables import render
from holdfast.simulator.results.recording import Recording
from holdfast.simulator.results.records import ABSENT, Records
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.ground.wording import in_unit

__all__ = ["RANKINGS", "worst", "worst_table"]

#: Title, measure and lower bound of each ranking; a job at the bound is in none.
RANKINGS: dict[str, tuple[str, Callable[[Records], NDArray[Any]], float]] = {
    "wait": ("longest waits", attrgetter("wait"), 0.0),
    "bounded_slowdown": ("largest bounded slowdowns", attrgetter("bounded_slowdown"), 1.0),
    "lost_node_seconds": ("most lost", methodcaller("column", "lost"), 0.0),
}


def worst(recording: Recording, most: int) -> Iterator[dict[str, object]]:
    """The worst jobs of each ranking, worst first; ties by id.

    Parameters
    ----------
    recording
        Recording of a simulation; its event log is not read.
    most
        Number of jobs in a ranking.

    Yields
    ------
    dict
        ``ranking``, and of the job its id, type, nodes, wait [s], bounded slowdown, node-seconds lost, preemptions.
    """
    records = recording.records
    ended = records.part(records.started & (records.column("end") != ABSENT))
    for name, (_, measure, least) in RANKINGS.items():
        values = measure(ended).astype(np.float64)
        order = np.lexsort((ended.column("job_id"), -values))[:most]
        for record in ended.part(order[values[order] > least]):
            yield {
                "ranking": name,
                "job_id": record.job_id,
                "type": record.type.value,
                "nodes": record.nodes,
                "wait": record.wait / SECOND,
                "bounded_slowdown": record.bounded_slowdown,
                "lost_node_seconds": record.lost / SECOND,
                "preemptions": record.preemptions,
            }


def worst_table(recording: Recording, most: int) -> str:
    """The rows of :func:`worst` for a terminal of 80 characters."""
    rows = [
        {
            "": RANKINGS[str(row["ranking"])][0],
            "job": job_id_text(int(str(row["job_id"]))),
            "type": row["type"],
            "nodes": row["nodes"],
            "waited": duration(round(float(str(row["wait"])) * SECOND)),
            "slowdown": row["bounded_slowdown"],
            "lost": _loss_text(float(str(row["lost_node_seconds"])), recording.unit),
            "preempted": row["preemptions"],
        }
        for row in worst(recording, most)
    ]
    blocks = []
    for title in dict.fromkeys(row[""] for row in rows):
        chosen = [{name: value for name, value in row.items() if name} for row in rows if row[""] == title]
        blocks.append(f"{str(title).capitalize()}:\n{render(chosen, list(chosen[0]), recording.unit)}")
    return "\n\n".join(blocks)


def _loss_text(node_seconds: float, unit: str) -> str:
    return in_unit(amount(round(node_seconds * SECOND)), unit) if node_seconds else "-"
