"""The options of a simulation: every choice of the model that is a named parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

from policies.backfilling import backfilling
from policies.expansion import EXPANSIONS
from policies.order import ORDERS
from policies.tenancy import TENANCIES
from workloads.ground.errors import ParameterError, UnknownNameError
from workloads.ground.numbers import check_whole

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """How the machine is operated.

    Attributes
    ----------
    order
        Queue order, by its registered name, import path or entry point (:mod:`workloads.ground.registry`).
    backfilling
        Rule for starting jobs before the first waiting one; likewise.
    backfill_length
        What a backfilling candidate is judged by: its ``walltime`` (EASY), or its true ``runtime`` (CQSim).
    passes
        One scheduling pass per ``instant`` (EASY), or after every single ``event`` (CQSim, pyss).
    tenants
        Queued jobs that may be backfilled on idle reserved nodes: ``any`` that fits, one that ``fits`` before the
        estimated arrival, or ``none``.
    malleable_start
        Size at which a malleable job starts: its requested size or what is ``free`` of it, at least its minimum, or
        always the ``requested`` one.
    malleable_resume
        Size at which it starts again after a preemption: as at its first ``start``, or the ``former`` size, which it
        had when it was preempted.
    malleable_head
        Size that a malleable job needs while it is the first that waits: its ``minimum``, or the ``requested`` one.
    arrival_takes
        Idle reserved nodes that an arriving on-demand job may use beside free ones: those of its ``own`` reservation,
        or all ``reserved`` ones.
    shrunk_lenders
        What a shrunk job gets back when the on-demand job ends: ``expand``, the nodes that it lent; ``stay``, nothing.
    preempted_lenders
        What becomes of nodes that are returned to a preempted job: ``resume``, it resumes at once or they are
        released; ``hold``, they are held for it until it can resume.
    expansion
        Expansion of running malleable jobs into nodes that no waiting job can use: ``none``, ``greedy`` or ``even``.
    warning
        Time between the preemption of a malleable job and the release of its nodes [s].
    timeout
        How long after the estimated arrival a reservation is kept [s].
    checkpoint_variation
        Checkpoints and restarts of stochastic jobs vary by that part around the planned times, uniformly.
    checkpoint_mode
        ``absorbed``: that one takes longer is never the reason why a reservation fails ("Reservation and Checkpointing
        Strategies", section 5.2); ``strict``: a checkpoint that does not fit is lost.
    seed
        Seed of these variations, the only random choice outside the job table.
    engine
        What computes a replay: ``simpy``, the model; ``compiled``, loops over columns, which know plain replays alone
        (docs/model.md, "Engines"); or ``auto``, these where they give the same results, else the model.

    Raises
    ------
    ParameterError, UnknownNameError
        If a value is not legal.
    """

    order: str = "fcfs"
    backfilling: str = "easy"
    backfill_length: Literal["walltime", "runtime"] = "walltime"
    passes: Literal["instant", "event"] = "instant"
    tenants: str = "any"
    malleable_start: Literal["free", "requested"] = "free"
    malleable_resume: Literal["start", "former"] = "start"
    malleable_head: Literal["minimum", "requested"] = "minimum"
    arrival_takes: Literal["own", "reserved"] = "own"
    shrunk_lenders: Literal["expand", "stay"] = "expand"
    preempted_lenders: Literal["resume", "hold"] = "resume"
    expansion: str = "none"
    warning: float = 120.0
    timeout: float = 600.0
    checkpoint_variation: float = 0.0
    checkpoint_mode: Literal["absorbed", "strict"] = "absorbed"
    seed: int = 0
    engine: Literal["auto", "simpy", "compiled"] = "auto"

    def __post_init__(self) -> None:
        self._check_values()
        # The registries refuse unknown names.
        _ = ORDERS[self.order], TENANCIES[self.tenants], EXPANSIONS[self.expansion]
        _ = backfilling(self.backfilling, self.backfill_length, self.malleable_head)

    def _check_values(self) -> None:
        """Refuse what is not legal, whatever plug-ins there are."""
        for name, legal in (
            ("backfill_length", ("walltime", "runtime")),
            ("passes", ("instant", "event")),
            ("malleable_start", ("free", "requested")),
            ("malleable_resume", ("start", "former")),
            ("malleable_head", ("minimum", "requested")),
            ("arrival_takes", ("own", "reserved")),
            ("shrunk_lenders", ("expand", "stay")),
            ("preempted_lenders", ("resume", "hold")),
            ("checkpoint_mode", ("absorbed", "strict")),
            ("engine", ("auto", "simpy", "compiled")),
        ):
            value = getattr(self, name)
            if value not in legal:
                raise ParameterError(name, " or ".join(legal), value)
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
                raise ParameterError(name, "a name", getattr(self, name))

    @classmethod
    def told(cls, **options: object) -> Options:
        """Options of a finished simulation: its plug-ins are names, which are not looked up.

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
            If there is no such option; the message offers the nearest.
        """
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise UnknownNameError("option", name, known)
        return cls(**options)  # type: ignore[arg-type]  # the values are checked one by one above
