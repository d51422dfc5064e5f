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

    directory: Annotated[str, Parameter("results of 'holdfast run --events'", metavar="DIR", positional=True)]
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
    from holdfast.experiments.recordings.archive import read_recording

    name = arguments.format or find_format(arguments.output)
    EXPORTS[name]  # refuse an unknown format before reading a long result
    recording = read_recording(arguments.directory, arguments.mechanism, trust=arguments.trust)
    count = export_result(recording, arguments.output, name)
    print(f"{count} of {recording.name} written to {arguments.output}")
