"""Kernel → post-grad nodes from the flow of data: buffers and their versions, values, and what is not said."""

from __future__ import annotations

import pytest

from tltui.questions.provenance.dataflow.value_graph import arguments, shape_of, values_of
from tltui.questions.provenance.dataflow.wrapper_code import BOTH, NEITHER, READ, WRITE, signature
from tltui.questions.provenance.generated_code import parse_code
from tltui.questions.provenance.graph_names import parse_graph
from tltui.questions.provenance.links import derive

KIND = '"f32[8, 8][8, 1]cpu"'
SMALL = '"f32[8, 1][1, 1]cpu"'


def graph(*lines: str, given: str = "x w") -> str:
    """A graph: `name = op(args)` for each node, all of one type, and what it returns."""
    head = f"class G(torch.nn.Module):\n    def forward(self, {', '.join(f'{name}: {KIND}' for name in given.split())}):\n"
    return head + "\n".join(f"        {line}" for line in lines)


def node(name: str, op: str, args: str, kind: str = KIND) -> str:
    return f"{name}: {kind} = torch.ops.aten.{op}({args})"


def kernel(name: str, parameters: str, *body: str) -> str:
    """A C++ kernel as a string of the wrapper."""
    head = f"{name} = async_compile.cpp_pybinding([], r'''\nextern \"C\" void kernel({parameters})\n{{\n"
    return head + "\n".join(body) + "\n}\n''')\n"


def code(kernels: str, *body: str, given: str = "x, w") -> str:
    """A wrapper."""
    return kernels + f"\ndef call(args):\n    {given} = args\n    args.clear()\n" + "\n".join(f"    {line}" for line in body)


def said(post: str, wrapper: str, known: dict[int, str] | None = None) -> list[set[str]]:
    """The nodes of each call, in order."""
    parsed = parse_code(wrapper.split("\n"))
    found = derive(parse_graph(post.split("\n")), parsed, known or {})
    return [set(found[call.lines[0]].nodes) if call.lines[0] in found else set() for call in parsed.calls]


NEW = "{} = empty_strided_cpu((8, 8), (8, 1), torch.float32)"
IN_OUT = "const float* in_ptr0, float* out_ptr0"


def test_from_what_is_returned_to_what_is_read() -> None:
    post = graph(node("sin", "sin.default", "x"), node("add", "add.Tensor", "sin, w"), "return (add,)")
    wrapper = code(kernel("cpp_fused_add_sin_0", "const float* in_ptr0, const float* in_ptr1, float* out_ptr0"),
                   NEW.format("buf0"), "cpp_fused_add_sin_0(x, w, buf0)", "return (buf0, )")  # fmt: skip
    assert said(post, wrapper) == [{"sin", "add"}]


def test_an_external_kernel_tells_what_the_buffers_around_it_are() -> None:
    post = graph(node("sin", "sin.default", "x"), node("mm", "mm.default", "sin, w"), node("mm_1", "mm.default", "x, x"),
                 node("cos", "cos.default", "mm"), node("add", "add.Tensor", "cos, mm_1"), "return (add,)")  # fmt: skip
    kernels = kernel("cpp_fused_sin_0", IN_OUT) + kernel(
        "cpp_fused_add_cos_1", "float* in_out_ptr0, const float* in_ptr0", "auto tmp0 = in_out_ptr0[0];", "in_out_ptr0[0] = tmp0;"
    )
    wrapper = code(
        kernels, NEW.format("buf0"), "cpp_fused_sin_0(x, buf0)", NEW.format("buf1"), "extern_kernels.mm(buf0, w, out=buf1)",
        "buf2 = buf0; del buf0  # reuse", "extern_kernels.mm(x, x, out=buf2)",
        "buf3 = buf1; del buf1  # reuse", "cpp_fused_add_cos_1(buf3, buf2)", "return (buf3, )",
    )  # fmt: skip
    assert said(post, wrapper) == [{"sin"}, {"mm"}, {"mm_1"}, {"cos", "add"}]


def test_two_calls_that_may_be_either_node_are_not_guessed() -> None:
    post = graph(node("sin", "sin.default", "x"), node("cos", "cos.default", "x"), node("mm", "mm.default", "sin, w"),
                 node("mm_1", "mm.default", "cos, w"), node("add", "add.Tensor", "mm, mm_1"), "return (add,)")  # fmt: skip
    wrapper = code(
        kernel("cpp_fused_0", "const float* in_ptr0, float* out_ptr0, float* out_ptr1")
        + kernel("cpp_fused_1", "const float* in_ptr0, const float* in_ptr1, float* out_ptr0"),
        NEW.format("buf0"), NEW.format("buf1"), "cpp_fused_0(x, buf0, buf1)",
        NEW.format("buf2"), "extern_kernels.mm(buf0, w, out=buf2)",
        NEW.format("buf3"), "extern_kernels.mm(buf1, w, out=buf3)", NEW.format("buf4"), "cpp_fused_1(buf2, buf3, buf4)",
        "return (buf4, )",
    )  # fmt: skip
    assert said(post, wrapper) == [set(), set(), set(), {"add"}]
    line = next(n for n, text in enumerate(wrapper.split("\n")) if "mm(buf0, w" in text)
    assert said(post, wrapper, {line: "mm"}) == [{"sin", "cos"}, {"mm"}, {"mm_1"}, {"add"}], "what a comment tells settles it"


