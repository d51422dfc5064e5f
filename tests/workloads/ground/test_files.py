"""Files: a write is whole or leaves nothing, a read is one text or one sentence, whatever lies there."""

import gzip
import hashlib
import os
import stat
from pathlib import Path

import pytest

from holdfast.workloads.ground.errors import OutputError, TraceError
from holdfast.workloads.ground.files import atomic_open, decode_text, file_sha256, read_bytes, read_text


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "a.csv"
    with atomic_open(path) as file:
        file.write("ä\n")
        assert not path.exists()
    assert path.read_bytes() == "ä\n".encode()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


def test_after_an_error_the_old_file_stands_and_nothing_else(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_open(path) as file:
        file.write("new")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


def test_others_may_read_what_the_umask_lets_them(tmp_path):
    path = tmp_path / "a"
    umask = os.umask(0o022)
    try:
        with atomic_open(path, "wb") as file:
            file.write(b"x")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_equal_content_makes_equal_compressed_bytes(tmp_path):
    first, second = tmp_path / "a.gz", tmp_path / "b.gz"
    for path in (first, second):
        with atomic_open(path) as file:
            file.write("text\n" * 1000)
    data = first.read_bytes()
    assert data == second.read_bytes()
    assert data[3] == 0  # no name inside
    assert data[4:8] == bytes(4)  # no time inside
    assert gzip.decompress(data) == b"text\n" * 1000


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_open(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_is_written_and_stays_a_device():
    with atomic_open("/dev/null") as file:
        file.write("x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_what_cannot_be_written_is_one_sentence(tmp_path):
    with pytest.raises(OutputError, match=r"^.*/none/a: cannot be written: .*/none is not a directory$"):
        atomic_open(tmp_path / "none" / "a").__enter__()
    with pytest.raises(OutputError, match="cannot be written: is a directory"):
        atomic_open(tmp_path).__enter__()
    with pytest.raises(OutputError, match="cannot be written: File name too long"):
        atomic_open(tmp_path / ("a" * 300)).__enter__()
    full = pytest.raises(OutputError, match="/dev/full: cannot be written: No space left on device")
    with full, atomic_open("/dev/full") as file:
        file.write("x")


def test_an_error_about_another_file_is_not_taken_for_an_output_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_open(tmp_path / "a"):
        (tmp_path / "missing").read_text()


def test_gzip_is_recognised_by_content_not_by_name(tmp_path):
    packed, plain = tmp_path / "a.swf", tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(b"one ") + gzip.compress(b"two"))
    plain.write_bytes(b"one two")
    assert read_bytes(packed) == read_bytes(plain) == b"one two"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        # Without the time, which would be in the name of the test: workers must collect the same tests.
        (gzip.compress(b"", mtime=0), "is empty"),
        (gzip.compress(b"some text", mtime=0)[:-4], "is a damaged gzip file"),
        (b"\x1f\x8bnonsense", "is a damaged gzip file"),
        (b"PK\x03\x04...", "is a zip archive; unpack it first"),
        (b"BZh91AY", "is compressed by bzip2"),
        (b"1 2 \x00 3", "is a binary file, not a text"),
    ],
)
def test_what_is_no_text_is_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_text(path)
    assert str(caught.value).startswith(f"{path}: {sentence}")
    assert "\n" not in str(caught.value)


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(TraceError, match="none: no such file"):
        read_bytes(tmp_path / "none")
    with pytest.raises(TraceError, match="is a directory, not a file"):
        read_bytes(tmp_path)
    with pytest.raises(TraceError, match="cannot be read"):
        read_bytes("a\0b")
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        file_sha256(tmp_path / "none")


def test_texts_of_old_and_of_other_systems():
    assert decode_text(b"\xef\xbb\xbfjob_id", "a") == "job_id"
    assert decode_text("; Note: Universität".encode("latin-1"), "a") == "; Note: Universität"


def test_sha256(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert file_sha256(path) == hashlib.sha256(b"abc").hexdigest()
