"""Options of ``holdfast run``, with those that take several values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, get_origin

from holdfast.experiments.commands.options.aggregate_options import AGAINST, METRICS, Metrics
from holdfast.experiments.commands.options.arguments import json_file
from holdfast.experiments.commands.options.machine_options import MachineOptions
from holdfast.experiments.commands.options.outage_options import AskedOutages, OutageOptions, load_outages
from holdfast.experiments.commands.options.simulation_options import Simulation, SimulationOptions
from holdfast.experiments.recordings.measurement import MEASURING, Measurement
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.parameters import Parameter, declared_parameters
from holdfast.workloads.hybrid.type_mix import Assignment

__all__ = ["LISTED", "MOST", "RunOptions"]

#: Largest number of runs per command: all results stay in memory until the last run has ended.
MOST = 200
_COMPARING = "comparing values, as in --order fcfs,sjf --nodes 100,120 --seed 0:10"


def _words(text: str, option: str) -> list[str]:
    return _different([word.strip() for word in text.split(",")], option, "commas", text)


def _different(words: list[str], option: str, mark: str, text: str) -> list[str]:
    """The words, which must be different: a repeated value would look like a comparison, and is perhaps a slip."""
    if not all(words):
        raise ParameterError(option, f"a value, or several separated by {mark}", text)
    if len(set(words)) < len(words):
        raise ParameterError(option, f"different values separated by {mark}", text)
    return words


def _files(text: str, option: str) -> list[str]:
    return [text] if Path(text).exists() else _words(text, option)


def _groups(text: str, option: str) -> list[str]:
    """Split values that consist of several numbers each, separated by slashes."""
    return _different([word.strip() for word in text.split("/")], option, "slashes", text)


def _mixes(text: str, option: str) -> list[str]:
    """Split mixes by name, or the shares of mixes separated by slashes."""
    named = [word for word in text.split(",") if word.strip()[:1].isalpha()]
    return _groups(text, option) if "/" in text or not named else _words(text, option)


def _seeds(text: str, option: str) -> list[str]:
    first, colon, end = text.partition(":")
    if not colon:
        return _words(text, option)
    if not (
        text.isascii()
        and first.strip().isdecimal()
        and end.strip().isdecimal()
        and len(first + end) <= 36
        and int(first) < int(end)
    ):
        raise ParameterError(option, "whole numbers of at least 0 separated by commas, or a range such as 0:10", text)
    if int(end) - int(first) > MOST:
        raise ParameterError(option, f"at most {MOST} seeds", text)
    return [str(seed) for seed in range(int(first), int(end))]


#: Functions that split the words of options with several values, by the name of the field.
LISTED: Mapping[str, Callable[[str, str], list[str]]] = {
    **{
        item.name: _groups if get_origin(item.type) is tuple else _words
        for kind in (Options, Assignment)
        for item in declared_parameters(kind)
    },
    **dict.fromkeys(("nodes", "placement", "fit", "known_runs", "failure_mtbf", "repair"), _words),
    "machine": _files,
    "notice_mix": _mixes,
    "types": _groups,
    "outages": _files,
    "seed": _seeds,
}


@dataclass(kw_only=True, eq=False, repr=False)
class RunOptions:
    """Options of ``holdfast run``; lists of values are represented by their first value.

    Attributes
    ----------
    given
        The parsed words, including all values of lists.
    """

    output: Annotated[
        str | None, Parameter("directory of the results", default="nothing is stored", metavar="DIR", short="-o")
    ] = None
    force: Annotated[bool, Parameter("replace the results of an earlier run in DIR")] = False
    stream: Annotated[bool, Parameter("replay a long SWF log, and write its jobs as they end")] = False
    json: Annotated[str | None, json_file()] = None
    mechanism: Annotated[
        str | None,
        Parameter(
            "mechanisms, separated by commas: baseline, N-PAA, N-SPAA, CUA-PAA, CUA-SPAA, CUP-PAA, CUP-SPAA, or all "
            "of them",
            default="baseline, a log as recorded; all where a job table or other options ask for types",
        ),
    ] = None
    simulation: SimulationOptions
    machine: MachineOptions
    outages: OutageOptions
    against: Annotated[str | None, replace(AGAINST, group=_COMPARING)] = None
    metrics: Annotated[Metrics, replace(METRICS, group=_COMPARING)] = ()
    stream_format: Annotated[
        Literal["csv", "parquet"],
        Parameter("format of the jobs of a streamed replay: csv or parquet", group="details of streaming"),
    ] = "csv"
    measurement: Measurement
    events: Annotated[bool, Parameter("write event logs, for explain, export, gantt, picture", group=MEASURING)] = False
    plot: Annotated[bool, Parameter("draw the figures", group=MEASURING)] = False
    verbose: Annotated[bool, Parameter("print wall-clock times, too", group=MEASURING)] = False
    given: argparse.Namespace

    def outages_on(self, simulation: Simulation) -> AskedOutages:
        """Outages of a simulation with these options."""
        asked = self.simulation
        return load_outages(
            self.outages,
            simulation.nodes,
            simulation.clock,
            seed=asked.seed,
            node_mtbf=asked.assignment.node_mtbf,
            output=self.output,
            machine=None if simulation.on_machine is None else simulation.on_machine.machine,
        )
