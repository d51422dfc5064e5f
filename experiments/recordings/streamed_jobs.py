"""Intermediate tables of a streamed replay: the rows of the jobs that have ended so far.

A table appears under its name only when it is complete, so that all jobs written before the process is killed remain
readable.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.recordings.table_files import FORMATS, Format, write_rows
from policies.mechanism import BASELINE
from simulator.options import Options
from simulator.results.recording import Recording
from simulator.results.records import Records
from simulator.results.schema import JOBS
from workloads.ground.errors import InputError, OutputError
from workloads.ground.files import atomic_open, read_bytes

__all__ = ["ENDED", "EndedJobs"]

#: Directory of the parts.
ENDED = "ended"
#: What the parts are of.
_MANIFEST = "stream.json"


class EndedJobs:
    """Writes the jobs of a streamed replay as they end, a part at a time.

    Parameters
    ----------
    directory
        Of the results; the parts come to ``ended`` in it.
    identity
        What decides the rows. Parts of a replay with the same identity that did not come to its end are kept.
    format
        Of the parts.

    Attributes
    ----------
    kept
        How many parts of an earlier attempt there were.

    Raises
    ------
    InputError
        If the parts of another replay are there.
    """

    def __init__(self, directory: Path, identity: Mapping[str, Any], format: Format, *, force: bool = False) -> None:
        self.place = directory / ENDED
        self._format: Format = format
        self._number = 0
        content = json.dumps(identity, indent=2, sort_keys=True) + "\n"
        manifest = self.place / _MANIFEST
        if manifest.is_file() and manifest.read_text(encoding="utf-8") != content:
            if not force:
                raise InputError(
                    f"{self.place}: holds jobs of another streamed run, which did not come to its end; "
                    "take another directory, or replace them with --force"
                )
            self.remove()
        try:
            self.place.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.place}: cannot be made: {error.strerror}") from None
        with atomic_open(manifest) as file:
            file.write(content)
        self.kept = len(list(self.place.glob(f"jobs-*.{format}")))

    def write(self, records: Records) -> None:
        """Write a part, unless it is there already.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        self._number += 1
        path = self.place / f"jobs-{self._number:06d}.{self._format}"
        buffer = io.BytesIO()
        write_rows(buffer, JOBS, Recording(BASELINE, 1, Options(), (), records), records, self._format)
        content = buffer.getvalue()
        # The same replay tells the same; what differs was damaged.
        if self._number <= self.kept and path.is_file() and read_bytes(path) == content:
            return
        with atomic_open(path, "wb") as file:
            file.write(content)

    def remove(self) -> None:
        """Remove the parts, which the table of all jobs replaces."""
        if not self.place.is_dir() or self.place.is_symlink():
            return
        for path in sorted(self.place.iterdir(), key=lambda path: path.name == _MANIFEST):
            if path.name == _MANIFEST or (path.name.startswith("jobs-") and path.suffix[1:] in FORMATS):
                path.unlink()
        try:
            self.place.rmdir()
        except OSError:
            return  # something of the user's is in it
