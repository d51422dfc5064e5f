"""Stand-ins of Slurm's commands: they write down how they were called, and answer from files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_SBATCH = """\
count=$(wc -l < "$CALLS/sbatch")
[ "$count" != "${FAIL_AT:-none}" ] || { echo "sbatch: error: invalid partition" >&2; exit 1; }
for word in "$@"; do printf '%s\\0' "$word"; done >> "$CALLS/words-$count"
echo >> "$CALLS/sbatch"
echo $((100 + count))
"""


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put stand-ins before everything else in the PATH; the folder in which they note their calls."""
    programs, calls = folder / "programs", folder / "calls"
    programs.mkdir()
    calls.mkdir()
    (calls / "sbatch").touch()
    texts = {name: f'printf "%s\\n" "$*" >> "$CALLS/{name}"\n' for name in ("scancel", "scontrol")}
    texts["sbatch"] = _SBATCH
    texts["sacct"] = 'cat "$CALLS/sacct-output"\n'
    for name, text in texts.items():
        program = programs / name
        program.write_text(f"#!/bin/bash\n{text}")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(calls))
    return calls


def words_of(calls: Path, call: int) -> list[str]:
    """The arguments of one call of sbatch, from 0."""
    return (calls / f"words-{call}").read_bytes().decode().split("\0")[:-1]
