"""``python -m tests.language``: refuse more words and names of :mod:`tests.language.check` than their limits.

``--list KIND`` prints every place of a kind, ``--under PATH`` only those below a path.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.language.check import LIMITS, NAMES, ROOT, all_findings, amount, lines_of_code


def main() -> int:
    """Print counts, or places; the exit status is 1 where a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m tests.language", description=__doc__)
    parser.add_argument("--list", choices=[*LIMITS, "all"], help="print every place of this kind")
    parser.add_argument("--under", default="", help="a folder or a file; only places below it")
    given = parser.parse_args()
    found = [finding for finding in all_findings() if finding.place.startswith(given.under)]
    if given.list:
        for finding in found:
            if given.list in ("all", finding.kind):
                print(f"{finding.place}: {finding.kind}: {finding.text}")
    lines = lines_of_code()
    counts = Counter(finding.kind for finding in found)
    exceeded = 0
    for kind, limit in LIMITS.items():
        value = amount(kind, counts[kind], lines)
        unit = "names" if kind in NAMES else "per 10,000 lines"
        over = value > limit
        exceeded += over
        print(f"{kind:<12}{counts[kind]:>5}  {value:>6.1f} {unit:<17} limit {limit:g}{'  exceeded' if over else ''}")
    print(f"{lines:,} lines below {ROOT.name}" if not given.under else given.under)
    return int(exceeded > 0 and not given.under)


if __name__ == "__main__":
    sys.exit(main())
