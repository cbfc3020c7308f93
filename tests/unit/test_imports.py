"""The command line starts without the libraries of the terminal UI: they cost more time than a listing."""

from __future__ import annotations

import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import grimp
import pytest

TRACE = Path(__file__).resolve().parents[1] / "traces" / "torch-2.13" / "breaks"
UI = "sorted({name.split('.')[0] for name in sys.modules} & {'textual', 'rich'})"


def imported(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_importing_the_command_line() -> None:
    assert imported(f"import sys, tltui.cli; print({UI})") == "[]"


@pytest.mark.parametrize(
    "arguments",
    [["ls"], ["ls", "--json", "--check"], ["show"], ["show", "REF"], ["records", "REF"], ["damage"], ["list"], ["--help"], []],
    ids=" ".join,
)
def test_running_a_command(arguments: list[str]) -> None:
    given = [*arguments[:1], str(TRACE), *("0/0" if text == "REF" else text for text in arguments[1:])]
    given = arguments if arguments == ["--help"] else given
    program = f"""
import sys, tltui.cli
try:
    assert tltui.cli.main({given!r}) == 0
except SystemExit as end:
    assert end.code == 0
print()
print({UI})
"""
    assert imported(program) == "[]"


@pytest.mark.parametrize("engine", ["serial", "process"])
def test_engines_that_were_not_asked_for(engine: str, tmp_path: Path) -> None:
    given = ["index", str(TRACE), "-o", str(tmp_path / "run.tlx"), "--engine", engine]
    others = "sorted({name.split('.')[0] for name in sys.modules} & {'textual', 'rich', 'dask', 'distributed', 'mpi4py'})"
    assert imported(f"import sys, tltui.cli; assert tltui.cli.main({given!r}) == 0; print({others})") == "[]"


def test_a_command_is_imported_when_it_is_used() -> None:
    ours = ("tltui.cli.", "tltui.model", "tltui.questions", "wcwidth")
    after = f"print([name for name in sys.modules if name.startswith({ours})])"
    shared = {"tltui.cli.exits", "tltui.cli.options", "tltui.cli.parser", "tltui.cli.registry"}
    help_ = f"import sys, tltui.cli\ntry: tltui.cli.main(['--help'])\nexcept SystemExit: pass\n{after}"
    assert set(literal_eval(imported(help_))) == shared | {"tltui.cli.ui", "tltui.questions", "tltui.questions.index"}
    ls = set(literal_eval(imported(f"import sys, tltui.cli; tltui.cli.main(['ls', {str(TRACE)!r}])\n{after}")))
    own = {name for name in ls if name.startswith("tltui.cli.")}
    assert own == shared | {f"tltui.cli.{name}" for name in ("loading", "printing", "records")}
    assert "wcwidth" not in ls, "the marks of a listing are known to be narrow"


def test_facts_of_a_topic_import_no_page() -> None:
    graph = grimp.build_graph("tltui")
    facts = {
        module for module in graph.find_descendants("tltui.questions")
        if not graph.find_children(module) and module.count(".") > 2 and not module.endswith(("page", "_page", "_sections"))
    }  # fmt: skip
    assert len(facts) > 60
    wrong = {
        (module, imported) for module in facts for imported in graph.find_modules_directly_imported_by(module)
        if imported.startswith("tltui.documents.") or (imported in graph.modules - facts and imported.startswith("tltui.questions.")
        and imported.count(".") > 2)
    }  # fmt: skip
    assert wrong == set()
