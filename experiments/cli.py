"""The command line: ``holdfast COMMAND ...``.

Each command is a module of :mod:`holdfast.experiments.commands` with ``Arguments``, a dataclass that declares its
options, and ``main(arguments)``. A command that writes several files also defines ``KEPT``, a sentence on what an
interruption leaves and how to resume; a command with options of several values defines ``LISTED``, which splits them.
Only the module of the called command is imported, which keeps ``--help`` and plain replays fast.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from types import MappingProxyType
from typing import Any, NoReturn

from holdfast.experiments.crashes import refuse, report
from holdfast.experiments.output.signals import Interrupted, signal_listener
from holdfast.experiments.terminal import quiet, safe_terminal, sentences, warn
from holdfast.workloads.ground.errors import format_value
from holdfast.workloads.ground.trust import trust

__all__ = ["COMMANDS", "command_parser", "main"]

#: Commands and their descriptions by group, in the order in which a new user needs them.
_GROUPS = {
    "start": {
        "demo": "make a Theta-like year and replay it under the baseline and all six mechanisms",
        "generate": "write a Theta-like trace",
        "info": "describe a trace: jobs left out, load, sizes, estimates, waits",
        "machine": "describe a machine, from slurm.conf, sinfo or a log: kinds of nodes, partitions, limits",
        "prepare": "turn a trace into a job table: draw types, notices and overheads",
        "run": "replay a trace or a job table under one or more mechanisms",
    },
    "look": {
        "explain": "explain the waits and preemptions of a job: the jobs ahead of it, those that passed it, and why",
        "gantt": "write an interactive page of a simulation: the nodes of each job, and its history",
        "picture": "draw a simulation: Gantt chart, use of the nodes, queue, on-demand jobs or waits",
        "plot": "draw the figures of a directory again, from its tables",
        "export": "write results in the formats of other tools: SWF, Batsim/evalys, Perfetto, Parquet",
    },
    "study": {
        "verify": "check by their digests that results, archives, plans and costs are as they were written",
        "compare": "compare two results of the same jobs, group by group: gains and losses",
        "whatif": "compare alternatives to today's order, rule, size or outages on a log, with one page for a meeting",
        "sweep": "run a grid of simulations, on this machine or a cluster, or continue an interrupted one",
        "policies": "list the plug-ins (orders, rules, strategies, readers), or check that one keeps its contract",
        "plan": "plan the reservations of a job, from the distribution of its runtime or from past runs",
        "forecast": "forecast when waiting jobs start, from the runs that had ended by a time",
        "advise": "recommend the walltime and size to request now, from the queue and past runs",
        "calibrate": "fit the order and the backfilling rule to the recorded starts of a log",
        "fit-costs": "fit queue-wait costs for the planner, from recorded or simulated waits",
        "loop": "plan stochastic jobs, simulate, fit the waits, and plan again until the plans are stable",
    },
    "Slurm": {
        "submit": "write the batch scripts of a plan for Slurm, and submit them as a chain",
        "slurm": "compare a real Slurm with the simulator",
        "status": "show the progress of a submitted plan, its cost so far and the expected cost",
    },
    "papers": {
        "experiment": "reproduce a table or figure of the papers",
        "reproduce": "run all experiments of the papers and write one report",
        "marginals": "compare the marginal distributions of a generated year with those of a real trace",
    },
    "shell": {"completion": "print a script that completes commands and options in bash, zsh or fish"},
}
#: All commands and their descriptions.
COMMANDS = {name: purpose for group in _GROUPS.values() for name, purpose in group.items()}

#: Groups of options, by command, for which ``--help`` lists only names: the full help would fill three screens.
_BRIEF = {
    "run": (
        *("details of reading", "preparing a trace", "life of jobs", "details of scheduling"),
        "planning stochastic jobs",
        "comparing values, as in --order fcfs,sjf --nodes 100,120 --seed 0:10",
        "details of streaming",
        "outages of the machine",
    ),
    "prepare": ("details of reading", "life of jobs"),
    "advise": ("details of reading", "runtime of the job (default: from past runs like it in LOG)", "drawing"),
    "forecast": ("details of reading", "drawing"),
    "loop": ("details of reading", "preparing a trace", "life of jobs", "details of scheduling"),
}


#: Commands that read one log or result and end. Collections of garbage find none there, and take up to a third of the
#: time of a result with 232,536 jobs and its event log.
_UNCOLLECTED = frozenset(("explain", "export", "gantt", "info", "machine", "picture"))
#: Longest quotation of the command line in a message [characters].
_LONGEST = 300
#: Number of arguments from which the usage of a command names only the required ones.
_MANY = 10
#: Epilog of commands that have an option with a TIME.
_TIME = "A TIME is in seconds, or has units: 90s, 30m, 12h, 1h30m, 5y, 04:30:00."


class _Help(argparse.HelpFormatter):
    """Help formatter that does not break lines within words such as node-mtbf."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = textwrap.wrap(" ".join(text.split()), width - len(indent), break_on_hyphens=False)
        return "\n".join(indent + line for line in lines)


