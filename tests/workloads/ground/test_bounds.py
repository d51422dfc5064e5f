"""Inputs that are larger than they look, or never end: read in pieces, up to a stated limit."""

import gzip
import os
import sys
import threading

import pytest

from holdfast.workloads.ground import safe_read
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import file_sha256, read_bytes
from holdfast.workloads.logs.readers import read_workload

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has neither pipes with names nor /dev/zero")


@pytest.fixture
def small(monkeypatch):
    """Limits that a test reaches without gigabytes."""
    monkeypatch.setattr(safe_read, "LARGEST_INPUT", 1 << 20)
    monkeypatch.setattr(safe_read, "_HARMLESS", 1 << 17)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    # 80 MB in some 250 kB: the limits as they are.
    (tmp_path / "a.swf.gz").write_bytes(gzip.compress(b"; Note: a\n" * 100_000) * 80)
    with pytest.raises(TraceError) as caught:
        read_workload(tmp_path / "a.swf.gz")
    sentence = "unpacks to more than 50 times its size and 67,108,864 bytes"
    assert str(caught.value) == f"{tmp_path / 'a.swf.gz'}: {sentence}"


def test_the_limits(tmp_path, small):
    path = tmp_path / "a"
    content = os.urandom(3 << 18).replace(b"\0", b"\1")  # is packed to no less
    for data in (content, gzip.compress(content), gzip.compress(b"one") * 2000 + bytes(512)):
        path.write_bytes(data)
        assert read_bytes(path) in (content, b"one" * 2000)
    path.write_bytes(gzip.compress(content.hex().encode()))
    with pytest.raises(TraceError, match=r"a: holds more than 1,048,576 bytes, the most that is read$"):
        read_bytes(path)
    path.write_bytes(gzip.compress(b"1 " * 100_000))
    with pytest.raises(TraceError, match=r"a: unpacks to more than 50 times its size"):
        read_bytes(path)
    # The length on the disk alone: nothing is read of this one.
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TraceError, match=r"a: is 1,099,511,627,776 bytes long, and at most 1,048,576 are read$"):
        read_bytes(path)


def test_devices_and_pipes(tmp_path, small):
    with pytest.raises(TraceError, match="/dev/zero: is a binary file, not a text"):
        read_workload("/dev/zero")
    assert file_sha256("/dev/zero") == ""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def feed(piece, times):
        with pipe.open("wb", buffering=0) as file:
            try:
                for _ in range(times):
                    file.write(piece)
            except BrokenPipeError:
                pass  # the reader has seen enough

    job = b"1 0 5 60 4 -1 -1 4 90 -1 1 7 3 -1 -1 -1 -1 -1\n"
    for piece, times, sentence in (
        (job, 1, ""),
        (job, 10**9, "holds more than 1,048,576 bytes"),
        (b"1" * 9999, 10**9, "holds more than 1,048,576 bytes"),
        (b"1" * 9999, 9, "format not recognised"),
    ):
        writer = threading.Thread(target=feed, args=(piece, times))
        writer.start()
        if sentence:
            with pytest.raises(TraceError, match=f"pipe: {sentence}"):
                read_workload(pipe)
        else:
            assert len(read_workload(pipe).jobs) == 1
            assert file_sha256(pipe) == ""
        writer.join()
