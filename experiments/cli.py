"""The command line: ``holdfast COMMAND ...``.

Each command is a module of :mod:`experiments.commands` with ``add_arguments(parser)``, ``main(arguments)`` and, if it
writes several files, ``KEPT``: what is kept when a signal ends it, and how to go on. Only the module of the command
that is called is imported, so that ``--help`` and a plain replay pay for nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

from experiments.output.signals import Interrupted, listening
from workloads.ground.errors import InputError, sentence_of

__all__ = ["COMMANDS", "main"]

#: Commands and what they are for, in the order in which a newcomer meets them.
COMMANDS = {
    "demo": "make a Theta-like year and replay it under the baseline and all six mechanisms",
    "generate": "write a Theta-like trace",
    "info": "what a trace is: what was left out, load, sizes, estimates, waits",
    "prepare": "turn a trace into a job table: types, notices, overheads",
    "run": "replay a trace or a job table under one or more mechanisms",
    "explain": "what happened to a job, and why: who was ahead of it, backfilled past it, preempted it",
    "export": "results in the formats of other tools: SWF, Batsim/evalys, Perfetto, Parquet",
    "policies": "which plug-ins there are: orders, rules, strategies, readers; and whether one keeps the contract",
    "sweep": "carry out a grid of simulations, on this machine or a cluster, and go on where it was interrupted",
    "marginals": "compare the generator's marginals with those of a real trace",
    "fit-costs": "from waits, recorded or simulated, to the prices under which a plan's cost is its response time",
    "plan": "from a law of the runtime, or past runs, to the reservations to ask for",
    "loop": "plan stochastic jobs, simulate, fit the waits, and plan again until the plans are stable",
    "experiment": "reproduce a table or figure of the papers",
    "reproduce": "run all experiments of the papers and write one report of them",
    "gantt": "make an interactive page of a simulation: which nodes each job had, and its story",
    "picture": "draw a picture of a simulation: Gantt, use of the nodes, queue, on-demand jobs, waits",
    "plot": "draw the figures of a directory again, from its tables alone",
}


#: Characters of somebody else's words that a message repeats.
_LONGEST = 300


def _refuse(sentence: str) -> None:
    """Say on standard error why not, in one line; what a terminal would obey is written as its code."""
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in sentence)
    if len(plain) > 3 * _LONGEST:
        plain = f"{plain[: 2 * _LONGEST]}...{plain[-_LONGEST:]}"
    print(plain, file=sys.stderr)


#: Commands that read a directory of results. What fails there is the directory's fault; ``python -X dev`` shows where.
_READING = frozenset({"explain", "export", "gantt", "picture"})


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # argparse drops "--" here, and makes a list of nothing of the value of --option=--.
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            self.error(f"{action.option_strings[-1]} must have a value other than '--'")
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        _refuse(f"{self.prog}: {message[:_LONGEST]}; see '{self.prog} --help'")
        raise SystemExit(2)


def _version() -> str:
    try:
        return version("holdfast")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "unknown"


def _module(command: str) -> Any:
    """The module of a command; a name of Python has no dashes."""
    return import_module(f"experiments.commands.{command.replace('-', '_')}")


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="holdfast",
        description="Simulate an HPC cluster: replay traces, plug in policies, draw the evaluation.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"holdfast {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
        command.allow_abbrev = False
        if name == chosen:
            _module(name).add_arguments(command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments
        Words of the command line; default those of the process.

    Returns
    -------
    int
        Exit status: 0, 1 if something of many has failed, 2 if the input is not usable, or 128 and the number of the
        signal that has ended it.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    chosen = next((word for word in words if not word.startswith("-")), None)
    parser = _parser(chosen)
    parsed = parser.parse_args(words)
    if parsed.command is None:
        parser.print_help()
        return 0
    module = _module(parsed.command)
    try:
        with listening():
            status: int | None = module.main(parsed)
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough (as in `holdfast info | head`); keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (InputError, OSError) as error:
        # Of the system, too: a name that is too long, a directory that is gone, a full disk.
        _refuse(f"holdfast {parsed.command}: {sentence_of(error)}")
        return 2
    except Exception:
        if parsed.command not in _READING or sys.flags.dev_mode:
            raise
        # A directory may come from anybody, and tables that fit one by one need not tell one story.
        where = f"holdfast {parsed.command}: {parsed.directory}"
        _refuse(f"{where}: holds what no run has written, so that it cannot be read: run it again")
        return 2
    except KeyboardInterrupt as stop:
        return _ended(stop if isinstance(stop, Interrupted) else Interrupted(), module, parsed)
    return status or 0


def _ended(stop: Interrupted, module: Any, parsed: argparse.Namespace) -> int:
    """Say what an interrupted command has left; the exit status of a process that a signal has ended."""
    kept = stop.kept or getattr(module, "KEPT", "nothing was written: start it again").format(**vars(parsed))
    with suppress(OSError, ValueError):  # the terminal may be gone
        print(f"holdfast {parsed.command}: ended by {stop.name}: {kept}", file=sys.stderr, flush=True)
    return 128 + stop.number
