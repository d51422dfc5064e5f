"""Names of the files of a run, derived from its mechanism or label."""

from __future__ import annotations

import re
from collections.abc import Iterable

from holdfast.workloads.ground.errors import InputError

__all__ = ["check_distinct", "file_part", "table_name"]


def file_part(mechanism: str) -> str:
    """Convert a mechanism, or the label of a run, to a part of a file name; tables keep the original name.

    Names of plug-ins may contain colons, blanks and slashes, which are inconvenient or illegal in file names.

    >>> file_part("CUA-my.module:Mine weight=2"), file_part("CUA-SPAA")
    ('CUA-my.module_Mine_weight=2', 'CUA-SPAA')
    >>> file_part("sjf / easy / CUA-SPAA")
    'sjf_easy_CUA-SPAA'
    """
    return re.sub(r"[^A-Za-z0-9._=+-]", "_", mechanism.replace(" / ", "_"))


def table_name(table: str, mechanism: str) -> str:
    """File name of a table of a mechanism, e.g. ``jobs-CUA-SPAA.csv``."""
    return f"{table}-{file_part(mechanism)}.csv"


def check_distinct(mechanisms: Iterable[str]) -> None:
    """Refuse mechanisms, or labels, that would write to the same files.

    Raises
    ------
    InputError
        If two would collide.
    """
    known: dict[str, str] = {}
    for name in mechanisms:
        other = known.setdefault(file_part(name).lower(), name)
        if other != name:
            raise InputError(f"the runs {other} and {name} would write to the same files: run them one by one")
