"""Scripts of hostile graphs, run by torch: each ends with an error before anything is read or written outside of its tensors.

And torch's own lists, walked for functions that no script may call.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from repro_attacks import HARMLESS, graph, trace_with
from test_live import PYTHON, why_no_torch

from tltui.cli import main
from tltui.writers.repro.checking import is_method, refusal

pytestmark = pytest.mark.live

_SUSPICIOUS = (
    "data_ptr|blob|unsafe|reinterpret|alloc_from_pool|storage(?!_offset)|set_|resize|as_strided|from_file|buffer|set_data|_test_|"
    "_debug_|_print|embedding_renorm|embedding_bag|sparse|_nested|quantiz|fake_quant|mkldnn|cudnn|miopen|fbgemm|rng_state|_foreach|"
    "record_stream|share_memory|dlpack|numpy|hook|save$|load$|apply_|map_|__setstate__|__reduce|tolist|max_unpool|ctc_loss|col2im|"
    "segment_reduce|lu_solve|lu_unpack|ldl_solve|grid_sampler_|upsample_|native_batch_norm|native_layer_norm|_fft_|_cdist|_pack_padded|"
    "_pad_packed|convolution_backward|flash_attention|_make_per|from_buffer|_helper$|manual_seed|fork|wait|import"
)
SUSPICIOUS = re.compile(_SUSPICIOUS)
"""Parts of the names of what takes an address, a storage, a file or code, or skips a bounds check."""
UNKNOWN_TYPES = re.compile(r"Storage|Stream|QScheme|Future|__torch__|Capsule|Await|RRef")
LISTING = """
import json, torch, torch._inductor.inductor_prims
modules = {"torch": torch, "torch.nn.functional": torch.nn.functional, "torch.special": torch.special, "torch.fft": torch.fft,
           "torch.linalg": torch.linalg, "torch.functional": torch.functional, "torch._C._nn": torch._C._nn, "torch._VF": torch._VF,
           "torch._C._VariableFunctions": torch._C._VariableFunctions}
schemas = [(each.name, each.overload_name, str(each)) for each in torch._C._jit_get_all_schemas()]
print(json.dumps({"schemas": schemas, "paths": [f"{name}.{each}" for name, module in modules.items() for each in dir(module)],
                  "methods": dir(torch.Tensor)}))
"""


@pytest.fixture(scope="module", autouse=True)
def has_torch() -> None:
    """Skip where torch cannot be imported."""
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")


@pytest.mark.parametrize("line", HARMLESS, ids=lambda line: line[:60])
def test_the_script_ends_with_an_error(line: str, tmp_path: Path) -> None:
    script = tmp_path / "repro.py"
    assert main(["repro", str(trace_with(graph(line), tmp_path)), "0/0", "-o", str(script)]) == 0
    done = subprocess.run([PYTHON, str(script), "--eager"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "NOT RUN: eager mode fails" in done.stdout
    assert HARMLESS[line] in done.stdout


def test_no_name_of_torch_that_is_suspicious_is_allowed() -> None:
    done = subprocess.run([PYTHON, "-W", "ignore", "-c", LISTING], capture_output=True, text=True, check=True, timeout=300)
    torch = json.loads(done.stdout)
    assert len(torch["schemas"]) > 3000
    operators = {f"torch.ops.{name.replace('::', '.')}.{overload or 'default'}": text for name, overload, text in torch["schemas"]}
    allowed = {path: text for path, text in operators.items() if not refusal(path)}
    assert len(allowed) > 1000
    assert {path.split(".")[2] for path in allowed} == {"aten", "prims"}
    names = {path.split(".")[3] for path in allowed}
    assert not [name for name in names if SUSPICIOUS.search(name)]
    assert not [path for path, text in allowed.items() if UNKNOWN_TYPES.search(text)]
    suspicious = [path for path in torch["paths"] if SUSPICIOUS.search(path.rpartition(".")[2]) and not refusal(path)]
    assert suspicious == ["torch.set_grad_enabled"]
    assert not [name for name in torch["methods"] if SUSPICIOUS.search(name) and is_method(name)]
