"""Sphinx: signatures as they are written, with references to what they name."""

from __future__ import annotations

import ast
import inspect
import sys

from numpydoc.numpydoc import mangle_signature
from sphinx.application import Sphinx
from sphinx.util.inspect import object_description, stringify_signature

#: Our own packages.
TOP = ("holdfast",)


def is_documented(found: type) -> bool:
    """Whether a class is another library's, or in its module's ``__all__``."""
    module = sys.modules[found.__module__]
    return found.__module__.split(".")[0] not in TOP or found.__name__ in getattr(module, "__all__", ())


class _Qualified(ast.NodeTransformer):
    """Names of an annotation as paths, by which they can be found; ``~`` shows the last part alone."""

    def __init__(self, names: dict[str, object]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self.names.get(node.id)
        if found is None or (found.__class__ is type and found.__module__ == "builtins"):
            path = node.id
        elif isinstance(found, type) and is_documented(found):
            path = f"{found.__module__}.{found.__qualname__}"
        else:  # an alias, a type variable, a class that is nobody else's: shown as it is written
            path = f"alias.{node.id}"
        return ast.Name(f"~{path}" if "." in path else path)


def _annotation(written: object, names: dict[str, object]) -> object:
    if not isinstance(written, str):
        return written
    return ast.unparse(_Qualified(names).visit(ast.parse(written, mode="eval")))


class _Elided:
    def __repr__(self) -> str:
        return "..."


def _default(value: object) -> object:
    """The value, if what it is shown as can be read as Python: what cannot would spoil the whole signature."""
    if value is inspect.Parameter.empty:
        return value
    try:
        ast.parse(object_description(value), mode="eval")
    except SyntaxError:
        return _Elided()
    return value


def signature(app: object, what: str, name: str, found: object, *_: object) -> tuple[str, str | None] | None:
    """A signature with its annotations as they are written, and not as the union of what they stand for."""
    if what not in ("class", "exception", "function", "method"):
        return None
    try:
        shown = inspect.signature(found)  # type: ignore[arg-type]
    except ValueError:  # a class without a constructor of its own
        return None
    owners = found.__mro__ if isinstance(found, type) else (found,)
    names = {key: value for owner in reversed(owners) for key, value in vars(sys.modules[owner.__module__]).items()}
    parameters = [
        parameter.replace(annotation=_annotation(parameter.annotation, names), default=_default(parameter.default))
        for parameter in shown.parameters.values()
    ]
    if what == "method" and parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    returned = shown.return_annotation if what not in ("class", "exception") else inspect.Signature.empty
    back = None if returned is inspect.Signature.empty else _annotation(returned, names)
    return stringify_signature(shown.replace(parameters=parameters), show_return_annotation=False), back


def remove_class_docstring(app: object, what: str, name: str, found: object, options: object, lines: list[str]) -> None:
    """A constant without a comment is not explained by the class that it is of."""
    if what == "data" and "\n".join(lines).strip() == (inspect.getdoc(type(found)) or "").strip():
        lines.clear()


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", remove_class_docstring, priority=400)  # before numpydoc
    app.connect("autodoc-process-signature", signature)
    for listener in app.events.listeners["autodoc-process-signature"]:
        if listener.handler is mangle_signature:  # finds signatures in docstrings, where ours are not
            app.disconnect(listener.id)
            break
    return {"parallel_read_safe": True, "parallel_write_safe": True}
