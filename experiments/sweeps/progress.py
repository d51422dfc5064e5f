"""Progress bars: of a replay, and of a sweep of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType

from tqdm import tqdm

__all__ = ["Bar", "RunBar"]


class Bar:
    """Progress over jobs and mechanisms, on standard error; a line now and then where that is no terminal.

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
        terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=jobs * len(mechanisms),
            unit=" jobs",
            unit_scale=True,
            mininterval=0.1 if terminal else 5.0,
            leave=not terminal,
        )

    def ended(self, mechanism: str, jobs: int) -> None:
        """So many jobs of a replay have ended."""
        self._bar.set_description(mechanism, refresh=False)
        self._bar.update(self._order[mechanism] * self._jobs + jobs - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()


class RunBar:
    """Progress over the runs of a sweep, with the time that the rest will take.

    Parameters
    ----------
    runs
        All of them.
    missing
        Those that are still to be done.
    shown
        Whether anything is shown at all.
    """

    def __init__(self, runs: int, missing: int, shown: bool) -> None:
        self._runs, self._missing, self._shown = runs, missing, shown

    def advance(self) -> None:
        """A run is done, or has failed."""
        self._bar.update()

    def say(self, text: str) -> None:
        """Print a line beside the bar."""
        if self._shown:
            self._bar.write(text, file=sys.stderr)

    def __enter__(self) -> RunBar:
        terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=self._runs,
            initial=self._runs - self._missing,
            unit="run",
            # The mean over all runs since the start: mechanisms differ in what they take, and come one after the other.
            smoothing=0,
            mininterval=0.1 if terminal else 5.0,
            leave=not terminal,
            disable=not self._shown,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
