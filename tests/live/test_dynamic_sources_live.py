"""Entries of `TORCH_COMPILE_DYNAMIC_SOURCES` against torch's own `is_dynamic_source`."""

from __future__ import annotations

import json
import os

import pytest
from dynamic_source_rules import HOSTILE
from test_live import PYTHON, run, why_no_torch

from tltui.questions.recompiles.dynamic_sources import entry_of

pytestmark = pytest.mark.live

PROGRAM = """
import json, sys
import torch
from torch._dynamo.variables.builder import is_dynamic_source
entries, sources = json.load(sys.stdin)
results = []
for entry in entries:
    torch.compiler.config.dynamic_sources = entry
    results.append([source for source in sources if is_dynamic_source(source)])
print(json.dumps(results))
"""


def test_torch_matches_the_meant_source_only() -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")
    entries = [*map(entry_of, HOSTILE), ",".join(map(entry_of, HOSTILE))]
    done = run([PYTHON, "-c", PROGRAM], input=json.dumps([entries, HOSTILE]))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [*([source] for source in HOSTILE), list(HOSTILE)]
