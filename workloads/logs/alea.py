"""Logs of the simulator Alea: SWF with further columns after the 18, and a file of the machine beside it.

Source: https://github.com/aleasimulator/alea. Column 19 lists the nodes of a job, ``{1241,1241}``, 20 its queue, 21 the
request, ``1:ppn=64:x86_64``; fields 17 and 18 hold other things than dependencies, and sizes count processors. A line
of ``LOG.machines`` holds number, name and nodes of a cluster, and processors, speed and memory [KB] of each node.
"""

from __future__ import annotations

import re
from pathlib import Path

from workloads.ground.errors import TraceError, shown
from workloads.ground.fields import whole
from workloads.ground.files import read_text
from workloads.ground.units import LARGEST_SIZE

__all__ = ["is_alea", "machine_beside"]

_FURTHER = re.compile(r"\{[\d,\s-]*\}|.*(?:^|[\s:+])ppn=\d")
_FIELDS = 6


def is_alea(further: str) -> bool:
    """Whether these are Alea's columns after the 18 of a job.

    >>> is_alea("{7,7} q_1d 1:ppn=2:x86_64"), is_alea("512 node17")
    (True, False)
    """
    return _FURTHER.match(further) is not None


def machine_beside(path: str | Path) -> tuple[int, str] | None:
    """The processors of the machine, and how they are known; None: no file beside a log tells them.

    Parameters
    ----------
    path
        The log, ``wagap.swf.gz``: the machine is in ``wagap.swf.machines``.

    Raises
    ------
    TraceError
        If there is such a file and it cannot be read as one.
    """
    name = str(path).removesuffix(".gz")
    place = Path(f"{name}.machines")
    if not place.is_file():
        return None
    processors = 0
    clusters = []
    for number, line in enumerate(read_text(place).splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != _FIELDS:
            raise TraceError(place, number, f"a cluster must have {_FIELDS} fields, not {len(fields)}")
        try:
            nodes, each = whole(fields[2], "the number of nodes"), whole(fields[3], "the processors of a node")
        except ValueError as error:
            raise TraceError(place, number, str(error)) from None
        if nodes < 1 or each < 1 or nodes * each > LARGEST_SIZE:
            raise TraceError(place, number, f"nodes and processors must be positive, not {shown(line)}")
        processors += nodes * each
        clusters.append(f"{nodes:,} x {each:,}")
    return (processors, f"{' + '.join(clusters)} by {place.name}") if 0 < processors <= LARGEST_SIZE else None
