"""Options of ``run`` that take lists of values, and the combinations of these values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from holdfast.experiments.commands.options.run_options import LISTED, MOST, RunOptions
from holdfast.experiments.option_parser import read_arguments
from holdfast.experiments.output.filenames import check_distinct
from holdfast.experiments.paper_readings import find_reading
from holdfast.experiments.recordings.replay import parse_mechanisms
from holdfast.experiments.recordings.variants import in_label_order, make_label
from holdfast.policies.mechanism import BASELINE
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.parameters import declared_parameters
from holdfast.workloads.hybrid.type_mix import Assignment

__all__ = ["Variation", "variations"]

#: Options that do not affect the jobs, only the machine and its operation.
_OF_THE_MACHINE = frozenset(
    {
        *("order", "backfilling", "backfill_length", "passes", "engine", "nodes", "machine", "placement"),
        *("outages", "failure_mtbf", "repair"),
    }
)
#: Options that draw types and notices, or that only a mechanism obeys: each of them asks for all mechanisms.
_OF_MECHANISMS = (
    *(item.name for item in declared_parameters(Assignment)),
    *("reading", "tenants", "malleable_start", "malleable_resume", "malleable_head", "arrival_takes"),
    *("shrunk_lenders", "preempted_lenders", "expansion", "warning", "timeout"),
)


@dataclass(frozen=True)
class Variation:
    """One run of the command line.

    Attributes
    ----------
    values
        Values of this run for options with several values; empty if only the mechanism varies.
    mechanism
        Its mechanism.
    arguments
        The options with one value each.
    """

    values: Mapping[str, str]
    mechanism: str
    arguments: RunOptions

    @property
    def label(self) -> str:
        """Its label; empty if only the mechanism varies."""
        return make_label(self.values)

    def part(self, *without: str) -> tuple[tuple[str, str], ...]:
        """Its values except those of some options; equal for runs that differ only in these."""
        return tuple((name, value) for name, value in self.values.items() if name not in ("mechanism", *without))


def variations(arguments: RunOptions, has_types: Callable[[], bool]) -> list[Variation]:
    """All runs of the arguments, one for each combination of values, with seeds innermost.

    Parameters
    ----------
    arguments
        The options.
    has_types
        Whether the input is a job table with types of jobs; asked only if the options leave the mechanisms open.

    Raises
    ------
    InputError
        If a list is not legal, there are too many runs, or two would write to the same files.
    """
    given = vars(arguments.given)
    lists = {name: {word.text: word for word in given[name]} for name in LISTED if given[name] and len(given[name]) > 1}
    asked = arguments.mechanism
    if asked is None:
        # A machine takes types only if they are recorded: it has partitions in which no mechanism acts.
        recorded = bool(arguments.simulation.assignment.types) or _names_types(arguments.simulation.reading.columns)
        alone = (arguments.machine.machine is not None and not recorded) or (
            lists and _OF_THE_MACHINE.issuperset(lists)
        )
        # A log is replayed as recorded: types and notices would be invented.
        typed = not alone and (recorded or any(given[name] is not None for name in _OF_MECHANISMS) or has_types())
        asked = "all" if typed else BASELINE
    reading = find_reading(arguments.simulation.paper.reading or "default")
    mechanisms = [reading.mechanism(name) for name in parse_mechanisms(asked)]
    axes: dict[str, list[str]] = {**{name: list(words) for name, words in lists.items()}, "mechanism": mechanisms}
    number = prod(map(len, axes.values()))
    if number > MOST:
        raise InputError(f"these options ask for {number:,} runs, at most {MOST} are possible: use 'holdfast sweep'")
    found = []
    names = in_label_order(axes)
    for combination in product(*(axes[name] for name in names)):
        chosen = dict(zip(names, combination, strict=True))
        own = {**given, **{name: (words[chosen[name]],) for name, words in lists.items()}}
        apart = {name: value for name, value in chosen.items() if len(axes[name]) > 1} if lists else {}
        found.append(Variation(apart, chosen["mechanism"], read_arguments(RunOptions, argparse.Namespace(**own))))
    if lists:
        check_distinct(variation.label for variation in found)
    return found


def _names_types(columns: str | None) -> bool:
    """Whether the columns of a table include one of types."""
    return any(part.partition("=")[0].strip().lower() == "type" for part in (columns or "").split(",") if "=" in part)
