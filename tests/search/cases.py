"""Cases: a small job table, a machine, and every option of a simulation, all drawn together."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage, OutageKind, check_outages
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.validation import check_jobs
from tests.reference.stochastic import Numbers
from tests.strategies.lives import lively
from tests.strategies.mixes import build_mix, plan_of
from tests.strategies.outages import build_outages
from tests.strategies.tables import HYBRID, build_table

__all__ = ["Case", "draw_case", "seeded_case"]

Pick = Callable[[int, int], int]

_NOTICES = ("N", "CUA", "CUA", "CUP", "CUP", "WEIGH", "WEIGH price=0", "WEIGH price=5")
_ARRIVALS = (
    *("PAA", "SPAA", "SPAA", "KNAPSACK", "SKNAPSACK", "PAA overhead=seconds", "SPAA shrink=minimum"),
    "SPAA shrink=minimum overhead=seconds victims=malleable-first",
    *("PAA victims=youngest", "SPAA victims=oldest", "PAA victims=lowest-priority"),
)
_ORDERS = (
    *("sjf", "ljf", "smallest", "largest", "saf", "laf", "wfp3", "unicep", "f1", "f2", "f3", "f4", "alcf"),
    *("fairshare", "fairshare patience=600"),
)
#: Each option with its default and the other values, which are drawn in half of the cases each.
_OPTIONS: Mapping[str, Sequence[object]] = {
    "order": ("fcfs", *_ORDERS),
    "backfilling": ("easy", "easy depth=2", "easy depth=3", "conservative", "none", "slurm"),
    "backfill_length": ("walltime", "runtime"),
    "passes": ("instant", "event"),
    "tenants": ("any", "fits", "none"),
    "malleable_start": ("free", "requested"),
    "malleable_resume": ("start", "former"),
    "malleable_head": ("minimum", "requested"),
    "arrival_takes": ("own", "reserved"),
    "shrunk_lenders": ("expand", "stay"),
    "preempted_lenders": ("resume", "hold"),
    "expansion": ("none", "greedy", "even"),
    "warning": (120.0, 0.0, 1e-6, 20.0, 60.0, 600.0),
    "timeout": (600.0, 0.0, 60.0, 1e5),
    "checkpoint_variation": (0.0, 0.3, 1.0),
    "checkpoint_mode": ("absorbed", "strict"),
}
_LENDING = (JobType.ON_DEMAND, JobType.MALLEABLE, JobType.MALLEABLE)
#: Fields of jobs and outages that are times.
_TIMES = (
    *("submit", "runtime", "walltime", "setup", "checkpoint_interval", "checkpoint_cost", "notice"),
    *("estimated_arrival", "trace_runtime", "trace_walltime", "true_runtime", "restart_cost", "cancelled_at"),
    *("think_time", "running_since", "eligible", "start", "end", "announced"),
)


@dataclass(frozen=True)
class Case:
    """One simulation.

    Attributes
    ----------
    jobs, nodes, mechanism, options, outages, failures
        As for :func:`simulator.simulate`.
    numbers
        The plans of stochastic jobs, by name.
    """

    jobs: tuple[Job, ...]
    nodes: int
    mechanism: str
    options: Mapping[str, Any] = field(default_factory=dict)
    outages: tuple[Outage, ...] = ()
    failures: FailureRate | None = None
    numbers: Mapping[str, Numbers] = field(default_factory=dict)

    def simulate(self) -> Result:
        """What becomes of it."""
        return simulate(
            self.jobs,
            self.nodes,
            self.mechanism,
            plans={name: plan_of(numbers) for name, numbers in self.numbers.items()},
            outages=list(self.outages),
            failures=self.failures,
            **self.options,
        )

    def source(self) -> str:
        """As Python, for a test."""
        lines = [f"nodes={self.nodes}, mechanism={self.mechanism!r}, options={dict(self.options)!r},"]
        lines += ["jobs=[", *(f"    {_source(job)}," for job in self.jobs), "],"]
        if self.outages:
            lines += ["outages=[", *(f"    {_source(outage)}," for outage in self.outages), "],"]
        if self.failures is not None:
            lines.append(f"failures={self.failures!r},")
        used = {job.plan for job in self.jobs}
        lines += [f"plan {name!r}: {numbers!r}" for name, numbers in self.numbers.items() if name in used]
        return "\n".join(lines)


def _source(item: Job | Outage) -> str:
    given = []
    for spec in fields(item):
        value = getattr(item, spec.name)
        if value != spec.default:
            text = f"{type(value).__name__}.{value.name}" if isinstance(value, JobType | OutageKind) else repr(value)
            given.append(f"{spec.name}={text}")
    return f"{type(item).__name__}({', '.join(given)})"


def draw_case(pick: Pick, *, max_jobs: int = 12, max_nodes: int = 24) -> Case:
    """A case.

    Parameters
    ----------
    pick
        Picks an integer from a range.
    max_jobs, max_nodes
        Limits of the table; one in eight is scaled up afterwards, in nodes, in time, or in both.
    """
    # In one of six cases nearly all that happens is that malleable jobs lend nodes, grow, and nodes fail meanwhile.
    lending = pick(0, 5) == 0
    mix = build_mix(pick, build_table(pick, max_jobs, max_nodes, _LENDING if lending else HYBRID))
    if not lending and pick(0, 2) == 0:
        mix = lively(pick, mix, state=bool(pick(0, 1)), cancelled=bool(pick(0, 1)), held=bool(pick(0, 1)))
    named = pick(0, 2)
    jobs = [
        replace(job, user=f"u{pick(0, 2)}", project=f"p{pick(0, 1)}" if pick(0, 2) else "") if named else job
        for job in mix.jobs
    ]
    kinds = (OutageKind.FAILURE,) if lending else tuple(OutageKind)
    outages = build_outages(pick, jobs, mix.nodes, kinds) if lending or pick(0, 1) else []
    case = Case(
        jobs=tuple(jobs),
        nodes=mix.nodes,
        mechanism=("N-SPAA", "N-SKNAPSACK", "CUA-SPAA")[pick(0, 2)] if lending else _mechanism(pick),
        options={**_options(pick), "expansion": ("greedy", "even")[pick(0, 1)]} if lending else _options(pick),
        outages=tuple(outages),
        failures=_failures(pick, jobs, mix.nodes) if pick(0, 3) == 0 else None,
        numbers={name: mix.numbers[name] for name in {job.plan for job in jobs} if name},
    )
    return _scale(pick, case) if pick(0, 7) == 0 else case


def seeded_case(seed: int, index: int) -> Case:
    """The case of that number."""
    return draw_case(random.Random(f"{seed}/{index}").randint)


def _mechanism(pick: Pick) -> str:
    if pick(0, 11) == 0:
        return "baseline"
    return f"{_NOTICES[pick(0, len(_NOTICES) - 1)]}-{_ARRIVALS[pick(0, len(_ARRIVALS) - 1)]}"


def _options(pick: Pick) -> dict[str, object]:
    chosen = {
        name: values[pick(1, len(values) - 1)] for name, values in _OPTIONS.items() if len(values) > 1 and pick(0, 1)
    }
    of_easy = chosen.get("backfill_length") == "runtime" or chosen.get("malleable_head") == "requested"
    if of_easy and chosen.get("backfilling") in ("conservative", "none", "slurm"):
        del chosen["backfilling"]
    return chosen


def _failures(pick: Pick, jobs: Sequence[Job], nodes: int) -> FailureRate:
    """So rare that every job comes to an end, soon."""
    longest = max(max(job.walltime, job.true_runtime or 0.0) for job in jobs)
    between = longest * (1, 2, 5, 20)[pick(0, 3)]
    return FailureRate(between * nodes, longest * pick(1, 8) / 8, (0.0, 0.0, 1.0)[pick(0, 2)], seed=pick(0, 999))


def _scale(pick: Pick, case: Case) -> Case:
    """The same on a huge machine, or at another pace: up to centuries, down to ticks."""
    size = (1, 1000, 400_000)[pick(0, 2)]
    pace = (1.0, 1e-6, 1e5)[pick(0, 2)]
    if pace < 1:
        # In whole units, so that rounding to ticks breaks no law of the table.
        pace = 1e-6 / 60.0
    rate = case.failures
    if rate is not None:
        # Nodes that would have to last longer, or be repaired sooner, than is legal do not fail by themselves.
        try:
            rate = replace(rate, mtbf=rate.mtbf * size * pace, repair=rate.repair * pace)
        except ParameterError:
            rate = None
    scaled = replace(
        case,
        jobs=tuple(_rescale(job, size, pace) for job in case.jobs),
        nodes=case.nodes * size,
        outages=tuple(_rescale(outage, size, pace) for outage in case.outages),
        options={
            name: value * pace if name in ("warning", "timeout") else value for name, value in case.options.items()
        },
        failures=rate,
        numbers={
            name: numbers._replace(
                milestones=[value * pace for value in numbers.milestones],
                checkpoint=numbers.checkpoint * pace,
                restart=numbers.restart * pace,
            )
            for name, numbers in case.numbers.items()
        },
    )
    try:
        check_jobs(scaled.jobs, nodes=scaled.nodes)
        check_outages(scaled.outages, scaled.nodes)
    except ValueError:
        return case
    return scaled


def _rescale(item: Any, size: int, pace: float) -> Any:
    changed: dict[str, Any] = {"nodes": item.nodes * size}
    if getattr(item, "min_nodes", None) is not None:
        changed["min_nodes"] = item.min_nodes * size
    for name in _TIMES:
        value = getattr(item, name, None)
        if value is not None:
            changed[name] = value * pace
    return replace(item, **changed)
