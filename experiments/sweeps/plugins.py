"""Plug-ins of a sweep: checks that its workers can import them, and the sources that identify stored results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from holdfast.policies.arrival import ARRIVALS
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.expansion import EXPANSIONS
from holdfast.policies.mechanism import parse_mechanism
from holdfast.policies.notice import NOTICES
from holdfast.policies.order import ORDERS
from holdfast.policies.reserved_backfill import TENANCIES
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.files import file_sha256
from holdfast.workloads.ground.registry import Registry
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.logs.readers import READERS

__all__ = ["Sources", "find_sources"]

#: Names of plug-ins that are not built in, each with the SHA-256 of its module's file.
Sources = tuple[tuple[str, str], ...]


def find_sources(mechanism: str, options: Options, assignment: Assignment, reader: str | None) -> Sources:
    """The plug-ins of a run that are not built in, as this process finds them.

    Raises
    ------
    InputError
        If one was added to a registry in this process only, so that no worker can find it.
    """
    found: dict[str, str] = {}
    for registry, text in _plugin_names(mechanism, options, assignment, reader):
        if registry.only_here(text):
            raise InputError(
                f"the {registry.kind} {text} was added in this process only, and the workers of a sweep do not know "
                "it: name it by its import path, my.module:mine, or install it as an entry point"
            )
        module = registry.module_name(text)
        if module is not None:
            registry[text]  # now it is imported
            found[text.split()[0]] = _digest(module)
    return tuple(sorted(found.items()))


def _plugin_names(
    mechanism: str, options: Options, assignment: Assignment, reader: str | None
) -> Iterator[tuple[Registry[Any], str]]:
    yield ORDERS, options.order
    yield BACKFILLING, options.backfilling
    yield TENANCIES, options.tenants
    yield EXPANSIONS, options.expansion
    parsed = _parsed(mechanism)
    if parsed is not None:
        yield NOTICES, parsed.notice
        yield ARRIVALS, parsed.arrival
    if reader is not None:
        yield READERS, reader
    if assignment.stochastic_share and not assignment.plan.endswith(".json"):
        from holdfast.policies.planning.strategies import STRATEGIES

        yield STRATEGIES, assignment.plan


_parsed = cache(parse_mechanism)

#: Loader and file digest of each requested module, at the time it was loaded.
_loaded: dict[str, tuple[object, str]] = {}


def _digest(name: str) -> str:
    """The digest of the file of a module that has been imported; empty if it has none."""
    module = sys.modules.get(name)
    path, spec = getattr(module, "__file__", None), getattr(module, "__spec__", None)
    digest = "" if path is None else file_sha256(path)
    before = _loaded.get(name)
    if before is None or before[0] is not spec:
        _loaded[name] = spec, digest
    elif before[1] != digest:
        raise InputError(f"{path} has changed since it was imported: import it again, or start a new process")
    return digest
