"""The expected cost of a reproduction, from earlier measurements of the same experiments.

``python -m holdfast.experiments.study.expected_cost [--quick DIR ...]`` writes the costs that the package has: at full
size those of the stored answers in ``docs/experiments``; at small sizes the former ones, and those in each DIR, which
``holdfast reproduce --quick`` has written. A test compares the stored costs with the answers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.experiments.study.cost_log import process_seconds, read_costs, took
from holdfast.experiments.study.experiment import Experiment
from holdfast.experiments.study.parameters import data_files
from holdfast.experiments.terminal import complain
from holdfast.workloads.ground.errors import InputError, format_value
from holdfast.workloads.ground.files import atomic_open

__all__ = ["Costs", "expected_cost", "experiment_size", "full_costs", "stored_costs"]

_STORE = Path(__file__).with_name("expected_costs.json")
#: Process-seconds that it takes to judge and draw an experiment. All 77 at small sizes took 840 process-seconds, of
#: which they measured for 527.
_PRESENTATION = 4.0

#: Process-seconds by size (``full``, ``quick``) and experiment.
Costs = Mapping[str, Mapping[str, float]]


def stored_costs() -> Costs:
    """The costs that the package has."""
    found: Costs = json.loads(_STORE.read_text(encoding="ascii"))
    return found


def experiment_size(experiment: Experiment, parameters: Any) -> str | None:
    """Which stored cost belongs to the parameters of an experiment: ``full``, ``quick`` or None.

    Data files do not count: measured and generated data take about as long.
    """
    generated = replace(parameters, **dict.fromkeys(data_files(parameters), ""))
    sizes = {"full": experiment.parameters, "quick": experiment.quick}
    return next((name for name, own in sizes.items() if own == generated), None)


def expected_cost(sizes: Mapping[str, str | None], workers: int, costs: Costs) -> str:
    """A sentence on how long experiments will take.

    Parameters
    ----------
    sizes
        Size of each experiment, as :func:`experiment_size` returns it.
    workers
        Number of processes that share the work.
    costs
        Process-seconds by size and experiment.
    """
    known = {name: costs[size][name] for name, size in sizes.items() if size is not None and name in costs[size]}
    unknown = len(sizes) - len(known)
    if not known:
        return "expected cost: unknown, none of these was measured before at these sizes"
    longest = max(known, key=lambda name: known[name])
    whole = sum(known.values()) + _PRESENTATION * len(known)
    parts = [f"expected cost: about {took(whole / workers)}"]
    if workers > 1:
        parts.append(f" with {workers} processes that are always busy")
    if len(known) > 1:
        parts.append(f"; most of it for {longest}, {took(known[longest])} of one process")
    if unknown:
        parts.append(f"; that of {unknown} more is unknown")
    return "".join(parts)


def full_costs(docs: Path) -> dict[str, float]:
    """Process-seconds of the stored answers (``2026-11-23, 8 min 34 s with 2 processes``), by experiment."""
    found = {}
    for path in sorted(docs.glob("*.json")):
        for name, answer in json.loads(path.read_text(encoding="utf-8")).items():
            seconds = process_seconds(answer["cost"])
            if seconds is not None:
                found[name] = round(seconds, 1)
    return found


def main(words: Sequence[str]) -> None:
    """Write the costs that the package has.

    Raises
    ------
    InputError
        If the words are not ``--quick DIR ...``, or a directory has no costs.
    """
    quick = dict(stored_costs()["quick"]) if _STORE.exists() else {}
    for directory in _quick_directories(words):
        costs = read_costs(directory)
        if not costs:
            raise InputError(f"{directory}: must have been written by 'holdfast reproduce --quick'")
        quick |= {name: cost.seconds * cost.workers for name, cost in costs.items()}
    with atomic_open(_STORE) as file:
        json.dump({"full": full_costs(Path("docs/experiments")), "quick": quick}, file, indent=1, sort_keys=True)
        file.write("\n")


def _quick_directories(words: Sequence[str]) -> list[Path]:
    """The directories of small sizes that the command names."""
    if not words:
        return []
    option, *directories = words
    if option != "--quick" or not directories or any(word.startswith("-") for word in directories):
        raise InputError(f"the arguments must be none or '--quick DIR ...', not {format_value(' '.join(words))}")
    return list(map(Path, directories))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        complain("expected_cost", "error", str(error))
        sys.exit(2)
