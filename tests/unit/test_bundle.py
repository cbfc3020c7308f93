"""Bundles: small logs of some compiles that open everywhere, and that hold nothing of the user's when redacted."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from made_logs import Log
from real import TRACES, demo, trace
from results import result_in

from tltui.cli import main
from tltui.model.artifacts import artifacts_of
from tltui.model.follow import open_run
from tltui.model.kinds import kind_of
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.sources.discover import discover
from tltui.text.document import Options
from tltui.text.graphs.fx_graph import parse
from tltui.trace.log import Check
from tltui.writers.bundle import Bundle, bundle_document
from tltui.writers.redact.torch_words import is_word

REAL = sorted(path.name for path in (TRACES / "torch-2.13").iterdir() if path.is_dir())


def bundled(run: Run, target: Path, *refs: str, redact: bool = False) -> Run:
    Bundle(run, refs, redact).write(str(target) + "/")
    return open_run(discover([str(target)]))


def said(run: Run) -> list[tuple[str, str, int, int]]:
    return [(str(c.id), str(c.status), len(c.records), len(artifacts_of(c))) for c in run.compiles()]


def checks(run: Run) -> Counter[Check]:
    return Counter(c.check for m in run.models for r in m.log.records() if (c := m.log.check(r)) is not None)


@pytest.mark.parametrize("name", REAL)
def test_the_whole_run_comes_out_as_it_was(name: str, tmp_path: Path) -> None:
    run = trace(f"torch-2.13/{name}")
    other = bundled(run, tmp_path / "out")
    assert said(other) == said(run)
    assert checks(other) == checks(run)
    for model in run.models:
        twin = next(m for m in other.models if Path(m.log.path).name == Path(model.log.path).name)
        stored = [line for line in Path(model.log.path).read_bytes().split(b"\n") if line]
        kept = Path(twin.log.path).read_bytes().split(b"\n")
        assert set(kept) <= {*stored, b""} or any(p.parent for p in model.processes)


def test_only_what_was_asked_for_leaves(tmp_path: Path) -> None:
    run = trace("torch-2.13/breaks")
    other = bundled(run, tmp_path / "out", "2/0", "0/0")
    assert [str(c.id) for c in other.compiles() if c.is_compile] == ["0/0~1", "2/0~1"]
    for ref in ("0/0", "2/0"):
        ours, theirs = run.resolve(ref), other.resolve(ref)
        assert isinstance(ours, Compile) and isinstance(theirs, Compile)
        assert ours.status == theirs.status and ours.frame.code == theirs.frame.code
        assert [a.name for a in artifacts_of(ours)] == [a.name for a in artifacts_of(theirs)]
    records = [other.models[0].log.kind(r).name for r in other.models[0].log.records()]
    assert "torch_version" in records
    used = set()
    strings = set()
    for line in (next((tmp_path / "out").iterdir())).read_bytes().split(b"\n"):
        used |= {int(n) for n in re.findall(rb'"filename": (\d+)', line)}
        if b'{"str": ' in line:
            strings.add(json.loads(line[line.index(b"{") :])["str"][1])
    assert strings == used, "the entries of the string table that are used, and no others"


def test_a_frame_and_a_rank_are_all_of_their_compiles(tmp_path: Path) -> None:
    run = trace("torch-2.13/recompiles")
    assert {str(c.id) for c in Bundle(run, ["0/"]).compiles} == {str(c.id) for c in run.compiles() if c.id.frame == 0}
    run = trace("torch-2.13/ddp")
    other = bundled(run, tmp_path / "out", "1:")
    assert {p.rank for p in other.processes()} == {1}


SAID = {"torch._dynamo.graph_break()", "fn(*args, **kwargs)"}
"""Lines of the programs that torch's hints and torch's own lines have too."""


def secrets_of(run: Run) -> set[str]:
    """The user's paths, functions and lines of source, found without the code that is tested."""
    found: set[str] = set()
    for model in run.models:
        data = Path(model.log.path).read_text("utf-8", "replace").replace("\\\\", "\\").replace('\\"', '"').replace("\\n", "\n")
        found |= {m for m in re.findall(r"/home/[\w./\-]+", data) if "site-packages" not in m}
        found |= {m.strip() for m in re.findall(r'"/home/user/[^"]*", line \d+, in \w+\n\s+([^\n]+)', data)}
        found |= {m.strip() for m in re.findall(r"File: /home/[^\n]*, code: ([^\n]*)", data)}
        found |= set(re.findall(r'File "/home/[^\n]*, in (\w+)', data)) | set(re.findall(r"/(\w+)\.py", " ".join(found)))
    found = {re.sub(r"^torch_dynamo_resume_in_(\w+)_at_\d+$", r"\1", text) for text in found}
    found = {text for text in found - SAID if len(text) > 2 and set(text) - set("^~ ") and not text.startswith("#")}
    return {text for text in found if not is_word(text)}


