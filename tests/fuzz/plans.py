"""Random command lines of ``holdfast plan``: distributions, costs and grids at and beyond the limits of a double.

Run with ``python -m tests.fuzz.plans 10000 --seed 1``: it prints every command line that ended in anything but a plan
or one sentence, or took longer than 20 s, and how much memory the process has had.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import resource
import signal
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from holdfast.experiments import cli
from holdfast.experiments.planning.plan_inputs import DISTRIBUTIONS, DistributionOptions
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.workloads.ground.parameters import declared_parameters

__all__ = ["Slow", "command_line", "fault"]

#: A command may take that long [s].
LIMIT = 20
_UNITS = ("", "s", "m", "h", "d", "y", "us", "ms", "w", "parsec")
_EXTREMES = (
    *("0", "-0.0", "1e-320", "5e-324", "1e-300", "1e-9", "1e9", "1e12", "1e15", "1e30", "1e100", "1e154", "1e200"),
    *(
        "1e250",
        "1e307",
        "1.7e308",
        "1e309",
        "inf",
        "-inf",
        "nan",
        "-1",
        "1_0",
        "0x10",
        "",
        " ",
        "½",
        "9" * 30,
        "9" * 400,
    ),
    *("0." + "0" * 30 + "1", "1e999999999", "1.0000000000000002", "0.9999999999999999", "--", "1h-1h", "1h30m", "--n"),
)
_CELLS = ("1", "2", "3", "17", "60", "0", "-1", "1e3", "20001", "100000000", "9" * 30, "9" * 5000, "inf", "nan", "1.5")
#: Options of distributions, and whether each is a duration.
_OPTIONS = {item.name: item.metavar == "TIME" for item in declared_parameters(DistributionOptions)}
_NEEDED = {
    name: [option for needs in distribution.needs for option in needs] for name, distribution in DISTRIBUTIONS.items()
}


class Slow(BaseException):
    """Raised when a command takes too long; no handler of errors catches it."""


def _number(rng: np.random.Generator, wild: float) -> str:
    if rng.random() < wild:
        return str(rng.choice(_EXTREMES))
    exponent = rng.choice([2.0, 8.0, 40.0, 300.0], p=[0.85, 0.1, 0.03, 0.02])
    return f"{10 ** rng.uniform(-exponent, exponent):.{int(rng.integers(1, 17))}g}"


def _value(rng: np.random.Generator, wild: float, duration: bool) -> str:
    number = _number(rng, wild)
    if not duration:
        return number
    words = number + str(rng.choice(_UNITS, p=[0.3, 0.1, 0.2, 0.2, 0.08, 0.04, 0.02, 0.02, 0.03, 0.01]))
    return words + _number(rng, wild) + "m" if rng.random() < 0.03 else words


def command_line(rng: np.random.Generator, folder: Path) -> list[str]:
    """Words after ``holdfast plan``.

    Parameters
    ----------
    rng
        Draws everything.
    folder
        Where a file of runs is written, if one is drawn.
    """
    wild = float(rng.choice([0.0, 0.08, 0.4], p=[0.3, 0.5, 0.2]))
    words: list[str] = []
    if rng.random() < 0.06:
        runs = [_value(rng, wild / 4, True) for _ in range(int(rng.choice([1, 2, 3, 8])))]
        runs += [runs[0]] * int(rng.integers(0, 3))
        (folder / "runs.txt").write_text("\n".join(runs) + "\n", encoding="utf-8")
        how = str(rng.choice(["discrete", "polynomial", "interpolated", "kernel"]))
        words += ["--runs", str(folder / "runs.txt"), "--fit", how]
    else:
        name = str(rng.choice([*DISTRIBUTIONS]))
        words.append(name)
        for option, timed in _OPTIONS.items():
            if rng.random() < (0.97 if option in _NEEDED[name] else 0.3 if option in DISTRIBUTIONS[name].may else 0.01):
                words += [f"--{option}", _value(rng, wild, timed)]
    for option, often in (("checkpoint", 0.6), ("restart", 0.6), ("gamma", 0.4)):
        if rng.random() < often:
            words += [f"--{option}", _value(rng, wild, True)]
    for option in ("alpha", "beta"):
        if rng.random() < 0.4:
            words += [f"--{option}", _value(rng, wild, False)]
    if rng.random() < 0.5:
        factor = f"masi factor={_number(rng, 0.5)}" if rng.random() < 0.5 else f"masi k={rng.choice(_CELLS)}"
        tau = f"no-ckpt-periodic tau={rng.choice(_CELLS)}"
        most = f"all-ckpt-periodic most={rng.choice(_CELLS)}"
        words += [
            "--strategy",
            str(rng.choice([*list(STRATEGIES), factor, tau, most, f"optimal n={rng.choice(_CELLS)}"])),
        ]
    # Mostly a small grid, so that many command lines take little time.
    if rng.random() < 0.9:
        words += ["--n", str(rng.choice(_CELLS)) if rng.random() < wild else str(rng.integers(1, 80))]
    if rng.random() < 0.03:
        words += ["--epsilon", _number(rng, 0.5)]
    if rng.random() < 0.1:
        words += ["--grid", str(rng.choice(["equal-time", "equal-probability", "cubic"]))]
    if rng.random() < 0.1:
        words += ["--unit", str(rng.choice(_UNITS))]
    # All strategies, two of which try a thousand plans.
    if rng.random() < 0.04:
        words.append("--compare")
    if rng.random() < 0.3:
        words += ["--json", "-"]
    return words


def fault(words: list[str]) -> str | None:
    """What is wrong with how ``holdfast plan`` answers these words; None where it gives a plan or one sentence."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            status = cli.main(["plan", *words])
    except SystemExit as stopped:  # argparse
        status = stopped.code  # type: ignore[assignment]
    except Slow:
        return f"took longer than {LIMIT} s"
    except Exception as error:
        import traceback

        at = traceback.extract_tb(error.__traceback__)
        ours = next((f for f in reversed(at) if re.search(r"(policies|workloads|experiments)/", f.filename)), at[-1])
        return f"{type(error).__name__} at {Path(ours.filename).name}:{ours.lineno}: {error}"[:200]
    # A hint at times without a unit comes beside any answer.
    lines = err.getvalue().strip().splitlines()
    message = "\n".join(line for line in lines if not re.search(r"warning: .* (have|has) no unit and", line))
    if status == 0:
        if message:
            return f"a plan, and on standard error: {message[:100]}"
        wrong = re.search(r"\b(nan|inf|infinity)\b", out.getvalue().split("\n", 1)[-1].lower())
        return f"a plan with {wrong[0]} in it" if wrong else None
    if status != 2 or out.getvalue() or len(message.splitlines()) != 1:
        return f"status {status}, {len(out.getvalue())} characters of output, {message[:200]}"
    return f"a sentence of {len(message)} characters" if len(message) > 700 else None


