"""Handling of failed commands: one sentence on standard error, an exit status, and a crash file if the defect is
ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from holdfast.experiments.terminal import complain, escape
from holdfast.workloads.ground.errors import error_sentence, is_foreign

__all__ = ["DEFECT", "REFUSED", "refuse", "report"]

#: Exit status for bad input or missing resources.
REFUSED = 2
#: Exit status of a defect of Holdfast or of a plug-in (EX_SOFTWARE of sysexits.h).
DEFECT = 70

#: Longest quotation of the user's input in a message [characters].
_LONGEST = 300
#: Packages to list with their versions in a crash file.
_PACKAGES = ("simpy", "numpy", "scipy", "pandas", "numba", "loky", "matplotlib", "pyarrow", "distributed")


def refuse(program: str, sentence: str) -> None:
    """Print an error of a command (``"holdfast run"``) as one line, with long quotations cut."""
    plain = escape(sentence)
    if len(plain) > 3 * _LONGEST:
        plain = f"{plain[: 2 * _LONGEST]}...{plain[-_LONGEST:]}"
    with suppress(OSError, ValueError):  # the terminal may be gone
        complain(program, "error", plain)


def report(command: str, error: Exception, words: Sequence[str], release: Callable[[], str]) -> int:
    """Report the failure of a command in one sentence.

    Parameters
    ----------
    command
        The command as it was called, e.g. ``"run"``.
    error
        The error that it raised.
    words
        The whole command line, for the crash file.
    release
        Version, commit and digest of the sources, for the crash file.

    Returns
    -------
    int
        Exit status: :data:`REFUSED` for bad input and missing resources (memory, disk space, permission),
        :data:`DEFECT` for a defect of Holdfast or of a plug-in, with its traceback in a crash file.

    Raises
    ------
    Exception
        The defect itself, if Python runs in development mode (``python -X dev``).
    """
    if is_foreign(error):
        refuse(f"holdfast {command}", error_sentence(error))
        return REFUSED
    if sys.flags.dev_mode:
        raise error
    path = _crash_file(error, words, release)
    report = "its crash file cannot be written" if path is None else f"please report it with {path}"
    cause = error_sentence(error)[:_LONGEST]
    refuse(
        f"holdfast {command}",
        f"{cause} ({type(error).__name__}); {report}; 'python -X dev -m holdfast' shows the traceback",
    )
    return DEFECT


def _crash_file(error: Exception, words: Sequence[str], release: Callable[[], str]) -> str | None:
    """Write the details of a defect to a new file in the temporary directory; None if that fails."""
    # Imported here, because commands start sooner without these: ``--help`` takes 68 in place of 80 ms.
    import platform
    import shlex
    import tempfile
    import traceback
    from datetime import UTC, datetime

    try:
        sources = release()
    except OSError:  # the sources cannot be read, which may be the defect
        sources = "unknown"
    lines = [
        f"time: {datetime.now(UTC).isoformat(timespec='seconds')}",
        f"holdfast: {sources}",
        f"command: {shlex.join(['holdfast', *words])}",
        f"python: {platform.python_version()} on {platform.platform()}",
        *(f"{name}: {_version(name)}" for name in _PACKAGES),
        "",
        *traceback.format_exception(error),
    ]
    try:
        # Readable only by its owner, because the command line may contain private names.
        descriptor, path = tempfile.mkstemp(prefix="holdfast-crash-", suffix=".txt")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write("\n".join(lines))
        except OSError:
            os.unlink(path)  # noqa: PTH108
            return None
    except OSError:  # no directory, or a full disk
        return None
    return path


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
