"""The build hook of hatchling: it stores the commit in wheels and source archives, which have no repository to ask."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: In a source archive, from which wheels are built, and in a wheel.
_PLACES = {"sdist": ".ci/commit.txt", "wheel": "holdfast/commit.txt"}


class CustomBuildHook(BuildHookInterface):
    """Adds the commit, with the suffix ``-modified`` if the checkout differs from it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root, _PLACES["sdist"])
        if version == "editable" or (source.exists() and self.target_name == "sdist"):
            return
        if not source.exists():
            source = self._described = Path(self.directory, f"commit-{self.target_name}.txt")
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(f"{self._commit()}\n", encoding="ascii")
        build_data["force_include"][str(source)] = _PLACES[self.target_name]

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_described"):
            self._described.unlink()

    def _commit(self) -> str:
        # Without a repository here, git would describe one around the folder.
        if not Path(self.root, ".git").exists():
            return "unknown"
        words = ["git", "-C", self.root, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=-modified"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.stdout.strip() or "unknown"