def test_a_slice_that_ends_at_what_the_kernel_does_not_read_is_not_said() -> None:
    post = graph(node("sin", "sin.default", "x"), node("add", "add.Tensor", "sin, w"), "return (add,)")
    wrapper = code(kernel("cpp_fused_add_0", IN_OUT), NEW.format("buf0"), "cpp_fused_add_0(x, buf0)", "return (buf0, )")
    assert said(post, wrapper) == [set()]


def test_a_buffer_of_other_sizes_is_another_value() -> None:
    post = graph(node("cumsum", "cumsum.default", "x, 0"), node("sum_1", "sum.dim_IntList", "x, [-1], True", SMALL),
                 node("cumsum_1", "cumsum.default", "sum_1, 0", SMALL), "return (cumsum, cumsum_1)")  # fmt: skip
    wrapper = code("", "buf0 = empty_strided_cpu((8, 1), (1, 1), torch.float32)", "aten.cumsum.out(unknown(), 0, out=buf0)",
                   "return (buf0, )")  # fmt: skip
    assert said(post, wrapper) == [set()], "what is returned does not fit either"
    longer = wrapper.replace("return (buf0, )", "buf1 = torch.ops.aten.cumsum.default(x, 0)\n    return (buf2, buf3, )")
    assert said(post, longer) == [{"cumsum_1"}, {"cumsum"}]


def test_a_view_remembers_what_was_not_in_memory_when_it_was_made() -> None:
    """`sum` reads `mul` from a buffer, but through a view that is older than the buffer: Inductor counts all of `mul` to it."""
    post = graph(node("mul", "mul.Tensor", "x, w"), node("add", "add.Tensor", "mul, w"),
                 node("view", "reshape.default", "add, [64]", '"f32[64][1]cpu"'), node("dot", "mm.default", "view, w"),
                 node("sum_1", "sum.default", "view", '"f32[][]cpu"'), "return (dot, sum_1)")  # fmt: skip
    wrapper = code(
        kernel("cpp_fused_0", "const float* in_ptr0, const float* in_ptr1, float* out_ptr0") + kernel("cpp_fused_sum_1", IN_OUT),
        NEW.format("buf0"), "cpp_fused_0(x, w, buf0)", NEW.format("buf1"), "extern_kernels.mm(buf0, w, out=buf1)",
        "buf2 = empty_strided_cpu((), (), torch.float32)", "cpp_fused_sum_1(buf0, buf2)", "return (buf1, buf2, )",
    )  # fmt: skip
    assert said(post, wrapper) == [{"mul", "add"}, {"dot"}, {"sum_1", "view", "mul", "add"}]


def test_a_function_of_its_own_has_names_of_its_own() -> None:
    post = graph(
        "sub = self.sub", "hop = torch.ops.higher_order.invoke_subgraph(sub, 'sub', x)", f"getitem: {KIND} = hop[0]",
        node("mm", "mm.default", "getitem, w"), "return (mm,)", "", "class sub(torch.nn.Module):",
        f"    def forward(self, a: {KIND}):", f"        {node('mm', 'mm.default', 'a, a')}", "        return (mm,)",
    )  # fmt: skip
    inner = "def sub(args):\n    sub_a, = args\n    sub_buf0 = empty_strided_cpu((8, 8), (8, 1), torch.float32)\n"
    inner += "    extern_kernels.mm(sub_a, sub_a, out=sub_buf0)\n    return (sub_buf0, )\n"
    wrapper = code(inner, "sub_args = [x]", "buf0 = sub(sub_args)", "buf1 = buf0[0]", "sub_args = [buf1]", "buf2 = sub(sub_args)",
                   NEW.format("buf3"), "extern_kernels.mm(buf1, w, out=buf3)", "return (buf3, )")  # fmt: skip
    parsed, graphs = parse_code(wrapper.split("\n")), parse_graph(post.split("\n"))
    found = derive(graphs, parsed, {})
    assert [call.function for call in parsed.calls] == ["sub", ""] and parsed.times("sub") == 2 and parsed.times("") == 1
    both = [found[call.lines[0]] for call in parsed.calls]
    assert [own.nodes for own in both] == [("mm",), ("mm",)] and both[0].graph != both[1].graph
    keys = [graphs.key(one) for own in both if (one := graphs.graph.find("mm", own.graph)) is not None]
    assert keys == ["sub.mm", "mm"] and [graphs.find(key) is not None for key in keys] == [True, True]


