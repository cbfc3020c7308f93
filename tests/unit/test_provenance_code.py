from __future__ import annotations

import pytest

from tltui.questions.provenance.generated_code import fused_operators, parse_code
from tltui.questions.provenance.graph_names import facts_at, parse_graph
from tltui.questions.provenance.unit_artifacts import kernel_stacks, node_mapping, older_mapping, split_key

PYTHON = """\
# AOT ID: ['0_forward']
# kernel path: /tmp/x.py
# Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.relu, aten.mul]
# Source node to ATen node mapping:
#   x => relu
#   y => mul, mul_1
# Graph fragment:
#   %arg0_1 : Tensor "f32[8]" = PlaceHolder[target=arg0_1]
#   %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%arg0_1,), kwargs = {})
#   return %relu
triton_poi_0 = async_compile.triton('triton_poi_0', '''
def triton_poi_0(x):
    # [Provenance debug handles] not_a_call:9
    triton_poi_0.run(x)
''', device_str='cuda')
plain = async_compile.multi_kernel('plain', [
    'a',
])
def call(self, args):
    arg0_1, arg1_1 = args
    args.clear()
    # Topologically Sorted Source Nodes: [x], Original ATen: [aten.relu]
    # [Provenance debug handles] triton_poi_0:1
    stream0 = get_raw_stream(0)
    triton_poi_0.run(arg0_1,
                     8, stream=stream0)
    # [Provenance debug handles] torch.ops.ns::op.default:12
    buf1 = torch.ops.ns::op.default(buf0)
    # [Provenance debug handles] torch.ops.mylib.op.default:120
    buf2 = empty_strided_cpu((8, ), (1, ))
    del buf0
    # Topologically Sorted Source Nodes: [d, ], Original ATen: [aten.mm]
    extern_kernels.mm(buf1, buf2, out=buf3)
    assert_size_stride(buf3, (8, ), (1, ), 'extern_kernels.bmm(')
    triton_poi_0.run(buf3)
    return (buf3, )

def benchmark_compiled_module():
    triton_poi_0.run(1)
"""


def test_calls_and_definitions_of_a_python_wrapper() -> None:
    code = parse_code(PYTHON.split("\n"))
    assert code.handles and code.aot_id == "0_forward"
    assert [(d.name, d.kind, d.above, d.first, d.last) for d in code.definitions] == [
        ("triton_poi_0", "triton", 0, 10, 14), ("plain", "multi_kernel", 15, 15, 17),
    ]  # fmt: skip
    assert [(call.key, call.first, call.lines) for call in code.calls] == [
        ("triton_poi_0:1", 21, (24, 25)),
        ("torch.ops.ns::op.default:12", 26, (27,)),
        ("torch.ops.mylib.op.default:120", 28, (29,)),
        ("extern_kernels.mm", 31, (32,)),
        ("triton_poi_0", 34, (34,)),
    ]
    assert code.inputs == (19,) and code.outputs == (35,)


def test_comments_of_kernels() -> None:
    code = parse_code(PYTHON.split("\n"))
    remarks = code.definitions[0].remarks
    assert remarks.sources == ("x", "y") and remarks.aten == ("aten.relu", "aten.mul")
    assert remarks.arrows == (("x", ("relu",)), ("y", ("mul", "mul_1"))) and remarks.nodes == ("relu",)
    assert code.calls[3].remarks.sources == ("d", "")


def test_a_kernel_that_does_not_end_hides_no_other() -> None:
    lines = ["a_0 = async_compile.multi_kernel('a_0', [", "    'x',", "b_0 = async_compile.triton('b_0', '''", "    y", "''')", ")"]
    assert [(d.name, d.first, d.last) for d in parse_code(lines).definitions] == [("a_0", 0, 0), ("b_0", 2, 4)]


def test_what_lays_out_memory_is_no_kernel() -> None:
    lines = ["def call(self, args):", "    buf1 = torch.ops.inductor._reinterpret_tensor(buf0, (8, ), (1, ), 0)",
             "    buf2 = torch.ops.mylib.op.default(buf1)", "    return (buf2, )"]  # fmt: skip
    assert [(call.name, call.lines) for call in parse_code(lines).calls] == [("torch.ops.mylib.op.default", (2,))]


CPP = """\
// Triton kernels are embedded as comments
extern "C"  void  cpp_fused_relu_0(float* in_out_ptr0,
                       float* out_ptr0)
{
    if (x) {
    }
}
extern "C" void declared_only(float* x);
static inline void call_triton_1(
    const T& x) {
    launch(x);
}
void AOTInductorModel::run_impl(
    AtenTensorHandle* input_handles
) {
    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 4);
    // [Provenance debug handles] aoti_torch_cpu_addmm_out:1
    static constexpr int64_t int_array_2[] = {10L, 16L};
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(buf0, l_bias));
    // [Provenance debug handles] triton_1:2
    call_triton_1(buf0);
    cpp_fused_relu_0((float*)(buf1.data_ptr()));
    int64_t triton_1_xnumel = cpp_fused_relu_0(1);
    output_handles[0] = buf3.release();
} // AOTInductorModel::run_impl
"""


def test_code_of_aotinductor() -> None:
    code = parse_code(CPP.split("\n"))
    assert [(d.name, d.first, d.last) for d in code.definitions] == [("cpp_fused_relu_0", 1, 6), ("triton_1", 8, 11)]
    assert [(call.key, call.lines) for call in code.calls] == [
        ("aoti_torch_cpu_addmm_out:1", (18,)), ("triton_1:2", (20,)), ("cpp_fused_relu_0", (21,)),
    ]  # fmt: skip
    assert (code.inputs, code.outputs) == ((15,), (23,))