class _HelpAll(argparse.Action):
    """Print the help of all options."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: Any, *_: Any) -> None:
        parser.brief = ()
        parser.print_help()
        parser.exit()


class _Version(argparse.Action):
    """Print version, commit and digest of the sources, which are looked up only here."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: Any, *_: Any) -> None:
        print(f"holdfast {_release_line()}")
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """A parser with one-sentence error messages, and help that fits two screens.

    Attributes
    ----------
    brief
        Titles of groups for which the help lists only the names of options.
    groups
        Commands by group; empty for the parser of a command.
    """

    brief: Sequence[str] = ()
    groups: Mapping[str, Mapping[str, str]] = MappingProxyType({})

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # argparse drops "--" here, and turns the value of --option=-- into an empty list.
        if action.option_strings and action.nargs in (None, "?") and arg_strings == ["--"]:
            self.error(f"{action.option_strings[-1]} must have a value other than '--'")
        return super()._get_values(action, arg_strings)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # A duration such as -1h is a wrong value, not an unknown option: the error should name the value.
        self._negative_number_matcher = re.compile(r"^-\.?\d.*$")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        # argparse would catch the error of a value, and name the type instead of the legal values.
        return super()._get_value(action, arg_string) if action.type is None else action.type(arg_string)  # type: ignore[operator]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse lists all choices; a misspelt subcommand deserves the nearest ones.
        if isinstance(action.choices, dict) and value not in action.choices:
            _refuse_name(self.prog, "command", value, action.choices)
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        refuse(self.prog, f"{message[:_LONGEST]}; see '{self.prog} --help'")
        raise SystemExit(2)

    def format_help(self) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(self._usage(), self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            if group.title in self.brief:
                formatter.add_text(" ".join(action.option_strings[-1] for action in group._group_actions))
            elif not self.groups or group.title == "options":
                formatter.add_arguments(group._group_actions)
            formatter.end_section()
        for title, commands in self.groups.items():
            formatter.start_section(title)
            formatter.add_arguments(
                [argparse.Action([], dest=name, metavar=name, help=purpose) for name, purpose in commands.items()]
            )
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _usage(self) -> str | None:
        """The usage of a command; with many options, only the required ones."""
        if self.groups or len(self._actions) < _MANY:
            return None
        words = [_positional_usage(action) for action in self._actions if not action.option_strings]
        words += [
            f"{action.option_strings[0]} {action.metavar}"
            for action in self._actions
            if action.required and action.option_strings
        ]
        return " ".join([self.prog, *map(str, words), "[options]"])


def _positional_usage(action: argparse.Action) -> str:
    """Usage of a positional argument, in brackets where it may be missing."""
    name = str(action.metavar)
    several = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}
    return several.get(str(action.nargs), name)


def _release_line() -> str:
    from holdfast.experiments.sweeps.fingerprint import release_line

    return release_line()


def _module(command: str) -> Any:
    """Import the module of a command."""
    return import_module(f"holdfast.experiments.commands.{command.replace('-', '_')}")


