"""Scripts of graphs: of every compile of the real traces, and of texts that want to be more than a graph."""

from __future__ import annotations

import ast
import hashlib
import lzma
import re
from pathlib import Path

import make_trace as mt
import pytest
from real import LOGS, TRACES, fresh, opened, trace

from tltui.cli import main
from tltui.model.artifacts import artifacts_of
from tltui.model.nodes import Compile
from tltui.model.run import in_order
from tltui.writers.repro import allowed_names, checking
from tltui.writers.repro.checking import refusal
from tltui.writers.repro.graph_classes import read_graph
from tltui.writers.repro.script import WORTH, Repro, comment, repro_of
from tltui.writers.repro.script_inputs import Number, Tensor, expression, read_type, value_of
from tltui.writers.repro.tensor_bounds import bounds

ROOTS = {"torch", "self", "operator", "math", "slice", "max", "min", "int", "float", "bool", "len", "abs", "pow", "round", "sum",
         "tuple", "list", *checking.NAMES}  # fmt: skip
TRACED = [log for log in LOGS if "inputs" not in log.parts]
"""Logs of TORCH_TRACE: beside them stand texts that other programs wrote."""
_OWN = (
    "argparse math operator os resource signal subprocess sys torch torch._dynamo torch._higher_order_ops torch._inductor.config "
    "torch._inductor.inductor_prims torch.fx torch.utils.checkpoint"
)
OWN = set(_OWN.split())
"""What the script itself imports."""


def compile_at(name: str, ref: str) -> Compile:
    found = trace(name).resolve(ref)
    assert isinstance(found, Compile)
    return found


