"""Whole simulations of small job tables with a policy under test, where the decisions of one instant affect the
next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from holdfast.policies.arrival import ARRIVALS
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.expansion import EXPANSIONS
from holdfast.policies.notice import NOTICES
from holdfast.policies.order import ORDERS
from holdfast.policies.reserved_backfill import TENANCIES
from holdfast.simulator.conformance.generation import job_tables
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.ground.registry import Registry
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.table.job import Job, JobType

__all__ = ["REGISTRIES", "broken_runs"]

REGISTRIES: dict[str, Registry[Any]] = {
    "order": ORDERS,
    "backfilling": BACKFILLING,
    "tenants": TENANCIES,
    "expansion": EXPANSIONS,
    "notice": NOTICES,
    "arrival": ARRIVALS,
}
#: Name under which the policy is registered for the simulation.
_NAME = "under-test"
_ALL = (JobType.RIGID, JobType.MALLEABLE, JobType.ON_DEMAND, JobType.RIGID)


def broken_runs(make: Callable[[], Any], kind: str, count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Rules broken in simulations, each with a description and the job table.

    Parameters
    ----------
    make
        Makes a new instance of the policy.
    kind
        One of :data:`REGISTRIES`.
    count, seed
        Number of tables, and their seed.
    """
    registry = REGISTRIES[kind]
    for jobs, nodes in job_tables(count, seed, _ALL):
        for mechanism in ("baseline", "CUA-SPAA", "CUP-PAA") if kind in ("order", "backfilling") else _mechanisms(kind):
            logs = []
            for _ in range(2):
                registry.add(_NAME, make(), "under test")
                try:
                    logs.append(simulate(jobs, nodes, mechanism, **_options(kind)).entries)
                except InvariantError as error:
                    what = str(error).replace(f" {_NAME} ", " ")
                    what = f"a simulation under {_display_name(mechanism)} fails: {what}"
                    yield "simulation", what, _table(jobs, nodes)
                    return
                except Exception as error:  # whatever the plug-in raises is what its author wants to read
                    what = f"{type(error).__name__}: {error}"
                    yield "raises", f"a simulation under {_display_name(mechanism)} raises {what}", _table(jobs, nodes)
                    return
                finally:
                    registry.forget(_NAME)
            if logs[0] != logs[1]:
                first = next(at for at, (a, b) in enumerate(zip(*logs, strict=False)) if a != b)
                what = f"two simulations under {_display_name(mechanism)} differ from event {first + 1} on"
                yield "deterministic", what, _table(jobs, nodes)
                return


def _mechanisms(kind: str) -> tuple[str, ...]:
    if kind == "notice":
        return f"{_NAME}-PAA", f"{_NAME}-SPAA"
    return (f"CUA-{_NAME}", f"CUP-{_NAME}", f"N-{_NAME}") if kind == "arrival" else ("CUA-SPAA", "CUP-PAA")


def _options(kind: str) -> dict[str, Any]:
    return {kind: _NAME} if kind not in ("notice", "arrival") else {}


def _display_name(mechanism: str) -> str:
    return mechanism.replace(_NAME, "it")


def _table(jobs: list[Job], nodes: int) -> str:
    lines = [count_text(nodes, "nodes")]
    for job in jobs:
        words = (
            f"job {job.job_id}, {job.type}, {count_text(job.nodes, 'nodes')}, {job.runtime:g} of {job.walltime:g} s, "
        )
        words += f"at {job.submit:g} s" if job.submit is not None else "never comes"
        lines.append(words + (f", notice at {job.notice:g} s" if job.notice is not None else ""))
    return "\n".join(lines)
