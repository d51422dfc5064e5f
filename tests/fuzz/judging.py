"""Judging: one case is carried out in this process, and what comes of it is accepted or is a finding."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import shutil
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from holdfast.experiments import cli
from holdfast.experiments.crashes import report
from holdfast.workloads.ground.errors import is_foreign
from tests.fuzz.cases import Case
from tests.places import PACKAGES

__all__ = ["MEMORY", "SECONDS", "Judgement", "judge", "limited_memory"]

#: Processor time that a case may take [s].
SECONDS = 20
#: Memory that a process may take [bytes].
MEMORY = 2 << 30
#: What a sentence for a user does not contain.
_PYTHON = re.compile(
    r"Traceback|Error\(|Error:|Exception|KeyError|ValueError|TypeError|maximum recursion|set_int_max_str_digits|\[Errno"
    r"|<class|<function|<module|<object|object at 0x|__\w+__|\barray\(|dtype|\bnumpy\b|\bnp\.\w|float64|int64|lambda"
    r"|invalid literal|could not convert|codec can't|unhashable|subscriptable|not iterable|has no attribute"
    r"|cannot unpack|positional argument|keyword argument|not enough values|too many values"
    r"|must be real number|expected string or"
    r"|Expecting |list index|index out of|out of bounds|math (?:domain|range)|not supported between"
    r"|NoneType|\bstr\b|\bint\b|\bdict\b|\bNone\b|\bTrue\b|\bFalse\b"
)
#: What stands between quotes is the user's.
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
#: Longer than this is no sentence.
_LONG = 1000
#: A progress bar, which begins anew wherever it is drawn.
_BAR = re.compile(r"\r?[^\r\n]*\[\d\d:\d\d[<,][^\r\n]*(?:\n|(?=\r)|$)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029]")
#: Commands of which some of several things may fail, which exit status 1 says.
_SEVERAL = frozenset({"sweep", "reproduce", "policies", "verify"})


class Judgement(NamedTuple):
    """What came of a case.

    Attributes
    ----------
    status
        The exit status; -1 where there was none.
    finding
        What is wrong: the same text where the fault is the same; empty: nothing.
    details
        A traceback, or what was said.
    """

    status: int
    finding: str = ""
    details: str = ""


#: To make the parsers of all commands takes longer than most cases, and they are the same each time.
_parser = cache(cli._parser)


def _report(command: str, error: Exception, words: Sequence[str], release: Callable[[], str]) -> int:
    """A defect, and memory for what is small, are findings, and want their traceback."""
    if isinstance(error, MemoryError) or not is_foreign(error):
        raise error
    return report(command, error, words, release)


class _Hang(BaseException):
    """The time is up."""


@contextmanager
def limited_memory() -> Iterator[None]:
    """Let this process, which has imported what it needs, take no more than :data:`MEMORY` meanwhile."""
    pages = [int(count) for count in Path("/proc/self/statm").read_text().split()[:2]]
    mapped, resident = (count * resource.getpagesize() for count in pages)
    # Much is mapped that is never touched: what counts is what is added.
    most = mapped - resident + MEMORY
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise _Hang

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judge(case: Case, place: Path) -> Judgement:
    """Carry out a case in an empty directory, which is removed afterwards.

    Parameters
    ----------
    case
        What to call.
    place
        A directory that is there, in which one for the case is made.
    """
    before, directory = Path.cwd(), place / "case"
    shutil.rmtree(directory, ignore_errors=True)
    for name, data in case.files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    directory.mkdir(exist_ok=True)
    os.chdir(directory)
    try:
        judgement = _call(case.words, case)
        if case.then and judgement.status == 0 and not judgement.finding:
            judgement = _call(case.then, case)
        return judgement
    finally:
        os.chdir(before)
        shutil.rmtree(directory, ignore_errors=True)


def _call(words: tuple[str, ...], case: Case) -> Judgement:
    out, err = io.StringIO(), io.StringIO()
    try:
        with (
            mock.patch.object(cli, "_parser", _parser),
            mock.patch.object(cli, "report", _report),
            _alarm(),
            warnings.catch_warnings(record=True) as warned,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            warnings.simplefilter("always")
            try:
                status = cli.main(words)
            except SystemExit as exit:
                status = exit.code if isinstance(exit.code, int) else 1
    except _Hang as error:
        return Judgement(-1, f"hang at {_where(error)}", traceback.format_exc(limit=-12))
    except MemoryError as error:
        return Judgement(-1, f"memory at {_where(error)}", traceback.format_exc(limit=-12))
    except BaseException as error:
        return Judgement(-1, f"{type(error).__name__} at {_where(error)}", traceback.format_exc(limit=-12)[-3000:])
    message = _BAR.sub("", err.getvalue())
    noise = next((item for item in warned if not issubclass(item.category, DeprecationWarning | ResourceWarning)), None)
    if noise is not None:
        finding = f"{noise.category.__name__} at {Path(noise.filename).name}:{noise.lineno}"
        return Judgement(status, finding, str(noise.message))
    fault = _fault(words, status, message, case) or _leftovers(words, status, case)
    if not fault and _CONTROL.search(out.getvalue()):
        fault = f"control characters on standard output of {words[0]}"
    return Judgement(status, fault, f"{message}\n{out.getvalue()[:300]}" if fault else "")


def _where(error: BaseException) -> str:
    """The last place of our own in a traceback; where it went deep, the first that came again."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if any(f"/{name}/" in f.filename for name in PACKAGES)]
    ours = [f for f in ours if "site-packages" not in f.filename]
    if not ours:
        return "the beginning"
    last = ours[-1]
    return f"{Path(last.filename).name}:{last.lineno} in {last.name}"


