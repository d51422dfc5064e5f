"""``holdfast gantt``: write an interactive Gantt chart of a simulation as one HTML file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated

from holdfast.experiments.commands.options.arguments import TrustOption, check_outputs, chosen_run
from holdfast.experiments.commands.options.log_replays import SOURCE, is_log, replay_log
from holdfast.experiments.recordings.time_windows import Window
from holdfast.workloads.ground.parameters import Parameter
from holdfast.workloads.ground.wording import count_text

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    source: Annotated[str, Parameter(SOURCE, metavar="DIR", positional=True)]
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
    from holdfast.experiments.timelines.node_shares import node_share_sentence
    from holdfast.simulator.results.recording import Recording

    source, run = arguments.source, arguments.mechanism
    check_outputs(arguments.output, None)
    allocations = pools = None
    recording: Recording
    if is_log(source):
        recording = replay_log(source, "gantt", run)
    elif (allocations := read_allocations(source, run)) is None and has_pools(source, run):
        from holdfast.experiments.recordings.pool_replays import replay_pools

        pools = replay_pools(source, run, trust=arguments.trust)
        recording = pools.recording
    else:
        recording = read_recording(source, run, events=allocations is None, trust=arguments.trust)
    window = arguments.window
    words = ["holdfast", "gantt", Path(source).name or source]
    if not is_log(source):
        words += ["--run" if recording.label else "--mechanism", recording.name]
    for name, value in (("--from", window.start), ("--to", window.end)):
        words += [] if value is None else [name, str(value)]
    shown = write_gantt(arguments.output, recording, window, shlex.join(words), allocations=allocations, pools=pools)
    print(node_share_sentence(recording, window))
    size = Path(arguments.output).stat().st_size
    print(f"{count_text(shown, 'jobs')} under {recording.name} drawn in {arguments.output} ({size / 1e6:.1f} MB)")
