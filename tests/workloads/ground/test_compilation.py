"""Compiled code is kept where only the user can write, and what is damaged there is compiled again."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.workloads.ground import compilation, object_code
from holdfast.workloads.ground.compilation import cache_directory
from holdfast.workloads.ground.errors import MachineCodeWarning
from tests.places import PACKAGES, ROOT

llvmlite = pytest.importorskip("llvmlite")
pytest.importorskip("numba")


def double(count, values, factor, results):  # type: ignore[no-untyped-def]
    """What is compiled here."""
    for place in range(count):
        results[place] = factor * values[place]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    compilation.warn_once.cache_clear()
    return tmp_path / "cache" / "holdfast"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    object_code.object_code.cache_clear()
    compilation.warn_once.cache_clear()


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each compilation."""
    found: list[object] = []
    assembly = object_code.assembly

    def note_call(*given: Any) -> str | None:
        found.append(given)
        return assembly(*given)

    monkeypatch.setattr(object_code, "assembly", note_call)
    return found


def doubles() -> list[float]:
    """The results of the function, as a new process would get them."""
    object_code.object_code.cache_clear()
    run = object_code.object_code(double, "nfdf") or double
    results = np.zeros(3)
    run(3, np.arange(0.0, 1.5, 0.5), 0.5, results)
    found: list[float] = results.tolist()
    return found


def process_warnings() -> list[str]:
    """What a new process says beside the right results."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        compilation.warn_once.cache_clear()
        assert doubles() == [0.0, 0.25, 0.5]
    assert all(issubclass(item.category, MachineCodeWarning) for item in found)
    return [str(item.message) for item in found]


def test_a_function_is_compiled_once(home: Path, compilations: list[object]) -> None:
    assert process_warnings() == []
    assert process_warnings() == []
    assert len(compilations) == 1
    (file,) = home.iterdir()
    assert file.name.startswith("double-")
    assert (home.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "short": lambda content: content[:20],
    "half": lambda content: content[: len(content) // 2],
    "byte missing": lambda content: content[:-1],
    "bit in the code": lambda content: content[:-50] + bytes([content[-50] ^ 1]) + content[-49:],
    "bit in the digest": lambda content: content[:30] + bytes([content[30] ^ 1]) + content[31:],
    "a pickle": lambda content: b"\x80\x04\x95\x08\x00\x00\x00\x00\x00\x00\x00\x8c\x040.60\x94." + content,
}


def test_a_function_with_several_callers_is_compiled_once_for_all_constants() -> None:
    """Also if one of the callers is inlined. The function is so long that LLVM does not inline it on its own."""
    lines = [
        f"        values[{number}] = (values[{number}] * step + values[step]) // {number + 3}" for number in range(60)
    ]
    source = ["def shared(values, step):", "    for place in range(values[0]):", *lines]
    source += ["def middle(values):", "    shared(values, 1)", "def outer(values):", "    middle(values)"]
    source += ["    shared(values, 2)", "    shared(values, values[0])"]
    names: dict[str, Any] = {"__name__": "loops"}
    exec("\n".join(source), names)
    text = compilation.assembly(names["outer"], "a")
    assert text is not None
    defined = [line for line in text.splitlines() if line.startswith("define ")]
    assert [name for name in ("shared", "middle", "outer") for line in defined if name in line] == ["shared", "outer"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_compiled_again(damage: str, home: Path, compilations: list[object]) -> None:
    assert process_warnings() == []
    (file,) = home.iterdir()
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    assert process_warnings() == [f"compiled code in {file} is damaged; it is compiled again"]
    assert len(compilations) == 2
    # It is whole again, and nothing else was left.
    assert process_warnings() == []
    assert list(home.iterdir()) == [file]
    assert len(compilations) == 2


def test_code_of_another_version_is_compiled_again(
    home: Path, compilations: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other:
        other.setattr(llvmlite, "__version__", "0.1")
        assert process_warnings() == []
    (old,) = home.iterdir()
    assert process_warnings() == []
    (new,) = set(home.iterdir()) - {old}
    # Even under the name of the right one it is not loaded.
    new.write_bytes(old.read_bytes())
    assert process_warnings() == []
    assert len(compilations) == 3


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users here")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_directory_that_others_can_write_is_not_used(mode: int, home: Path, compilations: list[object]) -> None:
    assert process_warnings() == []
    (file,) = home.iterdir()
    before = file.read_bytes()
    home.chmod(mode)
    (sentence,) = process_warnings()
    assert str(home) in sentence and "other users can write" in sentence
    # Neither read nor written.
    assert len(compilations) == 2
    assert file.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users here")
def test_the_directory_of_another_user_is_not_used(
    home: Path, compilations: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert process_warnings() == []
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    (sentence,) = process_warnings()
    assert str(home) in sentence
    assert len(compilations) == 2


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_full_or_read_only_disk_keeps_nothing(number: int, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = Path.replace

    def fail(path: Path, target: Path) -> Path:
        if path.suffix == ".part":
            raise OSError(number, os.strerror(number), str(path))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", fail)
    (sentence,) = process_warnings()
    assert os.strerror(number) in sentence and str(home) in sentence
    assert list(home.iterdir()) == []


def test_a_directory_that_cannot_be_made(home: Path) -> None:
    home.parent.write_text("a file in the way")
    (sentence,) = process_warnings()
    assert str(home) in sentence


def test_where_numba_fails_the_plain_function_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> object:
        raise RuntimeError("LLVM is out of order\nmore of it")

    monkeypatch.setattr(object_code, "assembly", fail)
    assert process_warnings() == [
        "numba cannot compile double (LLVM is out of order); it runs in Python, which is slower"
    ]


def test_where_the_cache_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: Path) -> None:
    assert cache_directory() == home
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own" / "holdfast"
    assert process_warnings() == []
    assert (tmp_path / "own" / "holdfast").stat().st_mode & 0o777 == 0o700
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    # A relative path is illegal there.
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_directory() == tmp_path / ".cache" / "holdfast"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_directory() == tmp_path / "Library" / "Caches" / "holdfast"


def test_nothing_else_imports_numba() -> None:
    places = [path for layer in PACKAGES for path in (ROOT / layer).rglob("*.py")]
    users = {
        path.relative_to(ROOT).as_posix()
        for path in places
        if "import njit" in path.read_text() or "import numba" in path.read_text()
    }
    assert users == {"workloads/ground/compilation.py"}


@pytest.mark.system
def test_a_plan_survives_a_damaged_cache(home: Path) -> None:
    words = ["plan", "exponential", "--mean", "8h", "--checkpoint", "6m", "--restart", "6m", "--n", "2500"]
    code = "import sys, holdfast.experiments.cli as cli; sys.exit(cli.main(sys.argv[1:]))"

    def plan() -> tuple[str, str]:
        found = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=ROOT)
        assert found.returncode == 0
        return found.stdout, found.stderr

    first, silent = plan()
    assert silent == ""
    (file,) = home.iterdir()
    file.write_bytes(file.read_bytes()[:1000])
    again, warning = plan()
    assert again == first
    assert warning == f"holdfast plan: warning: compiled code in {file} is damaged; it is compiled again\n"
    assert plan() == (first, "")
