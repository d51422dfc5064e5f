"""Progress bars of a replay, of a sweep, and of measurements in pieces."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from threading import Event, Thread
from time import perf_counter
from types import TracebackType
from typing import Any, Self, TypeVar

from holdfast.experiments.terminal import escape, note, shows_progress

__all__ = ["Bar", "CountBar", "Remaining", "RunBar", "follow"]

#: Features of a run.
Kind = tuple[str, ...]
#: Interval between updates of the remaining time [s].
_LOOK_EVERY = 0.5
#: Duration of a replay without a bar [s].
_SHORT = 0.5

_Piece = TypeVar("_Piece")


def follow(pieces: Iterable[_Piece], total: int, shown: bool) -> Iterator[_Piece]:
    """Yield the pieces as they complete, and show their number on standard error, if that is a terminal.

    Nothing is shown before the first one, so that an error message stands alone.
    """
    from tqdm import tqdm

    bar = None
    try:
        for piece in pieces:
            if bar is None:
                bar = tqdm(
                    total=total,
                    initial=1,
                    unit=" pieces",
                    leave=False,
                    disable=not (shown and shows_progress()),
                )
            else:
                bar.update()
            yield piece
    finally:
        if bar is not None:
            bar.close()


class _ShownBar:
    """A context manager that closes its bar, if one was shown."""

    _bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class Bar(_ShownBar):
    """Progress over jobs and mechanisms on standard error, if that is a terminal.

    Parameters
    ----------
    jobs
        Jobs of one replay.
    mechanisms
        The replays.
    """

    def __init__(self, jobs: int, mechanisms: Sequence[str]) -> None:
        self._jobs = jobs
        self._order = {name: position for position, name in enumerate(mechanisms)}
        self._began = perf_counter()

    def advance(self, mechanism: str, jobs: int) -> None:
        """Show the number of jobs of a replay that have ended, unless it has just begun: a short one needs no bar."""
        if self._bar is None:
            if not shows_progress() or perf_counter() - self._began < _SHORT:
                return
            self._bar = self._open()
        self._bar.set_description(escape(mechanism), refresh=False)
        self._bar.update(self._order[mechanism] * self._jobs + jobs - self._bar.n)

    def _open(self) -> Any:
        # Imported here, because it takes as long as the replay of a short log.
        from tqdm import tqdm

        bar = tqdm(
            total=self._jobs * len(self._order),
            unit=" jobs",
            unit_scale=True,
            leave=False,
        )
        bar.start_t -= perf_counter() - self._began
        return bar


class CountBar(_ShownBar):
    """Progress over simulations on standard error, if that is a terminal and they take more than a second.

    When all are done it says that they are compared, which takes as long as some simulations.

    Parameters
    ----------
    interval
        Time between updates of the elapsed time, which show that a long simulation goes on [s].
    """

    def __init__(self, interval: float = 1.0) -> None:
        self._interval = interval
        self._done, self._total = 0, 0
        self._ended = Event()
        self._clock: Thread | None = None

    def advance(self, done: int, total: int) -> None:
        """Show how many of all simulations are done."""
        self._done, self._total = done, total
        if self._clock is None and shows_progress():
            self._clock = Thread(target=self._show, daemon=True)
            self._clock.start()

    def _show(self) -> None:
        """Draw the bar again and again, from a thread of its own: a long simulation reports nothing."""
        began = perf_counter()
        while not self._ended.wait(self._interval):
            if self._bar is None:
                from tqdm import tqdm

                self._bar = tqdm(
                    total=self._total,
                    bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} simulations [{elapsed}]",
                    leave=False,
                )
                self._bar.start_t -= perf_counter() - began
            if self._done == self._total:
                self._bar.set_description("comparing", refresh=False)
            self._bar.n = self._done
            self._bar.refresh()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._clock is not None:
            self._clock.join()
        super().__exit__(kind, value, trace)


class Remaining:
    """Estimate of a sweep's remaining time from the durations of similar runs.

    Durations depend on mechanism, order and number of jobs, and similar runs are adjacent. A mean over all runs would
    therefore be wrong during most of a sweep.

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
        """Remaining time at the present rate of the workers [s]; None before the first completed run."""
        work = self._seconds.get((), 0.0)
        if not work:
            return None
        # Workers may idle, join or leave, so use the work completed per second of elapsed time.
        return sum(count * self._mean(kind) for kind, count in self._left.items() if count > 0) * elapsed / work

    def _mean(self, kind: Kind) -> float:
        known = next(kind[:words] for words in range(len(kind), -1, -1) if kind[:words] in self._seconds)
        return self._seconds[known] / self._runs[known]


class RunBar(_ShownBar):
    """Progress over the runs of a sweep, with the remaining time.

    Parameters
    ----------
    runs
        Number of runs.
    kinds
        Kinds of the runs not yet done, as in :class:`Remaining`.
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
                self._bar.set_postfix_str(f"{self._bar.format_interval(left)} left", refresh=False)
        self._bar.update()

    def say(self, text: str) -> None:
        """Print a line beside the bar."""
        if self._shown and shows_progress():
            self._bar.write(escape(text), file=sys.stderr)
        elif self._shown:
            note(escape(text))

    def __enter__(self) -> Self:
        from tqdm import tqdm

        self._bar = tqdm(
            total=self._runs,
            initial=self._runs - self._missing,
            unit="run",
            # tqdm's estimate of the remaining time assumes equal runs.
            bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} runs [{elapsed}{postfix}]",
            leave=False,
            disable=not (self._shown and shows_progress()),
        )
        return self
