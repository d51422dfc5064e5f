"""Sphinx: the documentation site. ``make docs`` builds it; a warning is an error."""

from __future__ import annotations

import ast
import builtins
import sys
import typing
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import cattrs  # noqa: F401  the libraries that our modules import late, or for the type checker alone
import pandas as pd  # noqa: F401
import scipy.stats  # noqa: F401
from sphinx.addnodes import pending_xref

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_extensions")]
#: What the reference documents, below the package ``holdfast``.
PUBLIC = ("workloads", "policies", "simulator", "experiments/sweeps")
BELOW = ("holdfast.workloads", "holdfast.policies", "holdfast.simulator", "holdfast.experiments")

# Annotations name types that are imported for the type checker alone, so those imports are made, too: everything is
# imported once as it is, with the libraries (which would not bear it), then our own modules again. They have no cycles,
# not even then (a test keeps it).
for flag in (False, True):
    for name in [name for name in sys.modules if name.startswith(BELOW)]:
        del sys.modules[name]
    typing.TYPE_CHECKING = flag
    for package in PUBLIC:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            import_module(f"holdfast.{name}")
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
    "consoles",
    "options",
    "signatures",
    "verdicts",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = True
# Annotations name types of other libraries; their documentation is elsewhere, and the build needs no network.
nitpick_ignore_regex = [
    # Names of the public package itself have no page of their own; the modules below it do.
    (r"py:.*", r"(?!holdfast\.(workloads|policies|simulator|experiments)\b)\w+\..*"),
    (r"py:.*", r".*\._\w+|holdfast\.(policies\.registry\.T|experiments\.recordings\.replay\.\w+)"),  # not documented
    (r"py:class", r"Floats|Ints"),  # aliases
    (r"py:class", r"locals>\..*"),  # defaults that a function makes
    (r"py:class", r"holdfast\.experiments\.recordings\.measurement\.Measurement"),
    (r"py:obj", r"holdfast\.experiments\.learning\.vector\.vector"),
]

# Pages are read on GitHub as well: links are relative, to files and to headings as GitHub names them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_links_external_new_tab = False
highlight_language = "text"

html_theme = "furo"
html_show_sphinx = False
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
suppress_warnings = [
    "config.cache",
    "ref.python",
]  # functions in the context of a template are not cached, and need not be


def branch_navigation(app: Any, pagename: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Give pages of the reference and of sources the navigation of their own branch alone.

    The whole tree, with each module, on each of these pages took 59 % of the time of the build.
    """
    if pagename.startswith(("reference/api/", "_modules/")) and "toctree" in context:
        context["toctree"] = partial(_own_branch, context["toctree"])


def _own_branch(toctree: Callable[..., str], **options: Any) -> str:
    return toctree(**{**options, "collapse": True})


def find_builtin_types_by_name(app: Any, doctree: Any) -> None:
    """Keep Sphinx from searching all names of the reference for one that ends in ``.int`` or another built-in type.

    The search took 7 % of the time of the build.
    """
    for node in doctree.findall(pending_xref):
        if node.get("refspecific") is False and (node["reftarget"] == "None" or hasattr(builtins, node["reftarget"])):
            del node["refspecific"]


def setup(app: Any) -> None:
    """Connect the navigation before the theme uses it."""
    app.connect("html-page-context", branch_navigation, priority=400)
    app.connect("doctree-read", find_builtin_types_by_name)
