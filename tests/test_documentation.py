"""The reader of the documentation's blocks: it sees all of them, and notices what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.policies.order import ORDERS
from tests.documentation.blocks import Block, blocks_of, commands, comparable
from tests.documentation.session import ROOT, Session, check_command, read_through

PAGE = """# A page

Text, `code`, and a list:

* with a block

  ```toml
  jobs = 3
  ```

Indented:

    holdfast info year.swf.gz

<!-- file: my_jobs.txt -->

```text
1 2 3
```

```python
print(6 * 7)
```

```text
42
```

Not after a block that prints:

```text
a drawing
```

<!-- picture: out/one.png -->
![One](images/one.png)

![Not drawn here](images/two.png)
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_all_blocks_are_seen_with_their_kinds_and_lines(page: Path) -> None:
    found = list(blocks_of(page))
    assert [(block.kind, block.file, block.follows) for block in found] == [
        ("toml", None, False),
        ("sh", None, False),
        ("text", "my_jobs.txt", False),
        ("python", None, False),
        ("text", None, True),
        ("text", None, False),
        ("picture", "images/one.png", False),
    ]
    lines = PAGE.splitlines(keepends=True)
    assert "".join(lines[found[3].first : found[3].last]) == found[3].text == "print(6 * 7)\n"
    assert "".join(lines[found[4].first : found[4].last]) == "42\n"


def session() -> Session:
    return Session(ROOT / "docs" / "page.md")


def block(kind: str, text: str, **more: object) -> Block:
    return Block(kind, text, 0, 1, **more)  # type: ignore[arg-type]


def test_a_text_that_follows_is_what_was_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = session()
    assert reader.run(block("python", "answer = 42\nprint(answer)")) is None
    assert reader.run(block("text", "41", follows=True)) == "42\n"
    reader.run(block("python", "answer += 1"))  # names live on, what was printed does not
    assert reader.names["answer"] == 43
    assert reader.run(block("text", "", follows=True)) == ""


def test_consoles_show_each_command_with_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("x\ny\n")
    shown = session().run(block("console", "$ head -1 a.txt\n?\n$ cat a.txt | \\\n    wc -l\n?\n"))
    assert shown == "$ head -1 a.txt\nx\n$ cat a.txt | \\\n    wc -l\n2\n"
    assert commands("$ a \\\n  b\nout\n$ c\n") == ["a \\\n  b", "c"]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (block("sh", "holdfast info nothing.swf"), "exit status 2"),
        (block("sh", "holdfast reproduce --quickly"), "not understood"),
        (block("sh", "holdfast nonsense"), "unknown command 'nonsense'"),
        (block("sh", "make tea"), "no target tea"),
        (block("sh", "rm -rf /"), "no program that the tests know"),
        (block("sh", "cat nothing.txt"), "exit status 1"),
        (block("console", "holdfast info"), "begins with a command"),
        (block("fortran", "END"), "do not know the kind"),
        (block("toml", "a = "), "Invalid value"),
        (block("json", "{"), "Expecting"),
        (block("picture", "nothing.png"), "No such file"),
        (block("bash", "if then"), "non-zero exit status"),
        (block("bash", "holdfast sweep a.toml --nothing -o b", file="a.sh"), "not understood"),
        (block("python", "1 / 0"), "division by zero"),
    ],
    ids=lambda value: f"{value.kind}-{value.text[:16]}" if isinstance(value, Block) else "",
)
def test_what_is_wrong_is_noticed(
    wrong: Block, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match=complaint):
        session().run(wrong)


def test_only_times_of_the_clock_and_widths_are_overlooked() -> None:
    table = "mechanism  util.  decision  engine\n---------  -----  ------\nCUA-SPAA    82.6   4.4      0.09     0.1\n"
    other = "mechanism  util.  decision  engine\n-------  -----  --------\nCUA-SPAA   82.6   4.4     12.09    10.1\n"
    assert comparable(table) == comparable(other)
    assert comparable(table) != comparable(table.replace("82.6", "82.7"))
    assert comparable(table) != comparable(table.replace("4.4", "4.5"))
    assert comparable("results in 3 files") != comparable("results in 4 files")


def test_commands_that_are_not_run_are_read() -> None:
    assert check_command(["reproduce", "--quick"])
    with pytest.raises(AssertionError, match="no command"):
        check_command(["reproduced"])


def test_what_a_page_registers_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "page.md"
    path.write_text(
        "```python\nfrom holdfast.policies.order import ORDERS\nORDERS.add('forgotten', lambda job, now: 0)\n```\n"
    )
    monkeypatch.setattr(Session, "title", "docs/page.md")
    for _ in read_through(Session(path)):
        assert "forgotten" in ORDERS
    assert "forgotten" not in ORDERS
