"""Holdfast: simulate an HPC cluster, replay traces, plug in scheduling policies, plan reservations.

>>> import holdfast as hf
>>> trace = hf.generate(jobs=200, seed=1)
>>> jobs = hf.prepare(trace, seed=1, notice_mix="W5")
>>> result = hf.simulate(jobs, nodes=trace.nodes, mechanism="CUA-SPAA")
>>> plan = hf.plan(hf.distributions.uniform(1, 20), checkpoint=0.5, restart=0.5)

This package is the public interface. The packages behind it may be rearranged between releases; names here stay. A name
is imported when it is first used, so that ``import holdfast`` costs next to nothing.
"""

# Until signals are handled, SIGINT ends in a traceback of Python. So this file is short, since it may have to be
# compiled, and before that it imports nothing that must be read from a file: not even __future__.
# `signal` would be public, but reads enum, functools and collections first: 8 ms of processor time after the 21 ms in
# which Python itself starts, and a traceback for a signal in these.
import _signal
import os
import sys

#: Whether this process is the command line, and neither a program that imports Holdfast nor a worker. The name of a
#: package is not yet in ``sys.argv`` while ``python -m`` imports it.
_IS_COMMAND: bool = "multiprocessing" not in sys.modules and (
    sys.argv[0].replace("\\", "/").rpartition("/")[2].partition(".")[0] == "holdfast"
    or (sys.argv[0] == "-m" and "holdfast" in sys.orig_argv[1:])
)


def _end_at_signals(status: "int | None" = None) -> None:
    """End the process at the first signal, with neither a traceback nor a partial file, while no command is at work.

    Parameters
    ----------
    status
        Exit status of the command that has ended; None: none has begun.
    """
    names: dict[int, str] = {}

    def end(number: int, frame: object) -> None:
        if status is None:
            os.write(2, f"holdfast: ended by {names[number]}\n".encode())
        os._exit(128 + number if status is None else status)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(_signal, name, None)
        # Those that are ignored stay so: of 'nohup', of a shell's background.
        if number is not None and _signal.getsignal(number) != _signal.SIG_IGN:
            names[number] = name
            _signal.signal(number, end)


if _IS_COMMAND:
    _end_at_signals()

from typing import TYPE_CHECKING, Any

from holdfast import interface as _interface
from holdfast.interface import __all__ as __all__

if TYPE_CHECKING:
    from holdfast.interface import *  # noqa: F403
    from holdfast.interface import main as main
else:

    def __getattr__(name: str) -> Any:
        """Take a name from the interface when it is first used, which imports it."""
        value = globals()[name] = getattr(_interface, name)
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
