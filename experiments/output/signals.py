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

from workloads.ground.errors import InputError

__all__ = ["Interrupted", "hold_interruptions", "listening", "start_trackers", "time_limit", "without_interruption"]

#: What ends a command.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
#: A terminal, and programs that start others, may send the same signal twice; that is one wish [s].
_ONE_WISH = 1.0


class Interrupted(KeyboardInterrupt):
    """A signal has ended the command.

    Parameters
    ----------
    number
        Number of the signal.
    kept
        What is kept, and how to go on; empty: as the command says it.
    """

    def __init__(self, number: int = signal.SIGINT, kept: str = "") -> None:
        super().__init__(number, kept)
        self.number = number
        self.kept = kept

    @classmethod
    def of(cls, stop: KeyboardInterrupt, kept: str) -> Interrupted:
        """The same interruption, with what is kept."""
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
        #: Number of the signal that was received; 0: none.
        self.number = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.since is not None:
            if now - self.since > _ONE_WISH:
                os._exit(128 + number)  # asked again: files are whole at any moment
            return
        self.since = now
        self.number = number
        if self.held:
            self.pending = number
            return
        raise Interrupted(number)

    def again(self) -> None:
        """Repeat a signal that came where Python ignores exceptions, as soon as the main thread is elsewhere."""
        self.since = None
        threading.Timer(0.05, os.kill, (os.getpid(), self.number)).start()


_listener: _Listener | None = None


@contextmanager
def listening() -> Iterator[_Listener]:
    """Raise :class:`Interrupted` at the first signal; a second one, more than a second later, ends the process.

    Yields
    ------
    _Listener
        Its ``number`` is that of the signal that was received, or 0.
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
            # Those that are ignored stay so: of 'nohup', of a shell's background.
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
    """Start processes of our own in the block: they ignore a terminal's SIGINT, which this process answers for them.

    The signal is blocked, and that is inherited even by processes that a thread starts which begins here.
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
    """Start processes that clear up after others, so that a hangup does not end them before those that they serve.

    Parameters
    ----------
    trackers
        What starts each; they ignore the other signals by themselves.
    """
    if not hasattr(signal, "SIGHUP") or threading.current_thread() is not threading.main_thread():
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which they inherit
    try:
        for start in trackers:
            start()
    finally:
        signal.signal(signal.SIGHUP, before)


@contextmanager
def hold_interruptions() -> Iterator[None]:
    """Put an interruption off until the end of the block."""
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
    """End the block by :class:`Interrupted`, with the number of SIGALRM, when so much time has passed; None: never.

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
