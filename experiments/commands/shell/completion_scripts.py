"""Completion scripts of bash, zsh and fish: plain text, so that no Python runs when a key is pressed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping

from holdfast.experiments.commands.shell.completion_words import CommandWords, OptionWords, below

__all__ = ["SCRIPTS"]

_BASH = """\
# Completion of holdfast in bash.
_holdfast() {
    local IFS=$' \\t\\n' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local path= word commands= options= values=
    # bash makes three words of --option=value.
    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$path/$word" in
            @PATHS@) path=$path/$word ;;
        esac
    done
    COMPREPLY=()
    case "$path $prev" in
@VALUES@
    esac
    case $path in
@COMMANDS@
    esac
    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$cur")); return; fi
    if [[ $commands ]]; then COMPREPLY=($(compgen -W "$commands" -- "$cur")); return; fi
    IFS=$'\\n'
    case $values in
        file) COMPREPLY=($(compgen -f -- "$cur")) ;;
        directory) COMPREPLY=($(compgen -d -- "$cur")) ;;
    esac
}
complete -o filenames -F _holdfast holdfast
"""


def _bash(root: CommandWords) -> str:
    paths, values, commands = [], [], []
    for command in below(root):
        path = "".join(f"/{word}" for word in command.path)
        paths += [path] if path else []
        for option in command.options:
            if not option.metavar:
                continue
            if option.choices:
                reply = f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(option.choices))} -- "$cur"))'
            elif option.is_file or option.is_directory:
                reply = f"IFS=$'\\n'; COMPREPLY=($(compgen {'-f' if option.is_file else '-d'} -- \"$cur\"))"
            else:
                reply = ":"
            names = "|".join(f'"{path} {name}"' for name in option.names)
            values.append(f"        {names}) {reply}; return ;;")
        words = " ".join(name for option in command.options for name in option.names)
        kinds = ("file" if word.is_file else "directory" if word.is_directory else "" for word in command.words)
        listed = [
            *(inner.path[-1] for inner in command.commands),
            *(name for word in command.words for name in word.choices),
        ]
        kind = next(filter(None, kinds), "")
        commands.append(f'        "{path}") options="{words}" commands="{" ".join(listed)}" values={kind} ;;')
    text = _BASH.replace("@PATHS@", "|".join(paths))
    return text.replace("@VALUES@", "\n".join(values)).replace("@COMMANDS@", "\n".join(commands))


def _zsh(root: CommandWords) -> str:
    lines = ["#compdef holdfast", "# Completion of holdfast in zsh.", ""]
    for command in below(root):
        name = "_".join(["_holdfast", *(word.replace("-", "_") for word in command.path)])
        lines += [f"{name}() {{"]
        specs = [spec for option in command.options for spec in _zsh_options(option)]
        if command.commands:
            lines += [
                '    local curcontext="$curcontext" state line',
                "    typeset -A opt_args",
                "    local -a commands",
            ]
            specs += ["'1: :->command'", "'*:: :->words'"]
        else:
            specs += [_zsh_word(word) for word in command.words]
        lines.append(" \\\n        ".join([f"    _arguments -s -S{' -C' if command.commands else ''}", *specs]))
        if command.commands:
            lines += ["    case $state in", "        command)", "            commands=("]
            lines += [
                f"                {shlex.quote(f'{inner.path[-1]}:{_zsh_escape(inner.about)}')}"
                for inner in command.commands
            ]
            lines += ["            )", "            _describe command commands ;;", "        words)"]
            lines += ["            case $words[1] in"]
            lines += [
                f"                {inner.path[-1]}) {'_'.join([name, inner.path[-1].replace('-', '_')])} ;;"
                for inner in command.commands
            ]
            lines += ["            esac ;;", "    esac"]
        lines += ["}", ""]
    lines += ['if [ "$funcstack[1]" = "_holdfast" ]; then _holdfast "$@"; else compdef _holdfast holdfast; fi', ""]
    return "\n".join(lines)


def _zsh_escape(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\:[]" else letter for letter in text)


def _zsh_action(option: OptionWords) -> str:
    if option.choices:
        return f"({' '.join(option.choices)})"
    return "_files" if option.is_file else "_files -/" if option.is_directory else " "


def _zsh_options(option: OptionWords) -> Iterator[str]:
    value = f":{_zsh_escape(option.metavar)}:{_zsh_action(option)}" if option.metavar else ""
    for name in option.names:
        mark = "" if not value else "=" if name.startswith("--") else "+"
        yield shlex.quote(f"*{name}{mark}[{_zsh_escape(option.about)}]{value}")


def _zsh_word(word: OptionWords) -> str:
    return shlex.quote(f"{'*' if word.repeated else ''}:{_zsh_escape(word.metavar)}:{_zsh_action(word)}")


def _fish(root: CommandWords) -> str:
    lines = ["# Completion of holdfast in fish.", "complete -c holdfast -f"]
    nested = {inner.path[-1]: inner.path[0] for command in root.commands for inner in command.commands}
    for command in below(root):
        seen = [f"__fish_seen_subcommand_from {word}" for word in command.path]
        if len(command.path) == 1 and command.path[0] in nested:
            seen.append(f"not __fish_seen_subcommand_from {nested[command.path[0]]}")
        where = "; and ".join(seen) or "__fish_use_subcommand"
        for option in command.options:
            names = (f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            lines.append(" ".join([_fish_start(where), *names, *_fish_value(option), _fish_about(option.about)]))
        names_below = " ".join(inner.path[-1] for inner in command.commands)
        for inner in command.commands:
            own = f"{where}; and not __fish_seen_subcommand_from {names_below}" if command.path else where
            lines.append(f"{_fish_start(own)} -a {inner.path[-1]} {_fish_about(inner.about)}")
        for word in command.words:
            if word.choices:
                lines.append(f"{_fish_start(where)} -a {_fish_quote(' '.join(word.choices))}")
            elif word.is_file or word.is_directory:
                lines.append(f"{_fish_start(where)} -F")
    return "\n".join(lines) + "\n"


def _fish_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _fish_start(where: str) -> str:
    return f"complete -c holdfast -n {_fish_quote(where)}"


def _fish_about(about: str) -> str:
    return f"-d {_fish_quote(about)}"


def _fish_value(option: OptionWords) -> Iterator[str]:
    if option.metavar:
        yield "-r" if option.is_file or option.is_directory else "-x"
        if option.choices:
            yield f"-a {_fish_quote(' '.join(option.choices))}"
        elif option.is_file or option.is_directory:
            yield "-F"


#: Makers of the scripts by shell.
SCRIPTS: Mapping[str, Callable[[CommandWords], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
