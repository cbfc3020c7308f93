"""Sections: what can be folded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tltui.text.bytes_document import BytesDocument
from tltui.text.colours.highlight import LANGUAGES
from tltui.text.colours.sections import Repeat, find_repeats, find_sections
from tltui.text.document import Section
from tltui.text.payload import Payload

DATA = Path(__file__).parent / "data/text"
pure = settings(deadline=None, derandomize=True, max_examples=200)


def read(name: str, language: str) -> tuple[list[str], Sequence[Section]]:
    lines = (DATA / name).read_text().split("\n")
    return lines, find_sections(language, lines)


def check(sections: Sequence[Section], lines: int) -> None:
    opened: list[Section] = []
    before = -1
    for section in sections:
        assert before <= section.first < section.last < lines
        before = section.first
        while opened and opened[-1].last < section.first:
            opened.pop()
        assert section.level == len(opened)
        assert not opened or section.last <= opened[-1].last
        opened.append(section)


def test_a_stack_of_layers_is_a_section_for_each() -> None:
    lines, sections = read("fx_layers.txt", "fx")
    check(sections, len(lines))
    assert [(s.level, s.title) for s in sections[:4]] == [
        (0, "class GraphModule(torch.nn.Module)"),
        (1, "def forward (45 lines)"),
        (1, "forward  train.py:16  x=s.e(i)"),
        (1, "layer pass 1/4 of train.py:7–11 (forward)"),
    ]
    passes = [s for s in sections if s.title.startswith("layer pass")]
    assert [s.folded for s in passes] == [True] * 4
    assert sections[4].level == 2
    assert lines[sections[4].first].strip().startswith("# File: /home/user/models/train.py:7 in forward")


def test_sections_of_a_graph_that_names_parameters_are_called_by_layers() -> None:
    first = "L_self_modules_layers_modules_0_modules_fc_parameters_weight_"
    second = first.replace("_0_", "_1_")
    block = [
        "        # File: /m.py:7 in forward, code: return self.fc(x)",
        '        {1}: "f32[8]" = torch._C._nn.linear({0}, {2})',
        "        # File: /m.py:9 in forward, code: return x.relu()",
        '        {3}: "f32[8]" = {1}.relu()',
    ]
    lines = [
        "class GraphModule(torch.nn.Module):",
        f'    def forward(self, x: "f32[8]", {first}: "f32[8]", {second}: "f32[8]"):',
        f"        l_{first[2:]} = {first}",
        *"\n".join(block).format("x", "a", f"l_{first[2:]}", "b").split("\n"),
        *"\n".join(block).format("b", "c", second, "d").split("\n"),
        "        return (d,)",
    ]
    sections = find_sections("fx", lines)
    check(sections, len(lines))
    titles = [section.title for section in sections]
    assert titles[1:4] == ["layers.0.fc pass 1/2 of m.py:7–9 (forward)",
                           "layers.0.fc  forward  m.py:7  return self.fc(x)", "forward  m.py:9  return x.relu()"]  # fmt: skip
    assert titles[5].startswith("layers.1.fc  forward")


def test_repeats() -> None:
    assert find_repeats("xabcabcabcy") == [Repeat(1, 3, 3)]
    assert find_repeats("aaaa") == []
    assert find_repeats("abab" "cd" "abab" "cd") == [Repeat(0, 6, 2)]
    assert find_repeats("abxaby") == []
    assert find_repeats("abcdabcdxefef") == [Repeat(0, 4, 2), Repeat(9, 2, 2)]
    assert find_repeats("") == []
    find_repeats([n * n % 97 for n in range(20_000)])
    find_repeats(list(range(20_000)))


def test_nested_graphs() -> None:
    _, sections = read("fx_nested.txt", "fx")
    assert [(s.level, s.title) for s in sections if s.title.startswith("class")] == [
        (0, "class GraphModule(torch.nn.Module)"),
        (1, "class score_mod_0(torch.nn.Module)"),
        (1, "class mask_fn_0(torch.nn.Module)"),
    ]


def test_output_code() -> None:
    lines, sections = read("output_code_triton.py.txt", "output_code")
    kernels = [s for s in sections if s.title.endswith("(triton kernel)")]
    assert kernels
    for kernel in kernels:
        assert lines[kernel.last].startswith("''', device_str=")
    titles = [s.title for s in sections]
    assert "def call(args)" in titles
    assert any(title.startswith("def benchmark_compiled_module") for title in titles)
    assert 'if __name__ == "__main__"' in titles
    assert not any("@triton" in title or "def triton_" in title for title in titles)
    _, sections = read("output_code_cpp.py.txt", "output_code")
    runner = next(s for s in sections if s.title == "class Runner")
    call = next(s for s in sections if s.title == "def call(self, args)")
    assert runner.first < call.first <= call.last <= runner.last
    assert call.level == 1


def test_guards() -> None:
    lines, sections = read("guards.txt", "guards")
    check(sections, len(lines))
    assert sections[0].title == "RootGuardManager"
    assert any(s.title.startswith("GuardManager L['") and s.level == 1 for s in sections)


def test_tracebacks() -> None:
    lines, sections = read("graph_break.txt", "traceback")
    check(sections, len(lines))
    assert [(s.level, s.folded, s.title.split(":")[0]) for s in sections] == [
        (0, False, "User code traceback"),
        (1, False, "user"),
        (0, False, "Traceback (most recent call last)"),
        (1, True, "17 torch frames"),
    ]


def test_cpp() -> None:
    text = """\
