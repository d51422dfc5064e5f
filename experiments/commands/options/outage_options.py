"""Options for outages: a file, a failure rate, or both."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.parameters import NonNegative, Parameter, SecondsAbove0, Values, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.simulator.results.recording import Recording
    from holdfast.workloads.logs.clock import LogClock
    from holdfast.workloads.machines.machine import Machine
    from holdfast.workloads.outages.failures import FailureRate
    from holdfast.workloads.outages.outage import Outage

__all__ = ["OUTAGE_FILE", "AskedOutages", "OutageOptions", "load_outages", "save_outages", "unused_outages_warning"]

#: File name of the outages of a run in its results.
OUTAGE_FILE = "outages.csv"
#: Word for failures at the rate that Daly's interval assumes.
_AS_ASSUMED = "node-mtbf"
#: Word for a run without outages, if several values are compared.
_NONE = "none"
#: Group of the options in the help.
_GROUP = "outages of the machine"


@dataclass(frozen=True)
class AskedOutages:
    """Outages of a simulation.

    Attributes
    ----------
    outages, failures
        As for :func:`holdfast.simulator.simulation.simulate`.
    configuration
        Entry of ``run.json``; empty: no outages.
    """

    outages: Sequence[Outage] = ()
    failures: FailureRate | None = None
    configuration: dict[str, Any] = field(default_factory=dict)


def _file(text: str) -> str | None:
    return None if text == _NONE else text


def _mtbf(text: str) -> float | str | None:
    if text in (_NONE, _AS_ASSUMED):
        return None if text == _NONE else text
    try:
        value = duration(text)
    except InputError:
        value = 0.0
    if not value > 0:
        raise ParameterError("", f"a duration such as 5y, or {_AS_ASSUMED}", text)
    return value


@dataclass(eq=False, repr=False)
class OutageOptions:
    """Options for maintenance, failures and advance reservations.

    Attributes
    ----------
    outages
        File of outages.
    failure_mtbf
        Mean time between failures of a node [s], or ``node-mtbf``.
    repair, repair_variation
        As ``repair`` [s] and ``variation`` of :class:`holdfast.workloads.outages.failures.FailureRate`.
    """

    outages: Annotated[
        str | None,
        Values("FILE", _file),
        Parameter("CSV file of maintenance, failures and advance reservations", default=_NONE, group=_GROUP),
    ] = None
    failure_mtbf: Annotated[
        float | str | None,
        Values("TIME", _mtbf, unit="s"),
        Parameter(
            f"mean time between failures of a node [s], or '{_AS_ASSUMED}' for that of --node-mtbf",
            default=_NONE,
            group=_GROUP,
        ),
    ] = None
    repair: Annotated[
        SecondsAbove0 | None, Parameter("mean time to repair a failed node", default="=4h", group=_GROUP)
    ] = None
    repair_variation: Annotated[
        NonNegative | None,
        Parameter(
            "standard deviation of the lognormal repair time over its mean", default="=0: all alike", group=_GROUP
        ),
    ] = None


def load_outages(
    options: OutageOptions,
    nodes: int,
    clock: LogClock,
    *,
    seed: int,
    node_mtbf: float,
    output: str | None,
    machine: Machine | None = None,
) -> AskedOutages:
    """Read and check the outages of the options.

    Parameters
    ----------
    options
        The options.
    nodes
        Size of the machine.
    clock
        Clock of the log, for dates.
    seed
        Seed of the failures.
    node_mtbf
        Mean time between failures of a node that Daly's interval assumes [s].
    output
        Directory of the results; None: there is none.
    machine
        A machine with partitions; None: one pool.

    Raises
    ------
    InputError
        If a file or a value is not usable.
    """
    if options.failure_mtbf is None:
        for name in ("repair", "repair_variation"):
            if getattr(options, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} needs --failure-mtbf")
    if options.outages is None and options.failure_mtbf is None:
        return AskedOutages()
    from holdfast.workloads.ground.files import file_sha256
    from holdfast.workloads.outages.failures import FailureRate
    from holdfast.workloads.outages.file import read_outages

    outages: Sequence[Outage] = ()
    configuration: dict[str, Any] = {}
    if options.outages is not None:
        outages = read_outages(options.outages, nodes=nodes, seed=seed, clock=clock, machine=machine)
        configuration["outages"] = {"path": options.outages, "sha256": file_sha256(options.outages)}
    failures = None
    if options.failure_mtbf is not None:
        given = {"repair": options.repair, "variation": options.repair_variation}
        failures = FailureRate(
            mtbf=node_mtbf if isinstance(options.failure_mtbf, str) else options.failure_mtbf,
            seed=seed,
            **{name: value for name, value in given.items() if value is not None},
        )
        configuration["failures"] = asdict(failures)
        target = None if output is None else (Path(output) / OUTAGE_FILE).resolve()
        if options.outages is not None and target == Path(options.outages).resolve():
            raise InputError(f"--outages {options.outages} would be overwritten by the failures of --failure-mtbf")
    return AskedOutages(outages, failures, configuration)


def unused_outages_warning(outages: Sequence[Outage], results: Sequence[Recording], clock: LogClock) -> str:
    """Warning about given outages outside the simulated time; empty if there are none."""
    from holdfast.workloads.ground.units import SECOND, to_ticks

    if not outages:
        return ""
    first = min(result.origin if result.begin is None else result.begin for result in results)
    # Without ends, use a number below all of them.
    last = max(first, *(int(result.records.column("end").max(initial=first)) for result in results))
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
        zone = f" {clock.zone}"  # named once
        span = f"{begin.removesuffix(zone)} to {end}"
        own = f"{since.removesuffix(zone)} to {until.removesuffix(zone)}"
    span = f"the simulated time, {span}"
    first_of = f"outage {apart[0]} ({one.kind}, {own})"
    if len(apart) == 1:
        return f"{first_of} lies outside {span}"
    return f"{len(apart):,} of {len(outages):,} outages lie outside {span}; the first is {first_of}"


def save_outages(
    results: Sequence[Recording], new: Path, directory: Path, source: str | None, name: str = OUTAGE_FILE
) -> None:
    """Write the outages of a run, so that it can be repeated.

    Parameters
    ----------
    results
        Results under the same outages; the longest simulation has drawn the most failures.
    new, directory
        Directory to write to, and the directory it will replace.
    source
        File of the given outages; it is not overwritten.
    name
        File to write.
    """
    from holdfast.workloads.outages.file import write_outages

    if source is None or (directory / name).resolve() != Path(source).resolve():
        write_outages(max(results, key=lambda result: len(result.outages)).outages, new / name)
