"""The pages of the documentation about experiments are what the experiments say."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from holdfast.experiments import cli
from holdfast.experiments.figures.canvas import new_figure
from holdfast.experiments.figures.style import mechanism_color, mechanism_marker
from holdfast.experiments.output.manifest import seal
from holdfast.experiments.study.cost_log import read_costs, took
from holdfast.experiments.study.experiment import all_experiments, find_experiment, read_tables
from holdfast.experiments.study.publications import PUBLICATIONS, paper_key
from holdfast.experiments.study.report import answers as report_answers
from holdfast.experiments.study.report import pages
from holdfast.experiments.study.report.answers import Answer, Judgement, measure_answer, read_answers, write_answers
from holdfast.experiments.study.report.small_png import MOST_BYTES, small_png
from holdfast.experiments.study.report.verdict_pages import verdict_page
from holdfast.experiments.study.verdicts import Outcome
from holdfast.experiments.sweeps.fingerprint import experiment_fingerprint
from holdfast.policies.mechanism import MECHANISMS
from holdfast.workloads.ground.errors import InputError
from tests.places import ROOT
from tests.shared_data import shared_file

pytestmark = pytest.mark.pictures("png")

DOCS = ROOT / "docs" / "experiments"
AGAIN = (
    "write it again: python -m holdfast.experiments.study.report.pages DIR, "
    "of a directory of reproduce (or an empty one)"
)


@pytest.mark.parametrize("key", sorted({paper_key(name) for name in all_experiments()}))
def test_each_paper_has_its_page(key: str) -> None:
    text = (DOCS / f"{key}.md").read_text(encoding="utf-8")
    own = [item for item in all_experiments().values() if paper_key(item.id) == key]
    answers = read_answers(DOCS / f"{key}.json")
    assert set(answers) <= {item.id for item in own}, AGAIN
    assert text == pages.page(PUBLICATIONS[key], own, answers), AGAIN


def test_the_contents_lead_to_all_and_count_their_verdicts() -> None:
    answers: dict[str, Answer] = {}
    for key in PUBLICATIONS:
        answers |= read_answers(DOCS / f"{key}.json")
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    assert text == pages.contents(all_experiments().values(), answers), AGAIN
    (total,) = re.findall(r"^\| all \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d*) \|$", text, flags=re.MULTILINE)
    for number, outcome in zip(total, (*Outcome, "holds by construction"), strict=True):
        whole = "".join((DOCS / f"{key}.json").read_text(encoding="utf-8") for key in PUBLICATIONS)
        assert int(number or 0) == whole.count(f'"outcome": "{outcome}"')


def test_the_contents_name_the_commit_of_most_measurements() -> None:
    answers = {name: replace(answer, commit="") for name, answer in read_answers(DOCS / "profiles.json").items()}
    items = [find_experiment(name) for name in list(answers)[:4]]
    assert "Commit" not in pages.contents(items, answers)
    (first, second, third, _) = (item.id for item in items)
    answers[first] = replace(answers[first], commit="1" * 40, cost="2026-11-29, 1 h 30 min with 2 processes")
    answers[second] = replace(answers[second], commit="1" * 40, cost="2026-11-28, 30 min 0 s with 1 process")
    answers[third] = replace(answers[third], commit="2" * 40)
    sentence = "Commit `11111111` measured 2 of 4 experiments from 2026-11-28 to 2026-11-29 in 3.5 process-hours."
    assert sentence in pages.contents(items, answers)


def test_pictures_are_small_and_all_shown() -> None:
    shown = {name for path in DOCS.glob("*.md") for name in re.findall(r"\]\(images/(.*?)\)", path.read_text())}
    assert shown == {path.name for path in (DOCS / "images").iterdir()}
    assert max(path.stat().st_size for path in (DOCS / "images").iterdir()) <= MOST_BYTES


def test_pictures_keep_the_colours_of_small_marks() -> None:
    """A picture of few colours still tells mechanisms apart: each of their colours is in it as it was drawn."""
    figure = new_figure(3, 2)
    axes = figure.subplots()
    names = ["baseline", *(mechanism.name for mechanism in MECHANISMS)]
    for place, name in enumerate(names):
        axes.plot([place], [place], mechanism_marker(name), color=mechanism_color(name), markersize=5)
    image = Image.open(io.BytesIO(small_png(figure))).convert("RGB")
    shown = {"#{:02X}{:02X}{:02X}".format(*color) for _, color in image.getcolors(1 << 20) or ()}  # type: ignore[misc]
    assert {mechanism_color(name) for name in names} <= shown


@pytest.mark.system
def test_answers_are_the_verdicts_and_others_stay(tmp_path: Path) -> None:
    measured, docs = tmp_path / "measured", tmp_path / "docs"
    assert cli.main(["experiment", "checkpoint-fig4", "-o", str(measured)]) == 0
    docs.mkdir()
    former = replace(read_answers(DOCS / "checkpoint.json")["checkpoint-fig3"], cost="FORTY-TWO")
    write_answers(docs / "checkpoint.json", {"checkpoint-fig3": former})
    pages.main([str(measured), str(docs)])
    answers = read_answers(docs / "checkpoint.json")
    assert list(answers) == ["checkpoint-fig3", "checkpoint-fig4"]
    assert answers["checkpoint-fig3"] == former
    assert answers["checkpoint-fig4"].counts == {"holds by construction": 2}
    assert (answers["checkpoint-fig4"].settings, answers["checkpoint-fig4"].seed) == ("", 0)
    text = (docs / "checkpoint.md").read_text(encoding="utf-8")
    assert "Holds by construction: 2." in text and "FORTY-TWO" not in text
    assert [path.name for path in (docs / "images").iterdir()] == ["checkpoint-fig4.png"]
    assert text.count("*Not measured yet.*") == len([name for name in all_experiments() if "checkpoint-" in name]) - 2


def judgement(claim: str, measured: str, outcome: str = "holds", **others: object) -> Judgement:
    plain = Judgement(claim, "", "", measured, outcome, "", "holds if so", "", "", survives=True)
    return replace(plain, **others)  # type: ignore[arg-type]


def shown_rows(*verdicts: Judgement) -> list[str]:
    found = replace(read_answers(DOCS / "beyond.json")["beyond-front"], verdicts=verdicts)
    text = pages.page(PUBLICATIONS["beyond"], [find_experiment("beyond-front")], {"beyond-front": found})
    return [line for line in text.splitlines() if line.startswith("| ")][1:]


def test_a_row_has_claim_value_and_outcome_and_a_p_value_where_no_interval_says_it() -> None:
    p = "p = 0.01, 0.2 after Holm"
    assert shown_rows(
        judgement("It falls with the load", "-1 [-2, -0.5] h", p=p, survives=False),
        judgement("It falls with the size", "-1 h", p=p),
        judgement("It cannot be compared", "-", "not comparable"),
    ) == [
        "| It falls with the load | -1 \\[-2, -0.5\\] h | **holds**† |",
        "| … size | -1 h | **holds**, p = 0.01 |",
    ]


@pytest.mark.parametrize(("decided", "lines"), [(4, 6), (5, 5)])
def test_undecided_statements_are_counted_where_there_are_many(decided: int, lines: int) -> None:
    found = [judgement(f"Number {i} falls", "-1 h") for i in range(decided)]
    found += [judgement(f"Number {i} rises", "0 h", "undecided") for i in range(2)]
    assert len(shown_rows(*found)) == lines
    front = replace(read_answers(DOCS / "beyond.json")["beyond-front"], verdicts=tuple(found))
    text = pages.page(PUBLICATIONS["beyond"], [find_experiment("beyond-front")], {"beyond-front": front})
    assert ("Undecided: 2 more." in text) == (lines == decided)


@pytest.mark.parametrize(
    ("former", "claim", "short"),
    [
        ("the ranking by wait on A is kept", "the ranking by slowdown on A is kept", "… slowdown …"),
        ("the ranking by wait on A is kept", "the ranking by (slowdown on A is kept)", "… (slowdown on A is kept)"),
        ("a wait on A is kept", "a slowdown on A is kept", "a slowdown on A is kept"),
        ("the wait on A", "the wait on A", "… A"),
        ("claim A has the same outcome here", "B has the same outcome here", "B …"),
        ("claim A has the same outcome", "B has the same outcome", "B has the same outcome"),
        ("the 50 % intervals hold 50 % of the starts", "the 90 % intervals hold 90 % of the starts", None),
        ("of the forecast 50 % hold of the starts", "of the forecast 90 % hold of the starts", "… 90 % …"),
    ],
)
def test_a_claim_is_shortened_by_what_the_one_above_says(former: str, claim: str, short: str | None) -> None:
    assert pages._shorten_claims([former, claim]) == [former, short or claim]


def test_a_text_that_stands_at_an_experiment_above_is_left_out() -> None:
    first = (judgement("Claim 1a: it falls", "-1 h"), judgement("Claim 1b: it rises", "1 h"))
    again = (judgement("Claim 1a, on W5: it falls", "-2 h"), judgement("Claim 2, on W5: it rises", "2 h"))
    answers = {
        name: replace(read_answers(DOCS / "beyond.json")["beyond-front"], verdicts=verdicts)
        for name, verdicts in (("beyond-front", first), ("beyond-honesty", again))
    }
    text = pages.page(PUBLICATIONS["beyond"], [find_experiment(name) for name in answers], answers)
    assert [line.split(" | ")[0] for line in text.splitlines() if line.endswith("**holds** |")] == [
        "| Claim 1a: it falls",
        "| Claim 1b: it rises",
        "| Claim 1a, on W5",
        "| Claim 2, on W5: it rises",
    ]


@pytest.mark.parametrize(("last", "shown"), [("It rises on 64 processors", "It rises"), ("It rises", "It rises")])
def test_the_end_of_the_question_is_left_out_where_all_claims_share_it(last: str, shown: str) -> None:
    item = replace(find_experiment("beyond-front"), question="What changes on 64 processors?")
    verdicts = (judgement("It falls on 64 processors", "-1 h"), judgement(last, "2 h"))
    answer = replace(read_answers(DOCS / "beyond.json")["beyond-front"], verdicts=verdicts)
    text = pages.page(PUBLICATIONS["beyond"], [item], {"beyond-front": answer})
    first = "It falls" if "64" in last else "It falls on 64 processors"
    assert f"| {first} | -1 h |" in text and f"| {shown} | 2 h |" in text


def test_many_claims_alike_whose_values_are_cut_share_a_line_by_outcome() -> None:
    values = "; ".join(f"measure {number} is +0.1 [+0.0, +0.2] h" for number in range(4))
    alike = [
        judgement(f"{name} changes no level", values, "does not hold" if name in "ce" else "holds")
        for name in "abcdefg"
    ]
    assert shown_rows(judgement("It falls", "-1 h"), *alike, judgement("It rises", values)) == [
        "| It falls | -1 h | **holds** |",
        "| a, b, d, f, g changes no level | … | **holds** |",
        "| c, e changes no level | … | **does not hold** |",
        "| It rises | measure 0 is +0.1 \\[+0.0, +0.2\\] h; … | **holds** |",
    ]
    # A few are shown one by one, and so are values that are short.
    assert len(shown_rows(*alike[:3])) == 3
    assert len(shown_rows(*(replace(verdict, measured="+0.1 h") for verdict in alike))) == 7


def test_a_statement_of_an_experiment_above_is_shown_once() -> None:
    found = replace(read_answers(DOCS / "beyond.json")["beyond-front"], verdicts=(judgement("It falls", "-1 h"),))
    names = ("beyond-front", "beyond-honesty")
    text = pages.page(PUBLICATIONS["beyond"], [find_experiment(name) for name in names], dict.fromkeys(names, found))
    assert text.count("| It falls |") == 1 and "As in [beyond-front](#beyond-front): 1." in text


@pytest.mark.parametrize("key", sorted(PUBLICATIONS))
def test_the_reference_has_all_verdicts_in_full(key: str) -> None:
    own = [item for item in all_experiments().values() if paper_key(item.id) == key]
    answers = read_answers(DOCS / f"{key}.json")
    text = verdict_page(PUBLICATIONS[key], own, answers).replace("\\", "")
    for answer in answers.values():
        for verdict in answer.verdicts:
            assert f"| {verdict.claim} |" in text
            for part in (verdict.source, *verdict.rule.split("; "), *verdict.remark.split("; "), verdict.p):
                assert part in text


def test_aggregates_of_data_are_published_with_their_digest_and_rows_are_not(tmp_path: Path) -> None:
    rows = ["run,dataset,makespan_s"]
    rows += [f"{run},{name},{base + 7 * run}" for name, base in (("OASIS", 4000), ("DRD", 7400)) for run in range(8)]
    rows = [row.replace(",DRD", "0,DRD") for row in rows]
    data, out, docs = tmp_path / "makespans.csv", tmp_path / "out", tmp_path / "docs"
    data.write_text("\n".join(rows) + "\n")
    assert cli.main(["experiment", "profiles-fig2", "-o", str(out), "--set", f"makespans={data}"]) == 0
    (docs / "images").mkdir(parents=True)
    (docs / "images" / "profiles-fig2.png").write_bytes(b"of generated data")
    pages.main([str(out), str(docs)])
    answer = read_answers(docs / "profiles.json")["profiles-fig2"]
    digest = json.loads((out / "profiles-fig2.json").read_text())["data"]["makespans"]
    assert answer.data == {"slant/slant_makespan.csv": digest}
    assert "Data: `slant/slant_makespan.csv`." in (docs / "profiles.md").read_text(encoding="utf-8")
    assert answer.settings == ""
    cost, sources = read_costs(out)["profiles-fig2"], experiment_fingerprint()
    assert (answer.sources, answer.cost) == (sources, f"{cost.date}, {took(cost.seconds)} with 1 process")
    assert not answer.counts["not comparable"]
    # A picture of single runs is not drawn, and that of other data does not stay.
    assert not list((docs / "images").iterdir())
    (tmp_path / "shown.csv").write_text("66.7,67.5,8\n")
    changed = (out / "profiles-fig2.json").read_text().replace(str(data), str(tmp_path / "shown.csv"))
    (out / "profiles-fig2.json").write_text(changed)
    with pytest.raises(InputError, match="was changed after it was written"):
        pages.main([str(out), str(docs)])
    document = json.loads(changed)
    derived = document.pop("derived")
    del document["files"], document["digest"]
    for name in ("profiles-fig2.json", "times.json"):
        (out / name).unlink()
    seal(out, "profiles-fig2.json", document, derived)
    with pytest.raises(InputError, match="shows this row"):
        pages.main([str(out), str(docs)])


def test_only_a_stand_in_is_drawn_where_a_picture_shows_single_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of the table "data" that do not say where they come from are measured ones."""
    data = tmp_path / "makespans.csv"
    data.write_text("run,dataset,makespan_s\n" + "".join(f"{run},OASIS,{4000 + run}\n" for run in range(8)))
    assert cli.main(["experiment", "profiles-fig2", "-o", str(tmp_path), "--set", f"makespans={data}"]) == 0
    item, tables = find_experiment("profiles-fig2"), read_tables("profiles-fig2", tmp_path)
    assert "data" in tables
    for row, drawn in (({"runs": 8}, False), ({"measured": 1}, False), ({"measured": 0}, True)):
        altered = {**tables, "data": [row]}
        monkeypatch.setattr(report_answers, "read_tables", lambda name, directory, altered=altered: altered)
        pictures = tmp_path / f"pictures {row}"
        pictures.mkdir()
        answer = measure_answer(replace(item, judge=lambda tables: []), tmp_path)
        pages._draw(item, answer, tmp_path, pictures)
        assert (answer.picture == "withheld") is not drawn
        assert [path.name for path in pictures.iterdir()] == ["profiles-fig2.png"] * drawn


def test_no_page_has_a_row_of_the_measured_runs() -> None:
    for name in ("slant_makespan.csv", "slant_drd_tasks.csv"):
        rows = [set(line.split(",")) - {""} for line in shared_file("slant", name).read_text().splitlines()]
        for path in [*DOCS.glob("*.md"), *DOCS.glob("*.json")]:
            shown = [set(re.findall(r"[\w.]+", line)) for line in path.read_text(encoding="utf-8").splitlines()]
            assert not [row for row in rows if len(row) > 2 and any(row <= words for words in shown)]
