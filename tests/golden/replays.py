"""The list of runs of the golden digests: between them they cover every option of the simulator.

Each run is a few lines for the command line, carried out one after the other in a directory that holds the inputs.
Outputs of one run are in directories of its own; ``@`` stands for its first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.golden.inputs import NODES

__all__ = ["LARGE", "SMALL", "Replay"]

_HYBRID = f"run hybrid.csv -o @ --nodes {NODES} --events"
_PLAIN = f"run rigid.csv -o @ --nodes {NODES}"
_KINDS = ("swf", "perfetto", "parquet", "batsim")
_BOTH = "--mechanism CUA-SPAA,N-PAA"


class Replay(NamedTuple):
    """One run.

    Attributes
    ----------
    name
        Key of its digests.
    lines
        For ``holdfast``, in order.
    """

    name: str
    lines: tuple[str, ...]


def _orders() -> Iterator[tuple[str, str]]:
    static = ("fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "f1", "f2", "f3", "f4")
    timed = ("wfp3", "wfp3 exponent=2", "unicep", "alcf", "fairshare", "fairshare patience=600")
    weighted = "multifactor age=1000 fairshare=500 size=100"
    for order in (*static, *timed, weighted, "multifactor size=100 small=1 accounts=2", "learned model=jobs.npz"):
        yield f"order {order}", f"{_PLAIN} --mechanism baseline --order '{order}'"
    for order in ("sjf", "wfp3", "fairshare", "alcf", weighted, "learned model=jobs.npz"):
        yield f"mechanisms, order {order}", f"{_HYBRID} {_BOTH} --order '{order}'"


def _rules() -> Iterator[tuple[str, str]]:
    deep = ("easy depth=2", "easy depth=5", "slurm", "slurm depth=20 resolution=600", "slurm user=2 lag=30")
    for rule in ("easy", "conservative", "none", *deep):
        yield f"rule {rule}", f"{_PLAIN} --mechanism baseline --events --backfilling '{rule}'"
        yield f"mechanisms, rule {rule}", f"{_HYBRID} {_BOTH} --backfilling '{rule}'"
        yield f"rule {rule}, sjf", f"{_PLAIN} --mechanism baseline --order sjf --backfilling '{rule}'"


def _mechanisms() -> Iterator[tuple[str, str]]:
    names = "WEIGH-PAA,WEIGH price=5-SPAA,CUA-KNAPSACK,CUP-SKNAPSACK,N-WAIT,CUA-PAA overhead=seconds"
    yield "all mechanisms", f"{_HYBRID} --mechanism all"
    yield "all mechanisms without events", f"run hybrid.csv -o @ --nodes {NODES} --mechanism all"
    yield "further mechanisms", f"{_HYBRID} --mechanism '{names}'"
    yield "shrinking", f"{_HYBRID} --mechanism 'CUP-SPAA shrink=minimum victims=malleable-first'"
    yield "learned answers", f"{_HYBRID} --mechanism 'CUA-learned model=answers.npz'"


def _options() -> Iterator[tuple[str, str]]:
    malleable: Mapping[str, tuple[str, ...]] = {
        "backfill-length": ("runtime",), "passes": ("event",), "tenants": ("fits", "none"),
        "malleable-start": ("requested",), "malleable-resume": ("former",), "malleable-head": ("requested",),
        "arrival-takes": ("reserved",), "shrunk-lenders": ("stay",), "preempted-lenders": ("hold",),
        "expansion": ("greedy", "even"), "warning": ("0", "600"), "timeout": ("0", "1h"),
    }  # fmt: skip
    for name, values in malleable.items():
        for value in values:
            yield f"{name} {value}", f"{_HYBRID} --mechanism CUA-SPAA,CUP-PAA --{name} {value}"
    for value in ("backfill-length runtime", "passes event"):
        yield f"plain, {value}", f"{_PLAIN} --mechanism baseline --{value}"
    everything = (
        "--malleable-start requested --malleable-resume former --malleable-head requested --arrival-takes reserved "
        "--shrunk-lenders stay --preempted-lenders hold --expansion even --tenants fits"
    )
    yield "all malleable options", f"{_HYBRID} --mechanism all {everything}"
    yield "measuring", f"{_HYBRID} {_BOTH} --instant-tolerance 10m --warmup 1h --cooldown 2h"


def _engines() -> Iterator[tuple[str, str]]:
    for engine in ("simpy", "compiled", "auto"):
        for rest in ("", "--order saf --warmup 1h", "--backfilling conservative", "--backfilling none --order f1"):
            yield f"engine {engine} {rest}", f"{_PLAIN} --mechanism baseline --engine {engine} {rest}"
        yield (
            f"baseline of hybrid, {engine}",
            f"run hybrid.csv -o @ --nodes {NODES} --mechanism baseline --engine " + (engine),
        )


def _streams() -> Iterator[tuple[str, str]]:
    for engine in ("simpy", "compiled"):
        for kind in ("csv", "parquet"):
            yield f"streamed {engine} {kind}", f"run log.swf -o @ --stream --engine {engine} --stream-format {kind}"
    for rest in (
        "--order wfp3",
        "--backfilling conservative --order sjf",
        "--warmup 1h --cooldown 600",
        "--passes event",
    ):
        yield f"streamed {rest}", f"run log.swf -o @ --stream {rest}"


def _logs() -> Iterator[tuple[str, str]]:
    log = "run log.swf -o @"
    yield "log", f"{log} --mechanism baseline"
    yield "log, events", f"{log} --mechanism all --events"
    yield "log, types", f"{log} --mechanism all --seed 3 --shares 0.3,0.4,0.3 --notice-mix W2 --no-show-share 0.1"
    yield (
        "log, assignment",
        (
            f"{log} --mechanism CUA-SPAA --overheads added --rigid-setup 0.1,0.2 --malleable-setup 0,0.1 "
            "--min-share 0.5 --group-by user --node-mtbf 30d --checkpoint-factor 0.5 --notice-lead 10m,20m "
            "--lateness 10m --largest-on-demand 0.3 --extra-dumps free --events"
        ),
    )
    yield "log, walltimes of the trace", f"{log} --mechanism N-PAA --walltimes trace"
    yield "log, stochastic", f"{log} --mechanism CUA-SPAA --stochastic-share 0.5 --plan 'optimal n=10' --known-runs 3"
    yield "log, cancelled", f"{log} --mechanism baseline,CUA-SPAA --cancelled keep --events"
    yield "log, dependencies", f"{log} --mechanism baseline,CUP-PAA --dependencies --events"
    yield "log, state", f"{log} --mechanism baseline --starting-state 5h --until 20h --events"


def _lives() -> Iterator[tuple[str, str]]:
    lives = f"run lives.csv -o @ --nodes {NODES} --events"
    yield "lives", f"{lives} --mechanism baseline"
    yield "lives, conservative", f"{lives} --mechanism baseline --backfilling conservative --order fairshare"
    yield "lives, slurm", f"{lives} --mechanism baseline --backfilling slurm --passes event"


def _outages() -> Iterator[tuple[str, str]]:
    failing = "--failure-mtbf 20d --repair 1h --repair-variation 0.5"
    yield "outages", f"{_HYBRID} --mechanism all --outages outages.csv"
    yield "outages, plain", f"{_PLAIN} --mechanism baseline --outages outages.csv"
    yield "outages, named nodes", f"{_PLAIN} --mechanism baseline --outages outages.csv --backfilling slurm"
    yield "failures", f"{_HYBRID} --mechanism CUP-SPAA,baseline {failing} --expansion greedy"
    yield "outages and lives", f"run lives.csv -o @ --nodes {NODES} --mechanism baseline --outages outages.csv"


def _stochastic() -> Iterator[tuple[str, str]]:
    run = f"run stochastic.csv -o @ --nodes {NODES}"
    yield "stochastic", f"{run} --mechanism baseline,CUA-SPAA --events --known-runs 3"
    yield (
        "stochastic, strict",
        (f"{run} --mechanism CUP-PAA --checkpoint-variation 0.3 --checkpoint-mode strict --seed 7 --refit-growth 0.5"),
    )
    yield "stochastic, fit", f"{run} --mechanism N-SPAA --fit discrete --outages outages.csv"


def _comparisons() -> Iterator[tuple[str, str]]:
    yield (
        "variants",
        (
            f"run hybrid.csv -o @ --nodes {NODES},40 --order fcfs,sjf --mechanism CUA-SPAA --against order=fcfs "
            "--metrics wait_h,utilization"
        ),
    )
    yield "variants with events", f"{_HYBRID} --order fcfs,sjf --backfilling easy,conservative --mechanism baseline"
    yield "seeds", "run log.swf -o @ --seed 0:3 --mechanism CUA-SPAA"


def _log_readings() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Commands that read a directory of results."""
    first = f"run hybrid.csv -o @ --nodes {NODES} --mechanism baseline,CUA-SPAA --events"
    log = "run log.swf -o @ --mechanism baseline,N-SPAA --seed 1 --events"
    groups = ("user", "project", "size", "type", "week")
    yield "compare", (first, "compare @", *(f"compare @ --by {name}" for name in groups))
    yield "compare a log", (log, "compare @:baseline @:N-SPAA --by user --metric bounded_slowdown", "verify @")
    yield "explain", (first, "explain @ --run CUA-SPAA --worst 3 --json @/worst.json", "verify @")
    yield "export", (
        first, *(f"export @ --run CUA-SPAA --format {kind} -o @/{kind}" for kind in _KINDS),
    )  # fmt: skip
    yield "export of a log", (log, "export @ --run N-SPAA -o @/jobs.swf", "gantt @ --run N-SPAA -o @/page.html")
    yield "costs", (f"{_PLAIN} --mechanism baseline", "fit-costs @ -o @/costs.json --classes 8")
    yield "info", ("info log.swf",)
    yield "sweep", ("sweep sweep.toml -o @ --workers 1 --against order=fcfs",)
    yield "plain sweep", ("sweep plainsweep.toml -o @ --workers 1",)
    yield "forecast", (first, "forecast @ --run baseline --at 5h --draws 4 --workers 1 --least 1")


