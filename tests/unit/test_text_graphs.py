"""FX graph text and guard tree text, parsed."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tltui.text.graphs.fx_graph import FxGraph, parse
from tltui.text.graphs.guard_tree import parse as parse_guards

DATA = Path(__file__).parent / "data/text"
pure = settings(deadline=None, derandomize=True, max_examples=200)


def graph(text: str) -> FxGraph:
    return parse(text.split("\n"))


def read(name: str) -> FxGraph:
    return graph((DATA / name).read_text())


SMALL = """\
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4, 2][2, 1]cpu", s77: "Sym(s77)", *args):
        l_x_ = L_x_
        # Annotation: {'a': 'b'} File: /home/user/a b.py:7 in f, code: y = x.sin(); "# File: z:1 in g, code:"
        sin: "f32[4, 2][2, 1]cpu" = l_x_.sin();  l_x_ = None
        add: "f32[4, 2]" = sin + 1;  mul = torch.mul(sin, add, out = "sin;  x = y")
        # No stacktrace found for following nodes
        step += 1;  step_1: "f32[]" = step;  step = None
        sin[0] = add;  setitem = sin
        body_0 = self.body_0
        split = torch.split(mul, 2, dim = -1);  getitem = split[0];  split = None
        _check = torch._check(s77 >= 2);  _check = None
        return (getitem, {'a': step_1})

    class body_0(torch.nn.Module):
        def forward(self, sin):
            cos = sin.cos();  sin = None
            return cos

 # graph id: 140
