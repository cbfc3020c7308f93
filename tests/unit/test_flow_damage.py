"""Damaged graphs and code: whatever they are, the flow of data says something or nothing, and never fails."""

from __future__ import annotations

import random
import time

import pytest
from real import trace

from tltui.model.artifacts import OUTPUT_CODE, artifacts_of, units_of
from tltui.model.node_answers import reader_of
from tltui.questions.provenance.generated_code import parse_code
from tltui.questions.provenance.graph_names import parse_graph
from tltui.questions.provenance.links import derive
from tltui.questions.provenance.unit_artifacts import parts_of

CASES = ("provenance/subgraph", "provenance/unrecorded", "tlparse/inductor_provenance_jit_cuda_log.txt")
MARKS = "()[]{},:;=\"'_ 019abkx\n\t#."


def texts_of(name: str) -> list[tuple[str, str]]:
    """The graph and the code of each unit."""
    found = []
    for compile_ in trace(name).compiles():
        artifacts, reader = artifacts_of(compile_), reader_of(compile_)
        for parts in parts_of(artifacts, units_of(artifacts), reader):
            if parts.post is not None and OUTPUT_CODE in parts.members:
                found.append((reader.text(parts.post.record, 1 << 24), reader.text(parts.members[OUTPUT_CODE].record, 1 << 24)))
    return found


def damaged(text: str, chance: random.Random) -> str:
    """A text with a piece cut out, characters flipped, lines moved, or its end lost."""
    way = chance.randrange(5)
    at = chance.randrange(max(1, len(text)))
    if way == 0:
        return text[:at]
    if way == 1:
        return text[:at] + text[at + chance.randrange(400) :]
    if way == 2:
        lines = text.split("\n")
        for _ in range(chance.randrange(1, 30)):
            one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
        return "\n".join(lines)
    marks = list(text)
    for _ in range(chance.randrange(1, 200 if way == 3 else 5)):
        marks[chance.randrange(len(marks))] = chance.choice(MARKS)
    return "".join(marks)


@pytest.mark.parametrize("name", CASES)
def test_no_damage_fails(name: str) -> None:
    said = 0
    for graph, code in texts_of(name):
        for seed in range(60):
            chance = random.Random(f"{name} {seed}")
            post = parse_graph((damaged(graph, chance) if seed % 3 != 1 else graph).split("\n"))
            wrapper = parse_code((damaged(code, chance) if seed % 3 != 2 else code).split("\n"))
            for derived in derive(post, wrapper, {1: "mm", -5: "", seed: "add"}).values():
                said += len(derived.nodes)
                assert all(post.graph.find(node, derived.graph) is not None for node in derived.nodes)
    assert said, "damage leaves enough to say something"


def test_a_graph_that_reads_itself_ends() -> None:
    graph = ["class G(torch.nn.Module):", "    def forward(self, a):"]
    graph += [f"        v{n} = torch.ops.aten.view.default(v{n + 1}, [1])" for n in range(50)]
    graph += ["        v50 = torch.ops.aten.view.default(v0, [1])", "        return (v50,)"]
    code = ["def call(args):", "    a, = args", "    buf0 = buf0", "    buf1 = buf1[0]", "    return (buf0, buf1, )"]
    assert derive(parse_graph(graph), parse_code(code), {}) == {}


def test_much_is_read_in_linear_time() -> None:
    seconds = []
    for kernels in (400, 1600):
        graph, code = chain(kernels)
        began = time.process_time()
        found = derive(parse_graph(graph), parse_code(code), {})
        seconds.append(time.process_time() - began)
        assert len(found) == 2 * kernels
    assert seconds[1] < 10 * max(seconds[0], 0.02), "four times as much takes about four times as long"


def chain(count: int) -> tuple[list[str], list[str]]:
    """A matrix product and a fused kernel, again and again."""
    kind = '"f32[8, 8][8, 1]cpu"'
    given = ", ".join(f"w{n}: {kind}" for n in range(count))
    graph = ["class G(torch.nn.Module):", f"    def forward(self, x: {kind}, {given}):"]
    code = []
    for n in range(count):
        code += [f"cpp_fused_relu_{n} = async_compile.cpp_pybinding(['float*'], r'''", "void kernel(float* in_out_ptr0)", "{"]
        code += ["    auto tmp0 = in_out_ptr0[0];", "}", "''')"]
    code += ["def call(args):", f"    x, {', '.join(f'w{n}' for n in range(count))} = args"]
    last, buffer = "x", "x"
    for n in range(count):
        graph += [f"        mm_{n}: {kind} = torch.ops.aten.mm.default({last}, w{n});  {last} = w{n} = None",
                  f"        relu_{n}: {kind} = torch.ops.aten.relu.default(mm_{n});  mm_{n} = None"]  # fmt: skip
        code += [f"    buf{n} = empty_strided_cpu((8, 8), (8, 1), torch.float32)"]
        code += [f"    extern_kernels.mm({buffer}, w{n}, out=buf{n})", f"    cpp_fused_relu_{n}(buf{n})"]
        last, buffer = f"relu_{n}", f"buf{n}"
    return [*graph, f"        return ({last},)"], [*code, f"    return ({buffer}, )"]
