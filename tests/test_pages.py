"""The pages of the documentation about experiments are what the experiments say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from experiments import cli
from experiments.experiment import all_experiments
from experiments.publications import PUBLICATIONS, paper_of
from experiments.report import pages
from workloads.errors import InputError

DOCS = Path(__file__).parent.parent / "docs" / "experiments"
AGAIN = "write it again: python -m experiments.report.pages DIR, of a directory of reproduce (or an empty one)"


@pytest.mark.parametrize("key", sorted({paper_of(name) for name in all_experiments()}))
def test_each_paper_has_its_page(key: str) -> None:
    text = (DOCS / f"{key}.md").read_text(encoding="utf-8")
    own = [item for item in all_experiments().values() if paper_of(item.id) == key]
    answers = pages.answers_of(text)
    assert set(answers) <= {item.id for item in own}, AGAIN
    assert text == pages.page(PUBLICATIONS[key], own, answers), AGAIN


def test_the_contents_lead_to_all() -> None:
    assert (DOCS / "README.md").read_text(encoding="utf-8") == pages.contents(all_experiments().values()), AGAIN


def test_pictures_are_small_and_all_shown() -> None:
    shown = {name for path in DOCS.glob("*.md") for name in re.findall(r"\]\(images/(.*?)\)", path.read_text())}
    assert shown == {path.name for path in (DOCS / "images").iterdir()}
    assert max(path.stat().st_size for path in (DOCS / "images").iterdir()) <= pages.MOST_BYTES


def test_answers_are_the_verdicts_and_others_stay(tmp_path: Path) -> None:
    measured, docs = tmp_path / "measured", tmp_path / "docs"
    assert cli.main(["experiment", "checkpoint-fig4", "-o", str(measured)]) == 0
    docs.mkdir()
    (docs / "checkpoint.md").write_text("<!-- answer checkpoint-fig3 -->\n\nFORTY-TWO\n\n<!-- end -->")
    pages.main([str(measured), str(docs)])
    answers = pages.answers_of((docs / "checkpoint.md").read_text(encoding="utf-8"))
    assert answers["checkpoint-fig3"] == "FORTY-TWO"
    assert answers["checkpoint-fig4"].count("| **holds**") == 4
    assert "Measured with the sizes of the paper, seed 0." in answers["checkpoint-fig4"]
    assert [path.name for path in (docs / "images").iterdir()] == ["checkpoint-fig4.png"]
    assert "Not measured yet" in answers["checkpoint-fig6"]


def test_measured_data_are_not_published(tmp_path: Path) -> None:
    assert cli.main(["experiment", "profiles-fig5", "-o", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "profiles-fig5.json").read_text())
    (tmp_path / "profiles-fig5.json").write_text(json.dumps(record | {"data": {"tasks": "0"}}))
    with pytest.raises(InputError, match="not ours to publish"):
        pages.main([str(tmp_path), str(tmp_path / "docs")])
