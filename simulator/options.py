"""Options of a simulation: every choice of the model that is a named parameter.

The annotation of each field declares its option (:mod:`holdfast.workloads.ground.parameters`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.numbers import check_whole
from holdfast.workloads.ground.parameters import Parameter, Seconds, Share, check_choices

__all__ = ["Options"]


#: Groups of options in the help of a command.
_MACHINE = "operating the machine"
_DETAILS = "details of scheduling"
_PLANNING = "planning stochastic jobs"


@dataclass(frozen=True)
class Options:
    """How the machine is operated.

    Attributes
    ----------
    order
        Queue order, by its registered name, import path or entry point (:mod:`holdfast.workloads.ground.registry`).
    backfilling
        Rule for starting jobs ahead of the first waiting one; named likewise.
    backfill_length
        Length used to test a backfilling candidate: its ``walltime`` (EASY), or its true ``runtime`` (CQSim).
    passes
        One scheduling pass per ``instant`` (EASY), or after every single ``event`` (CQSim, pyss).
    tenants
        Queued jobs that may be backfilled on idle reserved nodes: ``any`` job that fits the nodes, only one that
        ``fits`` also in the time before the estimated arrival, or ``none``.
    malleable_start
        Size at which a malleable job starts: the ``free`` nodes, from its minimum up to its requested size, or always
        the ``requested`` size.
    malleable_resume
        Size at which it resumes after a preemption: chosen as at its first ``start``, or the ``former`` size that it
        had when it was preempted.
    malleable_head
        Size that a malleable job needs while it is the first waiting job: its ``minimum``, or the ``requested`` one.
    arrival_takes
        Idle reserved nodes that an arriving on-demand job may use beside free ones: those of its ``own`` reservation,
        or all ``reserved`` ones.
    shrunk_lenders
        Shrunk jobs when the on-demand job ends: ``expand`` by the nodes that they lent, or ``stay`` at their size.
    preempted_lenders
        Nodes returned to a preempted job: ``resume``, the job resumes at once or the nodes are released; ``hold``, they
        are held until it can resume.
    expansion
        Expansion of running malleable jobs into nodes that no waiting job can use: ``none``, ``greedy`` or ``even``.
    warning
        Time between the preemption of a malleable job and the release of its nodes [s].
    timeout
        How long after the estimated arrival a reservation is kept [s].
    checkpoint_variation
        Largest relative deviation of checkpoint and restart times of stochastic jobs from the plan; uniform.
    checkpoint_mode
        ``absorbed``: a longer checkpoint never makes a reservation fail ("Reservation and Checkpointing Strategies",
        section 5.2); ``strict``: a checkpoint that does not fit is lost.
    seed
        Seed of these variations, the only random choice outside the job table.
    engine
        Engine of a replay: ``simpy``, the full model; ``compiled``, loops over columns, which support plain replays
        only (docs/model.md, "Engines"); or ``auto``, the loops where they give the same results, otherwise the model.

    Raises
    ------
    ParameterError, UnknownNameError
        If a value is not legal.
    """

    order: Annotated[str, Parameter("queue order", group=_MACHINE)] = "fcfs"
    backfilling: Annotated[str, Parameter("backfilling rule", group=_MACHINE)] = "easy"
    backfill_length: Annotated[
        Literal["walltime", "runtime"],
        Parameter("length by which backfilling judges a job: its walltime, or its true runtime", group=_DETAILS),
    ] = "walltime"
    passes: Annotated[
        Literal["instant", "event"],
        Parameter("frequency of scheduling: once per instant, or after each event", group=_DETAILS),
    ] = "instant"
    tenants: Annotated[
        str,
        Parameter(
            "queued jobs on idle reserved nodes: any, fits (those that end before the arrival), none", group=_MACHINE
        ),
    ] = "any"
    malleable_start: Annotated[
        Literal["free", "requested"],
        Parameter(
            "size at which a malleable job starts: the free nodes up to its requested size, or the requested size",
            group=_DETAILS,
        ),
    ] = "free"
    malleable_resume: Annotated[
        Literal["start", "former"],
        Parameter("size of a malleable job after a preemption: as at its start, or its former size", group=_DETAILS),
    ] = "start"
    malleable_head: Annotated[
        Literal["minimum", "requested"],
        Parameter("size that a malleable job waits for while it is first in the queue", group=_DETAILS),
    ] = "minimum"
    arrival_takes: Annotated[
        Literal["own", "reserved"],
        Parameter("idle reserved nodes for an arriving on-demand job: its own, or all reserved ones", group=_DETAILS),
    ] = "own"
    shrunk_lenders: Annotated[
        Literal["expand", "stay"],
        Parameter("shrunk jobs when the on-demand job ends: expand by what they lent, or stay", group=_DETAILS),
    ] = "expand"
    preempted_lenders: Annotated[
        Literal["resume", "hold"],
        Parameter(
            "nodes returned to a preempted job that cannot resume at once: released, or held for it", group=_DETAILS
        ),
    ] = "resume"
    expansion: Annotated[
        str, Parameter("expansion of running malleable jobs into idle nodes: none, greedy or even", group=_DETAILS)
    ] = "none"
    warning: Annotated[
        Seconds,
        Parameter("time between the preemption of a malleable job and the release of its nodes", group=_DETAILS),
    ] = 120.0
    timeout: Annotated[
        Seconds, Parameter("time for which nodes stay reserved after the estimated arrival", group=_DETAILS)
    ] = 600.0
    checkpoint_variation: Annotated[
        Share, Parameter("largest relative deviation of checkpoint and restart times", group=_PLANNING)
    ] = 0.0
    checkpoint_mode: Annotated[
        Literal["absorbed", "strict"],
        Parameter("treatment of a checkpoint that takes longer than planned", group=_PLANNING),
    ] = "absorbed"
    seed: int = 0
    engine: Annotated[
        Literal["auto", "simpy", "compiled"],
        Parameter(
            "simpy: the full model; compiled: loops for rigid jobs under the baseline; auto: the loops where they "
            "give the same results",
            group=_DETAILS,
        ),
    ] = "auto"

    def __post_init__(self) -> None:
        # Imported here, because the help of a command shows these options without policies and numpy.
        from holdfast.policies.backfilling import backfilling
        from holdfast.policies.expansion import EXPANSIONS
        from holdfast.policies.order import ORDERS
        from holdfast.policies.reserved_backfill import TENANCIES

        self._check_values()
        # The registries refuse unknown names.
        _ = ORDERS[self.order], TENANCIES[self.tenants], EXPANSIONS[self.expansion]
        _ = backfilling(self.backfilling, self.backfill_length, self.malleable_head)

    def _check_values(self) -> None:
        """Refuse values that are illegal with any set of plug-ins."""
        check_choices(self)
        for name in ("warning", "timeout"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
                raise ParameterError(name, "a duration in seconds, at least 0", value)
        spread = self.checkpoint_variation
        if not (isinstance(spread, int | float) and 0 <= spread <= 1):
            raise ParameterError("checkpoint_variation", "a share from 0 to 1", spread)
        check_whole("seed", self.seed, 0, "a whole number >= 0")
        for name in ("order", "backfilling", "tenants", "expansion"):
            if not isinstance(getattr(self, name), str):
                legal = "a name; a plug-in of your own gets one as in holdfast.ORDERS.add('mine', mine)"
                raise ParameterError(name, legal, getattr(self, name))

    @classmethod
    def from_record(cls, **options: object) -> Options:
        """Options of a finished simulation; names of plug-ins are kept without looking them up.

        Raises
        ------
        ParameterError
            If a value is not legal.
        """
        self = object.__new__(cls)
        for item in fields(cls):
            object.__setattr__(self, item.name, options.get(item.name, item.default))
        self._check_values()
        return self

    @classmethod
    def of(cls, **options: object) -> Options:
        """Options by keyword.

        Raises
        ------
        UnknownNameError
            If there is no such option; the message suggests the nearest one.
        """
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise UnknownNameError("option", name, known)
        return cls(**options)  # type: ignore[arg-type]  # the values are checked one by one above
