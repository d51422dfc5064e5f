"""Back-tests kept in the user's cache directory, under a digest of the known past, the options and the sources.

A damaged file is ignored. Source: docs/guides/forecast-quality.md.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from holdfast.experiments.forecast.back_tests import BackTesting, run_back_tests
from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.experts import EXPERTS, LEVELS
from holdfast.experiments.forecast.known_past import past_digest, past_log
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.track_record import BackTest, TrackRecord
from holdfast.experiments.sweeps.fingerprint import experiment_fingerprint
from holdfast.workloads.ground.compilation import cache_directory
from holdfast.workloads.ground.errors import OutputError
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.logs.trace import Trace

__all__ = ["StoredRecord", "find_record"]

#: Back-tests are of the time before the last whole hour, so that answers within an hour share them [s].
_HOUR = 3600.0
#: Folder in the cache directory.
_FOLDER = "forecasts"


class StoredRecord(NamedTuple):
    """Back-tests, and the age of the file that they come from.

    Attributes
    ----------
    record
        The back-tests.
    age
        Since they were made [s]; None: they were made now.
    """

    record: TrackRecord
    age: float | None


def find_record(
    trace: Trace, at: float, nodes: int, how: BackTesting, *, fit: str = "discrete", least: int = 10
) -> StoredRecord:
    """Back-tests of the past of a log, made if they are not stored.

    Parameters
    ----------
    trace
        A log with recorded waits.
    at
        The time [s]; nothing that the log records later is read.
    nodes
        Size of the machine.
    how
        Options of the forecasts.
    fit, least
        As of :class:`holdfast.experiments.forecast.history.History`.
    """
    until = at // _HOUR * _HOUR
    known = past_log(trace, until) if how.count else None
    if known is None or not len(known.jobs):
        return StoredRecord(TrackRecord(), None)
    key = [past_digest(known), until, nodes, asdict(how), fit, least, experiment_fingerprint()]
    directory = cache_directory()
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
    path = None if directory is None else directory / _FOLDER / f"{name}.json"
    if path is not None:
        try:
            tests, age = _read(path), max(0.0, time.time() - path.stat().st_mtime)
            return StoredRecord(TrackRecord(tests, _past_waits(trace, at, nodes)), age)
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            pass  # missing or damaged: they are made
    tests = run_back_tests(Past(known, nodes, fit, least), until, how)
    if path is not None:
        with suppress(OSError, OutputError):  # without a cache the next answer takes longer
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with atomic_open(path, follow=False) as file:
                file.write(_text(tests))
    return StoredRecord(TrackRecord(tests, _past_waits(trace, at, nodes)), None)


def _past_waits(trace: Trace, at: float, nodes: int) -> PastWaits:
    """The waits known at the time itself, which the experts beside the simulation need."""
    return PastWaits(Past(past_log(trace, at), nodes))


def _text(tests: Sequence[BackTest]) -> str:
    rows = [asdict(test) for test in tests]
    return json.dumps({"tests": rows, "digest": _digest(rows)}) + "\n"


def _read(path: Path) -> list[BackTest]:
    kept = json.loads(path.read_bytes())
    if kept["digest"] != _digest(kept["tests"]):
        raise ValueError(path)
    tests = []
    for row in kept["tests"]:
        quantiles = {name: tuple(map(float, row["quantiles"][name])) for name in EXPERTS}
        if any(len(values) != len(LEVELS) for values in quantiles.values()):
            raise ValueError(path)
        times = float(row["at"]), float(row["waited"]), float(row["wait"])
        tests.append(BackTest(*times, quantiles, int(row["nodes"]), int(row["queue"]), bool(row["started"])))
    return tests


def _digest(rows: object) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
