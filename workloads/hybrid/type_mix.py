"""Parameters of the type assignment: shares of the types, notices, overheads and checkpoints.

Source: docs/model.md, "The model, and the choices it makes". The annotation of each field declares its option
(:mod:`holdfast.workloads.ground.parameters`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.parameters import Parameter, Positive, Seconds, Share, check_choices

__all__ = ["NODE_MTBF", "PREPARING", "Assignment"]

#: Mean time between failures of one node [s]: 5 years (the paper gives none; docs/model.md, parameter ``node_mtbf``).
NODE_MTBF = 5 * 365 * 86400.0
#: Group of the options in the help of a command.
PREPARING = "preparing a trace"


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """Parameters of :func:`holdfast.workloads.hybrid.assignment.assign`.

    Attributes
    ----------
    types
        Types that the log records, as ``qos:high=on-demand,low=spot``
        (:func:`~holdfast.workloads.hybrid.recorded_types.parse_type_rule`); empty: those of the column with the role
        ``type``, else types are drawn. Of recorded types ``shares``, ``group_by``, ``largest_on_demand`` and
        ``stochastic_share`` decide nothing, and the notice mix ``W5`` gives no notices: jobs come as recorded.
    shares
        Probabilities that a group is on-demand, rigid or malleable.
    group_by
        ``project``, ``user``, ``campaign``, or ``auto``: the first of these with more than one value in the trace.
    notice_mix
        ``W1`` .. ``W5`` of Table III, or shares of none, accurate, early, late.
    notice_lead
        Shortest and longest time from notice to estimated arrival [s].
    lateness
        Longest delay of a late job after its estimated arrival [s].
    no_show_share
        Share of the jobs with notice that never arrive.
    largest_on_demand
        Share of the machine above which an on-demand job becomes rigid or malleable.
    rigid_setup, malleable_setup
        Smallest and largest setup as a share of the trace's runtime.
    min_share
        Smallest size of a malleable job as a share of its requested size.
    overheads
        ``inside``: an undisturbed job takes its trace runtime; ``added``: setup and checkpoints come on top.
    node_mtbf
        Mean time between failures of one node [s].
    checkpoint_factor
        Checkpoint interval as a multiple of Daly's optimum.
    extra_dumps
        Cost of checkpoints beyond those at Daly's interval. ``charged``: they make the job longer; ``free``: the job
        and all its checkpoints take as long as at Daly's interval.
    walltimes
        ``extended``: overheads extend the walltime like the runtime; ``trace``: the walltime of the trace ends jobs
        that exceed it because of their overheads.
    stochastic_share
        Probability that a group is a stochastic application, regardless of its type.
    plan
        Plan of stochastic jobs: a planning strategy with its parameters, e.g. ``masi k=10``, or the name of a plan.

    Raises
    ------
    ParameterError
        If a value is not legal.
    """

    types: Annotated[
        str,
        Parameter(
            "types that the log records, as qos:high=on-demand",
            group=PREPARING,
            metavar="COLUMN:VALUE=TYPE",
            default="column type, else drawn",
        ),
    ] = ""
    shares: Annotated[
        tuple[float, float, float],
        Parameter("shares of the groups that become on-demand, rigid and malleable", group=PREPARING, metavar="O,R,M"),
    ] = (0.10, 0.60, 0.30)
    group_by: Annotated[
        Literal["auto", "project", "user", "campaign"],
        Parameter(
            "group of jobs that share one type",
            group=PREPARING,
            default=": the first of the others that the trace records",
        ),
    ] = "auto"
    notice_mix: Annotated[
        str | Sequence[float],
        Parameter(
            "notices: most none (W1), accurate (W2), early (W3) or late (W4), all alike (W5), or "
            "their four shares, as 0.4,0.3,0.2,0.1",
            group=PREPARING,
            metavar="{W1,...,W5}",
        ),
    ] = "W5"
    notice_lead: Annotated[
        tuple[Seconds, Seconds],
        Parameter(
            "shortest and longest time from a notice to the arrival that it announces [s]",
            group=PREPARING,
            metavar="TIME,TIME",
        ),
    ] = (900.0, 1800.0)
    lateness: Annotated[Seconds, Parameter("longest delay of a late job", group=PREPARING)] = 1800.0
    no_show_share: Annotated[Share, Parameter("share of noticed jobs that never arrive", group=PREPARING)] = 0.0
    largest_on_demand: Annotated[
        Share,
        Parameter("share of the machine above which an on-demand job becomes rigid or malleable", group=PREPARING),
    ] = 0.5
    rigid_setup: Annotated[
        tuple[float, float],
        Parameter(
            "smallest and largest setup of a rigid job as a share of its recorded runtime",
            group=PREPARING,
            metavar="SHARE,SHARE",
        ),
    ] = (0.05, 0.10)
    malleable_setup: Annotated[
        tuple[float, float],
        Parameter(
            "smallest and largest setup of a malleable job as a share of its recorded runtime",
            group=PREPARING,
            metavar="SHARE,SHARE",
        ),
    ] = (0.0, 0.05)
    min_share: Annotated[
        Share, Parameter("smallest size of a malleable job as a share of the requested one", group=PREPARING)
    ] = 0.2
    overheads: Annotated[
        Literal["inside", "added"],
        Parameter("place of setup and checkpoints: inside the recorded runtime, or added to it", group=PREPARING),
    ] = "inside"
    node_mtbf: Annotated[Seconds, Parameter("mean time between failures of a node", group=PREPARING)] = NODE_MTBF
    checkpoint_factor: Annotated[
        Positive, Parameter("ratio of the checkpoint interval to Daly's optimum", group=PREPARING)
    ] = 1.0
    extra_dumps: Annotated[
        Literal["charged", "free"],
        Parameter(
            "cost of checkpoints beyond those at Daly's interval: charged to the runtime, or free", group=PREPARING
        ),
    ] = "charged"
    walltimes: Annotated[
        Literal["extended", "trace"],
        Parameter(
            "walltime of jobs with overheads: extended by them, or the trace's, which ends them", group=PREPARING
        ),
    ] = "extended"
    stochastic_share: Annotated[Share, Parameter("share of the groups that become stochastic", group=PREPARING)] = 0.0
    plan: Annotated[str, Parameter("planning strategy of stochastic jobs", group=PREPARING)] = "optimal"

    def __post_init__(self) -> None:
        from holdfast.workloads.hybrid.notices import notice_shares
        from holdfast.workloads.hybrid.recorded_types import parse_type_rule

        if self.types:
            parse_type_rule(self.types)
        shares = self.shares
        if len(shares) != 3 or not all(share >= 0 for share in shares) or not math.isclose(sum(shares), 1):
            raise ParameterError("shares", "three shares (on-demand, rigid, malleable) of sum 1", shares)
        notice_shares(self.notice_mix)
        check_choices(self)
        if not self.plan.strip():
            raise ParameterError("plan", "a planning strategy or the name of a plan", self.plan)
        for name in ("no_show_share", "largest_on_demand", "min_share", "stochastic_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(name, "a share from 0 to 1", getattr(self, name))
        for name in ("node_mtbf", "checkpoint_factor"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ParameterError(name, "positive and finite", getattr(self, name))
        for name, most in (("rigid_setup", 1.0), ("malleable_setup", 1.0), ("notice_lead", math.inf)):
            bounds = getattr(self, name)
            if len(bounds) != 2 or not 0 <= bounds[0] <= bounds[1] < most:
                raise ParameterError(name, f"two bounds with 0 <= lower <= upper < {most:g}", bounds)
        if not 0 <= self.lateness < math.inf:
            raise ParameterError("lateness", "not negative and finite", self.lateness)
