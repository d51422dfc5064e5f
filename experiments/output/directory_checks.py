"""Checks of an output directory, so that results of two commands never mix in it."""

from __future__ import annotations

from pathlib import Path

from holdfast.experiments.output.manifest import SWEEP, is_manifest
from holdfast.workloads.ground.errors import InputError

__all__ = ["RUN", "check_fresh", "check_kind"]

#: The manifest of a replay and of a loop.
RUN = "run.json"
#: Kinds of results by manifest; all other manifests are of experiments, which share a directory.
_KINDS = {RUN: "a run", SWEEP: "a sweep"}
_EXPERIMENTS = "experiments"


def check_kind(directory: Path, manifest: str) -> None:
    """Refuse a directory with results of another kind.

    Parameters
    ----------
    directory
        Output directory.
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
            raise InputError(f"{directory}: holds the results of {kind} ({other}); choose another directory")


def check_fresh(directory: Path, manifest: str, *, force: bool) -> None:
    """As :func:`check_kind`, but refuse also results of the same kind, unless ``force``.

    Parameters
    ----------
    directory, manifest
        As for :func:`check_kind`.
    force
        Whether to replace existing results.

    Raises
    ------
    InputError
        If there are results that must not be replaced.
    """
    check_kind(directory, manifest)
    if not force and manifest in _manifests(directory):
        kind = _KINDS.get(manifest, _EXPERIMENTS)
        raise InputError(
            f"{directory}: already holds the results of {kind}; choose another directory, or replace them with --force"
        )


def _manifests(directory: Path) -> list[str]:
    """Names of the manifests in a directory, including those of pending results."""
    found = [path.name for path in directory.glob("*.json") if path.name in _KINDS or is_manifest(path)]
    waiting = (path.name.removeprefix(".").removesuffix(".new") for path in directory.glob(".*.json.new"))
    return sorted({*found, *waiting})