#include <a>
namespace x {
namespace {
class A : public B {
  public:
};
}
extern "C"  void  kernel(float* a,
                         float* b)
{
    for(;;)
    {
    }
}

int one() { return 1; }
void run(
    int a
) {
}
} // x"""
    sections = find_sections("cpp", text.split("\n"))
    assert [(s.level, s.first, s.last, s.title) for s in sections] == [
        (0, 1, 20, "namespace x"),
        (1, 2, 6, "namespace"),
        (2, 3, 5, "class A : public B"),
        (1, 7, 13, 'extern "C"  void  kernel(float* a,'),
        (1, 16, 19, "void run"),
    ]


def test_python() -> None:
    text = (
        "import a\n\n@b\ndef f(\n    x,\n):\n    return x\n\n"
        "class C:\n    def g(self):\n        pass\n\n    async def h(self):\n        pass\nx = 1"
    )
    sections = find_sections("python", text.split("\n"))
    assert [(s.level, s.first, s.last, s.title) for s in sections] == [
        (0, 3, 6, "def f("), (0, 8, 13, "class C"), (1, 9, 10, "def g(self)"), (1, 12, 13, "async def h(self)"),
    ]  # fmt: skip


@pure
@given(
    st.lists(
        st.sampled_from(
            ["class A(torch.nn.Module):", "\n", "\n", "    ", "def f(", "):", "x = 1", "# File: a:1 in f, code: b",
             "return x", "{", "}", "k = async_compile.triton('''", "'''", "| ", "+- ", "GuardManager: source=x",
             "Traceback (most recent call last):",
             '  File "/torch/x.py", line 1, in f', '  File "y.py", line 1, in g', '"a": ', "[", "]",
             ","]
        ),
        max_size=60,
    ).map("".join),
    st.sampled_from(sorted(LANGUAGES)),
)  # fmt: skip
def test_sections_nest_whatever_the_text(text: str, language: str) -> None:
    lines = text.split("\n")
    check(find_sections(language, lines), len(lines))


def test_a_document_has_its_sections_when_it_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DATA / "output_code_cpp.py.txt").read_bytes() + b"\n#" * 300_000
    document = BytesDocument(Payload.of(text), "output_code")
    assert document.sections() == ()
    while not document.advance():
        pass
    assert document.sections()
    assert document.sections() is document.sections()
    monkeypatch.setattr("tltui.text.bytes_document.SECTIONS_UP_TO", 10)
    large = BytesDocument(Payload.of(text[:1000]), "output_code")
    assert large.sections() == ()
