"""Command line that makes an answer again, from the options that were given."""

from __future__ import annotations

import shlex
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["command_line"]

#: Options that change no answer.
_WITHOUT_EFFECT = frozenset({"workers", "json", "trust", "plot"})


def command_line(command: str, *parts: Any) -> str:
    """Command with all options that differ from their defaults, quoted for a shell.

    Parameters
    ----------
    command
        Name of the command.
    *parts
        Dataclasses of its options; a field named ``log`` is the positional argument.
    """
    positional: list[str] = []
    words: list[str] = []
    for part in parts:
        for item in fields(part):
            value = getattr(part, item.name)
            if item.name in _WITHOUT_EFFECT or is_dataclass(value) or value == item.default or value == ():
                continue
            if item.name == "log":
                positional.append(str(value))
                continue
            option = f"--{item.name.replace('_', '-')}"
            if value is True:
                words.append(option)
                continue
            for one in value if isinstance(value, tuple) else (value,):
                text = f"{one:.15g}" if isinstance(one, float) else str(one)
                # A value such as -10% would be taken for an option.
                words += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return shlex.join(["holdfast", command, *positional, *words])
