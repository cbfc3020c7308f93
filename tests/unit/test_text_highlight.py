"""Colours of windows: the same as those of the whole text, never over the edge, never slow."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tltui.text import tokens
from tltui.text.bytes_document import BytesDocument, json_document
from tltui.text.colours import highlight
from tltui.text.colours.highlight import LANGUAGES, highlighter
from tltui.text.document import Line
from tltui.text.payload import LineIndex, Payload

DATA = Path(__file__).parent / "data/text"
pure = settings(deadline=None, derandomize=True, max_examples=150)


def document(name: str, language: str) -> BytesDocument:
    return BytesDocument(Payload.of((DATA / name).read_bytes()), language)


def styled(line: Line) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for span in line.spans:
        found.setdefault(span.style, []).append(line.text[span.start : span.end])
    return found


def line_of(doc: BytesDocument, text: str) -> Line:
    return next(line for line in map(doc.line, range(len(doc))) if text in line.text)


@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("output_code_triton.py.txt", "output_code"),
        ("output_code_triton.py.txt", "python"),
        ("output_code_cpp.py.txt", "output_code"),
        ("output_code_cpp.py.txt", "cpp"),
    ],
)
def test_windows_are_coloured_as_the_whole(
    name: str, language: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = LineIndex(Payload.of((DATA / name).read_bytes() * times))
    windows = highlighter(language, index)
    windows.advance()
    jumps = [spans for n in range(len(index) - 1, -1, -1) for spans in windows.spans(n, n + 1)][::-1]
    monkeypatch.setattr(highlight, "BLOCK", len(index))
    at_once = highlighter(language, index)
    at_once.advance()
    assert jumps == at_once.spans(0, len(index))


def test_kernels_are_read_in_their_own_language() -> None:
    triton = document("output_code_triton.py.txt", "output_code")
    assert "import" in styled(line_of(triton, "import triton.language as tl"))[tokens.KEYWORD]
    opens = styled(line_of(triton, "= async_compile.triton('triton_poi_fused_addmm_relu_sigmoid_0'"))
    assert opens[tokens.STRING][-1] == "'''"
    closes = line_of(triton, "''', device_str='cuda')")
    assert styled(closes)[tokens.STRING] == ["'''", "'cuda'"]
    assert styled(line_of(triton, "def call("))[tokens.DEFINITION] == ["call"]
    assert tokens.ORIGIN in styled(line_of(triton, "# Topologically Sorted"))
    inside = styled(line_of(triton, "tmp5 = tl.sigmoid"))
    assert tokens.STRING not in inside
    cpp = document("output_code_cpp.py.txt", "output_code")
    assert tokens.DECORATOR in styled(line_of(cpp, "#include <torch"))
    assert tokens.STRING not in styled(line_of(cpp, "Vectorized<float>::loadu"))


TRITON = '''import triton
@triton_heuristics.pointwise(size_hints={'x': 8})
@triton.jit
def triton_poi_fused_add_0(in_ptr0, xnumel, XBLOCK : tl.constexpr):
    """what it does"""
    xmask = xindex < xnumel  # a remark
    tl.store(in_ptr0 + (x0), tmp0, xmask)
'''
AOTI = f"""// a wrapper
/*
 * its licence, of no kernel
 */
