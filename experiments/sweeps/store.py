"""Store of completed runs, each under the hash of its configuration.

Short runs that a worker has executed together share a file with one line per run, because writing ten thousand files
would take longer than the runs. Stores with a file for each run can be read, too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from experiments.output.locks import writing
from experiments.recordings.replay import make_directory
from experiments.sweeps.grid import RunConfiguration
from experiments.sweeps.simulations import RunOutcome
from workloads.ground.errors import TraceError
from workloads.ground.files import atomic_open, is_plain_file

__all__ = ["BATCH", "Store", "line_faults", "stored_lines"]

#: Of the lines; another one is computed anew.
_FORMAT = 3
#: End of the names of files with several runs.
BATCH = ".jsonl"
#: How a line of them begins, and what stands before its digest.
_KEY = re.compile(rb'\{"key": "([0-9a-f]{64})"')
_DIGEST = b', "digest": "'


class Store:
    """Results of runs in a directory.

    A file is written in one piece, so that an interruption leaves each run either stored or missing. What is damaged,
    or of another format or model, counts as missing.

    Parameters
    ----------
    directory
        Where; made if there is none.

    Raises
    ------
    OutputError
        If it cannot be written to.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = make_directory(directory)
        self._places = _places_in(self.directory)
        self._open: tuple[Path | None, bytes] = None, b""
        self._new: list[bytes] = []

    def read(self, run: RunConfiguration) -> RunOutcome | None:
        """The result of a run, None if it is to be computed."""
        try:
            line = self._line(run.key)
            if line != _seal(line.rpartition(_DIGEST)[0] + b"}"):
                return None
            record = _read(line)
            measured, timings = record["measured"], record["timings"]
            known = record["format"] == _FORMAT and record["configuration"] == _read(json.dumps(run.identity()))
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return RunOutcome(run.key, measured, timings) if known else None

    def write(self, run: RunConfiguration, outcome: RunOutcome) -> RunOutcome:
        """Take the result of a run, for the next :meth:`flush`; what comes back is as it will be read."""
        text = json.dumps(
            {
                "key": run.key,
                "format": _FORMAT,
                "configuration": run.identity(),
                "label": run.label,
                "measured": outcome.measured,
                "timings": outcome.timings,
            }
        )
        record = _read(text)
        if "NaN" in text or "Infinity" in text:
            # JSON knows no such number.
            text = json.dumps(record, allow_nan=False)
        self._new.append(_seal(text.encode()))
        return RunOutcome(run.key, record["measured"], record["timings"])

    def flush(self) -> None:
        """Write what has come since the last time, into one file."""
        if self._new:
            lines = b"".join(self._new)
            name = f"{hashlib.sha256(lines).hexdigest()}{BATCH}"
            with atomic_open(self.directory / name, "wb", follow=False) as file:
                file.write(lines)
            self._new.clear()

    def _line(self, key: str) -> bytes:
        """The line of a run; empty: there is none."""
        place = self._places.get(key)
        if place is None:
            return b""
        path, begin, end = place
        if self._open[0] != path:
            self._open = path, path.read_bytes()
        return self._open[1][begin:end]

    def lock(self) -> AbstractContextManager[None]:
        """Keep other sweeps out, and clear away what one that was killed has left half-written.

        Raises
        ------
        InputError
            If another sweep is at work here. The system frees the store when that process ends, however it ends.
        """
        return writing(self.directory, "another sweep")


def _places_in(directory: Path) -> dict[str, tuple[Path, int, int]]:
    """In which file, and from where to where, the line of each run stands."""
    found: dict[str, tuple[Path, int, int]] = {}
    for path in sorted(directory.glob(f"*{BATCH}")):
        if not is_plain_file(path):
            continue
        begin = 0
        with path.open("rb") as file:
            for line in file:
                end = begin + len(line)
                match = _KEY.match(line)
                if match is not None:
                    found[match[1].decode()] = path, begin, end
                begin = end
    return found


def stored_lines(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Fingerprint of the model and line of each run that a store holds whole."""
    for path, begin, end in _places_in(directory).values():
        with path.open("rb") as file:
            file.seek(begin)
            line = file.read(end - begin)
        if line == _seal(line.rpartition(_DIGEST)[0] + b"}"):
            yield str(_read(line)["configuration"]["model"]), line


def line_faults(path: Path) -> tuple[int, list[TraceError]]:
    """How many runs a file of a store holds, and what is wrong with it.

    A sweep passes over a damaged line, and computes its run anew.
    """
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    faults, keys = [], []
    for number, line in enumerate(lines, 1):
        match = _KEY.match(line)
        keys.append("" if match is None else match[1].decode())
        if not keys[-1] or line != _seal(line.rpartition(_DIGEST)[0] + b"}"):
            faults.append(TraceError(path, number, "was changed after it was written", "the sweep computes it anew"))
    # The name is the digest of all lines; earlier versions wrote a file for each run, under its key.
    if not faults and path.stem not in (hashlib.sha256(content).hexdigest(), *keys[:1]):
        faults.append(TraceError(path, None, "has lost or won lines", "the sweep computes what is missing"))
    return len(lines), faults


def _read(text: str | bytes) -> Any:
    """As JSON gives it back; a number that is none is null."""
    return json.loads(text, parse_constant=lambda _: None)


def _seal(text: bytes) -> bytes:
    """A line: an object of JSON, and last of all its digest."""
    return text[:-1] + _DIGEST + hashlib.sha256(text).hexdigest().encode() + b'"}\n'
