"""Stores in one file: what another machine takes over, and what it refuses."""

from __future__ import annotations

import json
import lzma
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.cli import main
from holdfast.experiments.study import packed_store, row_cache
from holdfast.experiments.study.experiment import Resources, Row, find_experiment, read_tables
from holdfast.experiments.study.packed_store import export_store, import_store, packed_fault, record_request
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.simulation_cache import Years, simulate_grid
from holdfast.experiments.sweeps.fingerprint import commit
from holdfast.workloads.ground.errors import InputError

DONE: list[int] = []


@dataclass(frozen=True)
class Task:
    number: int
    seed: int = 0


def work(task: Task) -> list[Row]:
    DONE.append(task.number)
    return [{"number": task.number, "root": task.number**0.5}]


def measure(store: Path, seed: int = 0) -> list[Row]:
    DONE.clear()
    return list(collect_rows(work, [Task(number, seed) for number in range(7)], Resources(store, 1), sources="years"))


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    measure(tmp_path / "runs")
    record_request(tmp_path / "runs", "hybrid-readings", 0, Years())
    assert export_store(tmp_path / "runs", tmp_path / "rows.xz") == 7
    return tmp_path / "rows.xz"


def test_another_store_goes_on_from_it(store_file: Path, tmp_path: Path) -> None:
    rows = measure(tmp_path / "other")
    assert len(DONE) == 7
    assert import_store(store_file, tmp_path / "third", ["hybrid-readings"], 0) == 7
    assert measure(tmp_path / "third") == rows
    assert DONE == []
    # What is there already stays, and rows of another seed are others.
    assert import_store(store_file, tmp_path / "third", ["hybrid-readings"], 0) == 0
    measure(tmp_path / "third", seed=1)
    assert len(DONE) == 7


def test_the_same_rows_give_the_same_file(store_file: Path, tmp_path: Path) -> None:
    import_store(store_file, tmp_path / "third", ["hybrid-readings"], 0)
    record_request(tmp_path / "third", "hybrid-readings", 0, Years())
    export_store(tmp_path / "third", tmp_path / "again.xz")
    assert (tmp_path / "again.xz").read_bytes() == store_file.read_bytes()


def test_a_large_file_is_read_whole(tmp_path: Path) -> None:
    # Digits that cannot be packed: more than any reader looks at to recognise a file.
    tasks = [Task(number) for number in range(12_000)]
    list(collect_rows(work, tasks, Resources(tmp_path / "runs", 1), together=3_000))
    record_request(tmp_path / "runs", "hybrid-readings", 0, Years())
    assert export_store(tmp_path / "runs", tmp_path / "rows.xz") == 4
    assert (tmp_path / "rows.xz").stat().st_size > 2**16
    assert import_store(tmp_path / "rows.xz", tmp_path / "third", ["hybrid-readings"], 0) == 4


def test_a_damaged_piece_is_not_carried(tmp_path: Path) -> None:
    measure(tmp_path / "runs")
    first = sorted((tmp_path / "runs" / "pieces").iterdir())[0]
    first.write_text(first.read_text().replace("number", "numbar"))
    assert export_store(tmp_path / "runs", tmp_path / "rows.xz") == 6


def test_simulations_of_sweeps_are_carried_too(tmp_path: Path) -> None:
    def simulate(store: Path) -> int:
        return simulate_grid(Resources(store, 1), "few", Years(60, 2), 5, ["baseline", "N-PAA"]).computed

    assert simulate(tmp_path / "runs") == 4
    record_request(tmp_path / "runs", "hybrid-fig6", 5, Years())
    assert export_store(tmp_path / "runs", tmp_path / "rows.xz") == 4
    assert import_store(tmp_path / "rows.xz", tmp_path / "third", ["hybrid-fig6"], 5) == 4
    assert import_store(tmp_path / "rows.xz", tmp_path / "third", ["hybrid-fig6"], 5) == 0
    assert simulate(tmp_path / "third") == 0


