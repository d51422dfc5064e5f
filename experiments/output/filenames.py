"""Names of the files of a run, derived from its mechanism or label."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workloads.ground.errors import InputError

__all__ = ["check_distinct", "file_part", "table_name"]


def file_part(mechanism: str) -> str:
    """What stands for a mechanism, or the label of a run, in the name of a file; the tables keep its own name.

    A name of a plug-in may have a colon and blanks, which are a nuisance in shells, or a slash in a parameter.

    >>> file_part("CUA-my.module:Mine weight=2"), file_part("CUA-SPAA")
    ('CUA-my.module_Mine_weight=2', 'CUA-SPAA')
    >>> file_part("sjf / easy / CUA-SPAA")
    'sjf_easy_CUA-SPAA'
    """
    return re.sub(r"[^A-Za-z0-9._=+-]", "_", mechanism.replace(" / ", "_"))


def table_name(table: str, mechanism: str) -> str:
    """The file of a table of a mechanism, e.g. ``jobs-CUA-SPAA.csv``."""
    return f"{table}-{file_part(mechanism)}.csv"


def check_distinct(mechanisms: Iterable[str]) -> None:
    """Refuse mechanisms, or labels, that would write to the same files.

    Raises
    ------
    InputError
        If two would.
    """
    known: dict[str, str] = {}
    for name in mechanisms:
        other = known.setdefault(file_part(name).lower(), name)
        if other != name:
            raise InputError(f"the runs {other} and {name} would write to the same files: run them one by one")
