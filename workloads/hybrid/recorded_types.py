"""Job types that a log records: in a column of their own, or by QOS, partition, project or user.

A high-priority job is on-demand. A spot or preemptible job is rigid and has no checkpoints, so that a preemption loses
the whole run; with the type ``rigid`` it gets setups and checkpoints as other rigid jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import JobType

__all__ = ["TypeRule", "has_recorded_types", "parse_type_rule", "recorded_types", "spot_jobs"]

#: Words for types, and the type that each stands for.
_TYPES: Mapping[str, JobType] = {
    "on-demand": JobType.ON_DEMAND,
    "rigid": JobType.RIGID,
    "malleable": JobType.MALLEABLE,
    "spot": JobType.RIGID,
    "preemptible": JobType.RIGID,
}
#: Those of jobs that start anew after a preemption.
_ANEW = frozenset(("spot", "preemptible"))
#: Columns that a rule may name, and the field of a trace that holds each.
_COLUMNS: Mapping[str, str] = {
    "type": "job_class", "qos": "qos", "partition": "partition", "project": "project", "account": "project",
    "user": "user",
}  # fmt: skip
#: How many values a message lists.
_LISTED = 6


class TypeRule(NamedTuple):
    """Types by the words of a column.

    Attributes
    ----------
    column
        ``type``, ``qos``, ``partition``, ``project`` or ``user``.
    words
        Word for the type of each value; empty: the values are such words.
    """

    column: str = "type"
    words: Mapping[str, str] = {}


def parse_type_rule(text: str) -> TypeRule:
    """Parse a rule.

    Parameters
    ----------
    text
        ``"qos:high=on-demand,low=spot"``; jobs with another value are rigid. A column alone, such as ``"type"``,
        holds the words on-demand, rigid, malleable, spot and preemptible.

    Raises
    ------
    ParameterError, UnknownNameError
        If it is no such text.

    Examples
    --------
    >>> parse_type_rule("qos:high=on-demand,qos:low=spot")
    TypeRule(column='qos', words={'high': 'on-demand', 'low': 'spot'})
    """
    column, colon, rest = text.partition(":")
    column = column.strip().lower()
    if column not in _COLUMNS:
        raise ParameterError("types", f"a column ({', '.join(_COLUMNS)}) and types, such as qos:high=on-demand", text)
    words: dict[str, str] = {}
    for part in rest.split(",") if colon else ():
        value, equals, word = (piece.strip() for piece in part.partition("="))
        value = value.removeprefix(f"{column}:")  # the column may be repeated
        if not (value and equals) or value in words:
            raise ParameterError("types", "each value once with its type, such as qos:high=on-demand,low=spot", text)
        words[value] = word.lower()
        if words[value] not in _TYPES:
            raise UnknownNameError("type of a job", word, _TYPES)
    return TypeRule(column, words)


def has_recorded_types(trace: Trace) -> bool:
    """Whether a column of the log was read as the type of its jobs."""
    return trace.jobs.has("job_class")


def recorded_types(trace: Trace, rule: TypeRule) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """The types of the jobs of a trace.

    Parameters
    ----------
    trace
        A log.
    rule
        Its column with the types.

    Returns
    -------
    tuple
        Index of each job's type in :class:`~holdfast.workloads.table.job.JobType`, and whether it is a spot or
        preemptible job, shape (n,) each.

    Raises
    ------
    ParameterError
        If the log does not have the column, or a value says no type.
    """
    jobs, field = trace.jobs, _COLUMNS[rule.column]
    codes = jobs.columns.get(field)
    if codes is None:
        known = [name for name, other in _COLUMNS.items() if jobs.has(other)] or ["none"]
        advice = ", or one of a table by --columns type=COLUMN" if rule.column == "type" else ""
        raise ParameterError("types", f"a column that the log has ({', '.join(known)}){advice}", rule.column)
    kinds = list(JobType)
    index = np.zeros(len(jobs.names) + 1, np.int8)
    anew = np.zeros(len(jobs.names) + 1, np.bool_)
    found = {code: jobs.names[code] for code in np.unique(codes).tolist()}
    unknown = []
    for code, value in found.items():
        word = rule.words.get(value, "rigid") if rule.words else (value.lower().replace("_", "-") or "rigid")
        if word not in _TYPES:
            unknown.append(value)
            continue
        index[code], anew[code] = kinds.index(_TYPES[word]), word in _ANEW
    missing = [value for value in rule.words if value not in found.values()]
    listed = ", ".join([*list(found.values())[:_LISTED], *(["..."] if len(found) > _LISTED else [])])
    if unknown:
        rest = f"in the column of types, or a rule such as {rule.column}:{unknown[0]}=on-demand"
        legal = f"{', '.join(_TYPES)} {rest}"
        raise ParameterError("types", legal, unknown[0])
    if missing:
        raise ParameterError("types", f"values that jobs of the log have for {rule.column} ({listed})", missing[0])
    return index[codes], anew[codes]


def spot_jobs(trace: Trace, types: str = "") -> int:
    """Number of spot and preemptible jobs of a trace.

    Parameters
    ----------
    trace
        A log.
    types
        Rule of its types; empty: those of its column of types, if it has one.

    Raises
    ------
    ParameterError, UnknownNameError
        As :func:`parse_type_rule` and :func:`recorded_types` raise them.

    Examples
    --------
    >>> from holdfast.workloads.logs.trace import TraceJob
    >>> jobs = [TraceJob(1, 0.0, 1, 60.0, 60.0, qos="low"), TraceJob(2, 0.0, 1, 60.0, 60.0, qos="high")]
    >>> spot_jobs(Trace(jobs), "qos:low=spot"), spot_jobs(Trace(jobs))
    (1, 0)
    """
    if not types and not has_recorded_types(trace):
        return 0
    return int(np.count_nonzero(recorded_types(trace, parse_type_rule(types) if types else TypeRule())[1]))
