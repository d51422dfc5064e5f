"""Directories of somebody else: what they name does not run, nothing outside is touched, changes are told."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.output.manifest import open_result
from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.study.experiment import is_measured, read_tables
from holdfast.experiments.sweeps import make_sweep, run_sweep
from holdfast.workloads.ground.errors import InputError, OutputError
from tests.support.jobs import reseal

TABLE = (
    "job_id,type,submit,nodes,runtime,walltime\n1,rigid,0,2,600,900\n2,rigid,10,2,600,900\n3,rigid,20,1,60,90\n"
    "4,rigid,30,2,60,90\n"
)
SWEEP = {"workload": {"seeds": 0, "jobs": 40}, "mechanisms": "baseline,N-PAA"}
EVIL = "from pathlib import Path\nPath('it-ran').touch()\ndef key(job, now): return 0\nclass Reader: pass\n"


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result, a sweep and an experiment."""
    place = tmp_path_factory.mktemp("originals")
    (place / "table.csv").write_text(TABLE)
    words = ["run", str(place / "table.csv"), "-o", str(place / "run"), "--nodes", "2", "--events", "--plot"]
    assert cli.main([*words, "--mechanism", "baseline,N-PAA"]) == 0
    assert cli.main(["experiment", "checkpoint-fig3", "--quick", "-o", str(place / "experiment")]) == 0
    run_sweep(make_sweep(**SWEEP), place / "sweep", workers=1)
    return place