def _add_options(parser: argparse.ArgumentParser, module: Any) -> None:
    """Add the options of a command, and its subcommands if it has any."""
    from holdfast.experiments.option_parser import add_options

    parser.add_argument("--help-all", action=_HelpAll, help="explain all options and exit")
    if hasattr(module, "USAGE"):
        parser.usage = f"{parser.prog} {module.USAGE}"
    if not hasattr(module, "SUBCOMMANDS"):
        parser.add_argument("-q", "--quiet", action="store_true", help="print no warnings and no progress")
        add_options(parser, module.Arguments, getattr(module, "LISTED", None))
        return
    parsers = parser.add_subparsers(
        dest="subcommand", metavar="WORD", required=True, help=f"one of {', '.join(module.SUBCOMMANDS)}"
    )
    for name, purpose in module.SUBCOMMANDS.items():
        own = parsers.add_parser(
            name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.", formatter_class=_Help
        )
        own.allow_abbrev = False
        _add_options(own, module.subcommand(name))


def _reading_defaults(parsed: argparse.Namespace) -> Mapping[str, str]:
    """Defaults that an interpretation of the hybrid paper sets for the options of a command."""
    from holdfast.experiments.paper_readings import find_reading, option_defaults

    found = option_defaults(find_reading(str(parsed.reading)))
    return {name: value for name, value in found.items() if hasattr(parsed, name)}


def _parser(chosen: str | None, defaults: Mapping[str, str] = MappingProxyType({})) -> argparse.ArgumentParser:
    """Make the parser of all commands, with the options of the called one and overriding defaults."""
    parser = _Parser(
        prog="holdfast",
        description="Simulate an HPC cluster, plan reservations, and reproduce the evaluation of both.",
        allow_abbrev=False,
        formatter_class=_Help,
    )
    parser.add_argument("--help-all", action=_HelpAll, help=argparse.SUPPRESS)
    parser.add_argument("--version", action=_Version, help="print version, commit and digest of the sources, and exit")
    parser.groups = _GROUPS
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    # Parsers of the other commands take 11 ms, and are made only where an error names them.
    for name in [chosen] if chosen in COMMANDS else COMMANDS if chosen else ():
        purpose = COMMANDS[name]
        command = commands.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
        command.allow_abbrev = False
        command.formatter_class = _Help
        if name == chosen:
            command.brief = _BRIEF.get(name, ())
            _add_options(command, _module(name))
            command.set_defaults(**defaults)
            if any(action.metavar == "TIME" for action in command._actions):
                command.epilog = _TIME
            if command.brief:
                command.epilog = f"{command.epilog} '{command.prog} --help-all' explains the options named in a row."
    return parser


def command_parser(command: str | None) -> argparse.ArgumentParser:
    """The parser of a command, with its options; None: that of ``holdfast`` itself, with its own options."""
    parser = _parser(command)
    if command is None:
        return parser
    choices = next(action.choices for action in parser._actions if isinstance(action.choices, dict))
    found: argparse.ArgumentParser = choices[command]
    return found


