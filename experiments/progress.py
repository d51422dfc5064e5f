"""The progress bar of a replay."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType

from tqdm import tqdm

__all__ = ["Bar"]


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
