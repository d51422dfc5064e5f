"""Files of mechanisms whose names are no file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments.output.filenames import check_distinct, file_part, table_name
from holdfast.experiments.recordings.replay import parse_mechanisms
from holdfast.policies.mechanism import MECHANISMS
from holdfast.workloads.ground.errors import InputError


def test_built_in_names_stay_as_they_are() -> None:
    assert [file_part(item.name) for item in MECHANISMS] == [item.name for item in MECHANISMS]
    assert table_name("jobs", "baseline") == "jobs-baseline.csv"


def test_colons_blanks_and_slashes_are_underscores() -> None:
    assert file_part("CUA-a.b:C x=1 y=../z") == "CUA-a.b_C_x=1_y=.._z"


def test_two_mechanisms_never_share_a_file() -> None:
    check_distinct(["CUA-PAA", "CUA-SPAA", "CUA-PAA"])
    with pytest.raises(InputError, match="CUA-a:B and CUA-a_B would write to the same files"):
        check_distinct(["CUA-a:B", "CUA-a_B"])


def test_a_list_may_have_plugins_with_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_arrivals.py").write_text(
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Last:\n    least: int = 0\n"
        "    def room(self, view, request): return 0\n    def make_room(self, view, request, missing): return []\n"
    )
    monkeypatch.chdir(tmp_path)
    names = parse_mechanisms("baseline, cua-my_arrivals:Last least=-2,N-my_arrivals:Last")
    assert names == ["baseline", "CUA-my_arrivals:Last least=-2", "N-my_arrivals:Last"]
    assert parse_mechanisms(",".join(names)) == names
