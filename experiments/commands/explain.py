"""``holdfast explain``: the story of a job."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import add_choice, add_trust

if TYPE_CHECKING:
    from experiments.stories.story import Stories

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("directory", metavar="DIR", help="results of 'holdfast run --events'")
    parser.add_argument("job", metavar="JOB", nargs="*", help="job ids, as 287 or 287_1")
    add_choice(parser)
    parser.add_argument("--all", action="store_true", help="print long lists in full")
    parser.add_argument(
        "--worst",
        metavar="N",
        help="list the N jobs with the longest waits, largest slowdowns and largest losses (default: none)",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write the facts as JSON; '-' is standard output (default: not written)"
    )
    add_trust(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.commands.asking.arguments import check_outputs, read_job_id, whole
    from experiments.recordings.archive import read_recording
    from experiments.stories.worst import worst, worst_table
    from workloads.ground.errors import InputError

    ids = [read_job_id(word, "JOB") for word in arguments.job]
    most = None if arguments.worst is None else whole(arguments.worst, "--worst", 1)
    if not ids and most is None:
        raise InputError("give a job id, or list the worst jobs with --worst 5")
    check_outputs(arguments.json, None)
    told: list[dict[str, object]] = []
    blocks: list[str] = []
    if most is not None:
        recording = read_recording(arguments.directory, arguments.mechanism, events=False, trust=arguments.trust)
        told += worst(recording, most)
        blocks.append(worst_table(recording, most) or "No job waited, was slowed down or lost anything.")
    if ids:
        stories = _stories(arguments)
        for job_id in ids:
            story = stories.story(job_id)
            told.append(story.as_json())
            blocks.append(story.at_length() if arguments.all else str(story))
    if arguments.json is not None:
        _write(arguments.json, told[0] if len(told) == 1 and most is None else told)
    if arguments.json != "-":
        print("\n\n".join(blocks))


def _stories(arguments: argparse.Namespace) -> Stories:
    from pathlib import Path

    from experiments.output.seals import open_sealed
    from experiments.recordings.archive import read_recording
    from experiments.recordings.runfile import RUN, measurement_of
    from experiments.stories.story import Stories

    recording = read_recording(arguments.directory, arguments.mechanism, decisions=True, trust=arguments.trust)
    place = Path(arguments.directory)
    told = open_sealed(place, RUN, check=False).told
    measurement = measurement_of(place, told)
    return Stories(
        recording,
        instant_tolerance=measurement.instant_tolerance if "measurement" in told else None,
    )


def _write(path: str, facts: object) -> None:
    from workloads.ground.files import atomic_open

    # The one control character that JSON may hold as it is, and a terminal should not get.
    text = json.dumps(facts, indent=2).replace("\x7f", "\\u007f") + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    with atomic_open(path) as file:
        file.write(text)
