"""Builds small `TORCH_TRACE` logs, byte for byte as torch 2.13 writes them.

Grammar: `TorchLogsFormatter.format` with `trace=True` in torch/_logging/_internal.py. The event key stands first, then rank and
ids (or `stack`), `subgraph_name`, and `has_payload` last; each line of a payload is written behind a tab.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

TIME = "1120 09:22:46.123000"
PID = 4321
SITE = "torch/_dynamo/utils.py:1907"


def md5(payload: str | bytes) -> str:
    """Return the md5 of a payload as `has_payload` states it."""
    data = payload.encode() if isinstance(payload, str) else payload
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def prefix(pid: int | str = PID, time: str = TIME, site: str = SITE, level: str = "V") -> str:
    """Return the glog prefix of a record, with the blank behind it."""
    return f"{level}{time} {pid} {site}] "


def tabbed(payload: str | bytes) -> bytes:
    """Return the stored lines of a payload: `"" → one tab`, `"a\\n" → tab a, tab`."""
    data = payload.encode() if isinstance(payload, str) else payload
    return b"".join(b"\t" + line + b"\n" for line in data.split(b"\n"))


def record(
    event: str,
    value: Any = None,
    payload: str | bytes | None = None,
    *,
    rank: Any = None,
    autograd: Any = None,
    frame: Any = None,
    compile: Any = None,  # noqa: A002
    attempt: Any = None,
    subgraph: str | None = None,
    stack: list[dict[str, Any]] | None = None,
    declared: Any = None,
    pid: int | str = PID,
    time: str = TIME,
    site: str = SITE,
    level: str = "V",
) -> bytes:
    """One record. `declared` overrides the md5."""
    envelope: dict[str, Any] = {event: {} if value is None else value}
    ids = {
        "rank": rank,
        "compiled_autograd_id": autograd,
        "frame_id": frame,
        "frame_compile_id": compile,
        "attempt": attempt,
    }
    envelope |= {key: number for key, number in ids.items() if number is not None}
    if stack is not None:
        envelope["stack"] = stack
    if subgraph is not None:
        envelope["subgraph_name"] = subgraph
    if payload is not None:
        envelope["has_payload"] = md5(payload) if declared is None else declared
    line = prefix(pid, time, site, level) + json.dumps(envelope)
    return line.encode() + b"\n" + (b"" if payload is None else tabbed(payload))


def artifact(name: str, payload: str | bytes, encoding: str = "string", **ids: Any) -> bytes:
    """Return an `artifact` record."""
    return record("artifact", {"name": name, "encoding": encoding}, payload, **ids)


def string(text: str, number: int, pid: int = PID) -> bytes:
    """Return an entry of the string table; it never has a rank."""
    return record("str", [text, number], pid=pid, site="torch/_logging/structured.py:28")


def start(name: str = "f", line: int | None = 2, filename: int = 0, **ids: Any) -> bytes:
    """Return a `dynamo_start` whose stack ends in the compiled function."""
    frames = [
        {"line": 9, "name": "<module>", "filename": filename, "loc": f"{name}(x)"},
        {"line": line, "name": name, "filename": filename},
    ]
    return record("dynamo_start", {"stack": frames}, **{"attempt": 0, **ids})


def chromium(name: str = "entire_frame_compile", phase: str = "B", ts: float = 1763630566123456.0, **ids: Any) -> bytes:
    """Return a chromium event."""
    args = {"compile_id": f"{ids.get('frame')}/{ids.get('compile')}"}
    body = {"name": name, "ts": ts, "args": args, "ph": phase, "cat": "dynamo_timed", "tid": 0, "pid": 0}
    return record("chromium_event", {}, json.dumps(body), **ids)


def metrics(event: str = "compilation_metrics", *, fields: dict[str, Any] | None = None, **ids: Any) -> bytes:
    """Return a metrics record of a successful compile; `fields` overrides."""
    defaults = {
        "compile_id": f"{ids.get('frame')}/{ids.get('compile')}",
        "co_name": "f",
        "co_filename": "/home/user/f.py",
        "co_firstlineno": 2,
        "cache_size": 0,
        "guard_count": 12,
        "graph_op_count": 3,
        "start_time": 1763630566.1,
        "start_time_us": 1763630566100000,
        "duration_us": 250000,
        "entire_frame_compile_time_s": 0.25,
        "fail_type": None,
        "fail_reason": None,
        "restart_reasons": [],
        "pytorch_version": "2.13.0",
        "is_runtime": False,
    }
    return record(event, defaults | (fields or {}), **{"attempt": 0, **ids})


def compiled(
    frame: int = 0,
    compile: int = 0,  # noqa: A002
    *,
    name: str = "f",
    fields: dict[str, Any] | None = None,
    **ids: Any,
) -> bytes:
    """Return the 9 records of a small successful compile."""
    context = {"frame": frame, "compile": compile, "attempt": 0, **ids}
    return b"".join(
        (
            chromium("dynamo", "B", **context),
            start(name, **context),
            record("describe_tensor", {"id": 0, "ndim": 1, "dtype": "torch.float32", "size": [3]}, **context),
            record("dynamo_output_graph", {"sizes": {"l_x_": [3]}}, "class GraphModule:\n    pass\n", **context),
            artifact("fx_graph_runnable", "import torch\n", **context),
            record("inductor_output_code", {"filename": "/tmp/c.py"}, "# AOT ID: ['0_inference']\ncall(args)\n", **context),
            record("dynamo_cpp_guards_str", {}, "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n", **context),
            chromium("dynamo", "E", **context),
            metrics(fields={"co_name": name} | (fields or {}), **context),
        )
    )


def small() -> bytes:
    """Return a log with a string, a version, two compiles and a graph break: about 8 KB."""
    version = '{\n"pytorch_version": "2.13.0"\n}'
    return b"".join(
        (
            string("/home/user/f.py", 0),
            artifact("torch_version", version, "json"),
            compiled(0, 0),
            artifact("recompile_reasons", "0/0: n == 2", "json", frame=0, compile=1, attempt=0),
            artifact("dynamo_graph_break_reason", "Graph break in user code", frame=0, compile=1, attempt=0),
            compiled(0, 1),
        )
    )


def write(directory: Path, data: bytes, name: str = "dedicated_log_torch_trace_abcd1234.log") -> Path:
    """Write a log file, and create its directory."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
