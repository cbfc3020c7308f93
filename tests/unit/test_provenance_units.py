from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from golden import assert_golden
from made_logs import Log
from real import TRACES, demo, trace

from tltui.documents.scope import scope_of
from tltui.export import to_json
from tltui.model.artifacts import artifacts_of, units_of
from tltui.model.follow import open_run
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.questions.index import BY_NAME
from tltui.questions.provenance import provenance as found_in
from tltui.questions.provenance.links import links_of
from tltui.questions.provenance.provenance import (
    CPP,
    KERNEL,
    KERNEL_LINES,
    KERNEL_NODES,
    NODE_KERNELS,
    PANES,
    POST,
    PRE,
    PY,
    SOURCE,
    correspondence,
    graph_at,
    provenance_json,
)
from tltui.questions.provenance.records import Provenance, UnitProvenance
from tltui.questions.provenance.unit_artifacts import NodeMapping, Stacks, parts_of
from tltui.questions.question import view_document
from tltui.sources.discover import discover
from tltui.text.document import Document, Options

WHATS = (KERNEL_NODES, KERNEL_LINES, NODE_KERNELS)


def run_of(name: str) -> Run:
    return demo() if name == "demo" else trace(name)


def provenance(name: str, ref: str) -> Provenance:
    compile_ = run_of(name).resolve(ref)
    assert isinstance(compile_, Compile)
    return found_in.provenance_of(compile_)


def unit(name: str, ref: str, which: str) -> UnitProvenance:
    found = provenance(name, ref).unit(which)
    assert found is not None
    return found


def coverage(found: UnitProvenance) -> tuple[int, int, int, int, int]:
    """Kernels with nodes, with lines, of how many; nodes → kernels, of how many."""
    own = found.coverage
    return own.kernels_with_nodes, own.kernels_with_lines, own.kernels, own.nodes_with_kernel, own.nodes


@pytest.mark.parametrize("name, ref, which, source, numbers", [
    ("tlparse/inductor_provenance_jit_cuda_log.txt", "0/0", "inference", "node_mappings", (5, 5, 5, 12, 13)),
    ("torch-2.13/train", "0/0", "forward", "node_mappings", (10, 10, 10, 33, 52)),
    ("torch-2.13/train", "0/0", "backward", "kernel_stack_traces", (17, 17, 17, 72, 98)),
    ("demo", "1:0/1", "forward", "node_mappings", (6, 6, 6, 17, 21)),
    ("demo", "1:0/1", "backward", "node_mappings", (9, 9, 9, 25, 37)),
    ("torch-2.13/aoti", "none", "inference", "node_mappings", (6, 6, 6, 10, 12)),
    ("torch-2.13/regional_inductor", "0/0", "__marked", "node_mappings", (1, 1, 1, 4, 4)),
    ("torch-2.13/ddp_split", "4/0", "forward 1", "node_mappings", (2, 2, 2, 3, 4)),
    ("torch-2.13/ddp_split", "4/0", "forward 2", "node_mappings", (4, 4, 4, 9, 11)),
    ("torch-2.13/ddp_split", "4/0", "backward 1", "kernel_stack_traces", (7, 7, 7, 21, 29)),
    ("torch-2.13/cache_hit", "0/0", "forward", "node_mappings", (3, 0, 3, 7, 9)),
    ("torch-2.13/cache_hit", "0/0", "backward", "forward_mappings", (5, 0, 5, 16, 22)),
    ("torch-2.13/ca", "a0/1/0", "inference", "node_mappings", (5, 5, 5, 10, 17)),
    ("torch-2.13/vllm_like", "0/0~1", "submod_4 4", "file_comments", (1, 1, 1, 2, 2)),
])  # fmt: skip
def test_each_unit_has_its_own(name: str, ref: str, which: str, source: str, numbers: tuple[int, ...]) -> None:
    found = unit(name, ref, which)
    assert (found.source, coverage(found)) == (source, numbers)
    unknown = {what: sum(len(own.names) for own in found.coverage.unknown if own.kind == what) for what in WHATS}
    with_nodes, with_lines, kernels, with_kernel, nodes = numbers
    missing = kernels - with_nodes, kernels - with_lines, nodes - with_kernel
    assert unknown == dict(zip(WHATS, missing, strict=True)), "of each it is said why"
    assert sum(own.count for own in found.coverage.kernel_nodes_from) == with_nodes
    assert sum(own.count for own in found.coverage.kernel_lines_from) == with_lines
    assert sum(own.count for own in found.coverage.node_kernels_from) == with_kernel
    assert found.coverage.kernels - found.coverage.kernels_mapped == len(found.coverage.kernels_unmapped)
    assert found.coverage.nodes - found.coverage.nodes_mapped == len(found.coverage.nodes_unmapped)
    assert [pane.kind for pane in found.panes] == list(PANES)


