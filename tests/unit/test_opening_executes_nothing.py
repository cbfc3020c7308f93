"""Opening a trace executes nothing of it: what the source calls, and what an audit hook of Python sees while it reads."""

from __future__ import annotations

import ast
import json
import pickle
import subprocess
import sys
from pathlib import Path

import make_trace as mt
import pytest
from repro_attacks import REFUSED, graph

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "tltui"
MARK = "zq_mark"
"""In every name, path and text of the hostile trace."""
_EXECUTING = (
    "eval exec compile __import__ import_module load_module run_path run_module exec_module loads load Unpickler system popen "
    "spawnl spawnv execv execvp execve execl posix_spawn literal_eval unsafe_load full_load"
)
EXECUTING = frozenset(_EXECUTING.split())
MODULES = frozenset(("pickle", "marshal", "shelve", "runpy", "dill", "cloudpickle", "yaml", "os", "importlib", "builtins"))
OUR_MODULES = ("__init__.py", "cli/registry.py", "cli/schema.py", "questions/question.py", "screens/requests.py")
"""They import modules of ours by names of ours."""
ALLOWED = {
    "trace/worker.py": {"pickle.loads"},  # messages between tltui and its own workers, through pipes
    "trace/scan_workers.py": {"pickle.loads"},
    "cli/exits.py": {"exec"},  # of "": see there
    "text/frozen.py": {"exec"},  # an __init__ made of the field names of our classes, when the first instance is made
    **{name: {"import_module"} for name in OUR_MODULES},
    **{name: {"import_module"} for name in ("pytest.py", "testing.py")},  # torch, in the user's tests
    "running/job.py": {"os.posix_spawn"},  # the user's job, of `tltui run`
    "running/hook/_tltui_recorder.py": {"importlib.import_module"},  # torch, in the user's job
}
"""Calls that are none of a trace's content."""

DRIVER = """
import json, os, sys
events = []
KINDS = {"exec", "compile", "import", "marshal.loads", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork",
         "os.spawn", "pickle.find_class", "ctypes.dlopen", "socket.connect", "socket.getaddrinfo", "webbrowser.open"}
def plain(value):
    return [value.co_filename, value.co_name] if hasattr(value, "co_filename") else repr(value)[:100000]
def hook(event, args):
    if event in KINDS and recording:
        events.append([event, [plain(each) for each in args]])
recording = False
sys.addaudithook(hook)
from tltui.cli import main
recording = True
code = main(sys.argv[2:])
recording = False
with open(sys.argv[1], "w") as file:
    json.dump({"code": code, "events": events}, file)
"""


def test_the_source_calls_nothing_that_executes_content() -> None:
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        calls = {call for node in ast.walk(ast.parse(path.read_text("utf-8"))) if (call := _executing(node))}
        assert calls <= ALLOWED.get(name, set()), name


def _executing(node: ast.AST) -> str:
    """The name of a call that executes code; '' for any other node."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if any(each.arg == "shell" for each in node.keywords):
        return "shell="
    if isinstance(function, ast.Name):
        return function.id if function.id in EXECUTING and function.id not in ("load", "loads", "system") else ""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module, name = function.value.id, function.attr
        return f"{module}.{name}" if module in MODULES and name in EXECUTING else ""
    return ""


def hostile_log() -> bytes:
    """A trace whose names, paths, code and payloads all want to be executed."""
    code = f"__import__('os').system('touch {MARK}_ran')"
    touch = f"touch {MARK}_ran"
    names = [f"/tmp/{MARK}.py", f"{MARK}.py", f"$({touch})", f"`{touch}`", f"| {touch}", f"{MARK}'; {code} #"]
    ids = {"frame": 0, "compile": 0, "attempt": 0}
    stack = [{"line": 1, "name": name, "filename": number, "loc": code} for number, name in enumerate(names)]
    strings = b"".join(mt.string(name, number) for number, name in enumerate(names))
    payload = pickle.dumps(_Touch()).decode("latin-1")
    texts = (graph(line).replace("def forward", f"def {MARK}(s): {code}\n    def forward") for line in REFUSED[:5])
    graphs = b"".join(mt.record("dynamo_output_graph", {"sizes": {code: [code]}}, text, **ids) for text in texts)
    runnable = f"import {MARK}\n{code}\nclass Repro: pass\n"
    misses = json.dumps({"key": code, "components": [code]})
    return b"".join((
        strings, mt.record("dynamo_start", {"stack": stack}, **ids), graphs,
        mt.record("inductor_output_code", {"filename": f"{MARK}.py"}, f"import {MARK}\n{code}\n", **ids),
        mt.record("artifact", {"name": "fx_graph_runnable", "encoding": "string"}, runnable, **ids),
        mt.record("artifact", {"name": f"{MARK}", "encoding": "pickle"}, payload, **ids),
        mt.record("artifact", {"name": "fx_graph_cache_miss", "encoding": "json"}, misses, **ids),
        mt.record("dynamo_cpp_guards_str", {}, f"TREE_GUARD_MANAGER:\n+- LAMBDA_GUARD: {code}\n", **ids),
        mt.metrics(fields={"fail_type": MARK, "fail_reason": code, "co_name": code, "co_filename": f"/tmp/{MARK}.py"}, **ids),
    ))  # fmt: skip


class _Touch:
    """What runs a program when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        import os

        return os.system, (f"touch {MARK}_ran",)


@pytest.mark.parametrize(
    "command",
    [
        "ls trace", "summary trace", "problems trace", "recompiles trace", "guards trace", "stacks trace", "shapes trace",
        "caches trace", "timing trace", "provenance trace", "fusion trace", "where trace", "grep system trace", "check trace",
        f"source {MARK}.py:1 trace", "show trace 0/0:dynamo_output_graph#1", "show trace 0/0:fx_graph_runnable",
        f"show trace 0/0:{MARK}", "report trace -o report.html", "bundle trace -o out", "repro trace",
    ],
)  # fmt: skip
def test_reading_a_hostile_trace_executes_nothing_of_it(command: str, tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "dedicated_log_torch_trace_abcd1234.log").write_bytes(hostile_log())
    (tmp_path / f"{MARK}.py").write_text(f"open('{MARK}_ran', 'w')\n")  # what an import of that name would run
    order = [sys.executable, "-c", DRIVER, "events.json", *command.split()]
    done = subprocess.run(order, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    result = json.loads((tmp_path / "events.json").read_text())
    assert result["code"] in (0, 1), done.stderr.decode()
    assert not (tmp_path / f"{MARK}_ran").exists()
    assert result["events"], "imports at least"
    for event, arguments in result["events"]:
        text = json.dumps(arguments)
        if event in ("exec", "import", "marshal.loads"):
            assert MARK not in text, (event, text[:500])
        elif event == "compile":
            assert command.startswith("repro") or MARK not in text, text[:500]  # `repro` parses graphs: `ast.parse` makes no code
        else:
            assert event == "subprocess.Popen", (event, text[:500])
            assert str(SOURCE) in text
            assert MARK not in text
