"""The check of names by ``python -m tests.language``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.language.check import FOLDERS, LIMITS, NOUNS, SUPPORT, amount, findings, participles, sources


def _participle_names(path: Path, code: str) -> list[str]:
    path.write_text(code)
    return [finding.text for finding in participles(path, path.parent)]


@pytest.mark.parametrize(
    "name",
    [
        "fitting",
        "_waiting",
        "still_lacking",
        "told",
        "measured",
        "read_placed",
        "known_at",
        "running_for",
        "under_held",
    ],
)
def test_a_participle_at_the_end_or_before_a_preposition_is_found(name: str, tmp_path: Path) -> None:
    assert _participle_names(tmp_path / "a.py", f"def {name}(): ...") == [name]
    assert _participle_names(tmp_path / "a.py", f"class A:\n    async def {name}(self): ...") == [name]


@pytest.mark.parametrize(
    "name",
    [
        *("candidates", "waiting_jobs", "held_nodes", "is_sealed", "_has_waited", "no_picture_is_rendered", "feed"),
        *("next_seed", "ranking", "unicep_ranking", "end_warning", "test_what_is_closed", "__init_subclass__"),
    ],
)
def test_verbs_nouns_predicates_and_tests_are_right(name: str, tmp_path: Path) -> None:
    assert _participle_names(tmp_path / "a.py", f"def {name}(): ...") == []


def test_a_property_is_no_function(tmp_path: Path) -> None:
    code = "class A:\n    @property\n    def waiting(self): ...\n    @cached_property\n    def held(self): ...\n"
    assert _participle_names(tmp_path / "a.py", code) == []


def test_a_name_is_found_with_the_words_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text('"""What the queue told."""\n\n\ndef parts_of():\n    def shown(): ...\n')
    assert [(finding.kind, finding.place) for finding in findings(path, tmp_path)] == [
        ("tell", "a.py:1"),
        ("of", "a.py:4"),
        ("participle", "a.py:5"),
    ]


def test_one_participle_is_too_many_and_words_count_by_lines() -> None:
    assert amount("participle", 1, 10**9) > LIMITS["participle"] >= amount("participle", 0, 1)
    assert amount("tell", 3, 20_000) == 1.5


@pytest.mark.system
def test_every_noun_is_the_end_of_a_name() -> None:
    """A noun that no name needs would only let a participle pass."""
    name = re.compile(r"\bdef \w*?([a-z]+)\(")
    paths = sources(folders=(*FOLDERS, *SUPPORT))
    assert NOUNS.keys() <= {end for path in paths for end in name.findall(path.read_text())}
