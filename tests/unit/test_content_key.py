"""Compiles with equal texts share answers: what differs in each compile's guards does not count."""

from pathlib import Path

import pytest
from made_logs import Log

from tltui.model.artifacts import GUARDS
from tltui.model.node_answers import content_key, reader_of
from tltui.model.nodes import Compile

TEXT = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| | +- ID_MATCH: ___check_obj_id(L['fn'], 139904325707520)                   
| | | +- TYPE_MATCH: ___check_type_id(L['self']._modules['up'], 9738560), type=<class 'm.Up'>  # x = self.up(x)  # /tmp/run-139904325707520/m.py:119 in f
| | | +- LAMBDA_GUARD: hook == <function pack at 0x7f2e8c0d4ae0>  # m.py:7 in g

Guard latency = 75.72 us
"""  # noqa: E501
CHANGES = {
    "an object": ("L['fn'], 139904325707520", "L['fn'], 139904325707000", True),
    "a type": ("9738560", "9738111", True),
    "a function": ("0x7f2e8c0d4ae0", "0x7f2e8c0d4000", True),
    "how long they took": ("75.72", "80.01", True),
    "a module": ("['up']", "['down']", False),
    "a class": ("m.Up", "m.Down", False),
    "a line": (":119", ":120", False),
    "a number in a path": ("/tmp/run-139904325707520", "/tmp/run-139904325707000", False),
    "code": ("x = self.up(x)", "x = self.up(x, 139904325707520)", False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_addresses_in_guards_do_not_count(change: str, tmp_path: Path) -> None:
    old, new, equal = CHANGES[change]
    assert old in TEXT
    log = Log(tmp_path / "x.log")
    for frame, text in enumerate((TEXT, TEXT.replace(old, new))):
        log.start(frame=frame).add(GUARDS, {}, text, frame=frame)
    keys = []
    run = log.open()
    for compile_ in (run.resolve("0/0"), run.resolve("1/0")):
        assert isinstance(compile_, Compile)
        keys.append(content_key(compile_, reader_of(compile_), frozenset((GUARDS,)), 1 << 20))
    first, second = keys
    assert first and (first == second) is equal
