"""Inputs of the golden digests: tables and logs as text, from fixed seeds, without the project's own writers."""

from __future__ import annotations

import random
from pathlib import Path

__all__ = ["NODES", "write_inputs"]

#: Size of the machine of all inputs.
NODES = 32
_HEAD = (
    *("job_id", "type", "submit", "nodes", "min_nodes", "runtime", "walltime", "setup", "checkpoint_interval"),
    *("checkpoint_cost", "notice", "estimated_arrival", "trace_runtime", "trace_walltime", "user", "project", "killed"),
)
_STOCHASTIC = ("application", "true_runtime", "plan", "restart_cost", "memory_profile")
_LIFE = ("cancelled_at", "preceding", "think_time", "running_since", "eligible", "partition", "qos")
_SIZES = (1, 1, 2, 2, 3, 4, 4, 5, 8, 8, 12, 16, 24)
_OUTAGES = """\
kind,start,end,nodes,announced,running,place,name,jobs,users,projects
maintenance,20000,26000,16,8000,,,cooling,,,
maintenance,60000,62000,all,50000,,,power,,,
failure,9000,12000,3,,,0.25,,,,
failure,30000.5,33000,2,,,,,,,
reservation,40000,43000,8,30000,,,course,,u1,
"""
_SWEEP = """\
mechanisms = ["baseline", "CUA-SPAA"]
vary = "product"
[workload]
seeds = "0:2"
jobs = 60
[assignment]
notice_mix = ["W1", "W5"]
[options]
order = ["fcfs", "sjf"]
"""
_PLAIN_SWEEP = """\
mechanisms = "baseline"
vary = "one-at-a-time"
[workload]
traces = [{path = "log.swf", nodes = 32}]
[options]
order = ["fcfs", "saf", "f1"]
backfilling = ["easy", "conservative", "none", "easy depth=2"]
[measure]
warmup = "1h"
cooldown = 600
"""


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _csv(head: tuple[str, ...], rows: list[dict[str, object]]) -> str:
    lines = [",".join(head), *(",".join(_text(row.get(name)) for name in head) for row in rows)]
    return "\n".join(lines) + "\n"


def _request(rng: random.Random) -> dict[str, object]:
    """Size and times of a job; some in fractions of a second, a third ends at its walltime."""
    runtime: float = rng.choice((60, 300, 900, 1800, 3600, 5400, 7200)) + rng.randrange(50)
    if rng.random() < 0.2:
        runtime += rng.choice((0.5, 0.25, 1 / 3, 0.000001))
    walltime = runtime if rng.random() < 0.3 else runtime + rng.randrange(1, 7200)
    return {
        "nodes": rng.choice(_SIZES),
        "runtime": runtime,
        "walltime": walltime,
        "user": f"u{rng.randrange(6)}",
        "project": f"p{rng.randrange(3)}" if rng.random() < 0.9 else None,
        "killed": int(walltime == runtime and rng.random() < 0.5),
    }


def _rigid(rng: random.Random, count: int, mean: float) -> list[dict[str, object]]:
    """Plain jobs, many at one instant; ids in another order than submits."""
    ids = rng.sample(range(1, 10 * count), count)
    rows, now = [], 0.0
    for job_id in ids:
        if rng.random() < 0.8:
            now = round(now + rng.random() * 2 * mean)
        rows.append({"job_id": job_id, "type": "rigid", "submit": now, **_request(rng)})
    return rows


