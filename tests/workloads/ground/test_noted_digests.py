"""Digests that are worked out while files are written are those of the files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from holdfast.workloads.ground import files
from holdfast.workloads.ground.files import atomic_open, file_sha256, record_digests, written_digest


def write_all(place: Path) -> list[Path]:
    """A text, bytes, a compressed text, and an archive, for which the file is written out of order."""
    paths = [place / name for name in ("a.csv", "b.bin", "c.csv.gz", "d.zip")]
    with atomic_open(paths[0]) as text:
        text.writelines(["a,b\n", "\u00e4" * 10_000, "\n"])
    for path in paths[1:3]:
        with atomic_open(path, "wb") as file:
            file.write(b"x" * 100_000)
            file.write(b"y")
    with atomic_open(paths[3], "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("one", "1")
        archive.writestr("two", "2" * 1000)
    return paths


def test_noted_digests_are_those_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = write_all(tmp_path)
    before = [path.read_bytes() for path in plain]
    read: list[Path] = []
    with record_digests():
        paths = write_all(tmp_path)
        assert [path.read_bytes() for path in paths] == before
        known = [file_sha256(path) for path in paths]
        monkeypatch.setattr(files, "file_sha256", lambda path: read.append(path) or file_sha256(path))
        assert [written_digest(path) for path in paths] == known
    # Only what was written out of order had to be read.
    assert read in ([], paths[3:])
    # Outside of the block every file is read.
    assert [written_digest(path) for path in paths] == known
    assert read[-4:] == paths


def test_an_interrupted_file_leaves_no_digest(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with record_digests():
        with pytest.raises(ZeroDivisionError), atomic_open(path) as file:
            file.write("half")
            raise ZeroDivisionError
        path.write_text("another")
        assert written_digest(path) == file_sha256(path)