"""


def test_statements() -> None:
    found = graph(SMALL)
    assert found.unknown == ()
    assert [(g.path, g.first, g.last, g.parent) for g in found.graphs] == [
        ("GraphModule", 0, 17, -1),
        ("GraphModule.body_0", 14, 17, 0),
    ]
    nodes = {(node.graph, node.name): node for node in found.nodes}
    assert nodes[0, "L_x_"].type == "f32[4, 2][2, 1]cpu"
    assert (nodes[0, "args"].kind, nodes[0, "s77"].type) == ("placeholder", "Sym(s77)")
    assert (nodes[0, "l_x_"].kind, nodes[0, "l_x_"].args) == ("alias", ("L_x_",))
    assert (nodes[0, "sin"].target, nodes[0, "sin"].line) == (".sin", 4)
    assert (nodes[0, "add"].kind, nodes[0, "add"].target) == ("expression", "+")
    assert (nodes[0, "mul"].target, nodes[0, "mul"].args) == ("torch.mul", ("sin", "add"))
    assert (nodes[0, "step_1"].target, nodes[0, "step_1"].in_place, nodes[0, "step_1"].type) == ("+=", "+=", "f32[]")
    assert nodes[0, "setitem"].args == ("sin", "add")
    assert nodes[0, "body_0"].kind == "get_attr"
    assert nodes[0, "getitem"].kind == "getitem"
    assert nodes[0, "_check"].args == ("s77",)
    assert nodes[0, "output"].args == ("getitem", "step_1")
    assert nodes[1, "cos"].args == ("sin",)
    assert nodes[1, "sin"].kind == "placeholder"


def test_origins_are_read_from_the_comment_above() -> None:
    found = graph(SMALL)
    (origin,) = found.origins
    assert (origin.path, origin.place, origin.function) == ("/home/user/a b.py", 7, "f")
    assert origin.note == "Annotation: {'a': 'b'}"
    by_name = {node.name: node.origin for node in found.nodes if node.graph == 0}
    assert (by_name["sin"], by_name["mul"], by_name["step_1"], by_name["l_x_"]) == (0, 0, -1, -1)


def test_users_and_producers_stay_inside_of_their_graph() -> None:
    found = graph(SMALL)
    sin = found.find("sin", 0)
    assert sin is not None
    assert [node.name for node in found.users(sin)] == ["add", "mul", "setitem"]
    assert [node.name for node in found.producers(sin)] == ["l_x_"]
    inner = found.find("sin", 1)
    assert inner is not None
    assert [node.name for node in found.users(inner)] == ["cos"]
    assert found.find("cos", 0) is None
    assert [node.name for node in found.at(5)] == ["add", "mul"]
    assert (found.graph_at(5), found.graph_at(16), found.graph_at(19)) == (0, 1, -1)


def test_real_graphs_are_understood_whole() -> None:
    for name in ("fx_layers.txt", "fx_joint.txt", "fx_nested.txt"):
        found = read(name)
        assert found.unknown == ()
        assert found.statements > 10
    layers = read("fx_layers.txt")
    first = layers.find("primals_1", 0)
    assert first is not None
    assert (first.line, first.note) == (3, "PlainAOTInput(idx=0)")
    assert first.type == "f32[100, 64][64, 1]cpu"
    joint = read("fx_joint.txt")
    kinds = {node.name: node.kind for node in joint.nodes}
    assert kinds["primals"] == kinds["tangents_1"] == "placeholder"
    output = joint.nodes[-1]
    assert output.kind == "output"
    assert output.args[:3] == ("sum_1", "permute_8", "view_1")
    assert [g.path for g in read("fx_nested.txt").graphs] == [
        "GraphModule", "GraphModule.score_mod_0", "GraphModule.mask_fn_0",
    ]  # fmt: skip


def test_a_graph_without_a_class_and_one_that_was_cut_off() -> None:
    found = graph("\n\ndef forward(self, x):\n    y = x[0];  x = None\n    return (y,\n      None)\n")
    assert [node.name for node in found.nodes] == ["x", "y", "output"]
    head = "class A(torch.nn.Module):\n    def forward("
    cut = graph(head + "\n        self,\n        a: \"f32[]\",  # PlainAOTInput(idx=0)")
    assert [node.name for node in cut.nodes] == ["a"]
    cut = graph(head + "self, a):\n        return (\n    x = 1\n        b = a.sin()")
    assert [node.name for node in cut.nodes] == ["a", "x", "b"]
    assert cut.unknown == (2,)


@pure
@given(
    st.lists(
        st.sampled_from(
            ["class A(torch.nn.Module):", "\n", "    ", "def forward(self, ", "x", ": ", '"f32[]"', " = ", ";  ",
             "None", "(", ")", ",", "return ", "# File: a:1 in f, code: ", "+=", "[", "]", "'", '"', "# ", ":", "é",
             "\\"]
        ),
        max_size=60,
    ).map("".join)
)  # fmt: skip
def test_any_text_is_parsed(text: str) -> None:
    found = graph(text)
    for node in found.nodes:
        assert 0 <= node.line < len(text.split("\n"))
        found.users(node)
        found.producers(node)
    parse_guards(text.split("\n"))


def test_hostile_lines_take_linear_time() -> None:
    """Each line is 200 KB of what an expression with backtracking would choke on."""
    head = "class A(torch.nn.Module):\n    def forward(self, x):\n        "
    pieces = ['"\\', "'\\'", " ", "a", "a,", "a = ", "# File: ", ":1 in ", "# a:1 in b ", ", type=<class ",
              ", accessed_by=", ";  ", "(", "a.", "[", "] "]  # fmt: skip
    for piece in pieces:
        body = piece * (200_000 // len(piece))
        for start in ("", "x = ", "x : ", "x ", 'x: "', "# ", "| +- A: ", "+- GuardManager: source=", "def f(", "x ["):
            graph(head + start + body + "!")
            parse_guards((start + body + "!").split("\n"))


def test_guards() -> None:
    lines = (DATA / "guards.txt").read_text().split("\n")
    tree = parse_guards(lines)
    assert tree.unknown == ()
    assert tree.latency_us is not None
    root = tree.nodes[0]
    assert (root.kind, root.depth, root.parent) == ("RootGuardManager", 0, -1)
    for node in tree.nodes[1:]:
        parent = tree.nodes[node.parent]
        assert parent.is_manager
        assert parent.depth == node.depth - 1
        assert lines[node.line].lstrip("| ").startswith("+- ")
    last = tree.nodes[-1]
    assert lines[last.line].startswith("+- LAMBDA_GUARD")
    assert (last.depth, last.parent) == (1, 0)
    pair = next(node for node in tree.nodes if node.kind == "KeyValueManager")
    assert pair.expression.isdigit()
    assert {node.side for node in tree.nodes} == {"", "KeyManager", "ValueManager"}


def test_a_guard_is_read_from_the_right() -> None:
    tree = parse_guards(
        [
            "+- RootGuardManager",
            "| +- GuardManager: source=L['x'], accessed_by=DictGetItemGuardAccessor('x'), type=<class 'int'>,"
            " tag_safe=(True, False)",
            "| | +- TYPE_MATCH: ___check_type_id(L['x'], 7), type=<class 'int'>  # y = x  # z  # m.py:4 in f"
            " (HINT: type int)",
            "| | +- NO_TENSOR_ALIASING",
            "+- LAMBDA_GUARD: 2 <= L['x']  # models/r.py:4 in g (user code shown is first use) and (_inductor/d.py:4"
            " in mm)",
            "what is this",
            "",
            "Guard latency = 33.79 us",
        ]
    )
    _, manager, match, alias, epilogue = tree.nodes
    assert (manager.source, manager.accessed_by) == ("L['x']", "DictGetItemGuardAccessor('x')")
    assert (manager.type_name, manager.tag_safe) == ("<class 'int'>", True)
    assert (match.expression, match.type_name) == ("___check_type_id(L['x'], 7)", "<class 'int'>")
    assert (match.code, match.path, match.place, match.function) == ("y = x  # z", "m.py", 4, "f")
    assert match.hint == "HINT: type int"
    assert (alias.kind, alias.parent) == ("NO_TENSOR_ALIASING", 1)
    assert (epilogue.depth, epilogue.path, epilogue.function) == (1, "models/r.py", "g")
    assert (tree.latency_us, tree.unknown) == (33.79, (5,))