@pytest.mark.parametrize("name", [*REAL, "planted", "demo"])
def test_redaction_leaves_nothing_and_changes_no_structure(name: str, tmp_path: Path) -> None:
    run = demo() if name == "demo" else trace(name if name == "planted" else f"torch-2.13/{name}")
    other = bundled(run, tmp_path / "out", redact=True)
    assert said(other) == said(run)
    assert set(checks(other)) <= {Check.GOOD}, "every md5 is that of its payload"
    data = "\n".join(path.read_text("utf-8", "surrogateescape") for path in (tmp_path / "out").rglob("*.log"))
    plain = data.replace("\\\\", "\\").replace('\\"', '"').replace("\\n", "\n")
    for secret in secrets_of(run):
        bounded = rf"(?<!\w){re.escape(secret)}(?!\w)"
        hit = re.search(bounded, plain) if secret in plain else None
        assert hit is None, (secret, plain[max(hit.start() - 100, 0) : hit.end() + 60])
    for ours, theirs in zip(run.compiles(), other.compiles(), strict=True):
        for left, right in zip(artifacts_of(ours), artifacts_of(theirs), strict=True):
            assert left.unit == right.unit and left.attempt == right.attempt
            if left.kind.language == "fx" and left.payload is not None and right.payload is not None:
                assert shape(left.payload.read()) == shape(right.payload.read()), left.ref


def shape(data: bytes) -> list[object]:
    """A graph without names: what each node calls, its type, and which nodes it reads."""
    graph = parse(data.decode().split("\n"))
    places = {id(node): number for number, node in enumerate(graph.nodes)}
    torchs = re.compile(r"torch\.(?:ops\.aten|(?!ops))")
    return [
        (n.kind, n.target if n.kind == "call" and torchs.match(n.target) else "", n.type, n.line, n.graph, n.origin,
         [places[id(p)] for p in graph.producers(n)]) for n in graph.nodes
    ]  # fmt: skip


def test_one_name_has_one_substitute_everywhere(tmp_path: Path) -> None:
    code = "y = secret_helper(hidden_thing)"
    log = Log(tmp_path / "x.log")
    log.add("str", ["/home/jane/acme corp/secret_model.py", 0], frame=None)
    log.add("dynamo_start", {"stack": [{"line": 4, "name": "secret_step", "filename": 0, "loc": code}]})
    log.artifact(
        "dynamo_graph_break_reason", f'x\n  File "/home/jane/acme corp/secret_model.py", line 4, in secret_step\n    {code}\n'
    )
    log.artifact("dynamo_cpp_guards_str", f"| +- A: L['hidden_thing'] == 3  # {code}  # secret_model.py:4 in secret_step")
    log.artifact(
        "dynamo_output_graph",
        f"    # File: /home/jane/acme corp/secret_model.py:4 in secret_step, code: {code}\n    l_hidden_thing_ = 1",
    )
    log.metrics(co_name="secret_step", co_filename="/home/jane/acme corp/secret_model.py", inductor_config='{"d": "/home/jane/x"}',
                fail_reason="at tcp://node17.acme.internal:29500 by jane")  # fmt: skip
    run = log.open()
    bundle = Bundle(run, (), True)
    (tmp_path / "out").mkdir()
    bundle.write(str(tmp_path / "out" / "b.log"))
    text = (tmp_path / "out" / "b.log").read_text()
    for secret in ("secret", "jane", "acme", "hidden_thing", "node17"):
        assert secret not in text, (secret, [line for line in text.split("\n") if secret in line])
    name = json.loads(re.search(r'\{"dynamo_start.*', text)[0])["dynamo_start"]["stack"][0]["name"]  # type: ignore[index]
    assert len(re.findall(rf"\b{name}\b", text)) >= 5
    assert text.count("anon line 1") >= 4
    other = open_run(discover([str(tmp_path / "out")]))
    assert set(checks(other)) == {Check.GOOD}
    counts = bundle.result().redacted
    assert counts is not None and counts.lines == 1 and counts.names >= 2 and counts.people >= 1