def test_the_calls_that_version_1_has_together_are_told_apart() -> None:
    """Its mapping says of `extern_kernels.mm` the nodes of both calls, and `mul` that one of them reads."""
    found = unit("tlparse/inductor_provenance_jit_cuda_log.txt", "0/0", "inference")
    first, second = (kernel for kernel in found.kernels if kernel.name == "extern_kernels.mm")
    assert (first.handle, first.call_lines, first.definition, first.key) == (None, (186,), None, "extern_kernels.mm@186")
    assert (first.post_nodes, first.pre_nodes, first.nodes_from) == (("mm_default_1",), ("x",), "dataflow")
    assert (second.post_nodes, second.pre_nodes, second.call_lines) == (("mm_default",), ("y",), (201,))
    triton = next(kernel for kernel in found.kernels if kernel.name == "triton_poi_fused_mul_1")
    assert (triton.call_lines, triton.definition) == ((197,), (88, 116))


def test_kernels_of_a_forward_have_call_and_definition() -> None:
    found = unit("torch-2.13/train", "0/0", "forward")
    five, nine = (kernel for kernel in found.kernels if kernel.name == "cpp_fused_add_view_1")
    assert (five.handle, nine.handle) == (5, 9) and five.definition == nine.definition == (167, 191)
    assert five.call_lines != nine.call_lines and five.post_nodes == ("add_2", "view_7")
    assert five.user_lines == ("/home/user/models/train.py:10",) and nine.user_lines == ("/home/user/models/train.py:11",)
    assert five.nodes_from == "node_mappings" and five.lines_from == "kernel_stack_traces"


def test_a_lazy_backward_has_lines_and_says_where_they_come_from() -> None:
    found = unit("torch-2.13/train", "0/0", "backward")
    assert found.sources == ("kernel_stack_traces", "forward_mappings", "comments", "file_comments", "dataflow")
    assert found.panes[PRE].ref == "0/0:before_pre_grad_graph" and found.panes[POST].ref == "0/0:inductor_post_grad_graph#2"
    assert all(kernel.user_lines for kernel in found.kernels) and found.coverage.nodes_with_line == found.coverage.nodes
    by_key = {kernel.key: kernel for kernel in found.kernels}
    assert by_key["extern_kernels.mm:1"].post_nodes == ("mm",) and by_key["extern_kernels.mm:1"].nodes_from == "comments"
    assert by_key["extern_kernels.mm:2"].post_nodes == ("mm_1",), "the only other mm of its line"


def test_an_eager_backward_has_only_kernels_of_its_own_code() -> None:
    found = unit("demo", "1:0/1", "backward")
    assert [kernel.handle for kernel in found.kernels] == list(range(7, 16))


def test_a_backward_of_a_ddp_submodule_belongs_to_its_own_forward() -> None:
    found = provenance("torch-2.13/ddp_split", "4/0")
    pre = {own.unit: own.panes[PRE].ref for own in found.units}
    assert pre == {
        "forward 1": "4/0:before_pre_grad_graph#1", "forward 2": "4/0:before_pre_grad_graph#2",
        "backward 1": "4/0:before_pre_grad_graph#2", "backward 2": "4/0:before_pre_grad_graph#1",
    }  # fmt: skip


def test_a_cache_hit_shows_the_graph_of_dynamo() -> None:
    found = unit("torch-2.13/cache_hit", "0/0", "forward")
    assert found.panes[PRE].ref == "0/0:dynamo_output_graph" and "cache" in found.panes[PRE].why
    assert found.maps["pre_to_post"] and found.places == () and found.panes[SOURCE].why


def test_aotinductor_has_a_wrapper_and_kernels() -> None:
    found = unit("torch-2.13/aoti", "none", "inference")
    kernel = next(kernel for kernel in found.kernels if kernel.name == "cpp_fused_relu_0")
    assert (kernel.call_pane, kernel.call_lines, kernel.definition_pane, kernel.definition) == (CPP, (1068,), KERNEL, (4, 53))
    assert found.panes[PY].why and not found.maps["py_code_to_post"] and found.maps["cpp_code_to_post"]
    mine = [place for place in found.places if not place.framework]
    assert [str(place) for place in mine] == ["/home/user/models/aoti.py:5"]
    user = next(line for line in found.lines if line.file == "/home/user/models/aoti.py")
    assert "relu" in [node.name for node in user.post_nodes], "the stack of its kernel leads out of torch"


