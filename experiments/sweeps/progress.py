"""Progress bars of a replay, of a sweep, and of measurements in pieces."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter
from types import TracebackType
from typing import TypeVar

from tqdm import tqdm

from experiments.terminal import escape

__all__ = ["Bar", "Remaining", "RunBar", "follow"]

#: What a run is like.
Kind = tuple[str, ...]
#: How often the remaining time is worked out anew [s].
_LOOK_EVERY = 0.5

_Piece = TypeVar("_Piece")


def follow(pieces: Iterable[_Piece], total: int, shown: bool) -> Iterator[_Piece]:
    """The pieces as they come, and on standard error how many of all have come.

    Nothing is shown before the first one, so that a refusal is one sentence alone.
    """
    terminal = sys.stderr.isatty()
    bar = None
    try:
        for piece in pieces:
            if bar is None:
                bar = tqdm(
                    total=total,
                    initial=1,
                    unit=" pieces",
                    mininterval=0.1 if terminal else 5.0,
                    leave=not terminal,
                    disable=not shown,
                )
            else:
                bar.update()
            yield piece
    finally:
        if bar is not None:
            bar.close()


class Bar:
    """Progress over jobs and mechanisms, on standard error; a line now and then where that is no terminal.

    Parameters
    ----------
    jobs
        Jobs of one replay.
    mechanisms
        The replays.
    delay
        Time before which nothing is shown [s]: a short replay needs no bar.
    """

    def __init__(self, jobs: int, mechanisms: Sequence[str], *, delay: float = 0.0) -> None:
        self._jobs = jobs
        self._order = {name: position for position, name in enumerate(mechanisms)}
        terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=jobs * len(mechanisms),
            unit=" jobs",
            unit_scale=True,
            mininterval=0.1 if terminal else 5.0,
            leave=not terminal,
            delay=delay,
        )

    def advance(self, mechanism: str, jobs: int) -> None:
        """Show the number of jobs of a replay that have ended."""
        self._bar.set_description(escape(mechanism), refresh=False)
        self._bar.update(self._order[mechanism] * self._jobs + jobs - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()


class Remaining:
    """How long the rest of a sweep will take, from what runs like those that are left have taken.

    Mechanisms, orders and numbers of jobs differ in what they take, and runs that are alike come together: a mean over
    all runs would promise too little or too much for most of a sweep.

    Parameters
    ----------
    kinds
        The kind of each run that is to be done: some words, the most important first. A kind of which no run is done
        takes as long as the mean of those with the most first words in common.
    """

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._left = Counter(kinds)
        self._runs: Counter[Kind] = Counter()
        self._seconds: dict[Kind, float] = {}

    def took(self, kind: Kind, seconds: float) -> None:
        """A run of that kind is done; ``seconds`` of one worker."""
        self._left[kind] -= 1
        for words in range(len(kind) + 1):
            self._runs[kind[:words]] += 1
            self._seconds[kind[:words]] = self._seconds.get(kind[:words], 0.0) + seconds

    def seconds(self, elapsed: float) -> float | None:
        """Until the end, if the workers go on as in the time elapsed [s]; None: no run is done."""
        work = self._seconds.get((), 0.0)
        if not work:
            return None
        # Workers wait now and then, and there are more or fewer of them: the work that is done in a second.
        return sum(count * self._mean(kind) for kind, count in self._left.items() if count > 0) * elapsed / work

    def _mean(self, kind: Kind) -> float:
        known = next(kind[:words] for words in range(len(kind), -1, -1) if kind[:words] in self._seconds)
        return self._seconds[known] / self._runs[known]


class RunBar:
    """Progress over the runs of a sweep, with the time that the rest will take.

    Parameters
    ----------
    runs
        How many there are.
    kinds
        Kinds of those that are still to be done, as of :class:`Remaining`.
    shown
        Whether anything is shown at all.
    """

    def __init__(self, runs: int, kinds: Sequence[Kind], shown: bool) -> None:
        self._runs, self._missing, self._shown = runs, len(kinds), shown
        self._remaining = Remaining(kinds)
        self._began = self._next = perf_counter()

    def advance(self, kind: Kind, seconds: float) -> None:
        """A run of that kind is done after ``seconds``, or has failed."""
        self._remaining.took(kind, seconds)
        now = perf_counter()
        if self._shown and now >= self._next:
            self._next = now + _LOOK_EVERY
            left = self._remaining.seconds(now - self._began)
            if left is not None:
                self._bar.set_postfix_str(f"{tqdm.format_interval(left)} left", refresh=False)
        self._bar.update()

    def say(self, text: str) -> None:
        """Print a line beside the bar."""
        if self._shown:
            self._bar.write(escape(text), file=sys.stderr)

    def __enter__(self) -> RunBar:
        terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=self._runs,
            initial=self._runs - self._missing,
            unit="run",
            # Its own guess of the remaining time takes all runs for alike.
            bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} runs [{elapsed}{postfix}]",
            mininterval=0.1 if terminal else 5.0,
            leave=not terminal,
            disable=not self._shown,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
