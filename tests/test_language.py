"""The check of names by ``python -m tests.language``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.language.check import (
    FOLDERS,
    LIMITS,
    NOUNS,
    SUPPORT,
    all_findings,
    amount,
    findings,
    participles,
    sources,
    variables,
)


def _participle_names(path: Path, code: str) -> list[str]:
    path.write_text(code)
    return [finding.text for finding in participles(path, path.parent)]


def _variable_names(path: Path, code: str) -> list[str]:
    path.write_text(code)
    return [finding.text for finding in variables(path, path.parent)]


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


@pytest.mark.parametrize(
    "code",
    [
        *("told = 1", "told: int = 1", "told += 1", "a, *told = b", "if (told := b): ...", "[told for told in b]"),
        *("for told in b: ...", "with b as told: ...", "def f(told): ...", "def f(*, told=1): ...", "lambda told: 1"),
        *("self.told = 1", "try: ...\nexcept E as told: ..."),
    ],
)
def test_a_variable_that_does_not_say_what_it_holds_is_found(code: str, tmp_path: Path) -> None:
    assert _variable_names(tmp_path / "a.py", code) == ["told"]
    assert [finding.kind for finding in findings(tmp_path / "a.py", tmp_path)] == ["variable"]


@pytest.mark.parametrize("name", ["_said", "lot", "told_at_once", "quality_said"])
def test_such_a_word_is_found_in_a_longer_name(name: str, tmp_path: Path) -> None:
    assert _variable_names(tmp_path / "a.py", f"{name} = 1") == [name]


@pytest.mark.parametrize("code", ["print(told)", "b.told()", "f(told=1)", "allotted = slot = 1", "words = 'told'"])
def test_uses_texts_and_other_names_are_no_variables(code: str, tmp_path: Path) -> None:
    assert _variable_names(tmp_path / "a.py", code) == []


@pytest.mark.parametrize("folder", ["tests", "docs/examples"])
def test_names_count_in_tests_and_documentation_and_words_do_not(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "a.py").write_text("# As told.\nsaid = 1\n\n\ndef shown(): ...\n")
    assert [(finding.kind, finding.place) for finding in all_findings(tmp_path)] == [
        ("participle", f"{folder}/a.py:5"),
        ("variable", f"{folder}/a.py:2"),
    ]


@pytest.mark.parametrize("kind", ["participle", "variable"])
def test_one_such_name_is_too_many(kind: str) -> None:
    assert amount(kind, 1, 10**9) > LIMITS[kind] >= amount(kind, 0, 1)


def test_words_count_by_lines() -> None:
    assert amount("tell", 3, 20_000) == 1.5


@pytest.mark.system
def test_every_noun_is_the_end_of_a_name() -> None:
    """A noun that no name needs would only let a participle pass."""
    name = re.compile(r"\bdef \w*?([a-z]+)\(")
    paths = sources(folders=(*FOLDERS, *SUPPORT))
    assert NOUNS.keys() <= {end for path in paths for end in name.findall(path.read_text())}
