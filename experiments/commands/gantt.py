"""``holdfast gantt``: write an interactive Gantt chart of a simulation as one HTML file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated

from holdfast.experiments.commands.asking.arguments import TrustOption, check_outputs, chosen_run
from holdfast.experiments.recordings.time_windows import Window
from holdfast.workloads.ground.parameters import Parameter

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    directory: Annotated[
        str, Parameter("results of 'holdfast run' with --events or --machine", metavar="DIR", positional=True)
    ]
    output: Annotated[str, Parameter("page to write", metavar="FILE.html", short="-o")]
    mechanism: Annotated[str | None, chosen_run()] = None
    window: Window
    trust: TrustOption = False


def main(arguments: Arguments) -> None:
    """Run the command."""
    from pathlib import Path

    from holdfast.experiments.gantt.page import write_gantt
    from holdfast.experiments.recordings.archive import read_recording
    from holdfast.experiments.recordings.stored_allocations import has_pools, read_allocations

    check_outputs(arguments.output, None)
    allocations = read_allocations(arguments.directory, arguments.mechanism)
    pools = None
    if allocations is None and has_pools(arguments.directory, arguments.mechanism):
        from holdfast.experiments.recordings.pool_replays import replay_pools

        pools = replay_pools(arguments.directory, arguments.mechanism, trust=arguments.trust)
        recording = pools.recording
    else:
        recording = read_recording(
            arguments.directory, arguments.mechanism, events=allocations is None, trust=arguments.trust
        )
    window = arguments.window
    words = ["holdfast", "gantt", Path(arguments.directory).name or arguments.directory]
    words += ["--run" if recording.label else "--mechanism", recording.name]
    for name, value in (("--from", window.start), ("--to", window.end)):
        words += [] if value is None else [name, str(value)]
    shown = write_gantt(arguments.output, recording, window, shlex.join(words), allocations=allocations, pools=pools)
    size = Path(arguments.output).stat().st_size
    print(f"{shown:,} jobs under {recording.name} drawn in {arguments.output} ({size / 1e6:.1f} MB)")
