"""Object code of plain loops: compiled once by numba, then loaded by LLVM alone in later processes.

Loading numba takes a second of processor time, more than the replay of a year of a real machine. A loop over numbers
and arrays of numbers does not need numba at run time. Its object code is stored separately, in the cache of
:mod:`holdfast.workloads.ground.compilation` and under the same rules, and a process loads it in a few hundredths of a
second.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from holdfast.workloads.ground.compilation import (
    Kinds,
    assembly,
    called_functions,
    first_line,
    letters,
    read_code,
    usable_directory,
    warn_once,
    write_code,
)

__all__ = ["object_code"]

#: Library functions that the code of a loop may call.
_LIBRARY = frozenset({"memset", "memcpy", "memmove"})
#: What loops may ask of the mathematical library by the names of LLVM, for which LLVM then calls a function of it.
_MATHEMATICS = {"llvm.log10.f64": "log10", "llvm.exp.f64": "exp"}
_TYPES: dict[str, Any] = {"n": ctypes.c_int64, "d": ctypes.c_double}
_ITEMS = {kind: np.dtype(item) for kind, item in (("a", np.int64), ("f", np.float64), ("b", np.uint8))}
#: Engines must live as long as their code.
_engines: list[Any] = []


@functools.cache
def object_code(function: Callable[..., Any], kinds: str = "", *, compiles: bool = True) -> Callable[..., Any] | None:
    """Compile a loop to machine code, or load it from the cache.

    Parameters
    ----------
    function
        A function of a module that reads and writes numbers and arrays of them, asks no array for its length, and
        returns a whole number or nothing.
    kinds
        A letter for each argument: ``n`` a whole number, ``d`` a decimal one; contiguous arrays, ``a`` of 64-bit
        integers, ``f`` of 64-bit floats, ``b`` of bytes. Empty: the annotations of all arguments are named tuples,
        with fields of the types ``int``, ``float`` and arrays of 64-bit integers and floats.
    compiles
        Whether to compile code that is not in the cache even if this takes long: if there is no cache, so that each
        process takes some seconds, or if the function has an attribute ``slow_to_compile``.

    Returns
    -------
    callable or None
        An equivalent function with positional arguments, all of them named tuples or none, which also accepts addresses
        of arrays. None if numba is missing or fails, or ``compiles`` forbids it; the plain function gives the same
        results. Failures cause a :class:`~holdfast.workloads.ground.errors.MachineCodeWarning`.
    """
    try:
        import llvmlite  # type: ignore[import-untyped]
        from llvmlite import binding as llvm

        version = llvmlite.__version__  # each version of numba needs its own version of llvmlite
    except ImportError:
        return None
    try:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(cpu=cpu, features=features, opt=3, jit=True)
    except (RuntimeError, OSError) as error:
        warn_once(f"LLVM cannot be used ({first_line(error)}); loops run in Python, which is slower")
        return None
    source = Path(inspect.getfile(function))
    groups: Kinds = kinds or argument_groups(function)
    kinds = letters(groups)
    key = f"object {source} {version} {machine.triple} {cpu} {features} {kinds}"
    defined: list[Any] = [*called_functions(function), *(() if isinstance(groups, str) else groups)]
    sources = dict.fromkeys([source, *(Path(inspect.getfile(item)) for item in defined)])
    stamp = hashlib.sha256(key.encode() + b"".join(path.read_bytes() for path in sources)).digest()
    directory = usable_directory()
    path = None
    if directory is not None:
        path = directory / f"{function.__name__}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.obj"
    content = None if path is None else read_code(path, stamp)
    if content is None:
        if not compiles and (path is None or getattr(function, "slow_to_compile", False)):
            return None
        content = _compile(function, groups, llvm, machine)
        if content is None:
            return None
        if path is not None:
            write_code(path, stamp, content)
    return _load(content, kinds, llvm, machine)


def argument_groups(function: Callable[..., Any]) -> tuple[type, ...]:
    """The annotations of the arguments of a loop."""
    found = get_type_hints(function)
    return tuple(found[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount])


def _compile(function: Callable[..., Any], kinds: Kinds, llvm: Any, machine: Any) -> bytes | None:
    """Name and object code of a function; None if numba is missing, or, with a warning, if it fails."""
    try:
        text = assembly(function, kinds)
        if text is None:
            return None
        module = llvm.parse_assembly(text)
        outside = {item.name for item in module.functions if item.is_declaration}
        # A name that is not found would end the process when the code is loaded.
        outside -= {name for name, symbol in _MATHEMATICS.items() if llvm.address_of_symbol(symbol)}
        outside = {name for name in outside if name in _MATHEMATICS or not name.startswith("llvm.")} - _LIBRARY
        defined = [item for item in module.functions if not item.is_declaration]
        # Internal functions are called by it and not inlined.
        (name,) = (item.name for item in defined if item.linkage == llvm.Linkage.external)
        if outside:
            raise ValueError(f"it needs {', '.join(sorted(outside))}")
        code = bytes(machine.emit_object(module))
    except Exception as error:  # whatever numba and LLVM raise: the plain function gives the same results
        warn_once(f"numba cannot compile {function.__name__} ({first_line(error)}); it runs in Python, which is slower")
        return None
    return str(name).encode() + b"\0" + code


def _load(content: bytes, kinds: str, llvm: Any, machine: Any) -> Callable[..., Any] | None:
    """Load the function from its name and object code."""
    name, _, code = content.partition(b"\0")
    try:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(name.decode())
    except (RuntimeError, OSError) as error:
        warn_once(f"compiled code cannot be loaded ({first_line(error)}); it runs in Python, which is slower")
        return None
    if not address:
        return None
    _engines.append(engine)
    # In numba's calling convention, pointers to the result and to an (unused) exception precede the arguments.
    called = ctypes.CFUNCTYPE(
        ctypes.c_int32,
        *(ctypes.c_void_p, ctypes.c_void_p),
        *(_TYPES.get(kind, ctypes.c_void_p) for kind in kinds),
    )(address)
    spare = (ctypes.c_int64 * 2)()
    result, exception = ctypes.addressof(spare), ctypes.addressof(spare) + 8

    items = [None if kind in _TYPES else _ITEMS[kind] for kind in kinds]

    def run(*arguments: Any) -> int:
        if isinstance(arguments[0], tuple):
            given: Iterable[Any] = chain.from_iterable(arguments)
        else:
            try:
                called(result, exception, *arguments)
            except ctypes.ArgumentError:
                # ctypes rejected the arguments before the call: some are arrays, which are converted to addresses.
                given = arguments
            else:
                return spare[0]
        called(
            result,
            exception,
            *[value if item is None else _address(value, item) for item, value in zip(items, given, strict=True)],
        )
        return spare[0]

    return run


def _address(array: Any, item: np.dtype[Any]) -> int:
    """Address of an array; whatever is none is an address already."""
    if not isinstance(array, np.ndarray):
        return int(array)
    flags = array.flags
    if array.dtype != item or not flags.c_contiguous:
        raise TypeError("a compiled loop takes contiguous arrays of 64-bit integers, of 64-bit floats, or of bytes")
    if not array.size:
        return 0
    # Faster than ``array.ctypes``, which for 30 arrays takes as long as the replay of 500 jobs.
    return _address_of(_first_byte(array)) if flags.writeable else array.ctypes.data


_address_of = ctypes.addressof
_first_byte: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer
