"""Reservations of a plan as a chain of dependent jobs, with time limits in minutes, Slurm's unit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.tables import render
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import walltime_text

if TYPE_CHECKING:
    from holdfast.policies.planning.costs import CostModel
    from holdfast.policies.planning.plan import ReservationPlan

__all__ = [
    "MINUTE",
    "Link",
    "describe_omissions",
    "describe_prices",
    "links_table",
    "make_links",
    "plan_in_minutes",
    "whole_minutes",
]

MINUTE = 60
#: Slurm's largest limit [min]: the two numbers above it mean "none" and "infinite".
_LONGEST = 4_294_967_293
#: Tolerance for rounding in sums of times [s].
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Link:
    """One reservation of a sequence.

    Attributes
    ----------
    number
        From 1.
    minutes
        Limit to ask for [min].
    checkpointed
        Whether the program gets a signal to save before the limit.
    save_after
        Time of the checkpoint after the start of the reservation, if checkpointed [s].
    restart
        Planned time to read the last checkpoint [s].
    checkpoint
        Planned time to write a checkpoint [s]; 0 if not checkpointed.
    """

    number: int
    minutes: int
    checkpointed: bool
    save_after: int
    restart: int
    checkpoint: int

    @property
    def notice(self) -> int:
        """Seconds from the signal to save until the limit."""
        return self.minutes * MINUTE - self.save_after


def make_links(plan: ReservationPlan, *, most: int, spare: int, margin: float) -> list[Link]:
    """The first reservations of a plan, each rounded up to minutes.

    Parameters
    ----------
    plan
        Times in seconds.
    most
        Largest number of reservations of the plan.
    spare
        Number of reservations after the last one, for a run that has lost work or outlives its plan.
    margin
        Time added to each length before rounding [s], for the start of the program.

    Raises
    ------
    InputError
        If no reservation takes a minute, one is longer than Slurm's longest limit, or the plan is one of memory.

    Examples
    --------
    >>> from holdfast.policies.planning.costs import CostModel
    >>> from holdfast.policies.planning.plan import ReservationPlan
    >>> plan = ReservationPlan([1200.0, 2400.0], [True, False], CostModel(checkpoint=30.0, restart=20.0))
    >>> [(link.minutes, link.save_after, link.notice) for link in make_links(plan, most=9, spare=0, margin=10.0)]
    [(21, 1200, 60), (21, 1220, 40)]
    """
    if plan.memory is not None:
        raise InputError(
            "the plan also requests memory, which a sequence on Slurm does not support; plan the runtime only"
        )
    if float(plan.length.max()) < MINUTE:
        raise InputError(
            f"the longest reservation of the plan is {float(plan.length.max()):g} s, and Slurm's limits are minutes; "
            "a plan must be in seconds, as 'holdfast plan --json' writes it"
        )
    whole = plan
    if most >= len(plan) and spare:
        whole = plan.extend(float(plan.milestones[-1]) * plan.extension ** (spare - 0.5))
    count = min(most + (spare if most >= len(plan) else 0), len(whole))
    links = []
    for place in range(count):
        minutes = math.ceil((float(whole.length[place]) + margin) / MINUTE - _ROUNDING)
        if minutes > _LONGEST:
            raise InputError(
                f"reservation {place + 1} takes {minutes:,} minutes, and Slurm's longest limit is {_LONGEST:,}"
            )
        links.append(
            Link(
                number=place + 1,
                minutes=minutes,
                checkpointed=bool(whole.checkpointed[place]),
                save_after=_up(whole.restart[place] + whole.work[place]),
                restart=_up(whole.restart[place]),
                checkpoint=_up(whole.checkpoint[place]),
            )
        )
    return links


def whole_minutes(seconds: float) -> int:
    """A limit in Slurm's unit, rounded up [min].

    >>> whole_minutes(1), whole_minutes(60), whole_minutes(61)
    (1, 1, 2)
    """
    return max(1, math.ceil(seconds / MINUTE - _ROUNDING))


def plan_in_minutes(plan: ReservationPlan, margin: float) -> ReservationPlan:
    """The plan as executed on Slurm: a reservation without a checkpoint computes until its limit, in whole minutes.

    A reservation with a checkpoint saves at the planned time, so its work is unchanged.

    Examples
    --------
    >>> from holdfast.policies.planning.costs import CostModel
    >>> from holdfast.policies.planning.plan import ReservationPlan
    >>> plan = ReservationPlan([1200.0, 2410.0], [True, False], CostModel(checkpoint=30.0, restart=20.0))
    >>> plan_in_minutes(plan, 10.0).milestones.tolist()
    [1200.0, 2440.0]
    """
    milestones: list[float] = []
    for place, milestone in enumerate(plan.milestones.tolist()):
        length = float(plan.length[place])
        spare = math.ceil((length + margin) / MINUTE - _ROUNDING) * MINUTE - length
        later = milestone if plan.checkpointed[place] else milestone + spare
        milestones.append(max(later, milestones[-1] + 1.0) if milestones else later)
    document = plan.to_dict()
    document["reservations"] = [
        {"milestone": milestone, "checkpointed": bool(checkpointed)}
        for milestone, checkpointed in zip(milestones, plan.checkpointed, strict=True)
    ]
    return type(plan).from_json(json.dumps(document))


def _up(seconds: np.floating | float) -> int:
    return math.ceil(float(seconds) - _ROUNDING)


_COLUMNS = (
    Quantity("number", "#"),
    Quantity("limit", "limit", "HH:MM:SS"),
    Quantity("save", "save after", "HH:MM:SS"),
    Quantity("restart", unit="s"),
)


def links_table(links: Iterable[Link]) -> str:
    """Reservations for a terminal."""
    rows = [
        {
            "number": link.number,
            "limit": walltime_text(link.minutes * MINUTE),
            "save": walltime_text(link.save_after) if link.checkpointed else "no",
            "restart": link.restart,
        }
        for link in links
    ]
    return render(rows, _COLUMNS)


def describe_omissions(planned: int, made: int, most: int, spare: int, limit: int) -> list[str]:
    """Sentences on the reservations that are left out of a chain.

    Parameters
    ----------
    planned, made
        Reservations of the plan, and of the chain.
    most, spare
        As in :func:`make_links`.
    limit
        Largest legal value of ``most``.

    Examples
    --------
    >>> describe_omissions(9, 4, 4, 2, 200)
    ['5 reservations of the plan and 2 spare ones are left out; --most 9 takes all']
    >>> describe_omissions(9, 10, 20, 2, 200)
    ['1 spare reservation is left out: the plan has no room for longer ones']
    >>> describe_omissions(9, 11, 20, 2, 200)
    []
    """
    if planned > most:
        after = f"--most {planned} takes all" if planned <= limit else f"--most takes up to {limit}"
        extra = f" and {spare} spare {'one' if spare == 1 else 'ones'}" if spare else ""
        left = planned - most
        noun, verb = "reservation" if left == 1 else "reservations", "is" if left == 1 and not spare else "are"
        return [f"{left:,} {noun} of the plan{extra} {verb} left out; {after}"]
    missing = planned + spare - made
    if missing <= 0:
        return []
    noun, verb = ("reservation", "is") if missing == 1 else ("reservations", "are")
    return [f"{missing} spare {noun} {verb} left out: the plan has no room for longer ones"]


def describe_prices(costs: CostModel) -> str:
    """Sentence on the price of waits in the queue in a plan: reservations were chosen by it.

    Examples
    --------
    >>> from holdfast.policies.planning.costs import CostModel
    >>> describe_prices(CostModel(gamma=1800.0))
    "waits in the queue are priced by the plan's alpha 1 and gamma 1,800 s, not by the queue of today"
    """
    if costs.gamma == 0 and costs.alpha <= 1:
        return "waits in the queue are not priced (gamma is 0); 'holdfast plan --costs FILE' prices them by 'fit-costs'"
    return (
        f"waits in the queue are priced by the plan's alpha {costs.alpha:g} and gamma {costs.gamma:,.0f} s, "
        "not by the queue of today"
    )
