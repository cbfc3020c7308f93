"""What docs/promises.md promises holds: each promise there names its test here, or elsewhere."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from real import DEMO, ROOT, TRACES, fresh

from tltui.cli.loading import split_arguments
from tltui.model.ref import NORANK, BadAddress, CompileId, Ref, parse_ref

PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
INDEX = TRACES / "promised" / "index-1.tlx"
LOG = TRACES / "torch-2.13" / "recompiles"


def load_tool() -> ModuleType:
    """The script, which is in no package."""
    spec = importlib.util.spec_from_file_location("freeze_promises", ROOT / "tools" / "freeze_promises.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TOOL = load_tool()


def test_each_promise_names_a_test_that_is_there() -> None:
    named = re.findall(r"`(test_\w+)`", PAGE)
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    assert [name for name in named if not any(f"def {name}(" in text for text in texts)] == []
    headings = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    assert len(headings) >= 6 and [part.splitlines()[0] for part in headings if "`test_" not in part] == []


# names: commands, options, settings, variables, commands of the key map


@pytest.mark.parametrize("name", ["commands.json", "settings.json", "key_commands.json", "python.json"])
def test_names_are_still_there(name: str) -> None:
    """`python tools/freeze_promises.py` promises what was added, at a release."""
    frozen = json.loads((TOOL.PROMISED / name).read_text(encoding="utf-8"))
    assert list(TOOL.broken(frozen, TOOL.tables()[name])) == []


def test_a_name_that_is_gone_is_noticed() -> None:
    frozen = {"ls": ["--json", "--check"], "run": [], "theme": {"type": "str"}}
    assert list(TOOL.broken(frozen, frozen | {"more": []})) == []
    assert list(TOOL.broken(frozen, {"ls": ["--json"], "theme": {"type": "int"}})) == [
        "/ls/--check is gone", "/run is gone", "/theme/type was 'str' and is 'int'",
    ]  # fmt: skip


# JSON


@pytest.mark.parametrize("name", sorted(path.name for path in (TOOL.PROMISED / "schema").iterdir()))
def test_json_only_gets_more(name: str) -> None:
    assert TOOL.Changed(TOOL.promised_schemas(), TOOL.schemas()).changes(name) == []


def changed(change: Any, file: str = "check.json") -> list[str]:
    """What is said of one schema after a change."""
    before = TOOL.schemas()
    now = copy.deepcopy(before)
    change(now[file])
    return list(TOOL.Changed(before, now).changes(file))


def test_additions_are_no_breaks() -> None:
    def add(schema: Any) -> None:
        outcome = schema["$defs"]["Outcome"]
        outcome["properties"]["advice"] = {"type": "string"}
        outcome["required"].append("advice")
        outcome["properties"]["baseline"] = {"type": "number"}  # what was number or null

    assert changed(add) == []


def test_the_list_of_a_new_page_is_no_break_of_show() -> None:
    before, now = TOOL.schemas(), TOOL.schemas()
    now["later.json"] = copy.deepcopy(now["blocks.json"])
    now["show.json"]["$defs"]["result"]["anyOf"].append({"$ref": "later.json#/$defs/result"})
    assert TOOL.Changed(before, now).changes("show.json") == []
    before["later.json"] = now["later.json"]
    assert TOOL.Changed(before, now).changes("show.json") == ["show.json.result: may be later.json#/$defs/result, too"]


def test_breaks_of_json_are_noticed() -> None:
    def outcome(schema: Any) -> Any:
        return schema["$defs"]["Outcome"]

    def gone(schema: Any) -> None:
        del outcome(schema)["properties"]["title"]

    def optional(schema: Any) -> None:
        outcome(schema)["required"].remove("title")

    def retyped(schema: Any) -> None:
        outcome(schema)["properties"]["title"] = {"type": ["string", "null"]}

    def unlisted(schema: Any) -> None:
        schema["$defs"]["Gates"]["properties"]["limits"] = {"type": "object"}

    assert changed(gone) == ["check.json.result.limits[].title is gone"]
    assert changed(optional) == ["check.json.result.limits[].title need not be there"]
    assert changed(retyped) == ["check.json.result.limits[].title: was ['string'], may be ['null', 'string']"]
    assert changed(unlisted) == ["check.json.result.limits: was ['array'], may be ['object']"]


# addresses

ADDRESSES: dict[str, Ref] = {
    "0/1": Ref(id=CompileId(None, 0, 1)),
    "[0/1]": Ref(id=CompileId(None, 0, 1)),
    "0/1_2": Ref(id=CompileId(None, 0, 1), attempt=2),
    "0/1~2": Ref(id=CompileId(None, 0, 1, 2)),
    "0/": Ref(id=CompileId(None, 0)),
    "a0/1/2": Ref(id=CompileId(0, 1, 2)),
    "!0/1/2": Ref(id=CompileId(0, 1, 2)),
    "a0": Ref(id=CompileId(0)),
    "none": Ref(id=CompileId()),
    "none:torch_version": Ref(id=CompileId(), artifact="torch_version"),
    "3:0/1": Ref(rank=3, id=CompileId(None, 0, 1)),
    "3.2:0/1_1": Ref(rank=3, process=2, id=CompileId(None, 0, 1), attempt=1),
    "norank:2/0": Ref(rank=NORANK, id=CompileId(None, 2, 0)),
    "3:": Ref(rank=3),
    "3.2:": Ref(rank=3, process=2),
    "0/1:inductor_output_code#2": Ref(id=CompileId(None, 0, 1), artifact="inductor_output_code", n=2),
    "0/1:a%20name": Ref(id=CompileId(None, 0, 1), artifact="a name"),
    "+model__0_forward_1.0": Ref(id=CompileId(name="model__0_forward_1.0")),
    "@problems": Ref(view="problems"),
    "@timing:3:0/1": Ref(rank=3, id=CompileId(None, 0, 1), view="timing"),
}
PATHS = ("trace.log", "./0/1", "/tmp/trace", "dir/file.log", "job.tar.gz", "run.tlx", "out", "../x", "rank_0", "0", "0.log")


@pytest.mark.parametrize("text", ADDRESSES)
def test_addresses_mean_what_they_meant(text: str) -> None:
    parsed = parse_ref(text)
    assert parsed == ADDRESSES[text]
    assert parse_ref(str(parsed)) == parsed and f"`{text}`" in PAGE


@pytest.mark.parametrize("text", PATHS)
def test_paths_are_no_addresses(text: str) -> None:
    with pytest.raises(BadAddress):
        parse_ref(text)


def test_an_address_is_told_from_a_path() -> None:
    found = split_arguments([str(LOG), "0/1"], True, False, False, False)
    assert (list(found.paths), list(found.refs)) == ([str(LOG)], ["0/1"])


# exit codes


def code_of(*arguments: str, sources: Path = ROOT / "src") -> int:
    """In a process of its own."""
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(sources), "HOME": "/dev/null"}
    done = subprocess.run([sys.executable, "-m", "tltui", *arguments], capture_output=True, timeout=60, env=clean, check=False,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    assert b"Traceback" not in done.stderr
    return done.returncode


def test_exit_codes_of_commands() -> None:
    assert code_of("ls", str(LOG)) == code_of("--help") == 0
    assert code_of("diff", str(LOG), "0/0", "0/1") == 0  # it found differences, and that is its answer
    assert code_of("check", str(LOG), "--fail-on", "recompiles=100") == 0
    assert code_of("check", str(LOG), "--fail-on", "recompiles") == code_of("tail", str(LOG), "--fail-on", "recompiles") == 1
    no_match = (("grep", "no such text", str(LOG)), ("source", str(LOG), "nosuch.py:3"), ("log", str(LOG)),
                *(("guards", str(LOG), *ref, "--filter", "no such text") for ref in ((), ("0/0",))))  # fmt: skip
    assert [code_of(*command) for command in no_match] == [1] * 5
    assert code_of("guards", str(LOG), "--filter", "size") == code_of("guards", str(LOG), "0/0", "--filter", "TENSOR") == 0
    assert [code_of(*bad) for bad in (("ls", "/nowhere"), ("ls", "--nonsense"), ("show", str(LOG), "7/7"), ("ls",))] == [2] * 4
    assert code_of("check", str(LOG), "--fail-on", "nonsense") == 2


def test_the_exit_code_of_a_job_is_handed_on(tmp_path: Path) -> None:
    assert code_of("run", "-o", str(tmp_path / "a"), "--", "sh", "-c", "exit 7") == 7
    assert code_of("run", "-o", str(tmp_path / "b"), "--", "sh", "-c", "kill -TERM $$") == 128 + signal.SIGTERM


def test_a_fault_of_ours_is_70(tmp_path: Path) -> None:
    """In a copy of which a page is broken."""
    shutil.copytree(ROOT / "src" / "tltui", tmp_path / "tltui", ignore=shutil.ignore_patterns("__pycache__", "demo"))
    page = tmp_path / "tltui" / "tree" / "listing.py"
    page.write_text(page.read_text(encoding="utf-8") + "\nlisting_document = None\n", encoding="utf-8")
    assert code_of("ls", str(LOG), sources=tmp_path) == 70


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_128_and_its_number(sent: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(next(DEMO.iterdir()).read_bytes())
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "tltui", "tail", str(log)]
    with log.open("ab"), subprocess.Popen(command, stdout=subprocess.PIPE, env=clean) as process:  # somebody writes: it goes on
        assert process.stdout
        process.stdout.readline()  # it is at work
        process.send_signal(sent)
        assert process.wait(30) == 128 + sent


# the index


def test_an_index_of_version_1_opens() -> None:
    run = fresh(INDEX)
    before = fresh(LOG)
    assert [(str(own.ref), own.status) for own in run.compiles()] == [(str(own.ref), own.status) for own in before.compiles()]
    done = subprocess.run([sys.executable, "-m", "tltui", "recompiles", str(INDEX)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}, check=True)  # fmt: skip
    assert done.stdout.startswith("Recompiles\n4 recompiles of 1 frame")
    assert "a dimension of a tensor had a different size" in done.stdout