def test_compiled_autograd_goes_through_its_generated_code() -> None:
    found = unit("torch-2.13/ca", "a0/1/0", "inference")
    kernel = next(kernel for kernel in found.kernels if kernel.key == "extern_kernels.mm:2")
    assert kernel.post_nodes == ("mm",) and kernel.pre_nodes == ("aot0_mm",)


@pytest.mark.parametrize("name, ref", [
    ("torch-2.13/train", "0/0"), ("torch-2.13/aoti", "none"), ("demo", "1:0/1"), ("torch-2.13/ddp_split", "4/0"),
    ("tlparse/inductor_provenance_jit_cuda_log.txt", "0/0"),
])  # fmt: skip
def test_the_correspondence_says_what_the_maps_say(name: str, ref: str) -> None:
    pairs = {"pre_to_post": (PRE, POST), "post_to_pre": (POST, PRE), "py_code_to_post": (PY, POST), "post_to_py_code": (POST, PY),
             "cpp_code_to_post": (CPP, POST), "post_to_cpp_code": (POST, CPP)}  # fmt: skip
    for found in provenance(name, ref).units:
        groups = correspondence(found)
        for which, (pane, other) in pairs.items():
            for line, lines in found.maps[which].items():
                lit = {n for first, last in groups.matches(pane, line - 1, other) for n in range(first + 1, last + 2)}
                assert set(lines) <= lit, (found.unit, which, line)
        for kernel in found.kernels:
            first = kernel.call_lines[0] - 1
            if kernel.definition is not None:
                ranges = groups.matches(kernel.call_pane, first, kernel.definition_pane)
                assert any(a <= kernel.definition[0] - 1 and kernel.definition[1] - 1 <= b for a, b in ranges)
            places = {str(found.places[n]) for a, b in groups.matches(kernel.call_pane, first, SOURCE) for n in range(a, b + 1)}
            assert set(kernel.user_lines) <= places


def test_source_lines_can_be_placed_anywhere() -> None:
    found = unit("torch-2.13/train", "0/0", "forward")
    moved = [3 * n + 1 for n in range(len(found.places))]
    moved[0] = -1
    plain, placed = correspondence(found), correspondence(found, moved)
    assert placed.matches(SOURCE, 4, POST) == plain.matches(SOURCE, 1, POST) != []
    assert placed.matches(SOURCE, 0, POST) == [] and placed.matches(SOURCE, 1, POST) == []


def test_inputs_and_outputs_belong_together() -> None:
    found = unit("torch-2.13/train", "0/0", "forward")
    groups = correspondence(found)
    assert (1, 1) in groups.matches(PRE, 1, POST)
    graph = graph_at(run_of("torch-2.13/train").resolve("0/0"), found.panes[POST].ref)  # type: ignore[arg-type]
    assert graph is not None
    (output,) = graph.outputs()
    assert groups.matches(POST, output, PRE) and groups.matches(POST, output, PY)


@pytest.mark.parametrize("name", ["torch-2.13/train", "torch-2.13/aoti", "torch-2.13/ca", "torch-2.13/regional_inductor",
                                  "torch-2.13/ddp_split", "tlparse/inductor_provenance_jit_cuda_log.txt", "demo"])  # fmt: skip
@pytest.mark.parametrize("stacks", [True, False])
def test_what_comments_say_is_what_the_mapping_says(name: str, stacks: bool) -> None:
    """Take the mapping away: everything that is still linked must be in it. Torch maps `all_gather` itself to the
    `wait_tensor` behind it, which the comments, rightly, do not."""
    checked = 0
    for compile_ in run_of(name).compiles():
        loader, forwards = found_in._Loader(compile_), {}
        artifacts = artifacts_of(compile_)
        for parts in parts_of(artifacts, units_of(artifacts), loader.reader):
            texts, _ = found_in._texts(loader, parts, forwards)
            forwards[parts.unit.number] = texts
            truth: dict[str, set[str]] = {}
            for kernel in links_of(texts).kernels:
                truth.setdefault(kernel.key, set()).update(kernel.post)
            if not texts.mapping.kernel_to_post:
                continue
            without = replace(texts, mapping=NodeMapping(), stacks=texts.stacks if stacks else Stacks())
            links = links_of(without)
            for kernel in links.kernels:
                if "all_gather" not in kernel.name:
                    assert set(kernel.post) <= truth.get(kernel.key, set()), (parts.unit.name, kernel)
                checked += len(kernel.post)
            before = links_of(texts).post_to_pre
            for node, pre in links.post_to_pre.items():
                assert pre == before[node]
    assert checked or name == "demo"


