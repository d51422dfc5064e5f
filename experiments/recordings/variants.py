"""Variants of a result: its runs, and the options in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.experiments.recordings.run_file import RUN, chosen_mechanism
from holdfast.workloads.ground.errors import InputError, TraceError

if TYPE_CHECKING:
    from holdfast.simulator.results.recording import Recording

__all__ = ["RUNS", "Variant", "chosen_variant", "distinct_names", "in_label_order", "make_label", "run_names"]

#: Key of ``run.json``: one entry for each run, if an option other than the mechanism had several values.
RUNS = "runs"
#: Options that come first in a label, with values that need no name.
_PLAIN = ("order", "backfilling", "mechanism", "notice_mix", "placement")
#: Largest number of labels in a message.
_SHOWN = 12
_SEPARATOR = " / "


@dataclass(frozen=True)
class Variant:
    """One run of a result.

    Attributes
    ----------
    label
        The values in which it differs from other runs, or its mechanism; used in the names of its files.
    mechanism
        ``baseline`` or e.g. ``CUA-SPAA``.
    varied
        Whether runs differ in an option other than the mechanism.
    content
    Content of ``run.json`` as if this were the only run.
    """

    label: str
    mechanism: str
    varied: bool
    content: dict[str, Any]


def in_label_order(names: Mapping[str, Any]) -> list[str]:
    """Sort options for a label: order, backfilling and mechanism first, the seed last.

    >>> in_label_order({"seed": "1", "nodes": "8", "mechanism": "baseline", "order": "sjf"})
    ['order', 'mechanism', 'nodes', 'seed']
    """
    first = [name for name in _PLAIN if name in names]
    last = [name for name in ("seed",) if name in names]
    return [*first, *(name for name in names if name not in (*first, *last)), *last]


def make_label(values: Mapping[str, Any]) -> str:
    """Make the label of a run from the options in which it differs.

    >>> make_label({"mechanism": "CUP-SPAA", "order": "fcfs", "backfilling": "conservative"})
    'fcfs / conservative / CUP-SPAA'
    >>> make_label({"nodes": 120, "seed": 3, "outages": "logs/week.csv"})
    '120 nodes / outages week / seed 3'
    """
    return _SEPARATOR.join(_words(name, str(values[name])) for name in in_label_order(values))


def distinct_names(results: Sequence[Recording]) -> list[str]:
    """Names of results: their labels or mechanisms, or, where two of these agree, the values in which they differ.

    Results that differ in no option keep equal names.
    """
    names = [result.name for result in results]
    if len(set(names)) == len(names):
        return names
    values = [
        {
            "mechanism": result.mechanism,
            "nodes": result.nodes,
            **{item.name: getattr(result.options, item.name) for item in fields(result.options)},
        }
        for result in results
    ]
    varied = [name for name in values[0] if len({str(row[name]) for row in values}) > 1]
    labels = [make_label({name: row[name] for name in varied}) for row in values]
    return labels if len(set(labels)) == len(labels) else names


def _words(name: str, value: str) -> str:
    if name in _PLAIN:
        return value
    if name == "nodes":
        return f"{value} nodes"
    if name == "machine":
        return f"machine {Path(value).stem}"
    if name == "outages":
        return "no outages" if value == "none" else f"outages {Path(value).stem}"
    return f"{name.replace('_', ' ')} {value}"


def chosen_variant(directory: Path, content: Mapping[str, Any], wanted: str | None) -> Variant:
    """Select a run of a result.

    Parameters
    ----------
    directory, content
    The result, and the content of its ``run.json``.
    wanted
        A label or some of its values, separated by commas or slashes, or a mechanism; None: the only run.

    Raises
    ------
    InputError
        If there are several and none is named, or not exactly one fits.
    """
    if RUNS not in content:
        name = chosen_mechanism(directory, content, wanted)
        return Variant(name, name, False, dict(content))
    runs = _runs(directory, content)
    labels = [run["label"] for run in runs]
    found = [run for run in runs if wanted is None or run["label"] == wanted]
    if not found:
        words = _parts(str(wanted))
        found = [run for run in runs if words and words <= _parts(run["label"])]
    if len(found) != 1:
        problem = f"{wanted!r} is not one of them" if not found else "choose one with --run"
        if found and wanted is not None:
            problem = f"{len(found)} of them fit {wanted!r}: name one of them"
        listed = ", ".join(map(repr, labels[:_SHOWN])) + (
            f" and {len(labels) - _SHOWN} others" if len(labels) > _SHOWN else ""
        )
        raise InputError(f"{directory}: holds the runs {listed}: {problem}")
    (run,) = found
    own = {key: value for key, value in run.items() if key not in ("label", "mechanism", "values")}
    rest = {key: value for key, value in content.items() if key != RUNS}
    return Variant(run["label"], run["mechanism"], True, {**rest, **own, "mechanisms": [run["mechanism"]]})


def run_names(content: Mapping[str, Any]) -> list[str]:
    """Names of the runs of a result: their labels, or their mechanisms."""
    if RUNS in content and isinstance(content[RUNS], list):
        return [str(run.get("label")) for run in content[RUNS] if isinstance(run, dict)]
    return [str(name) for name in content["mechanisms"]]


def _parts(label: str) -> set[str]:
    """The values of a label, with normalised spelling."""
    return {part.strip().lower().replace("&", "-") for part in label.replace("/", ",").split(",") if part.strip()}


def _runs(directory: Path, content: Mapping[str, Any]) -> list[dict[str, Any]]:
    runs = content[RUNS]
    usable = isinstance(runs, list) and all(
        isinstance(run, dict) and all(isinstance(run.get(key), str) for key in ("label", "mechanism")) for run in runs
    )
    if not usable or not runs:
        raise TraceError(directory / RUN, None, "must name label and mechanism of each run")
    return list(runs)
