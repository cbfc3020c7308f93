from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import TRACES, trace
from viewed import initial_text, lead_somewhere, opened, text

from tltui.export import to_json
from tltui.model.follow import open_run
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.shapes.dynamic_sizes import CompileShapes, python_name, shapes_of
from tltui.questions.shapes.page import ShapesReport
from tltui.questions.shapes.shape_env import names_in, plain_name
from tltui.sources.discover import discover

SIZE = "L['x'].size()[0]"


def shapes(run: Run, ref: str) -> CompileShapes:
    node = run.resolve(ref)
    assert isinstance(node, Compile)
    return shapes_of(node)


def report(run: Run, ref: str = "@shapes") -> ShapesReport:
    found = page(run, ref).data()
    assert isinstance(found, ShapesReport)
    return found


@pytest.mark.parametrize(
    ("name", "ref", "width"),
    [
        ("dyn", "", 80), ("dyn", "0/0", 80), ("dyn", "1/0", 80), ("dyn", "1/0", 60), ("dyn", "1/0", 160), ("dyn", "2/0", 80),
        ("shapes", "", 80), ("recompiles", "0/", 80), ("draft_export", "", 80), ("errors", "", 80), ("ca", "", 80),
        ("train", "", 80),
    ],
)  # fmt: skip
def test_golden(name: str, ref: str, width: int) -> None:
    document = page(trace(f"torch-2.13/{name}"), f"@shapes:{ref}" if ref else "@shapes", width)
    assert document.width() <= width
    assert_golden(f"shapes_{name}_{re.sub(r'[^0-9a-z]+', '_', ref)}_{width}", text(document))


def test_golden_demo() -> None:
    run = opened("src/tltui/demo")
    assert_golden("shapes_demo__100", text(page(run, "@shapes", 100)))
    assert_golden("shapes_demo_ascii_80", text(page(run, "@shapes:1:", ascii_=True)))


@pytest.mark.parametrize("ref", ["0/0", "1/0", "2/0"])
def test_the_cases_of_the_guide_fit_one_screen(ref: str) -> None:
    """PyTorch's guide "Debugging with tlparse and TORCH_LOGS=dynamic" looks for these answers in logs."""
    assert len(page(trace("torch-2.13/dyn"), f"@shapes:{ref}")) <= 23


def test_a_marked_dim_that_was_fixed() -> None:
    found = shapes(trace("torch-2.13/dyn"), "0/0")
    (symbol,) = found.symbols
    assert (symbol.name, symbol.source, symbol.mark, symbol.hint) == ("s77", SIZE, "dynamic", 5)
    assert symbol.fixed is not None
    assert symbol.fixed.value == 5
    assert symbol.fixed.user_frame is not None
    assert (symbol.fixed.user_frame.line, symbol.fixed.user_frame.code) == (3, "def fn(x, y): return x * y")
    assert [(dim.tensor, dim.dim, dim.size) for dim in symbol.same_size_dims] == [("L['y']", 0, 5)]
    assert found.fail_type == "ConstraintViolationError"


def test_a_guard_on_a_size_and_its_unbacked_variant() -> None:
    run = trace("torch-2.13/dyn")
    backed, unbacked = shapes(run, "1/0"), shapes(run, "2/0")
    first = backed.symbols[0]
    assert [(guard.expr, guard.is_deferred) for guard in first.guards] == [("s77 < 10", False), ("Eq(s77, s17)", False)]
    assert [(guard.low, guard.high, guard.is_zero_one) for guard in first.call_guards] == [(2, 9, True)]
    assert first.equal_symbols == ("s17",)
    first = unbacked.symbols[0]
    assert (first.name, first.is_unbacked, first.mark, first.tensor, first.dim) == ("u0", True, "unbacked", "L['x']", 0)
    assert [(guard.expr, guard.is_deferred) for guard in first.guards] == [("u0 < 10", True), ("Eq(u0, u1)", True)]
    assert [(guard.low, guard.high, guard.is_zero_one) for guard in first.call_guards] == [(0, 9, False)]


def test_what_was_marked_without_effect() -> None:
    run = trace("torch-2.13/shapes")
    (dim,) = shapes(run, "0/0").marked_without_symbol
    assert (dim.tensor, dim.dim, dim.size, dim.mark, dim.state) == ("L['x']", 0, 1, "dynamic", "static")
    assert shapes(run, "1/0").symbols[0].mark == "maybe dynamic"
    why = shapes(run, "2/0").symbols[0].fixed
    assert why is not None
    assert why.purpose == "the assert in your code"


def test_sizes_that_torch_made_dynamic_itself() -> None:
    first = shapes(trace("torch-2.13/shapes"), "4/1").symbols[0]
    assert [(b.source, b.dim, b.before, b.now) for b in first.became_dynamic] == [("L['x']", 0, 3, 6)]


def test_dims_that_share_a_symbol(tmp_path: Path) -> None:
    """Two inputs of one size: torch makes one symbol for both (duck shaping)."""
    log = Log(tmp_path / "log.log").start()
    for n, name in enumerate("xy"):
        log.add("describe_tensor", {"id": n, "describer_id": 0, "size": [4], "dtype": "torch.float32"})
        log.add("describe_source", {"id": n, "describer_id": 0, "source": f"L['{name}']"})
        if n == 0:
            log.add("create_symbol", {"symbol": "s0", "val": "4", "vr": "[2, int_oo]", "source": SIZE, "stack": []})
    log.add("dynamo_output_graph", {"sizes": {"l_x_": ["s0"], "l_y_": ["s0"], "add": ["s0"]}}, "graph")
    found = shapes(log.open(), "0/0")
    assert found.symbols[0].other_sources == ("L['y'].size()[0]",)
    assert [[dim.symbol for dim in tensor.dims] for tensor in found.tensors] == [["s0"], ["s0"]]


