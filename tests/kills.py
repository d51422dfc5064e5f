"""Kill commands at random moments, and look whether what they leave is one whole result: the old one or the new.

``python -m tests.kills run 50 --seed 0`` kills ``holdfast run`` fifty times: half of the time into an empty directory,
half over an older result, and every fifth time while a second command of the same kind writes to the same directory.
After each kill the directory is read as a command would read it, with all digests; its tables must be those of the
older result, or those of the new one, or (a sweep, a reproduction) some of the new one's rows or experiments, each of
them whole. All but ``reproduce``, which has processes of its own, are forked, so that nothing is imported fifty times.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from holdfast.experiments.cli import main as main_of_commands
from holdfast.experiments.output.atomic_replace import settle_all
from holdfast.experiments.output.manifest import SWEEP, Sealed, open_result
from holdfast.experiments.recordings.run_file import RUN
from holdfast.experiments.study.experiment import read_tables
from holdfast.workloads.ground.errors import InputError

__all__ = ["COMMANDS", "kills", "main"]

_CODE = "import sys\nfrom holdfast.experiments.cli import main\nif __name__ == '__main__':\n sys.exit(main())"
#: Commands by name, for an older and for a newer result; ``{in}`` is the directory of the inputs.
COMMANDS = {
    "run": (
        "run {in}/year.swf --mechanism baseline,N-PAA,CUP-SPAA --events --plot",
        "run {in}/year.swf --mechanism baseline,CUA-SPAA --seed 1 --force",
    ),
    "sweep": ("sweep {in}/grid.toml --workers 1", "sweep {in}/grid.toml --workers 1 --set workload.seeds=3:6"),
    "reproduce": (
        "reproduce --quick --workers 2 --only checkpoint-fig[34] --only profiles-fig1 --seed 0",
        "reproduce --quick --workers 2 --only checkpoint-fig[34] --only profiles-fig1 --seed 1",
    ),
    "loop": (
        "loop {in}/year.swf --stochastic-share 0.3 --known-runs 2 --tolerance 0 --rounds 2",
        "loop {in}/year.swf --stochastic-share 0.3 --known-runs 2 --tolerance 0 --rounds 3 --seed 1 --force",
    ),
}
#: Columns that are measured by the clock.
_CLOCK = ("decision_ms", "engine_seconds", "planning_seconds", "prepare_seconds", "run_seconds", "worker_peak_mib")
_GRID = "mechanisms = ['baseline', 'CUA-SPAA', 'CUP-PAA']\n[workload]\nseeds = '0:3'\njobs = 150\n"


def kills(command: str, times: int, seed: int, place: Path) -> Counter[str]:
    """Kill a command so many times.

    Returns
    -------
    Counter
        How often what was found; what begins with ``MIX`` must not be.
    """
    inputs, rng = place / "in", random.Random(f"{command} {seed}")
    inputs.mkdir()
    (inputs / "grid.toml").write_text(_GRID)
    _run_here(["generate", "-o", str(inputs / "year.swf"), "--jobs", "250"])
    words = [line.replace("{in}", str(inputs)).split() for line in COMMANDS[command]]
    # The older one first: the time that counts is that of the newer one when everything is imported.
    for number in (1, 0):
        began = time.monotonic()
        _run_here([*words[number], "-o", str(place / f"whole{number}")])
        longest = time.monotonic() - began
    wholes = [_content(place / f"whole{number}", command) for number in (0, 1)]
    found: Counter[str] = Counter()
    for number in range(times):
        out = place / "out"
        shutil.rmtree(out, ignore_errors=True)
        older, line = number % 2, [*words[0], "-o", str(out)]
        if older:
            shutil.copytree(place / "whole1", out)
        # Most of the time is spent before anything is written: half of the kills wait for the first sign of writing.
        processes = [_start_process(line) for _ in range(2 if number % 5 == 4 else 1)]
        if rng.random() < 0.5:
            _wait_for_partial_files(out, 10 * longest)
            time.sleep(rng.expovariate(1 / 0.02))
        else:
            time.sleep(rng.uniform(0, 1.5 * longest))
        for process in processes:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        time.sleep(1.2 if command == "reproduce" else 0)  # workers end with their parent
        kind = _judge(out, command, wholes[1] if older else {}, wholes[0])
        waiting = "" if kind.startswith("MIX") or not list(out.glob(".*.new")) else ", on its way"
        case = f"{'over an older one' if older else 'from nothing'}: {kind}{waiting}"
        found[case] += 1
        print(f"{command} {number + 1}: {case}", file=sys.stderr, flush=True)
        if waiting:
            settle_all(out)
            if _judge(out, command, wholes[1] if older else {}, wholes[0]).startswith("MIX"):
                found["MIX after it was put into place"] += 1
    return found


def _run_here(line: list[str]) -> None:
    """In this process: what it has imported, it has for all that it forks."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        status = main_of_commands(line)
    assert status == 0, line


