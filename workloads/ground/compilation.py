"""Compilation of plain functions by numba, and a cache of the code that only the user can write.

Numba's own cache consists of pickles, beside the source or in a directory that numba chooses. Numba loads them without
a check, and fails permanently if a file is damaged. Here each file has a digest of its content, and is loaded only if
it is intact and in a directory that belongs to the user and that other users cannot write. The digest detects
accidental damage; the directory protects against other users.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any, cast, get_type_hints

import numpy as np
import numpy.typing as npt

from holdfast.workloads.ground.errors import MachineCodeWarning
from holdfast.workloads.ground.files import partial_name

__all__ = [
    "Kinds",
    "assembly",
    "cache_directory",
    "called_functions",
    "first_line",
    "letters",
    "read_code",
    "usable_directory",
    "warn_once",
    "write_code",
]

#: What each argument of a loop is: a letter, or a named tuple of numbers and arrays.
Kinds = str | tuple[type, ...]
_LETTERS: dict[Any, str] = {int: "n", float: "d", npt.NDArray[np.int64]: "a", npt.NDArray[np.float64]: "f"}
#: First bytes of each file.
_MAGIC = b"holdfast machine code 1\n"
_BINARY = getattr(os, "O_BINARY", 0)
_DIGEST = hashlib.sha256().digest_size


def assembly(function: Callable[..., Any], kinds: Kinds) -> str | None:
    """What LLVM makes object code from.

    Parameters
    ----------
    function
        A function of a module that returns a whole number or nothing. Functions that it calls by name are compiled into
        it.
    kinds
        A letter for each argument: ``n`` a whole number, ``d`` a decimal one, and pointers, ``a`` to whole numbers,
        ``f`` to decimal ones, ``b`` to bytes; or a named tuple of these for each argument.

    Returns
    -------
    str or None
        Assembly of one function without the wrappers for Python; None if numba is missing.
    """
    try:
        from numba import njit, types
    except ImportError:
        return None
    pointer: Any = types.CPointer
    known = {
        "n": types.int64,
        "d": types.float64,
        "a": pointer(types.int64),
        "f": pointer(types.float64),
        "b": pointer(types.uint8),
    }
    # A function with one caller is inlined, and any other is compiled once: if all are inlined, compiling the replay on
    # machines takes 25 s in place of 15. Numba passes forceinline on from caller to callee; False stops that.
    inlined: Any = {"forceinline": True}
    bare: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": False}
    callers = Counter(_callees(function))
    for item in called_functions(function):
        callers.update(_callees(item))
    made: dict[FunctionType, Any] = {}

    def link(item: FunctionType) -> Any:
        if item not in made:
            others = {other.__name__: link(other) for other in _callees(item)}
            copy = FunctionType(item.__code__, {**item.__globals__, **others}, item.__name__)
            copy.__module__ = item.__module__
            # With numpy's error model, a division by zero returns a value; the code cannot raise Python's errors.
            made[item] = njit(error_model="numpy", **(inlined if callers[item] == 1 else bare))(copy)
            _compile_once(made[item], types.unliteral)
        return made[item]

    dispatcher = link(cast(FunctionType, function))

    def known_type(kind: str | type) -> Any:
        if isinstance(kind, str):
            return known[kind]
        group: Any = types.BaseTuple
        return group.from_types([known[letter] for letter in letters((kind,))], kind)

    dispatcher.compile(tuple(map(known_type, kinds)))
    (signature,) = dispatcher.signatures
    text: str = dispatcher.inspect_llvm(signature)
    return text


def _compile_once(dispatcher: Any, general: Callable[[Any], Any]) -> None:
    """Give constants the type of all numbers: numba would compile a copy of the function for each that it is given."""
    find = dispatcher.get_call_template

    def find_general(arguments: Iterable[Any], named: Mapping[str, Any]) -> Any:
        return find(tuple(map(general, arguments)), {name: general(kind) for name, kind in named.items()})

    dispatcher.get_call_template = find_general


def letters(kinds: Kinds) -> str:
    """A letter for each number and array, in the order in which a compiled loop takes them."""
    if isinstance(kinds, str):
        return kinds
    return "".join(_LETTERS[field] for kind in kinds for field in get_type_hints(kind).values())


def called_functions(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Functions of modules that a function calls by name, directly or indirectly; none is recursive."""
    found: dict[Callable[..., Any], None] = {}
    for item in _callees(function):
        found |= dict.fromkeys([item, *called_functions(item)])
    return list(found)


def _callees(called: Callable[..., Any]) -> list[FunctionType]:
    function = cast(FunctionType, called)
    found = (function.__globals__.get(name) for name in function.__code__.co_names)
    return [item for item in found if isinstance(item, FunctionType)]


def cache_directory() -> Path | None:
    """Directory of compiled code: ``$NUMBA_CACHE_DIR/holdfast``, else the user's cache directory of the platform.

    Returns
    -------
    Path or None
        The directory, which need not exist; None if the user has no home directory.
    """
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given).absolute() / "holdfast"
    try:
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            return (Path(local) if local else Path.home() / "AppData" / "Local") / "holdfast" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "holdfast"
        given = os.environ.get("XDG_CACHE_HOME", "")
        # The specification of XDG: a relative path is ignored.
        return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "holdfast"
    except RuntimeError:
        return None


def usable_directory() -> Path | None:
    """The cache directory, created if necessary; None, with a warning, if it is not safe or cannot be created."""
    directory = cache_directory()
    if directory is None:
        warn_once("there is no home directory to keep compiled code in; each process compiles it again")
        return None
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError as error:
        warn_once(f"compiled code cannot be kept in {directory} ({error.strerror}); each process compiles it again")
        return None
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        warn_once(
            f"compiled code is not kept in {directory}, which other users can write; each process compiles it again, "
            f"until the directory belongs to you and has mode 700"
        )
        return None
    return directory


def read_code(path: Path, stamp: bytes) -> bytes | None:
    """The code in a cache file; None if it is damaged or has another stamp."""
    try:
        content = _read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        warn_once(f"compiled code in {path} cannot be read ({error.strerror}); it is compiled again")
        return None
    body = content[len(_MAGIC) + _DIGEST :]
    if content[: len(_MAGIC) + _DIGEST] != _MAGIC + hashlib.sha256(body).digest():
        warn_once(f"compiled code in {path} is damaged; it is compiled again")
        return None
    # Another stamp means an older source or another version of numba, which needs no warning.
    return body[_DIGEST:] if body[:_DIGEST] == stamp else None


def write_code(path: Path, stamp: bytes, code: bytes) -> None:
    """Write code to the cache, with the stamp of source and compiler."""
    body = stamp + code
    part = path.with_name(partial_name(path.name))
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600), "wb") as file:
            file.write(_MAGIC + hashlib.sha256(body).digest() + body)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        warn_once(f"compiled code cannot be kept in {path.parent} ({error.strerror}); each process compiles it again")


def _read(path: Path) -> bytes:
    """Read a file that belongs to the user; links and files of other users are refused."""
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | _BINARY), "rb") as file:
        if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
            raise PermissionError(0, "it belongs to another user", str(path))
        return file.read()


@functools.cache
def warn_once(sentence: str) -> None:
    """Warn once per process."""
    warnings.warn(sentence, MachineCodeWarning, stacklevel=2)


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
