"""Inputs of ``holdfast plan``: distributions from options, and runtimes from files; all times are seconds."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.checksums import UNSEALED
from holdfast.workloads.ground.errors import InputError, ParameterError, TraceError, UnknownNameError, format_value
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.ground.parameters import Parameter, Values, declared_parameters
from holdfast.workloads.ground.units import parse_duration

if TYPE_CHECKING:
    import numpy as np

    from holdfast.policies.planning.plan import ReservationPlan
    from holdfast.workloads.distributions.distribution import Distribution

__all__ = [
    "DISTRIBUTIONS",
    "DistributionOptions",
    "make_distribution",
    "parse_unit",
    "read_plan",
    "read_plans",
    "read_runs",
]


#: What ends the cells of a table; the one that its header has most often, else the first.
_MARKS = (",", ";", "\t", "|")
#: Upper limit of a runtime [s], some 30,000 years: squares and sums of larger numbers would overflow.
_LONGEST = 1e12


@dataclass(frozen=True)
class _Number(Values):
    """Parser of a distribution's option, which stays a text until the unit is known.

    Attributes
    ----------
    legal
        Legal values, as a phrase.
    least
        Smallest legal value; 0 itself is not legal where only positive values are.
    strict
        Whether a value must be above ``least``.
    """

    legal: str = ""
    least: float = -math.inf
    strict: bool = False

    def value(self, text: str, option: str = "") -> float:
        """Parse a number or a duration [s]."""
        try:
            value = parse_duration(text, option) if self.unit else decimal(text)
        except ParameterError:
            raise
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < self.least or (self.strict and value == self.least):
            raise ParameterError(option, self.legal, text)
        return value


def _number(legal: str, *, timed: bool, least: float = -math.inf, strict: bool = False) -> _Number:
    def read(text: str) -> str:
        made.value(text)
        return text

    made = _Number("TIME" if timed else "NUMBER", read, unit="s" * timed, legal=legal, least=least, strict=strict)
    return made


_ABOVE_0 = _number("a duration above 0", timed=True, least=0.0, strict=True)
_POSITIVE = _number("a positive number", timed=False, least=0.0, strict=True)
_SHORTEST = _number("a duration of at least 0", timed=True, least=0.0)
_FINITE = _number("a finite number", timed=False)


def _about(text: str) -> Parameter:
    return Parameter(text, default="none")


@dataclass(frozen=True)
class DistributionOptions:
    """Options of distributions, as texts."""

    mean: Annotated[str | None, _ABOVE_0, _about("mean, before truncation")] = None
    std: Annotated[str | None, _ABOVE_0, _about("standard deviation, before truncation")] = None
    min: Annotated[str | None, _SHORTEST, _about("shortest runtime")] = None
    max: Annotated[str | None, _ABOVE_0, _about("longest runtime")] = None
    scale: Annotated[str | None, _ABOVE_0, _about("scale")] = None
    shape: Annotated[str | None, _POSITIVE, _about("shape")] = None
    shape2: Annotated[str | None, _POSITIVE, _about("second shape, of beta")] = None
    mu: Annotated[str | None, _FINITE, _about("mean of the logarithm, of lognormal")] = None
    sigma: Annotated[str | None, _POSITIVE, _about("standard deviation of the logarithm, of lognormal")] = None

    @property
    def given(self) -> dict[str, str]:
        """The given options."""
        return {name: text for name, text in vars(self).items() if text is not None}


_NUMBERS = {item.name: item.values for item in declared_parameters(DistributionOptions)}


@dataclass(frozen=True)
class _Words:
    """Required options of a distribution, optional ones, and its constructor."""

    needs: tuple[tuple[str, ...], ...]
    may: tuple[str, ...]
    make: Callable[[Mapping[str, float]], Distribution]


def _exponential(of: Mapping[str, float]) -> Distribution:
    from holdfast.workloads.distributions.named import exponential

    return _cut(exponential(of["mean"]), of)


def _weibull(of: Mapping[str, float]) -> Distribution:
    from holdfast.workloads.distributions.named import weibull

    return _cut(weibull(of["scale"], of["shape"]), of)


def _gamma(of: Mapping[str, float]) -> Distribution:
    from holdfast.workloads.distributions.named import gamma

    return _cut(gamma(of["shape"], of["scale"]), of)


def _lognormal(of: Mapping[str, float]) -> Distribution:
    from holdfast.workloads.distributions.named import lognormal, lognormal_from_moments

    if "mu" in of:
        # ln(seconds) = ln(unit) + ln(units)
        return _cut(lognormal(of["mu"] + math.log(of["unit"]), of["sigma"]), of)
    return _cut(lognormal_from_moments(of["mean"], of["std"]), of)


def _pareto(of: Mapping[str, float]) -> Distribution:
    from holdfast.workloads.distributions.named import bounded_pareto, pareto

    if "max" in of:
        return bounded_pareto(of["min"], of["max"], of["shape"])
    return pareto(of["min"], of["shape"])


def _make_truncated_normal(of: Mapping[str, float]) -> Distribution:
    from holdfast.workloads.distributions.named import normal, truncated_normal
    from holdfast.workloads.distributions.truncated import truncate

    least = of.get("min", 0.0)
    if "max" not in of:
        return truncate(normal(of["mean"], of["std"]), least, name="truncated-normal")
    return truncated_normal(of["mean"], of["std"], least, of["max"])


def _uniform(of: Mapping[str, float]) -> Distribution:
    from holdfast.workloads.distributions.named import uniform

    return uniform(of["min"], of["max"])


def _beta(of: Mapping[str, float]) -> Distribution:
    from holdfast.workloads.distributions.named import beta

    return beta(of["shape"], of["shape2"], of["max"])


def _cut(distribution: Distribution, of: Mapping[str, float]) -> Distribution:
    """Truncate the distribution at ``--min`` and ``--max``, where they are given."""
    from holdfast.workloads.distributions.truncated import truncate

    if "min" not in of and "max" not in of:
        return distribution
    return truncate(distribution, of.get("min"), of.get("max"))


#: The nine distributions of Table 1 of [R], by name.
DISTRIBUTIONS: dict[str, _Words] = {
    "exponential": _Words((("mean",),), ("min", "max"), _exponential),
    "weibull": _Words((("scale", "shape"),), ("min", "max"), _weibull),
    "gamma": _Words((("shape", "scale"),), ("min", "max"), _gamma),
    "lognormal": _Words((("mean", "std"), ("mu", "sigma")), ("min", "max"), _lognormal),
    "truncated-normal": _Words((("mean", "std"),), ("min", "max"), _make_truncated_normal),
    "pareto": _Words((("min", "shape"),), ("max",), _pareto),
    "uniform": _Words((("min", "max"),), (), _uniform),
    "beta": _Words((("shape", "shape2", "max"),), (), _beta),
    "bounded-pareto": _Words((("min", "max", "shape"),), (), _pareto),
}


def parse_unit(word: str) -> float:
    """Seconds in a unit that a user names.

    >>> parse_unit("h")
    3600.0
    """
    try:
        return parse_duration(f"1{word.strip()}")
    except ParameterError:
        raise ParameterError("--unit", "a unit of time such as s, m, h, d", word) from None


def make_distribution(name: str, given: Mapping[str, str], unit: float = 1.0) -> Distribution:
    """Make a distribution from options of the command line.

    Parameters
    ----------
    name
        One of :data:`LAWS`.
    given
        Values by the names of :class:`DistributionOptions`, as text.
    unit
        Seconds in the unit of ``exp(mu)``.

    Returns
    -------
    Distribution
        Distribution of runtimes [s].

    Raises
    ------
    UnknownNameError
        If there is no such distribution.
    InputError
        If options are missing, not applicable to the distribution, or have illegal values.

    Examples
    --------
    >>> make_distribution("uniform", {"min": "1h", "max": "20h"}).mean()
    37800.0
    """
    if name not in DISTRIBUTIONS:
        raise UnknownNameError("distribution", name, DISTRIBUTIONS)
    words = DISTRIBUTIONS[name]
    of = {option: _read(option, text) for option, text in given.items()}
    wanted = next((needs for needs in words.needs if set(needs) <= set(of)), None)
    usage = " or ".join(" ".join(f"--{option}" for option in needs) for needs in words.needs)
    if wanted is None:
        raise InputError(f"the distribution {name} needs {usage}")
    strange = [option for option in of if option not in (*wanted, *words.may)]
    if strange:
        offered = f", and may have {' '.join(f'--{option}' for option in words.may)}" if words.may else ""
        raise InputError(f"the distribution {name} takes {usage}{offered}, not --{strange[0]}")
    if of.get("max", math.inf) <= of.get("min", 0.0):
        raise ParameterError("--max", f"above --min ({given.get('min', '0')})", given["max"])
    distribution = words.make({**of, "unit": unit})
    try:
        mean = distribution.mean()
    except OverflowError:
        mean = math.inf
    if not mean < _LONGEST:
        found = "an infinite mean" if math.isinf(mean) else f"a mean of {mean:.3g} s"
        raise InputError(
            f"this distribution {name} has {found}, so that every plan costs too much; bound it with --max"
        )
    return distribution


def _read(option: str, text: str) -> float:
    values = _NUMBERS[option]
    assert isinstance(values, _Number)
    return values.value(text, f"--{option}")


def read_runs(path: str | Path, column: str | None = None, unit: float = 1.0, command: str = "plan") -> np.ndarray:
    """Runtimes of past runs from a file; warns of runs that did not complete by a column State.

    Parameters
    ----------
    path
        A file with one runtime per line (empty lines and those that begin with ``#`` are ignored), or a table with a
        header, whose cells end with a comma, a semicolon, a tab or, as in ``sacct -P``, a bar.
    column
        Name of the column; None: one runtime per line.
    unit
        Seconds in the unit of numbers without one. A runtime may also be one of sacct, such as ``1-12:00:00``.
    command
        Name of the command, for the warning.

    Returns
    -------
    ndarray of shape (runs,)
        Runtimes [s], in the order of the file.

    Raises
    ------
    TraceError
        If the file cannot be read, a value is not a positive duration, or there are no values.
    UnknownNameError
        If there is no such column.
    """
    import numpy as np

    from holdfast.workloads.ground.files import read_text
    from holdfast.workloads.logs.sacct_values import STATES

    states = Counter[str]()
    lines = read_text(path).splitlines()
    mark = max(_MARKS, key=lines[0].count) if lines else ","
    reader = csv.DictReader(lines, skipinitialspace=True, delimiter=mark)
    if column is None:
        cells: Iterable[tuple[int, str]] = (
            (number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")
        )
    else:
        head = [name.strip() for name in reader.fieldnames or ()]
        if column not in head:
            raise UnknownNameError(f"column of {path}", column, head)
        reader.fieldnames = head
        cells = _table_cells(reader, column, states)
    try:
        runs = [_runtime(path, number, text.strip(), unit) for number, text in cells]
    except csv.Error as error:
        raise TraceError(path, reader.line_num, f"is not a CSV file: {error}") from None
    if not runs:
        raise TraceError(path, None, "holds no runtimes")
    ended = [f"{states[name]:,} {name}" for name in STATES if name != "COMPLETED" and states[name]]
    if ended:
        warn(
            command,
            f"{path}: runs that did not complete count with the time until their end, which may be too short: "
            f"{', '.join(ended)}, of {len(runs):,}; 'sacct -s CD' prints completed ones alone",
        )
    return np.array(runs)


def _table_cells(reader: csv.DictReader[str], column: str, states: Counter[str]) -> Iterator[tuple[int, str]]:
    """Line and cell of a column of each row; counts the states in a column State."""
    from holdfast.workloads.logs.sacct_values import state_of_job

    state = next((name for name in reader.fieldnames or () if name.lower() == "state"), None)
    for row in reader:
        if state is not None:
            states[state_of_job(row[state] or "")] += 1
        yield reader.line_num, row[column] or ""


def read_plan(path: str | Path) -> ReservationPlan:
    """A plan from the file that ``holdfast plan --json`` wrote.

    Raises
    ------
    TraceError
        If the file cannot be read, was changed, or holds no plan.
    """
    return _plan_and_seal(path)[0]


def read_plans(paths: Mapping[str, str | Path], command: str) -> dict[str, ReservationPlan]:
    """Plans from several files, by name; the command warns of files without a digest."""
    found = {name: _plan_and_seal(path) for name, path in paths.items()}
    bare = [str(paths[name]) for name, (_, sealed) in found.items() if not sealed]
    if bare:
        others = f" (as {len(bare) - 1:,} more)" if len(bare) > 1 else ""
        warn(command, f"{bare[0]} {UNSEALED}{others}")
    return {name: plan for name, (plan, _) in found.items()}


def _plan_and_seal(path: str | Path) -> tuple[ReservationPlan, bool]:
    """A plan, and whether its file has a digest."""
    from holdfast.policies.planning.plan import ReservationPlan
    from holdfast.workloads.ground.checksums import is_sealed
    from holdfast.workloads.ground.documents import parse_json
    from holdfast.workloads.ground.files import decode_text, read_bytes

    raw = read_bytes(path)
    text = decode_text(raw, path)
    try:
        sealed = is_sealed(raw, parse_json(text, path))
        return ReservationPlan.from_json(text), sealed
    except TraceError:
        raise
    except InputError as error:
        raise TraceError(path, None, str(error)) from None


def _clock(text: str) -> float:
    """Seconds of ``[days-]hours:minutes:seconds``; nan for other texts.

    ``1:30`` is not accepted: it may be hours and minutes, or minutes and seconds.
    """
    from holdfast.workloads.logs.sacct_values import parse_clock

    try:
        return parse_clock(text, "runtime") if text.count(":") == 2 else math.nan
    except ValueError:
        return math.nan


def _runtime(path: str | Path, line: int, text: str, unit: float) -> float:
    try:
        value = decimal(text) * unit
    except ValueError:
        try:
            value = parse_duration(text)
        except ParameterError:
            value = _clock(text)
            if math.isnan(value):
                hint = "; name the column of a table with --column" if any(mark in text for mark in _MARKS) else ""
                reason = f"is not a runtime, such as 90m or 01:30:00: {text[:40]!r}{hint}"
                raise TraceError(path, line, reason) from None
    if not 0 < value < _LONGEST:
        raise TraceError(path, line, f"a runtime must be positive and below {_LONGEST:g} s, not {format_value(text)}")
    return value