def _check_option_names(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.ArgumentParser:
    """Refuse an unknown option and name the nearest ones; argparse would first ask for arguments that are missing.

    Returns the parser of the named command.
    """
    for word in words:
        if word == "--":
            break
        parsers = next((action.choices for action in parser._actions if isinstance(action.choices, dict)), {})
        if parsers and not word.startswith("-"):
            if word not in parsers:
                break  # argparse refuses the command
            parser = parsers[word]
            continue
        name = word.partition("=")[0]
        if name.startswith("--") and name not in parser._option_string_actions:
            _refuse_name(parser.prog, "option", name, parser._option_string_actions)
    return parser


def _refuse_name(program: str, kind: str, name: str, known: Collection[str]) -> NoReturn:
    """End with a sentence that names the nearest commands or options, and the page that lists all of them."""
    from difflib import get_close_matches

    near = get_close_matches(name[:_LONGEST], known, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    refuse(program, f"unknown {kind} {format_value(name)}{hint}; see '{program} --help'")
    raise SystemExit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments
        Words of the command line; default: ``sys.argv[1:]``.

    Returns
    -------
    int
        Exit status: 0; 1 if a part failed; 2 for bad input or missing resources; 70 for a defect of Holdfast or of a
        plug-in, with a crash file; 128 plus the number of the signal that ended the command.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    call = _Call(words)
    try:
        with signal_listener() as listener, safe_terminal():
            try:
                status = call.run()
                sys.stdout.flush()
            except Exception:
                if listener.number:  # the interrupted code may have raised another error
                    raise Interrupted(listener.number) from None
                raise
    except KeyboardInterrupt as stop:
        return call.end(stop if isinstance(stop, Interrupted) else Interrupted())
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _is_broken_pipe():
            _silence()  # the reader has closed the pipe (as in `holdfast info | head`)
            return 0
        if isinstance(error, OSError):
            _flush_or_silence()
        return report(call.name, error, words, _release_line)
    return status


class _Call:
    """One call of a command.

    Parameters
    ----------
    words
        Words of the command line.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._parsed = argparse.Namespace(command=next((word for word in words if not word.startswith("-")), None))
        self._module: Any = None
        self._given: Any = None

    @property
    def name(self) -> str:
        """Name of the called command, including a subcommand."""
        words = (getattr(self._parsed, name, None) for name in ("command", "subcommand"))
        return " ".join(str(word) for word in words if word)

    def run(self) -> int:
        """Parse the words and run the command; returns its exit status."""
        chosen = self._parsed.command
        parser = _parser(chosen)
        module: Any = _module(chosen) if chosen in COMMANDS else None
        subcommands = getattr(module, "SUBCOMMANDS", ())
        own = parser if chosen is None else _check_option_names(parser, self._words)
        self._parsed.subcommand = next((word for word in self._words if word in subcommands), None)
        try:
            self._parsed, left = parser.parse_known_args(self._words)
            if left:
                own.error(f"unrecognized arguments: {' '.join(left)}")
            if getattr(self._parsed, "reading", None) is not None:
                self._parsed = _parser(chosen, _reading_defaults(self._parsed)).parse_args(self._words)
        except SystemExit:
            sys.stdout.flush()  # the help
            raise
        if self._parsed.command is None:
            parser.print_help()
            return 0
        from holdfast.experiments.option_parser import bare_times, read_arguments
        from holdfast.simulator.collector_pause import pause_collector

        self._module = module.subcommand(self._parsed.subcommand) if subcommands else module
        pause = pause_collector() if self.name in _UNCOLLECTED else nullcontext()
        with pause, sentences(self.name), quiet(self._parsed.quiet), trust(getattr(self._parsed, "trust", False)):
            self._given = read_arguments(self._module.Arguments, self._parsed)
            status: int | None = self._module.main(self._given)
            hint = bare_times(self._module.Arguments, self._parsed)
            if hint:  # after the answer: an error stands alone
                warn(self.name, hint)
        return status or 0

    def end(self, stop: Interrupted) -> int:
        """Report what the command had written when it was interrupted; returns its exit status."""
        kept = getattr(self._module, "KEPT", "nothing was written; run it again")
        if not stop.kept and self._given is not None:
            kept = kept.format(output=getattr(self._given, "output", ""))
        with suppress(OSError, ValueError):  # the terminal may be gone
            words = " ".join(word for word in ("holdfast", self.name) if word)
            print(f"{words}: ended by {stop.name}: {stop.kept or kept}", file=sys.stderr, flush=True)
        return 128 + stop.number


def _is_broken_pipe() -> bool:
    """Whether standard output is a pipe without a reader."""
    try:
        import select

        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):  # a system without poll, an output that is no file
        return True


def _flush_or_silence() -> None:
    """Flush standard output, or discard it: Python would try again at exit and report an error."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _silence()


def _silence() -> None:
    """Redirect standard output to the null device."""
    with suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
