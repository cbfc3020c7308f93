"""Redaction: nothing of the user's leaves, whatever it is; what torch wrote stays, and with it what the pages say."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from made_logs import Log
from pages import page
from real import ROOT, TRACES, fresh, trace

from tltui.cli import main
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.questions.index import QUESTIONS
from tltui.writers.bundle import Bundle
from tltui.writers.redact.redact import Redactor
from tltui.writers.redact.torch_words import is_firm, is_name, is_word, vocabulary
from tltui.writers.redact.user_names import Learned

WORDS = [
    "walrus",
    "narwhal",
    "hunter",
    "zebra",
    "salary",
    "codename",
    "score_card",
    "scoring",
    "4711",
    "10.20.30.40",
    "1ff:fe23",
    "02:42:ac",
    "550e8400",
    "abc123",
    "AWS_SECRET",
    "SLURM",
    "project-",
    ".blend",
    "::blend",
]
"""What `planted` has besides words with zq."""


def redacted(run: Run) -> str:
    bundle = Bundle(run, (), True)
    return "".join(b"".join(bundle.pieces(part)).decode("utf-8", "surrogateescape") for part in bundle.parts)


def of_payload(text: str, language: str = "text") -> str:
    learned = Learned()
    learned.text(text)
    return Redactor(learned).payload(text, language)


def test_nothing_that_was_planted_survives() -> None:
    run = trace("planted")
    plain = Path(run.models[0].log.path).read_text()
    text = redacted(run)
    assert len(set(re.findall(r"zq[a-z]+", plain))) > 70 and "project-walrus" in plain
    for word in ("zq", *WORDS):
        at = text.lower().find(word.lower())
        assert at < 0, (word, text[max(at - 80, 0) : at + 60])


PLACES = [
    "TypeError: zqsecret is no zqsecret-7",
    "method: <Logger zqsecret.scoring (WARNING)>.warning, args: [ConstantVariable(str: 'zqsecret is')]",
    "L['self'].zqsecret == 'zqsecret-value 5'",
    "L_self_modules_zqsecret_parameters_w_",
    "l__self___zqsecret_lin_weight",
    "fwd_zqsecret_0",
    "torch.ops.zqsecret.add(x)",
    "zqsecret::add",
    "class GraphModule: zqsecret_default_1 = torch.ops.zqsecret.zqsecret.default(add)",
    "triton_poi_fused_add_zqsecret_0",
    "torch_dynamo_resume_in_zqsecret_at_12",
    "__compiled_fn_3_zqsecret",
    "G['__import_zqsecret_dot_models'].x",
    "os.environ['ZQSECRET_KEY'] = 'zqsecret'",
    "import zqsecret.layers",
    "from zqsecret import *",
    "torch._inductor.config.zqsecret = 'zqsecret'",
    "https://zqsecret.example/a?token=zqsecret&b=1#zqsecret",
    "https://github.com/zqsecret/repo",
    "http://jane:zqsecret@host/x",
    "tcp://zqsecret:29500",
    "jane.zqsecret@mail.example",
    "/home/zqsecret/zqsecret/model.zqsecret",
    "C:\\Users\\zqsecret\\m.py",
    "zqsecret/model.py:3 in zqsecret",
    "/opt/lib/python3.11/site-packages/zqsecret/m.py",
    "Authorization: Bearer zqsecret.eyJ0eXAi",
    "zqsecret.py",
    "my-zqsecret.py",
    "___zqsecret__",
    "<class 'zqsecret.Model'>",
    "<zqsecret.Model object at 0x7f1100>",
    "x: zqsecret = 3  # zqsecret",
    "'''zqsecret",
    '"zqsecret',
    "`zqsecret`",
    "zqsecret1 zqsecret_2 zqsecretName ZQSECRET",
    "3zqsecret",
    "0xzqsecret",
    "zqsécret zqsecret",
    "--zqsecret=zqsecret",
    "$zqsecret",
    "zqsecret\\nzqsecret",
    '  File "/home/jane/zqsecret.py", line 3, in zqsecret\n    zqsecret(zqsecret)\n    ~~~~^^^^',
    "# File: /home/jane/m.py:3 in f, code: y = zqsecret",
    "Eq(s0, 3)  # zqsecret(y)  # models/m.py:3 in zqsecret (zqsecret) and z > zqsecret:  # models/m.py:4 in f",
    "Line: 3, Name: zqsecret, Filename: /home/jane/zqsecret.py",
    '{"zqsecret": {"name": "zqsecret", "loc": "zqsecret()", "x": ["zqsecret"]}}',
    '{"a": "{\\"zqsecret\\": \\"zqsecret\\"}"}',
    '{"job_name": "zqsecret nightly"}',
]


@pytest.mark.parametrize("said", PLACES)
@pytest.mark.parametrize("language", ["text", "fx", "output_code"])
def test_a_word_of_the_users_in_any_place(said: str, language: str) -> None:
    """Also when nothing was learned of it, and within whatever stands around it."""
    for text in (said, f"call {said}; then", f"prefix('{said}')", json.dumps({"value": said})):
        left = of_payload(text, language)
        assert "zqs" not in left.lower() and "eyj0" not in left.lower(), left
        assert "zqs" not in Redactor(Learned()).payload(text, language).lower()


@pytest.mark.parametrize(
    "secret",
    [
        "550e8400-e29b-41d4-a716-446655440000",
        "02:42:ac:11:00:02",
        "10.20.30.40",
        "fe80::1ff:fe23:4567:890a",
        "2001:db8:0:0:0:ff00:42:8329",
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "hunter2",
        "project-walrus",
        "gpu-node-17",
        "AKIAIOSFODNN7EXAMPLE",
    ],
)
def test_what_looks_like_a_key_or_an_address(secret: str) -> None:
    for text in (f"at {secret} now", f"'{secret}'", json.dumps([secret]), f"x={secret};"):
        assert secret not in of_payload(text), text


TORCHS = [
    (
        "text",
        "Graph break in user code\n  Explanation: User-inserted graph break. Message: None\n"
        "  Hint: Remove the `torch._dynamo.graph_break()` call.",
    ),
    (
        "text",
        "Attempted to call function marked as skipped\n  Explanation: Dynamo developers have intentionally marked that the "
        "function should not be traced.",
    ),
    (
        "text",
        "  Hint: Please double check that your code doesn't contain a similar error when actually running eager/uncompiled. "
        "You can do this by removing the `torch.compile` call.",
    ),
    ("text", "WON'T CONVERT frame skipped: skipped, as it doesn't have any tensors"),
    ("text", "tensor 'L['x']' size mismatch at index 0. expected 3, actual 5"),
    ("text", "tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"),
    ("text", "0/0: len(L['x']) == 2  # (_dynamo/variables/tensor.py:1200 in evaluate_expr)"),
    (
        "text",
        'Traceback (most recent call last):\n  File "/opt/lib/python3.11/site-packages/torch/_dynamo/exc.py", line 3, '
        "in unimplemented\n"
        "    raise Unsupported(msg)\ntorch._dynamo.exc.Unsupported: Data-dependent branching",
    ),
    (
        "guards",
        "| +- GLOBAL_STATE: ___check_global_state()\n"
        "| +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None)",
    ),
    ("guards", "| | +- TYPE_MATCH: ___check_type_id(L['self'], 94023), type=<class 'torch.nn.modules.linear.Linear'>"),
    (
        "fx",
        'class GraphModule(torch.nn.Module):\n    def forward(self, primals_1: "f32[4, 4][4, 1]cpu", L_x_: "f32[2]"):\n'
        '        addmm: "f32[2, 4]" = torch.ops.aten.addmm.default(primals_1, permute);  primals_1 = permute = None\n'
        "        return (addmm,)",
    ),
    ("output_code", "cpp_fused_add_relu_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''"),
    ("output_code", "    assert_size_stride(arg0_1, (2, 4), (4, 1))\n    buf0 = empty_strided_cpu((2, 4), (4, 1), torch.float32)"),
    ("output_code", "triton_poi_fused__to_copy_add_0 = async_compile.triton('triton_poi_fused__to_copy_add_0', '''"),
    (
        "text",
        '{"automatic_dynamic_shapes": true, "recompile_limit": 8, "graph_op_count": 3, "compile_id": "0/0", '
        '"mode": "max-autotune-no-cudagraphs"}',
    ),
    ("text", '{"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "name": "backend_compile", "fn_name": "OutputGraph.call_user_compiler"}'),
]


@pytest.mark.parametrize(("language", "said"), TORCHS)
def test_what_torch_says_stays(language: str, said: str) -> None:
    assert of_payload(said, language) == said


def test_a_line_of_the_program_that_torchs_hint_has_too(tmp_path: Path) -> None:
    hint = "Hint: Remove the `torch._dynamo.graph_break()` call. The frame was skipped: graph break."
    file = "/home/jane/m.py"
    log = (
        Log(tmp_path / "x.log")
        .start("skipped")
        .artifact("note", f'  File "{file}", line 4, in skipped\n    torch._dynamo.graph_break()\n{hint}')
    )
    text = redacted(log.open())
    assert hint in text and "    anon line 1\n" in text and "in skipped\n" not in text


def test_one_operator_has_one_name(tmp_path: Path) -> None:
    """`blend` is a word of torch's generated code: the user's operator is replaced all the same, wherever it stands as name."""
    graph = '    blend: "f32[2]" = torch.ops.acmecorp.blend.default(x);  x = None\n    add = torch.ops.aten.add.Tensor(blend, 1)\n'
    graph += "    blend_1 = blend.relu()"
    assert is_name("blend")
    text = of_payload(graph, "fx")
    name = re.search(r"ops\.anon\d+\.(anon\d+)\.default", text)
    assert name is not None and "blend" not in text
    assert text.count(name[1]) == 5 and "torch.ops.aten.add.Tensor" in text and f"{name[1]}_1 = " in text


def test_equal_stays_equal_and_a_short_path_the_end_of_the_long_one() -> None:
    text = of_payload("/home/jane/acme/zoo/model.py:4 in walk and acme/zoo/model.py and 'zoo/model.py' and zoo.walk('zoo')")
    long, short, shorter = re.findall(r"[\w/]+\.py", text)
    assert long.endswith("/" + short) and short.endswith("/" + shorter) and long.count("/") == 5
    assert text.endswith(f"{shorter.split('/')[0]}.{re.search(r'in (anon[0-9]+)', text)[1]}('{shorter.split('/')[0]}')")  # type: ignore[index]


ANON = re.compile(r"anon line \d+|anon\d+")
MEASURED = re.compile(r"\d[\d,.]* (?:B|KB|MB|bytes)\b|byte [\d,]+|\b[0-9a-f]{32}\b|/[\w/.\-]*dedicated_log\S*|dedicated_log\S*")
"""What differs because names have other lengths: sizes, places in the file, md5s; and where the files lie."""


def reached(run: Run) -> list[str]:
    """Every page that a link leads to, from the overview and the views on."""
    found = ["", *(f"@{view.name}" for view in QUESTIONS), "@damage", "@records"]
    for ref in found:
        if len(found) < 700:
            document = page(run, ref, 100_000)
            for number in range(len(document)):
                for link in document.line(number).links:
                    if not link.target.startswith(("file:", "https:", "@source", "@grep")) and link.target not in found:
                        found.append(link.target)
    return found


def shown(run: Run, ref: str) -> list[str]:
    return [re.sub(r"[ ─━]+", " ", MEASURED.sub("#", line)).strip() for line in page(run, ref, 100_000).text()]


def other_name(ref: str, redactor: Redactor) -> str:
    """The address of the same page: names of artifacts are redacted too."""
    return re.sub(r"(?<=\d:)[^#:]+", lambda m: redactor.text(m[0], True), ref)


@pytest.mark.parametrize(
    "name",
    [
        "planted",
        "torch-2.13/reasons",
        "torch-2.13/breaks",
        "torch-2.13/shapes",
        "torch-2.13/errors",
        "torch-2.13/cache_hit",
        "torch-2.13/vllm_like",
    ],
)
def test_every_page_says_the_same_but_for_names(name: str, tmp_path: Path) -> None:
    """Every line of the redacted pages is that of the plain ones if each substitute is what it stands for, one thing everywhere."""
    for kind, redact in (("plain", False), ("red", True)):
        bundle = Bundle(trace(name), (), redact)
        (tmp_path / kind).mkdir()
        bundle.write(str(tmp_path / kind / "dedicated_log_torch_trace_x.log"))
    assert bundle.redactor is not None
    plain, red = fresh(tmp_path / "plain"), fresh(tmp_path / "red")
    meant: dict[str, set[str]] = defaultdict(set)
    compared = 0
    for ref in reached(plain):
        if ref.startswith(("@layers", "@memory")):
            continue  # layers are read from the names of parameters, which go
        ours, theirs = (
            [line for line in lines if not line.startswith("layers ")]
            for lines in (shown(plain, ref), shown(red, other_name(ref, bundle.redactor)))
        )
        if any(line.startswith("Removed by tltui") for line in theirs):
            continue
        assert len(ours) == len(theirs), ref
        for left, right in zip(ours, theirs, strict=True):
            if left == right or left.endswith("/plain") or left == "plain" or "…" in left + right:
                continue  # what is cut off where a column ends
            pattern = "(.+?)".join(re.escape(piece) for piece in ANON.split(right))
            match = re.fullmatch(pattern, left)
            assert match is not None, (ref, left[:600], right[:600])
            for substitute, stands_for in zip(ANON.findall(right), match.groups(), strict=True):
                if "line" not in substitute:
                    meant[substitute].add(stands_for.replace("\\", ""))
            compared += 1
    assert compared > 50
    double = {substitute: found for substitute, found in meant.items() if len(found) > 1}
    assert not double, double


def test_that_pages_compare_notices() -> None:
    """The comparison itself: another structure or another word of torch's is no match."""
    assert re.fullmatch("(.+?)".join(map(re.escape, ANON.split("graph anon1 in anon2"))), "graph break in f") is not None
    assert re.fullmatch("(.+?)".join(map(re.escape, ANON.split("frame anon1 in anon2"))), "graph break in f") is None


