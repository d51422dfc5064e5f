"""Whatever fails while a command writes, it ends with one sentence, and what was there before stands."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.workloads.table.job_table import write_job_table
from tests.support.failing import KINDS, Operations
from tests.support.jobs import malleable, on_demand, rigid

pytestmark = pytest.mark.pictures("png", "pdf")

#: Commands that write, each into a directory that holds an older result.
COMMANDS = {
    "generate": "generate -o out/a.swf --jobs 8",
    "generate-packed": "generate -o out/a.swf.gz --jobs 8",
    "prepare": "prepare a.swf -o out/t.csv",
    "run": "run t.csv -o out --nodes 16 --mechanism baseline,CUA-SPAA --events --force",
    "export-parquet": "export r -o out/x --format parquet --mechanism baseline",
    "plan": "plan exponential --mean 1h --n 8 --json out/p.json",
    "fit-costs": "fit-costs long -o out/c.json --classes 8",
    "export-swf": "export r -o out/x.swf --mechanism baseline",
    "export-perfetto": "export r -o out/x.json --format perfetto --mechanism baseline",
    "gantt": "gantt r -o out/x.html --mechanism baseline",
    "explain": "explain r --worst 2 --json out/e.json --mechanism baseline",
    "submit": "submit plan.json -o out/seq -- true",
    "plot": "picture queue r -o out/q --mechanism baseline",
}
#: Of several things some may be done: what is done stays.
SEVERAL = {
    "run-streamed": "run a.swf -o out --stream --nodes 4392 --force",
    "sweep": "sweep s.toml -o out --workers 1",
    "experiment": "experiment checkpoint-fig3 --quick -o out",
}
#: Pictures take a second each.
LONG = frozenset({"plot", "experiment"})


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("failing")
    before = Path.cwd()
    os.chdir(place)
    jobs = [rigid(1, 0, 8, 600, 900), malleable(2, 60, 10, 540, 720, min_nodes=2), on_demand(3, 90, 4, 300)]
    write_job_table(jobs, "t.csv")
    write_job_table(
        [rigid(n, 100 * n, 8 + n % 3, 900 * (1 + n % 4), 1000 * (1 + n % 4)) for n in range(1, 40)], "l.csv"
    )
    Path("s.toml").write_text("mechanisms = 'baseline,N-PAA'\n[workload]\nseeds = 0\njobs = 6\n")
    for line in (
        "generate -o a.swf --jobs 8",
        "run t.csv -o r --nodes 16 --mechanism baseline --events",
        "run l.csv -o long --nodes 16 --mechanism baseline",
        "plan uniform --min 1h --max 9h --n 6 --checkpoint 60 --json plan.json",
    ):
        assert cli.main(line.split()) == 0
    for name, line in (COMMANDS | SEVERAL).items():
        # What there is before; then the command writes something else in its place.
        folder = place / "before" / name
        folder.mkdir(parents=True)
        (folder / "mine.txt").write_text("mine\n")
        words = line.replace(" out", f" {folder}").replace("/seq", "/sequence").split()
        if "-o" not in words or Path(words[words.index("-o") + 1]) != folder:
            assert cli.main(words) == 0
    yield place
    os.chdir(before)


def tree(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def exit_status(words: list[str], operations: Operations) -> int:
    with operations.watch():
        try:
            return cli.main(words)
        except SystemExit as stop:
            return int(str(stop.code))


def numbers(count: int, times: int | None, rng: random.Random) -> list[int]:
    """Which of the operations fail: all, or a sample with the first and the last."""
    every = range(1, count + 1)
    return [*every] if times is None or count <= times else sorted({1, count, *rng.sample(every, times - 2)})


def check(name: str, line: str, kind: str, times: int | None, place: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Let operations of a kind fail; returns how many did."""
    words, out = line.split(), place / "out"
    older = place / "before" / name

    def fresh() -> dict[str, bytes]:
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(older, out)
        for path in place.glob(".*.part"):
            raise AssertionError(f"{path.name} is left")
        return tree(place)

    before = fresh()
    clean = Operations(place, "allocate" if kind == "allocate" else "", 0)
    assert exit_status(words, clean) == 0
    whole = set(tree(place))
    chosen = numbers(clean.counts[kind], times, random.Random(f"{name} {kind}"))
    capsys.readouterr()
    for number in chosen:
        assert fresh() == before
        status = exit_status(words, Operations(place, kind, number))
        error = capsys.readouterr().err
        where = f"{name}, {kind} {number} of {clean.counts[kind]}: {error}"
        after = tree(place)
        assert not [path for path in after if path.endswith(".part") or ".lock" in path], where
        assert "Traceback" not in error, where
        if status == 0:  # what failed was tried again, or is needed by nobody
            assert len(after) == len(whole), where  # parts of a sweep's store have names of their own
            continue
        assert status in ((1, 2) if name in SEVERAL else (2,)), where
        sentences = [line for line in error.splitlines() if line.startswith("holdfast")]
        assert sentences, where
        if name not in SEVERAL:
            # A complete result may be on its way into its place, or be there already when a later step fails.
            placed = {path.replace(".run.json.new/", "") for path in after}
            assert after == before or placed == whole, where
    return len(chosen)


@pytest.mark.system
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*COMMANDS, *SEVERAL])
def test_a_failing_operation_leaves_what_was_there(
    name: str, kind: str, originals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = 2 if name in LONG else 5
    check(name, (COMMANDS | SEVERAL)[name], kind, few, originals, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "allocate"])
@pytest.mark.parametrize("name", [*COMMANDS, *SEVERAL])
def test_each_failing_operation_leaves_what_was_there(
    name: str, kind: str, originals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(name, (COMMANDS | SEVERAL)[name], kind, None, originals, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*COMMANDS, *SEVERAL])
def test_many_failing_allocations(name: str, originals: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(name, (COMMANDS | SEVERAL)[name], "allocate", 200, originals, capsys)
