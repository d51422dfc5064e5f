"""Calls of Slurm's command-line tools, with a one-sentence error if they are missing or refuse."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.workloads.ground.errors import InputError

__all__ = ["call", "submit"]

#: Time limit of a command [s]; a busy controller may take a minute.
_PATIENCE = 120.0


def call(words: Sequence[str], *, environment: Mapping[str, str] | None = None) -> str:
    """Call a command and return its output.

    Parameters
    ----------
    words
        The command and its arguments.
    environment
        Environment variables in addition to those of this process.

    Raises
    ------
    InputError
        If the command is missing, fails, or times out.
    """
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
            # SIGPIPE stays ignored: where a busy daemon closes a connection, the command connects again or says so.
            restore_signals=False,
            env={**os.environ, **(environment or {})},
        )
    except FileNotFoundError:
        raise InputError(f"{words[0]} is not installed; this needs a machine with Slurm's commands") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{words[0]} did not answer within {_PATIENCE:g} s") from None
    if done.returncode:
        message = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise InputError(f"{words[0]} failed: {message or _exit_description(done.returncode)}")
    return done.stdout.decode("utf-8", "replace")


def _exit_description(status: int) -> str:
    """How a program ended, by its exit status; minus the number of a signal."""
    return f"exit status {status}" if status > 0 else f"ended by signal {-status} ({signal.strsignal(-status)})"


def submit(directory: Path, *, environment: Mapping[str, str] | None = None) -> None:
    """Call the script that submits a sequence.

    Parameters
    ----------
    directory
        Directory of the sequence.
    environment
        Environment variables in addition to those of this process.

    Raises
    ------
    InputError
        If a reservation cannot be submitted. What has been submitted is recorded and held; the next call goes on.
    """
    call(["bash", str(directory / "submit.sh")], environment=environment)
