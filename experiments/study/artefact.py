"""Export of a reproduction to one archive file, and comparison of an archive with new measurements.

The file is a ZIP archive of the manifests and tables of the experiments, and of ``environment.json`` with the versions
of the packages. Equal results give equal bytes.

``python -m holdfast.experiments.study.artefact DIR FILE`` writes the archive of a release from all experiments in DIR,
whatever their seeds, and prints its size and SHA-256.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from typing import Any

from holdfast.experiments.output.manifest import Sealed, open_result
from holdfast.experiments.study.experiment import Experiment, find_experiment
from holdfast.experiments.study.parameter_limits import check_parameters
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import atomic_open, file_sha256, is_plain_file, is_plain_name
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.ground.text_cells import LARGEST_WHOLE

__all__ = ["Recorded", "differences", "open_artefact", "read_experiments", "write_artefact"]

ENVIRONMENT = "environment.json"
#: Packages with versions that may change a last digit.
_PACKAGES = ("holdfast", "simpy", "numpy", "scipy", "pandas", "numba", "SALib")
#: The earliest date that a ZIP archive can store; the current date would change the bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
#: Largest unpacked size of an archive [bytes].
_MOST = 4 << 30


@dataclass(frozen=True)
class Recorded:
    """A measured experiment in an artefact.

    Attributes
    ----------
    experiment
        The experiment with the recorded id.
    parameters, seed
        Parameters and seed of the measurement.
    sealed
        Manifest and tables.
    """

    experiment: Experiment
    parameters: Any
    seed: int
    sealed: Sealed


def write_artefact(directory: Path, names: Sequence[str], path: str | Path) -> None:
    """Write the manifests and tables of experiments to one archive.

    Parameters
    ----------
    directory
        Directory with the files of ``holdfast reproduce``.
    names
        Ids of the experiments.
    path
        Archive to write.

    Raises
    ------
    InputError
        If an experiment is missing, or one of its files was changed.
    """
    files: dict[str, bytes] = {ENVIRONMENT: json.dumps(_environment(), indent=1).encode() + b"\n"}
    for name in names:
        sealed = open_result(directory, f"{name}.json")
        files[sealed.manifest] = sealed.raw
        for table in sealed.files or ():
            files[table] = sealed.need(table, "which its manifest names").read_bytes()
    with atomic_open(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _NO_TIME), files[name], zipfile.ZIP_DEFLATED)


def _environment() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@contextmanager
def open_artefact(source: Path) -> Iterator[Path]:
    """Context manager that yields the directory of an artefact, unpacking an archive temporarily.

    Raises
    ------
    TraceError
        If ``source`` is neither a directory nor a legal archive.
    """
    if source.is_dir():
        yield source
        return
    if not source.exists():
        raise TraceError(source, None, "no such file or directory")
    with tempfile.TemporaryDirectory() as name:
        try:
            with zipfile.ZipFile(source) as archive:
                members = archive.infolist()
                if not all(is_plain_name(item.filename) for item in members):
                    raise TraceError(source, None, "must contain files of a single directory")
                if sum(item.file_size for item in members) > _MOST:
                    raise TraceError(source, None, f"must hold at most {_MOST:,} bytes unpacked")
                archive.extractall(name)
        except InputError:
            raise
        except Exception as error:  # zlib.error, LookupError, struct.error, ...: zipfile documents no complete list
            reason = "a part of it is damaged, encrypted or packed in another way"
            if isinstance(error, zipfile.BadZipFile):
                reason = " ".join(str(error).split())
            elif isinstance(error, OSError) and error.strerror:
                reason = error.strerror
            raise TraceError(source, None, f"is not a readable ZIP archive: {reason}") from None
        try:
            yield Path(name)
        except InputError as error:
            # The message names the archive, because the temporary directory is removed before the user reads it.
            raise InputError(str(error).replace(f"{name}{os.sep}", f"{source}: ")) from None


def read_experiments(directory: Path) -> dict[str, Recorded]:
    """The experiments in a directory, by id, in the order of their names.

    Raises
    ------
    InputError
        If a file was changed, or the parameters of an experiment are unknown to this version, exceed its limits, or
        name code without trust (:func:`holdfast.workloads.ground.trust.trust`).
    """
    found = {}
    for path in sorted(directory.glob("*.json")):
        if path.name == ENVIRONMENT or not is_plain_file(path):
            continue
        sealed = open_result(directory, path.name)
        if sealed.files is not None and "experiment" in sealed.content:
            found[str(sealed.content["experiment"])] = _read_experiment(path, sealed)
    if not found:
        raise InputError(f"{directory}: contains no experiment written by `holdfast reproduce`")
    return found


def _read_experiment(path: Path, sealed: Sealed) -> Recorded:
    experiment = find_experiment(str(sealed.content["experiment"]))
    parameters, seed = sealed.content.get("parameters"), sealed.content.get("seed")
    made = None
    if isinstance(parameters, Mapping) and is_whole(seed, 0) and seed <= LARGEST_WHOLE:
        check_parameters(experiment.parameters, experiment.quick, parameters, path)
        made = _like(experiment.parameters, parameters)
    if made is None or json.loads(json.dumps(asdict(made), default=str)) != parameters:
        raise TraceError(path, None, f"has other parameters than {experiment.id} of this version")
    assert isinstance(seed, int)  # is_whole has said so
    return Recorded(experiment, made, seed, sealed)


def _like(default: Any, value: Any) -> Any:
    """Convert a JSON value to the type of the default: lists become tuples, data files stay paths."""
    if is_dataclass(default) and not isinstance(default, type) and isinstance(value, Mapping):
        known = {item.name for item in fields(default)}
        changes = {name: _like(getattr(default, name), own) for name, own in value.items() if name in known}
        try:
            return replace(default, **changes)
        except (InputError, TypeError, ValueError):
            return default
    if isinstance(value, list):
        first = default[0] if isinstance(default, tuple) and default else None
        return tuple(_like(first, item) for item in value)
    return value


def differences(item: Recorded, directory: Path) -> list[str]:
    """Differences between recorded and new tables, one sentence for each table.

    Parameters
    ----------
    item
        The recorded experiment.
    directory
        Directory of the new tables.
    """
    again = open_result(directory, item.sealed.manifest)
    found = []
    if item.sealed.content.get("data") != again.content.get("data"):
        found.append("was measured with other data")
    for name in item.sealed.files or ():
        before, now = item.sealed.need(name, "which its manifest names"), again.find(name)
        if now is None:
            found.append(f"{name}: was not made again")
        elif (
            _table(item.experiment.id, name) not in item.experiment.clocked and before.read_bytes() != now.read_bytes()
        ):
            found.append(f"{name}:{_first(before, now)}")
    found += [f"{name}: is new" for name in again.files or () if name not in (item.sealed.files or ())]
    return found


def _table(name: str, file: str) -> str:
    return file.removesuffix(".csv").removeprefix(name).removeprefix("-")


def _first(before: Path, now: Path) -> str:
    """Describe the first line that differs."""
    lines = zip_longest(before.read_text().splitlines(), now.read_text().splitlines(), fillvalue="nothing")
    for number, (old, new) in enumerate(lines, 1):
        if old != new:
            return f"{number}: {_short(old)} became {_short(new)}"
    return " the ends of its lines differ"


def _short(line: str) -> str:
    return repr(line if len(line) <= 80 else f"{line[:77]}...")


def main(words: Sequence[str]) -> None:
    """Write the archive of a release."""
    directory, path = map(Path, words)
    names = list(read_experiments(directory))
    write_artefact(directory, names, path)
    print(f"{path}: {len(names)} experiments, {path.stat().st_size:,} bytes, SHA-256 {file_sha256(path)}")


if __name__ == "__main__":
    main(sys.argv[1:])
