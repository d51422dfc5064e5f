"""A few mutated inputs for each reader, through the command line; ``python -m tests.fuzz`` searches for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.cases import READERS, case
from tests.fuzz.judging import judge, limited_memory

#: Of the readers that take long, a search on demand has some.
_QUICK = {
    "swf": 100,
    "alea": 40,
    "alcf": 130,
    "sacct": 130,
    "queue": 40,
    "job-table": 80,
    "parquet": 30,
    "outages": 60,
    "costs": 110,
    "plan": 110,
    "runs": 110,
    "site": 150,
    "options": 110,
    "results": 60,
    "sweep": 50,
    "archive": 40,
    "verify": 40,
}


@pytest.mark.system
@pytest.mark.parametrize("reader", _QUICK)
def test_mutated_inputs_are_read_or_refused_in_a_sentence(reader: str, tmp_path: Path) -> None:
    with limited_memory():
        found = {index: judge(case(reader, 0, index), tmp_path) for index in range(_QUICK[reader])}
    assert {index: judgement.finding for index, judgement in found.items() if judgement.finding} == {}
    # A fuzzer whose every input is refused, or none, would try nothing.
    assert {judgement.status for judgement in found.values()} >= {0, 2}


def test_a_case_is_the_same_for_the_same_seed() -> None:
    for reader in ("swf", "plan", "options"):
        assert case(reader, 3, 7) == case(reader, 3, 7)
        assert case(reader, 3, 7) != case(reader, 4, 7)
    assert sum(share for share, _ in READERS.values()) > 100
