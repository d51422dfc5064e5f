"""``holdfast explain``: explain why a job waited, was preempted, or was delayed."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from holdfast.experiments.commands.options.arguments import JOB_ID, TrustOption, chosen_run, json_file
from holdfast.experiments.commands.options.log_replays import SOURCE, is_log, replay_log
from holdfast.workloads.ground.parameters import Parameter, wholes

if TYPE_CHECKING:
    from holdfast.experiments.stories.machine_story import MachineStories
    from holdfast.experiments.stories.pool_story import PoolStories
    from holdfast.experiments.stories.story import Stories
    from holdfast.simulator.results.recording import Recording
    from holdfast.simulator.results.result import Result

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    source: Annotated[str, Parameter(SOURCE, metavar="DIR", positional=True)]
    job: Annotated[
        tuple[int, ...], JOB_ID, Parameter("job ids, as 287 or 287_1", metavar="JOB", positional=True, repeated=True)
    ] = ()
    mechanism: Annotated[str | None, chosen_run()] = None
    all: Annotated[bool, Parameter("print long lists in full")] = False
    worst: Annotated[
        int | None,
        wholes(1),
        Parameter(
            "list the N jobs with the longest waits, largest slowdowns and largest losses; 1 also explains the longest "
            "wait",
            default="none",
        ),
    ] = None
    json: Annotated[str | None, json_file()] = None
    trust: TrustOption = False


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.commands.options.arguments import check_outputs
    from holdfast.experiments.recordings.archive import read_recording
    from holdfast.experiments.stories.worst_jobs import worst, worst_table
    from holdfast.workloads.ground.errors import InputError

    ids, most = arguments.job, arguments.worst
    if not ids and most is None:
        raise InputError("give a job id, or list the worst jobs with --worst 5")
    check_outputs(arguments.json, None)
    replay = None
    if is_log(arguments.source):
        replay = replay_log(arguments.source, "explain", arguments.mechanism)
    facts: list[dict[str, object]] = []
    blocks: list[str] = []
    if most is not None:
        recording: Recording | None = replay
        if recording is None:
            recording = read_recording(arguments.source, arguments.mechanism, events=False, trust=arguments.trust)
        facts += worst(recording, most)
        blocks.append(worst_table(recording, most) or "No job waited, was slowed down or lost anything.")
        longest = next((int(str(row["job_id"])) for row in facts if row["ranking"] == "wait"), None)
        if most == 1 and longest is not None:
            with suppress(InputError):  # the table needs no event log, a story does
                blocks.append(str(_stories(arguments, replay).story(longest)))
    if ids:
        stories = _stories(arguments, replay)
        for job_id in ids:
            story = stories.story(job_id)
            facts.append(story.as_json())
            blocks.append(story.at_length() if arguments.all else str(story))
    if arguments.json is not None:
        _write(arguments.json, facts[0] if len(facts) == 1 and most is None else facts)
    if arguments.json != "-":
        print("\n\n".join(blocks))


def _stories(arguments: Arguments, replay: Result | None) -> Stories | MachineStories | PoolStories:
    from pathlib import Path

    from holdfast.experiments.output.manifest import open_result
    from holdfast.experiments.recordings.archive import read_recording
    from holdfast.experiments.recordings.run_file import RUN, recorded_measurement
    from holdfast.experiments.recordings.stored_allocations import has_pools, read_allocations
    from holdfast.experiments.stories.story import Stories

    if replay is not None:
        return Stories(replay)
    allocations = read_allocations(arguments.source, arguments.mechanism)
    if allocations is not None:
        from holdfast.experiments.stories.machine_story import MachineStories

        recording = read_recording(arguments.source, arguments.mechanism, events=False, trust=arguments.trust)
        return MachineStories(recording, allocations)
    pools = has_pools(arguments.source, arguments.mechanism)
    recording = read_recording(
        arguments.source, arguments.mechanism, events=not pools, decisions=True, trust=arguments.trust
    )
    place = Path(arguments.source)
    content = open_result(place, RUN, check=False).content
    measurement = recorded_measurement(place, content)
    tolerance = measurement.instant_tolerance if "measurement" in content else None
    if pools:
        from holdfast.experiments.recordings.pool_replays import replay_pools
        from holdfast.experiments.stories.pool_story import PoolStories

        replays = replay_pools(arguments.source, arguments.mechanism, trust=arguments.trust)
        return PoolStories(replays, instant_tolerance=tolerance)
    return Stories(recording, instant_tolerance=tolerance)


def _write(path: str, facts: object) -> None:
    from holdfast.workloads.ground.files import atomic_open

    # The one control character that JSON may hold as it is, and a terminal should not get.
    text = json.dumps(facts, indent=2).replace("\x7f", "\\u007f") + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    with atomic_open(path) as file:
        file.write(text)
