"""Options with one meaning on all commands: folding, hints with the path as given, other runs, parts of the run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from real import TRACES

from tltui.cli import main
from tltui.cli.registry import COMMANDS, parser_of
from tltui.documents.format import ALL
from tltui.export.files import FIRST_ALL

BREAKS = str(TRACES / "torch-2.13" / "breaks")
RECOMPILES = str(TRACES / "torch-2.13" / "recompiles")


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        assert main(arguments) == 0
        return capfd.readouterr().out

    return run


def test_a_folded_section_is_one_line_in_a_pipe_too(printed: Callable[..., str]) -> None:
    folded, complete = printed("timing", "--demo").splitlines(), printed("timing", "--demo", "--all").splitlines()
    folded = [line.replace(FIRST_ALL, ALL) for line in folded]
    heads = [line.removesuffix(f"  {ALL}") for line in folded if line.endswith(ALL)]
    assert any(head.endswith(" more names") for head in heads)
    assert set(heads) <= set(complete) and len(complete) > len(folded) + len(heads)
    assert set(folded) - {f"{head}  {ALL}" for head in heads} <= set(complete)


def test_a_hint_runs_as_printed(printed: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.symlink(BREAKS, "a trace")
    hints = [line.partition("  tltui ")[2] for line in printed("summary", "a trace").splitlines() if "  tltui " in line]
    assert hints[0] == "problems 'a trace'"
    for hint in hints:
        assert printed(*shlex.split(hint))


def test_a_baseline_is_the_left_side(printed: Callable[..., str]) -> None:
    assert printed("diff", RECOMPILES, "--baseline", BREAKS) == printed("diff", BREAKS, "--with", RECOMPILES)


def test_ls_of_a_rank_and_a_frame(printed: Callable[..., str]) -> None:
    whole, rank, frame = printed("ls", "--demo"), printed("ls", "--demo", "--rank", "1"), printed("ls", "--demo", "--frame", "4")
    assert "rank 0 " in whole and "rank 0 " not in rank and "rank 1 " in rank
    assert "[4/0]" in frame and "[5/0]" not in frame and "[5/0]" in whole


def test_an_index_is_replaced_with_force(printed: Callable[..., str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "run.tlx"
    target.write_text("mine")
    assert main(["index", BREAKS, "-o", str(target)]) == 2 and target.read_text() == "mine"
    assert "not an index" in capfd.readouterr().err
    printed("index", BREAKS, "-o", str(target), "--force")
    assert target.read_bytes() != b"mine"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_two_examples(name: str) -> None:
    text = parser_of(name).format_help()
    assert text.startswith(f"usage: tltui {name} ")
    assert text.partition("examples")[2].count(f"tltui {name}") >= 2


def test_help_is_the_command_of_help(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for words in (["help", "ls"], ["ls", "--help"]):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != ""
