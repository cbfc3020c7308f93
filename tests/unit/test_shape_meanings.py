"""What the lines of torch that ask about sizes are about."""

from __future__ import annotations

import pytest
from pages import page
from real import trace
from viewed import text

from tltui.questions.shapes.shape_env import meaning_of

TORCH = "/opt/venv/lib/python3.11/site-packages/torch/"


@pytest.mark.parametrize(("file", "name", "expression", "framework", "said"), [
    (f"{TORCH}_prims_common/__init__.py", "infer_size", "Eq(Mod(s77, 4), 0)", False, "divisible"),
    ("_prims_common/__init__.py", "infer_size", "(x.size()[0] % 4) == 0", False, "divisible"),
    ("_prims_common/__init__.py", "infer_size", "0 <= n", False, "match the new shape"),
    (f"{TORCH}_subclasses/fake_impls.py", "infer_size", "Eq(s77, s17)", False, "broadcasting"),
    (f"{TORCH}_refs/__init__.py", "_broadcast_shapes", "Eq(s77, s17)", False, "broadcasting"),
    (f"{TORCH}_dynamo/variables/tensor.py", "evaluate_expr", "s77 < 9", False, "your code branches on it"),
    (f"{TORCH}_dynamo/variables/tensor.py", "evaluate_expr", "s77 < 9", True, "library code branches on it"),
    (f"{TORCH}_inductor/graph.py", "f", "s77 < 9", False, "Inductor"),
    ("/home/user/infer_size.py", "infer_size", "Eq(s77, 4)", False, ""),
])  # fmt: skip
def test_a_function_is_told_by_its_file(file: str, name: str, expression: str, framework: bool, said: str) -> None:
    found = meaning_of(file, name, expression, "return x", framework)
    assert (said in found) if said else not found


def test_a_reshape_is_no_broadcasting() -> None:
    shown = text(page(trace("torch-2.13/remedies"), "@shapes:11/0"))
    assert "divisible" in shown and "broadcasting" not in shown
