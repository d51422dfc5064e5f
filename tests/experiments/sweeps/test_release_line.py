"""The commit and the digest of the sources that a bug report names."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.experiments.sweeps import fingerprint


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package in an otherwise empty checkout, in place of ours."""
    package = tmp_path / "holdfast"
    (package / "policies").mkdir(parents=True)
    (package / "policies" / "port.py").write_text("SIZE = 1\n")
    monkeypatch.setattr(fingerprint, "_ROOT", package)
    monkeypatch.setattr(fingerprint, "_STORED_COMMIT", package / "commit.txt")
    for function in (fingerprint.commit, fingerprint.source_fingerprint):
        function.cache_clear()
    yield package
    for function in (fingerprint.commit, fingerprint.source_fingerprint):
        function.cache_clear()


def git(checkout: Path, *words: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    done = subprocess.run(["git", "-C", checkout, *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_without_a_repository_the_commit_is_unknown(package: Path) -> None:
    assert fingerprint.commit() == "unknown"


def test_a_wheel_has_the_commit_stored(package: Path) -> None:
    (package / "commit.txt").write_text("abc-modified\n")
    assert fingerprint.commit() == "abc-modified"


def test_a_checkout_asks_git(package: Path) -> None:
    git(package.parent, "init", "--quiet")
    git(package.parent, "add", ".")
    git(package.parent, "commit", "--quiet", "--message", "one", "--no-verify")
    head = git(package.parent, "rev-parse", "HEAD")
    assert fingerprint.commit() == head
    (package / "policies" / "port.py").write_text("SIZE = 2\n")
    fingerprint.commit.cache_clear()
    assert fingerprint.commit() == f"{head}-modified"


def test_the_digest_is_that_of_the_code(package: Path) -> None:
    before = fingerprint.source_fingerprint()
    (package / "policies" / "port.py").write_text('"""A docstring."""\n# A comment.\nSIZE = 1\n')
    fingerprint.source_fingerprint.cache_clear()
    documented = fingerprint.source_fingerprint()
    (package / "policies" / "port.py").write_text('"""Another docstring."""\nSIZE = 1\n')
    fingerprint.source_fingerprint.cache_clear()
    assert fingerprint.source_fingerprint() == documented != before
    (package / "policies" / "port.py").write_text('"""Another docstring."""\nSIZE = 2\n')
    fingerprint.source_fingerprint.cache_clear()
    assert fingerprint.source_fingerprint() != documented
