"""``holdfast policies``: what it lists, and how."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments.cli import main
from holdfast.experiments.commands.catalogue import KINDS, catalogue, format_catalogue
from holdfast.policies.order import ORDERS
from holdfast.workloads.ground.registry import Known

#: Shown as it is: a long name has a line of its own, a long line goes on below, a package stands in brackets.
ENTRIES = {
    KINDS["order"]: [
        Known("fcfs", "first come, first served", {}, "built in"),
        Known("aged", "older jobs first, and those that have waited for very long before all", {"weight": 0.5}, "mine"),
        Known("a-name-that-is-wider-than-others", "one line", {"a": None, "b": True, "c": 2e5}, "built in"),
        Known("silent", "", {}, "built in"),
    ]
}
SHOWN = """\
queue orders (--order NAME)
  fcfs                first come, first served
  aged                older jobs first, and those that
                      have waited for very long before
                      all [mine]
                        weight=0.5
  a-name-that-is-wider-than-others
                      one line
                        a  b=true  c=200000
  silent              -
"""


def test_the_look() -> None:
    text = format_catalogue(ENTRIES, 55)
    assert text.startswith(SHOWN)
    assert all(len(line) <= 55 for line in text.splitlines())


@pytest.mark.parametrize("width", [80, 120])
def test_nothing_is_wider_than_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["policies"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    for kind in KINDS.values():
        assert f"{kind.title} ({kind.used})" in shown
        for name in kind.registry:
            assert f"\n  {name}" in shown
    assert "half_life=604800  patience=0" in shown
    assert main(["policies"]) == 0
    assert capsys.readouterr().out == shown


def test_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "--kind", "notice"]) == 0
    shown = capsys.readouterr().out
    assert "CUP" in shown
    assert "wfp3" not in shown
    assert main(["policies", "--kind", "ordr"]) == 2
    assert "unknown kind of plug-in 'ordr': did you mean order" in capsys.readouterr().err


def test_where_a_plugin_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[holdfast.orders]\nold = my_module:old\nbad = no_such_module_here:x\n")
    (tmp_path / "my_module.py").write_text('def old(job, now):\n    """Older first."""\n    return job.submit\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    ORDERS.add("of-this-test", lambda job, now: 0, "nothing")
    try:
        (items,) = catalogue(["order"]).values()
    finally:
        ORDERS.forget("of-this-test")
    known = {item.name: item for item in items}
    assert known["fcfs"].origin == "built in"
    assert known["of-this-test"].origin == __name__
    assert known["old"] == Known("old", "Older first.", {}, "mine")
    assert not known["bad"].usable
    assert "not usable: order 'bad' cannot be imported: there is no module 'no_such_module_here'" in known["bad"].about
    assert ORDERS.only_here("fcfs x=1") is False


def test_checking_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my_checked.py").write_text(
        "def good(job, now):\n    return -job.walltime\n\ndef bad(job, now):\n    return job.duration(1)\n"
        "\ndef rule(view):\n    return []\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["policies", "--check", "my_checked:good", "--scenarios", "20"]) == 0
    assert "order my_checked:good: keeps the contract in 20 scenarios" in capsys.readouterr().out
    assert main(["policies", "--check", "my_checked:bad", "--kind", "order"]) == 1
    assert "reads the true runtime" in capsys.readouterr().out
    assert main(["policies", "--check", "my_checked:rule", "--kind", "backfilling", "--easy"]) == 1
    assert "starts no job" in capsys.readouterr().out
    assert main(["policies", "--check", "my_checked:rule"]) == 2
    assert "cannot be guessed" in capsys.readouterr().err
    assert main(["policies", "--check", "swf", "--kind", "reader"]) == 2
    assert "unknown kind of policy 'reader'" in capsys.readouterr().err
