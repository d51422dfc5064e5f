"""Registries of policies and readers: lookup by name, by import path, or among the entry points of installed packages.

Every option that takes a plug-in accepts three kinds of names:

* the name under which the plug-in was added: ``ORDERS.add("mine", mine)``;
* its import path, ``my.module:mine``; ``my`` may be in the current directory;
* the name of an entry point of an installed package, e.g. in the group ``holdfast.orders``.

If a plug-in is a dataclass, its fields are its parameters: ``easy depth=4``, ``my.module:Mine weight=0.5``. A field
without a default must be given.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import lru_cache, partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.import_paths import import_attribute
from holdfast.workloads.ground.ranges import declared_range

__all__ = ["Known", "Registry", "check_function", "function_adapter", "parse_parameter", "plugin_parameters"]

T = TypeVar("T")

#: Types of parameters that a text gives.
_PLAIN_TYPES = {"bool", "float", "int", "str", "Literal", "typing.Literal", "None"}

#: Kinds of each built-in plug-in, by the identity of its function or class.
_KINDS: dict[int, set[str]] = {}


class Known(NamedTuple):
    """An entry of a registry.

    Attributes
    ----------
    name
        Name of the plug-in.
    about
        One-line description, or the reason why it cannot be used.
    parameters
        Parameters with their defaults.
    origin
        ``built in``, the package that provides it, or the module that added it.
    usable
        Whether it can be loaded.
    """

    name: str
    about: str
    parameters: dict[str, Any]
    origin: str
    usable: bool = True


class Registry(Generic[T]):
    """The known plug-ins of one kind.

    Parameters
    ----------
    kind
        Kind of plug-in, for error messages.
    group
        Group of entry points to search; empty: none.
    adapt
        Function that converts a plug-in to the type of the registry, e.g. wraps a plain function; raises
        :class:`~holdfast.workloads.ground.errors.InputError` if it cannot.
    """

    def __init__(self, kind: str, group: str = "", adapt: Callable[[Any], T] | None = None) -> None:
        self.kind = kind
        self.group = group
        self._adapt = adapt
        # Plug-ins are stored without wrappers, so that their parameters are visible.
        self._known: dict[str, Any] = {}
        self._about: dict[str, str] = {}
        self._origins: dict[str, str] = {}
        self._aliases: dict[str, tuple[str, str]] = {}

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self._known)})"

    def add(self, name: str, plugin: Any, about: str = "") -> Any:
        """Register a plug-in under a name.

        Parameters
        ----------
        name
            Name without blanks and colons, which separate parameters and import paths.
        plugin
            The plug-in; a class is instantiated with the defaults of its parameters.
        about
            One-line description; empty: the first line of its docstring.

        Returns
        -------
        object
            The plug-in.

        Raises
        ------
        InputError
            If the name or the plug-in is not legal.
        """
        if not name or ":" in name or len(name.split()) != 1:
            raise ParameterError("name", "a word without blanks and colons", name)
        caller = str(sys._getframe(1).f_globals.get("__name__", ""))
        if _is_ours(self._origins.get(name, "")) and not _is_ours(caller):
            raise ParameterError("name", f"one that no built-in {self.kind} has", name)
        self._adapt_plugin(name, _instance(self.kind, name, plugin))
        if _is_ours(caller):
            _KINDS.setdefault(_identity(plugin), set()).add(self.kind)
        self._known[name] = plugin
        self._about[name] = about or _first_line(plugin)
        self._origins[name] = caller
        return plugin

    def alias(self, name: str, path: str, about: str) -> None:
        """Give a name to a built-in plug-in that needs parameters; it is imported at its first use.

        The name is listed, but iteration skips it, because it cannot be used without parameters.

        Parameters
        ----------
        name
            Name without blanks and colons.
        path
            ``module:name`` of a dataclass.
        about
            One-line description.
        """
        self._aliases[name] = (path, about)

    def forget(self, name: str) -> None:
        """Remove a name, e.g. after a test."""
        for known in (self._known, self._about, self._origins):
            known.pop(name, None)

    def __getitem__(self, text: str) -> T:
        """Look up a plug-in by name, with parameters as ``name=value`` after a blank.

        Raises
        ------
        UnknownNameError
            If the name is unknown; the message lists the nearest known names.
        InputError
            If it cannot be imported, is not a plug-in of this kind, or has no such parameter.
        """
        name, *words = text.split() or [""]
        found = self._find(name)
        required = _parameters_without_default(found)
        given = [word for word in words if word.partition("=")[0] in required]
        words = [word for word in words if word not in given]
        values = _values(found, given)
        if len(values) < len(required):
            missing = " ".join(f"{key}=VALUE" for key in required if key not in values)
            raise InputError(f"{self.kind} {name!r} needs {missing} after its name")
        plugin = _instance(self.kind, name, found, **values)
        return self._adapt_plugin(name, self._with_parameters(name, plugin, words) if words else plugin)

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the added names, without entry points."""
        return iter(self._known)

    def adapt(self, plugin: Any) -> T:
        """Convert a plug-in that was not added to the type of the registry.

        Raises
        ------
        InputError
            If it cannot be converted.
        """
        name = getattr(plugin, "__name__", type(plugin).__name__)
        return self._adapt_plugin(name, _instance(self.kind, name, plugin))

    def only_here(self, text: str) -> bool:
        """Whether a name was added in this process only, so that worker processes do not know it."""
        name = text.split()[0] if text.split() else ""
        return name in self._known and not _is_ours(self._origins[name])

    def module_name(self, text: str) -> str | None:
        """The module of a plug-in from an import path or entry point; None: the plug-in was added by name."""
        name = text.split()[0] if text.split() else ""
        if name in self._known or name in self._aliases:
            return None
        path = name if ":" in name else self._entry_points()[name].value if name in self._entry_points() else ""
        return path.partition(":")[0] or None

    def listing(self) -> dict[str, str]:
        """All names, including those of installed packages, with one-line descriptions.

        A package that cannot be imported is listed with the reason.
        """
        return {item.name: item.about for item in self.entries()}

    def entries(self) -> list[Known]:
        """All plug-ins: added ones in their order, then those of installed packages by name."""
        found = []
        for name, plugin in self._known.items():
            origin = self._origins[name]
            made = _instance(self.kind, name, plugin)
            found.append(
                Known(name, self._about[name], plugin_parameters(made), "built in" if _is_ours(origin) else origin)
            )
        for name, (path, about) in self._aliases.items():
            parameters = plugin_parameters(_instance(self.kind, name, import_attribute(self.kind, path, name)))
            found.append(Known(name, about, parameters, "built in, needs a parameter"))
        for name, item in sorted(self._entry_points().items()):
            if name in self._known or name in self._aliases:
                continue
            origin = item.dist.name if item.dist is not None else item.value
            try:
                self[name]
                plugin = self._find(name)
                parameters = plugin_parameters(_instance(self.kind, name, plugin))
                found.append(Known(name, _first_line(plugin), parameters, origin))
            except InputError as error:
                found.append(Known(name, f"not usable: {error}", {}, origin, False))
        return found

    def _find(self, name: str) -> Any:
        if name in self._known:
            return self._known[name]
        if name in self._aliases:
            return import_attribute(self.kind, self._aliases[name][0], name)
        if ":" in name:
            return import_attribute(self.kind, name)
        installed = self._entry_points()
        if name in installed:
            return import_attribute(self.kind, installed[name].value, name)
        advice = "one of your own is given as module:name"
        raise UnknownNameError(self.kind, name, [*self._known, *self._aliases, *installed], advice)

    def _entry_points(self) -> dict[str, Any]:
        if not self.group:
            return {}
        # The search of all installed packages takes some milliseconds, and is needed only for names not added.
        from importlib.metadata import entry_points

        return {item.name: item for item in entry_points(group=self.group)}

    def _adapt_plugin(self, name: str, plugin: Any) -> T:
        others = _KINDS.get(_identity(plugin), ())
        if others and self.kind not in others:
            raise InputError(f"{self.kind} {name!r}: is another kind of plug-in: {' or '.join(sorted(others))}")
        if self._adapt is None:
            return cast(T, plugin)
        try:
            return self._adapt(plugin)
        except InputError as error:
            raise InputError(f"{self.kind} {name!r}: {error}") from None

    def _with_parameters(self, name: str, plugin: Any, words: list[str]) -> Any:
        legal = plugin_parameters(plugin)
        if not legal:
            raise InputError(f"the {self.kind} {name} has no parameters, but {' '.join(words)!r} was given")
        for word in words:
            key = word.partition("=")[0]
            if key not in legal:
                raise UnknownNameError(f"parameter of the {self.kind} {name}", key, legal)
        return replace(plugin, **_values(plugin, words))


