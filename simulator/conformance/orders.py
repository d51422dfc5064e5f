"""Checks of queue orders: keys must be comparable and must not change between calls."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from holdfast.simulator.conformance.contract import Claims, Problem
from holdfast.simulator.conformance.scenario import Scenario, View
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType

__all__ = ["ask_order", "judge_order"]

_HOUR = 3600 * SECOND


def ask_order(order: Any, view: View) -> dict[int, Any]:
    """Compute the key of each job that is not on-demand."""
    key_of = order.at(view) if order.at is not None else lambda job: order.key(job, view.now)
    return {job.job_id: key_of(job) for job in view.queue if job.type is not JobType.ON_DEMAND}


def judge_order(order: Any, scenario: Scenario, keys: dict[int, Any], claims: Claims) -> Iterator[Problem]:
    for job_id, key in keys.items():
        if key is None:
            yield "key", f"the key of job {job_id} is None"
        elif _is_nan(key):
            yield "key", f"the key of job {job_id} is {key!r}, which cannot be ordered"
    for (first, a), (second, b) in combinations(keys.items(), 2):
        try:
            before, after = a < b, b < a
        except Exception as error:
            yield "compare", f"the keys of jobs {first} and {second} cannot be compared: {error}"
            return
        if before and after:
            yield "compare", f"the keys of jobs {first} and {second} are each less than the other"
            return
    if order.static:
        for job in scenario.queue:
            times = [job.submit, scenario.now, scenario.now + _HOUR]
            found = [order.key(job, at) for at in times]
            if any(repr(key) != repr(found[0]) for key in found) and job.type is not JobType.ON_DEMAND:
                change = f"{found[0]!r} at its submit to {found[-1]!r}"
                yield (
                    "static",
                    f"declares that its keys never change, but that of job {job.job_id} changes from {change}",
                )
                return


def _is_nan(key: Any) -> bool:
    if isinstance(key, tuple):
        return any(map(_is_nan, key))
    try:
        return bool(key != key)
    except Exception:
        return False
