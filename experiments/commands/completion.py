"""``holdfast completion``: print a script that completes commands, options and their values in a shell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from holdfast.workloads.ground.parameters import Parameter

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter("bash, zsh or fish", metavar="SHELL", positional=True)]


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.commands.shell.completion_scripts import SCRIPTS
    from holdfast.experiments.commands.shell.completion_words import all_commands

    print(SCRIPTS[arguments.shell](all_commands()), end="")
