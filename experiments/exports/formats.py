"""Registry of export formats, by name and by file extension."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.experiments.exports.batsim import BatsimExport
from holdfast.experiments.exports.parquet import export_parquet
from holdfast.experiments.exports.perfetto import export_perfetto
from holdfast.experiments.exports.swf import SwfExport
from holdfast.experiments.recordings.allocations import Allocations
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.registry import Registry, function_adapter

__all__ = ["EXPORTS", "Export", "export_result", "find_format"]

#: Writes a recording to a file or a directory, and returns a description of its content.
Export = Callable[[Recording, Path], str]

EXPORTS: Registry[Export] = Registry("export format", "holdfast.exports", function_adapter("a recording", "a path"))
EXPORTS.add("swf", SwfExport(), "Standard Workload Format, a line a job; if partial, also one for each run")
EXPORTS.add("batsim", BatsimExport(), "Batsim's jobs.csv, with nodes, for evalys; times to 1/grid s, 0: exact")
EXPORTS.add("perfetto", export_perfetto, "Trace Event Format (JSON), for ui.perfetto.dev and chrome://tracing")
EXPORTS.add("parquet", export_parquet, "a directory of Parquet tables: jobs, events, timeline, nodes")

_SUFFIXES = {".swf": "swf", ".csv": "batsim", ".json": "perfetto", ".parquet": "parquet"}


def find_format(path: str | Path) -> str:
    """Find the default format of a file by its extension; ``.gz`` is ignored.

    Raises
    ------
    InputError
        If the extension is unknown.

    Examples
    --------
    >>> find_format("result.swf.gz")
    'swf'
    """
    name = Path(path)
    suffix = (name.with_suffix("") if name.suffix == ".gz" else name).suffix
    if suffix not in _SUFFIXES:
        raise InputError(f"{path}: name the format with --format, one of {', '.join(EXPORTS)}")
    return _SUFFIXES[suffix]


def export_result(
    result: Recording, path: str | Path, format: str | None = None, *, allocations: Allocations | None = None
) -> str:
    """Export a simulation, of a result in memory or read back from a directory.

    Parameters
    ----------
    result
        A result with its event log. SWF does without one on a machine of named nodes, and under the baseline if no job
        was preempted.
    path
        Output file, compressed if the name ends in ``.gz``; a directory for Parquet.
    format
        A name from :data:`EXPORTS`, with parameters as in ``swf partial=true``; None: by the extension.
    allocations
        Runs of a result that was read from a directory, on a machine of named nodes; None: those of the result.

    Returns
    -------
    str
        Description of what was written.

    Raises
    ------
    InputError
        If the format is unknown, the result has no event log, or the file cannot be written.
    """
    export = EXPORTS[format or find_format(path)]
    if isinstance(export, SwfExport):
        return export.write(result, Path(path), allocations)
    return export(result, Path(path))
