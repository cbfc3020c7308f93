"""What torch expects kernels to take on each rank: told where it is far apart, and never a difference."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from ranked import ranked

from tltui import cli

MM = b"6885841.870239033"
META = re.compile(rb'("inductor_runtime_and_tensor_meta".*?"has_payload": ")[0-9a-f]{32}("\}\n)((?:\t.*\n)+)')


def expect(directory: Path, rank: int, nanoseconds: bytes) -> None:
    """Another estimate of the product of matrices in all compiles of a rank."""

    def again(found: re.Match[bytes]) -> bytes:
        text = found[3].replace(MM, nanoseconds)
        md5 = hashlib.md5(text.replace(b"\n\t", b"\n")[1:-1], usedforsecurity=False).hexdigest()
        return found[1] + md5.encode() + found[2] + text

    [log] = directory.glob(f"*rank_{rank}_*.log")
    changed, count = META.subn(again, log.read_bytes())
    assert count == 2
    log.write_bytes(changed)


def test_estimates_that_are_far_apart(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ranked(tmp_path, "--ranks", 4, "--compiles", 2, "--detail", "tiny")
    expect(tmp_path, 1, b"7085841.8")
    assert cli.main(["ranks", str(tmp_path)]) == 0
    assert capfd.readouterr()[0] == "Ranks\nAll 4 ranks agree (2 compiles each).\n", "noise"
    expect(tmp_path, 2, b"13885841.8")
    assert cli.main(["ranks", str(tmp_path)]) == 0
    lines = capfd.readouterr()[0].splitlines()
    assert lines[1] == "All 4 ranks agree (2 compiles each)."
    assert "    rank 2 [2:1/0]: 27.9 ms  |  ranks 0, 3 [0:1/0]: 13.9 ms  → compare" in lines
    assert cli.main(["ranks", str(tmp_path), "--json"]) == 0
    found = json.loads(capfd.readouterr()[0])["result"]["expected"]
    assert [(one["function"], one["count"], one["slowest_ranks"], one["fastest_ranks"]) for one in found] == [
        ("block0", 4, [2], [0, 3]), ("block1", 4, [2], [0, 3]),
    ]  # fmt: skip
    assert cli.main(["check", "--fail-on", "diverge", str(tmp_path)]) == 0
