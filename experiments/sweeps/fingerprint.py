"""Fingerprints of the sources, which identify the code that produced a stored result.

A version number is not sufficient: it does not change with every edit, and a worker on another machine may have other
sources. Docstrings and comments are excluded, so that rewording them does not invalidate results.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

__all__ = [
    "MODEL",
    "back_test_fingerprint",
    "deciding",
    "experiment_fingerprint",
    "model_fingerprint",
    "year_fingerprint",
]

_ROOT = Path(__file__).parents[2]
#: Sources that determine a simulation's result, including distributions and planning for stochastic jobs.
MODEL = (
    "workloads/**/*.py",
    "policies/**/*.py",
    "simulator/**/*.py",
    "experiments/sweeps/simulations.py",
    "experiments/sweeps/delays.py",
)
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


def deciding(source: str) -> str:
    '''The source of a module without docstrings and comment lines.

    >>> deciding('def f():  # one\\n    # two\\n    """Three."""\\n    return 4\\n')
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


def _digest(patterns: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
    found = {path.relative_to(_ROOT).as_posix(): path for pattern in patterns for path in _ROOT.glob(pattern)}
    digest = hashlib.sha256()
    for name in sorted(found):
        if not name.startswith(_OUTSIDE) and name not in without:
            digest.update(f"{name}\0".encode())
            source = deciding(found[name].read_text(encoding="utf-8"))
            digest.update(hashlib.sha256(source.encode()).digest())
    return digest.hexdigest()[:16]
