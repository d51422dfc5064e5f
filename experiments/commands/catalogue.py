"""Listing of the plug-ins of every kind, as a table and as text."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.ground.registry import Known, Registry

__all__ = ["KINDS", "Kind", "catalogue", "format_catalogue"]

#: Names are not made wider than this; a longer one stands on a line of its own.
_WIDEST = 18
#: Keywords that no name can give a value.
_NOT_BY_NAME = ("chain", "device", "lenient", "procs_per_node")
_FOOT = (
    "Where no package or module stands in brackets, a plug-in is built in. Parameters, shown with their defaults, "
    'follow the name: --order "fairshare patience=86400". An import path, my.module:mine, does wherever a name does.'
)


@dataclass(frozen=True)
class Kind:
    """A kind of plug-ins.

    Attributes
    ----------
    name
        As ``--kind`` takes it.
    title
        What they are, in the plural.
    used
        Where their names are written.
    place
        Their registry, as ``module:name``.
    """

    name: str
    title: str
    used: str
    place: str

    @property
    def registry(self) -> Registry[Any]:
        """Its registry; imported when it is asked for."""
        found: Registry[Any] = resolve_name(self.place)
        return found


KINDS = {
    kind.name: kind
    for kind in (
        Kind("order", "queue orders", "--order NAME", "holdfast.policies.order:ORDERS"),
        Kind("backfilling", "backfilling rules", "--backfilling NAME", "holdfast.policies.backfilling:BACKFILLING"),
        Kind("notice", "notice strategies", "--mechanism NAME-ARRIVAL", "holdfast.policies.notice:NOTICES"),
        Kind("arrival", "arrival strategies", "--mechanism NOTICE-NAME", "holdfast.policies.arrival:ARRIVALS"),
        Kind("tenants", "tenants rules", "--tenants NAME", "holdfast.policies.reserved_backfill:TENANCIES"),
        Kind("expansion", "expansions of running malleable jobs", "--expansion NAME",
        "holdfast.policies.expansion:EXPANSIONS"),
        Kind("strategy", "planning strategies", "--strategy NAME, --plan NAME",
             "holdfast.policies.planning.strategies:STRATEGIES"),
        Kind("reader", "readers of traces", "--format NAME", "holdfast.workloads.logs.readers:READERS"),
        Kind("export", "export formats", "holdfast export --format NAME", "holdfast.experiments.exports:EXPORTS"),
    )
}  # fmt: skip


def catalogue(names: Iterable[str] | None = None) -> dict[Kind, list[Known]]:
    """All plug-ins by kind.

    Parameters
    ----------
    names
        Names of the kinds; None: all.

    Raises
    ------
    UnknownNameError
        If there is no such kind.
    """
    found = {}
    for name in KINDS if names is None else names:
        if name not in KINDS:
            raise UnknownNameError("kind of plug-in", name, KINDS)
        found[KINDS[name]] = [_with_keywords(KINDS[name].registry, item) for item in KINDS[name].registry.entries()]
    return found


def _with_keywords(registry: Registry[Any], item: Known) -> Known:
    """Planning strategies are functions: their parameters are their keywords."""
    if item.parameters or not item.usable:
        return item
    plugin = registry[item.name]
    if not inspect.isfunction(plugin):
        return item
    keywords = {
        key: value.default for key, value in inspect.signature(plugin).parameters.items()
        if value.kind is value.KEYWORD_ONLY and value.default is not value.empty
        and isinstance(value.default, int | float | str | None) and key not in _NOT_BY_NAME
    }  # fmt: skip
    return item._replace(parameters=keywords)


def format_catalogue(found: dict[Kind, list[Known]], width: int) -> str:
    """Format the catalogue for a number of columns.

    Each plug-in has one line on it, more where it is too long, and one on its parameters where there are any.
    """
    widest = max((len(item.name) for items in found.values() for item in items), default=0)
    indent = min(widest, _WIDEST) + 4
    blocks = []
    for kind, items in found.items():
        head = f"{kind.title} ({kind.used})"
        blocks.append("\n".join([head, *(_entry(item, indent, width) for item in items)]))
    blocks.append("\n".join(textwrap.wrap(_FOOT, width)))
    return "\n\n".join(blocks)


def _entry(item: Known, indent: int, width: int) -> str:
    about = item.about or "-"
    if item.origin != "built in":
        about += f" [{item.origin}]"
    name = f"  {item.name}"
    start = name.ljust(indent) if len(name) < indent - 1 else name
    lines = textwrap.wrap(about, max(20, width - indent))
    rest = [" " * indent + line for line in lines]
    if len(start) == indent:
        rest[0] = start + lines[0]
    else:
        rest.insert(0, start)
    if item.parameters:
        words = [key if value is None else f"{key}={_value(value)}" for key, value in item.parameters.items()]
        inner = " " * (indent + 2)
        rest += textwrap.wrap("  ".join(words), max(20, width - 2), initial_indent=inner, subsequent_indent=inner)
    return "\n".join(rest)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
