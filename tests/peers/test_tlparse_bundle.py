"""A bundle opens in tlparse: no record is refused, no md5 is wrong, and its compiles are those that were asked for."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from real import opened
from tlparse_pages import BINARY, TRACES

from tltui.writers.bundle import Bundle


@pytest.mark.parametrize("redact", [False, True], ids=["as it is", "redacted"])
@pytest.mark.parametrize(("name", "refs"), [("breaks", ["0/0", "2/0"]), ("recompiles", ["0/"]), ("train", []), ("errors", ["1/0"])])
def test_tlparse_reads_it(name: str, refs: list[str], redact: bool, tmp_path: Path) -> None:
    if BINARY is None:
        print("tlparse is not installed: nothing is compared with it")
        pytest.skip("tlparse is not installed: nothing is compared with it")
    run = opened(TRACES / "torch-2.13" / name)
    bundle = Bundle(run, refs, redact)
    ((path, _),) = bundle.write(str(tmp_path / "bundle.log"))
    command = [BINARY, path, "-o", str(tmp_path / "out"), "--plain-text", "--no-browser", "--overwrite"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    stats = done.stdout + done.stderr
    for problem in ("fail_glog", "fail_json", "fail_payload_md5", "fail_json_serialization", "fail_parser"):
        assert re.search(rf"\b{problem}: [1-9]", stats) is None, stats[-600:]
    theirs = json.loads((tmp_path / "out" / "compile_directory.json").read_text("utf-8"))
    found = {re.sub(r"_\d+\]$", "]", key) for key in theirs} - {"[-/-]", "unknown_0"}
    assert found == {c.id.of(0).bracketed for c in bundle.compiles if c.is_compile}
