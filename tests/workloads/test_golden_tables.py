"""What readers, generators, assignments and writers make, to the byte: digests that change only on purpose."""

from __future__ import annotations

import json
import sys

import pytest

from tests.golden.tables import FILE, REAL, digest_of, made_cases, real_cases
from tests.shared_data import trace_file

GOLDEN = json.loads(FILE.read_text())
MADE = made_cases()


def is_quick(name: str) -> bool:
    """Whether a case runs by default: each assignment does so with one of two tables."""
    kind, _, number = name.rpartition(" ")
    if kind in ("assigned year", "assigned lively"):
        return (kind == "assigned year") == (int(number) % 2 == 0)
    return not name.startswith("mutated")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if is_quick(name) else pytest.mark.system) for name in MADE]
)
def test_made(name: str) -> None:
    if name == "mutated sacct-json" and sys.version_info >= (3, 13):
        pytest.skip("Python 3.13 names other places of broken JSON")
    if name == "mutated alcf" and sys.version_info >= (3, 14):
        pytest.skip("Python 3.14 reads 24:00 as a time")
    assert digest_of(MADE[name]) == GOLDEN[name]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if "BLUE" in name else pytest.mark.system) for name in REAL],
)
def test_real_logs(name: str) -> None:
    assert digest_of(real_cases(trace_file)[name]) == GOLDEN[name]


def test_all_cases_have_a_digest() -> None:
    assert {*MADE, *REAL} == set(GOLDEN)