def test_every_link_leads_somewhere() -> None:
    for name in ("dyn", "shapes", "recompiles", "draft_export"):
        run = trace(f"torch-2.13/{name}")
        lead_somewhere(run, page(run, "@shapes"))


def test_json() -> None:
    found = json.loads(to_json(report(trace("torch-2.13/dyn"))))
    first = found["compiles"][0]
    assert (first["ref"], first["symbols"][0]["fixed"]["value"]) == ("0/0", 5)
    assert first["advice"]
    assert found["without_symbols"] == []


def test_equal_compiles_of_other_ranks_are_named_once(tmp_path: Path) -> None:
    source = next((TRACES / "torch-2.13" / "dyn").iterdir()).read_text(encoding="utf-8")
    for rank in (0, 1, 2):
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log").write_text(source, encoding="utf-8")
    run = open_run(discover([str(tmp_path)]))
    document = page(run, "@shapes")
    assert text(document).count("\n    specialized by Eq(s77, 5)") == 1
    assert "6 more compiles of the same code" in text(document)
    assert len(report(run).compiles) == 9


def test_guards_of_either_kind_are_read_once(tmp_path: Path) -> None:
    """Where TORCH_DTRACE is set torch writes two records for a guard; a log may hold only those."""
    def guards(log: Log) -> list[str]:
        log.add("create_symbol", {"symbol": "s0", "val": "4", "vr": "[2, 8]", "source": SIZE, "stack": []})
        return [guard.expr for guard in shapes(log.open(), "0/0").symbols[0].guards]

    slow, fast = {"expr": "s0 < 9", "prefix": "eval", "stack": []}, {"expr": "s0 < 9", "stack": []}
    assert guards(Log(tmp_path / "a.log").start().add("guard_added", slow)) == ["s0 < 9"]
    assert guards(Log(tmp_path / "b.log").start().add("guard_added_fast", fast)) == ["s0 < 9"]
    assert guards(Log(tmp_path / "c.log").start().add("guard_added", slow).add("guard_added_fast", fast)) == ["s0 < 9"]


def test_odd_records_are_no_failure(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.log").start()
    for value in ({}, {"symbol": 3}, {"symbol": "s0", "source": ["x"], "val": {"a": 1}, "stack": "?"}):
        log.add("create_symbol", value)
        log.add("create_unbacked_symbol", value)
    log.add("guard_added_fast", {"expr": None}).add("guard_added_fast", {"expr": "s0 < 3", "stack": [1, {"filename": -1}]})
    log.add("symbolic_shape_specialization", {"symbol": None, "sources": "L['x']", "value": None, "user_stack": None})
    log.add("symbolic_shape_specialization", {"symbol": "s9", "sources": [None], "value": [1]})
    log.add("propagate_real_tensors", {"expr": "u0 > 2", "result": None})
    log.add("describe_tensor", {"id": [], "size": {"a": 1}}).add("dynamo_output_graph", {"sizes": [1]}, "graph")
    log.add("dynamo_cpp_guards_str", {}, "+- LAMBDA_GUARD: 2 <= L['x'].size()[0] <= 99999999999999999999999  # a\n+- X: \n")
    run = log.open()
    assert "s9" in text(page(run, "@shapes"))
    assert shapes(run, "0/0").real_values[0].expr == "u0 > 2"


def test_damaged_logs_are_no_failure(tmp_path: Path) -> None:
    data = next((TRACES / "torch-2.13" / "dyn").iterdir()).read_bytes()
    random.seed(7)
    for n in range(12):
        cut = bytearray(data[: random.randrange(len(data))])
        for _ in range(20):
            cut[random.randrange(len(cut))] = random.randrange(256)
        path = tmp_path / f"dedicated_log_torch_trace_{n:08}.log"
        path.write_bytes(bytes(cut))
        run = open_run(discover([str(path)]))
        for ref in ("@shapes", "@caches"):
            assert len(page(run, ref))


def test_words() -> None:
    assert python_name("L['x']") == "x"
    assert python_name("L['self']._modules['ln']._parameters['weight']") == "self.ln.weight"
    assert python_name("weird()") == "weird()"
    assert plain_name("L['x']") == plain_name("L_x_") == plain_name("l_x_")
    assert names_in("Eq(Mod(s77, 2), u0)") == ("Eq", "Mod", "s77", "u0")


def test_symbols_without_a_finding_fold() -> None:
    run = opened("tests/traces/torch-2.13/recompiles")
    document = page(run, "@shapes:0/")
    folded = [section.title for section in document.sections() if section.folded]
    assert [title for title in folded if "to report" in title] == ["2 symbols with nothing to report"] * 2
    seen = initial_text(document)
    assert "dim 0 of L['x'] varied: 3, then 5" in seen and "dim 1 of L['x'] · dynamic" not in seen
    assert "dim 1 of L['x'] · dynamic" in text(document)
    assert "symbols with nothing to report" not in text(page(run, "@shapes:0/3")), "the page of one compile has nothing else"
