"""What evalys 4.0.7 makes of files that we export, stored: it has had no release since 2024.

``pip install evalys`` and ``python -m tests.golden.evalys_readings FILE:NODES ...`` add the readings of files under
their SHA-256. A test whose file changed says which file it is, and where it wrote it.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.places import GOLDEN

__all__ = ["stored_reading"]

_STORE = GOLDEN / "evalys.json"


def stored_reading(path: Path, nodes: int) -> dict[str, Any]:
    """The stored reading of a file.

    Returns
    -------
    dict
        ``mean``, ``highest``, ``instants``: mean and highest number of nodes in use, and how often it changes; of small
        files also ``load``: (time [s], nodes in use from then on), ascending, and ``bars``: (job, start [s], width [s],
        lowest node, nodes) of the rectangles of the Gantt chart.
    """
    found: dict[str, dict[str, Any]] = json.loads(_STORE.read_text(encoding="ascii"))
    digest = _digest(path)
    if digest not in found:
        raise LookupError(f"evalys has not read this file: python -m tests.golden.evalys_readings {path}:{nodes}")
    return found[digest]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


#: Most executions for which all times are stored.
_DRAWN = 100


def _read(path: Path, nodes: int) -> dict[str, Any]:
    from evalys.jobset import JobSet  # type: ignore[import-not-found]
    from evalys.visu import core, gantt  # type: ignore[import-not-found]
    from matplotlib.patches import Rectangle

    jobs = JobSet.from_csv(path, resource_bounds=(0, nodes - 1))
    load = [(float(time), int(value)) for time, value in jobs.utilisation["load"].items()]
    reading = {
        "mean": float(jobs.mean_utilisation()),
        "highest": max(value for _, value in load),
        "instants": len(load),
    }
    if len(jobs.df) > _DRAWN:
        return reading
    names: list[str] = []

    def colour(job: Any, palette: Any) -> str:
        names.append(str(job["jobID"]))
        return "black"

    plot = core.SimpleLayout(wtitle="").inject(gantt.GanttVisualization, spskey="all", title="")
    plot.colorer = colour
    plot.build(jobs)
    bars = [item for item in plot._ax.get_children() if isinstance(item, Rectangle) and item is not plot._ax.patch]
    return reading | {
        "load": load,
        "bars": [
            (name, bar.get_x(), bar.get_width(), round(bar.get_y()), round(bar.get_height()))
            for name, bar in zip(names, bars, strict=True)
        ],
    }


def main(words: Sequence[str]) -> None:
    """Add the readings of files."""
    found = json.loads(_STORE.read_text(encoding="ascii")) if _STORE.exists() else {}
    for word in words:
        path, _, nodes = word.rpartition(":")
        with warnings.catch_warnings(action="ignore"):  # it was written for an older pandas
            found[_digest(Path(path))] = _read(Path(path), int(nodes))
    lines = [f'"{digest}": {json.dumps(found[digest])}' for digest in sorted(found)]
    _STORE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1:])
