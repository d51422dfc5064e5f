"""The conclusion of a what-if question in two sentences: what is decided, with its harm, and what is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.experiments.whatif.contrasts import Contrast
from holdfast.experiments.whatif.wording import WaitUnit
from holdfast.workloads.ground.wording import count_text, join_words

__all__ = ["conclude"]

#: Growth of the longest wait or its 99th percentile that counts as harm.
_HARM = 1.1


def conclude(contrasts: Sequence[Contrast], error: Mapping[str, Any] | None, cluster: str, unit: WaitUnit) -> str:
    """Say in two sentences which alternatives change the mean wait, what gets worse with it, and what is undecided.

    Parameters
    ----------
    contrasts
        The alternatives, with verdicts.
    error
        Difference of the mean waits of the replay and of the recorded schedule; None: no starts are recorded.
    cluster
        Length of the blocks in the intervals.
    unit
        Unit of the waits.
    """
    return f"{_decision(contrasts, unit)} {_doubt(contrasts, error, cluster, unit)}"


def _decision(contrasts: Sequence[Contrast], unit: WaitUnit) -> str:
    shorter = sorted((one for one in contrasts if one.wait["verdict"] == "gains"), key=_difference)
    longer = sorted((one for one in contrasts if one.wait["verdict"] == "loses"), key=_difference, reverse=True)
    parts = []
    for place, one in enumerate(shorter):
        row, harm = one.wait, _harm(one, unit)
        by = f"by {_interval(row, unit, -1)}"
        if not place:
            name = one.operation.name[:1].upper() + one.operation.name[1:]
            levels = f"from {unit.text(row['first'])} to {unit.text(row['second'])} {unit.name}"
            text = f"{name} shortens the mean wait most, {by} {levels}"
        else:
            text = f"{one.operation.name} shortens it {by}"
        parts.append(f"{text}, but {harm}" if harm else text)
    if not shorter:
        parts.append("No alternative shortens the mean wait beyond doubt")
    if longer:
        named = [f"{one.operation.name} by {_interval(one.wait, unit)}" for one in longer]
        parts.append(f"the mean wait becomes longer under {join_words(named)}")
    return "; ".join(parts) + "."


def _doubt(contrasts: Sequence[Contrast], error: Mapping[str, Any] | None, cluster: str, unit: WaitUnit) -> str:
    open_ones = [one for one in contrasts if one.wait["verdict"] == "undecided"]
    equal = [one for one in contrasts if one.wait["verdict"] == "equal"]
    if open_ones:
        named = [f"{one.operation.name} ({_interval(one.wait, unit)})" for one in open_ones]
        text = f"Undecided is the direction of {join_words(named)}, because the {cluster}s of this log differ too much"
    else:
        text = "No difference of the mean waits is undecided at 95 %"
    if equal:
        text += f"; {join_words([one.operation.name for one in equal])} change{'s' * (len(equal) == 1)} no wait"
    if error is None:
        return f"{text}. How close the replay is to the machine is unknown: the log records no starts."
    low, high = error["low"], error["high"]
    if low is not None and high is not None and low <= 0 <= high:
        return f"{text}; the replay of today's rule does not differ from the recorded mean wait beyond chance."
    verb = "longer" if error["difference"] > 0 else "shorter"
    gap = unit.text(abs(error["difference"]))
    return (
        f"{text}; the replay of today's rule has a mean wait that is {gap} {unit.name} {verb} than the recorded one of "
        f"{unit.text(error['first'])} {unit.name}, so that differences are safer to use than levels."
    )


def _difference(one: Contrast) -> float:
    difference: float = one.wait["difference"]
    return difference


def _interval(row: Mapping[str, Any], unit: WaitUnit, sign: int = 1) -> str:
    """The size of a difference; with ``sign`` -1 that of a reduction."""
    if row["low"] is None or row["high"] is None:
        return f"{unit.text(sign * row['difference'])} {unit.name}"
    low, high = sorted((sign * row["low"], sign * row["high"]))
    return f"{unit.difference(sign * row['difference'], low, high, '')} {unit.name}"


def _harm(one: Contrast, unit: WaitUnit) -> str:
    """What gets worse while the mean gets better; empty: nothing."""
    row, found = one.wait, []
    if one.left_out:
        found.append(f"{count_text(one.left_out, 'jobs')} cannot run")
    if row["second_p99"] > _HARM * row["first_p99"] and not one.p99.low < 0:
        values = [unit.text(row[f"{side}_p99"]) for side in ("second", "first")]
        found.append(f"1 % of the jobs wait for more than {' in place of '.join(values)} {unit.name}")
    if row["second_longest"] > _HARM * row["first_longest"]:
        values = [unit.text(row[f"{side}_longest"]) for side in ("second", "first")]
        found.append(f"the longest wait is {' in place of '.join(values)} {unit.name}")
    before, now = (round(side["starved"]) for side in (one.reference, one.summary))
    if now > before:
        found.append(f"{count_text(now, 'jobs', 'starve')} in place of {before:,}")
    return join_words(found)