HEAVY = [
    "a",
    "a-",
    "a.",
    "a_",
    "a/",
    "/-",
    "a:",
    "a::",
    "1_",
    "1",
    "00:",
    "'",
    "'a",
    "\\",
    "a@",
    "x.@",
    "  # ",
    "  # a.py:1 in f) and ",
    "File: ",
    "{",
    "é",
    "http://",
    "L['a']",
    "<class '",
    "x_1_",
    "l_a_",
    "a_fused_",
    "deadbeef-",
    "for a ",
    "a ",
    "def a(",
    "torch.ops.a.b",
    "Caused by: ",
]
CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
from tltui.writers.redact.user_names import Learned
from tltui.writers.redact.redact import Redactor
for unit in json.load(sys.stdin):
    text = unit * (60_000 // len(unit))
    frame = {"stack": [{"line": 1, "name": text, "filename": "/home/u/x.py", "loc": text}], "x": text, text: 1}
    learned = Learned()
    learned.text(text)
    learned.value(frame)
    redactor = Redactor(learned)
    for language in ("text", "fx"):
        redactor.payload(text, language)
    redactor.json(json.dumps(frame))
print("done")
"""


def test_long_runs_of_anything_take_linear_time() -> None:
    """60,000 characters of each; what was quadratic took minutes for one of them. All of them together may take 40 s of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(HEAVY),
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.stdout == "done\n", (
        done.returncode,
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before,
        done.stderr[-400:],
    )


def test_deep_json_and_what_only_looks_like_it() -> None:
    for text in ("[" * 100_000, "[" * 900 + '"zqsecret"' + "]" * 900, '{"a": "zqsecret', "{zqsecret}", '["\\ud800zqsecret"]'):
        assert "zqsecret" not in of_payload(text)


def test_the_vocabulary_is_torchs_and_small() -> None:
    data = ROOT / "src" / "tltui" / "writers" / "redact" / "torch_words.z"
    assert data.stat().st_size < 150_000
    for word in ("graph_break", "recompile_limit", "TENSOR_MATCH", "async_compile", "buf12", "add_3", "automatic_dynamic_shapes"):
        assert is_name(word), word
    for word in ("Explanation", "intentionally", "developers"):
        assert is_word(word), word
    assert "torch/_dynamo/convert_frame.py" in vocabulary().files and is_firm("addmm")
    for word in ("walrus", "zebra", "fraud", "salary", "patient", "acme", "secret", "payroll", "jane", "hunter2", "project_x"):
        assert not is_word(word), word


def test_the_vocabulary_is_collected_from_source(tmp_path: Path) -> None:
    compiler = tmp_path / "torch" / "_dynamo"
    compiler.mkdir(parents=True)
    (compiler / "config.py").write_text('"""A docstring with docword."""\nnew_setting = 3  # comment\n')
    (compiler / "x.py").write_text(
        'def f(local_name):\n    other = "event_name"\n    raise E(f"Some sentence about {other}s and buf12")\n'
    )
    out = tmp_path / "words.z"
    subprocess.run(
        [sys.executable, str(ROOT / "tools" / "torch_words.py"), "-o", str(out), str(tmp_path)], check=True, capture_output=True
    )
    from tltui.writers.redact.torch_words import unpacked

    operators, names, prose, files = unpacked(out.read_bytes())
    assert {"new_setting", "event_name", "buf"} <= set(names) and {"sentence", "about"} <= set(prose)
    assert "torch/_dynamo/x.py" in files and not {"docword", "comment", "other", "local_name"} & {*operators, *names, *prose}


def test_a_directory_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(TRACES / "torch-2.13" / "errors")
    assert main(["bundle", source, "-o", str(tmp_path / "not" / "there" / "x.log")]) == 2
    missing = tmp_path / "not" / "there"
    assert capsys.readouterr().err == f"tltui: no such directory: '{missing}'\n  mkdir -p {missing}\n"
    assert list(tmp_path.iterdir()) == []
    assert main(["bundle", source, "-o", f"{tmp_path}/made/"]) == 0, "the directory itself is"


def test_lines_that_are_no_records_make_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(tmp_path / "x.log").start().metrics()
    log.lines += ["V1120 09:22:47.015000 3536 torch/x.py:1] {broken", "I1120 09:22:47.015000 3536 x.py:1] hello"]
    run = log.open()
    with pytest.raises(BadAddress, match="could not be opened"):
        Bundle(run, ["none"])
    assert main(["bundle", str(log.path), "none", "-o", str(tmp_path / "out.log")]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not (tmp_path / "out.log").exists()
    assert Bundle(run, ["0/0"]).parts


def test_a_string_table_with_odd_entries(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start().metrics()
    for entry in (["/a/b.py", []], ["/a/b.py", {}], ["/a/c.py"], [[], 3], "x"):
        log.add("str", entry, frame=None)
    for refs in ([], ["0/0"]):
        for redact in (False, True):
            bundle = Bundle(log.open(), refs, redact)
            assert b"dynamo_start" in b"".join(bundle.pieces(bundle.parts[0]))
