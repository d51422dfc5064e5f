"""The words that a shell may complete: commands, options and their values, from the parsers of the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pkgutil import resolve_name

from holdfast.experiments import cli
from holdfast.experiments.option_parser import Reader

__all__ = ["CommandWords", "OptionWords", "all_commands", "below"]

#: Placeholders of files and directories; all others are values that only the user knows.
_FILES = re.compile(r"FILE.*|INPUT|TRACE|LOG|PLAN|PATH|RESULT|SOURCE")
_DIRECTORIES = frozenset({"DIR"})


@dataclass(frozen=True)
class OptionWords:
    """An option, or the words without an option.

    Attributes
    ----------
    names
        Its names; empty: words without an option.
    about
        What it is, without its default.
    metavar
        Placeholder of its value; empty: it has none.
    choices
        Legal values; empty: not a list.
    repeated
        Whether more than one word may follow.
    """

    names: tuple[str, ...]
    about: str
    metavar: str
    choices: tuple[str, ...] = ()
    repeated: bool = False

    @property
    def is_file(self) -> bool:
        """Whether its value is a file, or a file or a directory."""
        return _FILES.fullmatch(self.metavar) is not None

    @property
    def is_directory(self) -> bool:
        """Whether its value is a directory."""
        return self.metavar in _DIRECTORIES


@dataclass(frozen=True)
class CommandWords:
    """A command or a subcommand.

    Attributes
    ----------
    path
        Its words after ``holdfast``; empty: ``holdfast`` itself.
    about
        What it does.
    options
        Its options.
    words
        Its words without an option, in order.
    commands
        The commands below it.
    """

    path: tuple[str, ...]
    about: str
    options: tuple[OptionWords, ...]
    words: tuple[OptionWords, ...]
    commands: tuple[CommandWords, ...] = ()


def all_commands() -> CommandWords:
    """``holdfast`` with all commands below it."""
    commands = tuple(_read(cli.command_parser(name), (name,), purpose) for name, purpose in cli.COMMANDS.items())
    options = tuple(_option(action) for action in cli.command_parser(None)._actions if action.option_strings)
    return CommandWords((), "", tuple(option for option in options if option.about), (), commands)


def _read(parser: argparse.ArgumentParser, path: tuple[str, ...], about: str) -> CommandWords:
    options: list[OptionWords] = []
    words: list[OptionWords] = []
    commands: list[CommandWords] = []
    for action in parser._actions:
        if isinstance(action.choices, dict):
            commands += (_read(inner, (*path, name), inner.description or "") for name, inner in action.choices.items())
        else:
            (options if action.option_strings else words).append(_option(action))
    return CommandWords(path, about.removesuffix("."), tuple(options), tuple(words), tuple(commands))


def _option(action: argparse.Action) -> OptionWords:
    about = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    about = re.split(r" \(default|; |: | \[", about)[0].replace("%%", "%")
    metavar = str(action.metavar or "") if action.nargs != 0 else ""
    choices: tuple[str, ...] = ()
    if isinstance(action.type, Reader):
        parameter = action.type.item.parameter
        choices = tuple(resolve_name(parameter.names_in)) if parameter.names_in else action.type.item.choices
    repeated = action.nargs in ("*", "+")
    return OptionWords(tuple(action.option_strings), about, metavar, choices, repeated)


def below(command: CommandWords) -> Iterator[CommandWords]:
    """A command and all commands below it."""
    yield command
    for inner in command.commands:
        yield from below(inner)