def _parameters_without_default(plugin: Any) -> tuple[str, ...]:
    """The parameters of a dataclass that have no default; none if a text cannot give all of them."""
    if not isinstance(plugin, type) or not is_dataclass(plugin):
        return ()
    every = (item for item in fields(plugin) if item.init)
    names = tuple(item.name for item in every if item.default is MISSING and item.default_factory is MISSING)
    kinds = {part.partition("[")[0] for name in names for part in _type_in_words(plugin, name).split(" | ")}
    return names if kinds <= _PLAIN_TYPES else ()


def _values(plugin: object, words: list[str]) -> dict[str, Any]:
    """The values of parameters that are given as ``name=value``."""
    values: dict[str, Any] = {}
    for word in words:
        key, mark, value = word.partition("=")
        if not mark or not value:
            raise ParameterError(key, "given as name=value", word)
        values[key] = parse_parameter(plugin, key, value)
    return values


def _identity(plugin: object) -> int:
    """The identity of a plug-in: a function, or the class of an object with parameters."""
    return id(type(plugin) if is_dataclass(plugin) and not isinstance(plugin, type) else plugin)


def function_adapter(*arguments: str) -> Callable[[Any], Any]:
    """Make the ``adapt`` of a registry of functions; ``arguments`` are phrases for the arguments of a plug-in."""

    def adapt(plugin: Any) -> Any:
        check_function(plugin, *arguments)
        return plugin

    return adapt


