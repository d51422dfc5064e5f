"""``holdfast export``: write results in the formats of other tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.experiments.commands.options.arguments import TrustOption, chosen_run
from holdfast.workloads.ground.parameters import Parameter

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    directory: Annotated[
        str,
        Parameter("results of 'holdfast run', with --events for all formats but swf", metavar="DIR", positional=True),
    ]
    output: Annotated[str, Parameter("file to write; a directory for parquet", metavar="FILE", short="-o")]
    format: Annotated[
        str | None,
        Parameter(
            "swf, batsim (jobs.csv, for evalys), perfetto (trace JSON) or parquet", default="by the suffix of FILE"
        ),
    ] = None
    mechanism: Annotated[str | None, chosen_run()] = None
    trust: TrustOption = False


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.exports.formats import EXPORTS, export_result, find_format
    from holdfast.experiments.exports.swf import SwfExport
    from holdfast.experiments.recordings.archive import has_event_log, read_recording
    from holdfast.experiments.recordings.stored_allocations import read_allocations

    directory, run = arguments.directory, arguments.mechanism
    name = arguments.format or find_format(arguments.output)
    # An unknown format is refused before a long result is read.
    logged = not isinstance(EXPORTS[name], SwfExport) or has_event_log(directory, run)
    recording = read_recording(directory, run, events=logged, trust=arguments.trust)
    allocations = None if logged else read_allocations(directory, run)
    count = export_result(recording, arguments.output, name, allocations=allocations)
    print(f"{count} of {recording.name} written to {arguments.output}")
