"""Options of outages: a file, a failure rate, or both."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.commands.asking.arguments import duration, number, whole
from workloads.ground.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator.results.recording import Recording
    from workloads.logs.clock import LogClock
    from workloads.outages.failures import FailureRate
    from workloads.outages.outage import Outage

__all__ = ["OUTAGE_FILE", "AskedOutages", "add_outages", "outages_of", "untouched", "write_happened"]

#: File of the outages of a run, beside its results.
OUTAGE_FILE = "outages.csv"
#: Failures at the rate that Daly's interval assumes.
_AS_ASSUMED = "node-mtbf"


@dataclass(frozen=True)
class AskedOutages:
    """Outages of a simulation.

    Attributes
    ----------
    outages, failures
        As :func:`simulator.simulation.simulate` takes them.
    configuration
        Entry of ``run.json``; empty: no outages.
    """

    outages: Sequence[Outage] = ()
    failures: FailureRate | None = None
    configuration: dict[str, Any] = field(default_factory=dict)


def add_outages(parser: argparse.ArgumentParser) -> None:
    """Add the options of maintenance, failures and advance reservations."""
    group = parser.add_argument_group("outages of the machine")
    group.add_argument(
        "--outages", metavar="FILE", help="CSV file of maintenance, failures and advance reservations (default: none)"
    )
    group.add_argument(
        "--failure-mtbf",
        metavar="TIME",
        help=f"mean time between failures of a node [s], or '{_AS_ASSUMED}' for that of --node-mtbf (default: none)",
    )
    group.add_argument("--repair", metavar="TIME", help="mean time to repair a failed node [s] (default 4h)")
    group.add_argument(
        "--repair-variation",
        metavar="NUMBER",
        help="standard deviation of the lognormal repair time over its mean (default 0: all alike)",
    )


def outages_of(arguments: argparse.Namespace, nodes: int, clock: LogClock) -> AskedOutages:
    """Read and check the outages that the options name.

    Parameters
    ----------
    arguments
        With those of :func:`add_outages` and of the preparation of a trace.
    nodes
        Size of the machine.
    clock
        Clock of the log, for dates.

    Raises
    ------
    InputError
        If a file or a value is not usable.
    """
    if arguments.failure_mtbf is None:
        for name in ("repair", "repair_variation"):
            if getattr(arguments, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} needs --failure-mtbf")
    if arguments.outages is None and arguments.failure_mtbf is None:
        return AskedOutages()
    from workloads.ground.files import sha256_of
    from workloads.outages.failures import FailureRate
    from workloads.outages.file import read_outages

    seed = whole(arguments.seed, "--seed")
    outages: Sequence[Outage] = ()
    configuration: dict[str, Any] = {}
    if arguments.outages is not None:
        outages = read_outages(arguments.outages, nodes=nodes, seed=seed, clock=clock)
        configuration["outages"] = {"path": arguments.outages, "sha256": sha256_of(arguments.outages)}
    failures = None
    if arguments.failure_mtbf is not None:
        assumed = arguments.failure_mtbf == _AS_ASSUMED
        failures = FailureRate(
            mtbf=_time(arguments.node_mtbf, "--node-mtbf") if assumed else _mtbf(arguments.failure_mtbf),
            repair=_time(arguments.repair or "4h", "--repair"),
            variation=_variation(arguments.repair_variation or "0"),
            seed=seed,
        )
        configuration["failures"] = asdict(failures)
        target = Path(arguments.output) / OUTAGE_FILE
        if arguments.outages is not None and target.resolve() == Path(arguments.outages).resolve():
            raise InputError(f"--outages {arguments.outages} would be overwritten by what --failure-mtbf draws")
    return AskedOutages(outages, failures, configuration)


def untouched(outages: Sequence[Outage], results: Sequence[Recording], clock: LogClock) -> str:
    """Warning about given outages outside the simulated time; empty if there are none."""
    from workloads.ground.units import SECOND, to_ticks

    first = min(result.origin if result.begin is None else result.begin for result in results)
    last = max((record.end for result in results for record in result.records if record.end is not None), default=first)
    apart = [
        number
        for number, outage in enumerate(outages, start=1)
        if to_ticks(outage.end) <= first or to_ticks(outage.start) >= last
    ]
    if not apart:
        return ""
    one = outages[apart[0] - 1]
    if clock.epoch is None:
        span = f"{first / SECOND:.15g} s to {last / SECOND:.15g} s of the job table's clock"
        own = f"{one.start:.15g} s to {one.end:.15g} s"
    else:
        begin, end, since, until = (
            clock.show(time, seconds=True) for time in (first / SECOND, last / SECOND, one.start, one.end)
        )
        span, own = f"{begin} to {end}", f"{since} to {until}"
    span = f"the simulated time, {span}"
    first_of = f"outage {apart[0]} ({one.kind}, {own})"
    if len(apart) == 1:
        return f"{first_of} lies outside {span}"
    return f"{len(apart):,} of {len(outages):,} outages lie outside {span}; the first is {first_of}"


def write_happened(
    results: Sequence[Recording], new: Path, directory: Path, source: str | None, name: str = OUTAGE_FILE
) -> None:
    """Write the outages of a run, so that it can be repeated.

    Parameters
    ----------
    results
        Results under the same outages; the longest simulation has drawn the most.
    new, directory
        Directory to write to, and the directory it will replace.
    source
        File of the given outages; it is not overwritten.
    name
        File to write.
    """
    from workloads.outages.file import write_outages

    if source is None or (directory / name).resolve() != Path(source).resolve():
        write_outages(max(results, key=lambda result: len(result.outages)).outages, new / name)


def _mtbf(text: str) -> float:
    try:
        return _time(text, "--failure-mtbf")
    except InputError:
        raise ParameterError("--failure-mtbf", f"a duration such as 5y, or {_AS_ASSUMED}", text) from None


def _time(text: str, name: str) -> float:
    seconds = duration(text, name)
    if not seconds > 0:
        raise ParameterError(name, "a positive duration", text)
    return seconds


def _variation(text: str) -> float:
    return 0.0 if text.strip() == "0" else number(text, "--repair-variation")
