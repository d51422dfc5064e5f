"""Every altered digit of a plan or of fitted costs is noticed where the file is read."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.planning.cost_file import read_costs
from holdfast.experiments.planning.plan_inputs import read_plans
from holdfast.workloads.ground.errors import InputError
from tests.fuzz import seeds

READERS: dict[str, Callable[[Path], Any]] = {"plan": lambda path: read_plans({"p": path}, "run"), "costs": read_costs}


@pytest.mark.parametrize("kind", READERS)
def test_every_altered_digit_is_noticed(kind: str, tmp_path: Path) -> None:
    whole = seeds.files_of(kind)[f"{kind}.json"]
    path = tmp_path / f"{kind}.json"
    path.write_bytes(whole)
    READERS[kind](path)
    rng = random.Random(kind)
    digits = [place for place, byte in enumerate(whole) if chr(byte).isdigit()]
    for _ in range(100):
        place = rng.choice(digits)
        other = rng.choice([digit for digit in b"0123456789" if digit != whole[place]])
        path.write_bytes(whole[:place] + bytes([other]) + whole[place + 1 :])
        with pytest.raises(InputError, match=rf"{kind}\.json"):
            READERS[kind](path)