@pytest.mark.parametrize(("said", "left"), [
    ("a <class 'acmelib.blocks.SecretBlock'>, <class 'torch.nn.modules.linear.Linear'>, <class 'collections.OrderedDict'>",
     ["torch.nn.modules.linear.Linear", "collections.OrderedDict"]),
    ("call_function BuiltinVariable(print) [ConstantVariable(str: 'Secret 1234')] {}", ["BuiltinVariable(print)", "ConstantVa"]),
    ('  File "/home/jane/acme/m.py", line 9, in f\n    a+1234\n'
     '  File "/opt/lib/python3.12/site-packages/torch/y.py", line 3, in call\n    b+77', ["call", "b+77"]),
    ('  File "/home/jane/acme/m.py", line 9, in f\n    weight = 1234 * 77\n', ['line 9, in f']),
])  # fmt: skip
def test_what_torch_repeats_of_the_users_code(said: str, left: list[str], tmp_path: Path) -> None:
    """Classes of the user's packages, strings that a call is made with, lines of source as short as they may be."""
    bundle = Bundle(Log(tmp_path / "x.log").start().artifact("note", said).open(), (), True)
    text = b"".join(bundle.pieces(bundle.parts[0])).decode()
    payload = text[text.index("note") :]
    for secret in ("acme", "Secret", "jane", "1234"):
        assert secret not in payload, payload
    for word in left:
        assert word in payload, "torch's own words stay"


def test_the_users_files_are_not_named_without_their_directories_either(tmp_path: Path) -> None:
    said = "failed in train.py, see my-run.py:4 and linear.py\n/home/jane/acme/my-run.py /home/jane/acme/train.py"
    bundle = Bundle(Log(tmp_path / "x.log").start().artifact("note", said).open(), (), True)
    text = b"".join(bundle.pieces(bundle.parts[0])).decode()
    assert "train.py" not in text and "my-run.py" not in text and "linear.py" in text


def test_frames_of_torch_that_name_their_file_keep_their_code(tmp_path: Path) -> None:
    """Some records have paths in place of numbers of the string table."""
    def frame(file: str, code: str) -> dict[str, object]:
        return {"line": 7, "name": "forward", "filename": file, "loc": code}

    frames = [frame("/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py", "return F.linear(input, self.weight)"),
              frame("/home/jane/acme/m.py", "return secret_layer(hidden)")]  # fmt: skip
    log = Log(tmp_path / "x.log").start().add("create_symbol", {"symbol": "s0", "source": "L['x']", "user_stack": frames})
    bundle = Bundle(log.open(), (), True)
    text = b"".join(bundle.pieces(bundle.parts[0])).decode()
    assert "return F.linear(input, self.weight)" in text and "secret" not in text and "acme" not in text


def test_files_that_are_named_like_torchs(tmp_path: Path) -> None:
    """Guards name files by their last directories: `optim/mine.py` is the user's if a full path says so, also a later one."""
    log = Log(tmp_path / "x.log").start("f")
    log.artifact("dynamo_cpp_guards_str", "| +- A: L['x'] == 3  # secret_call(x)  # optim/mine.py:4 in secret_step\n"
                 "| +- B: 1 == 1  # return F.linear(x)  # nn/modules/linear.py:134 in forward")  # fmt: skip
    log.artifact("note", '  File "/home/jane/optim/mine.py", line 4, in secret_step\n    secret_call(x)\n')
    bundle = Bundle(log.open(), (), True)
    text = b"".join(bundle.pieces(bundle.parts[0])).decode()
    assert "secret" not in text and "mine.py" not in text
    assert "# return F.linear(x)  # nn/modules/linear.py:134 in forward" in text, "torch's own line stays"


