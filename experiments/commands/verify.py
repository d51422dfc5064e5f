"""``holdfast verify``: check by digests alone that files are as Holdfast wrote them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.parameters import Parameter

__all__ = ["Arguments", "main"]

#: Faults of one file or store that are printed.
_MOST = 20


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    path: Annotated[
        tuple[str, ...],
        Parameter(
            "directory of results, of a sweep or of experiments, store, archive (ZIP), plan, costs, or a table that a "
            "manifest beside it names",
            metavar="PATH",
            positional=True,
            repeated=True,
        ),
    ]


def main(arguments: Arguments) -> int:
    """Run the command; 0 if all is intact, 1 if something differs.

    Raises
    ------
    InputError
        If nothing differs, but something has no digest: exit status 2.
    """
    from pathlib import Path

    from holdfast.experiments.study.integrity import checks
    from holdfast.experiments.terminal import escape

    differing, bare = 0, []
    for path in arguments.path:
        for check in checks(Path(path)):
            differing += len(check.faults)
            if not check.sealed:
                bare.append(check.name)
            state = "has no digests" if not check.sealed else "DIFFERS" if check.faults else "intact"
            print(escape(f"{check.name}: {state}"))
            for fault in check.faults[:_MOST]:
                print(escape(f"  {fault}"))
            if len(check.faults) > _MOST:
                print(f"  and {len(check.faults) - _MOST:,} others")
    sys.stdout.flush()
    if differing:
        return 1
    if bare:
        others = f" (as {len(bare) - 1:,} more)" if len(bare) > 1 else ""
        raise InputError(
            f"{bare[0]}{others} cannot be verified: files of earlier versions, job tables and logs have no digests"
        )
    return 0