@pytest.mark.parametrize(
    ("names", "seed", "words"),
    [
        (["hybrid-fig6"], 0, "holds rows of hybrid-readings, not of hybrid-fig6"),
        (["hybrid-fig6", "hybrid-readings"], 1, "holds rows of hybrid-readings with the seed 0, not 1"),
    ],
)
def test_rows_of_something_else_are_refused(
    store_file: Path, tmp_path: Path, names: list[str], seed: int, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        import_store(store_file, tmp_path / "third", names, seed)
    assert not (tmp_path / "third").exists()


def test_rows_of_other_sources_are_refused(store_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_cache, "SOURCES", {"years": lambda: "0" * 16})
    monkeypatch.setattr(packed_store, "SOURCES", {"years": lambda: "0" * 16})
    words = rf"other sources .years [0-9a-f]{{16}}, here years 0000.*their commit is checked out .{commit()}."
    with pytest.raises(InputError, match=words):
        import_store(store_file, tmp_path / "third", ["hybrid-readings"], 0)
    assert not (tmp_path / "third").exists()


def test_what_was_changed_or_cut_off_is_refused(store_file: Path, tmp_path: Path) -> None:
    assert packed_fault(store_file) is None
    whole, lines = store_file.read_bytes(), lzma.decompress(store_file.read_bytes()).splitlines(keepends=True)
    other = json.loads(lines[1])
    other["rows"][0]["root"] = 99.0
    wrong = {
        "cut off": whole[:-20],
        "longer": whole + b"more",
        "one bit": bytes([*whole[:60], whole[60] ^ 1, *whole[61:]]),
        "altered": lzma.compress(b"".join([lines[0], json.dumps(other).encode() + b"\n", *lines[2:]])),
        "without a line": lzma.compress(b"".join([lines[0], *lines[2:]])),
        "nothing": b"",
        "a text": b"{}",
        "a path": lzma.compress(_seal([*lines[:-1], b'{"piece":"../../x","sources":"years 0","rows":[]}\n'])),
    }
    for name, content in wrong.items():
        path = tmp_path / f"{name}.xz"
        path.write_bytes(content)
        assert packed_fault(path) is not None, name
        with pytest.raises(InputError, match="not a file of stored rows"):
            import_store(path, tmp_path / "third", ["hybrid-readings"], 0)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.xz: no such file"):
        import_store(tmp_path / "none.xz", tmp_path / "store", ["hybrid-readings"], 0)


def _seal(lines: list[bytes]) -> bytes:
    from hashlib import sha256

    text = b"".join(lines)
    return text + json.dumps({"digest": sha256(text).hexdigest()}).encode() + b"\n"


def test_the_command_says_what_a_limit_may_be(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for text, words in (("0", "--limit must be a positive duration"), ("soon", "--limit")):
        assert main(["experiment", "hybrid-fig6", "-o", str(tmp_path / "out"), "--limit", text]) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.system
def test_a_measurement_in_parts_is_the_same_as_in_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["experiment", "hybrid-readings", "--quick", "--workers", "1", "--seed", "3"]
    call += [f"--set={name}" for name in ("jobs=60", "mixes=W2", "mix=W2", "screened_mixes=W2", "neighbour_mixes=W2")]
    rows, parts = tmp_path / "rows.xz", 0
    left = [0]
    text = row_cache.piece_text

    def piece_text(*given: Any) -> str:
        left[0] -= 1
        if left[0] == 0:
            # The time is up; the limit of an hour is never reached.
            signal.raise_signal(signal.SIGALRM)
        return text(*given)

    monkeypatch.setattr(row_cache, "piece_text", piece_text)
    while True:
        # A new machine each time: nothing but the file is left of the former one.
        directory, parts, left[0] = tmp_path / f"machine {parts}", parts + 1, 30
        taken = ["--from", str(rows)] if rows.exists() else []
        if main([*call, "-o", str(directory), "--limit", "1h", "--pack", str(rows), *taken]) == 0:
            break
        assert "the limit of 1h is reached" in capsys.readouterr().out
        assert parts < 50
    assert parts > 2
    monkeypatch.undo()
    assert main([*call, "-o", str(tmp_path / "whole")]) == 0
    assert read_tables("hybrid-readings", directory) == read_tables("hybrid-readings", tmp_path / "whole")


@pytest.mark.system
def test_a_screening_may_be_the_end(tmp_path: Path) -> None:
    item = find_experiment("hybrid-readings")
    small = replace(item.quick, jobs=40, screened_mixes=("W2",), until="screening")
    tables = item.measure(small, 0, Resources(tmp_path, 1))
    assert set(tables) == {"", "checkpoints", "screening", "screening-checkpoints"}
    half = replace(small, blocks=1)
    rows = item.measure(half, 0, Resources(tmp_path, 1))["screening"]
    assert rows == [row for row in tables["screening"] if row["trace"] == 0]
    assert len(rows) == len(tables["screening"]) / 2