def _start_process(line: list[str]) -> int:
    """The number of the process."""
    if line[0] == "reproduce":
        # Waited for by its number: a Popen object would complain that it was not.
        nowhere = [(os.POSIX_SPAWN_OPEN, place, os.devnull, os.O_WRONLY, 0) for place in (1, 2)]
        return os.posix_spawn(sys.executable, [sys.executable, "-c", _CODE, *line], os.environ, file_actions=nowhere)
    child = os.fork()
    if child:
        return child
    try:
        _run_here(line)
    finally:
        os._exit(1)


def _wait_for_partial_files(out: Path, longest: float) -> None:
    end = time.monotonic() + longest
    while time.monotonic() < end:
        with suppress(OSError):
            if [name for name in out.glob(".*") if name.name.endswith((".part", ".new"))]:
                return
        time.sleep(0.0005)


def _judge(out: Path, command: str, older: dict[str, object], new: dict[str, object]) -> str:
    try:
        found = _content(out, command) if out.is_dir() else {}
    except (InputError, KeyError, ValueError) as error:
        return f"MIX: {error}"
    if found == new:
        return "the new one"
    if found == older:
        return "the older one" if older else "nothing"
    if command == "sweep":
        rows = {name: table for name, table in found.items() if name != "done"}
        if all(set(table) <= set(new[name]) for name, table in rows.items()):  # type: ignore[call-overload]
            return "some runs of the new one"
    if command == "reproduce" and all(table in (new.get(name), older.get(name)) for name, table in found.items()):
        return "some experiments of the new one, the others as before"
    return "MIX of two results"


def _content(out: Path, command: str) -> dict[str, object]:
    """The tables by name without what the clock says; of a reproduction the tables of each experiment."""
    if command == "reproduce":
        names = sorted({path.name.removeprefix(".").partition(".json")[0] for path in out.glob("*.json")}
                       | {path.name[1:].partition(".json")[0] for path in out.glob(".*.json.new")})  # fmt: skip
        return {
            name: (open_result(out, f"{name}.json").content, read_tables(name, out))
            for name in names
            if name != "times"
        }
    manifest = SWEEP if command == "sweep" else RUN
    try:
        result = open_result(out, manifest)
    except InputError as error:
        if "no such file" in str(error):
            return {}
        raise
    return {name: table for name, table in _tables(result) if name != "timings.csv"}


def _tables(result: Sealed) -> Iterator[tuple[str, object]]:
    for name in result.files or ():
        path = result.find(name)
        assert path is not None
        if name.endswith(".csv"):
            rows = list(csv.DictReader(io.StringIO(path.read_text(), newline="")))
            yield name, [tuple((key, cell) for key, cell in row.items() if not key.startswith(_CLOCK)) for row in rows]
        elif name == "costs.json":
            # The source names the directory, and the digest counts it.
            yield name, {**json.loads(path.read_text()), "source": None, "digest": None}


def main() -> None:
    """Kill, count and say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=[*COMMANDS, "all"])
    parser.add_argument("times", type=int)
    parser.add_argument("--seed", default=0, type=int)
    arguments = parser.parse_args()
    bad = False
    for command in COMMANDS if arguments.command == "all" else [arguments.command]:
        with tempfile.TemporaryDirectory() as place:
            found = kills(command, arguments.times, arguments.seed, Path(place))
        for kind, count in sorted(found.items()):
            print(f"{command}: {count:3d} {kind}", flush=True)
            bad = bad or kind.startswith("MIX") or ": MIX" in kind
    sys.exit(bad)


if __name__ == "__main__":
    main()
