"""Lists of values: options of ``run`` that take several, and the runs that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

from experiments.output.filenames import check_distinct
from experiments.recordings.replay import parse_mechanisms
from experiments.recordings.variants import in_label_order, label_of
from policies.mechanism import BASELINE
from workloads.ground.errors import InputError, ParameterError

__all__ = ["LISTED", "Variation", "variations"]

#: Runs that one command may ask for: all of them are in memory until the last has ended.
_MOST = 200
#: Options that decide nothing about the jobs, only how the machine is operated and which nodes it has.
_OF_THE_MACHINE = frozenset(
    {"order", "backfilling", "backfill_length", "passes", "engine", "nodes", "outages", "failure_mtbf", "repair"}
)

#: Options of which a list may have the word none, for a run without it.
_ABSENT = ("outages", "failure_mtbf")


def _words(text: str, option: str) -> list[str]:
    words = list(dict.fromkeys(word.strip() for word in text.split(",")))
    if not all(words):
        raise ParameterError(option, "a value, or several separated by commas", text)
    return words


def _files(text: str, option: str) -> list[str]:
    return [text] if Path(text).exists() else _words(text, option)


def _groups(text: str, option: str) -> list[str]:
    """Values that are several numbers each, separated by slashes."""
    words = list(dict.fromkeys(word.strip() for word in text.split("/")))
    if not all(words):
        raise ParameterError(option, "a value, or several separated by slashes", text)
    return words


def _mixes(text: str, option: str) -> list[str]:
    """Mixes by name; or the shares of mixes, separated by slashes."""
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
    if int(end) - int(first) > _MOST:
        raise ParameterError(option, f"at most {_MOST} seeds", text)
    return [str(seed) for seed in range(int(first), int(end))]


#: Options that take several values, by the name of their argument, and what splits their text.
LISTED: Mapping[str, Callable[[str, str], list[str]]] = {
    **dict.fromkeys(
        (
            *("order", "backfilling", "backfill_length", "passes", "tenants", "expansion", "warning", "timeout"),
            *("malleable_start", "malleable_resume", "malleable_head", "arrival_takes"),
            *("shrunk_lenders", "preempted_lenders", "walltimes"),
            *("nodes", "group_by", "overheads", "node_mtbf", "checkpoint_factor", "extra_dumps", "no_show_share"),
            *(
                "stochastic_share",
                "lateness",
                "largest_on_demand",
                "min_share",
                "plan",
                "fit",
                "known_runs",
                "checkpoint_variation",
                "checkpoint_mode",
            ),
            *("failure_mtbf", "repair", "engine"),
        ),
        _words,
    ),
    **dict.fromkeys(("shares", "notice_lead", "rigid_setup", "malleable_setup"), _groups),
    "notice_mix": _mixes,
    "outages": _files,
    "seed": _seeds,
}


@dataclass(frozen=True)
class Variation:
    """One run that the command line asks for.

    Attributes
    ----------
    values
        Options that have several values, and those of this run; empty where at most the mechanism has several.
    mechanism
        Its mechanism.
    arguments
        The arguments with one value for each option.
    """

    values: Mapping[str, str]
    mechanism: str
    arguments: argparse.Namespace

    @property
    def label(self) -> str:
        """What sets it apart; empty: its mechanism alone."""
        return label_of(self.values)

    def part(self, *without: str) -> tuple[tuple[str, str], ...]:
        """Its values but those of some options: equal for runs that share what these options do not decide."""
        return tuple((name, value) for name, value in self.values.items() if name not in ("mechanism", *without))


def variations(arguments: argparse.Namespace) -> list[Variation]:
    """The runs that the arguments ask for, one for each combination of values, the seeds innermost.

    Raises
    ------
    InputError
        If a list is not legal, there are too many runs, or two would write to the same files.
    """
    lists = {}
    for name, split in LISTED.items():
        text = getattr(arguments, name, None)
        if text is not None:
            values = split(text, f"--{name.replace('_', '-')}")
            if len(values) > 1:
                lists[name] = values
    asked = arguments.mechanism
    if asked is None:
        asked = BASELINE if lists and _OF_THE_MACHINE.issuperset(lists) else "all"
    mechanisms = parse_mechanisms(asked)
    axes = {**lists, "mechanism": mechanisms}
    number = prod(map(len, axes.values()))
    if number > _MOST:
        raise InputError(f"these options ask for {number:,} runs, at most {_MOST} are possible: use 'holdfast sweep'")
    found = []
    names = in_label_order(axes)
    for combination in product(*(axes[name] for name in names)):
        chosen = dict(zip(names, combination, strict=True))
        own = {**vars(arguments), **chosen}
        own |= {name: None for name in _ABSENT if own.get(name) == "none"}
        apart = {name: value for name, value in chosen.items() if len(axes[name]) > 1} if lists else {}
        found.append(Variation(apart, chosen["mechanism"], argparse.Namespace(**own)))
    if lists:
        check_distinct(variation.label for variation in found)
    return found
