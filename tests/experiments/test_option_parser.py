"""The help of every option says what its value is, in which unit, and what holds without it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from holdfast.experiments.cli import COMMANDS, main
from holdfast.experiments.option_parser import Reader, bare_times
from holdfast.workloads.ground.parameters import Declared, declared_parameters
from tests.test_docs import command_parser

#: What stands for a value in the help: the kind of thing, never a question.
METAVARS = re.compile(
    r"NAME|TIME(,TIME(\[,N\])?|,\.\.\.)?|N|N,N,\.\.\.|O,R,M|NUMBER|SHARE(,SHARE)?|SEED|UNIT|DIR|FILE(\.\w+)?|PATTERN|ADDRESS|KEY|KEY=VALUE|NAME=VALUE|ROLE=COLUMN(,\.\.\.)?|SHELL|WIDTH|FORMAT|COLUMN=VALUE,\.\.\.|COLUMN:VALUE=TYPE|\{[\w,.-]+\}"
)
#: Words with which no help begins, because a noun or a verb should.
NOT_FIRST = re.compile(
    "of|on|by|for|from|in|at|with|without|as|if|where|when|what|who|whose|which|how|that|this|it|is|likewise"
)


def options(command: str) -> Iterator[tuple[str, argparse.Action]]:
    for action in command_parser(command)._actions:
        if not isinstance(action, argparse._HelpAction):
            yield f"{command} {action.option_strings[-1] if action.option_strings else action.metavar}", action


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_is(command: str) -> None:
    for name, action in options(command):
        assert action.help, name
        assert not NOT_FIRST.fullmatch(re.split(r"[ ,:;]", action.help)[0].lower()), f"{name}: {action.help}"
        if not action.option_strings or action.nargs == 0:
            continue
        assert isinstance(action.metavar, str), name
        assert METAVARS.fullmatch(action.metavar), f"{name} {action.metavar}"
        if not action.required:
            default = re.search(r"\(default:? ([^)]+)\)", action.help)
            assert default, f"{name}: {action.help}"
        if action.metavar == "TIME":
            assert re.search(r"\[s\b|\bseconds\b", action.help), f"{name}: {action.help}"


def declarations() -> Iterator[tuple[str, Declared]]:
    for command in COMMANDS:
        module = import_module(f"holdfast.experiments.commands.{command.replace('-', '_')}")
        names = getattr(module, "SUBCOMMANDS", None)
        for holder in [module] if names is None else map(module.subcommand, names):
            for item in declared_parameters(holder.Arguments):
                yield f"{holder.__name__} {item.option}", item


def test_the_default_in_the_help_reads_as_the_default() -> None:
    seen = 0
    for name, item in declarations():
        shown = re.search(r"\(default ([^)]+)\)", item.help)
        if item.type is bool or item.required or item.default in (None, "", ()):
            continue
        assert shown is not None, name
        word = re.split(r"[:,] ", shown[1])[0]
        read = Reader(item, None).read
        assert (tuple(map(read, [word])) if item.parameter.repeated else read(word)) == item.default, name
        seen += 1
    assert seen > 80


def parsers() -> Iterator[argparse.ArgumentParser]:
    for command in COMMANDS:
        yield (parser := command_parser(command))
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from action.choices.values()


@pytest.mark.parametrize("parser", list(parsers()), ids=lambda parser: parser.prog)
def test_help_fits_two_screens_and_names_every_option(
    parser: argparse.ArgumentParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = parser.format_help().splitlines()
    assert len(lines) <= 84
    assert max(map(len, lines)) <= 80
    named = set(" ".join(lines).replace(",", " ").split())
    assert all(action.option_strings[-1] in named for action in parser._actions if action.option_strings)
    assert "--help-all" in named


def test_all_options_are_explained_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in (
        ["run", "--help-all"],
        ["loop", "x", "--help-all"],
        ["forecast", "--help-all"],
        ["plan", "--help-all"],
    ):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
        shown = " ".join(capsys.readouterr().out.split())
        for _, action in options(words[0]):
            named = str(action.help) % {"names": getattr(action, "names", "")}
            assert " ".join(named.split()) in shown
    for words in (["slurm", "replay", "--help-all"], ["slurm", "--help-all"], ["--help-all"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: {' '.join(['holdfast', *words[:-1]])} ")
    assert main([]) == 0
    titles = re.findall(r"^(\w+):$", capsys.readouterr().out, flags=re.MULTILINE)
    assert titles == ["options", "start", "look", "study", "Slurm", "papers", "shell"]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "--mean 21 --checkpoint 10m",
            "--mean 21 has no unit and is in seconds; other units are written as 21m, 21h or 21d",
        ),
        ("--mean 1h --checkpoint 60 --restart 30", "--checkpoint 60 and --restart 30 have no unit and are in seconds;"),
        ("--mean 1.5 --max 3h", "--mean 1.5 has no unit and is in seconds; other units are written as 1.5m"),
        (
            "--mean 3600 --unit h",
            "--mean 3600 has no unit and is in seconds, as --unit does not apply to options; other units are written",
        ),
        ("--mean 3600 --unit s", ""),
        ("--mean 3600 --checkpoint 60", ""),
        ("--mean 1h --checkpoint 10m --restart 0", ""),
        ("--mean 1h --n 20", ""),
    ],
)
def test_a_time_without_a_unit_beside_others_gets_a_hint(
    line: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "exponential", *line.split(), *([] if "--n" in line else ["--n", "9"])]) == 0
    error = capsys.readouterr().err
    assert error.startswith(f"holdfast plan: warning: {hint}") if hint else not error
    assert error.count("\n") == bool(hint)


def test_each_of_several_times_is_looked_at() -> None:
    words = ["jobs.swf", "-o", "x.csv", "--notice-lead", "5m,3600", "--starting-state", "2022-03-01T12:00"]
    arguments = import_module("holdfast.experiments.commands.prepare").Arguments
    parsed = command_parser("prepare").parse_args(words)
    assert bare_times(arguments, parsed).startswith("--notice-lead 3600 has no unit")
    # The third part of a maintenance window is a number of nodes.
    arguments = import_module("holdfast.experiments.commands.whatif").Arguments
    for window, hint in (("7d,12h,50", ""), ("7d,43200,50", "--maintenance 43200 has no unit")):
        parsed = command_parser("whatif").parse_args(["log.swf", "--maintenance", window])
        assert bare_times(arguments, parsed).partition(" and is")[0] == hint


def test_a_date_is_no_time_with_a_unit() -> None:
    words = ["jobs.swf", "-o", "x.csv", "--notice-lead", "300,3600", "--starting-state", "2022-03-01T12:00"]
    arguments = import_module("holdfast.experiments.commands.prepare").Arguments
    assert not bare_times(arguments, command_parser("prepare").parse_args(words))
