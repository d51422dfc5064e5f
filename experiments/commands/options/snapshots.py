"""Snapshots of a Slurm site: the time of its queue, and the usage of its accounts up to that time.

Each contradiction between the files, and each gap in them, is added to the assumptions of the answer, one sentence
each. Source: docs/forecast.md, "Your own site".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.workloads.logs.snapshot import Clock
    from holdfast.workloads.logs.squeue import QueueRow
    from holdfast.workloads.logs.trace import Trace

__all__ = ["queue_clock", "sshare_usage"]

#: Slurm enforces walltimes twice a minute, and sites allow some minutes of overrun [s].
_OVERDUE = 600.0


def queue_clock(queue: str, at: str | None, trace: Trace, rows: Sequence[QueueRow], assumptions: list[str]) -> Clock:
    """Determine the time of a queue; contradictions are added to the assumptions."""
    from holdfast.experiments.forecast.time_parsing import format_duration, parse_moment
    from holdfast.workloads.logs.snapshot import Clock, snapshot_time

    latest = max(row.submit if row.start is None else max(row.submit, row.start) for row in rows)
    name = Path(queue).name
    if at is not None:
        clock = Clock(parse_moment(at, trace, "--at"), f"--at {at}")
        later = sum(max(row.submit, row.start or 0.0) > clock.at for row in rows)
        if later:
            assumptions.append(
                f"{later:,} of {len(rows):,} jobs of {name} were submitted or started after --at, and are left out"
            )
    else:
        clock = snapshot_time(queue)
        if latest > clock.at:
            assumptions.append(
                f"{name} has a submit or start {format_duration(latest - clock.at)} after its time ({clock.source}): "
                "the later time counts; times must be UTC, or seconds as SLURM_TIME_FORMAT=%s squeue writes them"
            )
            clock = Clock(latest, f"last event in {name}, later than the {clock.source}")
    assumptions += _mixed_clocks(queue, at, trace, clock)
    running = [row for row in rows if row.start is not None and row.start <= clock.at]
    over = sum(clock.at > (row.start or 0.0) + row.walltime + _OVERDUE for row in running)
    if over:
        assumptions.append(
            f"{over:,} of {len(running):,} running jobs are past their walltimes at that time ({clock.source}): if "
            f"{name} is older, give its time with --at"
        )
    return clock


def _mixed_clocks(queue: str, at: str | None, trace: Trace, clock: Clock) -> list[str]:
    """A sentence if dates without a zone meet seconds since 1970 in log, queue and time of the queue; else none."""
    from holdfast.workloads.ground.files import read_text
    from holdfast.workloads.logs.readers import records_local_time
    from holdfast.workloads.logs.squeue import has_local_dates

    name = Path(queue).name
    is_local = {
        Path(trace.source).name: records_local_time(trace.format, trace.header),
        name: has_local_dates(read_text(queue)),
    }
    # A date of --at is on the clock of the log.
    if at is None and is_local[name]:
        is_local[f"the {clock.source}"] = False
    local, absolute = ([source for source, found in is_local.items() if found is kind] for kind in (True, False))
    if not (local and absolute):
        return []
    return [
        f"{' and '.join(local)}: dates without a zone, taken as UTC beside {' and '.join(absolute)}; times are wrong "
        "where the cluster's zone is another (SLURM_TIME_FORMAT=%s avoids it)"
    ]


def sshare_usage(
    usage: str, machine: int | Path | None, rows: Sequence[QueueRow], assumptions: list[str]
) -> dict[str, float]:
    """Past usage of accounts [node-seconds], from the charges of sshare per node-second."""
    from holdfast.workloads.logs.node_list import read_node_processors
    from holdfast.workloads.logs.sshare import read_usage

    billed = [row for row in rows if row.start is not None and row.billing]
    rate = sum(row.billing for row in billed) / sum(row.nodes for row in billed) if billed else 0.0
    if not rate and isinstance(machine, Path):
        rate = read_node_processors(machine)
    if not rate:
        rate = 1.0
        assumptions.append(f"the number of TRES-seconds per node-second in {Path(usage).name} is unknown: 1 is assumed")
    found = {account: used / rate for account, used in read_usage(usage).items()}
    unknown = {row.account or row.user for row in rows} - set(found)
    if unknown:
        assumptions.append(
            f"{Path(usage).name} does not name {len(unknown):,} accounts of the queue, such as "
            f"{min(unknown)}: they begin without usage"
        )
    return found
