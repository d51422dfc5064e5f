"""Fingerprints of the sources, which identify the code that produced a stored result.

A version number is not sufficient: it does not change with every edit, and a worker on another machine may have other
sources. Docstrings and comments are excluded, so that rewording them does not invalidate results.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from functools import cache
from pathlib import Path

from holdfast.workloads.ground.release import VERSION

__all__ = [
    "MODEL",
    "back_test_fingerprint",
    "commit",
    "experiment_fingerprint",
    "model_fingerprint",
    "release_line",
    "source_fingerprint",
    "strip_comments",
    "year_fingerprint",
]

_ROOT = Path(__file__).parents[2]
#: What a wheel has in place of a repository; written by ``.ci/build_hook.py``.
_STORED_COMMIT = _ROOT / "commit.txt"
#: Sources that determine a simulation's result, including distributions and planning for stochastic jobs.
MODEL = (
    "workloads/**/*.py",
    "policies/**/*.py",
    "simulator/**/*.py",
    "experiments/sweeps/job_tables.py",
    "experiments/sweeps/simulations.py",
    "experiments/sweeps/delays.py",
)
_PACKAGES = ("workloads", "policies", "simulator", "experiments")
_EXPERIMENTS = (*MODEL, "experiments/**/*.py")
_YEARS = (*MODEL, "experiments/study/year_runs.py")
#: Of the forecasts, what no back-test depends on: its rows are what corrections and advice are made from.
_AFTER_BACK_TESTS = tuple(
    f"experiments/forecast/{name}.py"
    for name in (
        "advice",
        "back_test_cache",
        "calibration",
        "corrected_waits",
        "correction",
        "corrector",
        "interval_calibration",
        "linear_pool",
        "median_errors",
        "report",
        "rule_file",
        "track_record",
        "wait_quantiles",
        "what_if",
    )
)
_BACK_TESTS = (*MODEL, "experiments/forecast/*.py", "experiments/beyond/log_sections.py")
#: Folders that no measurement depends on: commands, figures and reports.
_OUTSIDE = (
    "simulator/conformance/",
    *(f"experiments/{folder}/" for folder in ("commands", "exports", "figures", "gantt", "stories", "study/report")),
)
#: Docstrings and comment lines. Regular expressions are used because parsing with ``ast`` takes a second.
_DOCSTRING = re.compile(r'^([ ]*)r?"""(?:[^"\\]|\\.|"(?!""))*"""$', re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^[ ]*#.*\n", re.MULTILINE)


def strip_comments(source: str) -> str:
    '''The source of a module without docstrings and comment lines.

    >>> strip_comments('def f():  # one\\n    # two\\n    """Three."""\\n    return 4\\n')
    'def f():  # one\\n    ...\\n    return 4\\n'
    '''
    return _COMMENT.sub("", _DOCSTRING.sub(r"\1...", source))


@cache
def model_fingerprint() -> str:
    """Digest of all sources that determine a simulation's result, as 16 hexadecimal digits."""
    return _digest(MODEL)


@cache
def experiment_fingerprint() -> str:
    """Digest of all sources that determine measurements of experiments, as 16 hexadecimal digits."""
    return _digest(_EXPERIMENTS)


@cache
def year_fingerprint() -> str:
    """Digest of all sources that determine simulated years (``holdfast.experiments.study.year_runs``)."""
    return _digest(_YEARS)


@cache
def back_test_fingerprint() -> str:
    """Digest of all sources that determine back-tests (``holdfast.experiments.beyond.log_sections``)."""
    return _digest(_BACK_TESTS, _AFTER_BACK_TESTS)


@cache
def source_fingerprint() -> str:
    """Digest of all sources, those of commands and figures included; the same in a checkout and in its wheel."""
    return _digest(("*.py", *(f"{name}/**/*.py" for name in _PACKAGES)), outside=())


@cache
def commit() -> str:
    """The commit of the sources: 40 hexadecimal digits, and ``-modified`` if files differ from it.

    A wheel has it stored. In a checkout git is asked; ``unknown`` if neither has an answer.
    """
    if _STORED_COMMIT.is_file():
        return _STORED_COMMIT.read_text(encoding="ascii").strip()
    checkout = _ROOT.parent
    if not (checkout / ".git").exists():  # git would answer for a repository further up
        return "unknown"
    words = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=-modified"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"


def release_line() -> str:
    """Version, commit and digest of the sources, as ``--version`` prints them and a crash file has them."""
    return f"{VERSION} (commit {commit()}, sources {source_fingerprint()})"


def _digest(patterns: tuple[str, ...], without: tuple[str, ...] = (), *, outside: tuple[str, ...] = _OUTSIDE) -> str:
    found = {path.relative_to(_ROOT).as_posix(): path for pattern in patterns for path in _ROOT.glob(pattern)}
    digest = hashlib.sha256()
    for name in sorted(found):
        if not name.startswith(outside) and name not in without:
            digest.update(f"{name}\0".encode())
            source = strip_comments(found[name].read_text(encoding="utf-8"))
            digest.update(hashlib.sha256(source.encode()).digest())
    return digest.hexdigest()[:16]
