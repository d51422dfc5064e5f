"""Files of fitted rules: the options that they hold, and the error that answers quote."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.experiments.forecast.calibration import KIND
from holdfast.experiments.forecast.time_parsing import format_duration
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.numbers import is_number

__all__ = ["FittedRule", "is_rule_file", "read_rule"]


class FittedRule(NamedTuple):
    """A rule that was fitted to recorded starts.

    Attributes
    ----------
    order, backfilling
        Options.
    error
        Median distance of the starts from the recorded ones in the weeks held out [s].
    usual
        The same under FCFS with EASY backfilling [s].
    """

    order: str
    backfilling: str
    error: float
    usual: float

    @property
    def words(self) -> str:
        """The options as on a command line."""
        return shlex.join(["--order", self.order, "--backfilling", self.backfilling])

    def sentence(self, source: str) -> str:
        """The options, their source and their error."""
        return (
            f"{source} is taken: {self.words}; with true runtimes in weeks held out half of its starts are within "
            f"{_span(self.error)} of the recorded ones (FCFS with EASY: {_span(self.usual)})"
        )


def is_rule_file(text: str) -> bool:
    """Whether a value of ``--order`` is a file of ``holdfast calibrate``, rather than an order."""
    return text.endswith(".json") and " " not in text


def read_rule(path: str) -> FittedRule:
    """Read a file of ``holdfast calibrate``.

    Raises
    ------
    InputError
        If it cannot be read, or is no such file.
    """
    try:
        found: Any = json.loads(read_text(Path(path)))
        if found["kind"] != KIND:
            raise ValueError
        options = found["options"]
        order, backfilling = options["order"], options["backfilling"]
        errors = found["held_out"][0]["error"], found["fcfs_easy"]["error"]
        numbers = all(is_number(error) and 0 <= error < 1e12 for error in errors)
        if not (isinstance(order, str) and isinstance(backfilling, str) and numbers):
            raise ValueError
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InputError(
            f"--order {path} must be an order, or a file that 'holdfast calibrate -o' has written"
        ) from None
    return FittedRule(order, backfilling, *errors)


def _span(seconds: float) -> str:
    return format_duration(seconds) if seconds >= 1 else "0 s"
