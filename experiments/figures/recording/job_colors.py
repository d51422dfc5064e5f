"""Colours of jobs in a chart, by type, user, project or size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.experiments.figures.style import TYPE_COLORS
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.errors import UnknownNameError

__all__ = ["TONES", "Tones", "ink_on", "job_colors"]

#: Properties by which a chart can be coloured.
TONES = ("type", "user", "project", "size")

#: Colours of users and projects; neighbours differ in hue and lightness.
_NAMED = ("#0A62A0", "#F0B429", "#009E73", "#CC79A7", "#6B1F52", "#7FC4EE", "#D55E00", "#C9CF8B")
_OTHERS = "#9A9A9A"
#: Colours from the smallest to the largest sizes.
_SIZES = ("#DCE9F5", "#A9CBE4", "#6BA6D0", "#2F7AB5", "#0A4A86", "#062748")


class Tones(NamedTuple):
    """Classes of jobs and their colours.

    Attributes
    ----------
    colors
        Colour of each class, in the order of a legend.
    of
        Class of each job, by id.
    """

    colors: Mapping[str, str]
    of: Mapping[int, str]


def job_colors(recording: Recording, by: str = "type") -> Tones:
    """Colours of the jobs of a recording.

    Users or projects with the most node-time have distinct colours; the others share one. Sizes are shares of the
    machine.

    Raises
    ------
    UnknownNameError
        If ``by`` is not in :data:`TONES`.
    """
    if by not in TONES:
        raise UnknownNameError("colour", by, TONES)
    if by == "type":
        return Tones(
            {str(kind): color for kind, color in TYPE_COLORS.items()},
            {record.job_id: str(record.type) for record in recording.records},
        )
    if by == "size":
        return _by_size(recording)
    names = {record.job_id: getattr(recording.job[record.job_id], by) or "(none)" for record in recording.records}
    work: dict[str, int] = {}
    for record in recording.records:
        name = names[record.job_id]
        work[name] = work.get(name, 0) + record.nodes * record.runtime
    ranked = sorted(work, key=lambda name: (-work[name], name))
    most = len(_NAMED) if len(ranked) > len(_NAMED) else len(ranked)
    colors = dict(zip(ranked[:most], _NAMED, strict=False))
    rest = f"{len(ranked) - most} others"
    if len(ranked) > most:
        colors[rest] = _OTHERS
    return Tones(colors, {job_id: name if name in colors else rest for job_id, name in names.items()})


def _by_size(recording: Recording) -> Tones:
    """Classes of halves of the machine, quarters, and so on; the smallest sizes share a colour."""
    ends = [recording.nodes / 2**power for power in range(len(_SIZES) - 1, 0, -1)] + [float(recording.nodes)]
    words = ["" if end < 1 else "1 node" if end < 2 else f"to {int(end):,} nodes" for end in ends]
    place = {
        record.job_id: next(number for number, end in enumerate(ends) if record.nodes <= end)
        for record in recording.records
    }
    colors = {words[number]: _SIZES[number] for number in sorted(set(place.values()))}
    return Tones(colors, {job_id: words[number] for job_id, number in place.items()})


def ink_on(color: str) -> str:
    """Text colour on a background: black on light colours."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"
