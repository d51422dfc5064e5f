"""Sphinx: every option of the command line, from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.experiments.cli import COMMANDS, command_parser

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def pages(app: Sphinx) -> None:
    """Write the page."""
    lines = ["Options", "=======", ""]
    lines += ["What ``holdfast COMMAND --help`` says. :doc:`Commands <../../commands>` explains it.", ""]
    for command, purpose in COMMANDS.items():
        lines += [f"holdfast {command}", "-" * (len(command) + 9), "", f"{purpose[0].upper()}{purpose[1:]}.", ""]
        lines += options(command_parser(command))
    target = Path(app.srcdir, "reference", "api", "options.rst")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n")


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a command, group by group, as definitions."""
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if "--help" not in action.option_strings]
        if actions:
            yield from (f".. rubric:: {group.title}", "")
        for action in actions:
            if isinstance(action, argparse._SubParsersAction):
                for inner in action.choices.values():
                    yield from (f".. rubric:: {inner.prog}", "")
                    yield from options(inner)
                continue
            names = action.option_strings or [str(action.metavar or action.dest)]
            value = f" {action.metavar or action.dest.upper()}" if action.option_strings and action.nargs != 0 else ""
            about = escape(formatter._expand_help(action)) if action.help else "\\ "
            yield from (", ".join(f"``{name}{value}``" for name in names), f"    {about}", "")


def escape(text: str) -> str:
    """Without what means something in reStructuredText."""
    return "".join(f"\\{letter}" if letter in "\\*`|_" else letter for letter in text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", pages, priority=400)  # before autosummary looks for pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