def test_damage_stays_or_goes(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start().metrics()
    log.artifact("a", "text")
    log.lines[-2] = re.sub(r'"has_payload": "\w+"', '"has_payload": "00"', log.lines[-2])
    log.lines += ["V1120 09:22:47.015000 3536 torch/x.py:1] {broken /home/jane", "\tof /home/jane"]
    run = log.open()
    assert checks(bundled(run, tmp_path / "out"))[Check.BAD] == 1
    other = bundled(run, tmp_path / "redacted", redact=True)
    assert b"jane" not in (tmp_path / "redacted" / "dedicated_log_torch_trace_00000000.log").read_bytes()
    assert "0/0" in [str(c.ref) for c in other.compiles()]


def test_the_preview_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(TRACES / "torch-2.13" / "breaks")
    assert main(["bundle", source, "0/0"]) == 2
    assert main(["bundle", source, "0/0", "--preview", "--redact", "--color"]) == 0
    out = capsys.readouterr().out
    assert "Contents of the bundle" in out and "dynamo_output_graph" in out and "lines of source" in out
    assert list(tmp_path.iterdir()) == []
    target = tmp_path / "b.log"
    assert main(["bundle", source, "0/0", "-o", str(target), "--json"]) == 0
    result = result_in(capsys.readouterr().out)
    assert result["compiles"] == ["0/0"] and result["size_bytes"] == target.stat().st_size
    assert target.stat().st_mode & 0o777 == 0o600
    assert main(["bundle", source, "0/0", "-o", str(target)]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["bundle", source, "0/0", "-o", str(target), "--force"]) == 0
    assert main(["bundle", source, "0/0:dynamo_output_graph", "-o", str(target)]) == 2
    assert main(["bundle", source, "9/9", "-o", str(target)]) == 2


def test_never_beside_the_trace(tmp_path: Path) -> None:
    run = Log(tmp_path / "x.log").start().metrics().open()
    with pytest.raises(FileExistsError):
        Bundle(run).write(str(tmp_path / "y.log"))
    assert [path.name for path in tmp_path.iterdir()] == ["x.log"]
    with pytest.raises(BadAddress):
        Bundle(run, ["@summary"])


def test_md5_of_a_redacted_payload(tmp_path: Path) -> None:
    run = Log(tmp_path / "x.log").start("train_it").artifact("note", "in train_it\n\nand /home/user/f.py\n").open()
    bundle = Bundle(run, (), True)
    data = b"".join(bundle.pieces(bundle.parts[0]))
    payload = re.search(rb'"has_payload": "(\w+)"\}\n((?:\t[^\n]*\n)+)', data)
    assert payload is not None
    text = payload[2].replace(b"\n\t", b"\n")[1:-1]
    assert hashlib.md5(text).hexdigest() == payload[1].decode()
    assert kind_of("artifact", "note").name == "note" and text.endswith(b"\n") and b"train_it" not in text


def test_the_page(tmp_path: Path) -> None:
    run = trace("torch-2.13/breaks")
    for width in (60, 160):
        document = bundle_document(Bundle(run, ["0/0"], True).result(), Options(width=width, ascii=True))
        assert max(map(len, document.text())) <= max(width, 80)


def test_a_forked_child_takes_its_parents_strings_along(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start("shared").metrics()
    log.lines.append('V1120 09:22:48.015000 4000 torch/x.py:1] {"str": ["/home/user/own.py", 1]}')
    frame = '{"stack": [{"line": 9, "name": "child", "filename": 0}]}'
    ids = '"frame_id": 7, "frame_compile_id": 0, "attempt": 0}'
    log.lines.append(f'V1120 09:22:48.015000 4000 torch/x.py:1] {{"dynamo_start": {frame}, {ids}')
    run = log.open()
    child = next(c for c in run.compiles() if c.id.frame == 7)
    assert child.frame.code[1] == "/home/user/f.py"
    other = bundled(run, tmp_path / "out", "7/0")
    (copy,) = [c for c in other.compiles() if c.id.frame == 7]
    assert copy.frame.code == child.frame.code and copy.process.strings == {0: "/home/user/f.py"}
