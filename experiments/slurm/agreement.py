"""Agreement between a replay on Slurm and the rules of the simulator, by start and by decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import mean, median
from typing import Any

from holdfast.experiments.slurm.decision_pace import measure_pace
from holdfast.experiments.slurm.decision_points import InstantDecision, decisions
from holdfast.experiments.slurm.placed_replay import PlacedJob
from holdfast.experiments.slurm.pool_starts import needs_own_loop, simulate_starts
from holdfast.experiments.slurm.recorded_limits import limit_remarks
from holdfast.experiments.slurm.recorded_replay import Replay, ReplayedJob
from holdfast.experiments.tables import render
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.order import ORDERS
from holdfast.simulator.resources.limit_columns import Owner
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.units import to_seconds
from holdfast.workloads.ground.wording import count_text

__all__ = [
    "AGREEMENT_COLUMNS",
    "DECISION_COLUMNS",
    "RULES",
    "agreement",
    "agreement_table",
    "best_rule",
    "cancelled_note",
    "compare_decisions",
    "compare_starts",
    "replay_summary",
    "wait_rows",
]

#: Rules compared by default.
RULES = ("none", "easy", "easy depth=4", "conservative", "slurm")
#: Columns of the table of all rules.
AGREEMENT_COLUMNS = (
    *(
        "replay",
        "rule",
        "jobs",
        "same_start",
        "same_rank",
        "discordant",
        "error_mean_s",
        "error_median_s",
        "error_max_s",
    ),
    *("wait_mean_s", "slurm_wait_mean_s", "decisions", "equal", "late", "extra", "missing"),
)
#: Columns of the table of decisions that differ.
DECISION_COLUMNS = ("replay", "rule", "at_s", "slurm_alone", "rule_alone")
_SHOWN = (
    Quantity("rule"),
    Quantity("same_start", "starts", "equal"),
    Quantity("same_rank", "ranks", "equal"),
    Quantity("discordant", "swapped", "% of pairs", scale=100.0, digits=2),
    Quantity("error_mean_s", "mean", "s", group="error of the wait", digits=1),
    Quantity("error_median_s", "median", "s", group="error of the wait", digits=1),
    Quantity("error_max_s", "largest", "s", group="error of the wait", digits=0),
    Quantity("wait_mean_s", "mean wait", "s", digits=0),
    Quantity("equal", "decisions", "equal"),
    Quantity("extra", "Slurm", "alone", group="jobs started by"),
    Quantity("missing", "rule", "alone", group="jobs started by"),
)


def agreement(
    replay: Replay,
    rules: Sequence[str],
    *,
    tolerance: float,
    lag: float,
    completing: float = 0.0,
    order: str = "fcfs",
    interval: float = 0.0,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, dict[int, float]]]:
    """Compare a replay with the rules.

    Parameters
    ----------
    replay
        What Slurm did.
    rules
        Names of backfilling rules.
    tolerance
        Starts that are no further apart are equal [s].
    lag
        Largest delay of a decision by Slurm [s].
    completing
        Longest time from the end of a job until its nodes are free [s]; decisions that differ by no more are late.
    order
        Name of the order of the queue.
    interval
        Time between two passes of the backfill thread, where starts are simulated [s].

    Returns
    -------
    rows, differences, starts
        A row for each rule with :data:`AGREEMENT_COLUMNS`; a row for each decision that differs with
        :data:`DECISION_COLUMNS`; the simulated starts [s] by rule and job.

    Raises
    ------
    InputError
        If there is no such rule or order.
    """
    queue_order = None if order == "fcfs" else ORDERS[order]
    rows, differences, all_starts = [], [], {}
    for rule in rules:
        if needs_own_loop(replay, BACKFILLING[rule], interval):
            starts = simulate_starts(replay, BACKFILLING[rule], queue_order, interval, measure_pace(replay, interval))
        else:
            starts = _starts(replay, rule, order)
        found = list(decisions(replay, BACKFILLING[rule], lag, completing, queue_order))
        names = {"replay": replay.name, "rule": rule}
        counts, wrong = compare_decisions(found)
        rows.append(
            {
                **names,
                **compare_starts(replay.jobs, starts, tolerance),
                **counts,
                "divergence": _divergence(replay, starts, found, tolerance, lag),
            }
        )
        differences += [{**names, **decision} for decision in wrong]
        all_starts[rule] = starts
    return rows, differences, all_starts


def _divergence(
    replay: Replay, starts: Mapping[int, float], found: Sequence[InstantDecision], tolerance: float, lag: float
) -> str:
    """Where simulated starts leave the recorded ones, and what the decisions there say about the cause."""
    apart = [job for job in replay.jobs if abs(starts[job.job_id] - job.start) > tolerance]
    if not apart:
        return ""
    first = min(apart, key=lambda job: min(job.start, starts[job.job_id]))
    at = min(first.start, starts[first.job_id])
    text = f"starts are equal until job {first.job_id:,} at {at - replay.jobs[0].submit:,.0f} s"
    slow = max(
        (job for job in replay.jobs if job.completing > tolerance and job.end <= at),
        key=lambda job: job.completing,
        default=None,
    )
    different = [decision for decision in found if not decision.equal and decision.at <= at + lag + tolerance]
    if slow is not None:
        text += f"; before, nodes of job {slow.job_id:,} took {slow.completing:,.0f} s to complete"
    if not different:
        return f"{text}; all decisions until then are equal, so that only times or nodes differed"
    late = sum(decision.late for decision in different)
    return f"{text}; until then {late:,} decisions are late and {len(different) - late:,} wrong"


def compare_starts(
    jobs: Sequence[ReplayedJob | PlacedJob], starts: Mapping[int, float], tolerance: float
) -> dict[str, Any]:
    """The columns of :data:`AGREEMENT_COLUMNS` that compare simulated starts [s] by job with recorded ones."""
    recorded = {job.job_id: job.start for job in jobs}
    submits = {job.job_id: job.submit for job in jobs}
    errors = [abs(starts[job] - recorded[job]) for job in recorded]
    ranks = zip(_order(recorded, submits), _order(starts, submits), strict=True)
    return {
        "jobs": len(recorded),
        "same_start": sum(error <= tolerance for error in errors),
        "same_rank": sum(a == b for a, b in ranks),
        "discordant": _discordant(recorded, starts, tolerance),
        "error_mean_s": mean(errors),
        "error_median_s": median(errors),
        "error_max_s": max(errors),
        "wait_mean_s": mean(starts[job.job_id] - job.queued for job in jobs),
        "slurm_wait_mean_s": mean(job.wait for job in jobs),
    }


def compare_decisions(found: Sequence[InstantDecision]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The columns of :data:`AGREEMENT_COLUMNS` that count decisions, and those of each decision that differs."""
    late = sum(decision.late for decision in found)
    wrong = [decision for decision in found if not (decision.equal or decision.late)]
    counts = {
        "decisions": len(found),
        "equal": len(found) - len(wrong) - late,
        "late": late,
        "extra": sum(len(decision.did - decision.would) for decision in wrong),
        "missing": sum(len(decision.would - decision.did) for decision in wrong),
    }
    return counts, [
        {
            "at_s": round(decision.at, 3),
            "slurm_alone": " ".join(map(str, sorted(decision.did - decision.would))),
            "rule_alone": " ".join(map(str, sorted(decision.would - decision.did))),
        }
        for decision in wrong
    ]


