"""A command that fails before its first file leaves no directory behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments.output.output_directory import output_directory
from holdfast.workloads.ground.errors import InputError


def test_directories_that_were_made_go_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError), output_directory(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
        raise InputError("refused")
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_or_holds_a_file_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError), output_directory(tmp_path / "mine" / "new"):
        raise InputError("refused")
    assert list(tmp_path.iterdir()) == [tmp_path / "mine"]
    with pytest.raises(InputError), output_directory(tmp_path / "mine" / "new") as directory:
        (directory / "part.csv").touch()
        raise InputError("refused")
    assert [path.name for path in (tmp_path / "mine" / "new").iterdir()] == ["part.csv"]
    with output_directory(tmp_path / "empty"):
        pass
    assert (tmp_path / "empty").is_dir()
