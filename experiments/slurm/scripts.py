"""Batch scripts of a sequence, generated from templates; values from the user are quoted for the shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from holdfast.experiments.slurm.templates import fill_template

if TYPE_CHECKING:
    from holdfast.experiments.slurm.job_chain import Link
    from holdfast.experiments.slurm.reservation_sequence import Sequence

__all__ = ["make_scripts"]

#: Longest time between signal and limit in Slurm [s]; for longer times the script uses a timer.
_LONGEST_NOTICE = 65_535


def make_scripts(sequence: Sequence, directory: str) -> dict[str, str]:
    """Text of each script, by the name of its file.

    Parameters
    ----------
    sequence
        The sequence to submit.
    directory
        Absolute path of the directory for the scripts.
    """
    place = shlex.quote(directory)
    options = [
        f"--job-name={sequence.name}",
        f"--chdir={sequence.folder}",
        f"--output={escape_pattern(directory)}/log",
        "--open-mode=append",
        *sequence.options,
    ]
    words = {"DIRECTORY": place, "OPTIONS": _words(options), "LAST": str(len(sequence.links))}
    shared = {
        "DIRECTORY": place,
        "PROGRAM": _words(sequence.program),
        "HISTORY": shlex.quote(sequence.history),
        "NODES": str(sequence.nodes),
        "RETRIES": str(sequence.retries),
    }
    scripts = {name: fill_template(name, words) for name in ("submit.sh", "cancel.sh")}
    for link in sequence.links:
        scripts[f"reservation-{link.number}.sh"] = fill_template("reservation.sh", {**shared, **_of_link(link)})
    return scripts


def escape_pattern(path: str) -> str:
    """Escape a path for options of Slurm in which a per cent sign begins a pattern."""
    return path.replace("%", "%%")


def _of_link(link: Link) -> dict[str, str]:
    signalled = link.checkpointed and link.notice <= _LONGEST_NOTICE
    return {
        "NUMBER": str(link.number),
        "MINUTES": str(link.minutes),
        "SIGNAL": f"#SBATCH --signal=B:USR1@{link.notice}" if signalled else "# no signal",
        "CHECKPOINTED": str(int(link.checkpointed)),
        "SAVE_AFTER": str(link.save_after),
        "RESTART": str(link.restart),
        "CHECKPOINT": str(link.checkpoint),
    }


def _words(words: Iterable[str]) -> str:
    return " ".join(map(shlex.quote, words))
