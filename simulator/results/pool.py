"""A partition of a machine that was simulated as a pool of equal nodes."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.simulator.results.records import ABSENT, Accounting, Records
from holdfast.workloads.ground.units import SECOND

__all__ = ["Pool", "pool_rows"]


class Pool(NamedTuple):
    """A partition and its part of a result.

    Attributes
    ----------
    rows
        Rows of its jobs in the job table, shape (n,).
    nodes
        Number of its nodes.
    accounting
        Where its node-ticks went, over the time that the whole machine is accounted for.
    has_gpus
        Whether its nodes have GPUs.
    """

    rows: npt.NDArray[np.int64]
    nodes: int
    accounting: Accounting
    has_gpus: bool


def pool_rows(
    records: Records, pools: Mapping[str, Pool], measured: AbstractSet[int] | None = None
) -> list[dict[str, Any]]:
    """A row for each partition in which a measured job ran, as of
    :func:`~holdfast.simulator.resources.machine_metrics.partition_rows`.

    Parameters
    ----------
    records
        Outcomes of all jobs.
    pools
        The partitions by name.
    measured
        Ids of the jobs that count in waits; None: all.
    """
    rows = []
    for name, pool in pools.items():
        own = records.part(pool.rows)
        started = own.columns["start"] != ABSENT
        if measured is not None:
            started &= np.isin(own.columns["job_id"], list(measured))
        if not started.any():
            continue
        waits = (own.columns["start"] - own.queued)[started]
        total = sum(pool.accounting)
        free = pool.accounting.idle + pool.accounting.held + pool.accounting.down
        used = (total - free) / total if total else None
        rows.append(
            {
                "partition": name,
                "jobs": int(started.sum()),
                "mean_wait": float(waits.mean()) / SECOND,
                "longest_wait": float(waits.max()) / SECOND,
                "stopped": 0,
                "cores": used,
                "gpus": used if pool.has_gpus else None,
            }
        )
    return rows
