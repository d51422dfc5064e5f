"""Machine code of plain functions, compiled by numba, and a cache of it that only the user can write.

Numba's own cache consists of pickles, beside the source or in a directory that numba chooses. Numba loads them without
a check, and fails permanently if a file is damaged. Here each file has a digest of its content, and is loaded only if
it is intact and in a directory that belongs to the user and that other users cannot write. The digest detects
accidental damage; the directory protects against other users.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import pickle
import platform
import stat
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from workloads.ground.errors import MachineCodeWarning
from workloads.ground.files import partial_name

__all__ = [
    "assembly",
    "cache_directory",
    "called_functions",
    "first_line",
    "machine_code",
    "read_code",
    "usable_directory",
    "warn_once",
    "write_code",
]

#: First bytes of each file.
_MAGIC = b"holdfast machine code 1\n"
_BINARY = getattr(os, "O_BINARY", 0)
_DIGEST = hashlib.sha256().digest_size


def machine_code(function: Callable[..., None]) -> Callable[..., None] | None:
    """Compile a function with numba, or load it from the cache.

    Parameters
    ----------
    function
        A function of a module, of numbers and arrays, that writes its results into arrays.

    Returns
    -------
    callable or None
        An equivalent compiled function; None if numba is missing. If numba fails, the plain function, with a
        :class:`~workloads.ground.errors.MachineCodeWarning`.
    """
    try:
        from numba import njit
    except ImportError:
        return None
    dispatcher = njit(function)
    directory = usable_directory()
    if directory is not None:
        dispatcher._cache = _cache(function, directory)

    ready = False

    @functools.wraps(function)
    def run(*arguments: Any) -> None:
        nonlocal ready
        if ready:
            dispatcher(*arguments)
            return
        try:
            dispatcher.compile(tuple(dispatcher.typeof_pyval(argument) for argument in arguments))
        except Exception as error:  # whatever numba and LLVM raise: the plain function gives the same results
            warn_once(
                f"numba cannot compile {function.__name__} ({first_line(error)}); it runs in Python, which is slower"
            )
            function(*arguments)
            return
        ready = True
        dispatcher(*arguments)

    return run


def assembly(function: Callable[..., Any], kinds: str) -> str | None:
    """LLVM assembly of a function of whole numbers (``n``) and pointers to them (``a``) or to bytes (``b``).

    Parameters
    ----------
    function
        A function of a module that returns a whole number or nothing. Functions that it calls by name are compiled into
        it.
    kinds
        A letter for each argument.

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
    known = {"n": types.int64, "a": pointer(types.int64), "b": pointer(types.uint8)}
    bare: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made: dict[FunctionType, Any] = {}

    def link(item: FunctionType, **flags: Any) -> Any:
        if item not in made:
            # Calls are inlined, except of functions marked as called from many places: compiling each copy takes time.
            others = {
                other.__name__: link(
                    other, **(bare if getattr(other, "stands_alone", False) else {"forceinline": True})
                )
                for other in _callees(item)
            }
            copy = FunctionType(item.__code__, {**item.__globals__, **others}, item.__name__)
            copy.__module__ = item.__module__
            # With numpy's error model, a division by zero returns a value; the code cannot raise Python's errors.
            made[item] = njit(error_model="numpy", **flags)(copy)
        return made[item]

    dispatcher = link(cast(FunctionType, function), **bare)
    dispatcher.compile(tuple(known[kind] for kind in kinds))
    (signature,) = dispatcher.signatures
    text: str = dispatcher.inspect_llvm(signature)
    return text


def called_functions(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Functions of modules that a function calls by name, directly or indirectly; none is recursive."""
    found: dict[Callable[..., Any], None] = {}
    for item in _callees(cast(FunctionType, function)):
        found |= dict.fromkeys([item, *called_functions(item)])
    return list(found)


def _callees(function: FunctionType) -> list[FunctionType]:
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


def _cache(function: Callable[..., None], directory: Path) -> Any:
    """A cache of numba for the compiled versions of one function."""
    import numba
    from numba.core.caching import _Cache
    from numba.core.compiler import CompileResult
    from numba.core.serialize import dumps

    source = Path(inspect.getfile(function))
    versions = f"{numba.__version__} {sys.implementation.cache_tag} {platform.machine()}"

    pack: Any = dumps
    rebuild: Any = CompileResult._rebuild

    class SealedCache(_Cache):
        """One file for each signature, with a digest over its content."""

        cache_path = str(directory)

        def load_overload(self, signature: Any, context: Any) -> Any:
            context.refresh()
            path, stamp = self._place(signature, context.codegen())
            content = read_code(path, stamp)
            if content is None:
                return None
            try:
                return rebuild(context, *pickle.loads(content))
            except Exception as error:  # a library that numba links to is another one
                warn_once(f"compiled code in {path} cannot be used ({first_line(error)}); it is compiled again")
                return None

        def save_overload(self, signature: Any, compiled: Any) -> None:
            path, stamp = self._place(signature, compiled.codegen)
            write_code(path, stamp, pack(compiled._reduce()))

        def _place(self, signature: Any, codegen: Any) -> tuple[Path, bytes]:
            """The file of a signature, and the stamp of source and compiler."""
            key = f"{source} {versions} {codegen.magic_tuple()} {signature}"
            name = f"{function.__name__}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.bin"
            return directory / name, hashlib.sha256(key.encode() + source.read_bytes()).digest()

        def enable(self) -> None:
            """Do nothing: the cache is always enabled."""

        def disable(self) -> None:
            """Do nothing: the cache cannot be disabled."""

        def flush(self) -> None:
            """Do nothing: files are written at once."""

    return SealedCache()


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