def main() -> None:
    """Try many command lines and print the faults."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()

    def stop(*_: Any) -> NoReturn:
        raise Slow

    signal.signal(signal.SIGPROF, stop)
    faults: Counter[str] = Counter()
    slowest: tuple[float, list[str]] = (0.0, [])
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.count):
            words = command_line(np.random.default_rng([asked.seed, number]), Path(folder))
            # Time of the processor: a busy machine is no fault.
            signal.setitimer(signal.ITIMER_PROF, LIMIT)
            began = time.process_time()
            try:
                found = fault(words)
            except Slow:
                found = f"took longer than {LIMIT} s"
            signal.setitimer(signal.ITIMER_PROF, 0)
            slowest = max(slowest, (time.process_time() - began, words))
            if found:
                kind = re.sub(r"[-+.\d]+(e[-+]?\d+)?", "#", found)
                faults[kind] += 1
                if faults[kind] <= 2:
                    print(f"{number}: {found}\n    {' '.join(words)[:400]}", flush=True)
            if number % 1000 == 999:
                print(f"{number + 1} done", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{asked.count} command lines, {sum(faults.values())} faults of {len(faults)} kinds")
    print(f"slowest {slowest[0]:.1f} s: {' '.join(slowest[1])[:300]}; {memory:.2f} GB at most")


if __name__ == "__main__":
    main()
