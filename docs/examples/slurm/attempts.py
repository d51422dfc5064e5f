"""Time limits of a plan, one for each attempt: ``minutes(1)`` is that of the first one.

``python attempts.py PLAN`` prints them all. PLAN is what ``holdfast plan --json`` or ``holdfast advise --json`` wrote.
"""

import json
import math
import sys
from pathlib import Path


def limits(plan="plan.json"):
    """Time limits of all attempts [min]."""
    document = json.loads(Path(plan).read_text())
    reservations = document.get("plan", document)["reservations"]
    # Ten seconds for the start of the program, and whole minutes, which is Slurm's unit.
    return [math.ceil((reservation["length"] + 10) / 60) for reservation in reservations]


def minutes(attempt, plan="plan.json"):
    """Time limit of an attempt, counted from 1 [min]; those beyond the plan have its longest one, doubled each time."""
    known = limits(plan)
    return known[attempt - 1] if attempt <= len(known) else max(known) * 2 ** (attempt - len(known))


if __name__ == "__main__":
    try:
        print(*limits(*sys.argv[1:]))
    except (OSError, ValueError, LookupError, AttributeError, TypeError) as error:
        print(f"attempts.py: PLAN must be a file of holdfast plan --json or advise --json: {error}", file=sys.stderr)
        sys.exit(2)
