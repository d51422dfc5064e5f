"""``python -m tests.golden``: make the golden files again from ``small.csv``; read the difference before a commit."""

from __future__ import annotations

import io
import json
import os
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from holdfast.experiments.cli import main as holdfast
from tests.places import GOLDEN

MECHANISMS = ("baseline", "N-PAA", "CUA-SPAA", "CUP-SPAA")
PLAN = "plan uniform --min 1h --max 20h --checkpoint 2h --restart 30m --n 200"
COSTS = "fit-costs results --mechanism baseline --classes 4"


def command_output(words: str) -> str:
    """What a command writes to standard output."""
    out = io.StringIO()
    with redirect_stdout(out):
        status = holdfast(words.split())
    if status:
        raise SystemExit(f"holdfast {words}: exit status {status}")
    return out.getvalue()


def main() -> None:
    """Write every golden file but ``small.csv``, from which they are made."""
    with TemporaryDirectory() as place:
        os.chdir(place)
        shutil.copy(GOLDEN / "small.csv", "small.csv")
        command_output("run small.csv -o results --nodes 16 --events --mechanism " + ",".join(MECHANISMS))
        for mechanism in MECHANISMS:
            for kind in ("jobs", "events"):
                shutil.copy(Path("results") / f"{kind}-{mechanism}.csv", GOLDEN)
        (GOLDEN / "plan.json").write_text(command_output(f"{PLAN} --json -"))
        (GOLDEN / "plan.txt").write_text(command_output(f"{PLAN} --compare"))
        costs = json.loads(command_output(f"{COSTS} -o -"))
        del costs["holdfast"]  # the version
        (GOLDEN / "costs.json").write_text(json.dumps(costs, indent=2) + "\n")
        (GOLDEN / "costs.txt").write_text(command_output(COSTS))


if __name__ == "__main__":
    main()