static inline void call_triton_poi_fused_add_0(int64_t xnumel) {{
    /*
    async_compile.triton('triton_poi_fused_add_0', '''
{TRITON}    ''', device_str='cuda')
    */
    uint32_t grid_0 = 1;
}}
static const char* lazily = R"TRITON(
{TRITON})TRITON";
static const char* other = R"(
    return "no kernel";
)";
void end() {{ return; }}
"""


@pytest.mark.parametrize("chunk", [1 << 20, 64], ids=str)
def test_triton_in_a_wrapper_of_c_plus_plus_is_python(chunk: int) -> None:
    doc = BytesDocument(Payload.of(AOTI.encode()), "cpp")
    while not doc.advance(chunk):
        pass
    lines = [doc.line(n) for n in range(len(doc))]
    for text in ("def triton_poi_fused_add_0", "xmask = xindex"):
        assert len(both := [styled(line) for line in lines if text in line.text]) == 2
        if text.startswith("def"):
            assert all(tokens.KEYWORD in own and tokens.DEFINITION in own for own in both)
        else:
            assert all(own.get(tokens.COMMENT) == ["# a remark"] for own in both), "a remark of Python, and no more of it"
    assert all(tokens.DECORATOR in styled(line) for line in lines if "@triton.jit" in line.text)
    assert tokens.COMMENT in styled(line_of(doc, "its licence")) and tokens.STRING in styled(line_of(doc, 'return "no kernel"'))
    assert tokens.TYPE in styled(line_of(doc, "uint32_t grid_0")) and tokens.DEFINITION in styled(line_of(doc, "void end()"))


def test_graphs() -> None:
    doc = document("fx_layers.txt", "fx")
    parameter = styled(line_of(doc, 'primals_1: "f32[100, 64][64, 1]cpu"'))
    assert parameter[tokens.TYPE] == ['"f32[100, 64][64, 1]cpu"']
    statement = styled(line_of(doc, "embedding: "))
    assert statement[tokens.DEFINITION] == ["        embedding"] or "embedding" in statement[tokens.DEFINITION][0]
    assert statement[tokens.FUNCTION] == ["torch.ops.aten.embedding.default"]
    assert statement[tokens.DIM] == [";  primals_1 = None"]
    origin = line_of(doc, "# File: /home/user/models/train.py:16")
    assert styled(origin)[tokens.ORIGIN][0].startswith("# File")
    assert [link.target for link in origin.links] == ["file:/home/user/models/train.py:16"]


def test_guards() -> None:
    doc = document("guards.txt", "guards")
    manager = styled(line_of(doc, "GuardManager: source=L['"))
    assert manager[tokens.VALUE][0].startswith("L['")
    match = line_of(doc, "TYPE_MATCH")
    assert "TYPE_MATCH" in styled(match)[tokens.KEYWORD]
    assert match.links[0].target.startswith("file:")
    assert tokens.ORIGIN in styled(match)


def test_tracebacks_and_graph_breaks() -> None:
    doc = document("graph_break.txt", "traceback")
    user = line_of(doc, 'File "/home/user/models/breaks.py", line 11')
    assert styled(user)[tokens.ORIGIN] == ['"/home/user/models/breaks.py"']
    assert user.links[0].target == "file:/home/user/models/breaks.py:11"
    assert list(styled(line_of(doc, "symbolic_convert.py"))) == [tokens.DIM]
    assert tokens.HEADING in styled(line_of(doc, "Graph Break Reason:"))
    assert tokens.EXCEPTION in styled(line_of(doc, "torch._dynamo.exc.Unsupported:"))
    assert tokens.LABEL in styled(line_of(doc, "Explanation:"))


def test_bytecode_and_json() -> None:
    doc = document("bytecode.txt", "bytecode")
    assert "LOAD_FAST" in styled(line_of(doc, "LOAD_FAST"))[tokens.FUNCTION]
    laid_out = json_document(Payload.of(b'{"a": "b", "n": [1, -2.5e3, null, true], "q": "\\"x\\": 1"}'))
    assert styled(laid_out.line(1)) == {tokens.KEY: ['"a"'], tokens.STRING: ['"b"']}
    assert [style for n in range(3, 7) for style in styled(laid_out.line(n))] == [
        tokens.NUMBER, tokens.NUMBER, tokens.CONSTANT, tokens.CONSTANT,
    ]  # fmt: skip
    assert styled(laid_out.line(8))[tokens.STRING] == ['"\\"x\\": 1"']


def test_marks_of_control_characters_stand_out() -> None:
    for language in LANGUAGES:
        doc = BytesDocument(Payload.of(b'# File: a\x1bb:1 in f "\x9b31m"'), language)
        line = doc.line(0)
        assert "\x1b" not in line.text
        if language != "text":
            assert styled(line)[tokens.CONTROL] == ["␛"], language


@pure
@given(
    st.lists(
        st.sampled_from(
            ["'''", '"""', "\n", "#", "async_compile.triton('x', ", "async_compile.cpp(", "def f(x):", "{", "}", '"',
             "\\", "x = 1", " ", "é", "\x1b", "| +- ", "source=", ", type=<", ">", "File ", "None", "1.5", "; ", "/*",
             "*/", "字", 'R"TRITON(', ')TRITON"', "@triton.jit"]
        ),
        max_size=50,
    ).map("".join),
    st.sampled_from(sorted(LANGUAGES)),
)  # fmt: skip
def test_spans_are_inside_of_the_line_and_apart(text: str, language: str) -> None:
    doc = BytesDocument(Payload.of(text.encode()), language)
    for n in range(len(doc)):
        line = doc.line(n)
        end = 0
        for span in line.spans:
            assert end <= span.start < span.end <= len(line.text)
            assert span.style in tokens.ALL
            end = span.end
    doc.sections()


def test_hostile_lines_take_no_time() -> None:
    pieces = ['"\\', "'\\'", " ", "a.", "File: ", ":1 in ", ", type=<class ", ", accessed_by=", '"', 'R"(', "| ", "1"]
    for language in LANGUAGES:
        for piece in pieces:
            doc = BytesDocument(Payload.of((piece * (8000 // len(piece))).encode() + b"!"), language)
            began = time.process_time()
            doc.line(0)
            assert time.process_time() - began < 0.5, (language, piece)


def test_long_lines_stay_plain() -> None:
    doc = BytesDocument(Payload.of(b"x = 1\n" + b"y = '" + b"z" * 9000 + b"'\nw = 2"), "python")
    assert doc.line(0).spans
    assert not doc.line(1).spans
    assert doc.line(2).spans
    graph = BytesDocument(Payload.of(b"    def forward(self, " + b'a: "f32[8]cpu", ' * 2000 + b"):"), "fx")
    assert tokens.TYPE in {span.style for span in graph.line(0, 16_000, 16_200).spans}
    assert all(16_000 <= span.start < span.end <= 16_200 for span in graph.line(0, 16_000, 16_200).spans)


def test_an_unknown_language_is_plain() -> None:
    assert BytesDocument(Payload.of(b"x = 1"), "klingon").line(0).spans == ()


def test_pygments_is_imported_late() -> None:
    code = (
        "import sys; from tltui.text.bytes_document import json_document; from tltui.text.payload import Payload;"
        "from tltui.text.bytes_document import BytesDocument;"
        "d = json_document(Payload.of(b'{\"a\": 1}')); d.line(0);"
        "BytesDocument(Payload.of(b'x'), 'python');"
        "print([m for m in ('pygments', 'rich', 'textual') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
