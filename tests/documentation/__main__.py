"""Put what really comes out, and the pictures, into the pages: ``python -m tests.documentation [PAGE ...]``."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

from tests.documentation.blocks import comparable
from tests.documentation.given import provide
from tests.documentation.session import PAGES, Session, read_through


def rewrite(page: Path) -> bool:
    """Put into a page what its blocks print, and beside it what they draw; whether anything changed."""
    lines = page.read_text().splitlines(keepends=True)
    before = list(lines)
    work = tempfile.mkdtemp()
    with contextlib.chdir(work):
        provide(page)
        shown = []
        for block, expected in read_through(Session(page)):
            if block.kind == "picture" and block.file:
                shutil.copy(block.text, page.parent / block.file)
            elif expected is not None and comparable(expected) != comparable(block.text):
                shown.append((block, expected))
    shutil.rmtree(work)
    for block, expected in reversed(shown):
        lines[block.first : block.last] = [f"{line.rstrip()}\n" for line in expected.strip("\n").splitlines()]
    if lines != before:
        page.write_text("".join(lines))
    return lines != before


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        print(f"{'changed  ' if rewrite(Path(name).absolute()) else 'unchanged'} {name}")