def assert_harmless(script: str) -> None:
    """Nothing but arithmetic in the classes, nothing imported but by the part that is ours, and plain ASCII."""
    tree = ast.parse(script)
    compile(script, "repro.py", "exec")
    assert script.isascii()
    imported = {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
    assert imported == OWN
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name != "Values":
            assert {type(each) for each in node.body} <= {ast.FunctionDef}
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and not ast.unparse(call).startswith("super()"):
                    assert_arithmetic(call, node)


def assert_arithmetic(call: ast.Call, graph: ast.ClassDef) -> None:
    local = {each.arg for each in ast.walk(graph) if isinstance(each, ast.arg)}
    local |= {each.id for each in ast.walk(graph) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    function = call.func
    while isinstance(function, (ast.Attribute, ast.Subscript, ast.Call)):
        function = function.func if isinstance(function, ast.Call) else function.value
    if isinstance(function, ast.Name):
        assert function.id in ROOTS | local | {"Values"} or function.id.startswith("Graph_"), ast.unparse(call)
    path = ast.unparse(call.func)
    if path == "torch.fx.symbolic_trace":  # ours: a branch or a region is a graph of its own
        assert re.fullmatch(r"torch\.fx\.symbolic_trace\(Graph_\w+\(\)\)", ast.unparse(call)), ast.unparse(call)
    elif path.startswith("torch."):
        assert not refusal(path)


@pytest.mark.parametrize("log", TRACED, ids=lambda log: f"{log.parent.name}-{log.stem}"[-60:])
def test_every_compile_gives_a_script_or_a_reason(log: Path) -> None:
    """Of the same text once: the rest is what stands in the log."""
    seen: set[str] = set()
    for compile_ in in_order(opened(log)):
        found = repro_of(compile_)
        assert bool(found.script) != bool(found.refused)
        if found.refused:
            assert found.refused.startswith(found.ref)
            assert found.refused.endswith(".")
            assert not found.graph
        else:
            assert found.graph.rpartition(":")[2].partition("#")[0] in WORTH
            text = found.script.partition("import argparse")[2]
            digest = hashlib.sha256(text.encode()).hexdigest()
            if digest not in seen:
                assert_harmless(found.script)
            seen.add(digest)


@pytest.mark.parametrize("name", ["train", "dyn", "cache_hit", "ca", "ddp_split", "regional_inductor"])
def test_every_graph_gives_a_script_or_a_reason(name: str) -> None:
    made = set()
    for compile_ in in_order(trace(f"torch-2.13/{name}")):
        for artifact in artifacts_of(compile_):
            found = repro_of(compile_, artifact=artifact)
            if found.script:
                assert_harmless(found.script)
                made.add(artifact.name)
            elif artifact.name not in WORTH:
                assert f"not a graph of {compile_.ref}: '{artifact.name}'; graphs: " in found.refused
    assert "dynamo_output_graph" in made
    assert "fx_graph_runnable" in made or name in ("cache_hit", "ddp_split")


def test_most_compiles_that_have_a_graph_give_a_script() -> None:
    have = made = 0
    for log in TRACED:
        for compile_ in in_order(opened(log)):
            if any(artifact.name in WORTH for artifact in artifacts_of(compile_)):
                have += 1
                made += bool(repro_of(compile_).script)
    assert have > 250
    assert made / have > 0.9


@pytest.mark.parametrize("name", ["mlp/torch_compile_debug", "dyn/stderr.txt.xz", "recompiles/stderr.txt.xz"])
def test_other_inputs_have_graphs_too(name: str, tmp_path: Path) -> None:
    source = TRACES / "inputs" / name
    if source.suffix == ".xz":
        target = tmp_path / "stderr.txt"
        target.write_bytes(lzma.decompress(source.read_bytes()))
        source = target
    made = set()
    for compile_ in in_order(fresh(source)):
        found = repro_of(compile_)
        assert bool(found.script) != bool(found.refused)
        if found.script:
            assert_harmless(found.script)
            made.add(found.graph.rpartition(":")[2].partition("#")[0])
    assert made == {"fx_graph_runnable" if "debug" in name else "dynamo_output_graph"}


def line_of(script: str, end: str) -> str:
    (found,) = (line.strip() for line in script.splitlines() if line.endswith(end))
    return found


def test_inputs_are_as_in_the_trace() -> None:
    script = repro_of(compile_at("torch-2.13/train", "0/0")).script
    assert line_of(script, "# L_i_") == "values.tensor(torch.int64, (2, 16), (16, 1), DEVICE_CPU, below=100),  # L_i_"
    assert line_of(script, "# L_s_modules_h_parameters_bias_") == (
        "values.tensor(torch.float32, (100,), (1,), DEVICE_CPU, grad=True),  # L_s_modules_h_parameters_bias_"
    )
    assert "TRAINING = True" in script
    assert "BACKEND = 'inductor'" in script
    assert "# /home/user/models/train.py:16 in forward: x=s.e(i)" in script


def test_the_header_says_what_it_is() -> None:
    script = repro_of(compile_at("torch-2.13/train", "0/0")).script
    assert script.startswith("# From a trace: read before running.\n#\n# What:    forward (/home/user/models/train.py:15), ")
    assert "compile 0/0, torch 2.13.0+cpu\n# Graph:   0/0:dynamo_output_graph: " in script
    assert "# Run:     python repro.py" in script
    assert "# Expect:  the result agrees with eager mode" in script


def test_symbols_are_what_they_were_in_the_job() -> None:
    scripts = (repro_of(each).script for each in in_order(trace("torch-2.13/recompiles")))
    script = next(script for script in scripts if "\ns77 = " in script)
    hint = next(line for line in script.splitlines() if line.startswith("s77 = "))
    assert hint.endswith("# L['x'].size()[0]")
    assert "(s77,), (1,), DEVICE_CPU, dynamic=(0,))" in script


def test_a_failure_is_to_come_again() -> None:
    script = repro_of(compile_at("torch-2.13/dyn", "0/0")).script
    assert "EXPECTED = 'ConstraintViolationError'" in script
    assert "dynamic=(0,), strict=True" in script
    assert "# Expect:  the job failed with ConstraintViolationError: " in script


def test_a_backend_of_the_job_is_not_in_the_trace() -> None:
    compile_ = compile_at("torch-2.13/outcomes", "8/0")
    script = repro_of(compile_).script
    assert "# Backend: refuses\n" in script
    assert "backend refuses is not in the trace. Import it and pass its name with --backend" in script
    assert "EXPECTED = ''" in script


def test_collectives_and_operators_of_the_job_are_refused() -> None:
    run = trace("torch-2.13/ddp")
    reasons = {repro_of(each).refused for each in in_order(run)}
    assert any("torch.ops._c10d_functional.all_reduce needs the other ranks of the job" in reason for reason in reasons)


def test_torchs_own_script_is_repaired() -> None:
    """It says its sizes by symbols, which it does not define, and reads storages that nobody has."""
    compile_ = compile_at("torch-2.13/dyn", "2/0")
    script = repro_of(compile_, "fx_graph_runnable").script
    assert "u1 = 8  # its value is not in the trace" in script
    assert "reader" not in script
    assert_harmless(script)


def graph(*lines: str, parameters: str = 'x: "f32[4, 3][3, 1]cpu"') -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"class GraphModule(torch.nn.Module):\n    def forward(self, {parameters}):\n{body}"


def repro(tmp_path: Path, text: str, name: str = "dynamo_output_graph") -> Repro:
    """Of a compile that has that graph."""
    log = tmp_path / "dedicated_log_torch_trace_a.log"
    ids = {"frame": 0, "compile": 0, "attempt": 0}
    log.write_bytes(mt.record(name, {"sizes": {}}, text, **ids) + mt.record("compilation_metrics", {"compile_id": "0/0"}, **ids))
    (compile_,) = in_order(fresh(log))
    return repro_of(compile_)


HOSTILE = [
    "import os; os.system('true')",
    "__import__('os').system('true')",
    "y = __import__('os')",
    "y = torch.os.system('true')",
    "y = torch.load('weights')",
    "y = torch.hub.load('a', 'b')",
    "y = torch.ops.aten.from_file.default('/etc/passwd', True, 10)",
    "y = torch.from_file('/etc/passwd', True, 10)",
    "y = torch.ops.load_library('/tmp/a.so')",
    "y = torch.utils.cpp_extension.load_inline('a', 'b')",
    "y = torch._C._jit_get_all_schemas()",
    "y = torch.nn.functional.importlib.import_module('os')",
    "y = torch.compile(x)",
    "y = x.numpy().tofile('/tmp/a')",
    "y = x.__class__.__base__.__subclasses__()",
    "y = x.__reduce__()",
    "y = x.__class__",
    "y = getattr(x, '__class__')",
    "y = eval('1')",
    "y = open('/etc/passwd')",
    "y = print(x)",
    "y = operator.attrgetter('__class__')(x)",
    "y = operator.methodcaller('system', 'true')",
    "y = (lambda: x)()",
    "y = [z for z in x]",
    "y = {**x}",
    "y = torch.add(*x)",
    "y = torch.add(**x)",
    "y = f'{x}'",
    "y = (z := x)",
    "y = x if x else x",
    "y = b'bytes'",
    "y = other",
    "y = self.linear(x)",
    "y = self.__class__",
    "y = self.forward(x)",
    "torch = x",
    "self = x",
    "__builtins__ = x",
    "DEVICE_CPU = x",
    "x.shape = y",
    "torch.add = x",
    "self.weight = x",
    "torch.nn.functional.relu = x",
    "assert x",
    "raise x",
    "global x",
    "while x: pass",
    "for y in x: pass",
    "if x: pass",
    "with x: pass",
    "try: pass\n        except: pass",
    "def f(): pass",
    "async def f(): pass",
    "yield x",
    "y = await x",
    "y = device('/etc')",
    "y = torch.device(type='cpu', index=x)",
    "y = torch.ops.mylib.f.default(x)",
    "y = torch.ops.higher_order.triton_kernel_wrapper_mutation(kernel_idx = 0)",
    "y = torch.distributed.all_reduce(x)",
    "y = " + "-" * 3000 + "x",
    "y = x" + ".T" * 3000,
    "y = " + "(" * 150 + "x" + ")" * 150,
    "y = x" + " + x" * 3000,
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:50])
def test_what_is_no_statement_of_a_graph_is_refused(line: str, tmp_path: Path) -> None:
    found = repro(tmp_path, graph(line, "return (x,)"))
    assert found.script == ""
    assert found.refused.startswith("0/0 cannot become a script: ")
    assert "\n" not in found.refused


@pytest.mark.parametrize(
    "parameters",
    [
        'x: "f32[4][1]cpu" = open("a")', '*x', '**x', 'x: "f32[__import__(\'os\')][1]cpu"', 'x: "f32[4][1]/etc"',
        'x: "f32[f(4)][1]cpu"',
        'x: "Sym((((s0**4)**4)**4)**4)"',
        'x: "Sym(open)"', 'x: "Sym(9**9**9)"', 'x: "f99[4]"', 'x: "f32[4][1, 1]cpu"', 'x', 'torch: "f32[4][1]cpu"',
    ],
)  # fmt: skip
def test_inputs_that_are_no_tensors_are_refused(parameters: str, tmp_path: Path) -> None:
    found = repro(tmp_path, graph("return (0,)", parameters=parameters))
    assert found.refused
    assert not found.script


def test_a_graph_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    found = repro(tmp_path, graph("y = x.relu()"))
    assert found.refused == "0/0 cannot become a script: the graph text is truncated."
    log = tmp_path / "dedicated_log_torch_trace_a.log"
    log.write_bytes(log.read_bytes().replace(b"relu", b"sinh"))
    (compile_,) = in_order(fresh(log))
    assert repro_of(compile_).refused == "0/0 cannot become a script: its text is damaged."


def test_strings_and_comments_cannot_end_elsewhere(tmp_path: Path) -> None:
    text = graph(
        "# File: /a\rimport os\u2028b.py:1 in f, code: '''\r\"\"\"",
        "y = torch.einsum('ij->ji\\n\\'\\\"\"\"\"\\x1b[31m', x)",
        "return (y,)",
    )
    found = repro(tmp_path, text)
    assert found.refused or "import os" not in [line.strip() for line in found.script.splitlines()]
    found = repro(tmp_path, graph("y = torch.einsum('ij->ji\\n\\'\\\"\\x1b', x)", "return (y,)"))
    assert_harmless(found.script)
    assert "\x1b" not in found.script
    assert comment("a\nimport os\r\x1b\u2028é") == "# a\\u000aimport os\\u000d\\u001b\\u2028\\xe9"


def test_a_graph_with_all_that_torch_prints(tmp_path: Path) -> None:
    text = graph(
        "y: \"f32[4, 3][3, 1]cpu\" = torch.ops.aten.add.Tensor(x, 1.5, alpha = -2);  x = None",
        "y += 1;  iadd: \"f32[4, 3][3, 1]cpu\" = y;  y = None",
        "iadd[(slice(None, None, None), 0)] = 0.0;  setitem = iadd;  setitem = None",
        "z = iadd.to(device(type='cuda', index=1), torch.float64);  iadd = None",
        "w = z.to('cuda:1').masked_fill(z > 0, -inf)",
        "s = w.shape",
        "n = s[0] // 2 + operator.mul(2, 3) + math.ceil(0.5) + max(1, 2)",
        "cond_true_0 = self.cond_true_0",
        "c = torch.ops.higher_order.cond(True, cond_true_0, cond_true_0, (w,))",
        "k: \"i64[3][1]cpu\" = self._tensor_constant0",
        "del z",
        "return {'a': c[0], 'b': (n, None, ..., k), 'c': [torch.strided, torch.channels_last]}",
    )  # fmt: skip
    text += "    class cond_true_0(torch.nn.Module):\n        def forward(self, w):\n            return (w.relu(),)\n"
    found = repro(tmp_path, text)
    assert found.refused == ""
    assert_harmless(found.script)
    assert "DEVICE_CUDA_1 = place('cuda:1')" in found.script
    assert "z = iadd.to(DEVICE_CUDA_1, torch.float64)" in found.script
    assert "w = z.to(DEVICE_CUDA_1).masked_fill(z > 0, -inf)" in found.script
    assert "self.cond_true_0 = Graph_cond_true_0()" in found.script
    made = "Values(False, 2, False).tensor(torch.int64, (3,), (1,), DEVICE_CPU)"
    assert f"self.register_buffer('_tensor_constant0', {made})" in found.script


def test_the_lists_of_a_joint_graph_become_parameters() -> None:
    code = read_graph(
        "class inner_f(torch.nn.Module):\n    def forward(self, primals, tangents):\n"
        '        primals_1: "f32[4]"; tangents_1: "f32[4]"; \n'
        "        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n"
        "        mul = torch.ops.aten.mul.Tensor(primals_1, tangents_1)\n"
        "        return pytree.tree_unflatten([mul, None], self._out_spec)\n"
    )
    assert code.root.parameters == {"primals_1": "f32[4]", "tangents_1": "f32[4]"}
    assert [ast.unparse(line) for line in code.root.body][-1] == "return [mul, None]"


@pytest.mark.parametrize(
    ("line", "below"),
    [
        ("y = torch.nn.functional.embedding(i, table)", 7),
        ("y = torch.ops.aten.embedding.default(table, i)", 7),
        ("y = torch.gather(table, 1, i)", 5),
        ("y = table.gather(-1, i)", 5),
        ("y = torch.index_select(table, dim = 0, index = i)", 7),
        ("y = table[i]", 7),
        ("y = table[(slice(None, None, None), i)]", 5),
        ("y = table[(Ellipsis, i)]", 5),
        ("table[i] = 0", 7),
        ("y = torch.ops.aten.index.Tensor(table, [None, i])", 5),
        ("y = torch.nn.functional.cross_entropy(table, i)", 5),
        ("y = torch.nn.functional.one_hot(i, 3)", 3),
        ("j = i.view(-1).long();  y = table[j]", 7),
        ("j = i + 2;  y = table[j]", 5),
        ("y = table.scatter_add(0, i, table)", 7),
    ],
)
def test_whole_numbers_that_index_are_in_range(line: str, below: int) -> None:
    code = read_graph(graph(*line.split(";  "), "return (table,)", parameters='table: "f32[7, 5][5, 1]cpu", i: "i64[s0][1]cpu"'))
    assert bounds(code.root, {"s0": 4}) == {"i": below}


def test_types_are_read_as_torch_prints_them() -> None:
    assert read_type("bf16[s0, 2*s1][Max(1, s1), 1]cuda:1") == Tensor("bfloat16", ("s0", "2 * s1"), ("max(1, s1)", "1"), "cuda:1")
    assert read_type("f32[]") == Tensor("float32", (), None, "cpu")
    assert read_type("Sym((s0//2) + 1)") == Number("s0 // 2 + 1")
    assert value_of(expression("Mod(s0, 3)*2 + FloorDiv(s0, 2)"), {"s0": 5}) == 6


FORBIDDEN = "from_file save load numpy tofile map_ apply_ data_ptr os sys hub compile import_ir_module set_ storage frombuffer"


def test_no_function_that_does_more_than_reckon_is_known() -> None:
    names = allowed_names.FUNCTIONS | allowed_names.METHODS | allowed_names.ATEN | allowed_names.PRIMS
    assert len(names) > 900
    assert not names & set(FORBIDDEN.split())
    assert not [name for name in names if name.startswith("__") and not name.endswith("__")]


def test_the_command(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    target = tmp_path / "repro.py"
    log = next(str(each.parent) for each in TRACED if each.parent.name == "dyn")
    assert main(["repro", log]) == 0
    assert capsysbinary.readouterr().out.decode().splitlines() == [
        "0/0  a script of dynamo_output_graph",
        "1/0  a script of dynamo_output_graph",
        "2/0  a script of dynamo_output_graph",
        f"3 of 3 compiles can be written as a script: tltui repro {log} REF -o repro.py",
    ]
    assert main(["repro", log, "1/0", "-o", str(target)]) == 0
    assert b"read it before you run it" in capsysbinary.readouterr().out
    assert_harmless(target.read_text())
    assert main(["repro", log, "1/0", "-o", str(target)]) == 2
    assert b"--force replaces it" in capsysbinary.readouterr().err
    assert main(["repro", log, "1/0", "-o", str(target), "--force", "--from", "aot_inference_graph"]) == 0
    assert "# Graph:   1/0:aot_inference_graph: " in target.read_text()
    capsysbinary.readouterr()
    assert main(["repro", log, "1/0:dynamo_output_graph", "-o", "-"]) == 0
    assert_harmless(capsysbinary.readouterr().out.decode())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["0/0"], "missing -o FILE\n  -o repro.py writes the script, -o - prints it"),
        (["-o", "-"], "missing REF"),
        (["0/0", "-o", "-", "--from", "nothing"], "not a graph of 0/0: 'nothing'\n  graphs: "),
        (["0/0:compilation_metrics", "-o", "-"], "not a graph of 0/0: 'compilation_metrics'\n  graphs: "),
        (["9/9", "-o", "-"], "unknown address: '9/9'"),
        (["0/0:dynamo_output_graph", "-o", "-", "--from", "aot_forward_graph"], "--from needs the address of a compile"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], said: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    log = next(str(each.parent) for each in TRACED if each.parent.name == "dyn")
    assert main(["repro", log, *arguments]) == 2
    assert said in capsysbinary.readouterr().err.decode()