def test_a_partition_goes_on_where_the_whole_is() -> None:
    post = graph(node("sin", "sin.default", "x"), node("mm", "mm.default", "sin, w"), "return (mm,)")
    wrapper = kernel("cpp_fused_sin_0", IN_OUT) + "\n".join((
        "def partition_0(args):", "    x, = args", f"    {NEW.format('buf0')}", "    cpp_fused_sin_0(x, buf0)",
        "    return (buf0, )",
        "class Runner:", "    def call(self, args):", "        x, w = args", "        partition0_args = [x]",
        "        (buf0,) = self.partitions[0](partition0_args)", f"        {NEW.format('buf1')}",
        "        extern_kernels.mm(buf0, w, out=buf1)", "        return (buf1, )",
    ))  # fmt: skip
    assert said(post, wrapper) == [{"sin"}, {"mm"}]


def test_triton_kernels_and_kernels_of_the_user() -> None:
    triton = "triton_poi_fused_sin_0 = async_compile.triton('triton_', '''\n@triton.jit\ndef triton_poi_fused_sin_0({}, xnumel, "
    triton += "XBLOCK : tl.constexpr):\n    tmp0 = tl.load(in_ptr0 + (x0), xmask)\n''', device_str='cuda')\n"
    post = graph(node("sin", "sin.default", "x"), "return (sin,)", given="x")
    body = ("buf0 = empty_strided_cuda((8, 8), (8, 1), torch.float32)", "stream0 = get_raw_stream(0)",
            "triton_poi_fused_sin_0.run(x, buf0, 64, stream=stream0)", "return (buf0, )")  # fmt: skip
    assert said(post, code(triton.format("in_ptr0, out_ptr0"), *body, given="x,")) == [{"sin"}]
    assert said(post, code(triton.format("given, result"), *body, given="x,")) == [set()], "what it does with them is not known"


def test_pieces_of_a_cat_are_written_on_their_own() -> None:
    wide = '"f32[8, 16][16, 1]cpu"'
    post = graph(node("sin", "sin.default", "x"), node("cos", "cos.default", "w"),
                 node("cat", "cat.default", "[sin, cos], 1", wide), "return (cat,)")  # fmt: skip
    wrapper = code(
        kernel("cpp_fused_sin_0", IN_OUT) + kernel("cpp_fused_cos_1", IN_OUT),
        "buf2 = empty_strided_cpu((8, 16), (16, 1), torch.float32)", "buf0 = reinterpret_tensor(buf2, (8, 8), (16, 1), 0)  # alias",
        "cpp_fused_sin_0(x, buf0)", "buf1 = reinterpret_tensor(buf2, (8, 8), (16, 1), 8)  # alias", "cpp_fused_cos_1(w, buf1)",
        "return (buf2, )",
    )  # fmt: skip
    assert said(post, wrapper) == [{"sin"}, {"cos"}]


@pytest.mark.parametrize("parameters, body, uses", [
    ("const float* in_ptr0, float* out_ptr0, const int64_t ks0", "", (READ, WRITE, NEITHER)),
    ("float* in_out_ptr0, const float* in_ptr0", "auto tmp = in_out_ptr0[0];", (BOTH, READ)),
    ("float* in_out_ptr0, const float* in_ptr0", "in_out_ptr0[0] = static_cast<float>(tmp);", (WRITE, READ)),
    ("float* in_out_ptr0, float* out_ptr1", "auto out_ptr0 = in_out_ptr0;\nout_ptr0[0] = 1;", (WRITE, WRITE)),
    ("float* in_out_ptr0", "tmp3.store(in_out_ptr0 + static_cast<int64_t>(x0));", (WRITE,)),
    ("at::BFloat16* in_out_ptr0, const at::BFloat16* in_ptr0", "auto tmp3 = loadu(in_out_ptr0 + x0);", (BOTH, READ)),
    ("float* in_out_ptr0", "atomic_add(&in_out_ptr0[0], tmp);", (BOTH,)),
    ("const float* X, const float* W, float* Y", "", (READ, READ, WRITE)),
])  # fmt: skip
def test_what_a_kernel_does_with_its_arguments(parameters: str, body: str, uses: tuple[str, ...]) -> None:
    lines = kernel("cpp_fused_0", parameters, *body.split("\n")).split("\n")
    assert signature(lines, parse_code(lines).definitions[0]) == uses


def test_values_and_their_views() -> None:
    post = graph(
        node("view", "view.default", "x, [64]"), node("t", "permute.default", "view, [0]"), node("clone", "clone.default", "t"),
        node("split", "split.Tensor", "clone, 2"), "getitem = split[1]", node("cat", "cat.default", "[x, x, getitem], 1"),
        "return (cat, None, x)",
    )  # fmt: skip
    (values,) = values_of(parse_graph(post.split("\n"))).values()
    assert values.root("t") == "x" and values.root("getitem") == "clone" and values.plain("getitem") == "x"
    assert values.nodes["cat"].operands == ("x", "x", "getitem") and values.nodes["getitem"].item == 1
    assert values.outputs == ("cat", "", "x")
    assert arguments("a, (b, c), 'd, e', [f]") == ["a", "(b, c)", "'d, e'", "[f]"]
    shape = shape_of("f32[8, s0][s0, 1]cpu")
    assert shape is not None and shape.sizes == ("8", "s0") and shape.count is None and shape_of("Sym(s0)") is None
