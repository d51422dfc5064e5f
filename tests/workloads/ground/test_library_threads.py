"""One thread for each numerical library."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from holdfast.workloads.ground.library_threads import thread_limits

#: A command in a new process, then a sum that OpenBLAS rounds differently with more threads.
_COMMAND = """
import json, os, sys
from holdfast import main
sys.argv = ["holdfast", "policies"]
main()
assert "numpy" in sys.modules
import numpy as np
first, second = np.random.default_rng(0).normal(size=(2, 3_000_000))
print(json.dumps([first @ second, {name: value for name, value in os.environ.items() if "THREADS" in name}]))
"""


def _sum_after_command(**variables: str) -> tuple[float, dict[str, str]]:
    environment = {name: value for name, value in os.environ.items() if "THREADS" not in name}
    run = subprocess.run(
        [sys.executable, "-c", _COMMAND], env={**environment, **variables}, check=True, text=True, capture_output=True
    )
    total, limits = json.loads(run.stdout.splitlines()[-1])
    return total, limits


def test_a_command_gives_each_library_one_thread_unless_the_user_sets_it() -> None:
    total, limits = _sum_after_command()
    assert limits == dict.fromkeys(limits, "1")
    assert limits.keys() >= {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}
    assert _sum_after_command(**limits) == (total, limits)
    assert _sum_after_command(NUMEXPR_NUM_THREADS="2")[1] == {**limits, "NUMEXPR_NUM_THREADS": "2"}


def test_workers_keep_what_the_user_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    limits = thread_limits()
    assert (limits["MKL_NUM_THREADS"], limits["OPENBLAS_NUM_THREADS"]) == ("3", "1")