def _replays() -> Iterator[Replay]:
    for group in (
        *(_orders(), _rules(), _mechanisms(), _options(), _engines(), _streams(), _logs(), _lives(), _outages()),
        *(_stochastic(), _comparisons()),
    ):
        for name, line in group:
            yield Replay(name, (line,))
    for name, lines in _log_readings():
        yield Replay(name, lines)


#: The list of the default tests.
SMALL = tuple(_replays())
_MONTH = "generate -o month.swf --jobs 3000 --seed"
#: More jobs, and the tables of pictures: some seconds each.
LARGE = (
    Replay("a generated month", (f"{_MONTH} 7", "run month.swf -o @ --mechanism all --events")),
    *(
        Replay(f"a plain month, {rule}", (f"{_MONTH} 8", f"run month.swf -o @ --mechanism baseline {rule}"))
        for rule in ("", "--engine simpy", "--backfilling conservative", "--backfilling 'easy depth=3' --order f1")
    ),
    Replay("loop", (f"loop stochastic.csv -o @ --nodes {NODES} --rounds 2 --known-runs 3",)),
    Replay("tables of pictures", (f"{_HYBRID} --mechanism baseline,CUA-SPAA --plot",)),
    Replay("tables of comparisons", (
        f"{_HYBRID} --mechanism baseline,CUA-SPAA",
        *(f"compare @ --by {name} -o @/by-{name}" for name in ("user", "week")),
    )),
)  # fmt: skip