def check_function(plugin: object, *arguments: str, method: str = "") -> None:
    """Reject an object that is not a function of these arguments, or that is a function of Python's library.

    Parameters
    ----------
    plugin
        Object from an import path or an entry point.
    *arguments
        Phrase for each argument of the call, e.g. ``"the view"``.
    method
        The method to check; empty: the plug-in itself is called.

    Raises
    ------
    InputError
        If it is rejected.
    """
    wanted = f"{f'have a method {method}' if method else 'be a function'} of {' and '.join(arguments)}"
    function = getattr(plugin, method, None) if method else plugin
    if not callable(function):
        raise InputError(f"must {wanted}, not of the type {type(plugin).__name__}")
    # A partial is itself a routine of the library since Python 3.14; what it calls decides.
    called = function
    while isinstance(called, partial):
        called = called.func
    # In this order, since nearly all are of other modules, and the second question takes ten times as long.
    if getattr(called, "__module__", None) in sys.stdlib_module_names and inspect.isroutine(called):
        raise InputError(f"must {wanted}, and {called.__module__}.{called.__qualname__} is one of Python's own")
    if not _takes(function, len(arguments)):
        raise InputError(f"must {wanted}, and it takes other arguments")


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Whether an object can be called with this number of positional arguments, as far as its signature is known."""
    for plain, own in ((function, 0), (getattr(function, "__func__", None), 1), (type(function).__call__, 1)):
        # The cache uses functions as keys, which stay the same, while each run has new instances of a plug-in.
        if inspect.isfunction(plain):
            return _accepts(plain, count + own)
    return _accepts.__wrapped__(function, count)


@lru_cache(maxsize=256)  # a sweep of short runs spent a fifth of its time here
def _accepts(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with this number of positional arguments, as far as its signature is known."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled code has none
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def plugin_parameters(plugin: Any) -> dict[str, Any]:
    """The parameters of a dataclass plug-in with their values: numbers, texts and booleans only."""
    if not is_dataclass(plugin) or isinstance(plugin, type):
        return {}
    own = [item.name for item in fields(plugin) if item.init and item.metadata.get("parameter", True)]
    values = {name: getattr(plugin, name) for name in own}
    return {name: value for name, value in values.items() if value is None or isinstance(value, int | float | str)}


def _instance(kind: str, name: str, plugin: Any, **values: Any) -> Any:
    if not isinstance(plugin, type):
        return plugin
    try:
        return plugin(**values)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        needs = _needs(plugin)
        advice = "; each must have a default" if needs else ""
        raise InputError(f"{kind} {name!r} cannot be made without values for its parameters{needs}{advice}") from None


def _needs(plugin: type) -> str:
    """The parameters of a class without a default, for a message."""
    try:
        parameters = inspect.signature(plugin).parameters.values()
    except (TypeError, ValueError):
        return ""
    names = [item.name for item in parameters if item.default is item.empty and item.kind is not item.VAR_KEYWORD]
    return f": {', '.join(names)}" if names else ""


def parse_parameter(plugin: object, parameter: str, text: str) -> Any:
    """Parse the value of a parameter of a plug-in: a number if possible, otherwise the text.

    A parameter with a number as default takes no texts, unless its type names some. A number must be in the range that
    the plug-in declares, or in a default range that avoids overflows (:mod:`holdfast.workloads.ground.ranges`).

    Raises
    ------
    ParameterError
        If the value is not in that range, or no number or truth value where it must be one.
    """
    default = getattr(plugin, parameter, None)
    kind_in_words = _type_in_words(plugin, parameter)
    if isinstance(default, bool) or kind_in_words == "bool":
        if text not in ("true", "false"):
            raise ParameterError(parameter, "true or false", text)
        return text == "true"
    value: Any = text
    for kind in (int, float):
        try:
            value = kind(text)
            break
        except ValueError:  # of a whole number with thousands of digits, too, which then is an infinite one
            continue
    numeric = isinstance(default, int | float) or kind_in_words in ("int", "float")
    if value is not text or (numeric and not any(word in kind_in_words for word in ("str", "Literal"))):
        declared_range(plugin, parameter).check(parameter, value, text)
    return value


def _type_in_words(plugin: object, parameter: str) -> str:
    """The type of a parameter as its class states it; empty: there is none."""
    kinds = [item.type for item in fields(cast(Any, plugin)) if item.name == parameter] if is_dataclass(plugin) else []
    return "".join(kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "holdfast"


def _first_line(plugin: Any) -> str:
    """First sentence of a docstring; empty for the docstring that ``dataclasses`` generates."""
    text = getattr(plugin, "__doc__", None) or ""
    kind = plugin if isinstance(plugin, type) else type(plugin)
    if is_dataclass(kind) and text.startswith(f"{kind.__name__}("):
        return ""
    return inspect.cleandoc(text).partition("\n")[0].strip()
