"""Workers: processes that carry out cases, so that one that hangs or dies is a finding and not the end."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.fuzz.cases import READERS, Case, case
from tests.fuzz.judging import SECONDS, Judgement, judge, limited_memory

__all__ = ["Worker", "prepare"]

#: Seconds on the clock after which a case is given up that uses no processor: one that computes gives up by itself.
_PATIENCE = 12 * SECONDS
#: Cases after which a process is replaced, so that what it has gathered in memory is no finding.
_TURN = 3000


def prepare(readers: list[str]) -> None:
    """Import and compile here what the cases need, so that workers have it from the first."""
    os.environ["TQDM_DISABLE"] = "1"
    with tempfile.TemporaryDirectory() as place:
        for reader in readers:
            if READERS[reader][0] >= 1:
                for index in range(3):
                    judge(case(reader, -1, index), Path(place))


class Worker:
    """A process that carries out cases.

    Use it as a context manager.
    """

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        self._process: Any = None
        self._pipe: Any = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._place.cleanup()

    def judgements(self, reader: str, seed: int, first: int, end: int) -> Iterator[tuple[int, Judgement]]:
        """What comes of the cases of a reader with these indices."""
        index = first
        while index < end:
            stop = min(end, index + _TURN)
            self._begin()
            self._pipe.send((reader, seed, index, stop))
            while index < stop:
                judgement = self._answer()
                yield index, judgement
                index += 1
                if self._process is None:
                    break
            self._end()

    def judgement(self, one: Case) -> Judgement:
        """What comes of one case."""
        if self._process is None:
            self._begin()
        self._pipe.send(one)
        return self._answer()

    def _answer(self) -> Judgement:
        """What the process answers, or how it ended; then there is none any more."""
        fate = f"hang for {_PATIENCE} s"
        with suppress(EOFError, ConnectionResetError):
            used = -1.0
            # On a machine with other work a case may get little of the processor for a long time.
            while (now := self._processor_time()) > used:
                if self._pipe.poll(_PATIENCE):
                    answer: Judgement = self._pipe.recv()
                    return answer
                used = now
        if self._process.join(1) is None and self._process.exitcode is not None:
            fate = f"the process died with status {self._process.exitcode}"
        self._end()
        return Judgement(-1, fate)

    def _processor_time(self) -> float:
        """Seconds of processor that the process has used."""
        times = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    def _begin(self) -> None:
        self._end()
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, Path(self._place.name)), daemon=False)
        self._process.start()
        theirs.close()

    def _end(self) -> None:
        if self._process is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
        self._process = None


def _work(pipe: Connection, place: Path) -> None:
    os.environ["TQDM_DISABLE"] = "1"
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    with limited_memory(), suppress(EOFError):
        while True:
            asked = pipe.recv()
            if isinstance(asked, Case):
                pipe.send(judge(asked, place))
                continue
            reader, seed, first, end = asked
            for index in range(first, end):
                pipe.send(judge(case(reader, seed, index), place))