def best_rule(rows: Iterable[Mapping[str, Any]]) -> str:
    """The rule with the most equal decisions; of equal ones that with the most equal starts."""
    totals: dict[str, tuple[int, int]] = {}
    for row in rows:
        equal, starts = totals.get(row["rule"], (0, 0))
        totals[row["rule"]] = (equal + row["equal"], starts + row["same_start"])
    return max(totals, key=lambda rule: totals[rule])


def wait_rows(
    replays: Sequence[Replay], starts: Sequence[Mapping[str, Mapping[int, float]]], rule: str
) -> list[dict[str, Any]]:
    """Waits of all jobs, a row for each: ``replay``, ``job_id``, ``slurm_wait_s``, and ``wait_s`` under a rule.

    Parameters
    ----------
    replays
        What Slurm did.
    starts
        Simulated starts [s] of each replay, by rule and job.
    rule
        The rule.
    """
    return [
        {
            "replay": replay.name,
            "job_id": job.job_id,
            "slurm_wait_s": job.wait,
            "wait_s": simulated[rule][job.job_id] - job.queued,
        }
        for replay, simulated in zip(replays, starts, strict=True)
        for job in replay.jobs
    ]


def replay_summary(replay: Replay) -> str:
    """A replay in one line, and lines about the limits of the site."""
    jobs = replay.jobs
    span = max(job.end for job in jobs) - jobs[0].submit
    work = sum(job.nodes * (job.end - job.start) for job in jobs)
    passed = sum(
        any(other.submit > job.submit and job.queued <= other.start < job.start for other in jobs) for job in jobs
    )
    line = (
        f"{replay.name}: {count_text(len(jobs), 'jobs')} on {count_text(replay.nodes, 'nodes')} "
        f"in {span / 3600:.1f} h, utilisation "
        f"{work / span / replay.nodes:.2f}, mean wait {mean(job.wait for job in jobs):,.0f} s, "
        f"{sum(job.wait > 60 for job in jobs):,} waited over a minute, {passed:,} were passed"
        f"{cancelled_note(len(replay.cancelled))}"
    )
    owners = [Owner(job.qos, job.account, job.user, "") for job in jobs]
    return "\n".join([line, *limit_remarks(replay.limits.limits, owners)])