def _fault(words: tuple[str, ...], status: int, message: str, case: Case) -> str:
    """What is wrong with the exit status and what was said; empty: nothing."""
    command = words[0] if words else ""
    if status == 0:
        return "Python on standard error" if "Traceback" in message or "Warning:" in message else ""
    if status == 1 and command in _SEVERAL:
        return _reasons()
    if status != 2:
        return f"exit status {status} of {command}"
    sentences = message.strip("\n").split("\n")
    # Remarks on the input may come before what is wrong with it.
    sentence = sentences[-1]
    if not sentence.startswith("holdfast"):
        return f"no sentence of {command}: {_plain(sentence)[:60]}"
    if any(not line.startswith("holdfast") for line in sentences):
        return f"more than one line: {_plain(sentences[-1])[:80]}"
    # A word of the input may stand there without quotes, even one that Python has, too.
    given = " ".join([*words, *(data.decode("utf-8", "replace") for data in case.files.values())])
    for word in {found[0] for found in _PYTHON.finditer(sentence) if found[0] in given}:
        sentence = sentence.replace(word, "")
    return _sentence(sentence)


def _sentence(text: str) -> str:
    if len(text) > _LONG:
        return f"a sentence of more than {_LONG:,} characters: {_plain(text)[:80]}"
    if _CONTROL.search(text):
        return f"control characters: {_plain(text)[:80]}"
    found = _PYTHON.search(_QUOTED.sub("''", text))
    return f"Python in a sentence, {found[0]!r}: {_plain(text)[:100]}" if found else ""


def _reasons() -> str:
    """What is wrong with the reasons of runs of a sweep that failed."""
    for path in Path.cwd().rglob("failures.json"):
        with suppress(ValueError, KeyError, TypeError):
            for row in json.loads(path.read_text()):
                if row.get("trace"):
                    last = [line.strip() for line in row["trace"].splitlines() if "File " in line][-1]
                    return f"a run failed in a traceback: {re.sub(r'^.*/', '', last)}"
                fault = _sentence(str(row.get("error", "")))
                if fault:
                    return f"reason of a run: {fault}"
    return ""


def _leftovers(words: tuple[str, ...], status: int, case: Case) -> str:
    """What is half written; empty: nothing."""
    there = [str(path.relative_to(Path.cwd())) for path in Path.cwd().rglob("*") if path.is_file()]
    part = next((name for name in there if name.endswith(".part") or Path(name).name.startswith(".holdfast")), None)
    if part is not None:
        return f"a partial file is left by {words[0]}"
    if status != 2:
        return ""
    new = sorted(set(there) - set(case.files))
    if new and not (case.then and words == case.then):
        return f"written although {words[0]} was refused: {new[0][:60]}"
    changed = next(
        (name for name, data in case.files.items() if not Path(name).is_file() or Path(name).read_bytes() != data), None
    )
    return f"{words[0]} was refused and changed a file" if changed is not None else ""


def _plain(text: str) -> str:
    """A sentence without what differs from case to case."""
    text = _QUOTED.sub("''", text)
    return re.sub(r"-?[\d.,]*\d(?:e[+-]?\d+)?", "0", text)
