"""Checks of an output directory, so that results of two commands never mix in it."""

from __future__ import annotations

from pathlib import Path

from experiments.output.manifest import SWEEP, is_manifest
from workloads.ground.errors import InputError

__all__ = ["RUN", "check_fresh", "check_kind"]

#: The manifest of a replay, and of a loop.
RUN = "run.json"
#: What a manifest is of; all others are of experiments, which share a directory.
_KINDS = {RUN: "a run", SWEEP: "a sweep"}
_EXPERIMENTS = "experiments"


def check_kind(directory: Path, manifest: str) -> None:
    """Refuse a directory with results of another kind.

    Parameters
    ----------
    directory
        That is to be written to.
    manifest
        Name of the manifest of the new result.

    Raises
    ------
    InputError
        If runs, sweeps and experiments would mix there.
    """
    own = _KINDS.get(manifest, _EXPERIMENTS)
    for other in _manifests(directory):
        kind = _KINDS.get(other, _EXPERIMENTS)
        if kind != own:
            raise InputError(f"{directory}: holds the results of {kind} ({other}); take another directory")


def check_fresh(directory: Path, manifest: str, *, force: bool) -> None:
    """As :func:`check_kind`; refuse also results of the same kind, unless they are to be replaced.

    Parameters
    ----------
    directory, manifest
        As of :func:`check_kind`.
    force
        Whether they are to be replaced.

    Raises
    ------
    InputError
        If there are any.
    """
    check_kind(directory, manifest)
    if not force and manifest in _manifests(directory):
        kind = _KINDS.get(manifest, _EXPERIMENTS)
        raise InputError(
            f"{directory}: holds the results of {kind} already; take another directory, or replace them with --force"
        )


def _manifests(directory: Path) -> list[str]:
    """Names of the manifests in a directory, also of results that wait to be moved to their place."""
    found = [path.name for path in directory.glob("*.json") if path.name in _KINDS or is_manifest(path)]
    waiting = (path.name.removeprefix(".").removesuffix(".new") for path in directory.glob(".*.json.new"))
    return sorted({*found, *waiting})
