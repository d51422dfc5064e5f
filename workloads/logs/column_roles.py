"""Column roles: which columns of a job table contain the fields of a trace, and in which units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.text_cells import Columns

__all__ = ["LAYOUTS", "REQUEST_ROLES", "ROLES", "ColumnNames", "Role", "find_layout", "parse_roles"]

#: Forms of a mapping: ``"submit=submit_time,nodes=num_nodes"``, the same as a mapping, or the name of a layout.
ColumnNames = str | Mapping[str, str]

#: What a column can hold, in the order of the documentation.
ROLES = (
    *("id", "submit", "eligible", "start", "end", "runtime", "wait", "walltime", "nodes", "processors"),
    *("user", "project", "partition", "qos", "type", "state", "name", "gpus"),
)
#: Further roles, of requests to a machine of several kinds of nodes (:mod:`holdfast.workloads.requests`).
REQUEST_ROLES = (
    *("tasks", "tasks_per_node", "cores", "memory", "memory_total", "gpus_total", "tres", "features", "account"),
    *("exclusive", "begin"),
)
#: Those that are times, and may have a unit.
_TIMES = frozenset(("submit", "eligible", "start", "end", "runtime", "wait", "walltime"))
#: Seconds of the units in which numbers may be.
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

#: Public data sets by name: PM100 (Marconi100 at CINECA, https://doi.org/10.5281/zenodo.10127767) and F-DATA (Fugaku,
#: https://doi.org/10.5281/zenodo.11467483). Columns that a file does not have are skipped.
LAYOUTS: Mapping[str, str] = {
    "pm100": "id=job_id,submit=submit_time,eligible=eligible_time,start=start_time,end=end_time,runtime=run_time,"
    "walltime=time_limit:min,nodes=num_nodes_alloc,processors=num_cores_alloc,user=user_id,project=group_id,"
    "partition=partition,qos=qos,state=job_state,gpus=num_gpus_alloc",
    "f-data": "id=jid,submit=adt,start=sdt,end=edt,runtime=duration,walltime=elpl,nodes=nnumr,processors=cnumr,"
    "user=usr,state=exit state,name=jnam",
}
#: Roles with columns that a file must contain to match a layout.
_MARKS = ("submit", "start", "end", "nodes")
_UNIT = re.compile(r"(?P<column>.+):(?P<unit>[a-z]+)")


class Role(NamedTuple):
    """The column of a role.

    Attributes
    ----------
    column
        Name of the column.
    scale
        Seconds per unit of its numbers; 1 if it is not a time.
    """

    column: str
    scale: float = 1.0


def parse_roles(given: ColumnNames, names: Iterable[str] | None = None) -> dict[str, Role]:
    """Parse the columns by role.

    Parameters
    ----------
    given
        ``"submit=submit_time,walltime=time_limit:min"``, the same as a mapping, or a name of :data:`LAYOUTS`. After a
        colon stands the unit of numbers: ns, us, ms, s, min, h or d (default s).
    names
        Columns of the file; of a layout only those that are there are taken.

    Raises
    ------
    ParameterError
        If it is not such a text, a column has a unit but holds no time, or the submit time, the size or the runtime
        has no column.
    UnknownNameError
        If there is no role of a name.

    Examples
    --------
    >>> parse_roles("submit=t,nodes=n,runtime=minutes:min")["runtime"]
    Role(column='minutes', scale=60.0)
    """
    layout = isinstance(given, str) and given in LAYOUTS
    pairs = _pairs(LAYOUTS[given] if isinstance(given, str) and layout else given)
    found: dict[str, Role] = {}
    there = None if names is None else {name.strip().lower() for name in names}
    for name, text in pairs:
        if name in REQUEST_ROLES:
            legal = f"without {name}, which is for a machine (--machine FILE; of whatif, --today machine=FILE)"
            raise ParameterError("columns", legal, given)
        if name not in ROLES:
            raise UnknownNameError("role of a column", name, (*ROLES, *REQUEST_ROLES))
        if name in found:
            raise ParameterError("columns", "each role once", given)
        role = _role(name, text, given)
        if not layout or there is None or role.column.lower() in there:
            found[name] = role
    missing = {
        "submit": "submit" not in found,
        "nodes or processors": not {"nodes", "processors"} & set(found),
        "runtime, or for start and end": "runtime" not in found and not {"start", "end"} <= set(found),
    }
    for name in (name for name, lacks in missing.items() if lacks):
        raise ParameterError("columns", f"a mapping that names a column for {name}", given)
    return found


def _pairs(given: object) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    if isinstance(given, Mapping):
        pairs = [(str(name), str(text)) for name, text in given.items()]
    elif isinstance(given, str):
        pairs = [(name, text) for name, _, text in (part.partition("=") for part in given.split(","))]
    cleaned = [(name.strip().lower(), text.strip()) for name, text in pairs]
    if not cleaned or not all(name and text for name, text in cleaned):
        legal = f"roles and columns, such as submit=submit_time,nodes=num_nodes, or {' or '.join(LAYOUTS)}"
        raise ParameterError("columns", legal, given)
    return cleaned


def _role(name: str, text: str, given: ColumnNames) -> Role:
    match = _UNIT.fullmatch(text)
    if match is None or match["unit"] not in _UNITS:
        return Role(text)
    if name not in _TIMES:
        raise ParameterError("columns", f"no unit for {name}, which is no time", given)
    return Role(match["column"], _UNITS[match["unit"]])


def find_layout(names: Iterable[str]) -> str | None:
    """Find the layout with these columns; None if there is none.

    >>> find_layout(["adt", "sdt", "edt", "nnumr", "elpl"])
    'f-data'
    """
    columns = Columns(list(names))
    for layout in LAYOUTS:
        roles = parse_roles(layout)
        if all(columns.find(roles[mark].column) is not None for mark in _MARKS):
            return layout
    return None
