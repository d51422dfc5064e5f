"""Results are those of the golden digests (``python -m tests.golden.digests`` says what differs, and renews them)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.golden.digests import DIGESTS, GROUPS, differences, group_digests, replay_digests
from tests.golden.replays import LARGE, SMALL, Replay


def _differences(replays: Sequence[Replay], groups: range) -> list[str]:
    known = json.loads(DIGESTS.read_text())
    now = {**replay_digests(replays), **group_digests(groups)}
    return differences({name: known.get(name, {}) for name in now}, now)


# In parts, so that workers share them; an eighth of the runs is for every save.
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.system) for part in range(1, 8))])
def test_runs_under_every_option_write_what_they_wrote(part: int) -> None:
    assert not _differences(SMALL[part::8], range(1 - min(part, 1)))


@pytest.mark.slow
def test_larger_runs_and_random_cases_write_what_they_wrote() -> None:
    assert not _differences(LARGE, range(1, GROUPS))


def test_every_digest_belongs_to_a_run() -> None:
    groups = [f"random cases {group}" for group in range(GROUPS)]
    assert list(json.loads(DIGESTS.read_text())) == [replay.name for replay in (*SMALL, *LARGE)] + groups


def test_a_difference_is_a_line() -> None:
    known = {"a": {"x.csv": "1", "y.csv": "2", "z.csv": "3"}, "b": {}}
    now = {"a": {"x.csv": "1", "y.csv": "9", "w.csv": "3"}, "c": {}}
    lines = ["a: y.csv: changed", "a: z.csv: missing", "a: w.csv: new", "b: no longer a run", "c: a new run"]
    assert differences(known, now) == lines