def cancelled_note(count: int) -> str:
    """End of the summary of a replay: how many further jobs were cancelled while they waited.

    >>> cancelled_note(2), cancelled_note(0)
    ('; 2 more were cancelled while they waited', '')
    """
    return f"; {count:,} more were cancelled while they waited" if count else ""


def agreement_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of one replay for a terminal."""
    some = rows[0]
    note = f"of {some['jobs']:,} jobs and {some['decisions']:,} decisions"
    late = ", ".join(f"{row['late']:,} under {row['rule']}" for row in rows if row["late"])
    late = f"; late, not wrong: {late}" if late else ""
    best = best_rule(rows)
    cause = next((row["divergence"] for row in rows if row["rule"] == best), "")
    cause = f"\nunder {best}, {cause}" if cause else ""
    return f"{render(rows, _SHOWN)}\n{note}{late}; Slurm's mean wait {some['slurm_wait_mean_s']:,.0f} s{cause}"


def _starts(replay: Replay, rule: str, order: str) -> dict[int, float]:
    result = simulate(replay.table(), replay.nodes, backfilling=rule, order=order, events=False)
    ran = {job.job_id for job in replay.jobs}
    records = [record for record in result.records if record.job_id in ran]
    return {record.job_id: to_seconds(record.start) for record in records if record.start is not None}


def _order(starts: Mapping[int, float], submits: Mapping[int, float]) -> list[int]:
    """Jobs by start; what starts within two seconds keeps the order of the submits."""
    return sorted(starts, key=lambda job: (round(starts[job] / 2), submits[job], job))


def _discordant(first: Mapping[int, float], second: Mapping[int, float], slack: float) -> float:
    """Share of the pairs of jobs that start in the other order, by more than the slack in both."""
    pairs = bad = 0
    for a, b in combinations(first, 2):
        one, other = first[a] - first[b], second[a] - second[b]
        pairs += 1
        bad += one * other < 0 and abs(one) > slack and abs(other) > slack
    return bad / pairs if pairs else 0.0
