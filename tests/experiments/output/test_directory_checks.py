"""A directory never holds the results of two commands, or of two runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.figures.recording.recording_figures import RECORDING_FIGURES, existing_pictures, figure_path
from holdfast.experiments.output.directory_checks import check_fresh, check_kind
from holdfast.experiments.output.manifest import incoming_directory, is_manifest, seal
from holdfast.workloads.ground.errors import InputError
from tests.places import GOLDEN


def make_result(directory: Path, manifest: str) -> Path:
    directory.mkdir(exist_ok=True)
    seal(directory, manifest, {})
    return directory


def test_results_of_different_commands_do_not_mix(tmp_path: Path) -> None:
    of_run, of_sweep, of_paper = (
        make_result(tmp_path / name, f"{name}.json") for name in ("run", "sweep", "checkpoint-fig3")
    )
    # What is no manifest is no result.
    for place in (of_run, of_sweep, of_paper):
        (place / "costs.json").write_text(json.dumps({"alpha": 1}))
        (place / "torn.json").write_bytes(b'{"digest": "')
    kinds = {"run.json": of_run, "sweep.json": of_sweep, "checkpoint-fig4.json": of_paper}
    for manifest, own in kinds.items():
        check_kind(own, manifest)
        check_kind(tmp_path, manifest)
        for other in set(kinds.values()) - {own}:
            with pytest.raises(InputError, match=r"holds the results of .* \(\S+\.json\); choose another directory"):
                check_kind(other, manifest)
            with pytest.raises(InputError, match="choose another directory"):
                check_fresh(other, manifest, force=True)
    assert is_manifest(of_run / "run.json")
    assert not is_manifest(of_run / "none.json")


def test_a_run_is_replaced_only_when_asked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a run; choose another directory, or replace them with --force"):
        check_fresh(make_result(tmp_path / "a", "run.json"), "run.json", force=False)
    check_fresh(tmp_path / "a", "run.json", force=True)
    # Also one that was complete, and not yet at its place.
    incoming_directory(tmp_path, "run.json").mkdir()
    with pytest.raises(InputError, match="the results of a run"):
        check_fresh(tmp_path, "run.json", force=False)


def test_a_replaced_run_leaves_nothing_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["run", str(GOLDEN / "small.csv"), "--nodes", "16", "-o", str(out), "--mechanism"]
    assert cli.main([*words, "baseline,N-PAA", "--events"]) == 0
    pictures = [figure_path(out, kind, "N-PAA").with_suffix(".png") for kind in RECORDING_FIGURES]
    for path in (*pictures, out / "mine.png"):
        path.touch()
    assert set(existing_pictures(out)) == set(pictures)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    capsys.readouterr()
    assert cli.main([*words, "baseline"]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith(f"holdfast run: error: {out}: already holds the results of a run; ")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert cli.main([*words, "baseline", "--force"]) == 0
    tables = {"accounting.csv", "jobs-baseline.csv", "summary.csv", "types.csv"}
    assert {path.name for path in out.iterdir()} == {*tables, "run.json", "mine.png"}
