"""Reader of the past usage that Slurm's fair share uses: ``sshare -a -l -P``.

Source: sshare(1) of Slurm 22.05: ``RawUsage`` is the number of TRES-seconds (of CPU-seconds without
``TRESBillingWeights``) that were charged to an account or user, decayed with ``PriorityDecayHalfLife``. An account is
indented by one blank more than its parent, and its usage is part of its parent's.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.text_cells import number

__all__ = ["read_usage"]

_NEEDED = ("Account", "User", "RawUsage")
_MADE = "make it with 'sshare -a -l -P'"


def read_usage(path: str | Path) -> dict[str, float]:
    """Read decayed usage by account.

    Parameters
    ----------
    path
        Output of ``sshare -a -l -P`` (or ``-p``) with its header; users and further columns may be missing.

    Returns
    -------
    dict
        TRES-seconds that were charged to each account itself: those of its sub-accounts are with these.

    Raises
    ------
    TraceError
        With file and line, if a column is missing or a number cannot be read.
    """
    lines = read_text(path).splitlines()
    head = [name.strip() for name in lines[0].split("|")] if lines else []
    missing = [name for name in _NEEDED if name not in head]
    if missing:
        raise TraceError(path, 1, f"has no column {missing[0]}: {_MADE}")
    account_at, user_at, usage_at = (head.index(name) for name in _NEEDED)
    found: dict[str, float] = {}
    #: Depth and name of the account of each level above.
    above: list[tuple[int, str]] = []
    for line, row in enumerate(lines[1:], start=2):
        cells = row.split("|")
        if not row.strip():
            continue
        if len(cells) != len(head):
            raise TraceError(path, line, f"must have {len(head)} cells, as the header, not {len(cells)}")
        if cells[user_at].strip():
            continue
        account = cells[account_at].strip()
        depth = len(cells[account_at]) - len(cells[account_at].lstrip())
        used = _usage(cells[usage_at], path, line)
        if not account or account in found:
            raise TraceError(path, line, f"Account must name each account once, not {format_value(account)}")
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            found[above[-1][1]] -= used
        found[account] = used
        above.append((depth, account))
    if not found:
        raise TraceError(path, None, f"names no account: {_MADE}")
    # Sums of rounded numbers may be a little below zero.
    return {account: max(0.0, used) for account, used in found.items()}


def _usage(cell: str, path: str | Path, line: int) -> float:
    try:
        used = number(cell.strip() or "0", "RawUsage")
    except ValueError as error:
        raise TraceError(path, line, str(error)) from None
    if not 0 <= used < 1e30:
        raise TraceError(path, line, f"RawUsage must be a number of at least 0, not {format_value(cell)}")
    return used
