"""Export of an experiment's stored results to one small file, from which another machine can continue.

The file has XZ-compressed lines of JSON: the parameters and the fingerprint of the sources, then pieces and simulations
of sweeps, and last the digest of all other lines. A row is reused only if sources, seed and parameters are equal; each
piece is stored under the digest of all three.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holdfast.experiments.output.output_directory import make_directory
from holdfast.experiments.study.row_cache import PIECES, SOURCES, piece_content, piece_text
from holdfast.experiments.sweeps.fingerprint import commit, model_fingerprint
from holdfast.experiments.sweeps.store import BATCH, stored_lines
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import atomic_open, is_plain_file

__all__ = ["MAGIC", "export_store", "import_store", "packed_fault", "record_request"]

#: First bytes of a file.
MAGIC = b"\xfd7zXZ\x00"
_FORMAT = 1
#: Folder of a store with the requested experiments, seeds and parameters.
_ASKED = "asked"
#: Maximum size of a file after decompression, and maximum memory for decompression [bytes].
_LARGEST, _MEMORY = 1 << 30, 1 << 28
_NAME = re.compile(r"[0-9a-f]{32}")


def record_request(store: Path, name: str, seed: int, parameters: Any) -> None:
    """Record the seed, parameters and commit of an experiment in its store."""
    place = make_directory(store / _ASKED)
    with atomic_open(place / f"{name}.json", follow=False) as file:
        json.dump({"seed": seed, "parameters": asdict(parameters), "commit": commit()}, file, default=str)
        file.write("\n")


def export_store(store: Path, path: Path) -> int:
    """Export a store to one file; damaged rows are left out.

    Parameters
    ----------
    store
        Store of experiments; other processes may use it meanwhile.
    path
        File to write.

    Returns
    -------
    int
        Number of exported pieces and simulations.
    """
    asked = {own.stem: json.loads(own.read_bytes()) for own in sorted((store / _ASKED).glob("*.json"))}
    bodies = list(_bodies(store))
    sources = sorted({own["sources"] for own in bodies})
    packer = lzma.LZMACompressor(preset=9 | lzma.PRESET_EXTREME)
    digest = hashlib.sha256()
    with atomic_open(path, "wb") as file:
        for own in ({"format": _FORMAT, "asked": asked, "sources": sources}, *bodies):
            line = _line(own)
            digest.update(line)
            file.write(packer.compress(line))
        file.write(packer.compress(_line({"digest": digest.hexdigest()})) + packer.flush())
    return len(bodies)


def _bodies(store: Path) -> Iterator[dict[str, Any]]:
    for path in sorted((store / PIECES).glob("*.json")):
        try:
            kept = piece_content(path)
            yield {"piece": path.stem, "sources": kept["sources"], "rows": kept["rows"]}
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue
    for model, line in stored_lines(store):
        yield {"run": line.decode(), "sources": f"model {model}"}


def import_store(path: Path, store: Path, names: Iterable[str], seed: int) -> int:
    """Add the rows of a file to a store.

    Parameters
    ----------
    path
        File of :func:`export_store`.
    store
        Store to which the rows are added.
    names, seed
        Ids of the experiments that will use the rows, and their seed.

    Returns
    -------
    int
        Number of pieces and simulations added.

    Raises
    ------
    InputError
        If the file cannot be read or is damaged, or its rows have other sources, experiments or seeds.
    """
    first, *bodies = _read(path)
    asked: Mapping[str, Any] = first["asked"]
    known = [name for name in names if name in asked]
    if not known:
        raise TraceError(path, None, f"holds rows of {', '.join(asked) or 'no experiment'}, not of {', '.join(names)}")
    for name in known:
        if asked[name]["seed"] != seed:
            raise TraceError(path, None, f"holds rows of {name} with the seed {asked[name]['seed']}, not {seed}")
    here = {f"{name} {digest()}" for name, digest in SOURCES.items()} | {f"model {model_fingerprint()}"}
    other = [words for words in first["sources"] if words not in here]
    if other:
        own = next(words for words in sorted(here) if words.split()[0] == other[0].split()[0])
        measured = asked[known[0]].get("commit", "unknown")
        raise TraceError(
            path,
            None,
            f"was measured by other sources ({other[0]}, here {own}): import it where their commit is checked out "
            f"({measured})",
        )
    return _add(store, bodies)


def _add(store: Path, bodies: Iterable[Mapping[str, Any]]) -> int:
    place = make_directory(store / PIECES)
    count, lines = 0, []
    held = {line for _, line in stored_lines(store)}
    for own in bodies:
        if "run" in own:
            line = own["run"].encode()
            if line not in held:
                lines.append(line)
            continue
        target = place / f"{own['piece']}.json"
        if not is_plain_file(target):
            with atomic_open(target, follow=False) as file:
                file.write(piece_text(own["rows"], own["sources"]))
            count += 1
    if lines:
        whole = b"".join(lines)
        with atomic_open(store / f"{hashlib.sha256(whole).hexdigest()}{BATCH}", "wb", follow=False) as file:
            file.write(whole)
    return count + len(lines)


def packed_fault(path: Path) -> InputError | None:
    """The error of a damaged file of :func:`export_store`; None if it is valid."""
    try:
        _read(path)
    except InputError as error:
        return error
    return None


def _read(path: Path) -> list[dict[str, Any]]:
    """Read the lines and check them against the digest in the last line, which is not returned."""
    try:
        if not path.exists():
            raise FileNotFoundError(path)
        # Bytes are read, because the reader of text files refuses binary files.
        if not is_plain_file(path.resolve()) or path.stat().st_size > _LARGEST:
            raise ValueError("no file, or too long")
        raw = path.read_bytes()
        unpacker = lzma.LZMADecompressor(memlimit=_MEMORY)
        text = unpacker.decompress(raw, max_length=_LARGEST)
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("too long, or cut off")
        head, _, last = text.rstrip(b"\n").rpartition(b"\n")
        if json.loads(last) != {"digest": hashlib.sha256(head + b"\n").hexdigest()}:
            raise ValueError("digest")
        lines = [json.loads(line) for line in head.split(b"\n")]
        if lines[0]["format"] != _FORMAT or not all(_is_body(own) for own in lines[1:]):
            raise ValueError("format")
    except FileNotFoundError:
        raise TraceError(path, None, "no such file") from None
    except (OSError, lzma.LZMAError, ValueError, LookupError, TypeError, EOFError, RecursionError, MemoryError):
        raise TraceError(path, None, "is not a file of stored rows written by 'holdfast experiment --pack'") from None
    return lines


def _is_body(own: Mapping[str, Any]) -> bool:
    if set(own) == {"run", "sources"}:
        return isinstance(own["run"], str)
    return set(own) == {"piece", "sources", "rows"} and _NAME.fullmatch(own["piece"]) is not None


def _line(own: Any) -> bytes:
    # The mean of no jobs is NaN, in a stored piece as here.
    return json.dumps(own, separators=(",", ":")).encode() + b"\n"