@pytest.fixture
def place(originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of them in the current directory, beside code and a file that is nobody's business."""
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "data.csv").write_text("precious\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def has_no_harm(place: Path) -> bool:
    files = [(path.name, path.read_text()) for path in (place / "victim").iterdir()]
    return files == [("data.csv", "precious\n")] and not (place / "it-ran").exists()


@pytest.mark.system
def test_results_are_read_without_the_code_that_they_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = json.loads((place / "run" / "run.json").read_text())["options"]
    names = {"order": "evil:key", "backfilling": "evil:key", "tenants": "evil:key", "expansion": "evil:key"}
    reseal(place / "run", options=options | names)
    chosen = ["--mechanism", "N-PAA"]
    for words in (
        ["plot", "run"],
        ["export", "run", "-o", "out.json", *chosen],
        ["export", "run", "-o", "out.swf", *chosen],
        ["picture", "use", "run", *chosen],
        ["explain", "run", "--worst", "2", *chosen],
        ["gantt", "run", "-o", "page.html", *chosen],
    ):
        assert cli.main(words) == 0, words
    assert read_recording(place / "run", "N-PAA").options.order == "evil:key"
    capsys.readouterr()
    assert cli.main(["explain", "run", "1", *chosen]) == 2
    assert "the order 'evil:key' is code that a file names" in capsys.readouterr().err
    assert has_no_harm(place)
    assert cli.main(["explain", "run", "1", *chosen, "--trust"]) == 0
    assert (place / "it-ran").exists()


@pytest.mark.system
def test_neither_a_reader_nor_a_list_of_runs_imports(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = {**json.loads((place / "run" / "run.json").read_text())["input"], "format": "evil:Reader"}
    reseal(place / "run", input=source, job_table=None)
    (place / "grid.toml").write_text("[workload]\nseeds = 0\njobs = 9\n[options]\norder = 'evil:key'\n")
    for words in (
        ["explain", "run", "--worst", "1", "--mechanism", "baseline"],
        ["fit-costs", "run", "--mechanism", "baseline"],
        ["sweep", "grid.toml", "-o", "sweep", "--dry-run"],
    ):
        capsys.readouterr()
        assert cli.main(words) == 2
        error = capsys.readouterr().err
        assert "evil:" in error
        assert "add --trust" in error
        assert len(error.splitlines()) == 1
    assert has_no_harm(place)


def test_links_are_not_followed_and_nothing_outside_is_touched(place: Path) -> None:
    victim = place / "victim" / "data.csv"
    # What is written takes the place of a link; a lock that is a link is refused.
    for path in (place / "run" / "summary.csv", place / "sweep" / "sweep.json", place / "sweep" / "summary.csv"):
        path.unlink()
        path.symlink_to(victim)
    for path in (place / "sweep" / "store").glob("*.jsonl"):
        path.unlink()
        path.symlink_to(victim)
    (place / "experiment" / "checkpoint-fig3.png").unlink()
    (place / "experiment" / "checkpoint-fig3.png").symlink_to(victim)
    for name in (".run.json.new", ".run.json.00000000.part"):
        (place / "run" / name).symlink_to(place / "victim")
    (place / "run" / "run.json").write_text(json.dumps({"files": {"../victim/data.csv": "0"}, "derived": []}))
    (place / "experiment" / "checkpoint-fig3.json").write_text(json.dumps({"tables": ["x/../../victim/data"]}))
    words = ["run", "table.csv", "-o", "run", "--nodes", "2", "--mechanism", "baseline", "--force"]
    assert cli.main(words) == 0
    assert cli.main(["experiment", "checkpoint-fig3", "--quick", "-o", "experiment"]) == 0
    assert run_sweep(make_sweep(**SWEEP), place / "sweep", workers=1).computed == 2
    assert has_no_harm(place)
    assert not [path for path in (place / "run").iterdir() if path.is_symlink()]
    (place / "run" / ".lock").symlink_to(victim)
    assert cli.main(words) == 2
    (place / "sweep" / "store" / ".lock").symlink_to(victim)
    with pytest.raises(OutputError, match="cannot be locked"):
        run_sweep(make_sweep(**SWEEP), place / "sweep", workers=1)
    shutil.rmtree(place / "sweep" / "store")
    (place / "sweep" / "store").symlink_to(place / "victim")
    with pytest.raises(OutputError, match="is a link"):
        run_sweep(make_sweep(**SWEEP), place / "sweep", workers=1)
    assert has_no_harm(place)


def test_a_manifest_names_plain_files_of_its_directory(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, victim = place / "run" / "types.csv", place / "victim" / "data.csv"
    kept = path.read_bytes()

    def refusal() -> str:
        capsys.readouterr()
        assert cli.main(["explain", "run", "--worst", "1", "--mechanism", "N-PAA"]) == 2
        error = capsys.readouterr().err
        assert len(error.splitlines()) == 1
        return error

    for make in (lambda: path.symlink_to(victim), lambda: os.mkfifo(path), path.mkdir):
        path.unlink()
        make()
        assert f"run{os.sep}types.csv: is a link or no file" in refusal()
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        path.write_bytes(kept)
    from holdfast.experiments.output.manifest import seal

    for name in ("../victim/data.csv", str(victim), "a/b.csv", "", "..", "a\0b"):
        manifest = json.loads((place / "run" / "run.json").read_text())
        (place / "empty").mkdir()
        seal(place / "empty", "run.json", {key: manifest[key] for key in ("input", "mechanisms")}, [name])
        shutil.copy(place / "empty" / "run.json", place / "run" / "run.json")
        shutil.rmtree(place / "empty")
        assert "run.json: must name files of its own directory" in refusal()
    for text in ("[" * 100_000, "{}", "", "\0", '{"files": {}, "digest": 3}'):
        (place / "run" / "run.json").write_text(text)
        assert "run.json" in refusal()
    assert has_no_harm(place)


def looks(place: Path, record: dict[str, object]) -> dict[str, Callable[[], object]]:
    """What reads each of them again."""
    return {
        "run": lambda: read_recording(place / "run", "N-PAA"),
        "sweep": lambda: open_result(place / "sweep", "sweep.json"),
        "experiment": lambda: (read_tables("checkpoint-fig3", place / "experiment"), check_measurement(place, record)),
    }


def check_measurement(place: Path, record: dict[str, object]) -> None:
    if not is_measured(record, place / "experiment"):
        raise InputError("checkpoint-fig3.json: is measured again")


@pytest.mark.parametrize("times", [20, pytest.param(1200, marks=pytest.mark.slow)])
def test_every_altered_digit_is_noticed(place: Path, times: int) -> None:
    rng = random.Random(times)
    content = open_result(place / "experiment", "checkpoint-fig3.json").content
    record = {key: value for key, value in content.items() if key != "tables"}
    look = looks(place, record)
    for read in look.values():
        read()
    for number in range(times):
        kind = [*look][number % 3]
        files = {path: path.read_bytes() for path in (place / kind).iterdir() if path.suffix in (".csv", ".json")}
        files = {path: text for path, text in files.items() if re.search(rb"\d", text)}
        # Verdicts are made again from the tables, and times no result depends on.
        apart = ("-verdicts.csv", "times.json")
        path = rng.choice([path for path in sorted(files) if not path.name.endswith(apart)])
        before = files[path]
        digits = [at for at, byte in enumerate(before) if chr(byte).isdigit()]
        at = rng.choice(digits)
        other = rng.choice([digit for digit in b"0123456789" if digit != before[at]])
        path.write_bytes(before[:at] + bytes([other]) + before[at + 1 :])
        with pytest.raises(InputError, match=path.name.replace("+", r"\+")):
            look[kind]()
        path.write_bytes(before)
    for read in look.values():
        read()


def test_altered_tables_of_a_sweep_are_reported_and_written_again(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place / "sweep" / "types.csv"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"1", b"2"))
    capsys.readouterr()
    assert run_sweep(make_sweep(**SWEEP), place / "sweep", workers=1, progress=True).stored == 2
    assert "types.csv: was changed after it was written" in capsys.readouterr().err
    assert path.read_bytes() == before