def _hybrid(rng: random.Random, count: int) -> list[dict[str, object]]:
    rows = _rigid(rng, count, 900.0)
    for row in rows:
        draw, submit, runtime = rng.random(), float(str(row["submit"])), float(str(row["runtime"]))
        if rng.random() < 0.3:
            row |= {"trace_runtime": runtime * 0.75, "trace_walltime": row["walltime"]}
        if draw < 0.3:
            row |= {"setup": round(runtime * rng.random() / 10), "checkpoint_interval": 600, "checkpoint_cost": 30}
        elif draw < 0.65:
            least = max(1, int(str(row["nodes"])) // 4)
            row |= {"type": "malleable", "min_nodes": least, "setup": round(runtime * rng.random() / 20)}
        elif draw < 0.9:
            row |= {"type": "on-demand", "killed": 0}
            when = rng.random()
            if when < 0.8:
                lead, late = rng.randrange(600, 1800), rng.choice((0, 0, -300, 500, 1500))
                row |= {"notice": submit, "estimated_arrival": submit + lead}
                row["submit"] = None if when < 0.08 else submit + lead + late
    return rows


def _stochastic(rng: random.Random, count: int) -> list[dict[str, object]]:
    rows = _hybrid(rng, count)
    plans = ("optimal n=20", "all-ckpt n=20", "no-ckpt n=20", "maximum", "masi", "neuro", "all-ckpt-periodic tau=600")
    for row in rows:
        if row["type"] != "rigid" or rng.random() < 0.3:
            continue
        true = rng.randrange(600, 9000)
        for name in ("checkpoint_interval", "setup", "trace_runtime", "trace_walltime"):
            row.pop(name, None)
        row |= {
            "type": "stochastic", "killed": 0, "application": f"a{rng.randrange(3)}", "true_runtime": true,
            "plan": rng.choice(plans), "restart_cost": 40, "checkpoint_cost": 60, "runtime": true, "walltime": 9600,
        }  # fmt: skip
        if rng.random() < 0.3:
            row["memory_profile"] = f"{true // 2}:2 {true - true // 2}:4"
    return rows


def _lives(rng: random.Random, count: int) -> list[dict[str, object]]:
    rows = _rigid(rng, count, 700.0)
    free = NODES
    for place, row in enumerate(rows):
        submit = float(str(row["submit"])) + 20000
        row["submit"], draw = submit, rng.random()
        row |= {"partition": rng.choice(("batch", "debug", None)), "qos": rng.choice(("low", "high", None))}
        nodes = int(str(row["nodes"]))
        if place < 12 and nodes <= free:
            free -= nodes
            before = min(float(str(row["runtime"])) / 2, 1000.0)
            row |= {"submit": 18000 - place, "running_since": 20000 - before, "killed": 0}
        elif draw < 0.15:
            row["cancelled_at"] = submit + rng.randrange(0, 4000)
        elif draw < 0.35:
            earlier = rng.choice(rows[max(0, place - 15) : place] or rows[:1])
            if earlier is not row:
                row["preceding"] = earlier["job_id"]
                row["think_time"] = rng.choice((None, 0, 60, 1800))
        elif draw < 0.5:
            row["eligible"] = submit + rng.randrange(0, 3000)
    return rows


def _log(rng: random.Random, count: int) -> str:
    """A log in SWF: jobs that were cancelled, depend on others, or have no walltime."""
    lines = [
        "; Version: 2.2", f"; MaxNodes: {NODES}", f"; MaxProcs: {NODES}", "; UnixStartTime: 1600000000",
        "; TimeZoneString: UTC",
    ]  # fmt: skip
    now = 0
    for number in range(1, count + 1):
        now += rng.randrange(0, 1500)
        request = _request(rng)
        runtime, walltime = int(float(str(request["runtime"]))), int(float(str(request["walltime"])))
        status, wait = 1, rng.randrange(0, 4000)
        if rng.random() < 0.06:
            status, runtime = 5, rng.choice((0, -1, 40))
        preceding, think = (number - rng.randrange(1, 5), rng.randrange(0, 900)) if rng.random() < 0.15 else (-1, -1)
        preceding = preceding if preceding > 0 else -1
        cells = (
            number, now, wait, runtime, request["nodes"], -1, -1, request["nodes"], walltime, -1, status,
            rng.randrange(1, 6), rng.randrange(1, 4), -1, rng.randrange(1, 3), 1, preceding, think,
        )  # fmt: skip
        lines.append(" ".join(map(str, cells)))
    return "\n".join(lines) + "\n"


def write_inputs(place: Path) -> None:
    """Write all inputs into a directory."""
    hybrid, stochastic, lives = (*_HEAD,), (*_HEAD, *_STOCHASTIC), (*_HEAD, *_LIFE)
    texts = {
        "rigid.csv": _csv(_HEAD, _rigid(random.Random(1), 120, 600.0)),
        "hybrid.csv": _csv(hybrid, _hybrid(random.Random(2), 80)),
        "stochastic.csv": _csv(stochastic, _stochastic(random.Random(3), 70)),
        "lives.csv": _csv(lives, _lives(random.Random(4), 80)),
        "log.swf": _log(random.Random(5), 120),
        "outages.csv": _OUTAGES,
        "sweep.toml": _SWEEP,
        "plainsweep.toml": _PLAIN_SWEEP,
    }
    for name, text in texts.items():
        (place / name).write_text(text)
