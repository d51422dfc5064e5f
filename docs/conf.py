"""Sphinx: the documentation site. ``make docs`` builds it; a warning is an error."""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import ClassVar

import cattrs  # noqa: F401  the libraries that our modules import late, or for the type checker alone
import pandas as pd  # noqa: F401
import scipy.stats  # noqa: F401
from numpydoc.numpydoc import mangle_signature
from pygments.lexer import RegexLexer
from pygments.token import Generic, Text
from sphinx.application import Sphinx
from sphinx.util.inspect import object_description, stringify_signature

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
#: What the reference documents.
PUBLIC = ("workloads", "policies", "simulator", "experiments/sweeps")
TOP = ("workloads", "policies", "simulator", "experiments")

# Annotations name types that are imported for the type checker alone, so those imports are made, too: everything is
# imported once as it is, with the libraries (which would not bear it), then our own modules again. They have no cycles,
# not even then (a test keeps it).
for flag in (False, True):
    for name in [name for name in sys.modules if name.split(".")[0] in TOP]:
        del sys.modules[name]
    typing.TYPE_CHECKING = flag
    for package in PUBLIC:
        for path in sorted((ROOT / package).rglob("*.py")):
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
typing.TYPE_CHECKING = False

project = "Holdfast"
author = "The Holdfast developers"
copyright = author

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = True
# Annotations name types of other libraries; their documentation is elsewhere, and the build needs no network.
nitpick_ignore_regex = [
    (r"py:.*", rf"(?!({'|'.join(TOP)})\b)\w+\..*"),
    (r"py:.*", r".*\._\w+|policies\.registry\.T|experiments\.replay\.\w+"),  # not documented
    (r"py:class", r"Floats|Ints"),  # aliases
]

# Pages are read on GitHub as well: links are relative, to files and to headings as GitHub names them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_links_external_new_tab = False
highlight_language = "text"

html_theme = "furo"
html_title = "Holdfast"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
numpydoc_show_class_members = False


def children(module: str) -> list[str]:
    """Modules and packages that stand in a package."""
    places = getattr(import_module(module), "__path__", ())
    return sorted(f"{module}.{child.name}" for child in iter_modules(places))


def homes(module: str) -> dict[str, list[str]]:
    """Names of ``__all__``: under "" those that the module itself makes, the others under the module they come from."""
    loaded = import_module(module)
    found: dict[str, list[str]] = {"": []}
    imported: dict[str, str] = {}
    for node in ast.walk(ast.parse(Path(str(loaded.__file__)).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {alias.asname or alias.name: node.module for alias in node.names}
    for name in getattr(loaded, "__all__", ()):
        found.setdefault(imported.get(name, ""), []).append(name)
    return found


autosummary_context = {"homes": homes, "children": children}
suppress_warnings = ["config.cache"]  # functions in the context of a template are not cached, and need not be


def documented(found: type) -> bool:
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
        elif isinstance(found, type) and documented(found):
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


def undocumented(app: object, what: str, name: str, found: object, options: object, lines: list[str]) -> None:
    """A constant without a comment is not explained by the class that it is of."""
    if what == "data" and "\n".join(lines).strip() == (inspect.getdoc(type(found)) or "").strip():
        lines.clear()


class Console(RegexLexer):
    """Commands after ``$``, and what they print: not a script, so that nothing in it is a keyword."""

    tokens: ClassVar = {"root": [(r"^\$ ", Generic.Prompt), (r".*\n", Text)]}


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("console", Console)
    app.connect("autodoc-process-docstring", undocumented, priority=400)  # before numpydoc
    app.connect("autodoc-process-signature", signature)
    for listener in app.events.listeners["autodoc-process-signature"]:
        if listener.handler is mangle_signature:  # finds signatures in docstrings, where ours are not
            app.disconnect(listener.id)
            break
