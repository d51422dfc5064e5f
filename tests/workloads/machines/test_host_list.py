"""Lists of node names: against single names written out, and there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workloads.machines.host_list import expand, fold


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("rack[1-2]n[1,3]", ["rack1n1", "rack1n3", "rack2n1", "rack2n3"]),
        ("a,b[2]c,d-e.f", ["a", "b2c", "d-e.f"]),
        (" n[3,1] ", ["n3", "n1"]),
    ],
)
def test_lists_written_out(text: str, names: list[str]) -> None:
    assert list(expand(text)) == names


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must be written like n[1-4,7],login, not ''"),
        ("a,,b", "must be written like"),
        ("a,", "must be written like"),
        ("n[1-4", "must be written like"),
        ("n[]", "must be written like"),
        ("n[4-1]", "a range must go up, not '4-1'"),
        ("n[1-]", "numbers in brackets must be written like 1-4,7, not '1-'"),
        ("n[1-2-3]", "not '1-2-3'"),
        ("n[1-1000000]", "at most 200,000 nodes, and 'n[1-1000000]' names more"),
        ("n[1-1000]m[1-1000]", "at most 200,000 nodes"),
        ("n[1-150000],m[1-150000]", "at most 200,000 nodes"),
        ("n[1-1234567890123]", "numbers in brackets must be written like"),
    ],
)
def test_lists_that_are_none(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"nodes|numbers|range") as refused:
        expand(text)
    assert sentence in str(refused.value)


_ASCII = st.characters(max_codepoint=127)
_NAME = st.from_regex(r"[a-z]{1,3}(0?[0-9]{1,3})?([a-z]|-x)?", fullmatch=True, alphabet=_ASCII)
_NAMES = st.lists(_NAME, min_size=1, max_size=30)


@given(_NAMES)
def test_there_and_back(names: list[str]) -> None:
    assert list(expand(fold(names))) == names


@given(st.integers(0, 120), st.integers(1, 60), st.integers(1, 4))
def test_what_follows_each_other_is_one_range(first: int, count: int, width: int) -> None:
    names = [f"n{number:0{width}d}" for number in range(first, first + count)]
    assert len(fold(names)) <= len(f"n[{names[0]}-{names[-1]}]")
    assert list(expand(fold(names))) == names
