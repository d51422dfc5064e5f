"""Integrity checks of results, stores, archives, plans and cost files, by their digests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.experiments.output.directory_checks import RUN
from holdfast.experiments.output.manifest import SWEEP, file_faults, incoming_directory, is_manifest, open_result
from holdfast.experiments.study.artefact import ENVIRONMENT, open_artefact
from holdfast.experiments.study.row_cache import piece_fault
from holdfast.experiments.sweeps.store import BATCH, line_faults
from holdfast.workloads.ground.checksums import is_sealed
from holdfast.workloads.ground.documents import parse_json
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import decode_text, is_plain_file, read_bytes
from holdfast.workloads.ground.wording import count_text

__all__ = ["Check", "checks"]

#: Folders of a sweep and of a reproduction with stored runs.
_STORES = ("store", "runs")
#: Documents in result directories without a digest, because no table depends on them.
_APART = ("times.json", ENVIRONMENT)
#: Name of a stored run of versions up to 0.2.0, which this version does not reuse.
_OLD_RUN = re.compile(r"[0-9a-f]{64}\.json")
#: First bytes of a ZIP archive, also of an empty one.
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True)
class Check:
    """Result of one check.

    Attributes
    ----------
    name
        Name of the file or files.
    faults
        One sentence for each changed file.
    sealed
        Whether the files have digests.
    """

    name: str
    faults: tuple[str, ...] = field(default=())
    sealed: bool = True


def checks(path: Path) -> list[Check]:
    """Check all digests of a directory of results, a store, an archive, or a single file.

    Raises
    ------
    InputError
        If there is no such file, or no file that Holdfast writes with digests.
    """
    found = list(_checks_of_archive(path) if _is_archive(path) else _find_checks(path))
    if not found:
        raise TraceError(path, None, "contains nothing that Holdfast writes with digests")
    return found


def _find_checks(path: Path) -> Iterator[Check]:
    if path.is_dir():
        yield from _checks_of_directory(path)
    elif not path.exists():
        raise TraceError(path, None, "no such file or directory")
    elif path.suffix == BATCH:
        yield _check_lines([path], str(path))
    else:
        yield _check_file(path)


def _is_archive(path: Path) -> bool:
    if not is_plain_file(path.resolve()):
        return False
    if path.suffix == ".zip":
        return True
    with path.open("rb") as file:
        return file.read(4) in _ZIP


def _checks_of_archive(path: Path) -> Iterator[Check]:
    try:
        with open_artefact(path) as directory:
            found = list(_checks_of_directory(directory))
    except InputError as error:
        yield Check(str(path), (str(error),))
        return
    for item in found:
        faults = tuple(fault.replace(f"{directory}/", f"{path}: ") for fault in item.faults)
        yield Check(item.name.replace(f"{directory}/", f"{path}: "), faults, item.sealed)


def _checks_of_directory(directory: Path) -> Iterator[Check]:
    names = {path.name for path in directory.glob("*.json")}
    names |= {path.name.removeprefix(".").removesuffix(".new") for path in directory.glob(".*.json.new")}
    covered: set[str] = set(_APART)
    for name in sorted(names, key=lambda name: (name not in (RUN, SWEEP), name)):
        if name not in covered:
            check, own = _check_document(directory, name)
            covered |= own
            if check is not None:
                yield check
    for place in (directory, *(directory / name for name in _STORES)):
        if files := sorted(place.glob(f"*{BATCH}")):
            yield _check_lines(files, str(place))
        if old := [file for file in place.glob("*.json") if _OLD_RUN.fullmatch(file.name)]:
            yield Check(f"{place}: {count_text(len(old), 'stored runs')} of an earlier version", sealed=False)
        if pieces := sorted((place / "pieces").glob("*.json")):
            faults = [str(fault) for fault in map(piece_fault, pieces) if fault is not None]
            yield Check(f"{place / 'pieces'}: {len(pieces):,} pieces of measurements", tuple(faults))


def _check_lines(files: list[Path], name: str) -> Check:
    count, faults = 0, []
    for path in files:
        runs, found = line_faults(path)
        count += runs
        faults += [str(fault) for fault in found]
    return Check(f"{name}: {count_text(count, 'stored runs')}", tuple(faults))


def _check_document(directory: Path, name: str) -> tuple[Check | None, set[str]]:
    """Check a manifest with its files, a plan or costs; also returns the names of the files that the check covers."""
    path = directory / name
    waiting = incoming_directory(directory, name).is_dir()
    try:
        document = None if waiting else parse_json(decode_text(read_bytes(path), path), path)
    except InputError as error:
        return Check(str(path), (str(error),)), set()
    if not waiting and not _describes_result(name, document):
        return (_seal_check(path) if _is_plan_or_costs(document) else None), set()
    try:
        sealed = open_result(directory, name, check=False)
    except InputError as error:
        return Check(str(path), (str(error),)), set()
    if sealed.files is None:
        return Check(str(path), sealed=False), set()
    count = len(sealed.files)
    faults = tuple(map(str, file_faults(sealed)))
    return Check(f"{path} and {count_text(count, 'tables')}", faults), set(sealed.files)


def _describes_result(name: str, document: Any) -> bool:
    return name in (RUN, SWEEP) or (
        isinstance(document, dict) and "sealed" not in document and bool({"files", "experiment"} & set(document))
    )


def _is_plan_or_costs(document: Any) -> bool:
    """Whether a document is a plan or costs, with or without a seal."""
    return isinstance(document, dict) and bool({"sealed", "digest", "reservations", "classes"} & set(document))


def _seal_check(path: Path) -> Check:
    raw = read_bytes(path)
    try:
        return Check(str(path), sealed=is_sealed(raw, parse_json(decode_text(raw, path), path)))
    except TraceError as error:
        return Check(str(path), (str(error),))
    except InputError as error:
        return Check(str(path), (f"{path}: {error}",))


def _check_file(path: Path) -> Check:
    """Check a manifest with its files, a plan, costs, or a table in a manifest of the same directory."""
    if path.suffix == ".json" or is_manifest(path):
        check, _ = _check_document(path.parent, path.name)
        if check is not None:
            return check
    for manifest in sorted(path.parent.glob("*.json")):
        try:
            sealed = open_result(path.parent, manifest.name, check=False)
        except InputError:
            continue
        if path.name in (sealed.files or {}):
            faults = [str(fault) for fault in file_faults(sealed) if str(fault).startswith(f"{path}: ")]
            return Check(f"{path}, by {manifest.name}", tuple(faults))
    return Check(str(path), sealed=False)
