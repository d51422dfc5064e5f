"""The store: what is done already, a file for each run under the hash of its configuration."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from experiments.output.locks import writing
from experiments.recordings.replay import make_directory
from experiments.sweeps.grid import RunConfiguration
from experiments.sweeps.simulations import RunOutcome
from workloads.ground.files import atomic_open, is_plain_file

__all__ = ["Store"]

#: Of the files; another one is computed anew.
_FORMAT = 2


class Store:
    """Results of runs in a directory.

    A result is written in one piece, so that an interruption leaves each run either stored or missing. What
    is damaged, or of another format or model, counts as missing.

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

    def path(self, run: RunConfiguration) -> Path:
        """The file of a run."""
        return self.directory / f"{run.key}.json"

    def read(self, run: RunConfiguration) -> RunOutcome | None:
        """The result of a run, None if it is to be computed."""
        try:
            if not is_plain_file(self.path(run)):
                return None
            record = json.loads(self.path(run).read_bytes())
            measured, timings = record["measured"], record["timings"]
            known = record["format"] == _FORMAT and record["configuration"] == _plain(run.identity())
            whole = known and record["digest"] == _digest(record)
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return RunOutcome(run.key, measured, timings) if whole else None

    def write(self, run: RunConfiguration, outcome: RunOutcome) -> RunOutcome:
        """Store the result of a run; what comes back is as it will be read."""
        measured, timings = _plain(outcome.measured), _plain(outcome.timings)
        record = {
            "format": _FORMAT,
            "configuration": _plain(run.identity()),
            "label": run.label,
            "measured": measured,
            "timings": timings,
        }
        with atomic_open(self.path(run), follow=False) as file:
            json.dump({**record, "digest": _digest(record)}, file, allow_nan=False)
            file.write("\n")
        return RunOutcome(run.key, measured, timings)

    def reserved(self) -> AbstractContextManager[None]:
        """Keep other sweeps out, and clear away what one that was killed has left half-written.

        Raises
        ------
        InputError
            If another sweep is at work here. The system frees the store when that process ends, however it ends.
        """
        return writing(self.directory, "another sweep")


def _plain(value: Any) -> Any:
    """As JSON gives it back; a number that is none is null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _digest(record: Mapping[str, Any]) -> str:
    own = {name: value for name, value in record.items() if name != "digest"}
    return hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()
