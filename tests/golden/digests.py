"""Golden digests: SHA-256 (16 digits of it) of every file that a list of runs writes, but for what a clock measures.

A change that is meant to leave results as they are leaves these digests as they are. Decimal numbers count with nine
significant digits, because the last ones depend on the processor: BLAS and NumPy choose their loops by it.

``python -m tests.golden.digests`` carries the runs out and prints what differs from ``digests.json``; with ``--write``
it writes the file, with ``--keep DIR`` it leaves the outputs there, for a comparison with those of another checkout.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from holdfast.experiments.cli import main as holdfast
from holdfast.policies.score_network import ScoringNetwork
from holdfast.simulator.results.schema import STUDIED_JOBS
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.release import VERSION
from tests.golden.inputs import write_inputs
from tests.golden.replays import LARGE, SMALL, Replay
from tests.places import GOLDEN
from tests.search.cases import seeded_case

__all__ = ["DIGESTS", "GROUPS", "differences", "digests_of", "group_digests", "replay_digests", "workplace"]

DIGESTS = GOLDEN / "digests.json"
#: Columns, and values of a column ``metric``, that a clock measures; and the key of a run of a sweep, which depends on
#: the sources of the model. The digests of their tables differ, too.
_CLOCK = re.compile(r"(run|decision_ms_.*|engine_seconds|planning_seconds|prepare_seconds|run_seconds|worker_peak_mib)")
#: Keys of manifests: the version, the digest over all, the current directory, and the digest of the model.
_VARIES = ("holdfast", "digest", "directory", "model")
#: Pictures depend on the fonts and the version of matplotlib, stores of sweeps on the sources of the model.
_LEFT_OUT = re.compile(r".*\.(png|pdf)|.*/store/.*|.*/timings\.csv")
_DECIMAL = re.compile(rb"\d+\.\d+(?:[eE][+-]?\d+)?")
#: Groups of random cases of ``tests.search``, and how many cases a group has.
GROUPS, _GROUP = 30, 30


@contextmanager
def workplace() -> Iterator[Path]:
    """A directory that holds the inputs, as the current one."""
    before = Path.cwd()
    with TemporaryDirectory() as name:
        os.chdir(name)
        try:
            place = Path(name)
            write_inputs(place)
            weights = np.linspace(-1.0, 1.0, 4 * 6)
            ScoringNetwork.of(weights, 4).save(place / "jobs.npz")
            _write_network(place / "answers.npz")
            yield place
        finally:
            os.chdir(before)


def _write_network(path: Path) -> None:
    from holdfast.policies.learned_arrival import CONSEQUENCES

    weights = np.linspace(-1.0, 1.0, 3 * (len(CONSEQUENCES) + 2))
    ScoringNetwork.of(weights, len(CONSEQUENCES), ("PAA", "SPAA", "WAIT")).save(path)


def digests_of(replay: Replay, keep: Path | None = None) -> dict[str, str]:
    """Digest of what each command prints, and of each file that is there at the end, by its path.

    Parameters
    ----------
    replay
        One of :mod:`tests.golden.replays`.
    keep
        A directory to move its outputs to.
    """
    found = {}
    before = set(Path().iterdir())
    for number, line in enumerate(replay.lines, 1):
        out, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            status = holdfast(shlex.split(line.replace("@", "out")))
        if status:
            raise RuntimeError(f"{replay.name}: holdfast {line}: exit status {status}: {errors.getvalue()}")
        found[f"printed {number}"] = _digest(out.getvalue().encode())
    made = set(Path().iterdir()) - before
    for place in sorted(made):
        for path in sorted(place.rglob("*") if place.is_dir() else [place]):
            name = path.as_posix()
            if path.is_file() and not _LEFT_OUT.fullmatch(name):
                found[name] = _digest(_timeless(path))
    for place in made:
        if keep is not None:
            target = keep / re.sub(r"\W+", "-", replay.name) / place.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(place, target)
        elif place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
    return found


def _seeded_digest(group: int) -> str:
    """Digest of all tables of a group of random cases, which have random options."""
    whole = hashlib.sha256()
    for index in range(group * _GROUP, (group + 1) * _GROUP):
        case = seeded_case(30, index)
        try:
            result = case.simulate()
        except InputError as error:
            whole.update(str(error).encode())
            continue
        summary = {name: value for name, value in result.summary().items() if not _CLOCK.fullmatch(name)}
        tables = [result.jobs, result.events, result.timeline(), result.runs, STUDIED_JOBS.frame(result)]
        if result.stochastic:
            tables.append(result.reservations)
        whole.update(_round_decimals(repr((case.jobs, summary, result.accounting)).encode()))
        for table in tables:
            whole.update(_round_decimals(table.to_csv().encode()))
            whole.update(str(table.dtypes.to_dict()).encode())
    return whole.hexdigest()[:16]


def _round_decimals(data: bytes) -> bytes:
    return _DECIMAL.sub(lambda number: b"%.9g" % float(number[0]), data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(_round_decimals(data)).hexdigest()[:16]


def _timeless(path: Path) -> bytes:
    """The content of a file without the version, what a clock measures, and what follows from that."""
    data = path.read_bytes()
    if path.suffix == ".csv":
        return _timeless_table(data.decode()).encode()
    if path.suffix == ".parquet":
        return _parquet(path)
    if path.suffix == ".json" and data.startswith(b"{\n"):
        return _timeless_document(json.loads(data)).encode()
    return data.replace(f"Holdfast {VERSION}".encode(), b"Holdfast")


def _timeless_table(text: str) -> str:
    rows = list(csv.reader(io.StringIO(text, newline="")))
    head = rows[0]
    kept = [place for place, name in enumerate(head) if not _CLOCK.fullmatch(name)]
    metric = head.index("metric") if "metric" in head else None
    if len(kept) == len(head) and metric is None:
        return text
    timeless = [row for row in rows if metric is None or not _CLOCK.fullmatch(row[metric])]
    return "\n".join(repr([row[place] for place in kept]) for row in timeless)


def _timeless_document(document: Mapping[str, object]) -> str:
    """A manifest without what varies, and with the names of its files alone: each has a digest of its own here."""

    def without(value: object, name: str = "") -> object:
        if isinstance(value, dict):
            kept = {key: without(item, key) for key, item in value.items() if key not in _VARIES}
            return sorted(kept) if name == "files" else kept
        if isinstance(value, list):
            return [without(item) for item in value]
        return value

    return json.dumps(without(dict(document)))


def _parquet(path: Path) -> bytes:
    """Columns, types and values: the bytes of a file are those of a version of pyarrow."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    kept = [name for name in table.column_names if not _CLOCK.fullmatch(name)]
    columns = [(name, str(table.schema.field(name).type), table.column(name).to_pylist()) for name in kept]
    return repr((columns, pq.ParquetFile(path).num_row_groups)).encode()


