"""Without outages everything is as it was before there were any."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from simulator import Result, simulate
from tests.reference.hybrid import MECHANISMS
from tests.stochastic_strategies import random_mix

#: Made by the last commit that knew no outages.
GOLDEN = Path(__file__).parent / "golden" / "outages-off.json"
TABLES = 40


def digest(results: list[Result]) -> str:
    """Of all that can be seen of these results, but for wall-clock times and what is newer."""
    seen = [
        (
            [(*record[:11],) for record in result.records],
            [(*entry,) for entry in result.entries],
            [(*sample,) for sample in result.samples],
            (*result.accounting[:7],),
            [(*loss,) for loss in result.losses],
            [(item.job_id, [(*reservation,) for reservation in item.reservations]) for item in result.stochastic],
        )
        for result in results
    ]
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def digest_of(mechanism: str) -> str:
    """Of that mechanism over random tables with stochastic jobs."""
    mixes = [random_mix(seed) for seed in range(TABLES)]
    return digest([simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans) for mix in mixes])


@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
def test_without_outages_nothing_changes(mechanism: str) -> None:
    assert digest_of(mechanism) == json.loads(GOLDEN.read_text())[mechanism]
