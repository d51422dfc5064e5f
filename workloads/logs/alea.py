"""Logs of the simulator Alea: SWF with additional columns after the standard 18, and a machine file beside the log.

Source: https://github.com/aleasimulator/alea. Column 19 lists the nodes of a job, ``{1241,1241}``, column 20 its queue,
column 21 the request, ``1:ppn=64:x86_64``. Fields 17 and 18 do not hold dependencies, and sizes count processors. A
line of ``LOG.machines`` holds number, name and nodes of a cluster, and processors, speed and memory [KB] of each node.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.text_cells import whole
from holdfast.workloads.ground.units import LARGEST_SIZE

__all__ = ["Further", "cluster_list", "machine_beside", "parse_further"]

_FURTHER = re.compile(r"\{[\d,\s-]*\}|.*(?:^|[\s:+])ppn=\d")
_REQUEST = re.compile(r"\d+:ppn=\d")
#: Parts of a request that are not node properties: number of nodes, and processors per node.
_SIZE = re.compile(r"\d+|ppn=\d+")
_FIELDS = 6


class Further(NamedTuple):
    """Data of a job in Alea's columns.

    Attributes
    ----------
    queue
        Its queue; empty: not recorded.
    properties
        Whether it asks for nodes with properties, ``cl_zewura`` or ``#excl`` (alone on its nodes).
    """

    queue: str = ""
    properties: bool = False


def parse_further(text: str) -> Further | None:
    """Parse Alea's columns after the 18 standard ones; None: other columns.

    >>> parse_further("{7,7} q_1d 1:ppn=2:cl_zewura")
    Further(queue='q_1d', properties=True)
    >>> parse_further("{7} q_2h 1:ppn=1").properties, parse_further("512 node17")
    (False, None)
    """
    if _FURTHER.match(text) is None:
        return None
    words = text.rpartition("}")[2].split()
    if len(words) < 2 or _REQUEST.match(words[-1]) is None:
        return Further()
    parts = re.split(r"[:+]", words[-1])
    return Further(words[-2], not all(map(_SIZE.fullmatch, parts)))


def cluster_list(path: str | Path) -> Path | None:
    """The list of clusters beside a log: ``wagap.swf.machines`` beside ``wagap.swf.gz``; None: there is none."""
    place = Path(f"{str(path).removesuffix('.gz')}.machines")
    return place if place.is_file() else None


def machine_beside(path: str | Path) -> tuple[int, str] | None:
    """The number of processors of the machine, and its source; None: no file beside the log gives it.

    Parameters
    ----------
    path
        The log, ``wagap.swf.gz``: the machine is in ``wagap.swf.machines``.

    Raises
    ------
    TraceError
        If there is such a file and it cannot be read as one.
    """
    place = cluster_list(path)
    if place is None:
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
            raise TraceError(place, number, f"nodes and processors must be positive, not {format_value(line)}")
        processors += nodes * each
        clusters.append(f"{nodes:,} x {each:,}")
    return (processors, f"{' + '.join(clusters)} by {place.name}") if 0 < processors <= LARGEST_SIZE else None