def replay_digests(replays: Sequence[Replay], keep: Path | None = None) -> dict[str, dict[str, str]]:
    """Digests of all runs of a list."""
    with workplace():
        return {replay.name: digests_of(replay, keep) for replay in replays}


def differences(known: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> list[str]:
    """What is missing, new or changed, a line for each file of a run."""
    lines = []
    for name in dict.fromkeys((*known, *now)):
        if name not in known or name not in now:
            lines.append(f"{name}: {'a new run' if name in now else 'no longer a run'}")
            continue
        before, after = known[name], now[name]
        for file in dict.fromkeys((*before, *after)):
            if before.get(file) != after.get(file):
                what = "new" if file not in before else "missing" if file not in after else "changed"
                lines.append(f"{name}: {file}: {what}")
    return lines


def group_digests(groups: Iterable[int]) -> dict[str, dict[str, str]]:
    """Digests of groups of random cases."""
    return {f"random cases {group}": {"tables": _seeded_digest(group)} for group in groups}


def main(arguments: list[str] | None = None) -> int:
    """Compare, or write; the exit status is 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.digests", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write digests.json")
    parser.add_argument("--keep", type=Path, help="directory to leave the outputs in")
    parser.add_argument("--only", default="", help="a part of the names of the runs to carry out")
    given = parser.parse_args(arguments)
    keep = None if given.keep is None else given.keep.resolve()
    chosen = [replay for replay in (*SMALL, *LARGE) if given.only in replay.name]
    now = replay_digests(chosen, keep)
    if given.only in "random cases":
        now |= group_digests(range(GROUPS))
    known = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    if given.only:
        known = {name: known[name] for name in known if name in now}
    lines = differences(known, now)
    print("\n".join(lines) or f"{len(now)} runs, nothing differs")
    if given.write:
        DIGESTS.write_text(json.dumps(now, indent=1) + "\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
