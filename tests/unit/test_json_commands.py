"""Commands print the same, byte for byte, with orjson and without it."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from make_trace import artifact, record
from real import TRACES

pytest.importorskip("orjson")
PROGRAM = Path(__file__).parents[1] / "kit" / "printing_all.py"
INDEXING_TIME = re.compile(rb" bytes, [\d.]+ m?s, on ")
IDS = {"frame": 0, "compile": 0, "attempt": 0}
HOSTILE = b"".join(
    [
        record("dynamo_start", {"stack": [{"line": 2**70, "name": 0, "filename": 1e400, "loc": "\ud800"}]}, **IDS),
        artifact("deep", "[" * 300 + "1e-5" + "]" * 300, "json", **IDS),
        artifact("deeper", "[" * 1100 + "]" * 1100, "json", **IDS),
        artifact("numbers", '{"a": 1e-05, "b": 18446744073709551616, "a": -0, "c": NaN, "d": 1e16, "e": [1e999]}', "json", **IDS),
        artifact("floats", "[1e-5, 1.5e-5, 1e-6, 1e16, 1e22, 0.1, -0.0]", "json", **IDS),
        artifact("halves", r'{"a": "\ud800", "b": "\ud83d\ude00", "c": "\\ud800"}', "json", **IDS),
        artifact("bytes", b'{"a": "\xff\xfe"}', "json", **IDS),
        record("chromium_event", None, '{"name": "x", "ph": "B", "ts": 1e16, "pid": 0, "tid": 0, "args": {"a": 1e-7}}', **IDS),
        record(
            "chromium_event",
            None,
            '{"name": "x", "ph": "E", "ts": 123456789012345678901, "args": {"a": NaN, "b": "\ud83d"}}'.encode(
                "utf-8", "surrogatepass"
            ),
            **IDS,
        ),
        record(
            "compilation_metrics",
            {"co_name": "f", "co_filename": "\ud800", "start_time": 1e-5, "entire_frame_compile_time_s": 2**65},
            **IDS,
        ),
    ]
)


def printed(out: Path, paths: list[str], *, with_orjson: bool) -> bytes:
    """What the program prints where orjson is installed, or is not."""
    out.mkdir()
    import_path = [str(Path(__file__).parents[2] / "src")]
    if not with_orjson:
        (out / "orjson.py").write_text("raise ImportError('not installed')")
        import_path.insert(0, str(out))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(import_path), "COLUMNS": "120", "XDG_CACHE_HOME": str(out)}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(out / "written"), *paths], env=environment, capture_output=True, check=True, timeout=600
    )
    assert done.stderr.decode().startswith("orjson") == with_orjson
    return INDEXING_TIME.sub(b" bytes, SECONDS, on ", done.stdout)


def test_commands_print_the_same_without_orjson(tmp_path: Path) -> None:
    hostile = tmp_path / "dedicated_log_torch_trace_abc.log"
    hostile.write_bytes(HOSTILE)
    real = ("torch-2.13/recompiles", "profiler/mlp", "inputs/crash")
    paths = [str(hostile), *(str(TRACES / name) for name in real)]
    fast = printed(tmp_path / "fast", paths, with_orjson=True)
    slow = printed(tmp_path / "slow", paths, with_orjson=False)
    assert b": 70 " not in fast
    if fast != slow:
        pytest.fail("\n".join(islice(difflib.unified_diff(fast.decode().splitlines(), slow.decode().splitlines(), n=1), 40)))
    assert len(fast) > 1_000_000
