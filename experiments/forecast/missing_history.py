"""Data missing from a state although the queue order or the backfilling rule depends on them.

A simulation from such a state assumes zero past usage and chooses the nodes itself, which may change starts.
Source: docs/forecast.md, "The state".
"""

from __future__ import annotations

from collections.abc import Collection

from holdfast.experiments.forecast.time_parsing import format_duration
from holdfast.policies.backfilling import backfilling
from holdfast.policies.order import ORDERS
from holdfast.simulator.machine.prior_state import PriorState
from holdfast.simulator.options import Options

__all__ = ["find_gaps"]

#: Number of half-lives after which usage is negligible: a sixteenth is left.
_LONG_AGO = 4.0


def find_gaps(prior: PriorState | None, options: Options, at: float, running: Collection[int]) -> list[str]:
    """Missing data of a state under given options, one sentence each.

    Parameters
    ----------
    prior
        Known data about the past; None: none.
    options
        Order and backfilling rule.
    at
        Time of the state [s].
    running
        Ids of the jobs that run.
    """
    known = PriorState() if prior is None else prior
    found = []
    order = ORDERS[options.order]
    if order.half_life is not None:
        name = options.order.split()[0]
        usage = known.usage
        since = None if usage is None else usage.since
        if usage is None or (since is None and not usage.totals):
            found.append(f"past usage is not known, and {name} ranks jobs by it: all accounts begin with none")
        elif not usage.totals and since is not None and at - since < _LONG_AGO * order.half_life:
            found.append(
                f"{name} ranks jobs by past usage, which halves in {format_duration(order.half_life)}, and that is "
                f"known for the last {format_duration(at - since)} alone"
            )
    rule = backfilling(options.backfilling, options.backfill_length)
    begun = rule.begin() if hasattr(rule, "begin") else rule
    unnamed = [job_id for job_id in running if job_id not in known.places] if hasattr(begun, "inherit") else []
    if unnamed:
        found.append(
            f"{options.backfilling.split()[0]} plans on named nodes, and those of {len(unnamed):,} of {len(running):,} "
            "running jobs are not known: the simulator chooses them"
        )
    return found