@pytest.mark.parametrize("text", [
    "", "\n\n", "def call(", "x = async_compile.triton('x', '''", "# [Provenance debug handles] x:1",
    "# [Provenance debug handles] x:", "# [Provenance debug handles] x:1\n((((((", 'extern "C" void f(', "void X::run_impl(",
    "extern \"C\" void f(\n{", "# Source Nodes: [[[], Original ATen: [", "\x00\ud800",
])  # fmt: skip
def test_odd_code(text: str) -> None:
    parse_code(text.split("\n"))


@pytest.mark.parametrize("key, found", [
    ("extern_kernels.mm:2", ("extern_kernels.mm", 2)), ("ns::op:3", ("ns::op", 3)), ("ns::op", ("ns::op", None)),
    ("mm", ("mm", None)), (":1", (":1", None)), ("a:b", ("a:b", None)), ("a:²", ("a:²", None)), ("", ("", None)),
    ("ns::1", ("ns::1", None)),
])  # fmt: skip
def test_keys_are_split_at_the_last_colon(key: str, found: tuple[str, int | None]) -> None:
    assert split_key(key) == found


def test_any_half_of_a_mapping_is_enough() -> None:
    one = node_mapping({"preToPost": {"x": ["a", "b"]}, "postToCppCode": {"a": ["k:1"]}, "version": 2.0})
    other = node_mapping({"postToPre": {"a": ["x"], "b": ["x"]}, "cppCodeToPost": {"k:1": ["a"]}})
    assert one.post_to_pre == other.post_to_pre and one.kernel_to_post == other.kernel_to_post == {"k:1": ("a",)}
    assert (one.version, other.version) == (2.0, 1.0)


@pytest.mark.parametrize("value", [
    None, [], 3, "x", {"version": "2"}, {"preToPost": [1]}, {"preToPost": {"a": "b", "c": [1, None, ["x"]]}},
    {"cppCodeToPost": {"": []}},
])  # fmt: skip
def test_odd_mappings(value: object) -> None:
    assert not any(node_mapping(value).post_to_pre.values())
    assert not any(kernel_stacks(value).frames.values())


def test_older_mappings_are_trees() -> None:
    tree = {"relu": [{"name": "r", "graph_id": 7, "from_node": [{"name": "x", "graph_id": 5, "from_node": []}]}, 3]}
    found = older_mapping({"k": ["relu"]}, tree, 5)
    assert found.post_to_pre == {"relu": ("x",)} and found.kernel_to_post == {"k": ("relu",)}
    assert older_mapping(None, tree, None).version == 0


def test_stacks_with_real_and_with_written_line_ends() -> None:
    text = '  File "/home/user/m.py", line 3, in f\n    x = g(y)\n'
    text += '  File "/opt/lib/python3.11/site-packages/torch/nn/l.py", line 9, in h'
    new, old = kernel_stacks({"k:1": [text]}), kernel_stacks({"k:1": [text.replace("\n", "\\n")]})
    assert new == old
    assert [(frame.file, frame.line, frame.code) for frame in new.users("k:1")[0]] == [("/home/user/m.py", 3, "x = g(y)")]


@pytest.mark.parametrize("name, found", [
    ("cpp_fused_embedding_native_layer_norm_0", {"embedding", "native_layer_norm"}),
    ("triton_poi_fused_index_add_3", {"index_add"}),
    ("triton_red_fused_add_mul_12", {"add", "mul"}),
    ("cpp_fused__scaled_dot_add_1", {"_scaled_dot", "add"}),
    ("cpp_fused_unknown_add_1", set()),
    ("extern_kernels.add", set()),
    ("cpp_fused_", set()),
    ("cpp_fused_" + "add_" * 999 + "0", set()),
])  # fmt: skip
def test_names_of_fused_kernels(name: str, found: set[str]) -> None:
    known = frozenset(("embedding", "native_layer_norm", "add", "mul", "index", "index_add", "_scaled_dot"))
    assert fused_operators(name, known) == found


GRAPH = """\
class GraphModule(torch.nn.Module):
    def forward(self, a: "f32[4]", b: "f32[4]"):
        # File: /home/user/m.py:3 in f, code: x = a + b
        step: "f32[4]" = a + b;  b = None
        step += 1;  step_1: "f32[4]" = step;  step = None
        inner = self.body
        y = torch.ops.higher_order.wrap(inner, step_1)
        return (y,)

    class body(torch.nn.Module):
        def forward(self, z: "f32[4]"):
            step: "f32[4]" = z * 2
            only: "f32[4]" = step * 3
            return (only,)
"""


def test_names_are_those_of_the_outer_graph_first() -> None:
    graph = parse_graph(GRAPH.split("\n"))
    names = {name: graph.nodes[n].line for name, n in graph.numbers.items()}
    assert names["step"] == 3 and names["step_1"] == 4 and names["only"] == 12
    assert graph.inputs() == (1,) and graph.outputs() == (7,)


def test_facts_of_a_line() -> None:
    graph = parse_graph(GRAPH.split("\n"))
    (fact,) = facts_at(graph, 4)
    assert (fact.name, fact.op, fact.type, fact.producers, fact.users) == ("step_1", "+=", "f32[4]", ("step",), ("y",))
    assert (fact.file, fact.line, fact.code, fact.at) == ("/home/user/m.py", 3, "x = a + b", 5)
    assert [fact.name for fact in facts_at(graph, 1)] == ["a", "b"]
    assert facts_at(graph, 99) == ()
