"""Mutation testing: single operators, numbers and conditions of a module are altered; how many does a test find?

``python -m tests.mutation [--sample COUNT] [MODULE ...]`` takes all mutants of all modules of :data:`TESTS`, or the
same random sample of COUNT of each module at every run. It needs ``pip install cosmic-ray``, and works on a copy of the
checkout. A mutant that survives is either equivalent to the module, or shows what no test looks at: it is printed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.places import PACKAGES, ROOT
from tests.test_architecture import name_of

__all__ = ["TESTS", "count_mutants"]

#: Modules that decide, with the tests that shall notice a change, besides the examples in their docstrings.
TESTS: Mapping[str, Sequence[str]] = {
    "policies/knapsack.py": ["tests/policies/test_knapsack.py"],
    "policies/backfilling.py": ["tests/policies/test_backfilling.py"],
    "policies/shadow_time.py": ["tests/policies/test_backfilling.py", "tests/policies/test_policies.py"],
    "policies/arrival.py": ["tests/policies/test_arrival.py", "tests/policies/test_policies.py"],
    "policies/expansion.py": ["tests/policies/test_expansion.py"],
    "policies/node_limits.py": ["tests/policies/test_node_limits.py"],
    "policies/planning/kernel.py": ["tests/policies/planning/test_planner.py"],
    "policies/planning/costs.py": ["tests/policies/planning/test_planner.py"],
    "policies/planning/optimal.py": ["tests/policies/planning/test_planner.py"],
    "policies/planning/sequence.py": ["tests/policies/planning/test_planner.py"],
    "policies/planning/heuristics.py": ["tests/policies/planning/test_planner.py"],
    "policies/planning/periodic.py": ["tests/policies/planning/test_planner.py"],
    "policies/planning/grid_refinement.py": ["tests/policies/planning/test_planner.py"],
    "experiments/study/rules.py": [
        "tests/experiments/study/test_verdicts.py",
        "tests/experiments/study/test_equivalence.py",
    ],
    "experiments/study/verdicts.py": ["tests/experiments/study/test_verdicts.py"],
    "experiments/study/equivalence.py": ["tests/experiments/study/test_equivalence.py"],
    "experiments/statistics.py": [
        "tests/experiments/test_statistics.py",
        "tests/experiments/study/test_verdicts.py",
        "tests/experiments/study/test_equivalence.py",
    ],
    "experiments/forecast/wait_quantiles.py": ["tests/experiments/forecast/test_wait_quantiles.py"],
    "experiments/forecast/linear_pool.py": ["tests/experiments/forecast/test_linear_pool.py"],
    "experiments/forecast/interval_calibration.py": ["tests/experiments/forecast/test_interval_calibration.py"],
    "experiments/forecast/median_errors.py": ["tests/experiments/forecast/test_median_errors.py"],
    "experiments/forecast/correction.py": ["tests/experiments/forecast/test_correction.py"],
}
#: Annotations are texts here, so that ``int | None`` with another operator is the same module.
_EQUIVALENT = ["core/ReplaceBinaryOperator_BitOr.*", "core/RemoveDecorator"]
#: The first example that fails is enough: two mutants of costs.py are killed in 5.4 and 6.7 s of processor time, and in
#: 18.7 and 10.9 s if smaller examples are searched for.
_OPTIONS = "-x -q -p no:cacheprovider --hypothesis-profile=first"
_COPIED = ("holdfast", *PACKAGES, "tests", "docs", "pyproject.toml")
_CONFIGURATION = """[cosmic-ray]
module-path = {module}
timeout = 60.0
excluded-modules = []
test-command = {command}

[cosmic-ray.distributor]
name = "local"

[cosmic-ray.filters.operators-filter]
exclude-operators = {excluded}
"""


def count_mutants(results: Sequence[Sequence[Any]]) -> tuple[int, int, list[str]]:
    """Killed mutants, all that ran, and the differences of those that survived, of the lines of ``cosmic-ray dump``."""
    ran = [result for _, result in results if result is not None and result["worker_outcome"] == "normal"]
    survived = [result["diff"] for result in ran if result["test_outcome"] == "survived"]
    return len(ran) - len(survived), len(ran), survived


def _run(words: Sequence[str], directory: Path) -> str:
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _keep_sample(session: Path, count: int) -> None:
    """Mark all mutants but a random sample as skipped."""
    from cosmic_ray.work_db import use_db  # type: ignore[import-not-found]
    from cosmic_ray.work_item import WorkerOutcome, WorkResult  # type: ignore[import-not-found]

    with use_db(str(session)) as database:
        waiting = [item.job_id for item in database.pending_work_items]
        # Identifiers are random: the order is that of the source.
        order = {item.job_id: place for place, item in enumerate(database.work_items)}
        waiting.sort(key=order.__getitem__)
        kept = set(np.random.default_rng(0).permutation(len(waiting))[:count].tolist())
        for place, job in enumerate(waiting):
            if place not in kept:
                database.set_result(job, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))


def mutate_module(module: str, copy: Path, sample: int | None = None) -> tuple[int, int, list[str]]:
    """Test the mutants of a module in a copy of the checkout, or a random sample of so many."""
    examples = f"tests/test_docs.py::test_docstring_examples[{name_of(ROOT / module)}]"
    command = f"{sys.executable} -m pytest {_OPTIONS} {examples} {' '.join(TESTS[module])}"
    text = _CONFIGURATION.format(
        module=json.dumps(module), command=json.dumps(command), excluded=json.dumps(_EQUIVALENT)
    )
    (copy / "mutation.toml").write_text(text)
    program = [sys.executable, "-m", "cosmic_ray.cli"]
    (copy / "mutation.sqlite").unlink(missing_ok=True)
    _run([*program, "init", "mutation.toml", "mutation.sqlite"], copy)
    _run([sys.executable, "-m", "cosmic_ray.tools.filters.operators_filter", "mutation.sqlite", "mutation.toml"], copy)
    if sample is not None:
        _keep_sample(copy / "mutation.sqlite", sample)
    _run([*program, "baseline", "mutation.toml"], copy)
    _run([*program, "exec", "mutation.toml", "mutation.sqlite"], copy)
    lines = _run([*program, "dump", "mutation.sqlite"], copy).splitlines()
    return count_mutants([json.loads(line) for line in lines])


def main(words: Sequence[str]) -> None:
    """Test the named modules, or all."""
    sample = None
    if words and words[0] == "--sample":
        sample, words = int(words[1]), words[2:]
    unknown = [word for word in words if word not in TESTS]
    if unknown:
        raise SystemExit(f"a module must be one of {', '.join(TESTS)}, not {', '.join(unknown)}")
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy)
        for module in words or TESTS:
            killed, ran, survived = mutate_module(module, copy, sample)
            print(f"{module}: {killed} of {ran} mutants killed", flush=True)
            for difference in survived:
                print(difference, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