def test_json_has_the_documented_shape() -> None:
    made = json.loads(to_json(provenance_json(provenance("torch-2.13/train", "0/0"))))
    assert [own["unit"] for own in made["units"]] == ["forward", "backward"]
    forward = made["units"][0]
    assert forward["source"] == "node_mappings" and forward["coverage"]["kernels"] == 10
    assert forward["pre_to_post"]["19"] == [4] and forward["post_to_pre"]["4"] == [19]
    for name in ("py_code_to_post", "post_to_py_code", "cpp_code_to_post", "post_to_cpp_code"):
        assert isinstance(forward[name], dict)
    kernel = forward["kernels"][0]
    assert {"name", "handle", "call_lines", "definition", "post_nodes", "pre_nodes", "user_lines"} <= kernel.keys()
    assert (kernel["name"], kernel["handle"], kernel["definition"]) == ("cpp_fused_embedding_native_layer_norm_0", 1, [33, 164])


def page(name: str, ref: str, width: int = 80, which: str = "", ascii_: bool = False) -> Document:
    document = view_document(run_of(name), BY_NAME["provenance"], parse_ref(ref), Options(width=width, filter=which, ascii=ascii_))
    while not document.advance():
        pass
    return document


@pytest.mark.parametrize("golden, name, ref, width, which", [
    ("jit_cuda", "tlparse/inductor_provenance_jit_cuda_log.txt", "0/0", 80, ""),
    ("train_forward", "torch-2.13/train", "0/0", 80, "forward"),
    ("train_backward", "torch-2.13/train", "0/0", 160, "backward"),
    ("eager_backward", "demo", "1:0/1", 80, "backward"),
    ("aoti", "torch-2.13/aoti", "none", 60, ""),
    ("regional", "torch-2.13/regional_inductor", "0/0", 80, ""),
    ("ddp_split", "torch-2.13/ddp_split", "4/0", 80, ""),
    ("cache_hit", "torch-2.13/cache_hit", "0/0", 80, ""),
    ("compiled_autograd", "torch-2.13/ca", "a0/1/0", 100, ""),
    ("off", "torch-2.13/vllm_like", "0/0~1", 80, "submod_6 4"),
    ("run", "torch-2.13/train", "", 80, ""),
    ("nothing", "torch-2.13/errors", "0/0", 80, ""),
])  # fmt: skip
def test_pages(golden: str, name: str, ref: str, width: int, which: str) -> None:
    document = page(name, ref, width, which)
    assert_golden(f"provenance/{golden}", "\n".join(document.text()))
    assert all(len(line) <= width for line in document.text())


def test_ascii() -> None:
    assert "\n".join(page("torch-2.13/train", "0/0", 60, ascii_=True).text()).isascii()


def test_a_unit_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(BadAddress, match="forward, backward"):
        page("torch-2.13/train", "0/0", which="sideways")


def test_links_lead_to_lines_of_artifacts() -> None:
    document = page("torch-2.13/train", "0/0")
    targets = {link.target for n in range(len(document)) for link in document.line(n).links}
    assert "0/0:inductor_output_code#1@L259" in targets and "0/0:before_pre_grad_graph@L19" in targets
    assert "file:/home/user/models/train.py:16" in targets


def stripped(tmp_path: Path, source: Path) -> Run:
    """A trace as it would be without INDUCTOR_PROVENANCE: neither the artifacts nor the comments with handles."""
    lines, kept = [], True
    for line in source.read_bytes().split(b"\n"):
        if not line.startswith(b"\t"):
            kept = b'"inductor_provenance_tracking' not in line[:300]
        if kept and b"[Provenance debug handles]" not in line:
            lines.append(line)
    (tmp_path / "dedicated_log_torch_trace_x.log").write_bytes(b"\n".join(lines))
    return open_run(discover([str(tmp_path)]))


def test_provenance_off(tmp_path: Path) -> None:
    (source,) = (TRACES / "torch-2.13/train").glob("*.log")
    run = stripped(tmp_path, source)
    compile_ = run.resolve("0/0")
    assert isinstance(compile_, Compile)
    forward, backward = found_in.provenance_of(compile_).units
    for found in (forward, backward):
        assert not found.recorded and found.source == "comments" and found.sources[1:2] == ("file_comments",)
        assert found.maps["pre_to_post"] and found.maps["py_code_to_post"]
        assert found.coverage.nodes_with_line == found.coverage.nodes
    assert len({kernel.key for kernel in forward.kernels}) == len(forward.kernels) == 10
    document = view_document(run, BY_NAME["provenance"], parse_ref("0/0"), Options(width=80))
    assert_golden("provenance/stripped", "\n".join(document.text()))
    assert "INDUCTOR_PROVENANCE=1" in "\n".join(document.text())


