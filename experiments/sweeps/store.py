"""Store of completed runs, each under the hash of its configuration.

Short runs that a worker has executed together share a file with one line per run, because writing ten thousand files
would take longer than the runs. Stores with a file for each run can be read, too.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from holdfast.experiments.output.locks import write_lock
from holdfast.experiments.output.output_directory import make_directory
from holdfast.experiments.sweeps.grid import RunConfiguration
from holdfast.experiments.sweeps.simulations import RunOutcome
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import atomic_open, is_plain_file

__all__ = ["BATCH", "Store", "line_faults", "stored_lines"]

#: Format version of the lines; runs in other formats are computed again.
_FORMAT = 3
#: Suffix of files with several runs.
BATCH = ".jsonl"
#: Beginning of a line of such a file, and separator before its digest.
_KEY = re.compile(rb'\{"key": "([0-9a-f]{64})"')
_DIGEST = b', "digest": "'


class Store:
    """Results of runs in a directory.

    Files are replaced atomically, so that after an interruption each run is either stored or missing. Damaged runs and
    those of another format or model count as missing.

    Parameters
    ----------
    directory
        Path of the directory, which is created if needed.

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
        """The stored result of a run; None if it must be computed."""
        try:
            line = self._line(run.key)
            if line != _seal(line.rpartition(_DIGEST)[0] + b"}"):
                return None
            record = _read(line)
            measured, timings = record["measured"], record["timings"]
            known = record["format"] == _FORMAT and record["configuration"] == _read(run.canonical)
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return RunOutcome(run.key, measured, timings) if known else None

    def write(self, run: RunConfiguration, outcome: RunOutcome) -> RunOutcome:
        """Queue the result of a run for the next :meth:`flush`; returns it as it will be read back."""
        (measured, text), (timings, times) = _encode_finite(outcome.measured), _encode_finite(outcome.timings)
        parts = (
            ("format", str(_FORMAT)),
            ("configuration", run.canonical),
            ("label", _encode(run.label)),
            ("measured", text),
            ("timings", times),
        )
        text = f'{{"key": "{run.key}", ' + ", ".join(f'"{name}": {part}' for name, part in parts) + "}"
        self._new.append(_seal(text.encode()))
        return RunOutcome(run.key, measured, timings)

    def flush(self) -> None:
        """Write all queued results to one file."""
        if self._new:
            lines = b"".join(self._new)
            name = f"{hashlib.sha256(lines).hexdigest()}{BATCH}"
            with atomic_open(self.directory / name, "wb", follow=False) as file:
                file.write(lines)
            self._new.clear()

    def _line(self, key: str) -> bytes:
        """The line of a run; empty if there is none."""
        place = self._places.get(key)
        if place is None:
            return b""
        path, begin, end = place
        if self._open[0] != path:
            self._open = path, path.read_bytes()
        return self._open[1][begin:end]

    def lock(self) -> AbstractContextManager[None]:
        """Lock the store against other sweeps, and remove incomplete files of a killed one.

        Raises
        ------
        InputError
            If another sweep uses the store. The system releases the lock when that process ends in any way.
        """
        return write_lock(self.directory, "another sweep")


def _places_in(directory: Path) -> dict[str, tuple[Path, int, int]]:
    """File and byte range of the line of each run."""
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
    """Model fingerprint and line of each intact run in a store."""
    for path, begin, end in _places_in(directory).values():
        with path.open("rb") as file:
            file.seek(begin)
            line = file.read(end - begin)
        if line == _seal(line.rpartition(_DIGEST)[0] + b"}"):
            yield str(_read(line)["configuration"]["model"]), line


def line_faults(path: Path) -> tuple[int, list[TraceError]]:
    """Number of runs in a file of a store, and the faults found.

    A sweep ignores a damaged line and computes the run again.
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
        faults.append(TraceError(path, None, "has lost or gained lines", "the sweep computes what is missing"))
    return len(lines), faults


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _encode_finite(value: Any) -> tuple[Any, str]:
    """A value as it is after a round trip through JSON, and its JSON."""
    try:
        # Most results are finite; looking at each number first takes half as long as encoding them (25, 50 us).
        return value, _encode(value)
    except ValueError:
        finite = _finite(value)
        return finite, _encode(finite)


def _finite(value: Any) -> Any:
    """A value as it is after a round trip through JSON, which has no infinite or undefined numbers."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, int | str):
        return value  # Most values: asking whether they are mappings takes longer than all else.
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value


def _read(text: str | bytes) -> Any:
    """The value after a round trip through JSON; NaN and infinity become null."""
    return json.loads(text, parse_constant=lambda _: None)


def _seal(text: bytes) -> bytes:
    """Format a line: a JSON object that ends with its digest."""
    return text[:-1] + _DIGEST + hashlib.sha256(text).hexdigest().encode() + b'"}\n'
