"""Signal handling: an interruption ends a command between two steps, never while a result is being replaced."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from holdfast.workloads.ground.errors import InputError

__all__ = [
    "Interrupted",
    "hold_interruptions",
    "signal_listener",
    "start_trackers",
    "time_limit",
    "without_interruption",
]

#: Signals that end a command.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
#: A terminal or a parent process may send the same signal twice: repetitions within this time count as one [s].
_ONE_WISH = 1.0


class Interrupted(KeyboardInterrupt):
    """A signal has ended the command.

    Parameters
    ----------
    number
        Number of the signal.
    kept
        Sentence on what is kept and how to resume; empty: the one of the command.
    """

    def __init__(self, number: int = signal.SIGINT, kept: str = "") -> None:
        super().__init__(number, kept)
        self.number = number
        self.kept = kept

    @classmethod
    def of(cls, stop: KeyboardInterrupt, kept: str) -> Interrupted:
        """The same interruption with a sentence on what is kept."""
        return cls(getattr(stop, "number", signal.SIGINT), kept)

    @property
    def name(self) -> str:
        """Name of the signal, e.g. ``SIGTERM``."""
        return signal.Signals(self.number).name


class _Listener:
    """Handles the signals of one command."""

    def __init__(self) -> None:
        self.since: float | None = None
        self.held = 0
        self.pending = 0
        #: Number of the received signal; 0: none.
        self.number = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.since is not None:
            if now - self.since > _ONE_WISH:
                os._exit(128 + number)  # second request: files are complete at any moment
            return
        self.since = now
        self.number = number
        if self.held:
            self.pending = number
            return
        raise Interrupted(number)

    def again(self) -> None:
        """Raise again, once the main thread has moved on, a signal that came while Python ignores exceptions."""
        self.since = None
        threading.Timer(0.05, os.kill, (os.getpid(), self.number)).start()


_listener: _Listener | None = None


@contextmanager
def signal_listener() -> Iterator[_Listener]:
    """Raise :class:`Interrupted` at the first signal; a second one, more than a second later, ends the process.

    Yields
    ------
    _Listener
        Its ``number`` is that of the received signal, or 0.
    """
    global _listener
    if threading.current_thread() is not threading.main_thread():
        yield _Listener()
        return
    listener = _Listener()
    outer, _listener = _listener, listener
    before: dict[int, Any] = {}
    unraisable = sys.unraisablehook

    def hook(ignored: sys.UnraisableHookArgs) -> None:
        if isinstance(ignored.exc_value, Interrupted):
            listener.again()
        else:
            unraisable(ignored)

    try:
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            # Signals that are ignored stay ignored, e.g. under 'nohup' or in the background of a shell.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, listener)
        sys.unraisablehook = hook
        yield listener
    finally:
        sys.unraisablehook = unraisable
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        _listener = outer


@contextmanager
def without_interruption() -> Iterator[None]:
    """Start worker processes in the block such that they ignore a terminal's SIGINT, which this process handles.

    The signal is blocked, which is inherited also by processes that threads started in the block create.
    """
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_trackers(*trackers: Callable[[], None]) -> None:
    """Start clean-up processes such that a hangup does not end them before the processes that they serve.

    They remove what killed processes leave, and do not warn of it: that is their purpose.

    Parameters
    ----------
    trackers
        Functions that start them; they ignore the other signals by themselves.
    """
    if not hasattr(signal, "SIGHUP") or threading.current_thread() is not threading.main_thread():
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # inherited by the processes, as the options of warnings
    options = list(sys.warnoptions)
    sys.warnoptions.append("ignore:resource_tracker")
    try:
        for start in trackers:
            start()
    finally:
        sys.warnoptions[:] = options
        signal.signal(signal.SIGHUP, before)


@contextmanager
def hold_interruptions() -> Iterator[None]:
    """Defer interruptions until the end of the block."""
    listener = _listener
    if listener is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    listener.held += 1
    try:
        yield
    finally:
        listener.held -= 1
    if listener.pending and not listener.held:
        number, listener.pending = listener.pending, 0
        raise Interrupted(number)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise :class:`Interrupted` with the number of SIGALRM in the block after ``seconds``; None: never.

    Raises
    ------
    InputError
        If this system has no timers.
    """
    if seconds is None:
        yield
        return
    if not hasattr(signal, "setitimer"):
        raise InputError("a time limit needs a system with timers, which this one lacks")
    before = signal.signal(signal.SIGALRM, _listener or _Listener())
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