def test_a_mapping_without_code(tmp_path: Path) -> None:
    """Only a mapping, no code: its kernels are still listed."""
    log = Log(tmp_path / "x.log").start()
    log.artifact("fx_graph_runnable", "x")
    log.artifact("inductor_provenance_tracking_node_mappings", json.dumps({"version": 2.0, "cppCodeToPost": {"a::b:3": ["mm"]}}))
    (found,) = found_in.provenance_of(log.compile()).units
    assert [(kernel.name, kernel.handle, kernel.call_lines) for kernel in found.kernels] == [("a::b", 3, ())]
    assert found.panes[POST].why == "torch wrote no post-grad graph"


PRE_GRAD = """class M(torch.nn.Module):
    def forward(self, a: "f32[4]", b: "f32[4]"):
        # File: /home/user/m.py:3 in f, code: y = a * b
        mul: "f32[4]" = a * b
        return (mul,)
"""
POST_GRAD = """class M(torch.nn.Module):
    def forward(self, primals_1: "f32[4]", tangents_1: "f32[4]"):
        # File: /home/user/m.py:3 in f, code: y = a * b
        mul: "f32[4]" = torch.ops.aten.mul.Tensor(tangents_1, primals_1)
        return (mul,)
"""
WRAPPER = """# AOT ID: ['0_%s']
def call(self, args):
    # Topologically Sorted Source Nodes: [mul], Original ATen: [aten.%s]
    cpp_fused_0(buf0)
    return (buf0, )
cpp_fused_0 = async_compile.cpp_pybinding(['float*'], r'''
# Topologically Sorted Source Nodes: [mul], Original ATen: [aten.%s]
''')
"""


@pytest.mark.parametrize(("direction", "operator", "post", "pre"), [
    ("forward", "mul", ("mul",), ("mul",)), ("forward", "relu", (), ("mul",)),
    ("backward", "mul", ("mul",), ()), ("backward", "relu", (), ("mul",)),
])  # fmt: skip
def test_a_name_that_both_graphs_have(direction: str, operator: str, post: tuple[str], pre: tuple[str], tmp_path: Path) -> None:
    """In a backward the comments name nodes of its own as well as of the forward: what is done tells which is meant."""
    log = Log(tmp_path / "x.log").start().artifact("before_pre_grad_graph", PRE_GRAD).artifact("fx_graph_runnable", "x")
    log.artifact("after_post_grad_graph", POST_GRAD)
    log.add("inductor_output_code", {"filename": "/tmp/c.py"}, WRAPPER % (direction, operator, operator))
    (found,) = found_in.provenance_of(log.compile()).units
    (kernel,) = found.kernels
    assert (kernel.name, kernel.post_nodes, kernel.pre_nodes) == ("cpp_fused_0", post, pre)


def test_a_piece_from_a_cache_has_nothing_to_be_linked(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start().artifact("vllm_compilation_config", "{}")
    for number in (0, 1):
        said = {"piecewise_index": number, "submod_name": f"submod_{number}", "compile_range_start": 1, "compile_range_end": 8}
        log.artifact("vllm_piecewise_compile_start", json.dumps(said)).artifact("before_pre_grad_graph", PRE_GRAD)
        log.artifact("fx_graph_cache_hit", "{}") if number == 0 else log.artifact("after_post_grad_graph", POST_GRAD)
    assert [found.unit for found in found_in.provenance_of(log.compile()).units] == ["submod_1 1-8"]


@pytest.mark.parametrize("seed", range(12))
def test_damaged_logs(tmp_path: Path, seed: int) -> None:
    """Cut, shuffled and overwritten pieces of a real trace: never an exception."""
    chance = random.Random(seed)
    (source,) = (TRACES / "torch-2.13/aoti").glob("*.log") if seed % 2 else (TRACES / "torch-2.13/train").glob("*.log")
    data = bytearray(source.read_bytes())
    for _ in range(300):
        at = chance.randrange(len(data))
        data[at : at + chance.randrange(4)] = bytes(chance.choice(b"{}[]()'\"=,:#\n\t xA0") for _ in range(chance.randrange(4)))
    del data[chance.randrange(len(data)) :]
    (tmp_path / "x.log").write_bytes(data)
    run = open_run(discover([str(tmp_path / "x.log")]))
    for compile_ in run.compiles():
        for found in found_in.provenance_of(compile_).units:
            correspondence(found)
    scope_of(run)
