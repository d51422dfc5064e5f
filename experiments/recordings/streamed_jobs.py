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

from holdfast.experiments.recordings.table_files import FORMATS, Format, write_rows
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import Recording
from holdfast.simulator.results.records import Records
from holdfast.simulator.results.schema import JOBS
from holdfast.workloads.ground.errors import InputError, OutputError
from holdfast.workloads.ground.files import atomic_open, read_bytes

__all__ = ["ENDED", "EndedJobs"]

#: Directory of the intermediate tables.
ENDED = "ended"
#: Manifest that identifies their replay.
_MANIFEST = "stream.json"


class EndedJobs:
    """Writes the jobs of a streamed replay as they end, one table per batch.

    Parameters
    ----------
    directory
        Directory of the results; the tables are written to its folder ``ended``.
    identity
        Everything that determines the rows. Tables of an unfinished replay with the same identity are kept.
    format
        Format of the tables.

    Attributes
    ----------
    kept
        Number of tables kept from an earlier attempt.

    Raises
    ------
    InputError
        If there are tables of another replay.
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
                    f"{self.place}: holds jobs of another, unfinished streamed run; "
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
        """Write a table, unless it exists already.

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
        # The same replay writes the same bytes; a different table was damaged.
        if self._number <= self.kept and path.is_file() and read_bytes(path) == content:
            return
        with atomic_open(path, "wb") as file:
            file.write(content)

    def remove(self) -> None:
        """Remove the tables, which the table of all jobs replaces."""
        if not self.place.is_dir() or self.place.is_symlink():
            return
        for path in sorted(self.place.iterdir(), key=lambda path: path.name == _MANIFEST):
            if path.name == _MANIFEST or (path.name.startswith("jobs-") and path.suffix[1:] in FORMATS):
                path.unlink()
        try:
            self.place.rmdir()
        except OSError:
            return  # it contains a file of the user
